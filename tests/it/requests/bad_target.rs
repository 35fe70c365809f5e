//! Requests that are refused for what stands at their paths, on ordinary folders and on file systems made for it.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use serde_json::{Value, json};
use txedit::{ErrorKind, Outcome};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, is_root, run};
use crate::support::name_of;
use crate::support::workspace::{Tree, Workspace, assert_findings, make_device};

fn edit(path: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": "one", "new_string": "two" }] })
}

fn edits(paths: &[&str]) -> Value {
    json!({ "files": paths.iter().map(|path| edit(path)).collect::<Vec<_>>() })
}

/// The whole of a request that must fail at its top, since no validation can see it.
fn fails(workspace: &Workspace, request: &Value, kind: ErrorKind) {
    let error = workspace.refuses(request);
    assert_eq!(error.kind(), kind, "{error}");
}

#[test]
fn what_is_missing_or_no_regular_file_is_refused() {
    let workspace = Workspace::with(&[("good", "one\n"), ("sub/a", "one\n"), ("full/a", ""), ("there", "")]);
    run("mkfifo", [workspace.name("pipe")]).unwrap();
    symlink("nowhere", workspace.path("dangling")).unwrap();
    symlink("nowhere/a", workspace.path("into-nothing")).unwrap();
    symlink("good", workspace.path("link")).unwrap();
    let mut request = edits(&["good", "missing", "no/such/folder", "sub", "pipe"]);
    let more = json!([
        { "file_path": "link", "rename_to": "elsewhere", "mode": "600" },
        { "file_path": "sub", "delete": true },
        { "file_path": "full", "content": "", "if_exists": "replace" },
        { "file_path": "there", "content": "" },
        { "file_path": "sub/a", "rename_to": "there" },
        { "file_path": "missing", "mode": "644" },
    ]);
    request["files"].as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
    workspace.finds(
        &request,
        &[
            (ErrorKind::FileNotFound, "files/1/file_path"),
            (ErrorKind::FileNotFound, "files/2/file_path"),
            (ErrorKind::NotARegularFile, "files/3/file_path"),
            (ErrorKind::NotARegularFile, "files/4/file_path"),
            (ErrorKind::NotARegularFile, "files/5/file_path"),
            (ErrorKind::NotARegularFile, "files/6/file_path"),
            (ErrorKind::NotARegularFile, "files/7/file_path"),
            (ErrorKind::FileExists, "files/8/file_path"),
            (ErrorKind::FileExists, "files/9/rename_to"),
            (ErrorKind::FileNotFound, "files/10/file_path"),
        ],
    );
    workspace.finds(
        &edits(&["dangling", "good", "into-nothing"]),
        &[(ErrorKind::FileNotFound, "files/0/file_path"), (ErrorKind::FileNotFound, "files/2/file_path")],
    );
}

#[test]
fn a_device_is_refused() {
    let workspace = Workspace::with(&[]);
    if !make_device(&workspace.path("device")) {
        return eprintln!("skipped: no devices can be made here");
    }
    workspace.finds(&edits(&["device"]), &[(ErrorKind::NotARegularFile, "files/0/file_path")]);
}

#[test]
fn symlinks_in_a_circle_are_refused() {
    let workspace = Workspace::with(&[("good", "one\n")]);
    symlink("b", workspace.path("a")).unwrap();
    symlink("a", workspace.path("b")).unwrap();
    workspace.finds(
        &edits(&["a", "good", "b/c"]),
        &[(ErrorKind::SymlinkLoop, "files/0/file_path"), (ErrorKind::SymlinkLoop, "files/2/file_path")],
    );
}

#[test]
fn a_file_in_the_place_of_a_folder_is_refused() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    workspace.finds(
        &json!({ "files": [
            edit("a/x"),
            { "file_path": "a/x/y", "content": "" },
            { "file_path": "b", "rename_to": "a/b" },
        ] }),
        &[
            (ErrorKind::NotARegularFile, "files/0/file_path"),
            (ErrorKind::NotARegularFile, "files/1/file_path"),
            (ErrorKind::NotARegularFile, "files/2/rename_to"),
        ],
    );
    // Two new names of which one is the folder of the other.
    let both = json!({ "files": [{ "file_path": "n", "content": "" }, { "file_path": "n/x", "content": "" }] });
    let error = workspace.refuses(&both);
    assert_eq!((error.kind(), error.file()), (ErrorKind::NotARegularFile, Some(0)), "{error}");
}

