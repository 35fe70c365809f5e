//! What is wrong is told, and the server lives on.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{Root, Session};

#[test]
fn junk_and_wrong_types_are_answered() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    for (line, code) in [
        ("junk", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":", -32700),
        ("[]", -32600),
        ("{}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
        ("\"text\"", -32600),
    ] {
        session.send_line(line.as_bytes());
        assert_eq!(session.receive().unwrap()["error"]["code"], code, "{line}");
    }
    for (method, params, code) in [
        ("no/such/method", json!({}), -32601),
        ("tools/call", json!({"name": "multi_edit", "arguments": ["a"]}), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        ("tools/call", json!({"name": "no_such_tool", "arguments": {}}), -32602),
        ("tools/call", json!([]), -32600),
        ("resources/read", json!({"uri": "txedit://no/such"}), -32002),
        ("prompts/get", json!({"name": "no_such_prompt"}), -32602),
        ("prompts/get", json!({"name": "batch_rename", "arguments": {"old_name": "a"}}), -32602),
    ] {
        let answer = session.request(method, &params);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    session.done("edit_file", &json!({"path": "a.txt", "old_string": "one", "new_string": "1"}));
}

#[test]
fn bad_arguments_are_results_with_every_finding() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    for (tool, arguments, places) in [
        ("multi_edit", json!({}), vec!["file_path", "edits"]),
        ("multi_edit", json!({"file_path": 5, "edits": {}, "dry": true}), vec!["dry", "edits", "file_path"]),
        (
            "multi_edit_files",
            json!({"files": [{"file_path": "/a", "delete": 1}, {"path": "/b"}]}),
            vec!["files/0/delete", "files/1/path"],
        ),
        (
            "edit_file",
            json!({"path": "a.txt", "old_string": "", "new_string": "", "all": true}),
            vec!["all", "old_string"],
        ),
        ("read_files", json!({"paths": "a.txt"}), vec!["paths"]),
        ("read_files", json!({}), vec!["paths"]),
        ("list_transactions", json!({"limit": -1}), vec!["limit"]),
        ("undo_transaction", json!({"transaction": "x"}), vec!["transaction"]),
        ("apply_patch", json!({}), vec!["patch"]),
        ("apply_patch", json!({"patch": "x", "format": "git"}), vec!["format"]),
        ("apply_patch", json!({"patch": 5}), vec!["patch"]),
        ("replace_in_files", json!({}), vec!["pattern", "replacement"]),
        ("replace_in_files", json!({"pattern": "a", "replacement": "b", "glob": "*"}), vec!["glob"]),
    ] {
        let failed = session.failed(tool, &arguments, "VALIDATION_FAILED");
        let found = failed["errors"].as_array().unwrap().iter().map(|finding| {
            let path: Vec<_> = finding["path"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
            path.join("/")
        });
        assert_eq!(found.collect::<Vec<_>>(), places, "{tool} {arguments}: {failed:#}");
    }
}

#[test]
fn a_hint_names_what_an_agent_can_call() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    let unknown = json!({"transaction_id": "20260101T000000.000000Z-0123456789abcdef"});
    let failed = session.failed("undo_transaction", &unknown, "UNKNOWN_TRANSACTION");
    let hint = failed["recovery_hint"].as_str().unwrap();
    assert!(hint.contains("call list_transactions") || hint.contains("Call list_transactions"), "{hint}");
    // What no tool does, a person must be asked for.
    assert!(hint.contains("ask the user to run `txedit status`"), "{hint}");
}

#[test]
fn a_line_over_the_limit_is_answered() {
    let root = Root::with(&[]);
    let mut session = root.open(&[]);
    let line = json!({"jsonrpc": "2.0", "id": 77, "method": "ping", "params": {"x": "y".repeat(65 << 20)}});
    session.send_line(line.to_string().as_bytes());
    let answer = session.receive().unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(77), &json!(-32600)), "{answer}");
    session.request("ping", &json!({}));
}

#[test]
fn a_request_of_32_megabytes_is_done() {
    let root = Root::with(&[]);
    let mut session = root.open(&["--max-answer-bytes", "1000"]);
    let content = "0123456789abcde\n".repeat(2 << 20);
    let done = session.done(
        "multi_edit_files",
        &json!({"files": [{"file_path": root.name("big"), "content": content}],
        "include_content": true}),
    );
    assert_eq!(fs::metadata(root.path("big")).unwrap().len(), 32 << 20);
    assert!(done.to_string().len() < 2_000);
    assert!(done["truncated"].as_str().unwrap().contains("txedit://transactions/"), "{done}");
}

