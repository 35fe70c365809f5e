//! Who reverts what, over HTTP: nobody inherits the commits of another, whatever name it gives itself.

use std::io::Read;
use std::time::Duration;

use serde_json::{Value, json};

use super::Root;
use super::http::{INITIALIZE, Server};

/// A caller of a server, with a session or without one.
struct Caller<'a> {
    server: &'a Server,
    session: Option<String>,
}

const STATELESS: &str = "2026-07-28";

impl<'a> Caller<'a> {
    /// One that has a session. They all give themselves the same name.
    fn with_session(server: &'a Server) -> Self {
        let head = read(server.send(&[("Connection", "close")], INITIALIZE)).to_lowercase();
        let session =
            head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session").to_owned();
        let caller = Self { server, session: Some(session) };
        let started = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        read(server.send(&caller.headers("x"), &started.to_string()));
        caller
    }

    fn headers<'b>(&'b self, tool: &'b str) -> Vec<(&'b str, &'b str)> {
        match &self.session {
            Some(id) => vec![("Connection", "close"), ("Mcp-Session-Id", id)],
            None => vec![
                ("Connection", "close"),
                ("MCP-Protocol-Version", STATELESS),
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", tool),
            ],
        }
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        if self.session.is_none() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": {"name": "one", "version": "7"},
                "io.modelcontextprotocol/clientCapabilities": {}
            });
        }
        let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}).to_string();
        let answer = read(self.server.send(&self.headers(tool), &body));
        let message = &answer[answer.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("{answer}"))..];
        let message: Value = serde_json::Deserializer::from_str(message).into_iter().next().unwrap().unwrap();
        message["result"]["structuredContent"].clone()
    }

    fn writes(&self, root: &Root, name: &str) -> Value {
        let done = self.call("multi_edit_files", &json!({"files": [{"file_path": root.name(name), "content": "x\n"}]}));
        assert_eq!(done["success"], true, "{done}");
        done["transaction_id"].clone()
    }

    /// It may undo what it names, and nothing else.
    fn is_refused(&self) {
        let refused = self.call("undo_transaction", &json!({}));
        assert_eq!((&refused["success"], &refused["error_code"]), (&json!(false), &json!("UNKNOWN_TRANSACTION")));
        assert!(refused["error"].as_str().unwrap().contains("transaction_id"), "{refused}");
    }

    fn ends(self) {
        let id = self.session.as_deref().unwrap();
        let mut stream = std::net::TcpStream::connect(self.server.address()).unwrap();
        let request = format!(
            "DELETE /mcp HTTP/1.1\r\nHost: {}\r\nMcp-Session-Id: {id}\r\nAccept: text/event-stream\r\n\
             Connection: close\r\n\r\n",
            self.server.address()
        );
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let answer = read(stream);
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }
}

fn read(mut stream: std::net::TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_request_without_a_session_undoes_only_what_it_names() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &[], None);
    let (first, second) = (Caller { server: &server, session: None }, Caller { server: &server, session: None });
    let id = first.writes(&root, "a");
    second.is_refused();
    first.is_refused();
    assert!(root.path("a").exists());
    let log = second.call("list_transactions", &json!({}));
    assert!(log["transactions"][0]["owner"].as_str().unwrap().starts_with("one 7 by txedit"), "{log}");
    let undone = first.call("undo_transaction", &json!({"transaction_id": id}));
    assert_eq!((&undone["success"], root.path("a").exists()), (&json!(true), false), "{undone}");
}

#[test]
fn nobody_inherits_the_commits_of_a_session_that_has_ended() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &[], None);
    let (first, second) = (Caller::with_session(&server), Caller::with_session(&server));
    first.writes(&root, "a");
    second.is_refused();
    first.ends();
    // Its end is told before it has come to the end of all that belongs to it.
    for _ in 0..20 {
        second.is_refused();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(root.path("a").exists());
    second.writes(&root, "b");
    assert_eq!(second.call("undo_transaction", &json!({}))["success"], true);
    assert!(root.path("a").exists() && !root.path("b").exists());
}
