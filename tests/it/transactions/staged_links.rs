//! Symlinks and folders in transactions over several calls.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use txedit::ErrorKind;
use txedit::report::Operation;

use super::refused;
use crate::support::workspace::Workspace;

/// A file, a symlink to it, one to a folder with a file, and an empty folder.
fn workspace() -> Workspace {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "two\n"), ("d/x", "x\n")]);
    fs::create_dir(workspace.path("empty")).unwrap();
    workspace.chmod("empty", 0o750);
    for (target, link) in [("a", "l"), ("d", "to-d"), ("nowhere", "dangling")] {
        symlink(target, workspace.path(link)).unwrap();
    }
    workspace
}

fn one(file: Value) -> Value {
    Value::from_iter([("files", vec![file])])
}

fn links(path: &str, target: &str) -> Value {
    json!({ "file_path": path, "symlink_to": target })
}

fn retargets(path: &str, target: &str) -> Value {
    json!({ "file_path": path, "symlink_to": target, "if_exists": "replace" })
}

fn makes(path: &str, mode: &str) -> Value {
    json!({ "file_path": path, "make_folder": true, "mode": mode })
}

fn removes(path: &str) -> Value {
    json!({ "file_path": path, "remove_folder": true })
}

fn deletes(path: &str) -> Value {
    json!({ "file_path": path, "delete": true })
}

fn creates(path: &str) -> Value {
    json!({ "file_path": path, "content": "new\n" })
}