#[test]
fn read_only_files_are_refused() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n"), ("c", "one\n")]);
    workspace.chmod("a", 0o444);
    workspace.chmod("c", 0o500);
    workspace.finds(
        &json!({ "files": [edit("a"), edit("b"), { "file_path": "c", "delete": true }] }),
        &[(ErrorKind::PermissionDenied, "files/0/file_path"), (ErrorKind::PermissionDenied, "files/2/file_path")],
    );
}

/// Runs one of these tests again as another user.
fn as_nobody(test: &str) {
    if !is_root() {
        return eprintln!("skipped: only root can become somebody else");
    }
    let again = std::env::current_exe().unwrap();
    let again = again.to_str().unwrap();
    let test = name_of(module_path!(), test);
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "env", "TMPDIR=/tmp"];
    // The executable may be where only root can go.
    let copy = tempfile::Builder::new().prefix("txedit-it-").tempdir().unwrap();
    let copied = copy.path().join("it");
    fs::copy(again, &copied).unwrap();
    run("chmod", ["755", copy.path().to_str().unwrap()]).unwrap();
    let arguments = nobody.into_iter().chain([copied.to_str().unwrap(), "--exact", &test, "--nocapture"]);
    let told = run("setpriv", arguments).unwrap();
    assert!(told.contains("1 passed"), "{told}");
}

#[test]
fn an_ordinary_user_is_refused_what_the_modes_forbid() {
    as_nobody("refusals_of_an_ordinary_user");
}

#[test]
fn refusals_of_an_ordinary_user() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n"), ("sub/c", "one\n"), ("d", "one\n")]);
    if is_root() {
        return;
    }
    workspace.chmod("a", 0o200);
    workspace.chmod("b", 0o444);
    workspace.chmod("sub", 0o555);
    let request = json!({ "files": [edit("a"), edit("b"), edit("sub/c"), edit("d"),
        { "file_path": "sub/new", "content": "" }] });
    workspace.finds(
        &request,
        &[
            (ErrorKind::PermissionDenied, "files/0/file_path"),
            (ErrorKind::PermissionDenied, "files/1/file_path"),
            (ErrorKind::PermissionDenied, "files/2/file_path"),
            (ErrorKind::PermissionDenied, "files/4/file_path"),
        ],
    );
    workspace.finds(&edits(&["/etc/passwd"]), &[(ErrorKind::OutsideRoot, "files/0/file_path")]);
    workspace.chmod("sub", 0o000);
    let error = workspace.apply(&edits(&["sub/c"])).unwrap_err();
    assert_findings(&error, &[(ErrorKind::PermissionDenied, "files/0/file_path")]);
    workspace.chmod("sub", 0o755);
}

#[test]
fn a_file_of_another_user_is_refused() {
    as_nobody("refusals_of_files_of_root");
}

#[test]
fn refusals_of_files_of_root() {
    if is_root() {
        return;
    }
    // Root's, and readable by all, on every system.
    let workspace = Workspace::at(Path::new("/etc"));
    let error = workspace.apply(&edits(&["passwd"])).unwrap_err();
    assert_findings(&error, &[(ErrorKind::PermissionDenied, "files/0/file_path")]);
}

#[test]
fn a_read_only_file_system_is_refused() {
    mounts::with(Kind::Tmpfs, |root| {
        let workspace = Workspace::at(root);
        workspace.write("a", "one\n");
        run("mount", ["-o", "remount,ro", root.to_str().unwrap()]).unwrap();
        fails(&workspace, &edits(&["a"]), ErrorKind::ReadOnlyFs);
    });
}

#[test]
fn mount_points_are_refused() {
    if is_without("mounts of the same file system") {
        return;
    }
    mounts::with(Kind::Tmpfs, |root| {
        let workspace = Workspace::at(root);
        for path in ["a", "other", "bound"] {
            workspace.write(path, "one\n");
        }
        run("mount", ["--bind", &workspace.name("other"), &workspace.name("bound")]).unwrap();
        workspace
            .finds(&json!({ "files": [edit("a"), edit("bound")] }), &[(ErrorKind::MountPoint, "files/1/file_path")]);
        workspace.finds(
            &json!({ "files": [{ "file_path": "a", "rename_to": "bound", "if_exists": "replace" }] }),
            &[(ErrorKind::MountPoint, "files/0/rename_to")],
        );
        run("umount", [workspace.name("bound")]).unwrap();
    });
}

