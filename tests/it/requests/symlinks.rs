//! Symlinks themselves: made, retargeted, deleted, renamed; and files and symlinks that take the place of each other.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use txedit::report::Operation;
use txedit::{Change, ErrorKind, FileRequest, IfExists, Outcome, Request};

use super::there_and_back;
use crate::support::mounts::run;
use crate::support::workspace::{Workspace, running};

fn links(path: &str, target: &str) -> Value {
    json!({ "file_path": path, "symlink_to": target })
}

fn relinks(path: &str, target: &str) -> Value {
    json!({ "file_path": path, "symlink_to": target, "if_exists": "replace" })
}

fn deletes(path: &str) -> Value {
    json!({ "file_path": path, "delete": true })
}

fn files(files: &[Value]) -> Value {
    json!({ "files": files })
}

fn workspace() -> Workspace {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "two\n"), ("d/x", "x\n")]);
    fill(&workspace);
    workspace
}

fn fill(workspace: &Workspace) {
    for (target, path) in [("a", "to-a"), ("nowhere", "dangling"), ("/", "outside"), ("d", "to-d"), ("loop", "loop")] {
        symlink(target, workspace.path(path)).unwrap();
    }
}

/// Where a symlink leads; `None` if it is none.
fn target(workspace: &Workspace, path: &str) -> Option<String> {
    fs::read_link(workspace.path(path)).ok().map(|target| target.to_str().unwrap().to_owned())
}

/// All that can be done to symlinks.
fn all_kinds() -> Value {
    files(&[
        links("new/deep/link", "../../nothing-there"),
        relinks("to-a", "b"),
        deletes("dangling"),
        json!({ "file_path": "outside", "rename_to": "moved" }),
        relinks("b", "/etc/hostname"),
        deletes("to-d"),
        json!({ "file_path": "to-d", "content": "now a file\n" }),
        deletes("loop"),
        json!({ "file_path": "loop", "make_folder": true }),
    ])
}

fn all_kinds_in(workspace: &Workspace) {
    use Operation::{Create, Delete, Folder, Rename, Replace};
    let before = workspace.tree();
    let report = workspace.apply(&all_kinds()).unwrap();
    for (path, leads) in
        [("new/deep/link", "../../nothing-there"), ("to-a", "b"), ("moved", "/"), ("b", "/etc/hostname")]
    {
        assert_eq!(target(workspace, path).as_deref(), Some(leads), "{path}");
    }
    let left = ["dangling", "outside"].map(|path| fs::symlink_metadata(workspace.path(path)).is_ok());
    assert_eq!(left, [false, false]);
    assert_eq!(workspace.read("to-d"), "now a file\n");
    assert!(fs::symlink_metadata(workspace.path("loop")).unwrap().is_dir());
    assert_eq!((workspace.read("a"), workspace.read("d/x")), ("one\n".to_owned(), "x\n".to_owned()));
    let operations: Vec<_> = report.files.iter().map(|file| file.operation).collect();
    assert_eq!(operations, [Create, Replace, Delete, Rename, Replace, Delete, Create, Delete, Folder]);
    let told: Vec<_> = report.files.iter().filter_map(|file| file.extras.symlink_to.clone()).collect();
    let targets = ["../../nothing-there", "b", "/", "/etc/hostname"].map(|target| Path::new(target).to_owned());
    assert_eq!(told, targets);
    there_and_back(workspace, &before);
    // What a program keeps a symlink open for does not exist: nothing was written late.
    assert!(workspace.engine.log(1, None).unwrap()[0].warnings.is_empty());
    assert!(workspace.engine.status().unwrap().warnings.is_empty());
}

#[test]
fn symlinks_come_and_go_and_are_never_followed() {
    all_kinds_in(&workspace());
}

/// On each file system that is here; a long target has a block of its own, and xfs takes no more than 1,024 bytes.
#[test]
fn symlinks_come_and_go_on_every_file_system() {
    crate::support::mounts::on_each(|root: &Path| {
        let workspace = Workspace::at(root);
        for (path, content) in [("a", "one\n"), ("b", "two\n"), ("d/x", "x\n")] {
            workspace.write(path, content);
        }
        fill(&workspace);
        all_kinds_in(&workspace);
        let long = "n/".repeat(450);
        workspace.apply(&files(&[links("long", &long)])).unwrap();
        assert_eq!(target(&workspace, "long").as_deref(), Some(&*long));
        workspace.undo(None).unwrap();
    });
}

