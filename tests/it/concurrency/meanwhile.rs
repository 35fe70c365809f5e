//! What another program does between the last look at a file and its swap, and while a check runs: modes, owners and
//! attributes, contents whose time is set back, folders that move. By calls that are held up on the real file system.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::{ErrorKind, Outcome};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, is_root};
use crate::support::workspace::{Node, Workspace};

fn edits(paths: &[&str]) -> Value {
    let edits = json!([{ "old_string": "one", "new_string": "two" }]);
    json!({ "files": paths.iter().map(|path| json!({ "file_path": path, "edits": edits })).collect::<Vec<_>>() })
}

/// A workspace in whose next commit `act` happens right before the swap of `path`.
fn acting(root: &Path, path: &'static str, act: impl Fn() + Send + Sync + 'static) -> (Workspace, Arc<FaultFs>) {
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let swaps = move |call: &FaultCall| {
        call.operation == FaultOperation::Rename && call.to.as_ref().is_some_and(|to| to.ends_with(path))
    };
    faults.add(Rule::before(1, move |_| act()).matching(swaps));
    (Workspace::on(faults.clone(), root), faults)
}

/// A file without what every replacement changes.
fn metadata_of(node: &Node) -> Node {
    Node { inode: 0, modified: (0, 0), content: Vec::new(), ..node.clone() }
}

type Change = fn(&Path) -> bool;

/// Changes of mode, owner and attributes; `false` where one cannot be made here.
const CHANGES: [(&str, Change); 5] = [
    ("chmod", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o600)).is_ok()),
    ("chown", |path| is_root() && chown(path, Some(1234), Some(2345)).is_ok()),
    ("setfattr", |path| mounts::run("setfattr", ["-n".as_ref(), "user.theirs".as_ref(), path.as_os_str()]).is_ok()),
    ("setfattr -x", |path| mounts::run("setfattr", ["-x".as_ref(), "user.ours".as_ref(), path.as_os_str()]).is_ok()),
    ("chattr", |path| mounts::run("chattr", ["+d".as_ref(), path.as_os_str()]).is_ok()),
];

fn permissions(root: &Path) {
    // The flags come last.
    let most = if is_without("inode flags") { 4 } else { 5 };
    for &(name, change) in &CHANGES[..most] {
        for operation in ["edit", "delete"] {
            let file = format!("{operation} {name}").replace(' ', "_");
            let plain = Workspace::at(root);
            for name in [&*file, "changed"] {
                plain.write(name, "one\n");
                plain.tool("setfattr", &["-n", "user.ours", "-v", "x"], name).ok();
            }
            let (path, other) = (plain.path(&file), plain.path("changed"));
            if !change(&other) {
                eprintln!("{name} is not possible here");
                continue;
            }
            let (workspace, faults) = {
                let path = path.clone();
                let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
                let of_file = path.clone();
                let swaps = move |call: &FaultCall| {
                    call.operation == FaultOperation::Rename
                        && (call.to.as_ref() == Some(&of_file) || call.path == of_file)
                };
                faults.add(Rule::before(1, move |_| assert!(change(&path))).matching(swaps));
                (Workspace::on(faults.clone(), root), faults)
            };
            let request = if operation == "edit" {
                edits(&[&file])
            } else {
                json!({ "files": [{ "file_path": file, "delete": true }] })
            };
            let error = workspace.apply(&request).expect_err(&file);
            assert_eq!(
                (error.kind(), error.outcome()),
                (ErrorKind::ConcurrentModification, Outcome::RolledBack),
                "{file}"
            );
            assert_eq!(faults.fired(), 1);
            let now = metadata_of(workspace.tree().at(&file));
            assert!(change(&path) || name == "setfattr -x", "{name} once more");
            assert_eq!(now, metadata_of(workspace.tree().at(&file)), "{file}: what was changed is there");
            assert_eq!(workspace.read(&file), "one\n");
            fs::remove_file(other).unwrap();
        }
    }
}

#[test]
fn permissions_that_others_change_are_kept_on_the_ordinary_file_system() {
    permissions(Workspace::new().root());
}

