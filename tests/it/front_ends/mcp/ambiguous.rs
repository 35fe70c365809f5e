//! Messages that two readers could read differently are refused, and the file stays as it was.

use serde_json::{Value, json};

use super::Root;

fn call(id: u64, tool: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

/// The message of the error that answers a call, in whichever form it comes.
fn refusal(answer: &Value) -> String {
    let content = &answer["result"]["structuredContent"];
    assert!(answer["error"].is_object() || content["success"] == false, "{answer}");
    format!("{}{}", answer["error"]["message"], content["errors"])
}

#[test]
fn an_object_that_is_named_like_a_text_is_none() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    for key in ["$serde_json::private::RawValue", "\\u0024serde_json::private::RawValue"] {
        let arguments = format!(r#"{{"path":{{"{key}":"\"a.txt\""}},"old_string":"one","new_string":"two"}}"#);
        session.send_line(call(1, "edit_file", &arguments).as_bytes());
        let message = refusal(&session.answer(1));
        assert!(message.contains("path"), "{message}");
        // All arguments at once.
        let whole = r#"{\"path\":\"a.txt\",\"old_string\":\"one\",\"new_string\":\"two\"}"#;
        session.send_line(call(2, "edit_file", &format!(r#"{{"{key}":"{whole}"}}"#)).as_bytes());
        refusal(&session.answer(2));
    }
    assert_eq!(root.read("a.txt"), "one\n");
}

#[test]
fn a_list_is_no_object() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    let path = root.name("a.txt");
    let edits = r#"[["one","two",null,null,null]]"#;
    let by_position = format!(r#"{{"file_path":"{path}","edits":{edits}}}"#);
    session.send_line(call(1, "multi_edit", &by_position).as_bytes());
    let message = refusal(&session.answer(1));
    assert!(message.contains("not an array") && message.contains("edit"), "{message}");
    let files = format!(r#"{{"files":[["{path}",null,null,"two","replace",null,null,null]]}}"#);
    session.send_line(call(2, "multi_edit_files", &files).as_bytes());
    let message = refusal(&session.answer(2));
    assert!(message.contains("not an array") && message.contains("file"), "{message}");
    // The command line reads the same.
    for plan in [format!(r#"{{"files":[{{"file_path":"a.txt","edits":{edits}}}]}}"#), files.replace(&path, "a.txt")] {
        std::fs::write(root.path("plan.json"), plan).unwrap();
        let applied = root.shell().args(["apply", "plan.json"]).output().unwrap();
        let message = String::from_utf8(applied.stderr).unwrap();
        assert!(!applied.status.success() && message.contains("not an array"), "{message}");
    }
    assert_eq!(root.read("a.txt"), "one\n");
}

#[test]
fn a_field_that_is_given_twice_is_refused() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    let path = root.name("a.txt");
    let twice = r#"{"path":"a.txt","old_string":"one","new_string":"two","new_string":"three"}"#;
    session.send_line(call(1, "edit_file", twice).as_bytes());
    let message = refusal(&session.answer(1));
    assert!(message.contains("params.arguments.new_string") && message.contains("twice"), "{message}");
    let edit = r#"{"old_string":"one","new_string":"two","old\u005fstring":"one"}"#;
    let nested = format!(r#"{{"file_path":"{path}","edits":[{{"old_string":"x","new_string":"y"}},{edit}]}}"#);
    session.send_line(call(2, "multi_edit", &nested).as_bytes());
    let message = refusal(&session.answer(2));
    assert!(message.contains("params.arguments.edits.1.old_string"), "{message}");
    session.send_line(br#"{"jsonrpc":"2.0","id":3,"method":"ping","id":4}"#);
    assert!(session.receive().unwrap()["error"]["message"].as_str().unwrap().contains("twice"));
    assert_eq!(root.read("a.txt"), "one\n");
}

#[test]
fn an_id_that_the_protocol_does_not_know_is_answered_by_itself() {
    let root = Root::with(&[]);
    let mut session = root.open(&[]);
    for id in ["9223372036854775808", "18446744073709551616", "1.5", "-1e300"] {
        session.send_line(format!(r#"{{"jsonrpc":"2.0","method":"ping","id":{id}}}"#).as_bytes());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut session.output, &mut line).unwrap();
        assert!(line.contains(&format!(r#""id":{id},"#)) || line.contains(&format!(r#""id":{id}}}"#)), "{id}: {line}");
        assert!(line.contains("-32600") && line.contains("whole number"), "{line}");
    }
    for id in [json!(i64::MAX), json!(i64::MIN), json!(0), json!("text")] {
        session.send(&json!({"jsonrpc": "2.0", "method": "ping", "id": id}));
        assert_eq!(session.receive().unwrap(), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
}

#[test]
fn a_second_request_with_the_id_of_one_in_flight_is_refused() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let check = "echo run >> runs; while test ! -e released; do sleep 0.01; done";
    // In a view it would see neither what is written meanwhile nor leave what it writes.
    let mut command = root.command(&["--check-in", "tree", "--check", check]);
    let mut session = super::Session::start(&mut command);
    session.initialize("2025-11-25");
    let edit = r#"{"path":"a.txt","old_string":"one","new_string":"two"}"#;
    session.send_line(call(7, "edit_file", edit).as_bytes());
    session.send_line(call(7, "edit_file", edit).as_bytes());
    let refused = session.answer(7);
    assert!(refused["error"]["message"].as_str().unwrap().contains("id of its own"), "{refused}");
    std::fs::write(root.path("released"), "").unwrap();
    assert_eq!(session.answer(7)["result"]["structuredContent"]["success"], true);
    assert_eq!(root.read("runs"), "run\n");
    // Once it is answered, the id is free.
    session.send(&json!({"jsonrpc": "2.0", "method": "ping", "id": 7}));
    assert_eq!(session.answer(7)["result"], json!({}));
}

#[test]
fn arguments_are_taken_from_a_json_text_that_can_be_read_in_one_way() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    let path = root.name("a.txt");
    let edit = json!({"old_string": "one", "new_string": "two", "replace_all": "true"});
    let file = json!({"file_path": path, "edits": json!([edit]).to_string()});
    let packed = json!({"files": json!([file]).to_string(), "dry_run": "false"}).to_string();
    session.send_line(call(1, "multi_edit_files", &packed).as_bytes());
    assert_eq!(session.answer(1)["result"]["structuredContent"]["success"], true);
    assert_eq!(root.read("a.txt"), "two\n");
    let twice = r#"[{"old_string":"two","new_string":"three","new_string":"four"}]"#;
    let packed = json!({"file_path": path, "edits": twice}).to_string();
    session.send_line(call(2, "multi_edit", &packed).as_bytes());
    let message = refusal(&session.answer(2));
    assert!(message.contains("new_string") && message.contains("twice"), "{message}");
    assert_eq!(root.read("a.txt"), "two\n");
}
