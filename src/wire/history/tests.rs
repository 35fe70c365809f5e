use serde_json::{json, to_value};

use super::*;
use crate::error::{self, NextStep};
use crate::journal::recover::Class;

fn logged() -> report::Logged {
    report::Logged {
        id: "t1".into(),
        time: "2026-01-02T03:04:05Z".into(),
        owner: "txedit 0.1.0".into(),
        label: None,
        session: None,
        campaign: None,
        reverts: vec!["t0".into()],
        reverted_by: None,
        opened: None,
        check: None,
        files: vec![("edit".into(), "a".into())],
        warnings: Vec::new(),
        unreadable: None,
    }
}

fn kept() -> error::KeptContent {
    error::KeptContent { path: "a".into(), kept_path: ".txedit/kept/t1/000000".into(), reason: "foreign".into() }
}

#[test]
fn what_was_committed_is_one_object() {
    let entry = json!({"transaction_id": "t1", "time": "2026-01-02T03:04:05Z", "owner": "txedit 0.1.0",
        "reverts": "t0", "file_results": [{"operation": "edit", "file_path": "a"}]});
    let log = Log::from(&[logged()][..]);
    assert_eq!(to_value(log).unwrap(), json!({"success": true, "transactions": [entry]}));

    let file = report::ShownFile { kind: "edit".into(), path: "a".into(), lines: Some((1, 2)), diff: "-x\n".into() };
    let show = Show::from(&report::Shown { logged: logged(), files: vec![file] });
    let mut expected = entry;
    expected["success"] = true.into();
    expected["file_results"] =
        json!([{"operation": "edit", "file_path": "a", "added": 1, "removed": 2, "diff": "-x\n"}]);
    assert_eq!(to_value(show).unwrap(), expected);

    let pruned = report::Pruned { ids: vec!["t1".into()], bytes: 7, left: Vec::new(), in_trash: Vec::new() };
    let expected = json!({"success": true, "pruned": ["t1"], "bytes": 7, "left": []});
    assert_eq!(to_value(PrunedJson::from(&pruned)).unwrap(), expected);
    assert_eq!(to_value(DoneJson::default()).unwrap(), json!({"success": true}));
}

#[test]
fn what_was_interrupted_is_one_object() {
    let folder = report::Kept { id: "t1".into(), folder: "/w/.txedit/kept/t1".into(), contents: vec![kept()] };
    let status = report::Status {
        interrupted: vec![report::Interrupted {
            id: "t2".into(),
            running: false,
            owner: "someone".into(),
            files: vec![
                InterruptedFile { path: "a".into(), operation: Some("edit"), class: Some(Class::Done) },
                InterruptedFile { path: "b".into(), operation: None, class: None },
            ],
            action: report::RecoveryAction::Forward,
            why: report::RecoveryReason::NoJournal,
            remarks: Vec::new(),
            next_steps: vec![NextStep::Status],
        }],
        open: Vec::new(),
        kept: vec![folder.clone()],
        unreadable: vec![report::Unreadable { id: "t3".into(), reason: "torn".into(), next_steps: Vec::new() }],
        warnings: vec!["w".into()],
        is_ignored: false,
    };
    let content = json!({"path": "a", "kept_path": ".txedit/kept/t1/000000", "reason": "foreign"});
    let contents = json!([{"transaction_id": "t1", "folder": "/w/.txedit/kept/t1", "contents": [content]}]);
    let expected = json!({"success": true, "open": [], "kept": contents, "warnings": ["w"],
        "unreadable": [{"transaction_id": "t3", "reason": "torn"}], "interrupted": [
        {"transaction_id": "t2", "running": false, "owner": "someone", "action": "forward",
         "reason": "it never came to its journal; step",
         "file_results": [{"file_path": "a", "operation": "edit", "class": "done"}, {"file_path": "b"}]}]});
    assert_eq!(to_value(StatusJson::new(&status, |_| "step".to_owned())).unwrap(), expected);
    let list = KeptList::from(&[folder][..]);
    assert_eq!(to_value(list).unwrap(), json!({"success": true, "kept": contents}));

    let recovered = report::Recovered {
        required: true,
        remarks: vec!["r".into()],
        files: vec![InterruptedFile { path: "a".into(), operation: Some("edit"), class: Some(Class::Before) }],
        kept: vec![kept()],
        ..report::Recovered::new("t2", report::RecoveryAction::RolledBack, report::RecoveryReason::NoJournal)
    };
    let expected = json!({"success": true, "recovered": [
        {"transaction_id": "t2", "action": "rolled_back", "required": true,
         "reason": "it never came to its journal; r",
         "file_results": [{"file_path": "a", "operation": "edit", "class": "before"}], "kept": [content]}]});
    assert_eq!(to_value(Recovery::new(&[recovered], NextStep::to_string)).unwrap(), expected);
}
