//! Roots that change while the server runs: the client's list of them, and the folders themselves.

use std::fs;

use serde_json::{Value, json};

use super::Root;
use super::roots::{begin, call, folder, new_file, server};

/// The number of times that the server asks for the roots in a call.
fn asked(session: &mut super::Session, roots: &[String], tool: &str, arguments: &Value) -> (usize, Value) {
    let id = session.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
    let mut times = 0;
    loop {
        let message = session.receive().expect("an answer");
        if message["method"] == "roots/list" {
            times += 1;
            let roots: Vec<_> = roots.iter().map(|root| json!({"uri": format!("file://{root}")})).collect();
            session.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": roots}}));
        } else if message["id"] == id {
            return (times, message["result"]["structuredContent"].clone());
        }
    }
}

#[test]
fn the_roots_are_asked_for_again_once_they_have_changed() {
    let (home, one, two) = (Root::with(&[]), Root::with(&[("a", "1\n")]), Root::with(&[]));
    let mut roots = vec![folder(&one)];
    let mut session = begin(&mut server(&home.path(""), &home.path("")), Some(&roots));
    assert_eq!(asked(&mut session, &roots, "multi_edit_files", &new_file(&one, "x")).0, 1);
    let (times, refused) = asked(&mut session, &roots, "multi_edit_files", &new_file(&two, "x"));
    assert_eq!((times, &refused["errors"][0]["code"]), (0, &json!("OUTSIDE_ROOT")), "{refused}");
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    roots.push(folder(&two));
    session.send(&changed);
    let (times, done) = asked(&mut session, &roots, "multi_edit_files", &new_file(&two, "x"));
    assert_eq!((times, &done["success"]), (1, &json!(true)), "{done}");
    // One that is no longer named is no longer served; what the connection committed elsewhere is still its own.
    roots.remove(0);
    session.send(&changed);
    let (times, refused) = asked(&mut session, &roots, "multi_edit_files", &new_file(&one, "y"));
    assert_eq!((times, &refused["errors"][0]["code"]), (1, &json!("OUTSIDE_ROOT")), "{refused}");
    assert!(!one.path("y").exists());
    let (times, undone) = asked(&mut session, &roots, "undo_transaction", &json!({}));
    assert_eq!((times, &undone["success"]), (0, &json!(true)), "{undone}");
    assert!(!two.path("x").exists() && one.path("x").exists());
}

#[test]
fn a_root_that_was_made_anew_is_opened_once_more() {
    let outer = Root::with(&[("root/a", "old\n")]);
    let (root, moved) = (outer.path("root"), outer.path("moved"));
    let mut command = super::Command::new(env!("CARGO_BIN_EXE_txedit"));
    let mut session = super::Session::start(command.arg("--root").arg(&root).arg("mcp"));
    session.initialize("2025-11-25");
    let edit = json!({"file_path": "a", "edits": [{"old_string": "old", "new_string": "new"}]});
    session.done("multi_edit", &edit);
    fs::rename(&root, &moved).unwrap();
    let edit = json!({"file_path": "a", "edits": [{"old_string": "new", "new_string": "newer"}]});
    let failed = session.call("multi_edit", &edit);
    assert_eq!(failed["success"], false, "{failed:#}");
    let message = failed["error"].as_str().unwrap();
    assert!(message.contains(root.to_str().unwrap()) && message.contains("is gone"), "{failed:#}");
    assert_eq!(fs::read_to_string(moved.join("a")).unwrap(), "new\n");
    let read = session.request("resources/read", &json!({"uri": "txedit://transactions"}));
    assert!(read["error"]["message"].as_str().unwrap().contains("is gone"), "{read}");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "new\n").unwrap();
    session.done("multi_edit", &edit);
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "newer\n");
    assert_eq!(fs::read_to_string(moved.join("a")).unwrap(), "new\n");
    // The history is that of the new folder.
    let listed = session.done("list_transactions", &json!({}));
    assert_eq!(listed["transactions"].as_array().unwrap().len(), 1, "{listed:#}");
    // A symlink to the folder that was moved is not the folder that was named.
    fs::remove_dir_all(&root).unwrap();
    std::os::unix::fs::symlink(&moved, &root).unwrap();
    assert_eq!(session.call("multi_edit", &edit)["success"], false);
    // Back in its place it is served again.
    fs::remove_file(&root).unwrap();
    fs::rename(&moved, &root).unwrap();
    session.done("multi_edit", &edit);
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "newer\n");
}

