//! Who is let in over HTTP.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::panic::AssertUnwindSafe;
use std::process::{Child, Stdio};
use std::time::Duration;

use txedit::fs::{Fs as _, OsFs};

use super::{Root, terminate, wait};

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// A server on HTTP.
pub(super) struct Server {
    process: Child,
    /// `127.0.0.1:1234`
    address: String,
}

impl Server {
    pub(super) fn start(root: &Root, arguments: &[&str], token: Option<&str>) -> Self {
        let mut command = root.command(&["--http", "127.0.0.1:0"]);
        if let Some(token) = token {
            command.env("TXEDIT_MCP_TOKEN", token);
        }
        let mut process = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{url}");
        Self { process, address }
    }

    /// Where it listens.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and leaves its stream open.
    pub(super) fn send(&self, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut head = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            let _ = write!(head, "Host: {}\r\n", self.address);
        }
        head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        // A server that refuses a body may close the stream before it has all of it.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        stream
    }

    /// The status of the answer to a request.
    fn status(&self, headers: &[(&str, &str)], body: &str) -> u16 {
        let mut line = String::new();
        BufReader::new(self.send(headers, body)).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap_or_else(|| panic!("{line}")).parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn strange_hosts_and_origins_are_refused() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &["--allow-origin", "https://app.example.com:443"], None);
    assert_eq!(server.status(&[], INITIALIZE), 200);
    for (header, value, status) in [
        ("Host", "localhost:1", 200),
        ("Host", "evil.example.com", 403),
        ("Origin", "http://localhost:3000", 200),
        ("Origin", "https://app.example.com", 200),
        ("Origin", "https://evil.example.com", 403),
        ("Origin", "http://localhost.evil.example.com", 403),
        ("Origin", "null", 403),
    ] {
        assert_eq!(server.status(&[(header, value)], INITIALIZE), status, "{header}: {value}");
    }
}

/// A page of the web can send a body of any size without asking first.
#[test]
fn strange_hosts_and_origins_are_refused_before_the_body_is_there() {
    let root = Root::with(&[]);
    let token = "a-token-of-some-length";
    for server in [Server::start(&root, &[], None), Server::start(&root, &[], Some(token))] {
        let with = format!("Authorization: Bearer {token}\r\nContent-Length: 60000000\r\n");
        for (target, headers, status) in [
            ("/mcp", "Host: evil.example\r\n", 403),
            ("/mcp", "Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
            ("/mcp", "Host: localhost\r\nHost: evil.example\r\n", 400),
            ("/mcp", "Host: localhost\r\nHost: localhost\r\n", 400),
            ("/mcp", "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n", 400),
            ("/mcp", "", 400),
            ("http://evil.example/mcp", "Host: localhost\r\n", 403),
        ] {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            // Shorter than what a body may take.
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            stream.write_all(format!("POST {target} HTTP/1.1\r\n{headers}{with}\r\n{{").as_bytes()).unwrap();
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).unwrap_or_else(|error| panic!("{headers}: {error}"));
            assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {status}"), "{target} {headers}");
        }
    }
}

#[test]
fn who_has_a_token_must_send_it() {
    let root = Root::with(&[("token", "a-token-of-some-length\n")]);
    let by_file = Server::start(&root, &["--token-file", &root.name("token")], None);
    let by_variable = Server::start(&root, &[], Some("a-token-of-some-length"));
    for server in [by_file, by_variable] {
        assert_eq!(server.status(&[], INITIALIZE), 401);
        assert_eq!(server.status(&[("Authorization", "Bearer a-token-of-some-lengtH")], INITIALIZE), 401);
        assert_eq!(server.status(&[("Authorization", "Bearer a-token-of-some-length")], INITIALIZE), 200);
    }
}

