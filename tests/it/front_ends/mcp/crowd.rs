//! Clients that ask for more than they read, or for more at once than a server holds.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::Root;

/// The memory that a process holds, in bytes.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn a_client_that_does_not_read_is_not_read_either() {
    const REQUESTS: usize = 2_500;
    let root = Root::with(&[]);
    let mut session = root.open(&[]);
    let (mut input, sent) = (session.input.take().unwrap(), Arc::new(AtomicUsize::new(0)));
    let writer = std::thread::spawn({
        let sent = Arc::clone(&sent);
        move || {
            for id in 1..=REQUESTS {
                writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).unwrap();
                sent.store(id, Ordering::Relaxed);
            }
        }
    });
    // Until it takes no more.
    let mut before = usize::MAX;
    while before != sent.load(Ordering::Relaxed) || before == 0 {
        before = sent.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(300));
    }
    let held = resident(session.process.id());
    assert!(held < 100 << 20, "{held} bytes");
    // All of them are answered once the client reads.
    let mut answered: Vec<u64> = (0..REQUESTS).map(|_| session.receive().unwrap()["id"].as_u64().unwrap()).collect();
    writer.join().unwrap();
    answered.sort_unstable();
    assert!(answered.iter().copied().eq(1..=REQUESTS as u64));
}

#[test]
fn a_message_of_too_many_values_is_refused() {
    let root = Root::with(&[]);
    let mut session = root.open(&[]);
    let mut line =
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"edit_file","arguments":"#.to_owned();
    line += r#"{"path":[0"#;
    for _ in 0..1_000_000 {
        line += ",{}";
    }
    line += "]}}}";
    session.send_line(line.as_bytes());
    let answer = session.answer(5);
    let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{}", shown(&answer)));
    assert!(message.contains("1000000") && message.contains("several calls"), "{message}");
    // Of any other method, and of a batch, which is none.
    let mut values = String::new();
    for n in 0..500_001 {
        let _ = write!(values, "{}[{n}]", if n == 0 { "" } else { "," });
    }
    session.send_line(format!(r#"{{"id":"x","jsonrpc":"2.0","method":"ping","params":[{values}]}}"#).as_bytes());
    let answer = session.receive().unwrap();
    assert_eq!(answer["id"], "x", "{}", shown(&answer));
    assert!(answer["error"]["message"].as_str().unwrap().contains("1000000"), "{}", shown(&answer));
    session.send_line(format!("[{values}]").as_bytes());
    assert!(session.receive().unwrap()["error"]["message"].as_str().unwrap().contains("1000000"));
    session.request("ping", &json!({}));
}

fn shown(answer: &Value) -> String {
    answer.to_string().chars().take(500).collect()
}
