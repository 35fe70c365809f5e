//! Undo of what became of folders: removed and made again, in the place of files and symlinks, by several transactions.

use std::fs;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};
use txedit::error::Correction;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::report::Operation;
use txedit::testing::Errno;
use txedit::{Engine, ErrorKind, NextStep, Outcome, Report, Result, UndoOptions};

use crate::support::workspace::{Tree, Workspace, running, settings};

fn committed(workspace: &Workspace, files: &[Value]) -> String {
    workspace.apply(&json!({ "files": files })).unwrap().transaction.unwrap()
}

fn creates(path: &str) -> Value {
    json!({ "file_path": path, "content": "new\n" })
}

fn deletes(path: &str) -> Value {
    json!({ "file_path": path, "delete": true })
}

fn links(path: &str, target: &str) -> Value {
    json!({ "file_path": path, "symlink_to": target })
}

fn makes(path: &str, mode: &str) -> Value {
    json!({ "file_path": path, "make_folder": true, "mode": mode })
}

fn removes(path: &str) -> Value {
    json!({ "file_path": path, "remove_folder": true })
}

fn moves(path: &str, to: &str) -> Value {
    json!({ "file_path": path, "rename_to": to, "if_exists": "replace" })
}

fn undo_since(workspace: &Workspace, id: &str) -> Result<Report> {
    workspace.engine.undo_since(id, &|_, _| true, &UndoOptions::default(), running())
}

fn redo(workspace: &Workspace) -> Report {
    workspace.engine.redo(None, &UndoOptions::default(), running()).unwrap()
}

/// Returns the tree as far as an undo can restore it, without a warning.
fn quietly(workspace: &Workspace, report: &Report) -> Tree {
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    workspace.tree().restorable()
}

/// A folder with a file and another folder in it, each with a mode of its own, and an attribute where there are such.
fn workspace() -> Workspace {
    let workspace = Workspace::with(&[("d/f", "f\n"), ("real/x", "x\n"), ("z", "z\n")]);
    fs::create_dir(workspace.path("d/e")).unwrap();
    workspace.chmod("d", 0o2770);
    workspace.chmod("d/e", 0o711);
    drop(workspace.tool("setfattr", &["-n", "user.txedit", "-v", "old"], "d"));
    workspace
}

#[test]
fn a_folder_that_became_a_symlink_is_a_folder_again() {
    let gone = [moves("d/f", "real/f"), deletes("d/f")];
    for (goes, target) in gone.iter().zip(["real", "nowhere"]).chain([(&gone[0], "/"), (&gone[1], "real")]) {
        for outer in [false, true] {
            let workspace = workspace();
            // The folder on the way may be an entry, or go along with the one above it.
            let before = workspace.tree().restorable();
            let mut files = vec![goes.clone(), links("d", target)];
            if outer {
                files.extend([removes("d"), removes("d/e")]);
            }
            committed(&workspace, &files);
            let after = workspace.tree().restorable();
            let undo = workspace.undo(None).unwrap();
            quietly(&workspace, &undo).assert_same(&before);
            let redo = redo(&workspace);
            quietly(&workspace, &redo).assert_same(&after);
            workspace.undo(None).unwrap();
            workspace.tree().restorable().assert_same(&before);
        }
    }
}

/// What is there now is not what the transaction left, wherever the symlink leads.
#[test]
fn a_symlink_in_the_place_of_a_folder_is_a_conflict_unless_the_transaction_made_it() {
    let workspace = workspace();
    committed(&workspace, &[deletes("d/f"), creates("d/g")]);
    fs::rename(workspace.path("d"), workspace.path("moved")).unwrap();
    std::os::unix::fs::symlink("moved", workspace.path("d")).unwrap();
    let before = Tree::of(workspace.root());
    assert_eq!(workspace.undo(None).unwrap_err().kind(), ErrorKind::UndoConflict);
    Tree::of(workspace.root()).assert_same(&before);
}

