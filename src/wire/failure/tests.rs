use serde_json::{Value, json, to_value};

use super::*;
use crate::error::{Conflict, ErrorKind, Finding, KeptContent, NextStep, NotOld};
use crate::error::{Diagnosis, Difference, MismatchCause};
use crate::error::{MatchPlace, MatchPlaces};
use crate::index::{EditIndex, FileIndex};
use crate::request::validate::{PathRule, at_edit, at_file};
use crate::wire::parse;

/// A request with one file for each number, which is the number of its edits.
fn request(edits: &[usize]) -> Request {
    let edit = |index| json!({"old_string": format!("old {index}"), "new_string": "new"});
    let file = |(file, edits): (usize, &usize)| {
        let edits: Vec<_> = (0..*edits).map(edit).collect();
        json!({"file_path": format!("f{file}"), "edits": edits})
    };
    let json = json!({"files": edits.iter().enumerate().map(file).collect::<Vec<_>>()});
    parse(json.to_string().as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap()
}

fn answer(error: &Error, request: &Request, shape: Shape) -> Value {
    to_value(failure(error, Some(request), shape, NextStep::to_string)).unwrap()
}

#[test]
fn a_missing_match_in_one_file_is_explained() {
    let diagnosis = Diagnosis {
        snippet: "7: old  1".into(),
        line: 7,
        similarity: 0.5,
        diff: "-old 1\n+old  1\n".into(),
        differences: vec![Difference { line: 7, anchor: " ".into(), file: "  ".into() }],
        cause: Some(MismatchCause::ConsumedByEdit(0)),
        suggestion: Some("old  1".into()),
        nearest: None,
    };
    let error = Error::new(ErrorKind::MatchNotFound, "old_string is not in f0")
        .in_file(FileIndex(0))
        .in_edit(EditIndex(1))
        .detail(Detail::NoMatch(Box::new(diagnosis)));
    let expected = json!({
        "success": false, "error_code": "MATCH_NOT_FOUND",
        "error": "Edit 2 of 3 failed: old_string is not in f0",
        "message": "Operation failed. No changes applied - file unchanged.",
        "retryable": false,
        "recovery_hint": "Search for the text that edit 1 leaves.",
        "edits_applied": 0, "file_path": "f0", "failed_edit_index": 1, "outcome": "unchanged",
        "context": {"snippet": "7: old  1", "line": 7, "similarity": 0.5, "diff": "-old 1\n+old  1\n",
                    "differences": [{"line": 7, "old_string": " ", "file": "  "}],
                    "cause": "consumed_by_edit", "cause_index": 0, "suggestion": "old  1"},
        "edit_status": [{"edit_index": 1, "status": "failed", "old_string": "old 1"},
                        {"edit_index": 2, "status": "skipped", "old_string": "old 2"}]});
    assert_eq!(answer(&error, &request(&[3]), Shape::Single), expected);
}

#[test]
fn several_matches_are_listed_with_their_places() {
    let places =
        MatchPlaces { total: 9, shown: vec![MatchPlace { line: 4, snippet: "4: old 0".into(), unique: None }] };
    let error = Error::new(ErrorKind::AmbiguousMatch, "9 matches")
        .in_file(FileIndex(1))
        .in_edit(EditIndex(0))
        .detail(Detail::Matches(places));
    let answer = answer(&error, &request(&[1, 2, 1]), Shape::Multi);
    assert_eq!(answer["error"], "Edit 1 of 2 in file 2 of 3 failed: 9 matches");
    assert_eq!(answer["message"], "Operation failed. No changes applied - all files unchanged.");
    assert_eq!((&answer["failed_file_index"], &answer["failed_edit_index"]), (&json!(1), &json!(0)));
    assert_eq!(answer["context"], json!({"match_locations": [{"line": 4, "snippet": "4: old 0"}], "total_matches": 9}));
    assert_eq!(
        answer["file_statuses"],
        json!([{"file_path": "f0", "status": "unchanged"}, {"file_path": "f1", "status": "failed"},
               {"file_path": "f2", "status": "skipped"}])
    );
    assert_eq!(answer["rollback"], json!({"files_rolled_back": 0, "files_failed_rollback": 0, "details": []}));
    assert_eq!(answer["edit_status"].as_array().unwrap().len(), 2);
}

#[test]
fn a_rollback_lists_what_it_restored_and_what_it_kept() {
    let kept =
        KeptContent { path: "f1".into(), kept_path: ".txedit/kept/t/1".into(), reason: "changed meanwhile".into() };
    let error = Error::new(ErrorKind::ConcurrentModification, "f1 changed")
        .in_file(FileIndex(1))
        .outcome_is(Outcome::RolledBack)
        .keeping(vec![kept])
        .of_transaction("t");
    let answer = answer(&error, &request(&[1, 1, 1]), Shape::Multi);
    assert_eq!(answer["error"], "f1 changed");
    assert_eq!((&answer["outcome"], &answer["edits_applied"]), (&json!("rolled_back"), &json!(0)));
    assert_eq!((&answer["retryable"], &answer["transaction_id"]), (&json!(true), &json!("t")));
    assert_eq!(
        answer["rollback"],
        json!({"files_rolled_back": 2, "files_failed_rollback": 0, "details": [
            {"file_path": "f0", "status": "restored"}, {"file_path": "f2", "status": "restored"}]})
    );
    assert_eq!(answer["kept"], json!([{"path": "f1", "kept_path": ".txedit/kept/t/1", "reason": "changed meanwhile"}]));
}

#[test]
fn paths_that_a_rollback_did_not_restore_are_named() {
    let not_old = |file: usize, on_top| NotOld {
        path: format!("/w/f{file}").into(),
        file: Some(file),
        on_top,
        reason: "another program was there".into(),
    };
    let changed = || Error::new(ErrorKind::ConcurrentModification, "f1 changed").in_file(FileIndex(1));
    let error = changed().rolled_back_but(vec![not_old(0, true), not_old(1, false), not_old(2, false)]);
    let partly = answer(&error, &request(&[1, 1, 1, 1]), Shape::Multi);
    assert_eq!((&partly["outcome"], &partly["retryable"]), (&json!("partly_rolled_back"), &json!(false)));
    assert_eq!(partly.get("edits_applied"), None);
    assert_eq!(
        partly["file_statuses"],
        json!([{"file_path": "f0", "status": "not_restored"}, {"file_path": "f1", "status": "failed"},
               {"file_path": "f2", "status": "unchanged"}, {"file_path": "f3", "status": "rolled_back"}])
    );
    assert_eq!(
        (&partly["rollback"]["files_rolled_back"], &partly["rollback"]["files_failed_rollback"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(partly["not_restored"], json!([{"path": "/w/f0", "reason": "another program was there"}]));
    assert!(partly["recovery_hint"].as_str().unwrap().contains("`not_restored`"), "{partly}");

    // If nobody wrote over the new content, all of it is gone.
    let whole = answer(&changed().rolled_back_but(vec![not_old(1, false)]), &request(&[1, 1]), Shape::Multi);
    assert_eq!((&whole["outcome"], whole.get("not_restored")), (&json!("rolled_back"), None));
    // The file that failed can be the one that could not be restored.
    let single = changed().in_file(FileIndex(0)).rolled_back_but(vec![not_old(0, true)]);
    assert_eq!(answer(&single, &request(&[1]), Shape::Multi)["file_statuses"][0]["status"], "not_restored");
    let single = answer(&single, &request(&[1]), Shape::Single);
    assert_eq!(
        single["message"],
        "Operation failed. The file could not be put back: another program changed it meanwhile."
    );
}

#[test]
fn where_a_check_failed_no_file_did() {
    let error = Error::new(ErrorKind::CheckFailed, "exit status 1").outcome_is(Outcome::RolledBack);
    let answer = answer(&error, &request(&[1]), Shape::Multi);
    assert_eq!(answer["file_statuses"], json!([{"file_path": "f0", "status": "rolled_back"}]));
    assert_eq!(answer["rollback"]["files_rolled_back"], 1);
    assert_eq!(answer.get("failed_file_index"), None);
}

#[test]
fn nothing_is_claimed_where_recovery_is_required() {
    let error =
        Error::new(ErrorKind::Timeout, "sync failed").outcome_is(Outcome::RecoveryRequired).in_file(FileIndex(0));
    for (shape, message) in [
        (Shape::Single, "Operation failed. The file may be old or new until a recovery has run."),
        (Shape::Multi, "Operation failed. Some files may be old and some new until a recovery has run."),
    ] {
        let answer = answer(&error, &request(&[1, 1]), shape);
        assert_eq!(answer["message"], message);
        assert_eq!(answer.get("edits_applied"), None);
        assert_eq!(answer["retryable"], false);
        assert_eq!(answer["outcome"], "recovery_required");
        if shape == Shape::Multi {
            assert_eq!(answer["rollback"]["files_failed_rollback"], 2);
            assert_eq!(answer["file_statuses"][1], json!({"file_path": "f1", "status": "unknown"}));
        }
    }
}

#[test]
fn findings_are_listed_each_with_its_hint() {
    let finding = |kind, path| Finding { kind, message: "m".into(), path, did_you_mean: None };
    let error = Error::findings(vec![
        finding(ErrorKind::EmptyOldString, at_edit(0, 1, Some("old_string"))),
        finding(ErrorKind::FileNotFound, at_file(0, Some("file_path"))),
        finding(ErrorKind::ValidationFailed, vec!["label".into()]),
    ]);
    let multi = answer(&error, &request(&[1, 1]), Shape::Multi);
    assert_eq!((&multi["error"], &multi["error_code"]), (&json!("Validation failed"), &json!("VALIDATION_FAILED")));
    assert_eq!(
        multi["errors"][0],
        json!({"code": "EMPTY_OLD_STRING", "message": "m", "path": ["files", "0", "edits", "1", "old_string"],
               "recovery_hint": "Give the text to be replaced as old_string, or a whole file with `content` (in multi_edit_files or a plan)."})
    );
    assert_eq!(
        multi["file_statuses"],
        json!([{"file_path": "f0", "status": "failed"}, {"file_path": "f1", "status": "unchanged"}])
    );
    let single = answer(&error, &request(&[1]), Shape::Single);
    let places: Vec<_> = single["errors"].as_array().unwrap().iter().map(|entry| entry["path"].clone()).collect();
    assert_eq!(places, [json!(["edits", "1", "old_string"]), json!(["file_path"]), json!(["label"])]);
    assert_eq!(single["file_path"], "f0");
}

#[test]
fn a_failure_without_a_request_is_an_answer_too() {
    let error = parse(b"{").unwrap_err();
    let answer = to_value(failure(&error, None, Shape::Multi, NextStep::to_string)).unwrap();
    assert_eq!(answer["errors"][0]["code"], "VALIDATION_FAILED");
    assert_eq!(answer["rollback"]["files_rolled_back"], 0);
    let error = Error::new(ErrorKind::UndoConflict, "cannot undo").detail(Detail::Conflicts(vec![Conflict {
        path: "f0".into(),
        changed_by: vec!["t2".into()],
        ..Conflict::default()
    }]));
    let answer = to_value(failure(&error, None, Shape::Multi, NextStep::to_string)).unwrap();
    assert_eq!(answer["conflicts"], json!(["f0"]));
    let error = Error::new(ErrorKind::UndoConflict, "x").outcome_is(Outcome::RolledBack);
    assert_eq!(to_value(failure(&error, None, Shape::Multi, NextStep::to_string)).unwrap().get("rollback"), None);
}