#[test]
fn other_machines_need_a_token() {
    let root = Root::with(&[]);
    for (token, words) in [(None, "--token-file"), (Some("short"), "16 characters")] {
        let mut command = root.command(&["--http", "0.0.0.0:0"]);
        if let Some(token) = token {
            command.env("TXEDIT_MCP_TOKEN", token);
        }
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let ended = std::panic::catch_unwind(AssertUnwindSafe(|| wait(&mut process, Duration::from_secs(30))));
        drop(process.kill());
        let refused = process.wait_with_output().unwrap();
        assert!(ended.is_ok(), "it serves");
        assert_eq!(refused.status.code(), Some(2));
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(message.contains(words), "{message}");
        assert!(!message.contains("short\""), "a token is in no message");
    }
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &[], None);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(65 << 20));
    assert_eq!(server.status(&[], &body), 413);
    assert_eq!(server.status(&[], INITIALIZE), 200);
}

#[test]
fn the_server_ends_with_streams_open() {
    let root = Root::with(&[]);
    let mut server = Server::start(&root, &[], None);
    let mut head = String::new();
    let mut first = BufReader::new(server.send(&[], INITIALIZE));
    let session = loop {
        head.clear();
        first.read_line(&mut head).unwrap();
        if let Some(id) = head.to_lowercase().strip_prefix("mcp-session-id: ") {
            break id.trim().to_owned();
        }
    };
    // One that has not sent all of its request is not waited for either.
    let mut half = TcpStream::connect(&server.address).unwrap();
    half.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{").unwrap();
    let mut listening = TcpStream::connect(&server.address).unwrap();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        server.address
    );
    listening.write_all(request.as_bytes()).unwrap();
    let mut start = [0; 15];
    listening.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    terminate(&server.process);
    assert!(wait(&mut server.process, Duration::from_secs(3)).success());
    assert!(!fs::exists(root.path(".txedit")).unwrap());
}

/// What the server answers a client that sends this and then waits.
fn answer_to_unfinished(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    // Far longer than it takes; without a deadline it would never end.
    stream.set_read_timeout(Some(Duration::from_secs(3 * 60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server ends the connection");
    answer
}

#[test]
fn a_client_that_does_not_finish_its_request_is_disconnected() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &[], None);
    let with_token = Server::start(&root, &[], Some("a-token-of-some-length"));
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    // One announces more than it sends, and one sends chunks that never end.
    let unfinished = [
        (format!("Content-Length: {}", INITIALIZE.len() + 1), INITIALIZE.to_owned()),
        ("Transfer-Encoding: chunked".to_owned(), format!("{:x}\r\n{INITIALIZE}\r\n", INITIALIZE.len())),
    ];
    // All of them at a time: each deadline takes half a minute.
    std::thread::scope(|scope| {
        for (length, body) in unfinished {
            let server = &server;
            scope.spawn(move || {
                let request = format!(
                    "{head}{length}\r\nContent-Type: application/json\r\nAccept: application/json, \
                     text/event-stream\r\n\r\n{body}"
                );
                let answer = answer_to_unfinished(server, &request);
                assert!(answer.starts_with("HTTP/1.1 408 "), "{answer:?}");
            });
        }
        // A head that does not end, before any token is asked for.
        let answer = answer_to_unfinished(&with_token, head);
        assert!(!answer.contains("200"), "{answer:?}");
    });
}

#[test]
fn connections_are_bounded() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &[], None);
    // Room for this program's end of them.
    OsFs::new().raise_open_files();
    let mut open: Vec<_> = (0..txedit::limits::CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(b"POST").unwrap();
            stream
        })
        .collect();
    let mut waiting = server.send(&[], INITIALIZE);
    waiting.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let early = waiting.read(&mut [0; 1]);
    assert!(early.is_err(), "it is not served before there is room: {early:?}");
    open.pop();
    waiting.set_read_timeout(Some(Duration::from_secs(2 * 60))).unwrap();
    let mut line = [0; 15];
    waiting.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 200 OK");
}

#[test]
fn sessions_are_bounded() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &[], None);
    let statuses: Vec<_> = (0..=txedit::limits::SESSIONS).map(|_| server.status(&[], INITIALIZE)).collect();
    assert!(statuses[..txedit::limits::SESSIONS].iter().all(|status| *status == 200), "{statuses:?}");
    assert_eq!(statuses.last(), Some(&503));
}