/// Transactions after one, and whether a redo of their undo leaves exactly what they had left: of a folder that was
/// there before them and after them, it does not know what it was in between.
fn removed_and_made_again() -> Vec<(&'static str, Vec<Vec<Value>>, bool)> {
    let all_of_d = || vec![deletes("d/f"), removes("d/e"), removes("d")];
    vec![
        ("a file", vec![all_of_d(), vec![creates("d/x")]], false),
        ("a symlink", vec![all_of_d(), vec![links("d/x", "z")]], false),
        ("a file deeper down", vec![all_of_d(), vec![creates("d/e/x")]], false),
        ("a folder as well", vec![all_of_d(), vec![makes("d/e", "700"), creates("d/x")]], false),
        ("a file between", vec![all_of_d(), vec![creates("d")], vec![deletes("d"), creates("d/x")]], false),
        (
            "a symlink between",
            vec![all_of_d(), vec![links("d", "real")], vec![deletes("d")], vec![creates("d/x")]],
            false,
        ),
        ("in a file's place", vec![vec![moves("d/f", "d")], vec![deletes("d"), creates("d/e/f")]], false),
        ("by itself", vec![all_of_d(), vec![makes("d", "700")], vec![creates("d/x")]], false),
        ("and removed", vec![all_of_d(), vec![creates("d/x")], vec![deletes("d/x"), removes("d")]], true),
        ("and a file", vec![all_of_d(), vec![creates("d/x")], vec![moves("d/x", "d")]], true),
    ]
}

#[test]
fn a_folder_that_was_removed_and_made_again_is_as_it_was() {
    for (what, transactions, is_exact) in removed_and_made_again() {
        eprintln!("{what}");
        let workspace = workspace();
        let since = committed(&workspace, &[creates("t")]);
        let before = workspace.tree().restorable();
        for files in &transactions {
            committed(&workspace, files);
        }
        let after = workspace.tree().restorable();
        let undo = undo_since(&workspace, &since).unwrap();
        quietly(&workspace, &undo).assert_same(&before);
        let redo = redo(&workspace);
        let redone = quietly(&workspace, &redo);
        if is_exact {
            redone.assert_same(&after);
        }
        assert!(redone.0.keys().eq(after.0.keys()), "{redone:?}");
        let again = undo_since(&workspace, &since).unwrap();
        quietly(&workspace, &again).assert_same(&before);
    }
}

/// Nothing but its metadata is to be restored.
#[test]
fn an_empty_folder_that_was_removed_and_made_again_is_as_it_was() {
    let workspace = Workspace::with(&[("z", "z\n")]);
    fs::create_dir(workspace.path("d")).unwrap();
    workspace.chmod("d", 0o2770);
    let since = committed(&workspace, &[creates("t")]);
    let before = workspace.tree().restorable();
    committed(&workspace, &[removes("d")]);
    committed(&workspace, &[makes("d", "700")]);
    let undo = undo_since(&workspace, &since).unwrap();
    let told: Vec<_> = undo.files.iter().map(|file| (file.operation, file.path.to_path_buf())).collect();
    assert_eq!((undo.reverts.len(), told), (2, vec![(Operation::Mode, "d".into())]), "{undo:?}");
    quietly(&workspace, &undo).assert_same(&before);
    let again = undo_since(&workspace, &since).unwrap();
    assert_eq!(again.transaction, None, "{again:?}");
}

#[test]
fn a_folder_that_a_transaction_made_comes_back_for_it() {
    for removal in [None, Some(removes("d"))] {
        let workspace = Workspace::with(&[("z", "z\n")]);
        let before = workspace.tree().restorable();
        let since = committed(&workspace, &[makes("d", "750")]);
        let made = workspace.tree().restorable();
        match removal {
            Some(removal) => drop(committed(&workspace, &[removal])),
            None => drop(workspace.undo(None).unwrap()),
        }
        committed(&workspace, &[creates("d/x")]);
        let undo = undo_since(&workspace, &since).unwrap();
        quietly(&workspace, &undo).assert_same(&made);
        // It belongs to the first again, although another one made what is there.
        let undo = workspace.undo(Some(&since)).unwrap();
        quietly(&workspace, &undo).assert_same(&before);
    }
}

