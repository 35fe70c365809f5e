//! The page is told what happens, also by other processes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{LINES, Server, opened, program, upper_case};
use crate::support::workspace::Workspace;

/// The time in which an event must come; something is sent every quarter of a minute anyway.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream of events.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(server: &Server) -> Self {
        let mut stream = TcpStream::connect(&server.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head =
            format!("GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\n\r\n", server.host, server.bearer());
        stream.write_all(head.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    fn next(&mut self) -> Value {
        let started = Instant::now();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
            assert!(started.elapsed() < PATIENCE, "nothing happens");
            if let Some(event) = line.trim_end().strip_prefix("data: ") {
                return serde_json::from_str(event).unwrap();
            }
        }
    }

    /// Reads on until an event fits.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        std::iter::repeat_with(|| self.next()).find(fits).unwrap()
    }

    fn state(&mut self) {
        self.until(|event| event["event"] == "state");
    }
}

#[test]
fn a_page_is_told_of_what_other_processes_do() {
    let workspace = Workspace::with(&[("a", LINES)]);
    workspace.write("plan.json", json!({ "files": [upper_case("a")] }).to_string());
    workspace.write("more.json", json!({ "files": [{ "file_path": "n", "content": "n\n" }] }).to_string());
    let server = Server::start(&workspace, &[]);
    let mut events = Events::of(&server);
    // What there is at the start, and once more at the first look.
    events.state();
    events.state();
    let run = |line: &[&str]| {
        let output = program(&workspace, line).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let plan = workspace.path("plan.json");
    let id = run(&["stage", plan.to_str().unwrap()]);
    events.state();
    assert_eq!(server.get("/api/state").is(200)["open"][0]["id"], id);
    run(&["stage", workspace.path("more.json").to_str().unwrap(), "--transaction", &id]);
    events.state();
    assert_eq!(server.get("/api/state").is(200)["open"][0]["file_count"], 2);
    run(&["commit", &id]);
    events.state();
    assert!(server.get("/api/state").is(200)["open"].as_array().unwrap().is_empty());
}

#[test]
fn a_page_is_told_how_a_commit_goes_on() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let server = Server::start(&workspace, &["--allow-checks"]);
    let mut events = Events::of(&server);
    events.state();
    let review = server.review(&id);
    let approval = json!({ "id": id, "plan_hash": review["plan_hash"], "files": ["whole"], "rest": "keep", "check": "echo it is fine" });
    server.post("/api/approve", &approval).is(200);
    let swapped = events.until(|event| event["phase"] == "swap");
    assert_eq!((&swapped["id"], &swapped["event"]), (&json!(id), &json!("progress")));
    let printed = events.until(|event| event["event"] == "output");
    assert_eq!(printed["text"], "it is fine\n");
    events.state();
}

#[test]
fn a_server_ends_with_pages_that_listen() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let mut server = Server::start(&workspace, &[]);
    let mut events = Events::of(&server);
    events.state();
    let started = Instant::now();
    let pid = rustix::process::Pid::from_child(&server.process);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(server.process.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}
