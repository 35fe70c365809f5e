//! A file that is not as a request expects: who changed it since, and how.

use serde_json::{Value, json};
use txedit::error::{Detail, ForeignChange};
use txedit::{Digest, Error, ErrorKind};

use crate::support::workspace::{Workspace, running};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "files": [{ "file_path": path, "edits": [{ "old_string": old, "new_string": new }] }] })
}

fn committed(workspace: &Workspace, request: &Value) -> String {
    workspace.apply(request).unwrap().transaction.unwrap()
}

/// The error of an edit that expects `content`.
fn mismatch(workspace: &Workspace, content: &str) -> Error {
    let mut request = edit("a", "x", "y");
    request["files"][0]["expected_hash"] = Digest::of(content.as_bytes()).to_hex().into();
    let error = workspace.apply(&request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HashMismatch, "{error}");
    error
}

fn changed(error: &Error) -> &ForeignChange {
    match error.details() {
        Detail::Changed(change) => change,
        other => panic!("{error}: {other:?}"),
    }
}

fn ids(change: &ForeignChange) -> Vec<&str> {
    change.by.iter().map(|changer| changer.id.as_str()).collect()
}

#[test]
fn the_transactions_since_are_named_with_their_change() {
    let workspace = Workspace::with(&[("a", "1\nx\n"), ("b", "1\n")]);
    let first = committed(&workspace, &edit("a", "1", "2"));
    committed(&workspace, &edit("b", "1", "2"));
    let second = committed(&workspace, &edit("a", "2", "3"));

    let error = mismatch(&workspace, "1\nx\n");
    let change = changed(&error);
    assert_eq!((ids(change), change.by_another_program), (vec![first.as_str(), second.as_str()], false));
    assert!(error.message().contains(&second) && error.message().contains(&change.by[0].owner), "{error}");
    assert!(change.by[0].time.starts_with("20") && change.by[0].owner.contains("process"), "{change:?}");
    let diff = change.diff.as_ref().unwrap();
    assert!(diff.contains("-1\n+3\n"), "{diff}");

    // The newest place with that content counts.
    let error = mismatch(&workspace, "2\nx\n");
    assert_eq!(ids(changed(&error)), [second.as_str()]);
    // A step back and forth is no change.
    workspace.undo(Some(&second)).unwrap();
    let error = mismatch(&workspace, "1\nx\n");
    assert_eq!(ids(changed(&error)), [first.as_str()]);
}

#[test]
fn another_program_is_told_from_transactions() {
    let workspace = Workspace::with(&[("a", "1\nx\n")]);
    let first = committed(&workspace, &edit("a", "1", "2"));
    workspace.write("a", "2\nx\ntheirs\n");
    let error = mismatch(&workspace, "2\nx\n");
    let change = changed(&error);
    assert_eq!((ids(change), change.by_another_program), (Vec::new(), true));
    assert!(change.diff.as_ref().unwrap().contains("+theirs"), "{change:?}");
    let error = mismatch(&workspace, "1\nx\n");
    assert_eq!((ids(changed(&error)), changed(&error).by_another_program), (vec![first.as_str()], true));
    // Of a content that history does not know nothing is said.
    let error = mismatch(&workspace, "never there\n");
    assert!(matches!(error.details(), Detail::None), "{error:?}");
}

#[test]
fn a_commit_of_staged_edits_names_who_was_there_first() {
    let workspace = Workspace::with(&[("a", "1\nx\n")]);
    let request = txedit::wire::request::parse(edit("a", "1", "mine").to_string().as_bytes()).unwrap();
    let request = request.into_request(txedit::PathRule::AbsoluteOrRelative).unwrap();
    let open = workspace.engine.stage(&request, None, running()).unwrap().id.unwrap();
    let other = committed(&workspace, &edit("a", "1", "theirs"));
    let error = workspace.engine.commit_staged(&open, None, None, running()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConcurrentModification, "{error}");
    assert!(error.message().contains(&other), "{error}");
    let Detail::Diverged(sides) = error.details() else { panic!("{error:?}") };
    assert_eq!(ids(sides.by.as_ref().unwrap()), [other.as_str()]);
}
