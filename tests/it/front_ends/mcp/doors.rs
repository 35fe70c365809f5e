//! What a caller of a server cannot reach, whatever it asks for, and what an operator decides.

use std::fs;

use serde_json::{Value, json};

use super::{Root, Session};

/// A server whose operator gave a check, by the option or by its variable.
fn checked(root: &Root, check: &str, is_variable: bool) -> Session {
    let mut command = root.command(&[]);
    // It counts its runs in a file of the tree.
    command.env("TXEDIT_CHECK_IN", "tree");
    if is_variable {
        command.env("TXEDIT_CHECK", check);
    } else {
        command.args(["--check", check]);
    }
    let mut session = Session::start(&mut command);
    session.initialize("2025-11-25");
    session
}

#[test]
fn the_check_of_the_operator_decides_on_every_commit_of_a_server() {
    for is_variable in [false, true] {
        let root = Root::with(&[("a", "one\n")]);
        let mut session = checked(&root, "echo run >> runs; ! grep -q bad a", is_variable);
        let edit = |old: &str, new: &str| json!({"path": root.name("a"), "old_string": old, "new_string": new});
        let files =
            |new: &str| json!({"files": [{"file_path": root.name("a"), "content": new, "if_exists": "replace"}]});
        session.failed("edit_file", &edit("one", "bad"), "CHECK_FAILED");
        let patch = json!({"patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+bad\n"});
        session.failed("apply_patch", &patch, "CHECK_FAILED");
        session.failed("multi_edit_files", &files("bad"), "CHECK_FAILED");
        session.failed("replace_in_files", &json!({"pattern": "one", "replacement": "bad"}), "CHECK_FAILED");
        let id = session.done("stage_edits", &files("bad"))["transaction_id"].clone();
        session.failed("commit_transaction", &json!({"transaction_id": id}), "CHECK_FAILED");
        assert_eq!(root.read("a"), "one\n");
        let done = session.done("edit_file", &edit("one", "good"));
        session.done("undo_transaction", &json!({"transaction_id": done["transaction_id"]}));
        assert_eq!(root.read("runs").lines().count(), 7, "an undo is a commit, too");
        // The caller's own is still none that the operator allowed.
        let mut request = files("x");
        request["check"] = json!(["true"]);
        session.failed("multi_edit_files", &request, "CHECKS_NOT_ALLOWED");
        assert_eq!(root.read("a"), "one\n");
    }
}

/// Where name spaces are forbidden it runs in the tree, and the answer says so.
#[test]
fn the_check_of_the_operator_runs_in_a_view_and_what_it_refuses_was_never_there() {
    let root = Root::with(&[("a", "one\n"), ("b", "b\n")]);
    let mut session = root.open(&["--check", "echo x > other; ! grep -q bad a"]);
    let edit = |new: &str| json!({"path": root.name("a"), "old_string": "one", "new_string": new});
    let failed = session.failed("edit_file", &edit("bad"), "CHECK_FAILED");
    let place = failed["context"]["check"]["in"].clone();
    assert_eq!(failed["outcome"], json!(if place == "view" { "unchanged" } else { "rolled_back" }), "{failed}");
    let files = json!([{"file_path": root.name("a"), "content": "good\n", "if_exists": "replace"}]);
    let done = session.done("multi_edit_files", &json!({ "files": files }));
    assert_eq!(done["check"]["in"], place, "{done}");
    assert_eq!(root.path("other").exists(), place == "tree", "{done}");
    assert_eq!(
        (done["check"]["dropped"] == json!(1), root.read("a")),
        (place == "view", "good\n".to_owned()),
        "{done}"
    );
}

