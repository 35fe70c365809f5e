//! Requests that are tried again beside a program that keeps writing.

mod beside;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::search::{Query, ReplaceGuard, SearchTree};
use txedit::{
    CancelToken, Digest, Durability, Engine, ErrorKind, PathRule, Request, Settings, UndoOptions, search as replace,
    wire,
};

use crate::support::workspace::{Workspace, running, settings};

fn apply(engine: &Engine, request: &Value) -> txedit::Result<txedit::Report> {
    engine.apply(&wire::parse(request.to_string().as_bytes())?.into_request(PathRule::AbsoluteOrRelative)?, running())
}

/// An engine in whose first `times` commits somebody adds a line to `a` when everything is staged.
fn written(workspace: &Workspace, times: u64, settings: Settings) -> (Engine, Arc<FaultFs>) {
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let named = |call: &FaultCall| call.operation == FaultOperation::Rename && call.path.ends_with("journal.new");
    for time in 1..=times {
        let path = workspace.path("a");
        let add = move |_: &FaultCall| append(&path, &format!("line {time}\n"));
        faults.add(Rule::before(time, add).matching(named));
    }
    (Engine::with_fs(faults.clone(), workspace.root(), settings).unwrap(), faults)
}

fn append(path: &Path, line: &str) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}

fn edits(path: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": "one", "new_string": "two" }] })
}

#[test]
fn what_names_its_places_by_text_is_done_on_the_new_content() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let request = json!({ "files": [edits("a"), edits("b"), { "file_path": "c", "content": "new\n" }] });
    let (engine, faults) = written(&workspace, 3, settings());
    let report = apply(&engine, &request).unwrap();
    assert_eq!((report.attempts, faults.fired()), (4, 3));
    assert_eq!(workspace.read("a"), "two\nline 1\nline 2\nline 3\n");
    assert_eq!((workspace.read("b"), workspace.read("c")), ("two\n".into(), "new\n".into()));
    assert_eq!(fs::read_dir(workspace.path(".txedit/txn")).unwrap().count(), 0, "lost attempts leave nothing");
    assert_eq!(fs::read_dir(workspace.path(".txedit/kept")).unwrap().count(), 0);
}

#[test]
fn beside_a_program_that_is_quicker_than_a_sync_it_comes_through() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let path = workspace.path("a");
    let add = move |_: &FaultCall| append(&path, "more\n");
    let syncs = |call: &FaultCall| matches!(call.operation, FaultOperation::Sync | FaultOperation::SyncFileSystem);
    faults.add(Rule::before(1, add).matching(syncs).from_then_on());
    let durable = settings().durability(Durability::Power);
    let engine = Engine::with_fs(faults.clone(), workspace.root(), durable).unwrap();
    let report = apply(&engine, &json!({ "files": [edits("a"), edits("b")], "include_content": true })).unwrap();
    assert_eq!(report.attempts, 3);
    let (a, told) = (workspace.read("a"), &report.files[0]);
    let content = told.extras.content.clone().unwrap();
    assert_eq!(told.hash_after, Some(Digest::of(&content)), "what is told is what was swapped");
    assert!(content.starts_with(b"two\nmore\n") && a.as_bytes().starts_with(&content), "{a:?}");
    assert_eq!(
        a.lines().skip(1).filter(|line| *line == "more").count() as u64,
        faults.fired(),
        "no line is lost: {a:?}"
    );
    assert_eq!(workspace.read("b"), "two\n");
    // The journal tells of what was made in the end.
    let id = report.transaction.unwrap();
    let shown = engine.show(&id).unwrap();
    assert_eq!(shown.files[0].lines, Some((1, 1)), "{:?}", shown.files[0].diff);
    assert_eq!(engine.status().unwrap().warnings, Vec::<String>::new());
    assert_eq!(fs::read_dir(workspace.path(".txedit/kept")).unwrap().count(), 0);
}

#[test]
fn what_is_for_one_content_is_not_tried_again() {
    let hash = Digest::of(b"one\n").to_hex();
    let mut expecting = edits("a");
    expecting["expected_hash"] = json!(hash);
    let requests = [
        json!([expecting]),
        json!([{ "file_path": "a", "content": "mine\n", "if_exists": "replace" }]),
        json!([{ "file_path": "a", "delete": true }]),
        // Of another file it is not known what became of it either.
        json!([edits("a"), { "file_path": "b", "delete": true }]),
        json!([{ "file_path": "b", "rename_to": "a", "if_exists": "replace" }]),
    ];
    for request in requests {
        let workspace = Workspace::with(&[("a", "one\n"), ("b", "other\n")]);
        let (engine, faults) = written(&workspace, 1, settings());
        let error = apply(&engine, &json!({ "files": request })).unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::ConcurrentModification, 1), "{request}");
        assert_eq!(
            (faults.fired(), workspace.read("a"), workspace.read("b")),
            (1, "one\nline 1\n".into(), "other\n".into())
        );
    }
}

#[test]
fn attempts_are_bounded_in_number_and_time() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let request = json!({ "files": [edits("a")] });
    let (engine, _) = written(&workspace, 9, settings());
    let error = apply(&engine.with_attempts(3), &request).unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::ConcurrentModification, 3));
    let (engine, _) = written(&workspace, 9, settings().lock_timeout(Duration::ZERO));
    assert_eq!(apply(&engine, &request).unwrap_err().attempts(), 1);
    assert_eq!(workspace.read("a"), "one\nline 1\nline 2\nline 3\nline 1\n");
}