#[test]
fn a_target_is_any_bytes() {
    let workspace = workspace();
    let change = Change::Symlink { target: b"caf\xe9 \n".to_vec(), if_exists: IfExists::Fail };
    let request = Request::of_files(vec![FileRequest::new("latin", change)]).symlink("plain", "x");
    workspace.engine.apply(&request, running()).unwrap();
    assert_eq!(fs::read_link(workspace.path("latin")).unwrap().as_os_str(), OsStr::from_bytes(b"caf\xe9 \n"));
    let again = workspace.engine.apply(&request.clone().idempotent(true), running()).unwrap();
    assert!(again.already_applied && again.files.iter().all(|file| file.extras.in_place == Some(true)), "{again:?}");
    // To what leads somewhere as well.
    let linked = Request::new().symlink("leads", "a").idempotent(true);
    workspace.engine.apply(&linked, running()).unwrap();
    let again = workspace.engine.apply(&linked, running()).unwrap();
    assert_eq!(again.files[0].extras.in_place, Some(true));
}

#[test]
fn a_symlink_keeps_its_owner_through_a_retarget_and_an_undo() {
    if rustix::process::geteuid().as_raw() != 0 {
        return eprintln!("skipped: only root gives files away");
    }
    let workspace = workspace();
    lchown(workspace.path("to-a"), Some(1234), Some(4321)).unwrap();
    let before = workspace.tree();
    workspace.apply(&files(&[relinks("to-a", "b")])).unwrap();
    assert_eq!(workspace.tree().at("to-a").owner, (1234, 4321));
    there_and_back(&workspace, &before);
    workspace.apply(&files(&[deletes("to-a")])).unwrap();
    workspace.undo(None).unwrap();
    assert_eq!(workspace.tree().at("to-a").owner, (1234, 4321));
}

#[test]
fn what_cannot_be_done_with_a_symlink_is_refused() {
    let workspace = workspace();
    let moved_and_edited = json!({ "file_path": "to-a", "rename_to": "c",
        "edits": [{ "old_string": "one", "new_string": "1" }] });
    for (file, kind, place) in [
        (links("to-a", "b"), ErrorKind::FileExists, "files/0/file_path"),
        (links("a", "b"), ErrorKind::FileExists, "files/0/file_path"),
        (relinks("d", "b"), ErrorKind::NotARegularFile, "files/0/file_path"),
        (links("a/in", "b"), ErrorKind::NotARegularFile, "files/0/file_path"),
        (links("outside/new", "b"), ErrorKind::OutsideRoot, "files/0/file_path"),
        (links("new", ""), ErrorKind::ValidationFailed, "files/0/symlink_to"),
        (links("new", "a\0b"), ErrorKind::ValidationFailed, "files/0/symlink_to"),
        // As an answer writes a target that is not UTF-8.
        (links("new", "t\\xff"), ErrorKind::ValidationFailed, "files/0/symlink_to"),
        (links("new", &"x".repeat(5_000)), ErrorKind::ValidationFailed, "files/0/symlink_to"),
        (links(".git/hooks", "/tmp"), ErrorKind::PathDenied, "files/0/file_path"),
        (moved_and_edited, ErrorKind::NotARegularFile, "files/0/file_path"),
        (
            json!({ "file_path": "to-a", "rename_to": "c", "mode": "600" }),
            ErrorKind::NotARegularFile,
            "files/0/file_path",
        ),
    ] {
        workspace.finds(&files(&[file]), &[(kind, place)]);
    }
    let mut with_mode = links("new", "b");
    with_mode["mode"] = json!("777");
    workspace.finds(&files(&[with_mode]), &[(ErrorKind::ValidationFailed, "files/0")]);
    let edit = json!({ "file_path": "to-a", "edits": [{ "old_string": "one", "new_string": "1" }] });
    workspace.finds(&files(&[deletes("to-a"), edit]), &[(ErrorKind::DuplicateFilePath, "files/1/file_path")]);
}

#[test]
fn a_symlink_that_changed_since_is_in_the_way_of_an_undo() {
    let workspace = workspace();
    workspace.apply(&files(&[relinks("to-a", "b"), deletes("dangling")])).unwrap();
    let conflicts = |workspace: &Workspace| {
        let error = workspace.undo(None).unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    };
    fs::remove_file(workspace.path("to-a")).unwrap();
    symlink("elsewhere", workspace.path("to-a")).unwrap();
    conflicts(&workspace);
    // A file with the target as its content is another thing.
    fs::remove_file(workspace.path("to-a")).unwrap();
    workspace.write("to-a", "b");
    conflicts(&workspace);
    fs::remove_file(workspace.path("to-a")).unwrap();
    symlink("b", workspace.path("to-a")).unwrap();
    symlink("a", workspace.path("dangling")).unwrap();
    conflicts(&workspace);
    fs::remove_file(workspace.path("dangling")).unwrap();
    workspace.undo(None).unwrap();
    assert_eq!(target(&workspace, "dangling").as_deref(), Some("nowhere"));
}

