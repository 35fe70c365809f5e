//! Commits that are cut off, by signals and by kills, and what status, recover and kept make of them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Ran, Workspace, run};

const NAMES: [&str; 5] = ["1", "2", "3", "4", "5"];

/// A workspace of five files, and a commit of all of them that waits at `stop`, with two of them through.
fn waiting(stop: &str) -> (Workspace, Child) {
    waiting_in(Workspace::new(), stop)
}

fn waiting_in(here: Workspace, stop: &str) -> (Workspace, Child) {
    waiting_with(here, stop, None)
}

fn waiting_with(here: Workspace, stop: &str, key: Option<&str>) -> (Workspace, Child) {
    here.write(".git/HEAD", "");
    let entry = |name: &str| json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]});
    for name in NAMES {
        here.write(name, "old");
    }
    let mut plan = json!({"files": NAMES.map(entry)});
    if let Some(key) = key {
        plan["idempotency_key"] = json!(key);
    }
    here.write("plan.json", &plan.to_string());
    let child = commit_that_waits(&here, stop);
    (here, child)
}

/// A commit of `plan.json` that waits at `stop`.
fn commit_that_waits(here: &Workspace, stop: &str) -> Child {
    let mut command = here.command(&["tour-child", "plan.json", stop, "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    // Unbuffered, as good as: the child says nothing after its first line until it may go on.
    BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

pub(super) fn contents(here: &Workspace) -> Vec<String> {
    NAMES.iter().map(|name| fs::read_to_string(here.path().join(name)).unwrap()).collect()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Lets the child go on.
fn finish(mut child: Child) -> Ran {
    drop(child.stdin.take());
    Ran::from(child.wait_with_output().unwrap())
}

/// Kills the commit between its swaps; answers the id of what it leaves.
fn killed() -> (Workspace, String) {
    killed_in(Workspace::new())
}

fn killed_in(here: Workspace) -> (Workspace, String) {
    killed_with(here, None)
}

/// The same of a commit with a key; its request is in `plan.json`.
pub(super) fn killed_with(here: Workspace, key: Option<&str>) -> (Workspace, String) {
    let (here, mut child) = waiting_with(here, "swap", key);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(contents(&here), ["new", "new", "old", "old", "old"]);
    let status = here.run(&["status", "--json"]).json();
    let files = status["interrupted"][0]["file_results"].as_array().unwrap();
    assert!(files.len() == 5 && files.iter().all(|file| file["operation"] == "edit"), "{files:?}");
    let id = status["interrupted"][0]["transaction_id"].as_str().unwrap().to_owned();
    (here, id)
}

fn actions(json: &Value) -> Vec<&str> {
    json.as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect()
}

#[test]
fn signals_stop_a_commit_before_its_first_swap() {
    for stop in [Signal::INT, Signal::TERM] {
        let (here, child) = waiting("stage");
        signal(&child, stop);
        let ran = finish(child);
        assert_eq!(ran.exits(130).json()["outcome"], "unchanged");
        assert_eq!(contents(&here), ["old"; 5]);
        assert_eq!(here.run(&["status", "--json"]).exits(0).json()["interrupted"], json!([]));
    }
}

#[test]
fn no_number_of_signals_stops_a_commit_in_its_swap() {
    let (here, child) = waiting("swap");
    for stop in [Signal::INT, Signal::INT, Signal::TERM] {
        signal(&child, stop);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(finish(child).exits(0).json()["files_edited"], 5);
    assert_eq!(contents(&here), ["new"; 5]);
}

#[test]
fn a_commit_at_work_is_told_and_not_recovered() {
    let (here, child) = waiting("swap");
    let json = here.run(&["status", "--json"]).exits(0).json();
    assert_eq!(json["interrupted"][0]["running"], true);
    assert!(here.run(&["status"]).exits(0).stdout.contains("running"));
    let json = here.run(&["recover", "--json", "--lock-timeout", "0.1"]).exits(0).json();
    assert_eq!(actions(&json["recovered"]), ["running"]);
    assert_eq!(contents(&here), ["new", "new", "old", "old", "old"]);
    finish(child).exits(0);
}

#[test]
fn a_recovery_prints_its_plan_and_does_it() {
    let (here, id) = killed();
    let ran = here.run(&["status"]);
    assert!(ran.exits(0).stdout.contains("the next writing command finishes it"), "{ran:?}");

    let json = here.run(&["recover", "--plan", "--json"]).exits(0).json();
    assert_eq!(actions(&json["plan"]), ["forward"]);
    let ran = here.run(&["recover", "--plan"]);
    assert!(ran.exits(0).stdout.contains("will be finished"), "{ran:?}");
    assert_eq!(contents(&here), ["new", "new", "old", "old", "old"]);

    let ran = here.run(&["recover", &id]);
    assert!(ran.exits(0).stderr.contains("plan:") && ran.stderr.contains("will be finished"), "{ran:?}");
    assert!(ran.stdout.starts_with(&format!("{id} committed")), "{ran:?}");
    assert_eq!(contents(&here), ["new"; 5]);
}

#[test]
fn a_person_can_decide_otherwise() {
    let (here, id) = killed();
    let json = here.run(&["recover", &id, "--back", "--json"]).exits(0).json();
    assert_eq!((actions(&json["plan"]), actions(&json["recovered"])), (vec!["back"], vec!["rolled_back"]));
    assert_eq!(contents(&here), ["old"; 5]);

    let (here, id) = killed();
    let ran = here.run(&["recover", &id, "--discard"]);
    assert!(ran.exits(0).stdout.contains("discarded"), "{ran:?}");
    assert_eq!(contents(&here), ["new", "new", "old", "old", "old"]);
}

#[test]
fn what_cannot_be_told_waits_for_a_person_and_others_work_is_kept() {
    let (here, id) = killed();
    // One change on top of what was swapped, one of what was not: neither direction is free of loss.
    here.write("1", "theirs").write("5", "theirs too");
    here.run(&["status"]).exits(6);
    let ran = here.run(&["recover", "--json"]);
    assert_eq!(ran.exits(6).json()["recovered"][0]["required"], true);
    let ran = here.run(&["edit", "2", "--old", "new", "--new", "x", "--json"]);
    assert_eq!(ran.exits(6).json()["error_code"], "RECOVERY_REQUIRED");
    assert_eq!(contents(&here), ["theirs", "new", "old", "old", "theirs too"]);

    let plan = here.run(&["recover", &id, "--back", "--plan"]);
    assert!(plan.exits(0).stdout.contains("will be rolled back, and some files are not old"), "{plan:?}");
    let json = here.run(&["recover", &id, "--back", "--json"]).exits(6).json();
    assert_eq!(actions(&json["recovered"]), ["partly_rolled_back"], "{json}");
    assert_eq!(contents(&here), ["theirs", "old", "old", "old", "theirs too"]);
    assert_eq!(json["recovered"][0]["kept"].as_array().unwrap().len(), 1, "{json}");

    let list = here.run(&["kept", "list", "--json"]).exits(0).json();
    assert_eq!(list["kept"][0]["transaction_id"], id);
    assert!(here.run(&["kept", "list"]).exits(0).stdout.contains(&id));
    assert!(here.run(&["status"]).exits(0).stdout.contains(&format!("kept by {id}")));
    let ran = here.run(&["kept", "restore", &id, "1"]);
    assert!(ran.exits(0).stdout.starts_with("restored by "), "{ran:?}");
    assert_eq!(contents(&here), ["old", "old", "old", "old", "theirs too"]);
    here.run(&["kept", "drop", &id]).exits(0);
    assert_eq!(here.run(&["kept", "list", "--json"]).exits(0).json()["kept"], json!([]));
}

#[test]
fn a_command_that_fails_tells_of_the_recovery_before_it() {
    let plan =
        |name: &str| json!({"files": [{"file_path": name, "edits": [{"old_string": "none", "new_string": ""}]}]});
    let unknown = "20260101T000000.000000Z-0123456789abcdef";
    let lines: [&[&str]; 6] = [
        &["edit", "5", "--old", "old", "--new", "x"],
        &["apply", "wrong.json"],
        &["undo", unknown],
        &["redo"],
        &["stage", "wrong.json"],
        &["commit", unknown],
    ];
    for line in lines {
        for json in [true, false] {
            let (here, id) = killed();
            here.write("wrong.json", &plan("4").to_string());
            let ran = if json { here.run(&[line, &["--json"]].concat()) } else { here.run(line) };
            assert!(matches!(ran.status, Some(1 | 2)), "{line:?}: {ran:?}");
            assert_eq!(contents(&here), ["new"; 5], "{line:?}");
            let told = if json { ran.json()["warnings"].to_string() } else { ran.stderr.clone() };
            assert!(told.contains(&id) && told.contains("was recovered first"), "{line:?}: {ran:?}");
            let untrue = ["file unchanged", "files unchanged", "nothing was changed"];
            assert!(!untrue.iter().any(|it| ran.stdout.contains(it) || ran.stderr.contains(it)), "{line:?}: {ran:?}");
        }
    }
}

/// What somebody does to the folder of an interrupted transaction.
pub(super) type Harm = fn(&Path);

#[test]
fn an_undo_does_not_revert_an_older_one_beside_what_is_interrupted() {
    let harms: [(&str, Harm); 4] = [
        ("untouched", |_| {}),
        ("empty", |entry| fs::write(entry.join("journal"), "").unwrap()),
        ("of an unknown state", |entry| fs::rename(entry.join("journal"), entry.join("journal.foo")).unwrap()),
        ("copied", |entry| {
            let copy = entry.with_extension("copy");
            let mut shell = std::process::Command::new("sh");
            let line = "cp -a \"$1\" \"$2\" && rm -r \"$1\" && mv \"$2\" \"$1\"";
            assert!(shell.args(["-c", line, "-"]).args([entry, &copy]).status().unwrap().success());
        }),
    ];
    for (name, harm) in harms {
        let here = Workspace::new();
        here.write(".git/HEAD", "").write("0", "old");
        let older = here.run(&["edit", "0", "--old", "old", "--new", "new", "--json"]).exits(0).json();
        let older = older["transaction_id"].as_str().unwrap();
        let (here, id) = killed_in(here);
        harm(&here.path().join(".txedit/txn").join(&id));
        let refused = |line: &[&str]| {
            let json = here.run(&[line, &["--json"]].concat()).exits(6).json();
            assert_eq!(json["outcome"], "unchanged", "{name} {line:?}");
            let told = format!("{}{}", json["error"], json["recovery_hint"]);
            assert!(told.contains(&id) && told.contains("txedit recover"), "{name} {line:?}: {told}");
            assert_eq!(contents(&here), ["new", "new", "old", "old", "old"], "{name} {line:?}");
            assert_eq!(fs::read_to_string(here.path().join("0")).unwrap(), "new", "{name} {line:?}");
        };
        refused(&["undo", "--dry-run"]);
        refused(&["redo", "--dry-run"]);
        if name == "untouched" {
            // Recovered first, it is the newest.
            here.run(&["undo"]).exits(0);
            assert_eq!(contents(&here), ["old"; 5]);
        } else {
            refused(&["undo"]);
            here.run(&["undo", older, "--dry-run"]).exits(0);
            here.run(&["undo", older]).exits(0);
            assert_eq!(contents(&here), ["new", "new", "old", "old", "old"], "{name}");
        }
    }
}

/// The first command in backticks that recovers.
fn recover_command(text: &str) -> Vec<String> {
    let command = text.split('`').find(|part| part.starts_with("txedit ") && part.contains(" recover ")).unwrap();
    command.split(' ').skip(1).map(str::to_owned).collect()
}

#[test]
fn a_command_that_is_named_says_the_root_that_was_named() {
    let (here, id) = killed();
    here.write("1", "theirs").write("5", "theirs too");
    let elsewhere = Workspace::new();
    let root = here.path();
    let root = root.to_str().unwrap();
    let status = elsewhere.run(&["--root", root, "status"]);
    status.exits(6);
    let command = recover_command(&status.stdout);
    assert_eq!(command[..4], ["--root", root, "recover", &id], "{}", status.stdout);
    let failed = elsewhere.run(&["--root", root, "edit", &format!("{root}/2"), "--old", "new", "--new", "x", "--json"]);
    let hint = failed.exits(6).json()["recovery_hint"].as_str().unwrap().to_owned();
    assert_eq!(recover_command(&hint)[..4], ["--root", root, "recover", &id], "{hint}");
    // As it is named, it is found.
    elsewhere.run(&["--root", root, "recover", &id, "--back"]).exits(6);
    assert_eq!(here.run(&["status", "--json"]).exits(0).json()["interrupted"], json!([]));
}

/// A workspace with a folder `sub` of its own root, and a transaction of the outer one that was killed in mid-commit.
fn killed_above() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "");
    here.write("sub/.git/HEAD", "");
    let entry = |name: &str| json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]});
    let names = ["sub/1", "sub/2", "sub/3"];
    for name in names {
        here.write(name, "old");
    }
    here.write("plan.json", &json!({"files": names.map(entry)}).to_string());
    let mut child = commit_that_waits(&here, "swap");
    child.kill().unwrap();
    child.wait().unwrap();
    here
}

