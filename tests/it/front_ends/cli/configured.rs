//! The user's settings file: what counts for all workspaces, and for one.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Ran, Workspace, run, text};

const EDIT: [&str; 7] = ["--json", "edit", "a", "--old", "one", "--new", "two"];

/// A folder with two workspaces in it, and a settings file.
fn workspaces(settings: &str) -> Workspace {
    let here = Workspace::new();
    here.write("v/a", "one\n").write("w/a", "one\n").write("config/txedit/config.toml", settings);
    here
}

/// Runs a command in one of the workspaces.
fn in_one(here: &Workspace, at: &str, line: &[&str]) -> Ran {
    let mut command = here.command(&[&["-C", at, "--root", "."], line].concat());
    run(command.env("XDG_CONFIG_HOME", here.path().join("config")))
}

fn content(here: &Workspace, path: &str) -> String {
    fs::read_to_string(here.path().join(path)).unwrap()
}

/// The check has failed, and nothing is changed.
#[track_caller]
fn is_rejected(ran: &Ran) {
    let json = ran.json();
    assert_eq!(
        (json["error_code"].as_str(), json["outcome"].as_str()),
        (Some("CHECK_FAILED"), Some("rolled_back")),
        "{json}"
    );
}

#[test]
fn a_check_is_run_for_every_commit_unless_another_one_is_named() {
    let here = workspaces("check = \"! grep -q two a\"\n");
    is_rejected(&in_one(&here, "v", &EDIT));
    assert_eq!(content(&here, "v/a"), "one\n");
    let mut command = here.command(&[&["-C", "v", "--root", "."], &EDIT[..]].concat());
    command.env("XDG_CONFIG_HOME", here.path().join("config")).env("TXEDIT_CHECK", "true");
    run(&mut command).exits(0);
    in_one(&here, "w", &[&EDIT[..], &["--check", "grep two a"]].concat()).exits(0);
    is_rejected(&in_one(&here, "w", &["--json", "undo", "--check", "false"]));
    in_one(&here, "w", &["undo"]).exits(0);
    is_rejected(&in_one(&here, "w", &["--json", "redo"]));
}

#[test]
fn each_key_counts_and_an_option_counts_more() {
    let here = workspaces("check = \"sleep 5\"\ncheck_timeout = 0.1\ncheck_in = \"tree\"\nswap = \"aside\"\n");
    let started = std::time::Instant::now();
    in_one(&here, "v", &EDIT);
    assert_eq!(content(&here, "v/a"), "one\n");
    assert!(started.elapsed().as_secs() < 5, "the check was stopped");
    // What a check leaves in the tree stays, and in a view it goes.
    let in_tree = ["--check", "touch trace"];
    let json = in_one(&here, "v", &[&EDIT[..], &in_tree].concat()).exits(0).json();
    assert_eq!(json["guarantee"], "aside", "{json}");
    assert!(here.path().join("v/trace").exists());
    let more = ["--check-timeout", "60", "--swap", "auto", "--check", "touch trace", "--check-in", "auto"];
    let json = in_one(&here, "w", &[&EDIT[..], &more].concat()).exits(0).json();
    assert_ne!(json["guarantee"], "aside", "{json}");

    let durable = |settings: &str, line: &[&str]| {
        here.write("config/txedit/config.toml", settings);
        in_one(&here, "v", &[&["--json", "doctor"], line].concat()).stdout
    };
    let power = durable("", &[]);
    let process = durable("durability = \"process\"\n", &[]);
    assert_ne!(power, process);
    assert_eq!(durable("durability = \"process\"\n", &["--durability", "power"]), power);
    assert_eq!(durable("", &["--durability", "process"]), process);

    here.write("config/txedit/config.toml", "color = \"always\"\n");
    let shown = |line: &[&str]| in_one(&here, "v", &[&["show"], line].concat()).stdout;
    assert!(shown(&[]).contains('\x1b') && !shown(&["--color", "never"]).contains('\x1b'));
}