#[test]
fn a_folder_that_others_used_meanwhile_goes_with_the_one_that_it_came_back_for() {
    let workspace = workspace();
    let first = workspace.tree().restorable();
    let removal = committed(&workspace, &[deletes("d/f"), removes("d/e"), removes("d")]);
    let removed = workspace.tree().restorable();
    let creation = committed(&workspace, &[creates("d/a")]);
    let created = workspace.tree().restorable();
    workspace.undo(None).unwrap();
    committed(&workspace, &[creates("d/b")]);
    let undo = undo_since(&workspace, &creation).unwrap();
    quietly(&workspace, &undo).assert_same(&created);
    let undo = workspace.undo(Some(&creation)).unwrap();
    quietly(&workspace, &undo).assert_same(&removed);
    let undo = workspace.undo(Some(&removal)).unwrap();
    quietly(&workspace, &undo).assert_same(&first);
}

#[test]
fn an_undo_and_its_redo_are_no_conflict() {
    let kinds = [vec![creates("c/x")], vec![links("c/x", "z")], vec![moves("z", "c/z")], vec![creates("c/y/x")]];
    for files in kinds {
        let workspace = workspace();
        let since = committed(&workspace, &files);
        let after = workspace.tree().restorable();
        workspace.undo(None).unwrap();
        redo(&workspace);
        let undo = undo_since(&workspace, &since).unwrap();
        assert_eq!(undo.transaction, None);
        quietly(&workspace, &undo).assert_same(&after);
    }
}

#[test]
fn a_file_in_the_place_of_a_folder_that_an_undo_removed_is_no_conflict() {
    let workspace = workspace();
    let since = committed(&workspace, &[creates("c/x")]);
    let before = workspace.tree().restorable();
    workspace.undo(None).unwrap();
    committed(&workspace, &[creates("c")]);
    let undo = undo_since(&workspace, &since).unwrap();
    quietly(&workspace, &undo).assert_same(&before);
}

#[test]
fn a_folder_that_was_made_by_itself_comes_back_with_a_redo_of_several() {
    let workspace = workspace();
    let since = committed(&workspace, &[creates("t")]);
    let before = workspace.tree().restorable();
    committed(&workspace, &[creates("k/e/a")]);
    workspace.undo(None).unwrap();
    committed(&workspace, &[makes("k", "755"), creates("n/a")]);
    let after = workspace.tree().restorable();
    let undo = undo_since(&workspace, &since).unwrap();
    quietly(&workspace, &undo).assert_same(&before);
    let redo = redo(&workspace);
    quietly(&workspace, &redo).assert_same(&after);
}

/// An empty folder in the one that makes way goes with it, and comes back.
#[test]
fn what_goes_with_a_folder_comes_back_with_it() {
    let workspace = workspace();
    let before = workspace.tree().restorable();
    committed(&workspace, &[moves("d/f", "d")]);
    let undo = workspace.undo(None).unwrap();
    quietly(&workspace, &undo).assert_same(&before);
}

fn advises_to_rebase(workspace: &Workspace) -> bool {
    let error = workspace.undo(None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UndoConflict, "{error}");
    error.next_steps().contains(&NextStep::Correct(Correction::Rebase))
}

