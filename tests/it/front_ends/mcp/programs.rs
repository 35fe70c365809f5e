//! `run_command`: only where the server was started with it.

use serde_json::json;

use super::Root;

#[test]
fn a_program_is_run_only_where_that_is_allowed() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut session = root.open(&[]);
    let listed = session.request("tools/list", &json!({}));
    assert!(!listed.to_string().contains("run_command"));
    let call = json!({"name": "run_command", "arguments": {"command": ["touch", "ran"]}});
    assert_eq!(session.request("tools/call", &call)["error"]["code"], -32602);
    assert!(session.end().success());
    for refused in [&["--toolsets", "+run"][..], &["--allow-run", "--read-only"]] {
        let output = root.command(refused).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
    assert!(!root.path("ran").exists());
}

#[test]
fn what_it_changes_is_one_transaction_or_nothing() {
    let root = Root::with(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
    let mut session = root.open(&["--allow-run"]);
    assert!(session.request("tools/list", &json!({})).to_string().contains("run_command"));
    let shell = |script: &str| json!({"command": ["sh", "-c", script]});
    let done = session.done("run_command", &shell("echo told; sed -i s/one/1/ a.txt; echo n > new.txt"));
    assert_eq!((&done["files_edited"], &done["program"]["output"]), (&json!(2), &json!("told\n")), "{done}");
    assert_eq!(root.read("a.txt"), "1\n");
    let undo = json!({"transaction_id": done["transaction_id"]});
    session.done("undo_transaction", &undo);
    assert_eq!(root.read("a.txt"), "one\n");
    let failed = session.failed("run_command", &shell("echo why; rm a.txt; exit 3"), "PROGRAM_FAILED");
    assert_eq!(failed["context"]["program"]["output"], json!("why\n"), "{failed}");
    assert_eq!(root.read("a.txt"), "one\n");
    let dry = json!({"command": ["sh", "-c", "echo 1 > b.txt"], "folder": root.name("sub"), "dry_run": true});
    let dry = session.done("run_command", &dry);
    assert!(dry["file_results"][0]["diff"].as_str().unwrap().contains("-two\n+1\n"), "{dry}");
    let staged = json!({"command": ["sh", "-c", "echo 1 > b.txt"], "folder": "sub", "stage": true, "label": "one"});
    let staged = session.done("run_command", &staged);
    assert_eq!(root.read("sub/b.txt"), "two\n");
    session.done("commit_transaction", &json!({"transaction_id": staged["transaction_id"]}));
    assert_eq!(root.read("sub/b.txt"), "1\n");
    // Symlinks and folders as well, with what is staged by edits.
    let staged = json!({"command": ["sh", "-c", "ln -s a.txt l; mkdir -m 700 private"], "stage": true});
    let id = session.done("run_command", &staged)["transaction_id"].clone();
    let files = json!([{"file_path": root.name("private/new"), "content": "n\n"},
        {"file_path": root.name("l"), "rename_to": root.name("link")}]);
    session.done("stage_edits", &json!({"transaction_id": id, "files": files}));
    let preview = session.done("preview_transaction", &json!({"transaction_id": id}));
    assert!(["symlink_to", "private/new", "link"].iter().all(|it| preview.to_string().contains(it)), "{preview}");
    assert!(!root.path("l").is_symlink() && !root.path("private").exists());
    session.done("commit_transaction", &json!({"transaction_id": id, "plan_hash": preview["plan_hash"]}));
    assert_eq!(std::fs::read_link(root.path("link")).unwrap().to_str(), Some("a.txt"));
    assert_eq!(root.read("private/new"), "n\n");
    // The path is that of the workspace, wherever the program wrote it.
    let set_id = session.failed("run_command", &shell("echo more >> a.txt; chmod 4755 a.txt"), "VALIDATION_FAILED");
    let error = set_id["error"].as_str().unwrap();
    assert!(error.starts_with("a.txt would") && !set_id.to_string().contains(".txedit"), "{set_id}");
    for wrong in [
        json!({"command": []}),
        json!({"command": ["true"], "folder": "../sub"}),
        json!({"command": ["true"], "folder": "/tmp"}),
        json!({"command": ["true"], "folder": "nope"}),
        json!({"command": ["true"], "folder": "a.txt"}),
        json!({"command": ["true"], "stage": true, "dry_run": true}),
        json!({"command": ["true"], "timeout": -1}),
        json!({}),
    ] {
        session.failed("run_command", &wrong, "VALIDATION_FAILED");
    }
    let late = json!({"command": ["sleep", "60"], "timeout": 0.2});
    assert!(session.failed("run_command", &late, "PROGRAM_FAILED")["error"].as_str().unwrap().contains("too long"));
    assert!(session.end().success());
}