#[test]
fn what_is_outside_the_root_stays_unknown() {
    let outside = Root::with(&[("secret-name", "secret-content\n")]);
    let root = Root::with(&[("a.txt", "one\n")]);
    symlink(outside.path("secret-name"), root.path("link")).unwrap();
    symlink(outside.path(""), root.path("folder")).unwrap();
    let mut session = root.open(&[]);
    let edit = |path: String| json!({"file_path": path, "edits": [{"old_string": "s", "new_string": "x"}]});
    for path in ["link", "folder/secret-name", "folder/no-such-file"] {
        let failed = session.failed("multi_edit", &edit(root.name(path)), "VALIDATION_FAILED");
        assert_eq!(failed["errors"][0]["code"], "OUTSIDE_ROOT", "{failed:#}");
        check_silent(&failed, &outside);
        let read = session.done("read_files", &json!({"paths": [root.name(path)]}));
        assert_eq!(read["skipped"][0]["error_code"], "OUTSIDE_ROOT");
        check_silent(&read, &outside);
    }
    // One that is there and one that is not get the same answer.
    let answer = |path: String| {
        let mut session = root.open(&[]);
        let failed = session.failed("multi_edit", &edit(path.clone()), "VALIDATION_FAILED");
        failed.to_string().replace(&path, "PATH")
    };
    assert_eq!(answer(outside.name("secret-name")), answer(outside.name("no-such-file")));
    assert_eq!(outside.read("secret-name"), "secret-content\n");
}

fn check_silent(answer: &Value, outside: &Root) {
    let text = answer.to_string();
    assert!(!text.contains(&outside.name("")) && !text.contains("secret-content"), "{text}");
}

#[test]
fn a_read_only_server_hides_and_refuses() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&["--read-only"]);
    let listed = session.request("tools/list", &json!({}));
    let names: Vec<_> = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["read_files", "preview_transaction", "list_transactions"]);
    let stage = json!({"files": [{"file_path": root.name("a.txt"), "delete": true}]});
    session.failed("stage_edits", &stage, "READ_ONLY_MODE");
    let edit = json!({"file_path": root.name("a.txt"), "edits": [{"old_string": "one", "new_string": "1"}]});
    session.failed("multi_edit", &edit, "READ_ONLY_MODE");
    session.failed("edit_file", &json!({"path": "a.txt", "old_string": "one", "new_string": "1"}), "READ_ONLY_MODE");
    session.failed("undo_transaction", &json!({}), "READ_ONLY_MODE");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n";
    session.failed("apply_patch", &json!({"patch": patch}), "READ_ONLY_MODE");
    session.done("apply_patch", &json!({"patch": patch, "dry_run": true}));
    session.failed("replace_in_files", &json!({"pattern": "one", "replacement": "1"}), "READ_ONLY_MODE");
    session.done("replace_in_files", &json!({"pattern": "one", "replacement": "1", "dry_run": true}));
    let mut preview = edit;
    preview["dry_run"] = true.into();
    assert!(session.done("multi_edit", &preview)["diff"].as_str().unwrap().contains("+1"));
    assert!(session.end().success());
    assert_eq!(root.read("a.txt"), "one\n");
    assert!(!root.path(".txedit").exists());
}

