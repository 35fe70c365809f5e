//! Undo of everything that was committed after a transaction: all of it as one transaction, or nothing.

use std::fs;

use serde_json::{Value, json};
use txedit::error::{Correction, Detail};
use txedit::{ErrorKind, NextStep, Outcome, Report, Result, UndoOptions};

use crate::support::workspace::{Tree, Workspace, running};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": old, "new_string": new }] })
}

fn committed(workspace: &Workspace, files: &[Value]) -> String {
    workspace.apply(&json!({ "files": files })).unwrap().transaction.unwrap()
}

fn undo_since(workspace: &Workspace, id: &str) -> Result<Report> {
    workspace.engine.undo_since(id, &|_, _| true, &UndoOptions::default(), running())
}

fn rebased_since(workspace: &Workspace, id: &str) -> Result<Report> {
    workspace.engine.undo_since(id, &|_, _| true, &UndoOptions::default().rebase(true), running())
}

/// The transactions that a report says were reverted.
fn reverted(report: &Report) -> Vec<&str> {
    report.reverts.iter().map(|one| one.id.as_str()).collect()
}

/// Edits, files that appear, move and vanish, folders that become files and files that become folders.
fn busy() -> (Workspace, String, Tree, Vec<String>) {
    let workspace = Workspace::with(&[("a", "1\n"), ("b", "b\n"), ("c/d", "d\n"), ("e", "e\n"), ("mode", "m\n")]);
    let since = committed(&workspace, &[edit("a", "1", "2")]);
    let before = workspace.tree();
    let ids = vec![
        committed(&workspace, &[edit("a", "2", "3"), json!({ "file_path": "new/x/y", "content": "y\n" })]),
        committed(&workspace, &[edit("a", "3", "4"), json!({ "file_path": "b", "rename_to": "moved/b" })]),
        committed(&workspace, &[edit("new/x/y", "y", "z"), json!({ "file_path": "e", "delete": true })]),
        committed(&workspace, &[json!({ "file_path": "e/inner", "content": "now a folder\n" })]),
        committed(
            &workspace,
            &[json!({ "file_path": "c/d", "delete": true }), json!({ "file_path": "c", "content": "a file\n" })],
        ),
        committed(&workspace, &[json!({ "file_path": "t", "content": "t\n" })]),
        committed(
            &workspace,
            &[json!({ "file_path": "t", "delete": true }), json!({ "file_path": "t/u", "content": "u\n" })],
        ),
        committed(&workspace, &[json!({ "file_path": "mode", "mode": "755" })]),
    ];
    (workspace, since, before, ids)
}

#[test]
fn everything_after_a_transaction_is_undone_as_one_and_comes_back_as_one() {
    let (workspace, since, before, ids) = busy();
    let after = workspace.tree();
    let report = undo_since(&workspace, &since).unwrap();
    assert_eq!(reverted(&report), ids.iter().rev().map(String::as_str).collect::<Vec<_>>());
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    workspace.tree().restorable().assert_same(&before.restorable());

    let undo = report.transaction.unwrap();
    let log = workspace.engine.log(20, None).unwrap();
    assert_eq!(log[0].reverts.len(), ids.len());
    for logged in &log[1..=ids.len()] {
        assert_eq!(logged.reverted_by.as_deref(), Some(undo.as_str()), "{}", logged.id);
    }
    assert_eq!((log[ids.len() + 1].id.as_str(), &log[ids.len() + 1].reverted_by), (since.as_str(), &None));

    let redone = workspace.engine.redo(None, &UndoOptions::default(), running()).unwrap();
    assert_eq!(reverted(&redone), [&undo]);
    workspace.tree().restorable().assert_same(&after.restorable());
    let log = workspace.engine.log(20, None).unwrap();
    assert!(log[2..].iter().all(|logged| logged.reverted_by.is_none()), "{log:?}");
}

#[test]
fn undos_of_that_time_are_undone_as_well() {
    let workspace = Workspace::with(&[("a", "1\n"), ("b", "1\n")]);
    let first = committed(&workspace, &[edit("a", "1", "2")]);
    let since = committed(&workspace, &[edit("b", "1", "2")]);
    workspace.undo(Some(&first)).unwrap();
    let third = committed(&workspace, &[edit("b", "2", "3")]);
    workspace.undo(Some(&third)).unwrap();
    undo_since(&workspace, &since).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("2\n".to_owned(), "2\n".to_owned()));
    let log = workspace.engine.log(20, None).unwrap();
    let first = log.iter().find(|logged| logged.id == first).unwrap();
    assert_eq!(first.reverted_by, None, "its undo is undone");
}

#[test]
fn what_cancels_out_is_no_transaction() {
    let workspace = Workspace::with(&[("a", "1\n"), ("b", "1\n")]);
    let since = committed(&workspace, &[edit("a", "1", "2")]);
    committed(&workspace, &[edit("b", "1", "2"), json!({ "file_path": "c", "content": "c\n" })]);
    workspace.undo(None).unwrap();
    let report = undo_since(&workspace, &since).unwrap();
    assert_eq!((report.transaction, report.reverts.len(), report.files.len()), (None, 0, 0));
}

