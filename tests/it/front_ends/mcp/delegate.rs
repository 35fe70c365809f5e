//! The toolset `delegate`, with a stand-in program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{Root, Session, state_entries};

const ANSWER: &str = "Renamed.\n*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n";

/// A server with delegates, and a program that says this whatever it is asked.
fn open(root: &Root, answer: &str, arguments: &[&str]) -> Session {
    let program = root.path("delegate.sh");
    fs::write(root.path("answer"), answer).unwrap();
    fs::write(
        &program,
        format!(
            "#!/bin/sh\nfor last; do :; done; printf %s \"$last\" >'{0}'; cat '{1}'\n",
            root.name("prompt"),
            root.name("answer")
        ),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = root.command(&[&["--toolsets", "+delegate"], arguments].concat());
    command.env("TXEDIT_DELEGATE_PROGRAM", program).env("XDG_CONFIG_HOME", root.path("none"));
    let mut session = Session::start(&mut command);
    session.initialize("2025-11-25");
    session
}

fn names(session: &mut Session) -> Vec<String> {
    let answer = session.request("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_tools_are_there_only_if_asked_for() {
    let root = Root::with(&[("a.txt", "old\n")]);
    let mut session = root.open(&[]);
    assert!(names(&mut session).iter().all(|name| !name.starts_with("kimi_")));
    let refused = session.request("tools/call", &json!({"name": "kimi_analyze", "arguments": {"prompt": "x"}}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("there is no tool `kimi_analyze`"), "{refused}");
    let mut session = open(&root, "fine", &[]);
    let expected = ["kimi_analyze", "kimi_implement", "kimi_refactor", "kimi_verify"];
    assert_eq!(names(&mut session)[12..], expected);
    let mut session = open(&root, "fine", &["--read-only"]);
    assert!(names(&mut session).contains(&"kimi_verify".to_owned()));
    assert!(!names(&mut session).contains(&"kimi_implement".to_owned()));
    session.failed("kimi_implement", &json!({"prompt": "x"}), "READ_ONLY_MODE");
    session.done("kimi_analyze", &json!({"prompt": "x"}));
}

#[test]
fn what_is_wrong_with_a_call_is_found() {
    let root = Root::with(&[("a.txt", "old\n")]);
    let mut session = open(&root, ANSWER, &[]);
    let mut finding = |tool: &str, arguments: Value| {
        let failure = session.failed(tool, &arguments, "VALIDATION_FAILED");
        failure["errors"][0]["path"][0].as_str().unwrap().to_owned()
    };
    for tool in ["kimi_analyze", "kimi_implement", "kimi_refactor", "kimi_verify"] {
        assert_eq!(finding(tool, json!({})), "prompt");
        assert_eq!(finding(tool, json!({"prompt": 5})), "prompt");
        assert_eq!(finding(tool, json!({"prompt": "x", "file": []})), "file");
    }
    assert_eq!(finding("kimi_analyze", json!({"prompt": "x", "role": "poet"})), "role");
    assert_eq!(finding("kimi_implement", json!({"prompt": "x", "check": ["true"]})), "check");
    session.failed("kimi_refactor", &json!({"prompt": "x", "apply": true, "check": ["true"]}), "CHECKS_NOT_ALLOWED");
    session.failed("kimi_verify", &json!({"prompt": "x", "transaction_id": "none"}), "UNKNOWN_TRANSACTION");
    assert!(!root.path("prompt").exists(), "the program was run");
    let answer = session.done("kimi_analyze", &json!({"prompt": "x", "files": ["a.txt", root.name("b")]}));
    assert_eq!(answer["skipped"][0]["error_code"], "FILE_NOT_FOUND");
    assert_eq!(answer["skipped"][0]["file_path"], root.name("b"), "a path from the root is read: {answer}");
}

#[test]
fn a_proposal_is_staged_previewed_judged_and_committed() {
    let root = Root::with(&[("a.txt", "old\n")]);
    let mut session = open(&root, ANSWER, &[]);
    let proposed = session.done("kimi_implement", &json!({"prompt": "rename", "files": [root.name("a.txt")]}));
    assert_eq!((proposed["proposal"].as_str(), &proposed["committed"]), (Some("patch"), &json!(false)));
    assert_eq!((root.read("a.txt").as_str(), state_entries(&root.path(""), "open")), ("old\n", 1));
    let id = json!({"transaction_id": proposed["transaction_id"]});
    assert_eq!(session.done("preview_transaction", &id)["plan_hash"], proposed["plan_hash"]);
    let judged = json!({"prompt": "right?", "transaction_id": proposed["transaction_id"]});
    session.done("kimi_verify", &judged);
    assert!(root.read("prompt").contains("\n-old\n+new\n"));
    let commit = json!({"transaction_id": proposed["transaction_id"], "plan_hash": proposed["plan_hash"]});
    session.done("commit_transaction", &commit);
    assert_eq!(root.read("a.txt"), "new\n");
}

#[test]
fn apply_commits_and_a_check_decides() {
    let root = Root::with(&[("a.txt", "old\n")]);
    let mut session = open(&root, ANSWER, &["--allow-checks"]);
    let call =
        |check: &str| json!({"prompt": "rename", "apply": true, "check": ["grep", "-q", check, root.name("a.txt")]});
    let failure = session.failed("kimi_refactor", &call("old"), "CHECK_FAILED");
    assert_eq!(failure["answer"], ANSWER.trim());
    assert_eq!(root.read("a.txt"), "old\n");
    let done = session.done("kimi_refactor", &call("new"));
    assert_eq!((&done["committed"], root.read("a.txt").as_str()), (&json!(true), "new\n"));
    session.done("undo_transaction", &json!({"transaction_id": done["transaction_id"]}));
    assert_eq!(root.read("a.txt"), "old\n");
}

#[test]
fn a_configuration_that_is_wrong_keeps_the_server_from_starting() {
    let root = Root::with(&[(".txedit.toml", "[delegate]\nprogram = \"/bin/evil\"\n")]);
    let output = root.command(&["--toolsets", "+delegate"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("line 2: `program` is refused here"), "{told}");
    // Without delegates it is nobody's business.
    let mut session = root.open(&[]);
    assert_eq!(names(&mut session).len(), 12);
}