#[test]
fn permissions_that_others_change_are_kept_on_xfs() {
    mounts::with(Kind::Xfs, permissions);
}

#[test]
fn permissions_that_others_change_are_kept_on_btrfs() {
    mounts::with(Kind::Btrfs, permissions);
}

#[test]
fn permissions_that_others_change_are_kept_on_overlay() {
    mounts::with(Kind::Overlay, permissions);
}

#[test]
fn a_write_of_the_same_size_whose_time_is_set_back_is_noticed() {
    let plain = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(60 * 60);
    for file in ["a", "b"] {
        fs::File::options().write(true).open(plain.path(file)).unwrap().set_modified(hour).unwrap();
    }
    let path = plain.path("b");
    let (workspace, faults) = acting(plain.root(), "b", move || {
        fs::write(&path, "six\n").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(hour).unwrap();
    });
    let error = workspace.apply(&edits(&["a", "b"])).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ConcurrentModification, Outcome::RolledBack));
    assert_eq!((faults.fired(), workspace.read("a"), workspace.read("b")), (1, "one\n".into(), "six\n".into()));
}

#[test]
fn a_folder_that_is_moved_away_stops_the_commit() {
    let plain = Workspace::with(&[("a", "one\n"), ("sub/b", "one\n"), ("sub/gone", "gone\n")]);
    let outside = tempfile::tempdir().unwrap();
    for to in [plain.path("elsewhere"), outside.path().join("elsewhere")] {
        let (from, away) = (plain.path("sub"), to.clone());
        let moves = move || {
            fs::rename(&from, &away).unwrap();
            fs::create_dir(&from).unwrap();
        };
        let (workspace, faults) = acting(plain.root(), "sub/b", moves);
        let mut request = edits(&["a", "sub/b"]);
        let files = request["files"].as_array_mut().unwrap();
        files.push(json!({ "file_path": "sub/gone", "delete": true }));
        files.push(json!({ "file_path": "sub/deep/new", "content": "new\n" }));
        let error = workspace.apply(&request).unwrap_err();
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::ConcurrentModification, Outcome::RolledBack),
            "{error}"
        );
        assert!(error.to_string().contains("moved"), "{error}");
        assert_eq!(faults.fired(), 1);
        assert_eq!(workspace.read("a"), "one\n");
        assert_eq!(fs::read_to_string(to.join("b")).unwrap(), "one\n");
        assert_eq!(fs::read_to_string(to.join("gone")).unwrap(), "gone\n");
        assert_eq!((fs::read_dir(&to).unwrap().count(), fs::read_dir(plain.path("sub")).unwrap().count()), (2, 0));
        fs::remove_dir(plain.path("sub")).unwrap();
        fs::rename(&to, plain.path("sub")).unwrap();
    }
}

#[test]
fn files_of_one_content_and_different_attributes_are_told_apart() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    if let Err(reason) = workspace.tool("setfattr", &["-n", "user.colour", "-v", "green"], "a") {
        eprintln!("skipped: {reason}");
        return;
    }
    let before = workspace.tree();
    let rename = |from: &str, to: &str| json!({ "file_path": from, "rename_to": to });
    let report = workspace.apply(&json!({ "files": [rename("a", "b"), rename("b", "a")] })).unwrap();
    assert!(report.transaction.is_some(), "it is something to do");
    let after = workspace.tree();
    assert_eq!(metadata_of(after.at("a")), metadata_of(before.at("b")));
    assert_eq!(metadata_of(after.at("b")), metadata_of(before.at("a")));
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn attributes_that_were_given_after_a_commit_keep_an_undo_from_it() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    workspace.apply(&edits(&["a"])).unwrap();
    if let Err(reason) = workspace.tool("setfattr", &["-n", "user.colour", "-v", "green"], "a") {
        eprintln!("skipped: {reason}");
        return;
    }
    assert_eq!(workspace.undo(None).unwrap_err().kind(), ErrorKind::UndoConflict);
    workspace.tool("setfattr", &["-x", "user.colour"], "a").unwrap();
    workspace.undo(None).unwrap();
    assert_eq!(workspace.read("a"), "one\n");
}
