//! A committed transaction can be reverted, whatever it was; and where it cannot, the reason is true.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Ran, Workspace, run};

/// The program under a limit of open files.
fn limited(here: &Workspace, open_files: usize, line: &[&str]) -> Ran {
    let limit = format!("ulimit -n {open_files} && exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &limit, "sh", env!("CARGO_BIN_EXE_txedit")]).args(line);
    run(shell.current_dir(here.path()).stdin(Stdio::null()))
}

/// Whatever can be committed under a limit of open files can be undone under it.
fn what_fits_fits_back(edges: impl Iterator<Item = usize>, plan: impl Fn(&Workspace, usize) -> Value) {
    const OPEN_FILES: usize = 64;
    let (mut committed, mut refused) = (0, 0);
    for count in edges {
        let here = Workspace::new();
        here.write(".git/HEAD", "");
        // The first use makes the state folder.
        here.write("warm", "1").run(&["edit", "warm", "--old", "1", "--new", "2"]).exits(0);
        here.write("plan.json", &plan(&here, count).to_string());
        let ran = limited(&here, OPEN_FILES, &["apply", "plan.json", "--json"]);
        if ran.status == Some(2) {
            assert_eq!(ran.json()["error_code"], "REQUEST_TOO_LARGE", "{ran:?}");
            refused += 1;
            continue;
        }
        ran.exits(0);
        committed += 1;
        let undone = limited(&here, OPEN_FILES, &["undo", "--json"]);
        assert_eq!(undone.status, Some(0), "{count} were committed: {undone:?}");
        assert_eq!(undone.json()["warnings"], Value::Null, "{count}");
        assert!(!here.path().join("new").exists(), "{count}");
        limited(&here, OPEN_FILES, &["redo", "--json"]).exits(0);
    }
    assert!(committed > 0, "nothing was committed, {refused} refused");
}

fn edit(path: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": "one", "new_string": "two" }] })
}

/// An ordinary user.
const NOBODY: u32 = 65_534;

#[test]
fn an_undo_of_many_files_needs_no_more_open_files_than_their_commit() {
    what_fits_fits_back([20, 100].into_iter(), |here, count| {
        let path = |at: usize| format!("f{at}");
        for at in 0..count {
            here.write(&path(at), "one\n");
        }
        json!({ "files": (0..count).map(|at| edit(&path(at))).collect::<Vec<_>>() })
    });
}

#[test]
fn an_undo_of_many_folders_needs_no_more_open_files_than_their_commit() {
    what_fits_fits_back((6..40).step_by(3), |here, count| {
        let path = |at: usize| format!("d{at}/f");
        for at in 0..count {
            here.write(&path(at), "one\n");
        }
        json!({ "files": (0..count).map(|at| edit(&path(at))).collect::<Vec<_>>() })
    });
}

#[test]
fn an_undo_of_many_new_folders_needs_no_more_open_files_than_their_commit() {
    let create = |path: String| json!({ "file_path": path, "content": "new\n" });
    what_fits_fits_back(
        (6..40).step_by(3),
        |_, count| json!({ "files": (0..count).map(|at| create(format!("new/d{at}/f"))).collect::<Vec<_>>() }),
    );
    what_fits_fits_back((6..40).step_by(3), |_, count| {
        let deep = format!("new/{}f", "d/".repeat(count));
        json!({ "files": [create(deep)] })
    });
}

/// A rollback makes folders again that a check removed, and those above them, and has them all open.
#[test]
fn a_rollback_after_a_check_that_removes_folders_needs_no_more_open_files_than_the_commit() {
    let (mut failed, mut refused) = (0, 0);
    for count in 2..20 {
        let here = Workspace::new();
        here.write(".git/HEAD", "");
        let path = |at: usize| format!("d/e{at}/f/g/h");
        for at in 0..count {
            here.write(&path(at), "one\n");
        }
        here.write(
            "plan.json",
            &json!({"files": (0..count).map(|at| edit(&path(at))).collect::<Vec<_>>()}).to_string(),
        );
        let ran = limited(&here, 64, &["apply", "plan.json", "--json", "--check", "rm -r d; exit 1"]);
        if ran.status == Some(2) {
            assert_eq!(ran.json()["error_code"], "REQUEST_TOO_LARGE", "{ran:?}");
            refused += 1;
        } else {
            ran.exits(7);
            failed += 1;
        }
        for at in 0..count {
            assert_eq!(fs::read_to_string(here.path().join(path(at))).unwrap(), "one\n", "{count}: {at}");
        }
    }
    assert!(failed > 0 && refused > 0, "{failed} failed, {refused} were refused");
}

fn one_file(mode: u32) -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n");
    fs::set_permissions(here.path().join("a"), PermissionsExt::from_mode(mode)).unwrap();
    here
}

