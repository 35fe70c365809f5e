//! Who may call, and what the page may do in a browser.

use serde_json::json;

use super::{LINES, Server, opened, upper_case};
use crate::support::workspace::Workspace;

#[test]
fn nobody_calls_without_the_token() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let server = Server::start(&workspace, &[]);
    assert!(server.token.len() == 64 && server.host.starts_with("127.0.0.1:"), "{}", server.host);
    let wrong = format!("Bearer {}", server.token.replace(|c: char| c.is_ascii_digit(), "a"));
    let in_address = format!("/api/state?token={}", server.token);
    let before = workspace.tree();
    for token in [None, Some(&*wrong), Some("Bearer"), Some(&*server.token), Some("Basic x")] {
        let mut headers = vec![("Host", &*server.host), ("Content-Type", "application/json")];
        headers.extend(token.map(|token| ("Authorization", token)));
        for path in ["/api/state", "/api/events", &format!("/api/review/{id}"), &in_address, "/api/undo/x"] {
            let answer = server.raw("GET", path, &headers, "");
            assert_eq!(answer.status, 401, "{path} {token:?}: {answer:?}");
            assert!(!answer.body.contains(&id), "{answer:?}");
        }
        for path in ["/api/approve", "/api/discard", "/api/undo", "/api/recover"] {
            assert_eq!(server.raw("POST", path, &headers, &json!({ "id": id }).to_string()).status, 401, "{path}");
        }
    }
    workspace.tree().assert_same(&before);
    server.get("/api/state").is(200);
}

#[test]
fn strange_hosts_and_origins_are_refused() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let server = Server::start(&workspace, &[]);
    let bearer = server.bearer();
    let discard = json!({ "id": id }).to_string();
    let ask = |headers: &[(&str, &str)]| {
        let mut all = vec![("Authorization", &*bearer), ("Content-Type", "application/json")];
        all.extend(headers);
        let answers = [server.raw("GET", "/api/state", &all, ""), server.raw("POST", "/api/discard", &all, &discard)];
        let files = server.raw("GET", "/", headers, "");
        let [read, written] = answers.map(|answer| answer.status);
        assert_eq!(read, written, "{headers:?}");
        (read, files.status)
    };
    let port = server.host.strip_prefix("127.0.0.1:").unwrap();
    let rebound = format!("rebound.example.com:{port}");
    assert_eq!(ask(&[("Host", &rebound)]), (403, 403));
    assert_eq!(ask(&[("Host", "localhost.evil.example")]), (403, 403));
    assert_eq!(ask(&[]), (400, 400));
    assert_eq!(ask(&[("Host", &server.host), ("Host", &server.host)]), (400, 400));
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1"] {
        assert_eq!(ask(&[("Host", &server.host), ("Origin", origin)]), (403, 403), "{origin}");
    }
    // A page may be led to by a link from anywhere, but called by itself alone.
    assert_eq!(ask(&[("Host", &server.host), ("Sec-Fetch-Site", "cross-site")]), (403, 200));
    let state = server.get("/api/state").is(200);
    assert_eq!(state["open"][0]["id"], id, "nothing was discarded");
    // No page of another origin is told that it may.
    let preflight =
        [("Host", &*server.host), ("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")];
    let answer = server.raw("OPTIONS", "/api/discard", &preflight, "");
    assert!(answer.status >= 400 && !answer.head.contains("access-control-allow"), "{answer:?}");
    let own = format!("http://localhost:{port}");
    let host = format!("localhost:{port}");
    let done = server.raw(
        "POST",
        "/api/discard",
        &[
            ("Host", &host),
            ("Origin", &own),
            ("Authorization", &bearer),
            ("Content-Type", "application/json; charset=utf-8"),
        ],
        &discard,
    );
    done.is(200);
}

