//! What is shut unless whoever embeds the engine opens it.

use serde_json::json;
use txedit::{Check, Engine, ErrorKind, Outcome, PathRule, Request, UndoOptions, wire};

use crate::support::workspace::{Workspace, running, settings};

fn request(plan: &serde_json::Value) -> Request {
    wire::request::parse(plan.to_string().as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap()
}

#[test]
fn an_engine_runs_no_check_that_a_call_names_unless_it_is_told_to() {
    let here = Workspace::with(&[("a", "one")]);
    let edit = json!({"files": [{"file_path": "a", "edits": [{"old_string": "one", "new_string": "1"}]}]});
    let named = || Some(Check::new(vec!["touch".into(), "ran".into()]));
    let undo = || UndoOptions::default().check(named());
    let checked = request(&edit).check(named());
    let engine = Engine::open_with(here.root(), settings()).unwrap();
    let refused = |error: txedit::Error| {
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::ChecksNotAllowed, Outcome::Unchanged), "{error}");
        assert!(error.to_string().contains("touch ran"), "{error}");
    };
    refused(engine.apply(&checked, running()).unwrap_err());
    refused(engine.apply(&checked.clone().dry_run(true), running()).unwrap_err());
    let open = engine.stage(&request(&edit), None, running()).unwrap().id.unwrap();
    refused(engine.commit_staged(&open, None, named(), running()).unwrap_err());
    assert_eq!(here.read("a"), "one");
    let done = engine.apply(&request(&edit), running()).unwrap().transaction.unwrap();
    refused(engine.undo_with(Some(&done), &undo(), running()).unwrap_err());
    assert!(here.read("a") == "1" && !here.path("ran").exists());
    engine.allowing_checks().undo_with(Some(&done), &undo(), running()).unwrap();
    assert!(here.read("a") == "one" && here.path("ran").exists());
}