#[test]
fn symlinks_and_folders_are_staged_previewed_and_committed() {
    let workspace = workspace();
    let before = workspace.tree();
    let id = workspace.open(&one(links("new-link", "nowhere/at all")));
    let staged = [
        retargets("l", "b"),
        retargets("b", "a"),
        makes("made/private", "700"),
        creates("made/private/key"),
        removes("empty"),
        deletes("dangling"),
        json!({ "file_path": "to-d", "rename_to": "made/to-d" }),
        // On top of what is staged.
        retargets("new-link", "elsewhere"),
    ];
    for file in staged {
        workspace.stage(Some(&id), &one(file)).unwrap();
    }
    let preview = workspace.preview(&id).unwrap();
    let told: Vec<_> = preview.report.files.iter().map(|file| (file.path.to_str().unwrap(), file.operation)).collect();
    let wanted = [
        ("new-link", Operation::Create),
        ("l", Operation::Replace),
        ("b", Operation::Replace),
        ("made/private", Operation::Folder),
        ("made/private/key", Operation::Create),
        ("empty", Operation::RemoveFolder),
        ("dangling", Operation::Delete),
        ("to-d", Operation::Rename),
    ];
    assert_eq!(told, wanted);
    let leads = |index: usize| preview.report.files[index].extras.symlink_to.as_ref().unwrap().to_str().unwrap();
    assert_eq!([leads(0), leads(1), leads(2)], ["elsewhere", "b", "a"]);
    workspace.tree().assert_same(&before);
    let words: Vec<_> = workspace.engine.status().unwrap().open[0].files.iter().map(|(_, word)| word.clone()).collect();
    assert_eq!(words, ["symlink", "symlink", "symlink", "folder", "write", "remove_folder", "delete", "rename"]);

    workspace.engine.commit_staged(&id, Some(preview.plan_hash), None, crate::support::workspace::running()).unwrap();
    let target = |path: &str| fs::read_link(workspace.path(path)).unwrap();
    let targets = ["new-link", "l", "b", "made/to-d"].map(|path| target(path).to_str().unwrap().to_owned());
    assert_eq!(targets, ["elsewhere", "b", "a", "d"]);
    assert_eq!((workspace.mode("made/private"), workspace.mode("made")), (0o700, 0o755));
    assert_eq!(workspace.read("made/private/key"), "new\n");
    assert!(["empty", "dangling", "to-d"].iter().all(|path| fs::symlink_metadata(workspace.path(path)).is_err()));
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

/// What somebody does to the workspace.
type Deed = fn(&Workspace);

/// What others do after the stage, and the kind of the refusal.
const SINCE: [(&str, Deed, ErrorKind); 9] = [
    ("l", |here| here.relink("l", "b"), ErrorKind::ConcurrentModification),
    // A file with the very bytes that the symlink leads to.
    (
        "l",
        |here| {
            fs::remove_file(here.path("l")).unwrap();
            here.write("l", "a");
        },
        ErrorKind::ConcurrentModification,
    ),
    ("dangling", |here| here.relink("dangling", "b"), ErrorKind::ConcurrentModification),
    ("dangling", |here| fs::remove_file(here.path("dangling")).unwrap(), ErrorKind::ConcurrentModification),
    ("new-link", |here| here.write("new-link", "theirs"), ErrorKind::ConcurrentModification),
    ("made", |here| fs::create_dir(here.path("made")).unwrap(), ErrorKind::FileExists),
    ("made", |here| here.write("made", "theirs"), ErrorKind::ConcurrentModification),
    ("empty", |here| here.write("empty/theirs", "theirs"), ErrorKind::FolderNotEmpty),
    ("empty", |here| fs::remove_dir(here.path("empty")).unwrap(), ErrorKind::FileNotFound),
];

impl Workspace {
    fn relink(&self, link: &str, target: &str) {
        fs::remove_file(self.path(link)).unwrap();
        symlink(target, self.path(link)).unwrap();
    }
}

#[test]
fn what_others_did_to_them_since_is_not_lost() {
    for (path, deed, kind) in SINCE {
        let workspace = workspace();
        let file = match path {
            "l" => retargets("l", "d"),
            "dangling" => deletes("dangling"),
            "new-link" => links("new-link", "a"),
            "made" => makes("made", "755"),
            _ => removes("empty"),
        };
        let id = workspace.open(&one(file));
        deed(&workspace);
        let before = workspace.tree();
        refused(&workspace.preview(&id).unwrap_err(), kind);
        refused(&workspace.commit(&id).unwrap_err(), kind);
        workspace.tree().assert_same(&before);
    }
}

/// As `apply` does with one request: whether the path leads through the symlink would depend on the order.
#[test]
fn a_path_through_a_symlink_that_is_taken_away_is_refused() {
    let takes: [(Value, &str); 3] =
        [(deletes("to-d"), "to-d/x"), (retargets("to-d", "empty"), "to-d/new"), (deletes("l"), "l/x")];
    for (takes, path) in takes {
        let workspace = workspace();
        let before = workspace.tree();
        let through = json!({ "file_path": path, "content": "mine\n", "if_exists": "replace" });
        let both = json!({ "files": [takes, through] });
        let applied = workspace.apply(&both).unwrap_err();
        let staged = workspace.stage(None, &both).unwrap_err();
        assert_eq!((staged.kind(), staged.to_string()), (applied.kind(), applied.to_string()), "{both}");
        // Over two calls as well: the second is tried with the first.
        let id = workspace.open(&one(takes.clone()));
        let second = workspace.stage(Some(&id), &one(through.clone())).unwrap_err();
        assert_eq!(second.kind(), applied.kind(), "{both}: {second}");
        workspace.commit(&id).unwrap();
        assert_eq!((workspace.read("a"), workspace.read("d/x")), ("one\n".to_owned(), "x\n".to_owned()));
        workspace.undo(None).unwrap();
        workspace.tree().restorable().assert_same(&before.restorable());
    }
}

/// What is staged first is written where the symlink led then.
#[test]
fn a_symlink_is_taken_away_after_a_path_through_it() {
    let workspace = workspace();
    let id = workspace.open(&one(creates("to-d/new")));
    workspace.stage(Some(&id), &one(retargets("to-d", "empty"))).unwrap();
    let edit = json!({ "file_path": "to-d/x", "edits": [{ "old_string": "x", "new_string": "y" }] });
    refused(&workspace.stage(Some(&id), &one(edit)).unwrap_err(), ErrorKind::NotARegularFile);
    workspace.commit(&id).unwrap();
    assert_eq!(workspace.read("d/new"), "new\n");
    assert_eq!(fs::read_link(workspace.path("to-d")).unwrap(), std::path::Path::new("empty"));
    assert_eq!(fs::read_dir(workspace.path("empty")).unwrap().count(), 0);
}

/// What is staged lands where its path led when it was staged, or nowhere.
#[test]
fn a_folder_that_is_a_symlink_since_leads_nothing_elsewhere() {
    let over = |path| json!({ "file_path": path, "content": "new\n", "if_exists": "replace" });
    let changes = [
        creates("d/new"),
        over("d/new"),
        over("d/link"),
        links("d/new", "x"),
        makes("d/new", "755"),
        deletes("d/x"),
        json!({ "file_path": "d/x", "edits": [{ "old_string": "x", "new_string": "y" }] }),
        json!({ "file_path": "a", "rename_to": "d/new" }),
    ];
    for change in changes {
        let workspace = workspace();
        workspace.write("other/x", "x\n");
        workspace.write("elsewhere", "theirs\n");
        symlink("../elsewhere", workspace.path("other/link")).unwrap();
        let id = workspace.open(&one(change.clone()));
        fs::rename(workspace.path("d"), workspace.path("was-d")).unwrap();
        symlink("other", workspace.path("d")).unwrap();
        let before = workspace.tree();
        refused(&workspace.preview(&id).unwrap_err(), ErrorKind::ConcurrentModification);
        refused(&workspace.commit(&id).unwrap_err(), ErrorKind::ConcurrentModification);
        workspace.tree().assert_same(&before);
        // It is refused as long as that is so.
        fs::remove_file(workspace.path("d")).unwrap();
        fs::rename(workspace.path("was-d"), workspace.path("d")).unwrap();
        workspace.commit(&id).unwrap();
    }
}

/// A symlink in a folder that is reached through another has one name.
#[test]
fn a_symlink_beyond_another_is_the_one_in_its_folder() {
    let workspace = workspace();
    symlink("x", workspace.path("d/in")).unwrap();
    let id = workspace.open(&one(retargets("to-d/in", "new")));
    workspace.stage(Some(&id), &one(retargets("d/in", "y"))).unwrap();
    let preview = workspace.preview(&id).unwrap();
    assert_eq!(preview.report.files.len(), 1, "{preview:?}");
    workspace.commit(&id).unwrap();
    assert_eq!(fs::read_link(workspace.path("d/in")).unwrap(), std::path::Path::new("y"));
}

#[test]
fn what_cannot_be_put_on_top_leaves_what_is_staged() {
    let workspace = workspace();
    let id = workspace.open(&one(links("new", "a")));
    workspace.stage(Some(&id), &one(removes("empty"))).unwrap();
    let stored = || fs::read(workspace.path(".txedit/open").join(&id).join("transaction.json")).unwrap();
    let before = stored();
    let edit = json!({ "file_path": "new", "edits": [{ "old_string": "a", "new_string": "b" }] });
    for (file, kind) in [
        (edit, ErrorKind::ValidationFailed),
        (links("new", "b"), ErrorKind::FileExists),
        (creates("new/in"), ErrorKind::NotARegularFile),
        (creates("empty/in"), ErrorKind::NotARegularFile),
        (removes("d"), ErrorKind::FolderNotEmpty),
        (makes("d", "755"), ErrorKind::FileExists),
    ] {
        refused(&workspace.stage(Some(&id), &one(file)).unwrap_err(), kind);
        assert_eq!(stored(), before);
    }
}
