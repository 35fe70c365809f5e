//! Undo of the newest, of a session and of all since a time: as one transaction, or nothing.

use txedit::{Engine, ErrorKind, Outcome, Report, Request, Result, Settings, UndoOptions};

use crate::support::workspace::{Workspace, running};

/// Commits a new content of a file, in a session or in none.
fn committed(workspace: &Workspace, session: Option<&str>, path: &str, content: &str) -> String {
    let settings = Settings::default().session(session.map(str::to_owned));
    let engine = Engine::open_with(workspace.engine.root(), settings).unwrap();
    engine.apply(&Request::new().write(path, content), running()).unwrap().transaction.unwrap()
}

fn last(workspace: &Workspace, count: usize) -> Result<Report> {
    workspace.engine.undo_last(count, &UndoOptions::default(), running())
}

fn session(workspace: &Workspace, name: &str) -> Result<Report> {
    workspace.engine.undo_session(name, &UndoOptions::default(), running())
}

fn reverted(report: &Report) -> Vec<&str> {
    report.reverts.iter().map(|one| one.id.as_str()).collect()
}

fn workspace() -> Workspace {
    Workspace::with(&[("a", "1\n"), ("b", "1\n")])
}

#[test]
fn the_newest_are_undone_as_one() {
    let workspace = workspace();
    let first = committed(&workspace, None, "a", "2\n");
    let second = committed(&workspace, None, "b", "2\n");
    let third = committed(&workspace, None, "a", "3\n");
    workspace.undo(Some(&third)).unwrap();
    // What is undone, and an undo, do not count.
    let report = last(&workspace, 2).unwrap();
    assert_eq!(reverted(&report), [&second, &first]);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\n".to_owned(), "1\n".to_owned()));
    workspace.engine.redo(None, &UndoOptions::default(), running()).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("2\n".to_owned(), "2\n".to_owned()));
    for count in [0, 3, usize::MAX] {
        let error = last(&workspace, count).unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnknownTransaction, Outcome::Unchanged), "{count}");
    }
}

#[test]
fn a_session_is_listed_and_undone_as_one_beside_those_of_others() {
    let workspace = workspace();
    let own = committed(&workspace, Some("mine"), "a", "2\n");
    committed(&workspace, Some("theirs"), "b", "2\n");
    committed(&workspace, None, "c", "1\n");
    let other = committed(&workspace, Some("mine"), "d", "1\n");
    let log = workspace.engine.log_of_session("mine", 10, None).unwrap();
    let ids: Vec<_> = log.iter().map(|one| (one.id.as_str(), one.session.as_deref())).collect();
    assert_eq!(ids, [(other.as_str(), Some("mine")), (own.as_str(), Some("mine"))]);
    let report = session(&workspace, "mine").unwrap();
    assert_eq!(reverted(&report), [&other, &own]);
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\n".to_owned(), "2\n".to_owned()));
    assert!(workspace.path("c").exists() && !workspace.path("d").exists());
    for name in ["mine", "nobody's"] {
        assert_eq!(session(&workspace, name).unwrap_err().kind(), ErrorKind::UnknownTransaction, "{name}");
    }
}

#[test]
fn a_session_whose_files_others_changed_since_is_undone_as_a_whole_or_not_at_all() {
    let workspace = workspace();
    committed(&workspace, Some("mine"), "a", "2\n");
    committed(&workspace, Some("mine"), "b", "2\n");
    committed(&workspace, Some("theirs"), "a", "3\n");
    let error = session(&workspace, "mine").unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged));
    assert_eq!((workspace.read("a"), workspace.read("b")), ("3\n".to_owned(), "2\n".to_owned()));
    session(&workspace, "theirs").unwrap();
    session(&workspace, "mine").unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\n".to_owned(), "1\n".to_owned()));
}

#[test]
fn what_a_session_undid_itself_is_not_undone_twice() {
    let workspace = workspace();
    let settings = Settings::default().session("mine".to_owned());
    let engine = Engine::open_with(workspace.engine.root(), settings).unwrap();
    let first = committed(&workspace, Some("mine"), "a", "2\n");
    committed(&workspace, Some("mine"), "b", "2\n");
    engine.undo(Some(&first), false, running()).unwrap();
    let report = session(&workspace, "mine").unwrap();
    assert_eq!(report.reverts.len(), 1);
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\n".to_owned(), "1\n".to_owned()));
    // It had undone what another had done: that is there again.
    let theirs = committed(&workspace, Some("theirs"), "a", "5\n");
    engine.undo(Some(&theirs), false, running()).unwrap();
    session(&workspace, "mine").unwrap();
    assert_eq!(workspace.read("a"), "5\n");
}

#[test]
fn a_time_is_as_good_as_a_transaction() {
    let workspace = workspace();
    committed(&workspace, None, "a", "2\n");
    let since = |time: &str| workspace.engine.undo_since(time, &|_, _| true, &UndoOptions::default(), running());
    let later = since("2999-01-01T00:00:00Z").unwrap_err();
    assert_eq!(later.kind(), ErrorKind::UnknownTransaction);
    assert!(later.message().contains("2999-01-01"), "{later}");
    since("2020-01-01T00:00:00+02:00").unwrap();
    assert_eq!(workspace.read("a"), "1\n");

    assert_eq!(since("yesterday").unwrap_err().kind(), ErrorKind::UnknownTransaction);
}
