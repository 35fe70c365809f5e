//! Folders by themselves: made, and removed where the request leaves them empty; undone, redone, refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::{Value, json};
use txedit::error::Detail;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::report::Operation;
use txedit::{Engine, ErrorKind, Outcome, Request};

use super::there_and_back;
use crate::support::is_without;
use crate::support::mounts::{self, Kind};
use crate::support::workspace::{Workspace, running, settings};

fn makes(path: &str) -> Value {
    json!({ "file_path": path, "make_folder": true })
}

fn removes(path: &str) -> Value {
    json!({ "file_path": path, "remove_folder": true })
}

fn deletes(path: &str) -> Value {
    json!({ "file_path": path, "delete": true })
}

fn files(files: &[Value]) -> Value {
    json!({ "files": files })
}

/// A file in a folder, and folders in which nothing is, each with a mode of its own.
fn workspace() -> Workspace {
    let workspace = Workspace::with(&[("d/x", "x\n"), ("keep/y", "y\n")]);
    fs::create_dir_all(workspace.path("d/in/empty")).unwrap();
    for (folder, mode) in [("d", 0o750), ("d/in", 0o711), ("d/in/empty", 0o1777)] {
        workspace.chmod(folder, mode);
    }
    workspace
}

#[test]
fn an_empty_folder_is_made_with_those_above_it() {
    let workspace = workspace();
    let before = workspace.tree();
    let mut private = makes("new/deep/private");
    private["mode"] = json!("700");
    let report = workspace.apply(&files(&[private, makes("new/plain")])).unwrap();
    assert!(report.files.iter().all(|file| file.operation == Operation::Folder), "{report:?}");
    assert_eq!((workspace.mode("new/deep/private"), workspace.mode("new/plain")), (0o700, 0o755));
    there_and_back(&workspace, &before);
}

/// The folders that the files need would be made again with the usual mode.
#[test]
fn a_folder_with_files_has_its_mode_again_after_a_redo() {
    let workspace = workspace();
    let before = workspace.tree();
    let mut private = makes("private");
    private["mode"] = json!("700");
    workspace.apply(&files(&[private, json!({ "file_path": "private/deep/key", "content": "k\n" })])).unwrap();
    assert_eq!(workspace.mode("private"), 0o700);
    there_and_back(&workspace, &before);
}

#[test]
fn folders_are_removed_with_what_is_in_them_and_come_back_as_they_were() {
    let workspace = workspace();
    workspace.tool("setfattr", &["-n", "user.name", "-v", "in"], "d/in").unwrap();
    let before = workspace.tree();
    let moves = json!({ "file_path": "d/x", "rename_to": "x" });
    let report = workspace.apply(&files(&[removes("d"), removes("d/in"), moves, removes("d/in/empty")])).unwrap();
    assert_eq!(report.files[0].operation, Operation::RemoveFolder);
    assert!(!workspace.path("d").exists());
    assert_eq!(workspace.read("x"), "x\n");
    there_and_back(&workspace, &before);
}

