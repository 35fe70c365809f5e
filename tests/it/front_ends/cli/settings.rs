//! Settings that would leave a door open by a mistake are refused at start.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::{Ran, Workspace, run, text};

/// It is refused as a mistake of whoever starts it, in these words.
#[track_caller]
fn refused(ran: &Ran, words: &str) {
    assert!(ran.exits(2).stderr.contains(words), "{ran:?}");
}

#[track_caller]
fn denied(ran: &Ran) {
    assert!(ran.exits(2).stderr.contains("denied by whoever started txedit"), "{ran:?}");
}

#[test]
fn a_check_that_checks_nothing_is_refused() {
    let here = Workspace::new();
    here.write("a", "one\n");
    for nothing in ["", " ", "\n\t"] {
        let edit = ["edit", "a", "--old", "one", "--new", "two"];
        refused(&here.run(&[&edit[..], &["--check", nothing]].concat()), "--check");
        refused(&run(here.command(&edit).env("TXEDIT_CHECK", nothing)), "--check");
        refused(&here.run(&["mcp", "--check", nothing]), "--check");
    }
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
}

#[test]
fn a_variable_that_is_neither_yes_nor_no_is_refused() {
    let here = Workspace::new();
    here.write(".git/config", "one\n");
    let edit = ["edit", ".git/config", "--old", "one", "--new", "two"];
    let names = ["ALLOW_VCS", "ALLOW_CHECKS", "ALLOW_SET_ID", "JSON", "QUIET", "VERBOSE"];
    for name in names.map(|name| format!("TXEDIT_{name}")) {
        for word in ["maybe", "none", "never", "disabled", "2", "ja", " "] {
            let ran = run(here.command(&edit).env(&name, word));
            let told = format!("{}{}", ran.exits(2).stdout, ran.stderr);
            assert!(told.contains(&name["TXEDIT_".len()..].to_lowercase().replace('_', "-")), "{name}: {ran:?}");
        }
        for word in ["", "0", "false", "No", "off"] {
            let ran = run(here.command(&edit).env(&name, word));
            assert!(ran.exits(2).stderr.contains("version control"), "{name}={word}: {ran:?}");
        }
    }
    for (word, old, new) in [("1", "one", "two"), ("TRUE", "two", "one"), ("yes", "one", "two"), ("On", "two", "one")] {
        let edit = ["edit", ".git/config", "--old", old, "--new", new];
        run(here.command(&edit).env("TXEDIT_ALLOW_VCS", word)).exits(0);
    }
}

#[test]
fn a_denial_that_nothing_can_fit_is_refused() {
    let here = Workspace::new();
    here.write("a", "one\n");
    let globs = ["./sub", "../sub", "~/x", "~", "a/../b", "a/./b", "a//b", "/", " .env", "a\nb", "sub/.", "//a"];
    for glob in globs {
        let ran = here.run(&["edit", "a", "--old", "one", "--new", "two", "--deny", glob]);
        refused(&ran, "denies nothing");
    }
    let whole = here.path();
    for glob in [text(&whole), text(whole.parent().unwrap())] {
        refused(&here.run(&["edit", "a", "--old", "one", "--new", "two", "--deny", glob]), "the whole root");
    }
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
}

#[test]
fn an_absolute_denial_is_of_what_is_there() {
    let here = Workspace::new();
    for name in ["real/sub/x", "real/sub/y", "real/other/x"] {
        here.write(name, "one\n");
    }
    symlink("real", here.path().join("link")).unwrap();
    let root = here.path().join("real");
    let edit = |name: &str, glob: String| {
        let mut command = here.command(&["edit", name, "--old", "one", "--new", "two", "--deny", &glob, "--root", "."]);
        run(command.current_dir(&root))
    };
    let beneath = |folder: &str, rest: &str| format!("{}/{folder}/{rest}", here.path().display());
    denied(&edit("sub/x", beneath("real", "sub")));
    denied(&edit("sub/x", beneath("real", "sub/")));
    denied(&edit("sub/x", beneath("real", "s*/x")));
    denied(&edit("sub/x", beneath("link", "sub")));
    denied(&edit("sub/x", beneath("real", "**/x")));
    denied(&edit("sub/new", beneath("real", "sub/new")));
    edit("sub/y", beneath("real", "**/x")).exits(0);
    edit("other/x", beneath("real", "sub")).exits(0);
    // As ever, what begins with a slash counts from the root.
    denied(&edit("sub/x", "/sub".to_owned()));
}

#[test]
fn a_denial_counts_in_any_case_of_its_letters() {
    let here = Workspace::new();
    for (glob, name) in [("Ä.pem", "ä.pem"), ("ä.pem", "Ä.PEM"), ("Ω/*", "\u{2126}/x"), ("*.ПЕМ", "а.пем")]
    {
        here.write(name, "one\n");
        denied(&here.run(&["edit", name, "--old", "one", "--new", "two", "--deny", glob]));
    }
}

#[test]
fn an_unknown_word_in_the_settings_is_refused() {
    let here = Workspace::new();
    here.write("a", "one\n");
    let edit = ["edit", "a", "--old", "one", "--new", "two"];
    for (settings, word) in [
        ("denny = [\"a\"]\n", "denny"),
        ("[delegate]\ndeny = [\"a\"]\n", "deny"),
        ("[delegate]\nmodell = \"x\"\n", "modell"),
        ("[delegates]\nmodel = \"x\"\n", "delegates"),
    ] {
        here.write("txedit/config.toml", settings);
        let ran = here.run(&edit);
        refused(&ran, "config.toml");
        refused(&ran, word);
    }
    here.write("txedit/config.toml", "deny = [\"b\"]\n[delegate]\nmodel = \"x\"\n[delegate.roles]\ndba = \"x\"\n");
    here.run(&edit).exits(0);
}

/// The home folder of this user by the password database, if it has one.
fn home() -> Option<PathBuf> {
    let line = Command::new("sh").args(["-c", "eval echo ~\"$(id -un)\""]).output().ok()?.stdout;
    let home = PathBuf::from(String::from_utf8(line).ok()?.trim());
    home.canonicalize().ok().filter(|home| home.is_dir())
}

#[test]
fn the_home_folder_is_known_whatever_the_variable_says() {
    let Some(home) = home() else { return eprintln!("skipped: this user has no home folder") };
    let here = Workspace::new();
    let log = || {
        let mut command = here.command(&["log"]);
        command.current_dir(&home);
        command
    };
    refused(&run(log().env_remove("HOME")), "--root");
    refused(&run(log().env("HOME", "")), "--root");
    refused(&run(log().env("HOME", here.path())), "--root");
    // Claude Code sets it to where it was started.
    let mut command = here.command(&["log"]);
    refused(&run(command.env("CLAUDE_PROJECT_DIR", &home)), "--root");
    refused(&run(here.command(&["log"]).env("CLAUDE_PROJECT_DIR", "/")), "--root");
    run(here.command(&["log"]).env("CLAUDE_PROJECT_DIR", here.path()).env_remove("HOME")).exits(0);
}

#[test]
fn a_backup_of_what_is_denied_is_denied_by_an_absolute_glob_too() {
    let here = Workspace::new();
    here.write("a", "one\n");
    let entry = json!({"file_path": "a", "edits": [{"old_string": "one", "new_string": "two"}]});
    here.write("plan", &json!({"backup": true, "files": [entry]}).to_string());
    denied(&here.run(&["apply", "plan", "--deny", &format!("{}/*.bak", here.path().display())]));
    assert!(!here.path().join("a.bak").exists());
}