/// Runs a command in `sub`.
fn in_sub(here: &Workspace, arguments: &[&str]) -> Ran {
    run(here.command(arguments).current_dir(here.path().join("sub")))
}

#[test]
fn a_transaction_above_the_root_is_recovered_where_it_is() {
    let here = killed_above();
    here.write("sub/1", "theirs").write("sub/3", "theirs too");
    let failed = in_sub(&here, &["edit", "1", "--old", "theirs", "--new", "ours", "--json"]);
    let hint = failed.exits(6).json()["recovery_hint"].as_str().unwrap().to_owned();
    let mut command = recover_command(&hint);
    assert_eq!(command[0], "--root", "{hint}");
    assert_eq!(command[1], here.path().to_str().unwrap(), "{hint}");
    command.truncate(4);
    command.push("--back".to_owned());
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    in_sub(&here, &words).exits(6);
    assert_eq!(here.run(&["status", "--json"]).exits(0).json()["interrupted"], json!([]));
}

#[test]
fn what_stops_the_recovery_of_a_transaction_above_the_root_is_told_with_that_root() {
    let here = killed_above();
    let history = here.path().join(".txedit/history");
    fs::set_permissions(&history, fs::Permissions::from_mode(0o777)).unwrap();
    let failed = in_sub(&here, &["edit", "1", "--old", "new", "--new", "ours", "--json"]);
    let answer = failed.exits(6).json();
    assert!(answer["error"].as_str().unwrap().contains(".txedit/history"), "{answer:#}");
    let hint = answer["recovery_hint"].as_str().unwrap();
    fs::set_permissions(&history, fs::Permissions::from_mode(0o700)).unwrap();
    let command = recover_command(hint);
    let words: Vec<&str> = command.iter().take(4).map(String::as_str).collect();
    in_sub(&here, &words).exits(0);
    assert_eq!(fs::read(here.path().join("sub/3")).unwrap(), b"new");
}
