//! The page on which people review open transactions: its server, spoken to in raw HTTP.

mod decisions;
mod events;
mod safety;
mod server;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use txedit::PathRule;
use txedit::wire::request::parse;

use crate::support::is_setting;
use crate::support::workspace::{Workspace, running};

/// The program in this workspace, with nothing of the caller's own settings.
fn program(workspace: &Workspace, line: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
    command.arg("--root").arg(workspace.path("")).args(line).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if is_setting(&name) || name == "CLAUDE_PROJECT_DIR" {
            command.env_remove(name);
        }
    }
    command.env("XDG_CONFIG_HOME", workspace.path("")).env("TXEDIT_CHECK_IN", "tree");
    command
}

/// A server of the page.
struct Server {
    process: Child,
    /// `127.0.0.1:1234`
    host: String,
    /// What comes before `/api`.
    path: &'static str,
    token: String,
}

/// An answer.
#[derive(Debug)]
struct Answered {
    status: u16,
    /// In lower case.
    head: String,
    body: String,
}

impl Answered {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    #[track_caller]
    fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }
}

impl Server {
    fn start(workspace: &Workspace, options: &[&str]) -> Self {
        let mut command = program(workspace, &[&["review", "--web"], options].concat());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{address:?}"));
        let (host, token) = address.split_once("/#").unwrap();
        Self { process, host: host.to_owned(), path: "", token: token.to_owned() }
    }

    /// Sends a request with these headers alone, beside its length.
    fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut request = format!("{method} {}{path} HTTP/1.1\r\nConnection: close\r\n", self.path);
        for (name, value) in headers {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        let _ = write!(request, "Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answered { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    fn get(&self, path: &str) -> Answered {
        self.raw("GET", path, &[("Host", &self.host), ("Authorization", &self.bearer())], "")
    }

    fn post(&self, path: &str, body: &Value) -> Answered {
        let headers = [
            ("Host", &*self.host),
            ("Authorization", &self.bearer()),
            ("Content-Type", "application/json"),
            ("Origin", &format!("http://{}", self.host)),
        ];
        self.raw("POST", path, &headers, &body.to_string())
    }

    /// The review of an open transaction.
    #[track_caller]
    fn review(&self, id: &str) -> Value {
        self.get(&format!("/api/review/{id}")).is(200)
    }

    /// All rows of a file.
    #[track_caller]
    fn rows(&self, review: &Value, file: usize, view: &str) -> Value {
        let (id, hash) = (review["id"].as_str().unwrap(), review["plan_hash"].as_str().unwrap());
        let path = format!("/api/review/{id}/file?index={file}&plan_hash={hash}&view={view}&from=0&count=500");
        self.get(&path).is(200)["rows"].clone()
    }

    fn approve(&self, review: &Value, files: &Value, rest: &str) -> Answered {
        let approval = json!({ "id": review["id"], "plan_hash": review["plan_hash"], "files": files, "rest": rest });
        self.post("/api/approve", &approval)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Stages a request; returns the open transaction.
fn opened(workspace: &Workspace, request: &Value) -> String {
    staged(workspace, request, None)
}

/// Adds a request to an open transaction, or opens one.
fn staged(workspace: &Workspace, request: &Value, id: Option<&str>) -> String {
    let request = parse(request.to_string().as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap();
    workspace.engine.stage(&request, id, running()).unwrap().id.unwrap()
}

/// Five lines to be changed, with lines between them.
const LINES: &str = "one\nx\ntwo\nx\nthree\nx\nfour\nx\nfive\n";

fn upper_case(path: &str) -> Value {
    let edit = |word: &str| json!({ "old_string": word, "new_string": word.to_uppercase() });
    let edits = ["one", "two", "three", "four", "five"].map(edit);
    json!({ "file_path": path, "edits": edits })
}
