//! One key, two requests about other files, at the same time: never both are committed.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use txedit::commit::Protocol;
use txedit::commit::forward;
use txedit::commit::protocol::PROTOCOL;
use txedit::commit::step::Step;
use txedit::error::{ErrorKind, Outcome, Result};
use txedit::fs::fault::{Call, FaultFs, Operation, Rule};
use txedit::fs::os::OsFs;

use super::{broken, phases_without};
use crate::workspace::Workspace;

/// What became of the one and of the other.
type Both = (Result<bool>, Result<bool>);

fn request(file: &str) -> Value {
    json!({ "idempotency_key": "k", "files": [{ "file_path": file, "content": "new" }] })
}

/// Whether a request changed anything, as it says.
fn done(workspace: &Workspace, file: &str) -> Result<bool> {
    workspace.apply(&request(file)).map(|report| !report.already_applied)
}

/// The one request, and in the middle of it the other one: before its journal has its name, or right after.
fn at_once(protocol: &'static Protocol, attempts: usize, is_named: bool) -> (Workspace, Both) {
    let scratch = Workspace::new();
    scratch.write("a/x", "");
    scratch.write("b/x", "");
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let other = Arc::new(Mutex::new(None));
    let (root, told) = (scratch.root().to_owned(), Arc::clone(&other));
    let interrupt = move |_: &Call| {
        *told.lock().unwrap() = Some(done(&with(Workspace::at(&root), protocol, 1), "b/new"));
    };
    let names_its_journal =
        |call: &Call| call.operation == Operation::Rename && call.to.as_ref().is_some_and(|to| to.ends_with("journal"));
    let rule = if is_named { Rule::after(1, interrupt) } else { Rule::before(1, interrupt) };
    faults.add(rule.matching(names_its_journal));
    let one = done(&with(Workspace::on(faults.clone(), scratch.root()), protocol, attempts), "a/new");
    let other = other.lock().unwrap().take().expect("the other one came in between");
    (scratch, (one, other))
}

fn with(mut workspace: Workspace, protocol: &'static Protocol, attempts: usize) -> Workspace {
    workspace.engine = workspace.engine.with_protocol(protocol).with_attempts(attempts);
    workspace
}

/// Which of the two files are there.
fn made(workspace: &Workspace) -> Vec<&'static str> {
    ["a/new", "b/new"].into_iter().filter(|file| workspace.path(file).exists()).collect()
}

fn is_refused(answer: &Result<bool>) {
    let error = answer.as_ref().expect_err("it came second");
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::LockTimeout, Outcome::Unchanged), "{error}");
    assert!(error.to_string().contains("same idempotency key"), "{error}");
}

#[test]
fn of_two_requests_with_one_key_one_is_committed() {
    // The other one finds the journal that has just got its name, and gives way.
    let (workspace, (one, other)) = at_once(&PROTOCOL, 1, true);
    assert!(one.unwrap());
    is_refused(&other);
    assert_eq!(made(&workspace), ["a/new"]);
    // The other one is through before: this one finds it in history.
    let (workspace, (one, other)) = at_once(&PROTOCOL, 1, false);
    assert!(other.unwrap());
    is_refused(&one);
    assert_eq!(made(&workspace), ["b/new"]);
    assert_eq!(workspace.engine.status().unwrap().interrupted.len(), 0);
    // Tried again, it is told what is wrong with it.
    let (workspace, (one, other)) = at_once(&PROTOCOL, 9, false);
    assert!(other.unwrap());
    let error = one.unwrap_err();
    assert!(error.to_string().contains("used for another request"), "{error}");
    assert_eq!((error.kind(), made(&workspace)), (ErrorKind::ValidationFailed, vec!["b/new"]));
}

#[test]
fn a_key_that_is_not_looked_for_once_more_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |step| step == Step::LookForKey);
    let mutant = broken(Protocol { commit, ..PROTOCOL });
    for is_named in [true, false] {
        let (workspace, (one, other)) = at_once(mutant, 1, is_named);
        assert!(one.unwrap() && other.unwrap(), "the mutant was not noticed");
        assert_eq!(made(&workspace), ["a/new", "b/new"]);
    }
}

/// A copied entry that has the key is nobody's request.
#[test]
fn what_is_not_ours_has_no_key() {
    let workspace = Workspace::new();
    assert!(done(&workspace, "a").unwrap());
    let history = workspace.path(".txedit/history");
    let entry = std::fs::read_dir(&history).unwrap().next().unwrap().unwrap().path();
    let copy = workspace.path(".txedit/txn").join("29991231T235959.000000Z-0123456789abcdef");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(entry.join("journal.done"), copy.join("journal.done")).unwrap();
    std::fs::remove_dir_all(&entry).unwrap();
    assert!(copy.exists() && done(&workspace, "b").unwrap());
}
