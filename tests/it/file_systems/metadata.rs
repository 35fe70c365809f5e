//! What surrounds a content: modes, owners, attributes, flags and links, after a commit, a rollback and an undo.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use txedit::Outcome;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultFs, FaultOperation, Rule};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, is_root};
use crate::support::workspace::{Node, Workspace};

/// A file that has everything that a file can have here, and how much of that could be given.
fn dressed(workspace: &Workspace, path: &str) -> usize {
    workspace.write(path, "one\n");
    let attempts: [(&str, &[&str]); 4] = [
        ("setfattr", &["-n", "user.colour", "-v", "green"]),
        ("setfacl", &["-m", "u:1234:rw,g:2345:r,m::rwx"]),
        ("setcap", &["cap_net_raw+ep"]),
        ("chattr", &["+d"]),
    ];
    if is_root() {
        chown(workspace.path(path), Some(1234), Some(2345)).unwrap();
    }
    workspace.chmod(path, 0o6751);
    // The flags come last.
    let most = if is_without("inode flags") { 3 } else { 4 };
    attempts[..most].iter().filter(|(tool, arguments)| workspace.tool(tool, arguments, path).is_ok()).count()
}

pub(crate) fn edits(paths: &[&str]) -> Value {
    let edits = json!([{ "old_string": "one", "new_string": "two" }]);
    json!({ "files": paths.iter().map(|path| json!({ "file_path": path, "edits": edits })).collect::<Vec<_>>() })
}

/// A node without what a replacement must change.
fn surroundings(node: &Node) -> Node {
    Node { inode: 0, modified: (0, 0), content: Vec::new(), links: 0, ..node.clone() }
}

fn everything_is_kept(root: &Path) {
    let workspace = Workspace::at(root);
    let given = dressed(&workspace, "sub/a");
    eprintln!("{given} of 4 kinds of metadata");
    workspace.write("sub/b", "one\n");
    workspace.chmod("sub/b", 0o1644);
    let before = workspace.tree();
    let kept = || {
        let now = workspace.tree();
        for path in ["sub/a", "sub/b"] {
            assert_eq!(surroundings(now.at(path)), surroundings(before.at(path)), "{path}");
        }
        assert_eq!(now.0.keys().collect::<Vec<_>>(), before.0.keys().collect::<Vec<_>>(), "nothing beside targets");
    };
    workspace.apply(&edits(&["sub/a", "sub/b"])).unwrap();
    assert_eq!((workspace.read("sub/a"), workspace.read("sub/b")), ("two\n".to_owned(), "two\n".to_owned()));
    kept();
    workspace.undo(None).unwrap();
    kept();
    workspace.tree().restorable().assert_same(&before.clone().restorable());

    // A rollback after the first swap: the old inodes themselves come back.
    let before = workspace.tree();
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let failing = Workspace::on(faults.clone(), root);
    let second = |call: &txedit::fs::fault::FaultCall| {
        call.operation == FaultOperation::Rename && call.to.as_ref().is_some_and(|to| to.ends_with("sub/b"))
    };
    faults.add(Rule::fail(1, 5).matching(second));
    let error = failing.apply(&edits(&["sub/a", "sub/b"])).unwrap_err();
    assert_eq!((faults.fired(), error.outcome()), (1, Outcome::RolledBack), "{error}");
    let after = workspace.tree();
    assert_eq!(after.0.len(), before.0.len());
    for (path, node) in &after.0 {
        let was = &before.0[path];
        assert!(node == was || node.mode & 0o170_000 == 0o040_000, "{}: {node:?} {was:?}", path.display());
    }
}

#[test]
fn everything_is_kept_on_the_ordinary_file_system() {
    everything_is_kept(Workspace::new().root());
}

#[test]
fn everything_is_kept_on_ext4() {
    mounts::with(Kind::Ext4, everything_is_kept);
}

#[test]
fn everything_is_kept_on_xfs() {
    mounts::with(Kind::Xfs, everything_is_kept);
}

#[test]
fn everything_is_kept_on_btrfs() {
    mounts::with(Kind::Btrfs, everything_is_kept);
}

#[test]
fn everything_is_kept_on_tmpfs() {
    mounts::with(Kind::Tmpfs, everything_is_kept);
}

#[test]
fn everything_is_kept_on_overlay() {
    mounts::with(Kind::Overlay, everything_is_kept);
}

#[test]
fn a_hard_link_is_broken_and_told() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    fs::hard_link(workspace.path("a"), workspace.path("second")).unwrap();
    let before = workspace.tree();
    let report = workspace.apply(&edits(&["a", "b"])).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("second")), ("two\n".to_owned(), "one\n".to_owned()));
    assert_eq!(workspace.tree().at("second").inode, before.at("second").inode);
    assert!(report.files[0].extras.warnings[0].contains("2 hard links"), "{:?}", report.files[0].extras.warnings);
    assert!(report.files[1].extras.warnings.is_empty());
}