#[test]
fn nothing_of_version_control_or_denied_is_written_or_read_over_mcp() {
    let root = Root::with(&[(".env", "KEY=1\n"), ("keys", "KEY=1\n"), ("a", "one\n")]);
    fs::create_dir_all(root.path(".git/hooks")).unwrap();
    fs::write(root.path(".git/config"), "[core]\n").unwrap();
    let mut session = root.open(&["--deny", ".env", "--deny", "keys"]);
    let hook = root.name(".git/hooks/pre-commit");
    let write = json!({"files": [{"file_path": hook, "content": "#!/bin/sh\n", "mode": "755"}]});
    let mut denied = |tool: &str, arguments: &Value| {
        let answer = session.failed(tool, arguments, "VALIDATION_FAILED");
        assert_eq!(answer["errors"][0]["code"], "PATH_DENIED", "{answer}");
    };
    denied("multi_edit_files", &write);
    denied("stage_edits", &write);
    let edit = json!({"file_path": root.name(".git/config"), "edits": [{"old_string": "core", "new_string": "x"}]});
    denied("multi_edit", &edit);
    let patch = "--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-[core]\n+[x]\n";
    denied("apply_patch", &json!({"patch": patch}));
    let envelope = "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** End Patch\n";
    denied("apply_patch", &json!({"patch": envelope}));
    // A search passes over them, and replaces what is left.
    let all = json!({"pattern": "KEY|core|one", "replacement": "x", "regex": true});
    assert_eq!(session.done("replace_in_files", &all)["files_edited"], 1);
    let read = session.done("read_files", &json!({"paths": [root.name(".git/config"), root.name(".env")]}));
    assert_eq!(read["files"], json!([]));
    for skipped in read["skipped"].as_array().unwrap() {
        assert_eq!(skipped["error_code"], "PATH_DENIED", "{read}");
    }
    assert!(!root.path(".git/hooks/pre-commit").exists() && root.read(".git/config") == "[core]\n");
}

#[test]
fn an_undo_without_an_id_reverts_the_callers_own() {
    let root = Root::with(&[("a", "one\n"), ("b", "one\n"), ("c", "one\n")]);
    let edit = |name: &str| json!({"path": root.name(name), "old_string": "one", "new_string": "two"});
    let (mut first, mut second) = (root.open(&[]), root.open(&[]));
    let by_first = first.done("edit_file", &edit("a"))["transaction_id"].clone();
    second.done("edit_file", &edit("b"));
    let plan = json!({"label": "of a person", "files": [{"file_path": "c", "edits": [{"old_string": "one", "new_string": "two"}]}]});
    fs::write(root.path("plan.json"), plan.to_string()).unwrap();
    let mut shell = std::process::Command::new(env!("CARGO_BIN_EXE_txedit"));
    shell.args(["apply", "plan.json"]).current_dir(root.path("")).env("TXEDIT_ROOT", root.path(""));
    assert!(shell.status().unwrap().success());
    let undone = first.done("undo_transaction", &json!({}));
    assert_eq!(undone["reverts"], by_first);
    assert!(undone["owner"].as_str().unwrap().starts_with("t 1 by txedit"), "{undone}");
    assert_eq!((root.read("a"), root.read("b"), root.read("c")), ("one\n".into(), "two\n".into(), "two\n".into()));
    // A server beside it is of a client of the same name, and in another conversation.
    first.failed("undo_transaction", &json!({}), "UNKNOWN_TRANSACTION");
    assert_eq!((root.read("b"), root.read("c")), ("two\n".into(), "two\n".into()));
    // Neither is what such a client leaves when it ends.
    assert!(second.end().success());
    first.failed("undo_transaction", &json!({}), "UNKNOWN_TRANSACTION");
    let log = first.done("list_transactions", &json!({"path": root.name("c")}));
    let named = first.done("undo_transaction", &json!({"transaction_id": log["transactions"][0]["transaction_id"]}));
    assert_eq!(named["label"], "of a person");
}