#[test]
fn immutable_and_append_only_files_are_refused() {
    if is_without("inode flags") {
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        let workspace = Workspace::at(root);
        for path in ["a", "immutable", "append", "fixed/a", "log/a", "log/b"] {
            workspace.write(path, "one\n");
        }
        let flagged = [("+i", "immutable"), ("+a", "append"), ("+i", "fixed"), ("+a", "log")];
        for (flag, path) in flagged {
            workspace.tool("chattr", &[flag], path).unwrap();
        }
        let request = json!({ "files": [
            edit("a"), edit("immutable"), edit("append"), edit("fixed/a"), edit("log/a"),
            { "file_path": "fixed/new", "content": "" },
            { "file_path": "log/new", "content": "" },
            { "file_path": "fixed/deep/new", "content": "" },
        ] });
        workspace.finds(
            &request,
            &[
                (ErrorKind::Immutable, "files/1/file_path"),
                (ErrorKind::Immutable, "files/2/file_path"),
                (ErrorKind::Immutable, "files/3/file_path"),
                (ErrorKind::Immutable, "files/4/file_path"),
                (ErrorKind::Immutable, "files/5/file_path"),
                (ErrorKind::Immutable, "files/6/file_path"),
                (ErrorKind::Immutable, "files/7/file_path"),
            ],
        );
        for (flag, path) in flagged {
            workspace.tool("chattr", &[&flag.replace('+', "-")], path).unwrap();
        }
        workspace.apply(&edits(&["a", "immutable", "append", "fixed/a", "log/a"])).unwrap();
    });
}

#[test]
fn a_state_folder_that_others_can_write_to_is_refused() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    fs::create_dir(workspace.path(".txedit")).unwrap();
    workspace.chmod(".txedit", 0o770);
    fails(&workspace, &edits(&["a"]), ErrorKind::PermissionDenied);
    workspace.chmod(".txedit", 0o700);
    if is_root() {
        chown(workspace.path(".txedit"), Some(65534), None).unwrap();
        fails(&workspace, &edits(&["a"]), ErrorKind::PermissionDenied);
        chown(workspace.path(".txedit"), Some(0), None).unwrap();
    }
    fs::remove_dir(workspace.path(".txedit")).unwrap();
    symlink("/", workspace.path(".txedit")).unwrap();
    fails(&workspace, &edits(&["a"]), ErrorKind::PermissionDenied);
    fs::remove_file(workspace.path(".txedit")).unwrap();
    workspace.write(".txedit", "");
    fails(&workspace, &edits(&["a"]), ErrorKind::PermissionDenied);
    fs::remove_file(workspace.path(".txedit")).unwrap();
    workspace.apply(&edits(&["a"])).unwrap();
}

#[test]
fn a_file_system_that_cannot_exchange_names_is_refused_without_a_trace() {
    mounts::with(Kind::Fuse, |root| {
        let workspace = Workspace::at(root);
        workspace.write("a", "one\n");
        let before = Tree::of(root).restorable();
        let error = workspace.apply(&edits(&["a"])).unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnsupportedFileSystem, Outcome::Unchanged), "{error}");
        // It was tried out in a state folder that is gone again, which only the time of the root tells.
        Tree::of(root).restorable().assert_same(&before);
    });
}

#[test]
fn names_that_differ_by_case_alone_are_one_file_where_the_folder_folds_case() {
    mounts::with(Kind::Casefold, |root| {
        let workspace = Workspace::at(root);
        fs::create_dir(workspace.path("fold")).unwrap();
        if let Err(reason) = workspace.tool("chattr", &["+F"], "fold") {
            return eprintln!("skipped: {reason}");
        }
        workspace.write("fold/name", "one\n");
        assert!(workspace.path("fold/NAME").exists());
        let mut rename = json!({ "files": [{ "file_path": "fold/name", "rename_to": "fold/Name" }] });
        workspace.finds(&rename, &[(ErrorKind::FileExists, "files/0/rename_to")]);
        rename["files"][0]["if_exists"] = json!("replace");
        workspace.finds(&rename, &[(ErrorKind::DuplicateFilePath, "files/0/rename_to")]);
        let twice = edits(&["fold/name", "fold/NAME"]);
        workspace.finds(&twice, &[(ErrorKind::DuplicateFilePath, "files/1/file_path")]);
        let new = json!({ "files": [
            { "file_path": "fold/new", "content": "" }, { "file_path": "fold/NEW", "content": "" },
        ] });
        let before = Tree::of(root);
        let error = workspace.apply(&new).unwrap_err();
        Tree::of(root).outside_state().restorable().assert_same(&before.restorable());
        assert!(matches!(error.kind(), ErrorKind::ConcurrentModification | ErrorKind::FileExists), "{error}");
    });
}