#[test]
fn calls_without_a_path_are_about_all_roots() {
    let (home, one, two) = (Root::with(&[]), Root::with(&[("a", "1\n")]), Root::with(&[("b", "1\n")]));
    let roots = [folder(&one), folder(&two)];
    let mut session = begin(&mut server(&home.path(""), &home.path("")), Some(&roots));
    let edit = |root: &Root, name: &str, old: &str, new: &str| json!({"path": root.name(name), "old_string": old, "new_string": new});
    call(&mut session, &roots, "edit_file", &edit(&one, "a", "1", "2"));
    session.done("edit_file", &edit(&two, "b", "1", "2"));
    session.done("edit_file", &edit(&one, "a", "2", "3"));
    let staged = json!({"files": [{"file_path": two.name("c"), "content": "x"}]});
    let open = session.done("stage_edits", &staged);
    let listed = session.done("list_transactions", &json!({}));
    let ids = |listed: &Value| -> Vec<String> {
        let list = listed["transactions"].as_array().unwrap().iter();
        list.map(|one| one["file_results"][0]["file_path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&listed), [one.name("a"), two.name("b"), one.name("a")], "{listed:#}");
    assert_eq!(listed["open"][0]["transaction_id"], open["transaction_id"], "{listed:#}");
    let listed = session.done("list_transactions", &json!({"limit": 2}));
    assert_eq!(ids(&listed), [one.name("a"), two.name("b")], "{listed:#}");
    // A root, as itself and as the first.
    let listed = session.done("list_transactions", &json!({"path": roots[1]}));
    assert_eq!(ids(&listed), [two.name("b")], "{listed:#}");
    let listed = session.done("list_transactions", &json!({"path": "."}));
    assert_eq!(ids(&listed), [one.name("a"), one.name("a")], "{listed:#}");
    let failed = session.failed("list_transactions", &json!({"path": "x/../a"}), "VALIDATION_FAILED");
    assert_eq!(failed["errors"][0]["code"], "PATH_TRAVERSAL", "{failed:#}");
    // The newest first, whichever root it is in, until nothing is left in any.
    for expected in [("2\n", "2\n"), ("2\n", "1\n"), ("1\n", "1\n")] {
        session.done("undo_transaction", &json!({}));
        assert_eq!((one.read("a").as_str(), two.read("b").as_str()), expected);
    }
    session.failed("undo_transaction", &json!({}), "UNKNOWN_TRANSACTION");
}

#[test]
fn a_patch_goes_to_the_root_that_it_names() {
    let (home, one, two) = (Root::with(&[]), Root::with(&[("a", "1\n")]), Root::with(&[("b", "1\n")]));
    let roots = [folder(&one), folder(&two)];
    let mut session = begin(&mut server(&home.path(""), &home.path("")), Some(&roots));
    let block = |path: &str| format!("{path}\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n");
    let done = call(&mut session, &roots, "apply_patch", &json!({"patch": block(&two.name("b"))}));
    assert_eq!((&done["success"], two.read("b").as_str()), (&json!(true), "2\n"), "{done:#}");
    let edit =
        json!({"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}, "newText": "3"});
    let changes = json!({"changes": {format!("file://{}", two.name("b")): [edit]}});
    session.done("apply_patch", &json!({"patch": changes.to_string()}));
    assert_eq!(two.read("b"), "3\n");
    let both = format!("{}\n{}", block(&one.name("a")), block(&two.name("b")));
    let failed = session.failed("apply_patch", &json!({"patch": both}), "VALIDATION_FAILED");
    for hint in [&failed["recovery_hint"], &failed["errors"][0]["recovery_hint"]] {
        assert_eq!(hint, "Send one call for each workspace.", "{failed:#}");
    }
    let read = session.done("read_files", &json!({"paths": ["a", "none"]}));
    assert_eq!(read["files"][0]["file_path"], one.name("a"), "{read:#}");
    assert_eq!(read["skipped"][0]["file_path"], one.name("none"), "{read:#}");
}