#[test]
fn what_is_decided_is_json() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let server = Server::start(&workspace, &[]);
    let bearer = server.bearer();
    let discard = json!({ "id": id }).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"] {
        let headers = [("Host", &*server.host), ("Authorization", &*bearer), ("Content-Type", kind)];
        assert_eq!(server.raw("POST", "/api/discard", &headers, &discard).status, 415, "{kind}");
    }
    let headers = [("Host", &*server.host), ("Authorization", &*bearer)];
    assert_eq!(server.raw("POST", "/api/discard", &headers, &discard).status, 415);
    for body in ["", "{", "[]", r#"{"id":"x","id":"y"}"#, r#"{"id":"x","path":"/etc/passwd"}"#, r#"{"id":5}"#] {
        let headers = [("Content-Type", "application/json"), ("Host", &*server.host), ("Authorization", &*bearer)];
        assert_eq!(server.raw("POST", "/api/discard", &headers, body).status, 400, "{body}");
    }
    assert_eq!(server.get("/api/state").is(200)["open"][0]["id"], id);
}

#[test]
fn unknown_ids_and_paths_are_refused() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let server = Server::start(&workspace, &[]);
    let unknown = "20260101T000000.000000Z-0123456789abcdef";
    for id in [unknown, "x", "..", "%2e%2e%2f..", "%00", "a%2Fb"] {
        let answer = server.get(&format!("/api/review/{id}"));
        assert!([400, 404].contains(&answer.status), "{id}: {answer:?}");
        let answer = server.get(&format!("/api/undo/{id}"));
        assert!([400, 404].contains(&answer.status), "{id}: {answer:?}");
    }
    for path in ["/../Cargo.toml", "/api/../page.css/..", "/etc/passwd", "/api/file?path=/etc/passwd", "/page.css/x"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    for (path, body) in [
        ("discard", json!({ "id": unknown })),
        ("undo", json!({ "id": unknown })),
        ("approve", json!({ "id": unknown, "plan_hash": "0".repeat(64), "files": ["whole"], "rest": "keep" })),
    ] {
        let refused = server.post(&format!("/api/{path}"), &body).is(404);
        assert_eq!(refused["outcome"], "unchanged", "{refused}");
    }
    let refused = server.post("/api/recover", &json!({ "id": unknown, "decision": "discard" }));
    assert!(refused.status >= 400, "{refused:?}");
}

#[test]
fn every_answer_tells_a_browser_what_it_must_not_do() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let server = Server::start(&workspace, &[]);
    let stranger = server.raw("GET", "/", &[("Host", "evil.example")], "");
    let unauthorised = server.raw("GET", "/api/state", &[("Host", &server.host)], "");
    for answer in
        [server.get("/"), server.get("/main.js"), server.get("/api/state"), server.get("/none"), stranger, unauthorised]
    {
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
             frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            "\r\nx-content-type-options: nosniff",
            "\r\nreferrer-policy: no-referrer",
            "\r\ncross-origin-resource-policy: same-origin",
            "\r\ncache-control: no-store",
        ] {
            assert!(answer.head.contains(header), "{header}: {answer:?}");
        }
        assert!(!answer.head.contains("set-cookie") && !answer.head.contains("unsafe"), "{answer:?}");
    }
    // Served without a token, and the same for everybody.
    let page = server.raw("GET", "/", &[("Host", &server.host)], "");
    assert!(page.status == 200 && page.head.contains("content-type: text/html"), "{page:?}");
    assert!(!page.body.contains(&server.token) && !page.body.contains(workspace.path("").to_str().unwrap()));
    // Nothing stands in the page itself, and nothing comes from elsewhere.
    for text in ["<script>", "onclick=", "onload=", "style=\"", "<style", "http://", "https://", "//cdn"] {
        assert!(!page.body.contains(text), "{text}");
    }
}

#[test]
fn hostile_names_and_contents_are_only_text() {
    let name = "<img src=x onerror=alert(1)>";
    let workspace = Workspace::with(&[(name, "</script>\n")]);
    let content = "</script><script>alert(2)</script>\u{202e}\u{200b}\n";
    let id = opened(
        &workspace,
        &json!({ "label": "<b>bold", "files": [{ "file_path": name, "content": content, "if_exists": "replace" }] }),
    );
    let server = Server::start(&workspace, &[]);
    let review = server.review(&id);
    assert_eq!(review["files"][0]["path"], name);
    let answer = server.get("/api/state");
    assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
    assert_eq!(answer.json()["open"][0]["label"], "<b>bold");
    let rows = server.rows(&review, 0, "unified");
    let text = rows[1]["new"]["text"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect::<String>();
    // What would change the direction of the text, or is not seen, is shown as what it is.
    assert_eq!(text, "</script><script>alert(2)</script>\\u{202e}\\u{200b}");
}
