//! What a server says without being asked: progress, and changes that somebody watches.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Root, Session, state_entries};

fn many(root: &Root, files: usize) -> Value {
    let entries = (0..files).map(|n| json!({"file_path": root.name(&format!("f{n}")), "content": "x\n"}));
    json!({"files": entries.collect::<Vec<_>>()})
}

#[test]
fn progress_only_grows_and_comes_only_when_asked_for() {
    let root = Root::with(&[]);
    let mut session = root.open(&[]);
    let call = |token: Value| json!({"name": "multi_edit_files", "arguments": many(&root, 400), "_meta": token});
    let answer = session.request("tools/call", &call(json!({"progressToken": "p"})));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let steps: Vec<_> = session.notices.drain(..).filter(|n| n["method"] == "notifications/progress").collect();
    assert!(!steps.is_empty());
    let mut last = -1.0;
    for step in &steps {
        let params = &step["params"];
        let (progress, total) = (params["progress"].as_f64().unwrap(), params["total"].as_f64().unwrap());
        assert!(progress > last && progress <= total && params["progressToken"] == "p", "{steps:?}");
        last = progress;
    }
    session.done("undo_transaction", &json!({}));
    assert!(session.notices.is_empty(), "{:?}", session.notices);
}

#[test]
fn a_cancelled_call_changes_nothing_or_finishes() {
    let root = Root::with(&[]);
    let mut session = root.open(&[]);
    let id = session.ask("tools/call", &json!({"name": "multi_edit_files", "arguments": many(&root, 2_000)}));
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    // There is no answer to a call that was cancelled; the next one is answered all the same.
    session.request("ping", &json!({}));
    assert!(session.end().success());
    let files = fs::read_dir(root.path("")).unwrap().filter(|e| e.as_ref().unwrap().path().is_file()).count();
    assert!(files == 0 || files == 2_000, "{files} files");
    assert_eq!(state_entries(&root.path(""), "txn"), 0);
}

#[test]
fn a_subscriber_hears_of_its_file_and_of_nothing_else() {
    let root = Root::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let mut session = root.open(&[]);
    let uri = format!("file://{}", root.name("a.txt"));
    assert_eq!(session.request("resources/subscribe", &json!({"uri": uri}))["result"], json!({}));
    let edit = |file: &str| json!({"file_path": root.name(file), "edits": [{"old_string": "one", "new_string": "1"}]});
    session.done("multi_edit", &edit("b.txt"));
    let mut dry = edit("a.txt");
    dry["dry_run"] = true.into();
    session.done("multi_edit", &dry);
    std::thread::sleep(Duration::from_millis(200));
    session.request("ping", &json!({}));
    assert!(session.notices.is_empty(), "{:?}", session.notices);
    session.done("multi_edit", &edit("a.txt"));
    let notice = session.notices.pop().unwrap_or_else(|| session.receive().unwrap());
    assert_eq!(notice["method"], "notifications/resources/updated");
    assert_eq!(notice["params"]["uri"], uri);
    session.request("resources/unsubscribe", &json!({"uri": uri}));
    session.done("undo_transaction", &json!({}));
    std::thread::sleep(Duration::from_millis(200));
    session.request("ping", &json!({}));
    assert!(session.notices.is_empty(), "{:?}", session.notices);
}

/// The addresses of the notices that come until one of `last` does.
fn told(session: &mut Session, last: &str) -> Vec<String> {
    let mut uris = Vec::new();
    loop {
        let notice = if session.notices.is_empty() { session.receive().unwrap() } else { session.notices.remove(0) };
        assert_eq!(notice["method"], "notifications/resources/updated", "{notice}");
        uris.push(notice["params"]["uri"].as_str().unwrap().to_owned());
        if uris.last().is_some_and(|uri| uri == last) {
            return uris;
        }
    }
}

#[test]
fn a_subscriber_hears_of_every_commit_whoever_makes_it() {
    let root = Root::with(&[("a \u{e4}.txt", "one\n"), ("b.txt", "one\n")]);
    let mut session = root.open(&[]);
    let uri = format!("file://{}/a%20%C3%A4.txt", root.name("").trim_end_matches('/'));
    for uri in [&uri, "txedit://transactions"] {
        assert_eq!(session.request("resources/subscribe", &json!({"uri": uri}))["result"], json!({}));
    }
    let edit = |old: &str, new: &str| json!({"files": [{"file_path": "a \u{e4}.txt", "edits": [{"old_string": old, "new_string": new}]}]});
    let both = |session: &mut Session| {
        let mut uris = told(session, "txedit://transactions");
        if uris.len() == 1 {
            uris.extend(told(session, &uri));
        }
        uris.sort();
        assert_eq!(uris, [uri.as_str(), "txedit://transactions"]);
    };
    // A path from the root.
    session.done("multi_edit_files", &edit("one", "two"));
    both(&mut session);
    session.done("undo_transaction", &json!({}));
    both(&mut session);
    let staged = session.done("stage_edits", &edit("one", "two"));
    session.done("commit_transaction", &json!({"transaction_id": staged["transaction_id"]}));
    both(&mut session);
    // Another process; nothing is sent to the server meanwhile.
    let shell = |old: &str, new: &str, file: &str| {
        let output = root.shell().args(["edit", file, "--old", old, "--new", new]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    shell("one", "two", "b.txt");
    assert_eq!(told(&mut session, "txedit://transactions").len(), 1);
    shell("two", "three", "a \u{e4}.txt");
    both(&mut session);
    // Each is told once.
    std::thread::sleep(Duration::from_millis(600));
    session.request("ping", &json!({}));
    assert!(session.notices.is_empty(), "{:?}", session.notices);
}

#[test]
fn resources_tell_of_transactions() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    let id = session.done("edit_file", &json!({"path": "a.txt", "old_string": "one", "new_string": "1"}));
    let id = id["transaction_id"].as_str().unwrap();
    let mut read = |uri: &str| {
        let answer = session.request("resources/read", &json!({ "uri": uri }));
        answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert!(read("txedit://transactions").contains(id));
    assert!(read(&format!("txedit://transactions/{id}/diff")).contains("-one\n+1\n"));
    assert!(read("txedit://journal-format").to_lowercase().contains("blake3"));
}
