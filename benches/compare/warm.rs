//! Servers that run already: the same edit of a 20 kB file, again and again, over stdin and stdout.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::corpus::{self, Chance};
use crate::disk::Disk;
use crate::measure::{CARGOS_LIBRARIES, Goal, print};
use crate::{Result, peers};

const SIZE: usize = 20 << 10;
const TEXTS: [&str; 2] = ["fetch_widget", "load_widget"];
const FLOOR: &str = "floor: temp + fsync + rename + fsync, as a server";
const PROMISED: &str = "the bare protocol, as a server";
const EVERY_CALL: &str = "calls of txedit, as a server over rmcp";

/// How a server is asked for an edit: of a path, from a text, to another, with the number of the call.
type Ask = fn(&Path, &str, &str, usize) -> Value;

struct Server {
    name: &'static str,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    ask: Ask,
    file: std::path::PathBuf,
    times: Vec<Duration>,
}

impl Server {
    fn start(name: &'static str, mut command: Command, ask: Ask, root: &Path) -> Result<Self> {
        let folder = root.join(name.split([' ', ':']).next().unwrap_or(name));
        fs::create_dir_all(&folder)?;
        let file = folder.join("source.rs");
        fs::write(&file, corpus::source(&mut Chance::new(4), SIZE, TEXTS[0], 1))?;
        command.env_remove(CARGOS_LIBRARIES);
        let mut child =
            command.current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let (Some(to), Some(from)) = (to, from) else { return Err("no pipes".into()) };
        Ok(Self { name, child, to, from: BufReader::new(from), ask, file, times: Vec::new() })
    }

    fn say(&mut self, message: &Value) -> Result<()> {
        self.to.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.to.flush()?)
    }

    fn call(&mut self, message: &Value) -> Result<Value> {
        self.say(message)?;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line)? == 0 {
                return Err(format!("{} hung up", self.name).into());
            }
            let answer: Value = serde_json::from_str(&line)?;
            // What has no number is a notification.
            if answer["id"] == message["id"] {
                return Ok(answer);
            }
        }
    }

    fn shake_hands(&mut self) -> Result<()> {
        let info = json!({ "name": "compare", "version": "1" });
        let parameters = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        self.call(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters }))?;
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
    }

    fn edit(&mut self, number: usize) -> Result<()> {
        let (old, new) = (TEXTS[number % 2], TEXTS[(number + 1) % 2]);
        let message = (self.ask)(&self.file, old, new, number + 1);
        let started = Instant::now();
        let answer = self.call(&message)?;
        self.times.push(started.elapsed());
        if answer.get("error").is_some() || answer["result"]["isError"] == true {
            return Err(format!("{}: {answer}", self.name).into());
        }
        let content = fs::read(&self.file)?;
        match memchr::memmem::find(&content, new.as_bytes()) {
            Some(_) => Ok(()),
            None => Err(format!("{} says that it edited, and did not", self.name).into()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn call(tool: &str, arguments: &Value, number: usize) -> Value {
    let parameters = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters })
}

fn multi_edit(path: &Path, old: &str, new: &str, number: usize) -> Value {
    call("multi_edit", &json!({ "file_path": path, "edits": [{ "old_string": old, "new_string": new }] }), number)
}

fn edit_file(path: &Path, old: &str, new: &str, number: usize) -> Value {
    call("edit_file", &json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }), number)
}

fn plain(path: &Path, old: &str, new: &str, _: usize) -> Value {
    json!({ "path": path, "old": old, "new": new })
}

pub(crate) fn row(calls: usize, tools: &Path, disk: &mut Disk) -> Result<Vec<String>> {
    disk.renew()?;
    let root = disk.path();
    let mcp_by = |program: &Path, durability: &str| {
        let mut command = Command::new(program);
        command.args(["--durability", durability, "--root"]).arg(&root).arg("mcp");
        command
    };
    let mcp = |durability: &str| mcp_by(peers::program(), durability);
    let floor = |how: &str| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["floor", how]);
        Ok::<_, std::io::Error>(command)
    };
    let mut servers = vec![
        Server::start("txedit mcp", mcp("power"), multi_edit, &root)?,
        Server::start(FLOOR, floor("serve")?, plain, &root)?,
        Server::start(PROMISED, floor("serve what is promised")?, plain, &root)?,
        Server::start(EVERY_CALL, floor("serve every call")?, multi_edit, &root)?,
        Server::start("process: txedit mcp --durability process", mcp("process"), multi_edit, &root)?,
    ];
    if let Some(before) = peers::BEFORE.get() {
        servers.push(Server::start("before: txedit mcp", mcp_by(before, "power"), multi_edit, &root)?);
    }
    let reference = peers::reference_server(tools);
    if reference.exists() {
        let mut node = Command::new("node");
        node.arg(&reference).arg(&root);
        servers.push(Server::start(REFERENCE, node, edit_file, &root)?);
    } else {
        println!("the reference filesystem server is not there (--install brings it)");
    }
    for server in servers.iter_mut().filter(|server| !std::ptr::fn_addr_eq(server.ask, plain as Ask)) {
        server.shake_hands()?;
    }
    rustix::fs::sync();
    for number in 0..calls {
        for server in &mut servers {
            server.edit(number)?;
        }
    }
    let times: Vec<_> = servers.iter_mut().map(|server| (server.name, std::mem::take(&mut server.times))).collect();
    drop(servers);
    let goals = [Goal { beside: FLOOR, at_most: 1.4 }, Goal { beside: REFERENCE, at_most: 1.0 }];
    Ok(print("warm, over stdio", &times, &goals))
}

const REFERENCE: &str = "reference filesystem server (syncs nothing)";