#[test]
fn the_table_of_a_workspace_is_for_that_one_by_any_path() {
    let here = workspaces("");
    symlink("v", here.path().join("link")).unwrap();
    for root in ["v", "link"].map(|name| here.path().join(name)) {
        let table = format!("deny = [\"secret\"]\n[root.\"{}\"]\ncheck = \"false\"\ndeny = [\"key\"]\n", text(&root));
        here.write("config/txedit/config.toml", &table);
        is_rejected(&in_one(&here, "v", &EDIT));
        is_rejected(&in_one(&here, "link", &EDIT));
        in_one(&here, "w", &["--json", "edit", "a", "--old", "o", "--new", "o"]);
        in_one(&here, "w", &["create", "key", "--text", "x", "--force"]).exits(0);
        for (at, name) in [("v", "key"), ("v", "secret"), ("w", "secret")] {
            let ran = in_one(&here, at, &["--json", "create", name, "--text", "x", "--check", "true"]);
            assert_eq!(ran.json()["errors"][0]["code"], "PATH_DENIED", "{at}/{name}: {ran:?}");
        }
    }
    assert_eq!(content(&here, "v/a"), "one\n");
}

/// What is denied in it is denied nowhere.
#[test]
fn a_table_of_a_workspace_that_is_not_there_is_told() {
    let here = workspaces("");
    for (name, is_told) in [("v", false), ("gone", true), ("v/a", true)] {
        let root = text(&here.path().join(name)).to_owned();
        here.write("config/txedit/config.toml", &format!("[root.\"{root}\"]\ndeny = [\"key\"]\n"));
        for command in ["status", "doctor"] {
            let ran = in_one(&here, "w", &[command]);
            let why = format!("[root.\"{root}\"] is no folder");
            assert_eq!(ran.exits(0).stderr.contains(&why), is_told, "{ran:?}");
            let json = in_one(&here, "w", &["--json", command]).exits(0).json();
            assert_eq!(json["warnings"].to_string().contains("is no folder"), is_told, "{json}");
        }
    }
}

/// Whichever of them counted, what the other one denies would not be denied.
#[test]
fn two_tables_of_one_workspace_are_refused() {
    let here = workspaces("");
    symlink("v", here.path().join("link")).unwrap();
    let root = text(&here.path().join("v")).to_owned();
    for other in ["v/", "link", "w/../v", "/v"] {
        let other = format!("{}/{other}", text(&here.path()));
        here.write(
            "config/txedit/config.toml",
            &format!("[root.\"{root}\"]\ndeny = [\"a\"]\n[root.\"{other}\"]\ndurability = \"process\"\n"),
        );
        let ran = in_one(&here, "v", &EDIT);
        assert!(ran.exits(2).stdout.contains("are one folder"), "{other}: {ran:?}");
    }
    assert_eq!(content(&here, "v/a"), "one\n");
}

#[test]
fn a_pipe_in_the_place_of_the_settings_is_refused() {
    let here = workspaces("");
    let file = here.path().join("config/txedit/config.toml");
    fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    let ran = in_one(&here, "v", &EDIT);
    assert!(ran.exits(2).stdout.contains("is a pipe"), "{ran:?}");
}

#[test]
fn what_cannot_count_is_refused_with_its_line() {
    for (settings, told) in [
        ("color = \"sometimes\"\n", ", line 1: unknown variant `sometimes`"),
        ("\ndurability = 1\n", ", line 2"),
        ("\nlock_timeout = -1\n", ", line 2: a time must be a number of seconds"),
        ("check_timeout = \"1\"\n", ", line 1"),
        ("check_timeout = 1e300\n", ", line 1: a time must be"),
        ("check = \" \"\n", ", line 1: the check is empty"),
        ("[root.shop]\ncheck = \"true\"\n", ": [root.\"shop\"] is no absolute path"),
        ("[root.\"/x\"]\ncheck = \"\"\n", ", line 2: the check is empty"),
        ("[root.\"/x\"]\ncolor = \"never\"\n", ", line 2: unknown field `color`"),
        ("chek = \"true\"\n", ", line 1: unknown field `chek`"),
        ("deny = [\n\"a\",\n\"b//c\"]\n", ", line 1: \"b//c\" denies nothing"),
        ("deny = [\"/\"]\n", ", line 1: \"/\" denies nothing"),
        // What it denies depends on the workspace.
        ("deny = [\"ROOT\"]\n", ": \"ROOT\" denies the whole root"),
    ] {
        let here = workspaces("");
        let root = text(&here.path().join("v")).to_owned();
        here.write("config/txedit/config.toml", &settings.replace("ROOT", &root));
        let ran = in_one(&here, "v", &EDIT);
        let error = ran.exits(2).json()["errors"][0]["message"].as_str().unwrap().to_owned();
        let told = format!("config.toml{}", told.replace("ROOT", &root));
        assert!(error.contains(&told) && !error.contains("--"), "{settings}: {error}");
        assert_eq!(content(&here, "v/a"), "one\n");
    }
}