/// Only a file that was edited and is there has other lines.
#[test]
fn no_conflict_about_a_folder_or_a_symlink_advises_to_rebase() {
    let workspace = workspace();
    fs::remove_file(workspace.path("d/f")).unwrap();
    committed(&workspace, &[removes("d/e")]);
    workspace.write("d/e", "theirs\n");
    assert!(!advises_to_rebase(&workspace));
    fs::remove_file(workspace.path("d/e")).unwrap();
    std::os::unix::fs::symlink("z", workspace.path("d/e")).unwrap();
    assert!(!advises_to_rebase(&workspace));
    for target in ["z", "real"] {
        let mut retarget = links("link", target);
        retarget["if_exists"] = json!("replace");
        committed(&workspace, &[retarget]);
    }
    fs::remove_file(workspace.path("link")).unwrap();
    std::os::unix::fs::symlink("theirs", workspace.path("link")).unwrap();
    assert!(!advises_to_rebase(&workspace));
    let edit = json!({ "file_path": "z", "edits": [{ "old_string": "z", "new_string": "y" }] });
    committed(&workspace, &[edit]);
    workspace.write("z", "theirs\ny\n");
    assert!(advises_to_rebase(&workspace));
    committed(&workspace, &[deletes("real/x")]);
    workspace.write("real/x", "theirs\n");
    assert!(!advises_to_rebase(&workspace));
}

/// A program that has the folder open can put something into it at any time.
#[test]
fn what_was_written_into_a_folder_that_went_is_told_by_its_undo() {
    let workspace = workspace();
    let before = workspace.tree().restorable();
    let held = fs::File::open(workspace.path("d/e")).unwrap();
    let since = committed(&workspace, &[creates("t")]);
    let made = workspace.tree().restorable();
    committed(&workspace, &[removes("d/e")]);
    drop(rustix::fs::openat(&held, "late", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap());
    let told = |report: &Report| report.warnings.iter().filter(|told| told.contains("d/e was written after")).count();
    let dry = workspace.engine.undo(None, true, running()).unwrap();
    let undo = workspace.undo(None).unwrap();
    assert_eq!((told(&dry), told(&undo)), (1, 1), "{dry:?} {undo:?}");
    workspace.tree().restorable().assert_same(&made);
    redo(&workspace);
    let undo = undo_since(&workspace, &since).unwrap();
    assert_eq!(told(&undo), 1, "{undo:?}");
    workspace.undo(Some(&since)).unwrap();
    workspace.tree().restorable().assert_same(&before);
}

/// Whatever cannot be read of history, a folder is removed, or is told, or nothing is changed.
#[test]
fn a_folder_that_history_does_not_tell_of_stays_and_is_told() {
    let mut told = 0;
    for nth in 1.. {
        let workspace = Workspace::with(&[("z", "z\n")]);
        committed(&workspace, &[creates("g/h")]);
        workspace.undo(None).unwrap();
        redo(&workspace);
        let before = workspace.tree().restorable();
        let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        let reads = |call: &FaultCall| call.path.to_string_lossy().contains("/.txedit/history/");
        faults.add(
            Rule::fail(nth, Errno::IO.raw_os_error())
                .matching(move |call| call.operation == FaultOperation::OpenFile && reads(call)),
        );
        let engine = Engine::with_fs(Arc::clone(&faults) as Arc<_>, workspace.root(), settings()).unwrap();
        match engine.undo(None, false, running()) {
            Ok(report) if workspace.path("g").exists() => {
                let is_told = |warning: &String| warning.contains("g stays, which a redo may have made");
                assert!(report.warnings.iter().any(is_told), "{nth}: {report:?}");
                assert!(!workspace.path("g/h").exists(), "{nth}: {report:?}");
                told += 1;
            }
            Ok(report) => assert!(!workspace.path("g").exists(), "{nth}: {report:?}"),
            Err(error) => {
                assert_eq!(error.outcome(), Outcome::Unchanged, "{nth}: {error}");
                workspace.tree().restorable().assert_same(&before);
            }
        }
        if faults.fired() == 0 {
            break;
        }
    }
    assert!(told > 0, "no call that fails leaves it unknown whose the folder is");
}
