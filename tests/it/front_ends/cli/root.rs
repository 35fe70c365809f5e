//! Which folder is the workspace, when nobody says so and when somebody does. `doctor` tells without writing state.

use std::fs;
use std::process::Command;

use super::{Workspace, run, text};

/// The root, as the program found it.
#[track_caller]
fn root(command: &mut Command) -> String {
    run(command).exits(0).json()["folder"].as_str().unwrap().to_owned()
}

#[test]
fn the_nearest_marked_folder_is_the_root_and_else_the_current_one() {
    let here = Workspace::new();
    let deep = here.path().join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    let found = || root(here.command(&["doctor", "--json"]).current_dir(&deep));
    // Nothing is marked here; something above the scratch folder of this machine may be.
    let unmarked = found();
    assert!(deep.starts_with(&unmarked), "{unmarked}");
    for (mark, at) in [(".git", "a"), (".hg", "a/b"), (".txedit", "a/b/c")] {
        fs::create_dir(here.path().join(at).join(mark)).unwrap();
        assert_eq!(found(), text(&here.path().join(at)), "{mark}");
    }
}

#[test]
fn a_named_root_wins_over_a_marked_folder() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("project/a", "").write("variable/a", "").write("option/a", "");
    let folder = |name: &str| here.path().join(name).to_str().unwrap().to_owned();
    let doctor = || here.command(&["doctor", "--json"]);
    assert_eq!(root(doctor().env("CLAUDE_PROJECT_DIR", folder("project"))), folder("project"));
    assert_eq!(root(doctor().env("CLAUDE_PROJECT_DIR", "")), text(&here.path()));
    let both = || {
        let mut command = doctor();
        command.env("CLAUDE_PROJECT_DIR", folder("project")).env("TXEDIT_ROOT", "variable");
        command
    };
    assert_eq!(root(&mut both()), folder("variable"));
    assert_eq!(root(both().args(["--root", "option"])), folder("option"));
}

#[test]
fn a_root_that_is_no_folder_is_refused_by_name() {
    let here = Workspace::new();
    here.write("file", "");
    let ran = here.run(&["doctor", "--root", "file"]);
    assert!(ran.exits(2).stderr.contains("--root") && ran.stderr.contains("file"), "{ran:?}");
    let ran = run(here.command(&["doctor", "--json"]).env("CLAUDE_PROJECT_DIR", "/nowhere/at/all"));
    let json = ran.exits(2).json();
    assert_eq!(json["error_code"], "VALIDATION_FAILED");
    assert!(json["errors"][0]["message"].as_str().unwrap().contains("CLAUDE_PROJECT_DIR"), "{json}");
}

#[test]
fn the_home_folder_is_no_workspace_unless_it_is_named() {
    let home = Workspace::new();
    home.write("f", "one\n").write("deep/f", "one\n").write(".git/HEAD", "");
    let edit = |folder: &str, options: &[&str]| {
        let mut command = home.command(&[&["edit", "f", "--old", "one", "--new", "two"], options].concat());
        run(command.current_dir(home.path().join(folder)).env("HOME", home.path()))
    };
    let ran = edit(".", &[]);
    assert!(ran.exits(2).stderr.contains("--root"), "{ran:?}");
    // Nor is what is above it.
    let mut above = home.command(&["edit", "f", "--old", "one", "--new", "two"]);
    fs::remove_dir_all(home.path().join(".git")).unwrap();
    let ran = run(above.env("HOME", home.path().join("deep")));
    assert!(ran.exits(2).stderr.contains("--root"), "{ran:?}");
    edit("deep", &[]).exits(0);
    assert!(home.path().join("deep/.txedit").exists() && !home.path().join(".txedit").exists());
    edit(".", &["--root", "."]).exits(0);
    run(home.command(&["completions", "bash"]).env("HOME", home.path())).exits(0);
}
