//! Commits that a person decides on: in another program, or behind the client.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use txedit::review::{SelectedFile, Selection, TakenRuns};
use txedit::{Engine, Run};

use super::{Root, Session};
use crate::support::selected::{commit_without_closing, runs};

const TEXT: &str = "one\nx\nx\ntwo\n";

fn root() -> Root {
    Root::with(&[("a", TEXT), ("b", "b\n")])
}

/// Stages two edits of one file, and the deletion of another.
fn staged(root: &Root, agent: &mut Session) -> String {
    let edit = |word: &str| json!({"old_string": word, "new_string": word.to_uppercase()});
    let files = json!({"files": [
        {"file_path": root.name("a"), "edits": [edit("one"), edit("two")]},
        {"file_path": root.name("b"), "delete": true},
    ]});
    agent.done("stage_edits", &files)["transaction_id"].as_str().unwrap().to_owned()
}

fn asks(id: &str, seconds: u64) -> Value {
    json!({"transaction_id": id, "needs_approval": true, "wait_seconds": seconds})
}

fn txedit(root: &Root, line: &[&str]) {
    let done = root.shell().args(line).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn nothing_is_written_before_somebody_has_decided() {
    let root = root();
    let mut agent = root.open(&[]);
    let id = staged(&root, &mut agent);
    let pending = agent.failed("commit_transaction", &asks(&id, 0), "APPROVAL_PENDING");
    assert_eq!((&pending["retryable"], &pending["outcome"]), (&json!(true), &json!("unchanged")), "{pending}");
    let told = pending["recovery_hint"].as_str().unwrap();
    let here = root.name("");
    let here = here.trim_end_matches('/');
    assert!(told.contains(&format!("`txedit review {id}` in the workspace {here}")), "{told}");
    assert_eq!((root.read("a"), root.read("b")), (TEXT.to_owned(), "b\n".to_owned()));
    txedit(&root, &["commit", &id]);
    let done = agent.done("commit_transaction", &asks(&id, 0));
    assert_eq!(done["approval"], json!({"as_staged": true}), "{done}");
    assert_eq!(root.read("a"), TEXT.replace("one", "ONE").replace("two", "TWO"));
}

#[test]
fn the_answer_tells_what_a_person_left_out_and_changed() {
    let root = root();
    let mut agent = root.open(&[]);
    let id = staged(&root, &mut agent);
    let engine = Engine::open(root.path("")).unwrap();
    let person = thread::spawn({
        let id = id.clone();
        move || {
            // The call is waiting by then, or comes later: it is answered alike.
            thread::sleep(Duration::from_millis(500));
            let plan_hash = engine.preview(&id, Run::default()).unwrap().plan_hash;
            let some = SelectedFile::Runs(vec![TakenRuns { runs: 0..1, instead: Some(b"uno\n".to_vec()) }]);
            let selection = Selection { plan_hash, files: vec![some, SelectedFile::Nothing], keeps_rest: true };
            engine.commit_selected(&id, &selection, None, Run::default()).unwrap()
        }
    });
    let done = agent.done("commit_transaction", &asks(&id, 60));
    let decided = person.join().unwrap();
    let expected = json!({
        "as_staged": false, "changed": [root.name("a")], "left_out": [root.name("b")], "rest": decided.rest.unwrap(),
    });
    assert_eq!(done["approval"], expected, "{done}");
    assert_eq!(done["transaction_id"], json!(decided.report.transaction.unwrap()));
    assert_eq!((root.read("a"), root.read("b")), (TEXT.replace("one", "uno"), "b\n".to_owned()));
    let rest = expected["rest"].as_str().unwrap();
    agent.done("commit_transaction", &json!({"transaction_id": rest}));
    assert!(root.read("a").contains("TWO") && !root.path("b").exists());
}

#[test]
fn what_a_person_discarded_is_told_so() {
    let root = root();
    let mut agent = root.open(&[]);
    let id = staged(&root, &mut agent);
    agent.failed("commit_transaction", &asks(&id, 0), "APPROVAL_PENDING");
    txedit(&root, &["rollback", &id]);
    let told = agent.failed("commit_transaction", &asks(&id, 60), "UNKNOWN_TRANSACTION");
    assert!(told["error"].as_str().unwrap().contains("discarded"), "{told}");
    assert_eq!((root.read("a"), root.read("b")), (TEXT.to_owned(), "b\n".to_owned()));
}

#[test]
fn another_plan_than_the_one_that_is_named_is_not_asked_about() {
    let root = root();
    let mut agent = root.open(&[]);
    let id = staged(&root, &mut agent);
    let other = json!({"transaction_id": id, "needs_approval": true, "plan_hash": "0".repeat(64)});
    agent.failed("commit_transaction", &other, "HASH_MISMATCH");
    let checked = json!({"transaction_id": id, "needs_approval": true, "check": ["true"]});
    agent.failed("commit_transaction", &checked, "VALIDATION_FAILED");
}

#[test]
fn a_server_that_asks_for_approval_has_no_other_door() {
    let root = root();
    let mut agent = root.open(&["--approve"]);
    let listed = agent.request("tools/list", &json!({}))["result"]["tools"].clone();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "read_files",
            "stage_edits",
            "preview_transaction",
            "commit_transaction",
            "rollback_transaction",
            "list_transactions"
        ]
    );
    let whole = json!({"files": [{"file_path": root.name("a"), "delete": true}]});
    agent.failed("multi_edit_files", &whole, "READ_ONLY_MODE");
    let one = json!({"file_path": root.name("a"), "edits": [{"old_string": "one", "new_string": "1"}]});
    agent.failed("multi_edit", &one, "READ_ONLY_MODE");
    let replace = json!({"pattern": "one", "replacement": "1"});
    agent.failed("replace_in_files", &replace, "READ_ONLY_MODE");
    let patch = json!({"patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+1\n"});
    agent.failed("apply_patch", &patch, "READ_ONLY_MODE");
    txedit(&root, &["edit", "b", "--old", "b", "--new", "c"]);
    agent.failed("undo_transaction", &json!({}), "READ_ONLY_MODE");
    assert_eq!(root.read("b"), "c\n");
    let id = staged(&root, &mut agent);
    let plain = json!({"transaction_id": id, "wait_seconds": 0});
    agent.failed("commit_transaction", &plain, "APPROVAL_PENDING");
    let denied = json!({"transaction_id": id, "needs_approval": false, "wait_seconds": 0});
    agent.failed("commit_transaction", &denied, "APPROVAL_PENDING");
    assert_eq!(root.read("a"), TEXT);
}