#[test]
fn what_stays_in_a_folder_is_named_and_nothing_changes() {
    let workspace = workspace();
    let told = |error: &txedit::Error| {
        let Detail::Findings(findings) = error.details() else { panic!("{error}") };
        findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let error = workspace.finds(&files(&[removes("d")]), &[(ErrorKind::FolderNotEmpty, "files/0/file_path")]);
    assert!(told(&error).starts_with("d is not empty: d/"), "{}", told(&error));
    let all = [deletes("d/x"), removes("d/in"), removes("d")];
    let error = workspace.finds(
        &files(&all),
        &[(ErrorKind::FolderNotEmpty, "files/1/file_path"), (ErrorKind::FolderNotEmpty, "files/2/file_path")],
    );
    assert!(told(&error).contains("d/in/empty in it stays"), "{}", told(&error));
    let into = [deletes("d/x"), removes("d/in/empty"), removes("d/in"), removes("d"), makes("d/in/other")];
    workspace.finds(&files(&into), &[(ErrorKind::NotARegularFile, "files/4/file_path")]);
}

#[test]
fn a_folder_that_cannot_be_made_or_removed_is_refused() {
    let workspace = workspace();
    std::os::unix::fs::symlink("keep", workspace.path("link")).unwrap();
    for (file, kind) in [
        (makes("d"), ErrorKind::FileExists),
        (makes("keep/y"), ErrorKind::FileExists),
        (makes("keep/y/in"), ErrorKind::NotARegularFile),
        (removes("keep/y"), ErrorKind::NotARegularFile),
        (removes("link"), ErrorKind::NotARegularFile),
        (removes("nothing"), ErrorKind::FileNotFound),
        (makes(".git/hooks"), ErrorKind::PathDenied),
    ] {
        workspace.finds(&files(&[file]), &[(kind, "files/0/file_path")]);
    }
    let both = [deletes("d/x"), removes("d/in/empty"), removes("d/in"), removes("d"), makes("d")];
    workspace.finds(&files(&both), &[(ErrorKind::FileExists, "files/4/file_path")]);
    for (field, value) in [("mode", json!("700")), ("delete", json!(true)), ("content", json!(""))] {
        let mut file = removes("d");
        file[field] = value;
        workspace.finds(&files(&[file]), &[(ErrorKind::ValidationFailed, "files/0")]);
    }
    let mut hashed = makes("new");
    hashed["expected_hash"] = json!("0".repeat(64));
    workspace.finds(&files(&[hashed]), &[(ErrorKind::ValidationFailed, "files/0/expected_hash")]);
}

/// A dry run says so as well.
#[test]
fn an_immutable_folder_is_not_removed() {
    if is_without("inode flags") {
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        let workspace = Workspace::at(root);
        for (flag, path) in [("+i", "fixed"), ("+a", "log"), ("+i", "outer/in")] {
            fs::create_dir_all(workspace.path(path)).unwrap();
            workspace.tool("chattr", &[flag], path).unwrap();
        }
        let all = [removes("fixed"), removes("log"), removes("outer"), removes("outer/in")];
        let both = [removes("outer"), json!({ "file_path": "outer", "content": "" }), removes("fixed")];
        for dry_run in [true, false] {
            let ask = |files: &[Value]| json!({ "files": files, "dry_run": dry_run });
            let immutable = |at: &'static str| (ErrorKind::Immutable, at);
            let places = ["files/0/file_path", "files/1/file_path", "files/2/file_path", "files/3/file_path"];
            workspace.finds(&ask(&all), &places.map(immutable));
            workspace.finds(&ask(&both), &places[..3].iter().map(|at| immutable(at)).collect::<Vec<_>>());
        }
        for path in ["fixed", "log", "outer/in"] {
            workspace.tool("chattr", &["-ia"], path).unwrap();
        }
        workspace.apply(&files(&all)).unwrap();
    });
}

#[test]
fn a_symlink_is_no_folder() {
    let workspace = workspace();
    for (target, path) in [("keep", "to-keep"), ("nowhere", "dangling"), ("keep/y", "to-file")] {
        std::os::unix::fs::symlink(target, workspace.path(path)).unwrap();
        let error = workspace.finds(&files(&[makes(path)]), &[(ErrorKind::FileExists, "files/0/file_path")]);
        assert!(format!("{:?}", error.details()).contains(&format!("{path} is there already")), "{error:?}");
        let error = workspace.finds(&files(&[removes(path)]), &[(ErrorKind::NotARegularFile, "files/0/file_path")]);
        let told = format!("{path} is a symlink, not a folder: use `delete`");
        assert!(format!("{:?}", error.details()).contains(&told), "{error:?}");
    }
}

#[test]
fn a_file_and_a_folder_take_the_place_of_each_other() {
    let workspace = workspace();
    let before = workspace.tree();
    let all = [
        deletes("keep/y"),
        makes("keep/y"),
        deletes("d/x"),
        removes("d/in"),
        removes("d/in/empty"),
        removes("d"),
        json!({ "file_path": "d", "content": "now a file\n" }),
    ];
    workspace.apply(&files(&all)).unwrap();
    assert!(workspace.path("keep/y").is_dir());
    assert_eq!(workspace.read("d"), "now a file\n");
    there_and_back(&workspace, &before);
    // An empty folder makes way only if it is removed.
    fs::create_dir(workspace.path("hollow")).unwrap();
    workspace.apply(&files(&[removes("hollow"), json!({ "file_path": "hollow", "content": "" })])).unwrap();
    assert!(workspace.path("hollow").is_file());
}

