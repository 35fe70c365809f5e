//! What answers say is what other calls take: paths, and what to do next.

use serde_json::{Value, json};

use super::{Root, Session};

/// The path is that of the file, as every tool takes it.
#[track_caller]
fn is(root: &Root, path: &Value, name: &str) {
    assert_eq!(path, &json!(root.name(name)));
}

fn stage(session: &mut Session, root: &Root) -> Value {
    let edit = json!([{"old_string": "one", "new_string": "two"}]);
    let files = json!([{"file_path": root.name("a"), "edits": edit}, {"file_path": root.name("b"), "rename_to": root.name("c")}]);
    session.done("stage_edits", &json!({"files": files}))
}

#[test]
fn every_path_in_an_answer_is_one_that_other_tools_take() {
    let root = Root::with(&[("a", "one\n"), ("b", "one\n")]);
    let mut session = root.open(&[]);
    let added = session.done("apply_patch", &json!({"patch": "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"}));
    is(&root, &added["file_results"][0]["file_path"], "new");
    let again = session
        .call("apply_patch", &json!({"patch": "*** Begin Patch\n*** Update File: new\n@@\n-y\n+z\n*** End Patch"}));
    is(&root, &again["file_path"], "new");
    is(&root, &again["file_statuses"][0]["file_path"], "new");
    let staged = stage(&mut session, &root);
    let id = json!({"transaction_id": staged["transaction_id"]});
    let preview = session.done("preview_transaction", &id);
    let committed = session.done("commit_transaction", &id);
    let undone =
        session.done("undo_transaction", &json!({"transaction_id": committed["transaction_id"], "dry_run": true}));
    for answer in [&staged, &preview, &committed, &session.done("commit_transaction", &id)] {
        is(&root, &answer["file_results"][0]["file_path"], "a");
        is(&root, &answer["file_results"][1]["renamed_to"], "c");
    }
    let mut told: Vec<_> = undone["file_results"].as_array().unwrap().iter().map(|file| &file["file_path"]).collect();
    told.sort_by_key(ToString::to_string);
    assert_eq!(told, ["a", "b", "c"].map(|name| json!(root.name(name))).iter().collect::<Vec<_>>());
    let log = session.done("list_transactions", &json!({"limit": 1}));
    for file in log["transactions"][0]["file_results"].as_array().unwrap() {
        session.done("list_transactions", &json!({"path": file["file_path"]}));
        assert!(std::path::Path::new(file["file_path"].as_str().unwrap()).starts_with(root.path("")), "{log}");
    }
    std::fs::write(root.path("a"), "three\n").unwrap();
    let refused =
        session.failed("undo_transaction", &json!({"transaction_id": committed["transaction_id"]}), "UNDO_CONFLICT");
    is(&root, &refused["conflicts"][0], "a");
}