/// No schema lists these fields.
#[test]
fn folders_and_symlinks_by_themselves_are_unknown_to_the_tools() {
    let root = Root::with(&[("a", "one\n")]);
    let mut session = root.open(&[]);
    for (field, value) in [("make_folder", json!(true)), ("remove_folder", json!(true)), ("symlink_to", json!("a"))] {
        let mut file = json!({"file_path": root.name("new")});
        file[field] = value;
        for tool in ["multi_edit_files", "stage_edits"] {
            let answer = session.failed(tool, &json!({"files": [file]}), "VALIDATION_FAILED");
            let message = answer["errors"][0]["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("unknown field `{field}`, expected one of ")), "{answer}");
            assert_eq!(message.matches(field).count(), 1, "{answer}");
        }
        assert!(!root.path("new").exists());
    }
}

#[test]
fn nothing_is_made_that_runs_as_the_user_of_the_server() {
    let root = Root::with(&[("a", "one\n")]);
    let mut session = root.open(&[]);
    let file = json!({"files": [{"file_path": root.name("a"), "mode": "4755"}]});
    for tool in ["multi_edit_files", "stage_edits"] {
        let answer = session.failed(tool, &file, "VALIDATION_FAILED");
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains("4755"), "{answer}");
    }
    let plan = json!({"files": [{"file_path": "a", "mode": "2755"}]}).to_string();
    assert_eq!(session.call("apply_patch", &json!({"patch": plan}))["success"], false);
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&root.path("a").metadata().unwrap().permissions()) & 0o6000, 0);
}

/// What others committed or left behind does not stop a connection from reverting its own, readable or not; what is its
/// own and cannot be read does, also behind what is not.
#[test]
fn an_undo_is_not_stopped_by_what_others_did() {
    let root = Root::with(&[]);
    let (mut session, mut others) = (root.open(&[]), root.open(&[]));
    let write = |by: &mut Session, name: &str| {
        let request = json!({"files": [{"file_path": root.name(name), "content": "x"}]});
        by.done("multi_edit_files", &request)["transaction_id"].as_str().unwrap().to_owned()
    };
    let state = root.path(".txedit");
    let empty = |id: &str| fs::write(state.join("history").join(id).join("journal.done"), "").unwrap();
    write(&mut session, "first");
    let second = write(&mut session, "second");
    empty(&write(&mut others, "theirs"));
    let interrupted = state.join("txn/29991231T235959.000000Z-0123456789abcdef");
    fs::create_dir(&interrupted).unwrap();
    fs::write(interrupted.join("journal"), "").unwrap();
    let undone = session.done("undo_transaction", &json!({}));
    assert_eq!((&undone["reverts"], root.path("second").exists()), (&json!(second), false), "{undone}");
    let third = write(&mut session, "third");
    empty(&third);
    empty(&write(&mut others, "theirs too"));
    let refused = session.failed("undo_transaction", &json!({}), "RECOVERY_REQUIRED");
    assert!(refused["error"].as_str().unwrap().contains(&third), "{refused}");
    assert!(root.path("first").exists());
}

#[test]
fn an_undo_since_reverts_the_callers_own_or_those_of_all() {
    let root = Root::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let edit =
        |name: &str, old: &str, new: &str| json!({"path": root.name(name), "old_string": old, "new_string": new});
    let (mut first, mut second) = (root.open(&[]), root.open(&[]));
    let since = first.done("edit_file", &edit("c", "1", "2"))["transaction_id"].clone();
    let own = [
        first.done("edit_file", &edit("a", "1", "2"))["transaction_id"].clone(),
        first.done("edit_file", &edit("a", "2", "3"))["transaction_id"].clone(),
    ];
    let other = second.done("edit_file", &edit("b", "1", "2"))["transaction_id"].clone();
    let dry = first.done("undo_transaction", &json!({"since": since, "dry_run": true}));
    assert_eq!((&dry["dry_run"], root.read("a").as_str()), (&json!(true), "3\n"), "{dry}");
    let undone = first.done("undo_transaction", &json!({"since": since}));
    let each: Vec<_> = undone["reverts_each"].as_array().unwrap().iter().map(|one| &one["transaction_id"]).collect();
    assert_eq!(each, [&own[1], &own[0]], "{undone}");
    assert!(undone["reverts_each"][0]["owner"].as_str().unwrap().starts_with("t 1 by txedit"), "{undone}");
    assert!(undone["warnings"][0].as_str().unwrap().contains(other.as_str().unwrap()), "{undone}");
    assert_eq!((root.read("a"), root.read("b")), ("1\n".into(), "2\n".into()));

    let none = second.failed("undo_transaction", &json!({"since": other}), "UNKNOWN_TRANSACTION");
    assert!(none["recovery_hint"].as_str().unwrap().contains("all_callers: true"), "{none}");
    let all = second.done("undo_transaction", &json!({"since": since, "all_callers": true}));
    assert_eq!(all["reverts_each"].as_array().unwrap().len(), 4, "{all}");
    assert_eq!((root.read("a"), root.read("b"), root.read("c")), ("1\n".into(), "1\n".into(), "2\n".into()));
    let listed = first.done("list_transactions", &json!({"limit": 1}));
    assert_eq!(listed["transactions"][0]["reverts_each"].as_array().unwrap().len(), 4, "{listed}");
    for bad in [json!({"since": since, "transaction_id": other}), json!({"all_callers": true})] {
        first.failed("undo_transaction", &bad, "VALIDATION_FAILED");
    }
}