#[test]
fn a_change_of_others_between_two_of_them_keeps_all_from_being_undone() {
    let workspace = Workspace::with(&[("a", "1\nx\n"), ("b", "1\n")]);
    let since = committed(&workspace, &[edit("b", "1", "2")]);
    committed(&workspace, &[edit("a", "1", "2"), edit("b", "2", "3")]);
    workspace.write("a", "2\nx\ntheirs\n");
    committed(&workspace, &[edit("a", "2", "3")]);
    let before = Tree::of(workspace.root());
    let error = undo_since(&workspace, &since).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    let Detail::Conflicts(conflicts) = error.details() else { panic!("{error} lists no files") };
    let [conflict] = &conflicts[..] else { panic!("{conflicts:?}") };
    assert_eq!((conflict.path.to_str(), conflict.by_another_program), (Some("a"), true));
    assert!(conflict.changed_by.is_empty(), "{conflict:?}");
    assert!(conflict.diff.as_ref().unwrap().contains("+theirs"), "{conflict:?}");
    Tree::of(workspace.root()).assert_same(&before);

    // In other lines it can stay.
    rebased_since(&workspace, &since).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\nx\ntheirs\n".to_owned(), "2\n".to_owned()));
}

#[test]
fn a_change_of_others_after_them_keeps_all_from_being_undone() {
    let workspace = Workspace::with(&[("a", "1\nx\n"), ("b", "1\n")]);
    let since = committed(&workspace, &[edit("b", "1", "2")]);
    committed(&workspace, &[edit("a", "1", "2"), edit("b", "2", "3")]);
    committed(&workspace, &[edit("a", "2", "3")]);
    workspace.write("a", "3\nx\ntheirs\n");
    let error = undo_since(&workspace, &since).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    assert_eq!(workspace.read("b"), "3\n");
    let report = rebased_since(&workspace, &since).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\nx\ntheirs\n".to_owned(), "2\n".to_owned()));
    let rebased = report.files.iter().find(|file| file.path == "a".into()).unwrap();
    assert!(rebased.extras.rebased.as_ref().unwrap().contains("+theirs"));
    workspace.engine.redo(None, &UndoOptions::default(), running()).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("3\nx\ntheirs\n".to_owned(), "3\n".to_owned()));
    // In the same line it cannot.
    workspace.write("a", "theirs\nx\n");
    assert_eq!(rebased_since(&workspace, &since).unwrap_err().kind(), ErrorKind::UndoConflict);
}

#[test]
fn those_of_others_stay_unless_they_are_asked_for() {
    let workspace = Workspace::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let since = committed(&workspace, &[edit("c", "1", "2")]);
    let own = committed(&workspace, &[edit("a", "1", "2")]);
    let other = committed(&workspace, &[edit("b", "1", "2")]);
    let is_own = |id: &str, _: &str| id == own;
    let report = workspace.engine.undo_since(&since, &is_own, &UndoOptions::default(), running()).unwrap();
    assert_eq!(reverted(&report), [&own]);
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\n".to_owned(), "2\n".to_owned()));
    assert!(report.warnings[0].contains(&other), "{:?}", report.warnings);
    let error = workspace.engine.undo_since(&own, &is_own, &UndoOptions::default(), running()).unwrap_err();
    assert_eq!(
        (error.kind(), error.next_steps()),
        (ErrorKind::UnknownTransaction, &[NextStep::Correct(Correction::AllCallers)][..])
    );
}

#[test]
fn nothing_after_the_newest_and_nothing_after_what_is_unknown() {
    let workspace = Workspace::with(&[("a", "1\n")]);
    let newest = committed(&workspace, &[edit("a", "1", "2")]);
    for (id, says) in [(newest.as_str(), "nothing was committed after"), ("nonsense", "no committed transaction")] {
        let error = undo_since(&workspace, id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownTransaction);
        assert!(error.message().contains(says), "{error}");
    }
    let options = UndoOptions::default().dry_run(true);
    committed(&workspace, &[edit("a", "2", "3")]);
    let before = Tree::of(workspace.root());
    let report = workspace.engine.undo_since(&newest, &|_, _| true, &options, running()).unwrap();
    assert!(report.dry_run && report.files[0].extras.diff.as_ref().unwrap().contains("+2"), "{report:?}");
    Tree::of(workspace.root()).assert_same(&before);
    fs::remove_file(workspace.path("a")).unwrap();
    assert_eq!(undo_since(&workspace, &newest).unwrap_err().kind(), ErrorKind::UndoConflict);
}

#[test]
fn what_others_did_after_the_newest_is_told_as_theirs() {
    let lines = (1..=9).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let workspace = Workspace::with(&[("f", &lines)]);
    let since = committed(&workspace, &[json!({ "file_path": "start", "content": "x" })]);
    committed(&workspace, &[edit("f", "line 4\n", "")]);
    committed(&workspace, &[edit("f", "line 7", "line seven")]);
    let theirs = [
        committed(&workspace, &[edit("f", "line 5", "line five")]),
        committed(&workspace, &[edit("f", "line 3", "line three")]),
    ];
    let own = |id: &str, _: &str| !theirs.iter().any(|theirs| theirs == id);
    let options = UndoOptions::default().rebase(true);
    let error = workspace.engine.undo_since(&since, &own, &options, running()).unwrap_err();
    let Detail::Conflicts(conflicts) = error.details() else { panic!("{error:?}") };
    assert_eq!((&conflicts[0].changed_by[..], conflicts[0].by_another_program), (&theirs[..], false), "{error:?}");
}
