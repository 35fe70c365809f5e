//! A transaction as a value: begun, looked at, committed or dropped.

use std::time::Duration;

use serde_json::{Value, json};
use txedit::error::Detail;
use txedit::report::Operation;
use txedit::{ErrorKind, Outcome, PathRule, Request, wire};

use crate::support::workspace::{Workspace, running, settings};

fn request(json: &Value) -> Request {
    wire::request::parse(json.to_string().as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap()
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": old, "new_string": new }] })
}

#[test]
fn what_is_begun_and_dropped_leaves_no_trace() {
    let workspace = Workspace::with(&[("a", "old\n"), ("b", "old\n")]);
    let before = workspace.tree();
    let request = request(&json!({ "files": [replace("a", "old", "new"), replace("b", "old", "new")] }));
    let transaction = workspace.engine.begin(&request, running()).unwrap();
    let plan = transaction.plan();
    assert_eq!(plan.transaction, None);
    assert_eq!(plan.files.iter().map(|file| file.operation).collect::<Vec<_>>(), [Operation::Edit; 2]);
    drop(transaction);
    assert_eq!(workspace.tree(), before);
    assert!(!workspace.path(".txedit").exists());
}

#[test]
fn nobody_else_commits_to_the_files_of_what_is_begun() {
    let workspace = Workspace::with(&[("a", "old\n")]);
    let impatient = settings().lock_timeout(Duration::ZERO);
    let other = txedit::Engine::open_with(workspace.root(), impatient).unwrap();
    let theirs = request(&json!({ "files": [replace("a", "old", "theirs")] }));
    let transaction =
        workspace.engine.begin(&request(&json!({ "files": [replace("a", "old", "new")] })), running()).unwrap();
    let error = other.apply(&theirs, running()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::LockTimeout, Outcome::Unchanged));
    let report = transaction.commit().unwrap();
    assert_eq!(workspace.read("a"), "new\n");
    assert!(report.transaction.is_some());
    // The locks went with it.
    assert_eq!(other.apply(&theirs, running()).unwrap_err().kind(), ErrorKind::MatchNotFound);
}

#[test]
fn a_program_that_takes_no_lock_is_noticed_by_the_commit() {
    let workspace = Workspace::with(&[("a", "old\n"), ("b", "old\n")]);
    let request = request(&json!({ "files": [replace("a", "old", "new"), replace("b", "old", "new")] }));
    let transaction = workspace.engine.begin(&request, running()).unwrap();
    workspace.write("b", "old, and theirs\n");
    let error = transaction.commit().unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ConcurrentModification, Outcome::Unchanged));
    assert_eq!((workspace.read("a"), workspace.read("b")), ("old\n".to_owned(), "old, and theirs\n".to_owned()));
}

#[test]
fn a_folder_that_moves_is_noticed_by_the_commit() {
    let workspace = Workspace::with(&[("d/a", "old\n"), ("b", "old\n")]);
    let request = request(&json!({ "files": [replace("b", "old", "new"), replace("d/a", "old", "new")] }));
    let transaction = workspace.engine.begin(&request, running()).unwrap();
    std::fs::rename(workspace.path("d"), workspace.path("e")).unwrap();
    workspace.write("d/a", "theirs\n");
    let error = transaction.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConcurrentModification, "{error}");
    let found = ["b", "e/a", "d/a"].map(|path| workspace.read(path));
    assert_eq!(found, ["old\n", "old\n", "theirs\n"]);
}

#[test]
fn a_key_that_another_committed_meanwhile_is_not_used_twice() {
    let workspace = Workspace::with(&[("d/a", "old\n"), ("e/b", "old\n")]);
    let keyed = |path: &str| request(&json!({ "files": [replace(path, "old", "new")], "idempotency_key": "once" }));
    let transaction = workspace.engine.begin(&keyed("d/a"), running()).unwrap();
    // No folder is common to the two, so no lock keeps them apart.
    workspace.engine.apply(&keyed("e/b"), running()).unwrap();
    let error = transaction.commit().unwrap_err();
    assert!(matches!(error.details(), Detail::SameKey), "{error:?}");
    assert_eq!((error.outcome(), workspace.read("d/a")), (Outcome::Unchanged, "old\n".to_owned()));
}

#[test]
fn the_commit_of_a_dry_run_changes_nothing() {
    let workspace = Workspace::with(&[("a", "old\n")]);
    let request = request(&json!({ "files": [replace("a", "old", "new")], "dry_run": true }));
    let transaction = workspace.engine.begin(&request, running()).unwrap();
    assert!(transaction.plan().files[0].extras.diff.as_ref().is_some_and(|diff| diff.contains("+new")));
    let report = transaction.commit().unwrap();
    assert!(report.dry_run && report.transaction.is_none());
    assert_eq!(workspace.read("a"), "old\n");
    assert!(!workspace.path(".txedit").exists());
}

#[test]
fn what_was_committed_before_is_not_done_again() {
    let workspace = Workspace::with(&[("a", "old\n")]);
    let request = request(&json!({ "files": [replace("a", "old", "new")], "idempotency_key": "once" }));
    let first = workspace.engine.begin(&request, running()).unwrap().commit().unwrap();
    let again = workspace.engine.begin(&request, running()).unwrap();
    assert!(again.plan().already_applied);
    assert_eq!(again.commit().unwrap().transaction, first.transaction);
}

#[test]
fn a_request_without_files_is_refused() {
    let workspace = Workspace::new();
    let none = Request::default();
    let begun = workspace.engine.begin(&none, running()).unwrap_err();
    let applied = workspace.engine.apply(&none, running()).unwrap_err();
    assert_eq!([begun.kind(), applied.kind()], [ErrorKind::ValidationFailed; 2]);
}