/// The id of an open transaction stays that of its commit, at every door.
#[test]
fn the_id_of_a_stage_finds_its_transaction_for_ever() {
    let root = Root::with(&[("a", "one\n")]);
    let mut session = root.open(&[]);
    let request = json!({"files": [{"file_path": "a", "edits": [{"old_string": "one", "new_string": "two"}]}]});
    let open = session.done("stage_edits", &request)["transaction_id"].as_str().unwrap().to_owned();
    let commit = session.done("commit_transaction", &json!({"transaction_id": open}));
    let committed = commit["transaction_id"].as_str().unwrap().to_owned();
    assert_ne!(open, committed);
    let shell = |arguments: &[&str]| {
        let output = root.shell().args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(if output.status.success() { &output.stdout } else { &output.stderr });
        (output.status.success(), text.into_owned())
    };
    let by_json = |arguments: &[&str]| -> Value {
        let (_, text) = shell(&[&["--json"], arguments].concat());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    };
    assert_eq!(by_json(&["show", &open])["transaction_id"], committed);
    assert_eq!(by_json(&["log"])["transactions"][0]["opened"], open);
    let listed = session.done("list_transactions", &json!({}));
    assert_eq!((&listed["transactions"][0]["opened"], &listed["open"]), (&json!(open), &Value::Null));
    let uri = format!("txedit://transactions/{open}/diff");
    let read = session.request("resources/read", &json!({"uri": uri}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("-one\n+two\n"), "{read}");

    // What it cannot do any more says as what it was committed.
    let says_so = |text: &str| text.contains(&format!("it was committed as {committed}")) || text.contains(&committed);
    let (done, text) = shell(&["rollback", &open]);
    assert!(!done && says_so(&text), "{text}");
    let refused = session.call("rollback_transaction", &json!({"transaction_id": open}));
    assert!(says_so(refused["error"].as_str().unwrap()), "{refused}");
    let refused = session.call("preview_transaction", &json!({"transaction_id": open}));
    assert!(says_so(refused["error"].as_str().unwrap()), "{refused}");
    let again = session.done("commit_transaction", &json!({"transaction_id": open}));
    assert_eq!((&again["already_applied"], &again["transaction_id"]), (&json!(true), &json!(committed)));

    let undone = session.done("undo_transaction", &json!({"transaction_id": open}));
    assert_eq!((&undone["reverts"], root.read("a").as_str()), (&json!(committed), "one\n"));
    let redone = shell(&["redo", &open]);
    assert!(redone.0 && root.read("a") == "two\n", "{redone:?}");
    let (done, text) = shell(&["undo", &open]);
    assert!(done && root.read("a") == "one\n", "{text}");
    // As the point after which everything is undone, too.
    let after = session.done("undo_transaction", &json!({"since": open, "all_callers": true, "dry_run": true}));
    assert_eq!(after["reverts_each"].as_array().unwrap().len(), 3, "{after}");
}
