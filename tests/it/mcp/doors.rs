//! What a caller of a server cannot reach, whatever it asks for, and what an operator decides.

use serde_json::json;

use super::{Root, Session};

/// A server whose operator gave a check, by the option or by its variable.
fn checked(root: &Root, check: &str, is_variable: bool) -> Session {
    let mut command = root.command(&[]);
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