#[test]
fn what_was_decided_by_a_process_that_died_before_it_was_closed_is_heard() {
    let root = root();
    let mut agent = root.open(&[]);
    let id = staged(&root, &mut agent);
    agent.failed("commit_transaction", &asks(&id, 0), "APPROVAL_PENDING");
    commit_without_closing(&root.path(""), &id, vec![runs(&[0]), SelectedFile::Nothing]);
    let done = agent.done("commit_transaction", &asks(&id, 0));
    assert_eq!(done["approval"]["left_out"], json!([root.name("b")]), "{done}");
    agent.done("commit_transaction", &json!({"transaction_id": done["approval"]["rest"]}));
    assert!(root.read("a").contains("TWO") && !root.path("b").exists());
}

/// A server whose client says that it can ask its person.
fn with_a_person(root: &Root) -> Session {
    let mut session = root.start(&["--approve"]);
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "t", "version": "1"}});
    session.request("initialize", &client);
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    session
}

#[test]
fn what_is_decided_elsewhere_counts_whatever_the_client_says_of_its_person() {
    let later = json!({"result": {"action": "accept", "content": {"decision": "later"}}});
    let cannot = json!({"error": {"code": -32601, "message": "Method not found"}});
    for answer in [&later, &cannot] {
        let root = root();
        let mut session = with_a_person(&root);
        let id = staged(&root, &mut session);
        let call = session.ask("tools/call", &json!({"name": "commit_transaction", "arguments": asks(&id, 60)}));
        let question = session.receive().expect("a question");
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let decides = || txedit(&root, &["commit", &id]);
        if answer == &later {
            decides();
        }
        let mut message = json!({"jsonrpc": "2.0", "id": question["id"]});
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        session.send(&message);
        if answer == &cannot {
            // The call waits as for any other client.
            thread::sleep(Duration::from_millis(500));
            decides();
        }
        let heard = session.answer(call)["result"]["structuredContent"].clone();
        assert_eq!((&heard["success"], &heard["approval"]["as_staged"]), (&json!(true), &json!(true)), "{heard}");
    }
}

/// Sends a commit that needs approval as a client that can ask its person, who answers so. Returns the answer, and what the
/// person was asked.
fn decided(root: &Root, session: &mut Session, said: &Value) -> (Value, Value) {
    let id = staged(root, session);
    let call = session.ask("tools/call", &json!({"name": "commit_transaction", "arguments": asks(&id, 60)}));
    let mut question = Value::Null;
    loop {
        let message = session.receive().expect("an answer");
        if message["method"] == "elicitation/create" {
            question = message["params"].clone();
            session.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": said}));
        } else if message["id"] == call {
            return (message["result"]["structuredContent"].clone(), question);
        }
    }
}

#[test]
fn the_person_behind_the_client_is_asked() {
    let root = root();
    let mut session = with_a_person(&root);
    let says = |word: &str| json!({"action": "accept", "content": {"decision": word}});
    let no_yes = [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({}),
        says("later"),
        says("Commit"),
        json!({"action": "accept"}),
        json!({"action": "decline", "content": {"decision": "commit"}}),
    ];
    for said in no_yes {
        let (answer, question) = decided(&root, &mut session, &said);
        assert_eq!(answer["error_code"], "APPROVAL_PENDING", "{said}: {answer}");
        assert!(question["message"].as_str().unwrap().contains("\ndelete b"), "{question}");
    }
    let (answer, _) = decided(&root, &mut session, &says("discard"));
    assert_eq!(answer["error_code"], "UNKNOWN_TRANSACTION", "{answer}");
    assert_eq!((root.read("a"), root.read("b")), (TEXT.to_owned(), "b\n".to_owned()));
    let (answer, _) = decided(&root, &mut session, &says("commit"));
    assert_eq!((&answer["success"], &answer["approval"]["as_staged"]), (&json!(true), &json!(true)), "{answer}");
    assert!(root.read("a").contains("TWO") && !root.path("b").exists());
}