#[test]
fn what_is_searched_for_is_searched_again() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let (engine, faults) = written(&workspace, 2, settings());
    let query = Query { pattern: "one".into(), replacement: "line 9".into(), regex: false, word: false };
    let tree =
        SearchTree { base: workspace.root().to_owned(), root: workspace.root().to_owned(), ..SearchTree::default() };
    let find = || {
        replace::search(
            &query,
            &tree,
            ReplaceGuard { expected_matches: Some(2), ..ReplaceGuard::default() },
            &CancelToken::new(),
        )
    };
    let (found, report) = engine.apply_found(&Request::default(), find, running());
    assert_eq!((report.unwrap().attempts, found.unwrap().matches(), faults.fired()), (3, 2, 2));
    assert_eq!((workspace.read("a"), workspace.read("b")), ("line 9\nline 1\nline 2\n".into(), "line 9\n".into()));
    // What is there by then may be too much.
    let workspace = Workspace::with(&[("a", "line\n")]);
    let (engine, _) = written(&workspace, 1, settings());
    let query = Query { pattern: "line".into(), ..query };
    let tree =
        SearchTree { base: workspace.root().to_owned(), root: workspace.root().to_owned(), ..SearchTree::default() };
    let find = || {
        replace::search(
            &query,
            &tree,
            ReplaceGuard { expected_matches: Some(1), ..ReplaceGuard::default() },
            &CancelToken::new(),
        )
    };
    let error = engine.apply_found(&Request::default(), find, running()).1.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::MatchCountMismatch, 2), "{error}");
    assert_eq!(workspace.read("a"), "line\nline 1\n");
}

#[test]
fn what_is_staged_is_carried_over_again() {
    let staged = |engine: &Engine| {
        let request = wire::parse(json!({ "files": [edits("a")] }).to_string().as_bytes()).unwrap();
        let request = request.into_request(PathRule::AbsoluteOrRelative).unwrap();
        engine.stage(&request, None, running()).unwrap().id.unwrap()
    };
    let content = "one\n2\n3\n4\n5\n";
    let workspace = Workspace::with(&[("a", content)]);
    let (engine, faults) = written(&workspace, 2, settings());
    let id = staged(&engine);
    let report = engine.commit_staged(&id, None, None, running()).unwrap();
    assert_eq!((report.attempts, faults.fired()), (3, 2));
    assert_eq!(workspace.read("a"), "two\n2\n3\n4\n5\nline 1\nline 2\n");
    // A plan that somebody looked at is for one content.
    let workspace = Workspace::with(&[("a", content)]);
    let (engine, faults) = written(&workspace, 1, settings());
    let id = staged(&engine);
    let plan = engine.preview(&id, running()).unwrap().plan_hash;
    let error = engine.commit_staged(&id, Some(plan), None, running()).unwrap_err();
    assert_eq!((error.kind(), error.attempts(), faults.fired()), (ErrorKind::ConcurrentModification, 2, 1), "{error}");
    assert!(error.to_string().contains("preview"), "{error}");
    assert_eq!(workspace.read("a"), format!("{content}line 1\n"));
}

#[test]
fn only_an_undo_that_spares_other_lines_is_tried_again() {
    for rebase in [true, false] {
        let workspace = Workspace::with(&[("a", "one\n2\n3\n4\n5\n")]);
        workspace.apply(&json!({ "files": [edits("a")] })).unwrap();
        let (engine, faults) = written(&workspace, 1, settings());
        let done = engine.undo_with(None, &UndoOptions::default().rebase(rebase), running());
        assert_eq!(faults.fired(), 1);
        if rebase {
            assert_eq!(done.unwrap().attempts, 2);
            assert_eq!(workspace.read("a"), "one\n2\n3\n4\n5\nline 1\n");
        } else {
            let error = done.unwrap_err();
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::ConcurrentModification, 1), "{error}");
            assert_eq!(workspace.read("a"), "two\n2\n3\n4\n5\nline 1\n");
        }
    }
}

#[test]
fn a_file_that_shrinks_while_its_undo_is_tried_out_is_told() {
    let mut told = 0;
    for nth in 1.. {
        let workspace = Workspace::with(&[("a", "one\n2\n3\n4\n5\n")]);
        workspace.apply(&json!({ "files": [edits("a")] })).unwrap();
        let path = workspace.root().join("a");
        fs::write(&path, "two\n2\n3\n4\n5\nline 1\n").unwrap();
        let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        let shrunk = path.clone();
        let opens = |call: &FaultCall| call.operation == FaultOperation::OpenFile && call.path.ends_with("a");
        faults.add(Rule::before(nth, move |_| fs::write(&shrunk, "").unwrap()).matching(opens));
        let engine = Engine::with_fs(faults.clone(), workspace.root(), settings()).unwrap();
        let options = UndoOptions::default().rebase(true).dry_run(true);
        let done = engine.undo_with(None, &options, running());
        if faults.fired() == 0 {
            break;
        }
        told += usize::from(done.is_err());
    }
    assert!(told > 1, "{told}");
}
