//! What is decided on the page is done, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{LINES, Server, opened, staged, upper_case};
use crate::support::workspace::Workspace;

#[test]
fn a_part_is_approved_and_the_tree_is_exactly_that() {
    let workspace = Workspace::with(&[("a", LINES), ("b", "b\n"), ("c", "c\n"), ("z", "z\n")]);
    let id = opened(
        &workspace,
        &json!({ "label": "upper case", "files": [
            upper_case("a"),
            { "file_path": "sub/new", "content": "new\n" },
            { "file_path": "b", "delete": true },
            { "file_path": "c", "rename_to": "d" },
        ]}),
    );
    let server = Server::start(&workspace, &[]);
    let state = server.get("/api/state").is(200);
    assert_eq!((&state["open"][0]["id"], &state["open"][0]["label"]), (&json!(id), &json!("upper case")));
    assert_eq!((&state["open"][0]["file_count"], &state["may_check"]), (&json!(4), &json!(false)));
    let review = server.review(&id);
    let files = review["files"].as_array().unwrap();
    let told: Vec<_> =
        files.iter().map(|file| (file["operation"].as_str().unwrap(), file["runs"].as_u64().unwrap())).collect();
    assert_eq!(told, [("edit", 5), ("create", 0), ("delete", 0), ("rename", 0)]);
    assert_eq!(
        (&files[0]["added"], &files[0]["removed"], &files[3]["renamed_to"]),
        (&json!(5), &json!(5), &json!("d"))
    );
    assert_eq!(server.rows(&review, 0, "split").as_array().unwrap().len(), 9);
    let unified = server.rows(&review, 0, "unified");
    assert_eq!(unified.as_array().unwrap().len(), 14);
    assert_eq!((&unified[0]["run"], &unified[0]["old"]["text"]), (&json!(0), &json!(["one"])));

    let files = json!([{ "runs": [[0, 1], [2, 4]] }, "whole", "nothing", "nothing"]);
    let done = server.approve(&review, &files, "keep").is(200);
    assert_eq!(workspace.read("a"), "ONE\nx\ntwo\nx\nTHREE\nx\nFOUR\nx\nfive\n");
    assert_eq!(
        (workspace.read("sub/new"), workspace.read("b"), workspace.read("c"), workspace.read("z")),
        ("new\n".into(), "b\n".into(), "c\n".into(), "z\n".into())
    );
    assert!(!workspace.path("d").exists());
    let state = server.get("/api/state").is(200);
    assert_eq!((&state["history"][0]["id"], &state["open"][0]["id"]), (&done["id"], &done["rest"]));
    assert!(state["history"][0]["owner"].as_str().unwrap().starts_with("review page by txedit"), "{state}");

    // The rest is reviewed like any other, and discarded.
    let rest = server.review(done["rest"].as_str().unwrap());
    assert_eq!(rest["files"].as_array().unwrap().len(), 3);
    server.post("/api/discard", &json!({ "id": rest["id"] })).is(200);
    assert!(server.get("/api/state").is(200)["open"].as_array().unwrap().is_empty());
    assert!(workspace.path("b").exists());
}

#[test]
fn a_plan_that_was_not_shown_is_refused() {
    let workspace = Workspace::with(&[("a", LINES), ("b", "b\n")]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a"), { "file_path": "b", "delete": true }] }));
    let server = Server::start(&workspace, &[]);
    let review = server.review(&id);
    // Another program changes a file; then the agent adds to the transaction.
    workspace.write("a", LINES.replace("five", "V\nfive"));
    let before = workspace.tree();
    let refuse = |review: &Value, files: Value| {
        let refused = server.approve(review, &files, "discard");
        let refused = refused.is(if files.is_array() && files[0] == "whole" { 409 } else { 400 });
        assert_eq!(refused["outcome"], "unchanged", "{refused}");
        workspace.tree().assert_same(&before);
        assert_eq!(server.get("/api/state").is(200)["open"][0]["id"], id);
        refused
    };
    let refused = refuse(&review, json!(["whole", "whole"]));
    assert_eq!(refused["error_code"], "CONCURRENT_MODIFICATION");
    // Rows of a plan that is gone are not passed off as those of another; what was shown is still what it was.
    let path = format!("/api/review/{id}/file?index=0&plan_hash={}&view=split&from=0&count=9", "0".repeat(64));
    server.get(&path).is(409);
    let review = server.review(&id);
    staged(&workspace, &json!({ "files": [{ "file_path": "n", "content": "n\n" }] }), Some(&id));
    refuse(&review, json!(["whole", "whole"]));
    // What does not fit the plan is refused, too.
    let review = server.review(&id);
    refuse(&review, json!([{ "runs": [[0, 9]] }, "nothing", "nothing"]));
    refuse(&review, json!(["nothing", "nothing", "nothing"]));
    refuse(&review, json!([{ "runs": [[2, 1]] }, "nothing", "nothing"]));
}

#[test]
fn a_transaction_is_undone_after_a_look_at_what_that_does() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let server = Server::start(&workspace, &[]);
    let review = server.review(&id);
    let done = server.approve(&review, &json!(["whole"]), "keep").is(200);
    assert_eq!((workspace.read("a"), &done["rest"]), (LINES.to_uppercase().replace('X', "x"), &Value::Null));
    let committed = done["id"].as_str().unwrap();
    let preview = server.get(&format!("/api/undo/{committed}")).is(200);
    assert!(preview["files"][0]["diff"].as_str().unwrap().contains("-ONE\n+one\n"), "{preview}");
    assert_ne!(workspace.read("a"), LINES);
    server.post("/api/undo", &json!({ "id": committed })).is(200);
    assert_eq!(workspace.read("a"), LINES);
    let state = server.get("/api/state").is(200);
    assert_eq!(
        (&state["history"][0]["reverts"], &state["history"][1]["reverted_by"]),
        (&json!([committed]), &state["history"][0]["id"])
    );
    // What others changed since is not undone over their heads.
    let again = state["history"][0]["id"].as_str().unwrap().to_owned();
    workspace.write("a", "something else\n");
    server.get(&format!("/api/undo/{again}")).is(409);
    server.post("/api/undo", &json!({ "id": again })).is(409);
    assert_eq!(workspace.read("a"), "something else\n");
}

