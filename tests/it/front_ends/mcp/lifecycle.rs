//! How a server begins and ends.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Root, state_entries, terminate, wait};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// What a request of 2026-07-28 carries.
fn modern() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}})
}

#[test]
fn every_revision_is_spoken() {
    let root = Root::with(&[("a.txt", "one\n")]);
    for revision in REVISIONS {
        let mut session = root.start(&[]);
        let answer = session.initialize(revision);
        assert_eq!(answer["result"]["protocolVersion"], revision);
        let instructions = answer["result"]["instructions"].as_str().unwrap();
        assert!(
            instructions.len() < 2_048 && instructions.contains(root.name("").trim_end_matches('/')),
            "{}",
            instructions.len()
        );
        assert_eq!(session.request("ping", &json!({}))["result"], json!({}));
        session.done("read_files", &json!({"paths": [root.name("a.txt")]}));
        assert!(session.end().success());
    }
    let mut session = root.start(&[]);
    let discovered = session.request("server/discover", &json!({"_meta": modern()}));
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
    assert_eq!(versions.len(), REVISIONS.len() + 1, "{discovered}");
    let listed = session.request("tools/list", &json!({"_meta": modern()}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 12, "{listed}");
    assert!(session.end().success());
}

#[test]
fn an_unknown_revision_is_answered_with_a_known_one() {
    let root = Root::with(&[]);
    let mut session = root.start(&[]);
    let answer = session.initialize("1999-01-01");
    assert!(REVISIONS.contains(&answer["result"]["protocolVersion"].as_str().unwrap()), "{answer}");
}

#[test]
fn a_client_that_only_looks_around_is_no_failure() {
    let root = Root::with(&[]);
    assert!(root.start(&[]).end().success());
    let mut session = root.start(&[]);
    session.request("server/discover", &json!({"_meta": modern()}));
    assert!(session.end().success());
    let mut session = root.start(&[]);
    session.send_line(b"junk");
    assert_eq!(session.receive().unwrap()["error"]["code"], -32700);
    assert!(session.end().success());
    assert!(!root.path(".txedit").exists(), "looking around leaves nothing behind");
}

#[test]
fn a_signal_ends_the_server_whatever_it_waits_for() {
    let root = Root::with(&[]);
    for initialised in [false, true] {
        let mut session = if initialised { root.open(&[]) } else { root.start(&[]) };
        // A server that has not come so far as to watch its signals is ended by them.
        session.request("ping", &json!({}));
        terminate(&session.process);
        assert!(wait(&mut session.process, Duration::from_secs(3)).success());
    }
}

#[test]
fn a_signal_leaves_no_commit_half_way() {
    let files: Vec<String> = (0..300).map(|n| format!("f{n}.txt")).collect();
    let content = "old\n".repeat(500);
    let mut seen = Vec::new();
    // From before the first byte is read to after the commit, as far as this machine's speed allows.
    for delay in [0, 5, 20, 60, 120, 250, 1_000, 8_000] {
        if delay == 8_000 && seen.contains(&true) {
            break;
        }
        let root = Root::with(&files.iter().map(|name| (name.as_str(), content.as_str())).collect::<Vec<_>>());
        let mut session = root.open(&[]);
        let entries = files.iter().map(|name| {
            json!({"file_path": root.name(name), "edits": [{"old_string": "old", "new_string": "new", "replace_all": true}]})
        });
        session.ask(
            "tools/call",
            &json!({"name": "multi_edit_files", "arguments":
            {"files": entries.collect::<Vec<_>>()}}),
        );
        thread::sleep(Duration::from_millis(delay));
        terminate(&session.process);
        let started = Instant::now();
        assert!(wait(&mut session.process, Duration::from_secs(3)).success());
        assert!(started.elapsed() < Duration::from_secs(3));
        let new = files.iter().filter(|name| root.read(name).starts_with("new")).count();
        assert!(new == 0 || new == files.len(), "{new} of {} files are new", files.len());
        assert_eq!(state_entries(&root.path(""), "txn"), 0, "nothing is left to be recovered");
        seen.push(new > 0);
    }
    assert!(seen.contains(&true), "no commit was ever finished: the delays are too short");
}

#[test]
fn what_an_earlier_process_left_is_recovered_at_the_start() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    session.done("edit_file", &json!({"path": "a.txt", "old_string": "one", "new_string": "1"}));
    assert!(session.end().success());
    // A folder without a journal was never swapped: a sweep takes it.
    let left = root.path(".txedit/txn/.20260101T000000.000000Z-0123456789abcdef");
    fs::create_dir(&left).unwrap();
    let mut session = root.open(&[]);
    session.request("ping", &json!({}));
    assert!(session.end().success());
    assert!(!left.exists());
}
