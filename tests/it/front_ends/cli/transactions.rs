//! What changes files, and what tells of it: the answers for people, for scripts, and the exit status.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use txedit::fs::{Fs, OsFs};

use super::{Ran, Workspace, run, text};

/// A workspace of two files, and a plan that changes both.
fn two_files() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\ntwo\n").write("sub/b", "three\n");
    here.write("plan.json", &plan("two", "2").to_string());
    here
}

fn plan(old: &str, new: &str) -> Value {
    json!({"files": [
        {"file_path": "a", "edits": [{"old_string": "one", "new_string": "1"}, {"old_string": old, "new_string": new}]},
        {"file_path": "sub/b", "edits": [{"old_string": "three", "new_string": "3"}]}]})
}

#[track_caller]
fn has(here: &Workspace, name: &str, content: &str) {
    assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), content, "{name}");
}

fn id(json: &Value) -> String {
    json["transaction_id"].as_str().unwrap_or_else(|| panic!("no id: {json}")).to_owned()
}

#[test]
fn a_plan_is_applied_wherever_one_stands() {
    let here = two_files();
    // Relative paths in a plan start at the root; the plan's own path starts at the current folder.
    let ran = run(here.command(&["apply", "../plan.json"]).current_dir(here.path().join("sub")));
    let line = &ran.exits(0).stdout;
    assert!(line.starts_with("committed 20") && line.ends_with(": 2 files, 3 edits\n"), "{line}");
    assert!(ran.stderr.contains("keeps old contents"), "the first commit says so: {ran:?}");
    has(&here, "a", "1\n2\n");
    has(&here, "sub/b", "3\n");
}