#[test]
fn toolsets_leave_tools_out() {
    let root = Root::with(&[]);
    let mut session = root.open(&["--toolsets", "-history"]);
    let listed = session.request("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 10);
    let answer = session.request("tools/call", &json!({"name": "undo_transaction", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn edit_file_is_as_other_servers_have_it() {
    let root = Root::with(&[("a.txt", "one one\n"), ("empty", "")]);
    let mut session = root.open(&[]);
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old_string": old, "new_string": new});
    let same = session.done("edit_file", &edit("a.txt", "one one", "one one"));
    assert_eq!(same["occurrences_replaced"], 0);
    assert_eq!(same["message"], "No changes made (old_string and new_string identical)");
    let same = json!({"file_path": root.name("a.txt"), "edits": [{"old_string": "one one", "new_string": "one one"}]});
    let same = session.done("multi_edit", &same);
    assert_eq!(same["edits"][0]["occurrences_replaced"], 0, "{same}");
    let empty = session.failed("edit_file", &edit("empty", "a", "b"), "EMPTY_FILE");
    assert!(empty["error"].as_str().unwrap().contains("Cannot edit empty file"), "{empty}");
    session.failed("edit_file", &edit("a.txt", "one", "1"), "AMBIGUOUS_MATCH");
    let mut all = edit(&root.name("a.txt"), "one", "1");
    all["replace_all"] = true.into();
    assert_eq!(session.done("edit_file", &all)["occurrences_replaced"], 2);
    assert_eq!(root.read("a.txt"), "1 1\n");
}

#[test]
fn a_long_file_is_read_in_the_pieces_that_the_answers_name() {
    let long: String = "a \"long\" line\r\n".repeat(30_000);
    let root = Root::with(&[("long.txt", &long), ("wide.txt", &"x".repeat(200_000)), ("empty.txt", "")]);
    let mut session = root.open(&[]);
    let mut arguments = json!({"paths": [root.name("long.txt")]});
    let (mut content, mut hash) = (String::new(), Value::Null);
    for _ in 0..50 {
        let read = session.done("read_files", &arguments);
        let reason = match &read["skipped"][0] {
            Value::Null => {
                let file = &read["files"][0];
                content += file["content"].as_str().unwrap();
                hash = file["hash"].clone();
                assert_eq!((&file["lines"], &file["bytes"]), (&json!(30_000), &json!(long.len())));
                let next = file["end_line"].as_u64().unwrap() + 1;
                if next > 30_000 {
                    break;
                }
                arguments["start_line"] = next.into();
                arguments.as_object_mut().unwrap().remove("end_line");
                continue;
            }
            skipped => skipped["reason"].as_str().unwrap(),
        };
        // The next call is in the reason.
        let number = |name: &str| -> u64 {
            let rest = reason.split_once(name).unwrap().1;
            rest.trim_start().split([',', ' ']).next().unwrap().parse().unwrap()
        };
        arguments["start_line"] = number("start_line").into();
        arguments["end_line"] = number("end_line").into();
    }
    assert!(content == long, "{} of {} bytes", content.len(), long.len());
    let all = session.done("read_files", &json!({"paths": [root.name("long.txt")], "hash_only": true}));
    assert_eq!((&all["files"][0]["hash"], &all["files"][0]["content"]), (&hash, &Value::Null));
    assert_eq!(hash, blake3::hash(long.as_bytes()).to_hex().as_str());

    let read = |session: &mut Session, name: &str, first: u64| {
        session.done("read_files", &json!({"paths": [root.name(name)], "start_line": first}))
    };
    let wide = read(&mut session, "wide.txt", 1);
    assert!(wide["skipped"][0]["reason"].as_str().unwrap().contains("line 1 alone neither"), "{wide:#}");
    let behind = read(&mut session, "long.txt", 30_001);
    assert_eq!(behind["skipped"][0]["error_code"], "VALIDATION_FAILED");
    assert_eq!(behind["skipped"][0]["reason"], "it has 30000 lines: there is no line 30001");
    assert_eq!(read(&mut session, "empty.txt", 1)["files"][0]["content"], "");
    let refused = json!({"paths": [root.name("long.txt")], "start_line": 0});
    session.failed("read_files", &refused, "VALIDATION_FAILED");
    let refused = json!({"paths": [root.name("long.txt")], "start_line": 3, "end_line": 2});
    session.failed("read_files", &refused, "VALIDATION_FAILED");
}

#[test]
fn files_that_cannot_be_read_are_no_error_for_the_rest() {
    let root = Root::with(&[("a.txt", "one\ntwo"), ("long.txt", &"x\n".repeat(30_000))]);
    fs::write(root.path("binary"), b"a\0b").unwrap();
    fs::write(root.path("latin"), b"caf\xe9").unwrap();
    fs::create_dir(root.path("folder")).unwrap();
    let mut session = root.open(&[]);
    let names = ["a.txt", "binary", "latin", "missing", "long.txt", "folder"];
    let read = session.done("read_files", &json!({"paths": names.map(|name| root.name(name))}));
    assert_eq!((&read["files"][0]["lines"], &read["files"][0]["bytes"]), (&json!(2), &json!(7)));
    let codes: Vec<_> = read["skipped"].as_array().unwrap().iter().map(|file| &file["error_code"]).collect();
    let expected = ["INVALID_ENCODING", "INVALID_ENCODING", "FILE_NOT_FOUND", "FILE_TOO_LARGE", "NOT_A_REGULAR_FILE"];
    assert_eq!(codes, expected, "{read:#}");
    let reason = |read: &Value, at: usize| read["skipped"][at]["reason"].as_str().unwrap().to_owned();
    let half = "x".repeat(25_000);
    fs::write(root.path("half"), &half).unwrap();
    let read = session.done("read_files", &json!({"paths": vec![root.name("half"); 2]}));
    assert!(reason(&read, 0).ends_with("read it in a call of its own"), "{read:#}");
    let read = session.done("read_files", &json!({"paths": [root.name("half")]}));
    assert_eq!(read["files"][0]["content"], half);
}
