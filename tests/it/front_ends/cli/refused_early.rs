//! What a commit would refuse, a dry run and a stage refuse as well, before anything is written.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Command;

use serde_json::json;

use super::{Ran, Workspace, run};
use crate::support::mounts::is_root;

/// A user whom nobody else is, a group that is the user's only as a second one, and one that is not the user's.
const USER: u32 = 54_331;
const SECOND: u32 = 54_332;
const FOREIGN: u32 = 54_333;

fn workspace() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n").write("second", "one\n").write("shared/b", "one\n");
    for name in ["", ".git", "a", "second", "shared", "shared/b"] {
        chown(here.path().join(name), Some(USER), Some(USER)).unwrap();
    }
    chown(here.path().join("a"), None, Some(FOREIGN)).unwrap();
    chown(here.path().join("second"), None, Some(SECOND)).unwrap();
    chown(here.path().join("shared"), None, Some(FOREIGN)).unwrap();
    let set = |name: &str, mode| fs::set_permissions(here.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
    set("", 0o755);
    set("shared", 0o2775);
    here
}

fn run_as_user(here: &Workspace, line: &[&str]) -> Ran {
    let inner = here.command(line);
    let mut command = Command::new("setpriv");
    let (user, groups) = (USER.to_string(), SECOND.to_string());
    command.args(["--reuid", &user, "--regid", &user, "--groups", &groups]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(here.path());
    run(command.env("XDG_CONFIG_HOME", here.path()))
}

#[test]
fn a_file_of_a_group_that_is_not_ones_own_is_found_out_before() {
    if !is_root() {
        return eprintln!("skipped: another user needs root");
    }
    let here = workspace();
    let edit = ["edit", "a", "--old", "one", "--new", "two", "--json"];
    here.write(
        "edit.json",
        r#"{"files": [{"file_path": "a", "edits": [{"old_string": "one", "new_string": "two"}]}]}"#,
    );
    here.write("create.json", r#"{"files": [{"file_path": "shared/new", "content": "x"}]}"#);
    let dry = |plan| ["apply", plan, "--dry-run", "--json"];
    let staged = ["stage", "edit.json", "--json"];
    let lines: [&[&str]; 5] =
        [&[&edit[..], &["--dry-run"]].concat(), &edit, &dry("create.json"), &dry("create.json")[..2], &staged];
    for line in lines {
        let ran = run_as_user(&here, line);
        assert!(
            ran.exits(5).stderr.contains(&FOREIGN.to_string()) || ran.stdout.contains("54333"),
            "{line:?}: {ran:?}"
        );
        assert!(!here.path().join(".txedit/history").exists(), "{line:?}");
    }
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    // In a second group one may keep it.
    let edit = ["edit", "second", "--old", "one", "--new", "two"];
    run_as_user(&here, &[&edit[..], &["--dry-run"]].concat()).exits(0);
    run_as_user(&here, &edit).exits(0);
    assert_eq!(fs::metadata(here.path().join("second")).unwrap().gid(), SECOND);
    // What is put back must be the group's as well.
    chown(here.path().join("second"), None, Some(FOREIGN)).unwrap();
    for line in [&["undo", "--dry-run", "--json"][..], &["undo", "--json"]] {
        let json = run_as_user(&here, line).exits(3).json();
        assert_eq!(json["error_code"], json!("UNDO_CONFLICT"), "{json}");
    }
}

/// An undo could not give it back to the group.
#[test]
fn a_folder_of_a_group_that_is_not_ones_own_is_not_removed() {
    if !is_root() {
        return eprintln!("skipped: another user needs root");
    }
    let here = workspace();
    for (name, group) in [("foreign", FOREIGN), ("own", SECOND), ("foreign/in", USER)] {
        fs::create_dir(here.path().join(name)).unwrap();
        chown(here.path().join(name), Some(USER), Some(group)).unwrap();
    }
    let removal = |name: &str| format!(r#"{{"files": [{{"file_path": "{name}", "remove_folder": true}}]}}"#);
    here.write("foreign/file", "one\n");
    chown(here.path().join("foreign/file"), Some(USER), Some(USER)).unwrap();
    here.write("foreign.json", &removal("foreign")).write("in.json", &removal("foreign/in"));
    here.write("becomes.json", r#"{"files": [{"file_path": "foreign/file", "rename_to": "foreign"}]}"#);
    here.write("own.json", &removal("own"));
    for line in [&["apply", "becomes.json", "--dry-run", "--json"][..], &["apply", "becomes.json", "--json"]] {
        let ran = run_as_user(&here, line);
        assert!(ran.exits(5).stdout.contains("54333"), "{line:?}: {ran:?}");
    }
    fs::remove_file(here.path().join("foreign/file")).unwrap();
    run_as_user(&here, &["apply", "in.json"]).exits(0);
    let refused = run_as_user(&here, &["apply", "foreign.json", "--json"]).exits(5).json();
    assert_eq!(refused["error_code"], json!("PERMISSION_DENIED"), "{refused}");
    // In a second group one may give it back.
    for line in [&["apply", "own.json"][..], &["undo"], &["undo"]] {
        run_as_user(&here, line).exits(0);
    }
    assert_eq!(fs::metadata(here.path().join("own")).unwrap().gid(), SECOND);
    assert!(here.path().join("foreign/in").exists());
}