#[test]
fn a_plan_comes_from_standard_input_and_the_answer_is_one_object() {
    let here = two_files();
    let mut child = here.command(&["apply", "-", "--json"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(plan("two", "2").to_string().as_bytes()).unwrap();
    let json = Ran::from(child.wait_with_output().unwrap()).exits(0).json();
    assert_eq!((&json["success"], &json["files_edited"]), (&json!(true), &json!(2)));
    assert_eq!(json["summary"]["total_edits"], 3);
    assert!(!id(&json).is_empty());
    has(&here, "a", "1\n2\n");
}

#[test]
fn a_dry_run_prints_the_diff_and_writes_nothing() {
    let here = two_files();
    let ran = here.run(&["apply", "plan.json", "--dry-run"]);
    let diff = &ran.exits(0).stdout;
    assert!(diff.contains("\n-one\n-two\n+1\n+2\n") && diff.contains("+++ "), "{diff}");
    assert!(ran.stderr.contains("nothing was written"), "{ran:?}");
    has(&here, "a", "one\ntwo\n");
    assert!(!here.path().join(".txedit").exists());
    assert_eq!(here.run(&["apply", "plan.json", "--dry-run", "-q"]).stderr, "");
    let json = here.run(&["apply", "plan.json", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((&json["dry_run"], &json["transaction_id"]), (&json!(true), &Value::Null));
}

#[test]
fn one_file_is_edited_from_the_current_folder() {
    let here = two_files();
    let sub = here.path().join("sub");
    let ran = run(here.command(&["edit", "b", "--old", "three", "--new", "-3", "--json"]).current_dir(&sub));
    let json = ran.exits(0).json();
    assert_eq!(json["file_results"][0]["file_path"], text(&sub.join("b")));
    assert_eq!(
        (&json["summary"]["total_edits"], &json["file_results"][0]["edits"][0]["lines"]),
        (&json!(1), &json!([1]))
    );
    has(&here, "sub/b", "-3\n");
    // The state is the root's.
    assert!(here.path().join(".txedit").is_dir() && !sub.join(".txedit").exists());

    let ran = here.run(&["edit", "a", "--old", "o", "--new", "0"]);
    assert!(ran.exits(1).stderr.contains("edit 1 of 1 in a"), "{ran:?}");
    has(&here, "a", "one\ntwo\n");
    here.run(&["edit", "a", "--old", "o", "--new", "0", "--all", "-v"]).exits(0);
    has(&here, "a", "0ne\ntw0\n");
    here.run(&["edit", "../a", "--old", "o", "--new", "0"]).exits(2);
    here.run(&["edit", "a", "--old", "", "--new", "0"]).exits(2);
}

#[test]
fn an_edit_that_does_not_fit_is_explained_and_nothing_is_changed() {
    let here = two_files();
    here.write("plan.json", &plan("tvo", "2").to_string());
    let ran = here.run(&["apply", "plan.json"]);
    assert_eq!(ran.exits(1).stdout, "");
    for part in ["edit 2 of 2 in a: ", "hint: Read the file", "nothing was changed"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let json = here.run(&["apply", "plan.json", "--json"]).exits(1).json();
    assert_eq!((&json["success"], &json["error_code"]), (&json!(false), &json!("MATCH_NOT_FOUND")));
    assert_eq!((&json["failed_file_index"], &json["failed_edit_index"]), (&json!(0), &json!(1)));
    has(&here, "a", "one\ntwo\n");
    has(&here, "sub/b", "three\n");
}

#[test]
fn each_kind_of_failure_has_its_exit_status() {
    let here = two_files();
    let apply = |plan: &Value| {
        here.write("plan.json", &plan.to_string());
        here.run(&["apply", "plan.json", "--json", "--lock-timeout", "0.1"])
    };
    let code = |ran: &Ran, status: i32| ran.exits(status).json()["error_code"].as_str().unwrap().to_owned();

    let absent = json!({"files": [{"file_path": "absent", "delete": true}]});
    assert_eq!(code(&apply(&absent), 2), "VALIDATION_FAILED");
    here.write("broken.json", "{\"files\": [}");
    assert_eq!(code(&here.run(&["apply", "broken.json", "--json"]), 2), "VALIDATION_FAILED");
    assert_eq!(code(&here.run(&["apply", "absent.json", "--json"]), 2), "FILE_NOT_FOUND");

    let hash = "0".repeat(64);
    let stale = json!({"files": [{"file_path": "a", "expected_hash": hash, "delete": true}]});
    assert_eq!(code(&apply(&stale), 3), "HASH_MISMATCH");

    let os = OsFs::new();
    let folder = os.open_folder(&here.path()).unwrap();
    assert!(os.try_lock(&folder).unwrap());
    let fine = plan("two", "2");
    assert_eq!(code(&apply(&fine), 4), "LOCK_TIMEOUT");
    drop(folder);

    let unknown = here.run(&["undo", "20260102T030405.678901Z-0123456789abcdef", "--json"]);
    assert_eq!(code(&unknown, 2), "UNKNOWN_TRANSACTION");
    apply(&fine).exits(0);
    here.write("a", "changed since\n");
    assert_eq!(code(&here.run(&["undo", "--json"]), 3), "UNDO_CONFLICT");
}

#[test]
fn an_interrupt_before_the_swap_changes_nothing() {
    let here = two_files();
    let os = OsFs::new();
    let folder = os.open_folder(&here.path()).unwrap();
    assert!(os.try_lock(&folder).unwrap());
    let mut command = here.command(&["apply", "plan.json", "--json", "--lock-timeout", "60"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_caught(child.id());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.exits(130).json()["error_code"], "CANCELLED");
    has(&here, "a", "one\ntwo\n");
}

/// Waits until the process has a handler of its own for SIGINT.
fn wait_until_caught(process: u32) {
    let caught = || {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (Signal::INT.as_raw() - 1)) != 0
    };
    let start = Instant::now();
    while !caught() {
        assert!(start.elapsed() < Duration::from_secs(20), "SIGINT is never caught");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn history_is_listed_shown_reverted_and_forgotten() {
    let here = two_files();
    let quiet = here.run(&["log", "--json"]).exits(0).json();
    assert_eq!((&quiet["success"], &quiet["transactions"]), (&json!(true), &json!([])));
    let first = id(&here.run(&["apply", "plan.json", "--json"]).exits(0).json());
    let second = id(&here.run(&["edit", "sub/b", "--old", "3", "--new", "4", "--json"]).exits(0).json());

    let ids = |line: &[&str]| -> Vec<String> {
        let json = here.run(line).exits(0).json();
        json["transactions"].as_array().unwrap().iter().map(id).collect()
    };
    assert_eq!(ids(&["log", "--json"]), [second.as_str(), &first]);
    assert_eq!(ids(&["log", "--json", "--limit", "1"]), [second.as_str()]);
    assert_eq!(ids(&["log", "--json", "--path", "a"]), [first.as_str()]);
    let people = here.run(&["log"]);
    let (_, random) = second.split_once('-').unwrap();
    assert!(people.exits(0).stdout.starts_with(&random[..8]), "{people:?}");

    let shown = here.run(&["show", &second, "--json"]).exits(0).json();
    assert_eq!(shown["transaction_id"], second);
    assert_eq!(
        (&shown["file_results"][0]["file_path"], &shown["file_results"][0]["added"]),
        (&json!("sub/b"), &json!(1))
    );
    assert!(here.run(&["show", &second]).exits(0).stdout.contains("\n-3\n+4\n"));
    let stat = here.run(&["show", &second, "--stat"]);
    assert!(!stat.exits(0).stdout.contains("\n-3\n") && stat.stdout.contains("1 line added"), "{stat:?}");

    let dry = here.run(&["undo", "--dry-run"]);
    assert!(dry.exits(0).stdout.contains("-4\n+3\n"), "{dry:?}");
    has(&here, "sub/b", "4\n");
    let undo = id(&here.run(&["undo", "--json"]).exits(0).json());
    has(&here, "sub/b", "3\n");
    let log = here.run(&["log", "--json"]).exits(0).json();
    assert_eq!(
        (&log["transactions"][0]["transaction_id"], &log["transactions"][0]["reverts"]),
        (&json!(undo), &json!(second))
    );
    let ran = here.run(&["undo", &first]);
    assert!(ran.exits(0).stdout.starts_with("undone by 20"), "{ran:?}");
    has(&here, "a", "one\ntwo\n");

    let pruned = here.run(&["history", "prune", "--keep", "1", "--json"]).exits(0).json();
    assert_eq!(pruned["pruned"].as_array().unwrap().len(), 3);
    assert_eq!(ids(&["log", "--json"]).len(), 1);
    here.run(&["undo", &second, "--json"]).exits(2);
}

#[test]
fn a_quiet_workspace_says_so_in_every_answer() {
    let here = two_files();
    let json = |line: &[&str]| {
        let mut answer = here.run(line).exits(0).json();
        assert_eq!(answer.as_object_mut().unwrap().remove("schema_version"), Some(json!(1)));
        answer
    };
    assert_eq!(json(&["status", "--json"]), json!({"success": true, "interrupted": [], "open": [], "kept": []}));
    assert_eq!(json(&["recover", "--json"]), json!({"success": true, "plan": [], "recovered": []}));
    assert_eq!(json(&["recover", "--plan", "--json"]), json!({"success": true, "plan": []}));
    assert_eq!(json(&["kept", "list", "--json"]), json!({"success": true, "kept": []}));
    assert_eq!(json(&["history", "prune", "--json"])["pruned"], json!([]));
    assert!(!here.path().join(".txedit").exists(), "looking leaves nothing behind");
    assert!(here.run(&["status"]).exits(0).stdout.contains("no interrupted transactions"));
    for line in [&["kept", "drop", "x"][..], &["kept", "restore", "x"], &["recover", "x"], &["show", "x"]] {
        let ran = here.run(&[line, &["--json"]].concat());
        assert_eq!(ran.exits(2).json()["error_code"], "UNKNOWN_TRANSACTION", "{line:?}");
    }
}

#[test]
fn a_corrupt_journal_waits_for_a_person() {
    let here = two_files();
    let first = id(&here.run(&["apply", "plan.json", "--json"]).exits(0).json());
    let history = here.path().join(".txedit/history").join(&first);
    let folder = here.path().join(".txedit/txn").join(&first);
    fs::rename(history, &folder).unwrap();
    let done = folder.join("journal.done");
    let mut bytes = fs::read(&done).unwrap();
    bytes[100] ^= 1;
    fs::write(&done, bytes).unwrap();
    let ran = here.run(&["status"]);
    assert!(ran.exits(6).stdout.contains(&first) && ran.stdout.contains("you must decide"), "{ran:?}");
    let json = here.run(&["status", "--json"]).exits(6).json();
    assert_eq!(json["interrupted"][0]["transaction_id"], first);
    let plan = here.run(&["recover", "--plan", "--json"]).exits(6).json();
    assert_eq!((&plan["plan"][0]["required"], &plan["recovered"]), (&json!(true), &Value::Null));
    here.run(&["recover", &first, "--discard"]).exits(0);
    has(&here, "a", "1\n2\n");
    here.run(&["status"]).exits(0);
}

#[test]
fn files_that_another_open_transaction_has_are_named_once_for_each() {
    let here = Workspace::new();
    let names: Vec<String> = (0..12).map(|n| format!("f{n:02}")).collect();
    for name in &names {
        here.write(name, "old");
    }
    let entry = |name: &String| json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]});
    here.write("plan.json", &json!({"files": names.iter().map(entry).collect::<Vec<_>>()}).to_string());
    let first = id(&here.run(&["stage", "plan.json", "--json"]).exits(0).json());
    let second = here.run(&["stage", "plan.json"]);
    let told: Vec<&str> = second.exits(0).stderr.lines().filter(|line| line.contains("open transaction")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&format!("f07 and 4 more are also in open transaction {first}")), "{told:?}");
}
