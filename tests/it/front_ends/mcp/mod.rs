//! The MCP server as its clients meet it: the real program, spoken to line by line.

mod ambiguous;
mod approval;
mod callers;
mod calls;
mod crowd;
mod cut;
#[cfg(feature = "delegate")]
mod delegate;
mod doors;
mod encodings;
mod end;
mod errors;
mod followed;
mod hostile;
mod http;
mod lifecycle;
mod mended;
mod moved;
mod notices;
mod patches;
mod paths;
mod programs;
mod roots;
mod scenario;
mod tokens;
mod transcript;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::is_setting;

/// A workspace with files, for servers to work in.
struct Root(TempDir);

impl Root {
    fn with(files: &[(&str, &str)]) -> Self {
        let root = Self(tempfile::Builder::new().prefix("txedit-mcp-").tempdir().unwrap());
        for (name, content) in files {
            let path = root.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    /// The path of a file in it.
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// The path as a request has it.
    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program, about to serve this workspace.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.shell();
        command.arg("mcp").args(arguments);
        command
    }

    /// The program in this workspace, with nothing of the caller's own settings.
    fn shell(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
        command.arg("--root").arg(self.path("")).current_dir(self.path(""));
        for (name, _) in std::env::vars_os() {
            if is_setting(&name) || name == "CLAUDE_PROJECT_DIR" {
                command.env_remove(name);
            }
        }
        command
    }

    /// A server on stdio, not yet spoken to.
    fn start(&self, arguments: &[&str]) -> Session {
        Session::start(&mut self.command(arguments))
    }

    /// A server on stdio, initialised.
    fn open(&self, arguments: &[&str]) -> Session {
        let mut session = self.start(arguments);
        session.initialize("2025-11-25");
        session
    }
}

/// A conversation with a server on stdio.
struct Session {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
    /// Notifications that came before the answers.
    notices: Vec<Value>,
}

impl Session {
    fn start(command: &mut Command) -> Self {
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut process = process.unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, id: 0, notices: Vec::new() }
    }

    fn initialize(&mut self, revision: &str) -> Value {
        let client =
            json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.request("initialize", &client);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    fn send_line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// The next message of the server; `None` at its end.
    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        let bytes = self.output.read_line(&mut line).unwrap();
        (bytes > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Sends a request without waiting for its answer.
    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        self.id
    }

    /// The answer to a request.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive().expect("an answer");
            if message.get("method").is_some() {
                self.notices.push(message);
                continue;
            }
            assert_eq!(message["id"], id, "{message}");
            return message;
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Calls a tool. The result, with the text that a model reads.
    fn call_raw(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    /// Calls a tool. Its text must be its structured content.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call_raw(tool, arguments);
        let content = result["structuredContent"].clone();
        let block = |number: usize| result["content"][number]["text"].as_str().expect("a text");
        let mut text: Value = serde_json::from_str(block(0)).unwrap();
        for file in text.get_mut("files").and_then(Value::as_array_mut).into_iter().flatten() {
            // A content that was read is a block of its own.
            let number = file.as_object_mut().and_then(|file| file.remove("content_block"));
            if let Some(number) = number.and_then(|number| number.as_u64()) {
                file["content"] = json!(block(usize::try_from(number).unwrap()));
            }
        }
        assert_eq!(text, content);
        assert_eq!(result["isError"], content["success"] == false, "{result}");
        content
    }

    /// Calls a tool that must succeed.
    fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["success"], true, "{answer:#}");
        answer
    }

    /// Calls a tool that must fail with this code.
    fn failed(&mut self, tool: &str, arguments: &Value, code: &str) -> Value {
        let answer = self.call(tool, arguments);
        assert_eq!((&answer["success"], &answer["error_code"]), (&json!(false), &json!(code)), "{answer:#}");
        answer
    }

    /// Ends the input and waits for the end of the server.
    fn end(mut self) -> ExitStatus {
        self.input = None;
        wait(&mut self.process, Duration::from_secs(10))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for the end of a process, so long at most.
fn wait(process: &mut Child, most: Duration) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        assert!(started.elapsed() < most, "the server does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn terminate(process: &Child) {
    let pid = rustix::process::Pid::from_child(process);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

/// The one folder that stands in `section` of the state folder, if there is any.
fn state_entries(root: &Path, section: &str) -> usize {
    fs::read_dir(root.join(".txedit").join(section)).map_or(0, Iterator::count)
}
