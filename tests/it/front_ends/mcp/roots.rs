//! Where a server works that nobody gave a root.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Root, Session};

use crate::support::is_setting;

/// The program, about to serve without a root, started in `folder` by a user who is at home in `home`.
pub(super) fn server(folder: &Path, home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
    command.arg("mcp").current_dir(folder).env("HOME", home);
    for (name, _) in std::env::vars_os() {
        if is_setting(&name) || name == "CLAUDE_PROJECT_DIR" {
            command.env_remove(name);
        }
    }
    command
}

/// Begins a session as a client that knows `roots`, or nothing of roots.
pub(super) fn begin(command: &mut Command, roots: Option<&[String]>) -> Session {
    let mut session = Session::start(command);
    let capabilities = if roots.is_some() { json!({"roots": {}}) } else { json!({}) };
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
        "clientInfo": {"name": "t", "version": "1"}});
    session.request("initialize", &client);
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    session
}

/// Calls a tool, and says the roots where the server asks for them.
pub(super) fn call(session: &mut Session, roots: &[String], tool: &str, arguments: &Value) -> Value {
    let id = session.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
    loop {
        let message = session.receive().expect("an answer");
        if message["method"] == "roots/list" {
            let roots: Vec<_> = roots.iter().map(|root| json!({"uri": format!("file://{root}")})).collect();
            session.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": roots}}));
        } else if message["id"] == id {
            return message["result"]["structuredContent"].clone();
        }
    }
}

pub(super) fn new_file(root: &Root, name: &str) -> Value {
    json!({"files": [{"file_path": root.name(name), "content": "x"}]})
}

pub(super) fn folder(root: &Root) -> String {
    root.name("").trim_end_matches('/').to_owned()
}

#[test]
fn the_roots_of_the_client_are_asked_for_where_none_is_named() {
    let (home, project) = (Root::with(&[]), Root::with(&[]));
    for start in [home.path(""), Path::new("/").to_owned()] {
        let roots = ["/".to_owned(), folder(&home), folder(&project)];
        let mut session = begin(&mut server(&start, &home.path("")), Some(&roots));
        let name = format!("from{}", start.components().count());
        let done = call(&mut session, &roots, "multi_edit_files", &new_file(&project, &name));
        assert_eq!(done["success"], true, "{done}");
        let outside = call(&mut session, &roots, "multi_edit_files", &new_file(&home, "y"));
        assert_eq!(outside["errors"][0]["code"], "OUTSIDE_ROOT", "{outside}");
    }
    assert!(!home.path(".txedit").exists() && !Path::new("/.txedit").exists());
    // Of a client without roots it is the project around the folder; one that is named is not asked for.
    std::fs::create_dir(home.path("project")).unwrap();
    std::fs::create_dir(home.path("project/.git")).unwrap();
    let mut session = begin(&mut server(&home.path("project"), &home.path("")), Some(&[]));
    assert_eq!(call(&mut session, &[], "multi_edit_files", &new_file(&home, "project/z"))["success"], true);
    let mut named = server(&home.path("project"), &home.path(""));
    named.arg("--root").arg(home.path("project"));
    begin(&mut named, Some(&[])).done("multi_edit_files", &new_file(&home, "project/y"));
}