fn state(here: &Workspace) -> (String, u32) {
    let path = here.path().join("a");
    (fs::read_to_string(&path).unwrap(), fs::metadata(path).unwrap().mode() & 0o7777)
}

/// Makes the file read-only, takes that back, and does it again, as this user.
fn read_only_and_back(here: &Workspace, user: Option<u32>) {
    let mut plan = json!({ "files": [edit("a")] });
    plan["files"][0]["mode"] = "444".into();
    here.write("plan.json", &plan.to_string());
    let run_as = |line: &[&str]| {
        let mut command = here.command(line);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        run(&mut command)
    };
    run_as(&["apply", "plan.json"]).exits(0);
    assert_eq!(state(here), ("two\n".to_owned(), 0o444));
    run_as(&["undo", "--dry-run"]).exits(0);
    run_as(&["undo"]).exits(0);
    assert_eq!(state(here), ("one\n".to_owned(), 0o644));
    run_as(&["redo"]).exits(0);
    assert_eq!(state(here), ("two\n".to_owned(), 0o444));
    // Edits of it are refused all the same.
    let ran = run_as(&["edit", "a", "--old", "two", "--new", "three", "--json"]);
    assert_eq!(ran.exits(2).json()["errors"][0]["code"], "PERMISSION_DENIED");
    run_as(&["undo"]).exits(0);
    assert_eq!(state(here), ("one\n".to_owned(), 0o644));
}

#[test]
fn what_a_transaction_made_read_only_is_reverted() {
    let here = one_file(0o644);
    read_only_and_back(&here, None);
    if !rustix::process::getuid().is_root() {
        return eprintln!("skipped: only root can run it as another user");
    }
    let here = one_file(0o644);
    fs::set_permissions(here.path(), PermissionsExt::from_mode(0o755)).unwrap();
    for name in ["", "a", ".git"] {
        chown(here.path().join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    read_only_and_back(&here, Some(NOBODY));
}

#[test]
fn what_somebody_else_made_read_only_is_not_reverted() {
    let here = one_file(0o644);
    here.run(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    fs::set_permissions(here.path().join("a"), PermissionsExt::from_mode(0o444)).unwrap();
    let ran = here.run(&["undo", "--json"]);
    assert_eq!(ran.exits(3).json()["error_code"], "UNDO_CONFLICT");
    assert_eq!(state(&here), ("two\n".to_owned(), 0o444));
}

#[test]
fn a_file_that_its_owner_could_not_read_is_refused_at_once() {
    if !rustix::process::getuid().is_root() {
        return eprintln!("skipped: only root can run it as another user");
    }
    let here = one_file(0o644);
    fs::set_permissions(here.path(), PermissionsExt::from_mode(0o755)).unwrap();
    for name in ["", "a", ".git"] {
        chown(here.path().join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for (name, file) in [("a", edit("a")), ("b", json!({ "file_path": "b", "content": "new\n" }))] {
        let mut plan = json!({ "files": [file] });
        plan["files"][0]["mode"] = "200".into();
        here.write("plan.json", &plan.to_string());
        let ran = run(here.command(&["apply", "plan.json", "--json"]).uid(NOBODY).gid(NOBODY));
        assert_eq!(ran.status, Some(5), "{name}: {ran:?}");
        assert_eq!(ran.json()["error_code"], "PERMISSION_DENIED", "{name}");
    }
    assert_eq!(state(&here), ("one\n".to_owned(), 0o644));
}

#[test]
fn a_folder_that_an_undo_cannot_remove_is_told() {
    let here = one_file(0o644);
    here.write("plan.json", &json!({ "files": [{ "file_path": "new/deep/b", "content": "b\n" }] }).to_string());
    here.run(&["apply", "plan.json"]).exits(0);
    here.write("new/deep/theirs", "x");
    let json = here.run(&["undo", "--json"]).exits(0).json();
    let warnings: Vec<_> = json["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(warnings.len(), 1, "what is in it keeps what it is in: {warnings:?}");
    assert!(warnings[0].contains("new/deep") && warnings[0].contains("not empty"), "{warnings:?}");
    assert!(here.path().join("new/deep/theirs").exists() && !here.path().join("new/deep/b").exists());
}
