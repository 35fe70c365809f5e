//! What a server still does once its input has ended.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Root, Session, wait};

/// Another process that holds the lock of the folder until it is released: its check waits for a file.
struct Holder(Child);

impl Holder {
    fn start(root: &Root) -> Self {
        let mut command = root.shell();
        command.args(["--check-in", "tree", "--check", "touch held; while test ! -e released; do sleep 0.01; done"]);
        command.args(["edit", "held.txt", "--old", "one", "--new", "two"]);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !root.path("held").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Self(process)
    }

    fn release(mut self, root: &Root) {
        std::fs::write(root.path("released"), "").unwrap();
        assert!(wait(&mut self.0, Duration::from_secs(60)).success());
    }
}

fn edit(name: &str) -> Value {
    json!({"path": name, "old_string": "one", "new_string": "two"})
}

#[test]
fn a_call_that_waits_for_a_lock_is_cancelled_when_the_input_ends() {
    let root = Root::with(&[("held.txt", "one\n"), ("a.txt", "one\n")]);
    let holder = Holder::start(&root);
    let mut session = root.open(&[]);
    let id = session.ask("tools/call", &json!({"name": "edit_file", "arguments": edit("a.txt")}));
    session.input = None;
    let answer = session.answer(id)["result"]["structuredContent"].clone();
    assert_eq!(answer["error_code"], "CANCELLED", "{answer:#}");
    assert!(wait(&mut session.process, Duration::from_secs(60)).success());
    holder.release(&root);
    assert_eq!((root.read("held.txt"), root.read("a.txt")), ("two\n".to_owned(), "one\n".to_owned()));
}

#[test]
fn what_is_piped_in_is_answered_although_the_input_has_ended() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    let mut asked = Vec::new();
    for n in 0..300 {
        let paths = json!({"name": "read_files", "arguments": {"paths": [root.name("a.txt")]}});
        asked.push(if n % 2 == 0 { session.ask("ping", &json!({})) } else { session.ask("tools/call", &paths) });
    }
    session.input = None;
    let mut answered = Vec::new();
    while let Some(answer) = session.receive() {
        assert!(answer["result"].is_object(), "{answer}");
        answered.push(answer["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, asked);
    assert!(wait(&mut session.process, Duration::from_secs(60)).success());
}

/// A report of progress waits for the client to take it, and nobody takes it any more.
#[test]
fn a_call_that_reports_its_progress_is_answered_after_the_end() {
    let names: Vec<String> = (0..50).map(|n| format!("f{n}")).collect();
    let root = Root::with(&names.iter().map(|name| (name.as_str(), "one\n")).collect::<Vec<_>>());
    let mut session = root.open(&[]);
    let arguments = json!({"pattern": "one", "replacement": "two"});
    let call = json!({"name": "replace_in_files", "arguments": arguments, "_meta": {"progressToken": 1}});
    let id = session.ask("tools/call", &call);
    session.input = None;
    let answer = session.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["success"], true, "{answer}");
    assert_eq!(root.read("f49"), "two\n");
}

#[test]
fn the_last_answer_is_not_lost_when_the_input_ends() {
    let root = Root::with(&[]);
    let mut session: Session = root.start(&[]);
    session.send_line(b"junk");
    session.input = None;
    assert_eq!(session.receive().expect("an answer")["error"]["code"], -32700);
}