#[test]
fn several_roots_are_several_workspaces() {
    let (home, one, two) = (Root::with(&[]), Root::with(&[("a", "1\n")]), Root::with(&[("b", "1\n")]));
    let roots = [folder(&one), folder(&two)];
    let mut session = begin(&mut server(&home.path(""), &home.path("")), Some(&roots));
    let write = |root: &Root, name: &str| json!({"file_path": root.name(name), "content": "x"});
    let both = json!({"files": [write(&one, "x"), write(&two, "x")]});
    let refused = call(&mut session, &roots, "multi_edit_files", &both);
    let message = refused["errors"][0]["message"].as_str().unwrap();
    assert!(
        message.contains(&roots[0]) && message.contains(&roots[1]) && message.contains("one call for each"),
        "{refused}"
    );
    assert!(!one.path("x").exists() && !two.path("x").exists());
    let done = session.done("multi_edit_files", &json!({"files": [write(&two, "x")]}));
    assert!(two.path("x").exists() && two.path(".txedit").exists() && !one.path(".txedit").exists());
    // What names nothing is about the first; an id is known where it was committed.
    session.done("edit_file", &json!({"path": "a", "old_string": "1", "new_string": "2"}));
    assert_eq!(one.read("a"), "2\n");
    let uri = format!("txedit://transactions/{}/diff", done["transaction_id"].as_str().unwrap());
    let read = session.request("resources/read", &json!({"uri": uri}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("+x"), "{read}");
    let search = json!({"pattern": "1", "replacement": "3", "include": [two.name("b")]});
    assert_eq!(session.done("replace_in_files", &search)["files_edited"], 1);
    assert_eq!(two.read("b"), "3\n");
    session.done("undo_transaction", &json!({"transaction_id": done["transaction_id"]}));
    assert!(!two.path("x").exists());
    let log = session.request("resources/read", &json!({"uri": "txedit://transactions"}));
    let log: Value = serde_json::from_str(log["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(log["transactions"].as_array().unwrap().len(), 4, "{log}");
}

#[test]
fn neither_the_root_folder_nor_the_home_folder_is_a_workspace_unless_it_is_named() {
    let home = Root::with(&[]);
    std::fs::create_dir_all(home.path("deep/er")).unwrap();
    for folder in [home.path(""), Path::new("/").to_owned()] {
        let mut session = begin(&mut server(&folder, &home.path("")), None);
        let refused = session.failed("multi_edit_files", &new_file(&home, "x"), "VALIDATION_FAILED");
        assert!(refused["errors"][0]["message"].as_str().unwrap().contains("--root"), "{refused}");
        let status = server(&folder, &home.path("")).args(["--http", "127.0.0.1:0"]).output().unwrap().status;
        assert_eq!(status.code(), Some(2));
    }
    assert!(!home.path("x").exists() && !home.path(".txedit").exists());
    // What stands there marks no folder beneath.
    let mut named = server(&home.path(""), &home.path(""));
    named.arg("--root").arg(home.path(""));
    begin(&mut named, None).done("multi_edit_files", &new_file(&home, "named"));
    assert!(home.path(".txedit").exists());
    let mut session = begin(&mut server(&home.path("deep/er"), &home.path("")), None);
    session.done("multi_edit_files", &new_file(&home, "deep/er/x"));
    let outside = session.failed("multi_edit_files", &new_file(&home, "deep/x"), "VALIDATION_FAILED");
    assert_eq!(outside["errors"][0]["code"], "OUTSIDE_ROOT", "{outside}");
    assert!(home.path("deep/er/.txedit").exists());
}

/// What the user has chosen for a workspace counts there, whoever names it.
#[test]
fn the_settings_of_a_root_that_the_client_names_count() {
    let (home, project) = (Root::with(&[]), Root::with(&[]));
    let settings = home.path("config/txedit/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let table = format!("[root.\"{}\"]\ndeny = [\"secret\"]\ncheck = \"test ! -e unwanted\"\n", folder(&project));
    std::fs::write(&settings, table).unwrap();
    let mut command = server(&home.path(""), &home.path(""));
    command.env("XDG_CONFIG_HOME", home.path("config"));
    let roots = [folder(&project)];
    let mut session = begin(&mut command, Some(&roots));
    let answer = call(&mut session, &roots, "multi_edit_files", &new_file(&project, "secret"));
    assert_eq!(answer["errors"][0]["code"], "PATH_DENIED", "{answer}");
    let answer = call(&mut session, &roots, "multi_edit_files", &new_file(&project, "unwanted"));
    assert_eq!(answer["error_code"], "CHECK_FAILED", "{answer}");
    assert!(!project.path("secret").exists() && !project.path("unwanted").exists());
    let answer = call(&mut session, &roots, "multi_edit_files", &new_file(&project, "wanted"));
    assert_eq!(answer["success"], true, "{answer}");
}
