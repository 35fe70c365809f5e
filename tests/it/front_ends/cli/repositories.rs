//! A request that makes a repository: git would run what its config says.

use std::fs;

use serde_json::{Value, json};

use super::{Ran, Workspace};

#[track_caller]
fn denied(ran: &Ran) {
    let json = ran.exits(2).json();
    let error = if json["errors"].is_array() { &json["errors"][0] } else { &json };
    let code = if error["code"].is_string() { &error["code"] } else { &error["error_code"] };
    assert_eq!((code, &json["outcome"]), (&json!("PATH_DENIED"), &json!("unchanged")), "{json}");
    assert!(json.to_string().contains("--allow-vcs"), "{json}");
}

/// New files of these names.
fn files(names: &[&str]) -> Value {
    json!({"files": names.iter().map(|name| json!({"file_path": name, "content": "x\n"})).collect::<Vec<_>>()})
}

fn run(here: &Workspace, command: &str, plan: &Value, options: &[&str]) -> Ran {
    here.write("plan.json", &plan.to_string());
    here.run(&[&[command, "plan.json", "--json"], options].concat())
}

#[test]
fn a_request_makes_no_repository() {
    let here = Workspace::new();
    let whole = files(&["b/HEAD", "b/objects/x", "b/refs/x", "b/config"]);
    let others = [
        files(&["b/HEAD", "b/commondir"]),
        files(&["b/head", "b/Objects", "b/REFS/x"]),
        files(&["deep/b/objects/pack/x", "deep/b/refs", "deep/b/HEAD"]),
        files(&["HEAD", "objects/x", "refs/x"]),
    ];
    for plan in [&whole].into_iter().chain(&others) {
        for (command, options) in [("apply", &[][..]), ("apply", &["--dry-run"]), ("stage", &[])] {
            denied(&run(&here, command, plan, options));
        }
    }
    let left: Vec<_> = fs::read_dir(here.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["plan.json"], "nothing is left behind");
    // What is only like one.
    run(&here, "apply", &files(&["c/HEAD", "c/refs/x", "d/objects/x", "d/refs/x", "d/commondir"]), &[]).exits(0);
    run(&here, "apply", &whole, &["--allow-vcs"]).exits(0);
}

#[test]
fn a_request_makes_no_repository_of_what_is_there() {
    let here = Workspace::new();
    here.write("b/HEAD", "x\n").write("b/objects/x", "x\n").write("a", "x\n");
    denied(&run(&here, "apply", &files(&["b/refs/x"]), &[]));
    denied(&run(&here, "apply", &files(&["b/commondir"]), &[]));
    denied(&run(&here, "apply", &json!({"files": [{"file_path": "a", "rename_to": "b/refs"}]}), &[]));
    run(&here, "apply", &files(&["b/config"]), &[]).exits(0);
    // An undo makes none either.
    run(&here, "apply", &json!({"files": [{"file_path": "b/HEAD", "delete": true}]}), &[]).exits(0);
    here.write("b/refs/x", "x\n");
    denied(&here.run(&["undo", "--json"]));
    denied(&here.run(&["undo", "--dry-run", "--json"]));
    assert!(!here.path().join("b/HEAD").exists());
    here.run(&["undo", "--allow-vcs"]).exits(0);
    assert!(here.path().join("b/HEAD").exists());
}

#[test]
fn what_is_staged_makes_no_repository() {
    let here = Workspace::new();
    let staged = run(&here, "stage", &files(&["b/HEAD", "b/objects/x"]), &["--allow-vcs"]).exits(0).json();
    let id = staged["transaction_id"].as_str().unwrap_or_else(|| panic!("{staged}")).to_owned();
    denied(&run(&here, "stage", &files(&["b/refs/x"]), &["--transaction", &id]));
    run(&here, "stage", &files(&["b/refs/x"]), &["--transaction", &id, "--allow-vcs"]).exits(0);
    // Whoever commits decides for himself.
    denied(&here.run(&["commit", &id, "--json"]));
    assert!(!here.path().join("b").exists());
    here.run(&["commit", &id, "--allow-vcs"]).exits(0);
    assert!(here.path().join("b/refs/x").exists());
}