#[test]
fn a_check_decides_where_checks_are_allowed() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = opened(&workspace, &json!({ "files": [upper_case("a")] }));
    let approval = |server: &Server, check: &str| {
        let review = server.review(&id);
        let approval =
            json!({ "id": id, "plan_hash": review["plan_hash"], "files": ["whole"], "rest": "keep", "check": check });
        server.post("/api/approve", &approval)
    };
    let closed = Server::start(&workspace, &[]);
    let refused = approval(&closed, "touch ran").is(403);
    assert_eq!(refused["error_code"], "CHECKS_NOT_ALLOWED");
    drop(closed);
    let server = Server::start(&workspace, &["--allow-checks"]);
    assert_eq!(server.get("/api/state").is(200)["may_check"], true);
    let failed = approval(&server, "cat a >&2; false").is(422);
    assert_eq!(
        (&failed["error_code"], &failed["outcome"]),
        (&json!("CHECK_FAILED"), &json!("rolled_back")),
        "{failed}"
    );
    assert!(workspace.read("a") == LINES && !workspace.path("ran").exists());
    approval(&server, "grep -q ONE a").is(200);
    assert!(workspace.read("a").starts_with("ONE\n"));
}

#[test]
fn conflicts_are_the_files_of_several_open_transactions() {
    let workspace = Workspace::with(&[("a", LINES), ("b", "b\n"), ("c", "c\n")]);
    let delete = |path: &str| json!({ "file_path": path, "delete": true });
    let first = opened(&workspace, &json!({ "files": [upper_case("a"), delete("b")] }));
    let second = opened(&workspace, &json!({ "files": [upper_case("a"), delete("c")] }));
    let server = Server::start(&workspace, &[]);
    let state = server.get("/api/state").is(200);
    let conflicts = |at: usize| state["open"][at]["conflicts"].clone();
    assert_eq!(
        (conflicts(0), conflicts(1)),
        (json!([{ "path": "a", "with": [second] }]), json!([{ "path": "a", "with": [first] }]))
    );
    assert_eq!(state["open"][1]["conflict_count"], 1);
}

#[test]
fn a_name_that_two_files_are_moved_to_is_a_conflict() {
    let workspace = Workspace::with(&[("a", LINES), ("b", "b\n")]);
    let to = |path: &str, to: &str| json!({ "files": [{ "file_path": path, "rename_to": to }] });
    let first = opened(&workspace, &to("a", "./new"));
    let second = opened(&workspace, &to("b", "new"));
    let server = Server::start(&workspace, &[]);
    let state = server.get("/api/state").is(200);
    let conflicts = |at: usize| state["open"][at]["conflicts"].clone();
    assert_eq!(
        (conflicts(0), conflicts(1)),
        (json!([{ "path": "new", "with": [second] }]), json!([{ "path": "new", "with": [first] }]))
    );
}

/// A transaction as a process leaves it that died just before the end.
fn interrupted(workspace: &Workspace) -> String {
    let done = workspace.apply(&json!({ "files": [upper_case("a")] })).unwrap();
    let committed = done.transaction.unwrap();
    let state = workspace.path(".txedit");
    fs::create_dir_all(state.join("txn")).unwrap();
    fs::rename(state.join("history").join(&committed), state.join("txn").join(&committed)).unwrap();
    committed
}