#[test]
fn a_token_that_others_can_read_is_warned_of() {
    let root = Root::with(&[("token", "a-token-of-some-length\n")]);
    for (mode, is_warned) in [(0o644, true), (0o600, false)] {
        fs::set_permissions(root.path("token"), fs::Permissions::from_mode(mode)).unwrap();
        let mut command = root.command(&["--http", "127.0.0.1:0", "--token-file", &root.name("token")]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        terminate(&process);
        let output = process.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(words.contains("chmod 600"), is_warned, "{words}");
    }
}

#[test]
fn a_message_that_can_be_read_in_two_ways_is_refused_over_http() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let server = Server::start(&root, &[], None);
    let arguments = r#"{"path":"a.txt","old_string":"one","new_string":"two","new_string":"three"}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"edit_file","arguments":{arguments}}}}}"#
    );
    let many = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":[{}0]}}"#, "0,".repeat(1_000_000));
    for (body, message) in [(call, "params.arguments.new_string"), (many, "1000000 values")] {
        let mut answer = String::new();
        server.send(&[("Connection", "close")], &body).read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(r#""id":5"#), "{answer}");
        assert!(answer.contains(message), "{answer}");
    }
    assert_eq!(root.read("a.txt"), "one\n");
}

#[test]
fn a_page_that_is_allowed_may_ask_first_and_read_the_answer() {
    let root = Root::with(&[]);
    let page = "https://app.example.com:443";
    let server = Server::start(&root, &["--allow-origin", page], Some("0123456789abcdef"));
    let ask = |origin: &str, method: &str, more: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let host = server.address();
        let head =
            format!("{method} /mcp HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n{more}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.to_lowercase()
    };
    let preflight = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n";
    // A browser sends no token with it.
    let answer = ask(page, "OPTIONS", preflight);
    assert!(answer.starts_with("http/1.1 204"), "{answer}");
    for header in [
        format!("access-control-allow-origin: {page}\r\n"),
        "access-control-allow-methods: get, post, delete\r\n".to_owned(),
        "access-control-expose-headers: mcp-session-id\r\n".to_owned(),
        "vary: origin\r\n".to_owned(),
    ] {
        assert!(answer.contains(&header), "{header}: {answer}");
    }
    assert!(answer.contains("authorization, content-type"), "{answer}");
    let strange = ask("https://elsewhere.example.com", "OPTIONS", preflight);
    assert!(strange.starts_with("http/1.1 403") && !strange.contains("access-control-allow"), "{strange}");
    let without_token = ask(page, "GET", "Accept: text/event-stream\r\n");
    assert!(without_token.starts_with("http/1.1 401"), "{without_token}");
    assert!(without_token.contains("access-control-allow-origin"), "the page may read why: {without_token}");
}

/// Begins a session, and returns its id.
fn session(server: &Server) -> String {
    let mut stream = server.send(&[("Connection", "close")], INITIALIZE);
    let mut head = String::new();
    let mut lines = BufReader::new(&mut stream);
    while lines.read_line(&mut head).unwrap() > 2 {}
    let session = head.lines().find_map(|line| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
    session.unwrap_or_else(|| panic!("{head}"))
}

#[test]
fn an_idle_session_ends() {
    let root = Root::with(&[]);
    let server = Server::start(&root, &["--session-idle", "1"], None);
    let session = session(&server);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let status = || server.status(&[("Mcp-Session-Id", &session), ("MCP-Protocol-Version", "2025-11-25")], ping);
    assert_eq!(status(), 200);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(status(), 404);
}

#[test]
fn a_session_is_not_idle_while_its_call_is_running() {
    let root = Root::with(&[("a", "one\n")]);
    let server = Server::start(&root, &["--session-idle", "1", "--check", "sleep 3"], None);
    let session = session(&server);
    let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"edit_file","arguments":{"path":"a","old_string":"one","new_string":"two"}}}"#;
    let mut answer = String::new();
    let mut stream = server.send(&[&headers[..], &[("Connection", "close")]].concat(), call);
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("Replaced 1 occurrence"), "{answer}");
    assert_eq!(root.read("a"), "two\n");
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    assert_eq!(server.status(&headers, ping), 200);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(server.status(&headers, ping), 404);
}
