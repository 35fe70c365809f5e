use serde_json::{Value, json, to_value};

use super::*;
use crate::digest::Digest;
use crate::engine::report::{Extra, Extras, FileReport};
use crate::request::validate::PathRule;
use crate::text::MatchKind;
use crate::wire::parse;

fn request(json: &Value) -> Request {
    parse(json.to_string().as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap()
}

fn applied(replaced: usize, lines: &[usize]) -> Applied {
    Applied { replaced, lines: lines.to_vec(), match_kind: MatchKind::Exact }
}

fn edited(path: &str, edits: Vec<Applied>) -> FileReport {
    FileReport {
        path: path.into(),
        operation: Operation::Edit,
        edits,
        hash_before: Some(Digest::of(b"before")),
        hash_after: Some(Digest::of(b"after")),
        extras: Extras::default(),
    }
}

#[test]
fn one_file_stands_at_the_top() {
    let request = request(&json!({"files": [{"file_path": "a", "edits": [
        {"old_string": "ä".repeat(60), "new_string": "x"}, {"old_string": "b", "new_string": "b"}]}]}));
    let mut file = edited("a", vec![applied(2, &[1, 7]), applied(0, &[3])]);
    file.extras.backup = Some("a.bak".into());
    file.extras.warnings = vec!["hard link".into()];
    let report = Report {
        transaction: Some("t1".into()),
        files: vec![file],
        warnings: vec!["recovered t0".into()],
        ..Report::default()
    };
    let expected = json!({
        "success": true, "file_path": "a", "edits_applied": 1, "dry_run": false, "transaction_id": "t1",
        "edits": [
            {"old_string": "ä".repeat(50), "matched": true, "occurrences_replaced": 2, "lines": [1, 7],
             "match_kind": "exact"},
            {"old_string": "b", "matched": true, "occurrences_replaced": 0, "lines": [3], "match_kind": "exact"}],
        "hash_before": Digest::of(b"before").to_hex(), "hash_after": Digest::of(b"after").to_hex(),
        "backup_path": "a.bak", "warnings": ["recovered t0", "hard link"]});
    assert_eq!(to_value(success_single(&report, &request)).unwrap(), expected);
}

#[test]
fn a_dry_run_says_so() {
    let request = request(&json!({"dry_run": true, "include_content": true, "files": [
        {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}]}));
    let mut file = edited("a", vec![applied(1, &[1])]);
    file.extras.content = Some(b"y\xff".to_vec());
    file.extras.diff = Some("-x\n+y\n".into());
    let report = Report { dry_run: true, files: vec![file], ..Report::default() };
    let answer = to_value(success_single(&report, &request)).unwrap();
    assert_eq!(answer["message"], "DRY RUN - No changes made to file");
    assert_eq!(answer["dry_run"], true);
    assert_eq!(answer["diff"], "-x\n+y\n");
    assert_eq!(answer["final_content"], "y\u{fffd}");
    assert!(answer["warnings"][0].as_str().unwrap().starts_with("final_content is not the exact file"), "{answer}");
    assert_eq!(answer.get("transaction_id"), None);
}

#[test]
fn several_files_are_listed_and_summed_up() {
    let request = request(&json!({"files": [
        {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": ""}]},
        {"file_path": "b", "rename_to": "c"},
        {"file_path": "d", "mode": "644"}]}));
    let extras = Extra { renamed_to: Some("c".into()), ..Extra::NONE }.into();
    let moved = FileReport { operation: Operation::Rename, hash_after: None, extras, ..edited("b", Vec::new()) };
    let same = FileReport { operation: Operation::None, ..edited("d", Vec::new()) };
    let report = Report {
        transaction: Some("t1".into()),
        files: vec![edited("a", vec![applied(1, &[1]), applied(1, &[2])]), moved, same],
        warnings: vec!["w".into()],
        ..Report::default()
    };
    let answer = to_value(success_multi(&report, &request)).unwrap();
    assert_eq!(answer["success"], true);
    assert_eq!(answer["transaction_id"], "t1");
    assert_eq!(answer["files_edited"], 2);
    assert_eq!(answer["warnings"], json!(["w"]));
    let summary = json!({"total_files": 3, "files_succeeded": 3, "files_failed": 0, "total_edits": 2});
    assert_eq!(answer["summary"], summary);
    assert_eq!(answer["file_results"][0]["edits"][1]["old_string"], "z");
    assert_eq!(
        answer["file_results"][1],
        json!({"success": true, "file_path": "b", "operation": "rename", "renamed_to": "c", "edits_applied": 0,
               "dry_run": false, "edits": [], "hash_before": Digest::of(b"before").to_hex()})
    );
    assert_eq!(answer["file_results"][2]["operation"], "none");
}

#[test]
fn an_anchor_that_is_not_utf_8_is_shown_as_well_as_it_can_be() {
    let edit = |expected: Vec<u8>| Edit {
        anchor: Anchor::Range { range: 0..expected.len(), expected },
        replacement: Vec::new(),
    };
    assert_eq!(old_string(&edit(b"a\xffb".to_vec())), "a\u{fffd}b");
    assert_eq!(old_string(&edit("\u{1f600}".repeat(51).into_bytes())), "\u{1f600}".repeat(50));
}