#[test]
fn a_folder_goes_with_the_symlinks_in_it() {
    let workspace = workspace();
    symlink("x", workspace.path("d/link")).unwrap();
    let before = workspace.tree();
    let removes = json!({ "file_path": "d", "remove_folder": true });
    workspace.apply(&files(&[deletes("d/x"), deletes("d/link"), removes])).unwrap();
    assert!(!workspace.path("d").exists());
    there_and_back(&workspace, &before);
}

#[test]
fn diffs_tell_a_symlink_as_git_does() {
    let workspace = workspace();
    let mut dry = files(&[links("new", "a"), relinks("to-a", "b"), relinks("a", "b")]);
    dry["dry_run"] = json!(true);
    let diff = |at: usize| workspace.apply(&dry).unwrap().files[at].extras.diff.clone().unwrap();
    assert!(diff(0).starts_with("new file mode 120000\n--- /dev/null\n+++ new\n"), "{}", diff(0));
    assert!(diff(1).contains("-a\n") && diff(1).contains("+b\n"), "{}", diff(1));
    assert!(diff(2).starts_with("old mode 100644\nnew mode 120000\n"), "{}", diff(2));
    dry["dry_run"] = json!(false);
    let id = workspace.apply(&dry).unwrap().transaction.unwrap();
    let shown = workspace.engine.show(&id).unwrap();
    assert!(shown.files.iter().all(|file| file.diff.contains("120000")), "{shown:?}");
    let patch = workspace.engine.git_patch(&id).unwrap();
    let other = self::workspace();
    fs::write(other.path("patch"), &patch).unwrap();
    if Command::new("git").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no git");
    }
    let text = String::from_utf8_lossy(&patch).into_owned();
    run("git", ["-C", other.root().to_str().unwrap(), "apply", "patch"]).unwrap_or_else(|why| panic!("{why}: {text}"));
    for path in ["new", "to-a", "a"] {
        assert_eq!(target(&other, path), target(&workspace, path), "{path}");
    }
}

#[test]
fn folders_that_are_missing_beneath_a_symlinked_folder_are_made() {
    let workspace = workspace();
    symlink(".", workspace.path("self")).unwrap();
    let before = workspace.tree();
    let makes = |path: &str, content: &str| json!({ "file_path": path, "content": content });
    let request = files(&[
        makes("to-d/n/deep/f", "f\n"),
        makes("to-d/n/g", "g\n"),
        json!({ "file_path": "a", "rename_to": "self/to-d/m/a" }),
        json!({ "file_path": "to-d/made", "make_folder": true }),
        makes("to-d/made/h", "h\n"),
        json!({ "file_path": "self/k/only", "make_folder": true }),
        links("to-d/l/link", "../x"),
    ]);
    workspace.apply(&request).unwrap();
    let contents = ["d/n/deep/f", "d/n/g", "d/m/a", "d/made/h"].map(|path| workspace.read(path));
    assert_eq!(contents, ["f\n", "g\n", "one\n", "h\n"]);
    assert_eq!(workspace.read("d/l/link"), "x\n");
    assert!(workspace.path("k/only").is_dir() && fs::symlink_metadata(workspace.path("to-d")).unwrap().is_symlink());
    there_and_back(&workspace, &before);

    let after = workspace.tree();
    // Where the symlink itself leads nowhere, out of the root, or to a file, nothing can be made.
    for (path, kind, told) in [
        ("dangling/n/f", ErrorKind::FileNotFound, "dangling is a symlink that leads nowhere"),
        ("self/dangling/n/f", ErrorKind::FileNotFound, "dangling is a symlink that leads nowhere"),
        ("outside/no such folder/n/f", ErrorKind::OutsideRoot, "outside the root"),
        ("to-d/x/f", ErrorKind::NotARegularFile, "d/x is not a folder"),
    ] {
        let error = workspace.apply(&files(&[makes(path, "")])).unwrap_err();
        assert!(
            error.to_string().contains(told) && format!("{error:?}").contains(&format!("{kind:?}")),
            "{path}: {error:?}"
        );
    }
    workspace.tree().assert_same(&after);
}