#[test]
fn what_to_do_next_can_be_done_where_it_is_said() {
    let root = Root::with(&[("a", "one\n")]);
    let mut session = root.open(&[]);
    let unknown = json!({"transaction_id": "20260101T000000.000000Z-0000000000000000"});
    for tool in ["undo_transaction", "commit_transaction", "preview_transaction", "rollback_transaction"] {
        let refused = session.failed(tool, &unknown, "UNKNOWN_TRANSACTION");
        assert!(!refused["error"].as_str().unwrap().contains("`txedit"), "{refused}");
        assert!(refused["recovery_hint"].as_str().unwrap().contains("list_transactions"), "{refused}");
    }
    let absent = json!({"pattern": "absent", "replacement": "x"});
    let refused = session.failed("replace_in_files", &absent, "MATCH_NOT_FOUND");
    assert!(refused["recovery_hint"].as_str().unwrap().contains("pattern"), "{refused}");
    let counted = json!({"pattern": "one", "replacement": "x", "expected_matches": 2});
    let refused = session.failed("replace_in_files", &counted, "MATCH_COUNT_MISMATCH");
    assert!(!refused["recovery_hint"].as_str().unwrap().contains("old_string"), "{refused}");
    // A patch has no field that would replace the file.
    let patch = json!({"patch": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"});
    let refused = session.failed("apply_patch", &patch, "VALIDATION_FAILED");
    let finding = &refused["errors"][0];
    assert_eq!(finding["code"], "FILE_EXISTS");
    assert!(!finding["message"].as_str().unwrap().contains("if_exists"), "{refused}");
    assert!(finding["recovery_hint"].as_str().unwrap().contains("delete the file first"), "{refused}");
}

#[test]
fn every_tool_takes_paths_from_the_root() {
    let root = Root::with(&[("a", "one\n"), ("d/b", "one\n")]);
    let mut session = root.open(&[]);
    let edits = json!([{"old_string": "one", "new_string": "two"}]);
    let read = session.done("read_files", &json!({"paths": ["a", "d/b"]}));
    assert_eq!(read["files"][1]["content"], "one\n", "{read}");
    let answers = [
        session.done("multi_edit", &json!({"file_path": "a", "edits": edits}))["file_path"].clone(),
        session.done("edit_file", &json!({"path": "a", "old_string": "two", "new_string": "three"}))["path"].clone(),
        session.done("multi_edit_files", &json!({"files": [{"file_path": "d/b", "edits": edits}]}))["file_results"][0]
            ["file_path"]
            .clone(),
        session.done("stage_edits", &json!({"files": [{"file_path": "d/b", "delete": true}]}))["file_results"][0]
            ["file_path"]
            .clone(),
    ];
    for (answer, name) in answers.iter().zip(["a", "a", "d/b", "d/b"]) {
        is(&root, answer, name);
    }
    let log = session.done("list_transactions", &json!({"path": "d"}));
    assert_eq!((log["transactions"].as_array().unwrap().len(), log["open"].as_array().unwrap().len()), (1, 1), "{log}");
    let refused = session.failed("multi_edit", &json!({"file_path": "../a", "edits": edits}), "VALIDATION_FAILED");
    assert_eq!(refused["errors"][0]["code"], "PATH_TRAVERSAL");
}

#[test]
fn open_transactions_are_listed_with_owner_and_age() {
    let root = Root::with(&[("a", "one\n"), ("b", "one\n")]);
    let mut session = root.open(&[]);
    assert_eq!(session.done("list_transactions", &json!({}))["open"], Value::Null);
    let staged = stage(&mut session, &root);
    // What it would rename is listed under both names.
    let mut listed = |name: &str| session.done("list_transactions", &json!({"path": root.name(name)}))["open"].clone();
    assert_eq!((listed("c"), listed("d")), (listed("b"), Value::Null));
    let open = &listed("b")[0];
    assert_eq!(open["transaction_id"], staged["transaction_id"]);
    assert!(open["owner"].as_str().is_some_and(|owner| owner.contains("txedit")), "{open}");
    assert!(open["opened_at"].is_string() && open["expires_at"] == staged["expires_at"], "{open}");
    is(&root, &open["file_results"][0]["file_path"], "a");
    session.done("preview_transaction", &json!({"transaction_id": open["transaction_id"]}));
    session.done("commit_transaction", &json!({"transaction_id": open["transaction_id"]}));
    assert_eq!(session.done("list_transactions", &json!({}))["open"], Value::Null);
}

#[test]
fn an_undo_keeps_what_others_changed_in_other_lines_if_it_is_told_to() {
    let root = Root::with(&[("a", "one\n2\n3\n4\nfive\n")]);
    let mut session = root.open(&[]);
    session.done("multi_edit", &json!({"file_path": "a", "edits": [{"old_string": "one", "new_string": "1"}]}));
    std::fs::write(root.path("a"), "1\n2\n3\n4\n5\n").unwrap();
    session.failed("undo_transaction", &json!({}), "UNDO_CONFLICT");
    session.done("undo_transaction", &json!({"rebase": true}));
    assert_eq!(root.read("a"), "one\n2\n3\n4\n5\n");
}