#[test]
fn what_is_kept_is_put_back_or_deleted() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = interrupted(&workspace);
    workspace.write("a", "theirs\n");
    let server = Server::start(&workspace, &[]);
    server.post("/api/recover", &json!({ "id": id, "decision": "discard" })).is(200);
    let kept = || server.get("/api/state").is(200)["kept"].clone();
    let shown = kept();
    assert_eq!((&shown[0]["id"], &shown[0]["contents"][0]["path"]), (&json!(id), &json!("a")), "{shown}");
    assert_eq!(shown[0]["contents"].as_array().unwrap().len(), 1, "{shown}");
    // Only what was shown is decided about.
    let contents = shown[0]["contents"].clone();
    let other = json!([{ "path": "../a", "reason": contents[0]["reason"] }]);
    for (id, index, contents) in [(&*id, 1, &contents), (&id, 0, &other), (&id, 0, &json!([])), ("x", 0, &contents)] {
        server.post("/api/kept/restore", &json!({ "id": id, "index": index, "shown": contents })).is(409);
    }
    server.post("/api/kept/drop", &json!({ "id": id, "shown": [] })).is(409);
    let restore = || server.post("/api/kept/restore", &json!({ "id": id, "index": 0, "shown": contents }));
    // What stands there is a symlink: neither that nor what it leads to is written over.
    workspace.write("z", "z");
    fs::remove_file(workspace.path("a")).unwrap();
    symlink("z", workspace.path("a")).unwrap();
    assert!(restore().is(422)["error"].as_str().unwrap().contains("is a symlink now"));
    assert_eq!((workspace.read("z"), kept()), ("z".to_owned(), shown.clone()));
    fs::remove_file(workspace.path("a")).unwrap();
    workspace.write("a", "theirs\n");
    let done = restore().is(200);
    assert_eq!((workspace.read("a"), kept()), (LINES.to_owned(), shown));
    server.post("/api/undo", &json!({ "id": done["id"] })).is(200);
    assert_eq!(workspace.read("a"), "theirs\n");
    // Another program writes to it after it was shown.
    let slot = workspace.path(".txedit/kept").join(&id).join("000000");
    fs::write(&slot, "late\n").unwrap();
    let drop = |contents: &Value| server.post("/api/kept/drop", &json!({ "id": id, "shown": contents }));
    restore().is(409);
    drop(&contents).is(409);
    assert_eq!((workspace.read("a"), fs::read_to_string(&slot).unwrap()), ("theirs\n".to_owned(), "late\n".to_owned()));
    drop(&kept()[0]["contents"]).is(200);
    assert_eq!(kept(), json!([]));
}

#[test]
fn what_a_button_does_is_not_told_as_a_command() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = interrupted(&workspace);
    let journal = workspace.path(".txedit/txn").join(&id).join("journal.done");
    let damaged = fs::read(&journal).unwrap().into_iter().chain(*b"x").collect::<Vec<_>>();
    fs::write(&journal, damaged).unwrap();
    let server = Server::start(&workspace, &[]);
    let state = server.get("/api/state").is(200);
    let interrupted = &state["interrupted"][0];
    assert_eq!(interrupted["decisions"], json!(["discard"]), "{state}");
    let reason = interrupted["reason"].as_str().unwrap();
    assert!(reason.contains("does not verify") && !reason.contains("txedit recover"), "{reason}");
    // Nothing is known of its contents, so they can only be deleted.
    server.post("/api/recover", &json!({ "id": id, "decision": "discard" })).is(200);
    let state = server.get("/api/state").is(200);
    assert_eq!((&state["kept"][0]["id"], &state["kept"][0]["contents"]), (&json!(id), &json!([])), "{state}");
    server.post("/api/kept/drop", &json!({ "id": id, "shown": [] })).is(200);
    assert_eq!(server.get("/api/state").is(200)["kept"], json!([]));
}

#[test]
fn an_interrupted_transaction_is_decided_about() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let committed = interrupted(&workspace);
    let server = Server::start(&workspace, &[]);
    let state = server.get("/api/state").is(200);
    let interrupted = &state["interrupted"][0];
    assert_eq!((&interrupted["id"], &interrupted["running"]), (&json!(committed), &json!(false)), "{state}");
    assert_eq!(interrupted["decisions"], json!(["recover"]), "{state}");
    let done = server.post("/api/recover", &json!({ "id": committed, "decision": "recover" })).is(200);
    assert!(done["recovered"][0].as_str().unwrap().starts_with("committed "), "{done}");
    let state = server.get("/api/state").is(200);
    assert_eq!((&state["interrupted"], &state["history"][0]["id"]), (&json!([]), &json!(committed)));
}
