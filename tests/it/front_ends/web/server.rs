//! The page beside the tools of the MCP server.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use super::{LINES, Server, opened, program, upper_case};
use crate::support::workspace::Workspace;

const TOKEN: &str = "a-token-of-some-length";

/// An MCP server over HTTP with a token.
fn start(workspace: &Workspace, options: &[&str]) -> Server {
    let mut command = program(workspace, &[&["mcp", "--http", "127.0.0.1:0"], options].concat());
    command.env("TXEDIT_MCP_TOKEN", TOKEN).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap();
    let host = address.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    let mut token = TOKEN.to_owned();
    if options.contains(&"--review-page") {
        let page = lines.next().unwrap().unwrap();
        page.strip_prefix(&format!("http://{host}/review/#")).unwrap().clone_into(&mut token);
    }
    Server { process, host, path: "/review", token }
}

#[test]
fn an_mcp_server_has_the_page_where_it_is_asked_for() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let without = start(&workspace, &[]);
    assert_eq!(without.get("/api/state").status, 404);
    assert_eq!(without.get("/").status, 404);
    let server = start(&workspace, &["--review-page"]);
    assert!(server.raw("GET", "/", &[("Host", &server.host)], "").body.contains("<html"));
    assert_eq!(server.raw("GET", "/api/state", &[("Host", &server.host)], "").status, 401);
    let bearer = server.bearer();
    let of_page = [("Host", &*server.host), ("Authorization", &*bearer), ("Origin", "http://localhost:3000")];
    assert_eq!(server.raw("GET", "/api/state", &of_page, "").status, 403, "another page of this machine");
    let review = server.review(&id);
    server.approve(&review, &json!([{ "runs": [[1, 2]] }]), "discard").is(200);
    assert_eq!(workspace.read("a"), LINES.replace("two", "TWO"));
}

#[test]
fn a_server_that_only_reads_has_a_page_that_only_shows() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let server = start(&workspace, &["--review-page", "--read-only"]);
    assert_eq!(server.get("/api/state").is(200)["read_only"], true);
    let review = server.review(&id);
    let before = workspace.tree();
    server.approve(&review, &json!(["whole"]), "keep").is(403);
    server.post("/api/discard", &json!({ "id": id })).is(403);
    workspace.tree().assert_same(&before);
}

#[test]
fn whoever_calls_the_tools_cannot_decide_in_a_persons_place() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let server = start(&workspace, &["--review-page", "--approve"]);
    let of_tools = format!("Bearer {TOKEN}");
    assert_ne!(of_tools, server.bearer());
    let before = workspace.tree();
    let headers = [("Host", &*server.host), ("Authorization", &*of_tools), ("Content-Type", "application/json")];
    assert_eq!(server.raw("GET", "/api/state", &headers, "").status, 401);
    let discard = json!({ "id": id }).to_string();
    assert_eq!(server.raw("POST", "/api/discard", &headers, &discard).status, 401);
    workspace.tree().assert_same(&before);
    assert_eq!(workspace.engine.status().unwrap().open.len(), 1);
}