#[test]
fn a_folder_that_somebody_used_since_is_not_removed_by_an_undo() {
    let workspace = workspace();
    workspace.apply(&files(&[makes("new")])).unwrap();
    workspace.write("new/theirs", "theirs\n");
    let error = workspace.undo(None).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    assert!(error.to_string().contains("new/theirs"), "{error}");
    fs::remove_file(workspace.path("new/theirs")).unwrap();
    workspace.undo(None).unwrap();
    assert!(!workspace.path("new").exists());
    // Beside files it stays with a warning, as any other.
    workspace.apply(&files(&[makes("new"), deletes("d/x")])).unwrap();
    workspace.write("new/theirs", "theirs\n");
    let report = workspace.undo(None).unwrap();
    assert!(report.warnings.iter().any(|warning| warning.contains("new stays")), "{report:?}");
    assert_eq!(workspace.read("d/x"), "x\n");
}

#[test]
fn a_folder_in_the_place_of_a_removed_one_stays_as_it_is() {
    let workspace = workspace();
    workspace.apply(&files(&[removes("d/in/empty"), deletes("d/x")])).unwrap();
    fs::create_dir(workspace.path("d/in/empty")).unwrap();
    workspace.chmod("d/in/empty", 0o711);
    workspace.write("d/in/empty/theirs", "theirs\n");
    let report = workspace.undo(None).unwrap();
    assert!(report.warnings.iter().any(|warning| warning.contains("d/in/empty stays, as it is")), "{report:?}");
    assert_eq!((workspace.read("d/x"), workspace.read("d/in/empty/theirs")), ("x\n".into(), "theirs\n".into()));
    assert_eq!(fs::metadata(workspace.path("d/in/empty")).unwrap().permissions().mode() & 0o7777, 0o711);
    // A file in its place is in the way.
    workspace.apply(&files(&[deletes("d/in/empty/theirs"), removes("d/in/empty")])).unwrap();
    workspace.write("d/in/empty", "a file\n");
    let error = workspace.undo(None).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
}

#[test]
fn a_file_in_the_place_of_a_folder_that_was_made_is_in_the_way_of_an_undo() {
    let workspace = workspace();
    workspace.apply(&files(&[makes("new")])).unwrap();
    fs::remove_dir(workspace.path("new")).unwrap();
    workspace.write("new", "a file\n");
    let error = workspace.undo(None).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    // Where nothing is, nothing is left to be done, and it is undone.
    fs::remove_file(workspace.path("new")).unwrap();
    let report = workspace.undo(None).unwrap();
    assert_eq!((report.reverts.len(), report.files.len()), (1, 0), "{report:?}");
    assert_eq!(workspace.undo(None).unwrap_err().kind(), ErrorKind::UnknownTransaction);
}

#[test]
fn a_folder_that_is_filled_while_an_undo_removes_it_stays() {
    let workspace = workspace();
    workspace.apply(&files(&[json!({ "file_path": "new/in/file", "content": "ours\n" })])).unwrap();
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let theirs = workspace.path("new/in/theirs");
    // Between reading and the swaps.
    let fills = move |_: &FaultCall| fs::write(&theirs, "theirs\n").unwrap();
    faults.add(Rule::after(1, fills).of(FaultOperation::Create));
    let engine = Engine::with_fs(faults, workspace.root(), settings()).unwrap();
    let report = engine.undo(None, false, running()).unwrap();
    assert!(report.warnings.iter().any(|warning| warning.contains("new/in stays")), "{report:?}");
    assert_eq!(report.attempts, 2, "{report:?}");
    assert!(!workspace.path("new/in/file").exists());
    assert_eq!(workspace.read("new/in/theirs"), "theirs\n");
}

#[test]
fn the_library_names_folders_as_well() {
    let workspace = workspace();
    let request = Request::new().make_folder("a/b").mode("a/b", 0o711).delete("keep/y").remove_folder("keep");
    let id = workspace.engine.apply(&request, running()).unwrap().transaction.unwrap();
    assert_eq!(workspace.mode("a/b"), 0o711);
    let again = workspace.engine.apply(&request.clone().idempotent(true), running()).unwrap();
    assert!(again.already_applied && again.files.iter().all(|file| file.extras.in_place == Some(true)), "{again:?}");
    let shown = workspace.engine.show(&id).unwrap();
    let kinds: Vec<_> = shown.files.iter().map(|file| file.kind.as_str()).collect();
    assert_eq!(kinds, ["folder", "folder", "delete", "remove_folder"]);
}