#[test]
fn a_symlink_stays_one() {
    let workspace = Workspace::with(&[("real/a", "one\n")]);
    symlink("real/a", workspace.path("link")).unwrap();
    symlink("real", workspace.path("folder")).unwrap();
    workspace.write("real/b", "one\n");
    let before = workspace.tree();
    workspace.apply(&edits(&["link", "folder/b"])).unwrap();
    let after = workspace.tree();
    assert_eq!((workspace.read("real/a"), workspace.read("real/b")), ("two\n".to_owned(), "two\n".to_owned()));
    assert_eq!((after.at("link"), after.at("folder")), (before.at("link"), before.at("folder")));
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

/// What is made gets what the shell's own new file in the same folder gets.
fn new_files_are_as_the_shell_makes_them(root: &Path) {
    let workspace = Workspace::at(root);
    let folders: [(&str, &[&[&str]]); 4] = [
        ("plain", &[]),
        ("grouped", &[&["chown", "0:4321"], &["chmod", "2775"]]),
        ("listed", &[&["setfacl", "-d", "-m", "u::rwx,g::r-x,o::---,u:1234:rwx"]]),
        ("both", &[&["chmod", "2777"], &["setfacl", "-d", "-m", "u::rw,g::rwx,o::r"], &["chattr", "+dA"]]),
    ];
    // What those folders pass on comes last.
    let most = if is_without("default ACLs and inode flags") { 2 } else { 4 };
    for (folder, commands) in &folders[..most] {
        fs::create_dir(workspace.path(folder)).unwrap();
        for command in *commands {
            if let Err(reason) = workspace.tool(command[0], &command[1..], folder) {
                eprintln!("without {command:?}: {reason}");
            }
        }
        let shell = format!("cd '{}' && > shell && mkdir -p made && > made/shell", workspace.name(folder));
        mounts::run("sh", ["-c", &shell]).unwrap();
        let new = |path: &str| json!({ "file_path": format!("{folder}/{path}"), "content": "new\n" });
        workspace.apply(&json!({ "files": [new("ours"), new("also/ours"), new("also/deep/ours")] })).unwrap();
        let tree = workspace.tree();
        let pairs =
            [("ours", "shell"), ("also", "made"), ("also/ours", "made/shell"), ("also/deep/ours", "made/shell")];
        for (ours, theirs) in pairs {
            let (ours, theirs) = (format!("{folder}/{ours}"), format!("{folder}/{theirs}"));
            assert_eq!(surroundings(tree.at(&ours)), surroundings(tree.at(&theirs)), "{ours}");
        }
    }
}

#[test]
fn new_files_get_their_metadata_on_the_ordinary_file_system() {
    new_files_are_as_the_shell_makes_them(Workspace::new().root());
}

#[test]
fn new_files_get_their_metadata_on_ext4() {
    mounts::with(Kind::Ext4, new_files_are_as_the_shell_makes_them);
}

#[test]
fn new_files_get_their_metadata_on_xfs() {
    mounts::with(Kind::Xfs, new_files_are_as_the_shell_makes_them);
}

#[test]
fn new_files_get_their_metadata_on_tmpfs() {
    mounts::with(Kind::Tmpfs, new_files_are_as_the_shell_makes_them);
}

#[test]
fn the_state_folder_is_private_and_hands_nothing_on() {
    let workspace = Workspace::with(&[("sub/a", "one\n")]);
    let acl = workspace.tool("setfacl", &["-d", "-m", "u:1234:rwx,o::rwx"], "");
    workspace.apply(&edits(&["sub/a"])).unwrap();
    for path in [".txedit", ".txedit/txn", ".txedit/history", ".txedit/kept", ".txedit/trash"] {
        assert_eq!(workspace.mode(path) & 0o7077, 0, "{path}: {:o}, {acl:?}", workspace.mode(path));
    }
    assert!(workspace.tree().at("sub/a").attributes.is_empty());
    assert_eq!(workspace.read(".txedit/.gitignore"), "*\n");
    let history: Vec<_> = fs::read_dir(workspace.path(".txedit/history")).unwrap().collect();
    assert_eq!(history.len(), 1);
}

#[test]
fn a_backup_is_a_copy_of_what_was_there() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    workspace.chmod("a", 0o640);
    workspace.chmod("b", 0o755);
    let before = workspace.tree();
    let mut request = edits(&["a", "b"]);
    request["backup"] = json!(true);
    let report = workspace.apply(&request).unwrap();
    assert_eq!((workspace.read("a.bak"), workspace.read("b.bak")), ("one\n".to_owned(), "one\n".to_owned()));
    assert_eq!((workspace.mode("a.bak"), workspace.mode("b.bak")), (0o640, 0o755));
    assert_eq!(report.files[0].extras.backup.as_deref(), Some(Path::new("a.bak")));
    assert_eq!(workspace.tree().0.len(), before.0.len() + 2);
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn a_new_content_has_the_mode_that_was_asked_for() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let mut request = edits(&["a"]);
    request["files"][0]["mode"] = json!("4711");
    request["files"].as_array_mut().unwrap().push(json!({ "file_path": "new", "content": "", "mode": "600" }));
    workspace.apply(&request).unwrap();
    assert_eq!((workspace.mode("a"), workspace.mode("new")), (0o4711, 0o600));
}
