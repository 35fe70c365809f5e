//! A request that comes once more, and an answer that cannot be printed: what is told is true now.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::{Value, json};
use txedit::Digest;

use super::{Ran, Workspace, run};

fn hash(content: &str) -> Value {
    Digest::of(content.as_bytes()).to_hex().into()
}

fn with_key() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n").write("b", "one\n");
    let edit = |path: &str| json!({ "file_path": path, "edits": [{ "old_string": "one", "new_string": "two" }] });
    here.write("plan.json", &json!({ "idempotency_key": "k", "files": [edit("a"), edit("b")] }).to_string());
    here
}

fn id(json: &Value) -> String {
    json["transaction_id"].as_str().unwrap_or_else(|| panic!("no id: {json}")).to_owned()
}

/// Asks again, and compares what the answer says of `a` and of `b`: in place or not, and the hash there.
#[track_caller]
fn told_again(ran: &Ran, expected: [(bool, &str); 2]) -> Value {
    let json = ran.exits(0).json();
    assert_eq!((&json["success"], &json["already_applied"]), (&json!(true), &json!(true)), "{json}");
    for (file, (in_place, content)) in json["file_results"].as_array().unwrap().iter().zip(expected) {
        assert_eq!((&file["in_place"], &file["hash_after"]), (&json!(in_place), &hash(content)), "{json}");
    }
    json
}

#[test]
fn a_dry_run_says_what_a_key_was_used_for() {
    let here = with_key();
    let dry = |plan: &str| here.run(&["apply", plan, "--dry-run", "--json"]);
    assert_eq!(dry("plan.json").exits(0).json()["already_applied"], Value::Null);
    let first = id(&here.run(&["apply", "plan.json", "--json"]).exits(0).json());
    assert_eq!(id(&told_again(&dry("plan.json"), [(true, "two\n"); 2])), first);
    let other = json!({ "idempotency_key": "k", "files": [{ "file_path": "c", "content": "x" }] });
    here.write("other.json", &other.to_string());
    for answer in [dry("other.json"), here.run(&["apply", "other.json", "--json"])] {
        let json = answer.exits(2).json();
        assert!(json["error"].as_str().unwrap().contains("used for another request"), "{json}");
    }
}

/// The text of a dry run lists what the real request would do, which is nothing, undone or not.
#[test]
fn the_text_of_a_dry_run_with_a_used_key_lists_no_changes() {
    let here = with_key();
    let first = id(&here.run(&["apply", "plan.json", "--json"]).exits(0).json());
    for undone in [false, true] {
        if undone {
            here.run(&["undo"]).exits(0);
        }
        let dry = here.run(&["apply", "plan.json", "--dry-run"]);
        dry.exits(0);
        let lines: Vec<&str> = dry.stdout.lines().collect();
        assert!(lines.len() == 1 && lines[0].starts_with(&format!("committed before, as {first}")), "{lines:?}");
        assert_eq!(lines[0].contains("undone since"), undone);
        assert!(dry.stderr.contains("dry run: nothing to change; nothing was written"), "{}", dry.stderr);
    }
}

#[test]
fn a_repetition_tells_whether_its_files_are_in_place() {
    let here = with_key();
    let apply = || here.run(&["apply", "plan.json", "--json"]);
    let first = id(&apply().exits(0).json());
    let json = told_again(&apply(), [(true, "two\n"); 2]);
    assert_eq!((id(&json), &json["undone_by"], &json["warnings"]), (first.clone(), &Value::Null, &Value::Null));

    let undo = id(&here.run(&["undo", "--json"]).exits(0).json());
    let json = told_again(&apply(), [(false, "one\n"); 2]);
    assert_eq!((id(&json), &json["undone_by"]), (first.clone(), &json!(undo)));
    assert!(json["warnings"][0].as_str().unwrap().contains("undone"), "{json}");
    let people = here.run(&["apply", "plan.json"]);
    assert!(people.exits(0).stdout.contains("undone since") && people.stdout.contains(&undo), "{people:?}");

    let redo = id(&here.run(&["redo", "--json"]).exits(0).json());
    assert_ne!(redo, first);
    assert_eq!(told_again(&apply(), [(true, "two\n"); 2])["undone_by"], Value::Null);

    here.write("b", "somebody else's\n");
    let json = told_again(&apply(), [(true, "two\n"), (false, "somebody else's\n")]);
    assert!(json["warnings"][0].as_str().unwrap().contains("changed since"), "{json}");
    fs::remove_file(here.path().join("b")).unwrap();
    let json = apply().exits(0).json();
    assert_eq!(json["file_results"][1]["in_place"], false);
    assert_eq!(json["file_results"][1]["hash_after"], Value::Null);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "two\n");
}

#[test]
fn a_repetition_without_its_report_still_tells_the_files() {
    let here = with_key();
    let first = id(&here.run(&["apply", "plan.json", "--json"]).exits(0).json());
    fs::remove_file(here.path().join(".txedit/history").join(first).join("report.json")).unwrap();
    told_again(&here.run(&["apply", "plan.json", "--json"]), [(true, "two\n"); 2]);
    here.run(&["undo"]).exits(0);
    told_again(&here.run(&["apply", "plan.json", "--json"]), [(false, "one\n"); 2]);
}

#[test]
fn what_made_a_folder_into_a_file_or_a_file_into_a_folder_is_answered_again() {
    let delete = |path: &str| json!({ "file_path": path, "delete": true });
    let write = |path: &str| json!({ "file_path": path, "content": "new" });
    for files in [[delete("d/x"), write("d")], [delete("f"), write("f/x")]] {
        for key in [true, false] {
            let here = Workspace::new();
            here.write(".git/HEAD", "").write("d/x", "x").write("f", "f");
            let mut plan = json!({ "files": files });
            if key {
                plan["idempotency_key"] = json!("k");
            }
            here.write("plan.json", &plan.to_string());
            let once: &[&str] = if key { &[] } else { &["--idempotent"] };
            let apply = |more: &[&str]| here.run(&[&["apply", "plan.json", "--json"], once, more].concat());
            let first = id(&apply(&[]).exits(0).json());
            for more in [&["--dry-run"][..], &[]] {
                let json = apply(more).exits(0).json();
                assert_eq!((&json["already_applied"], id(&json)), (&json!(true), first.clone()), "{plan} {json}");
                let files = json["file_results"].as_array().unwrap();
                assert!(files.iter().all(|file| file["in_place"] == true), "{json}");
            }
            // What was never done is refused as it was.
            here.write("plan.json", &json!({ "files": files }).to_string());
            let refused = here.run(&["apply", "plan.json", "--json"]);
            assert_ne!(refused.status, Some(0), "{refused:?}");
        }
    }
}

fn staged() -> (Workspace, String) {
    let here = with_key();
    let edit = json!({ "file_path": "a", "edits": [{ "old_string": "one", "new_string": "two" }] });
    here.write("plan.json", &json!({ "files": [edit] }).to_string());
    let open = here.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
    (here, open)
}

#[test]
fn a_repeated_commit_keeps_to_the_plan_that_is_named() {
    let (here, open) = staged();
    let plan = here.run(&["preview", &open, "--json"]).exits(0).json()["plan_hash"].as_str().unwrap().to_owned();
    let commit = |more: &[&str]| here.run(&[&["commit", &open, "--json"], more].concat());
    let first = id(&commit(&["--plan-hash", &plan]).exits(0).json());
    assert_eq!(id(&commit(&["--plan-hash", &plan]).exits(0).json()), first);
    let other = "0".repeat(64);
    assert_eq!(commit(&["--plan-hash", &other]).exits(3).json()["error_code"], "HASH_MISMATCH");
    // A check would have nothing to decide.
    let json = commit(&["--check", "false"]).exits(0).json();
    assert!(json["warnings"][0].as_str().unwrap().contains("check was not run"), "{json}");
    let undo = id(&here.run(&["undo", "--json"]).exits(0).json());
    let json = commit(&[]).exits(0).json();
    assert_eq!((&json["undone_by"], &json["file_results"][0]["in_place"]), (&json!(undo), &json!(false)));
}

#[test]
fn the_id_of_an_open_transaction_is_known_after_its_commit() {
    let (here, open) = staged();
    let first = id(&here.run(&["commit", &open, "--json"]).exits(0).json());
    assert_ne!(open, first);
    assert_eq!(id(&here.run(&["show", &open, "--json"]).exits(0).json()), first);
    assert!(here.run(&["show", &open, "--format", "git"]).exits(0).stdout.contains("+two\n"));
    let log = here.run(&["log", "--json"]).exits(0).json();
    assert_eq!(log["transactions"][0]["opened"], json!(open));
    for line in [&["rollback", &open][..], &["preview", &open], &["stage", "plan.json", "--transaction", &open]] {
        let json = here.run(&[line, &["--json"]].concat()).exits(2).json();
        assert_eq!(json["error_code"], "UNKNOWN_TRANSACTION", "{line:?}");
        assert!(json["error"].as_str().unwrap().contains(&format!("committed, as {first}")), "{line:?}: {json}");
    }
    here.run(&["undo", &open]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    here.run(&["redo", &open]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "two\n");
}

/// The exit status of a run whose result goes to a full disk, and what it says on stderr.
fn to_a_full_disk(here: &Workspace, line: &[&str]) -> (Option<i32>, String) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = here.command(line).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let ran = child.wait_with_output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn what_was_done_is_told_where_the_answer_cannot_be_written() {
    for json in [&[][..], &["--json"]] {
        let here = with_key();
        let full = |line: &[&str]| to_a_full_disk(&here, &[line, json].concat());
        let done = |line: &[&str], word: &str| {
            let (status, told) = full(line);
            assert_eq!(status, Some(8), "{line:?}: {told}");
            assert!(told.contains(word) && told.contains("could not be written"), "{line:?}: {told}");
        };
        let (status, told) = full(&["apply", "plan.json", "--dry-run"]);
        assert_eq!((status, told.contains("committed")), (Some(5), false), "{told}");
        done(&["apply", "plan.json"], "committed");
        let committed = id(&here.run(&["log", "--json"]).json()["transactions"][0]);
        done(&["undo"], "undone by");
        done(&["redo"], "redone by");
        let (status, told) = full(&["log"]);
        assert_eq!((status, told.contains("committed")), (Some(5), false), "{told}");
        assert_eq!(full(&["show", &committed]).0, Some(5));
        assert_eq!(full(&["edit", "a", "--old", "nowhere", "--new", ""]).0, Some(1));
        done(&["edit", "a", "--old", "two", "--new", "three"], "committed");
        done(&["replace", "three", "four"], "committed");
        here.write("open.json", &json!({ "files": [{ "file_path": "new", "content": "x" }] }).to_string());
        done(&["stage", "open.json"], "opened");
        let open = here.run(&["status", "--json"]).json()["open"][0]["transaction_id"].as_str().unwrap().to_owned();
        assert_eq!(full(&["preview", &open]).0, Some(5));
        here.write("more.json", &json!({ "files": [{ "file_path": "more", "content": "" }] }).to_string());
        done(&["stage", "--transaction", &open, "more.json"], "staged in");
        done(&["commit", &open], "committed");
        let open = here.write("plan.json", &json!({ "files": [{ "file_path": "x", "content": "" }] }).to_string());
        let open = open.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
        done(&["rollback", &open], "discarded");
        done(&["history", "prune", "--keep", "0"], "pruned");
        assert_eq!(full(&["history", "prune", "--keep", "0"]).0, Some(5), "nothing was left to prune");
        assert_eq!(full(&["recover"]).0, Some(5), "there was nothing to recover");
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure_of_a_look_but_of_a_commit() {
    let here = with_key();
    here.run(&["apply", "plan.json"]).exits(0);
    let gone = |line: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        run_to(&here, line, writer.into())
    };
    assert_eq!(gone(&["log"]).status, Some(0));
    let ran = gone(&["undo"]);
    assert_eq!(ran.status, Some(8), "{ran:?}");
    assert!(ran.stderr.contains("undone by"), "{ran:?}");
}

fn run_to(here: &Workspace, line: &[&str], stdout: Stdio) -> Ran {
    let mut command = here.command(line);
    let child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn a_closed_stdout_is_an_answer_that_is_not_wanted() {
    // The runtime gives a program that is started without one the null device, which takes everything, opened for reading
    // and writing. That cannot be told from an answer that is not wanted: Python's `DEVNULL` and Node's `ignore` are
    // opened in the same way.
    let here = with_key();
    let line = format!("exec {} apply plan.json >&-", env!("CARGO_BIN_EXE_txedit"));
    let mut shell = std::process::Command::new("sh");
    let ran = run(shell.args(["-c", &line]).current_dir(here.path()).stdin(Stdio::null()));
    ran.exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "two\n");
}

#[test]
fn a_search_with_a_key_is_made_once() {
    let here = with_key();
    let replace = |with: &str, more: &[&str]| {
        here.run(&[&["replace", "one", with, "--idempotency-key", "s", "--json"], more].concat())
    };
    let first = id(&replace("one one", &[]).exits(0).json());
    let json = replace("one one", &[]).exits(0).json();
    assert_eq!((id(&json), &json["already_applied"]), (first, &json!(true)), "{json}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one one\n");
    for more in [&["--hidden"][..], &["--glob", "a"], &["--word"], &["--max-files", "9"], &["a"]] {
        let json = replace("one one", more).exits(2).json();
        assert!(json["error"].as_str().unwrap().contains("used for another request"), "{json}");
    }
    replace("", &["--idempotency-key", ""]).exits(2);
}

#[test]
fn a_program_with_a_key_is_run_once() {
    if !super::view::is_here() {
        return;
    }
    let here = with_key();
    let outside = tempfile::tempdir().unwrap();
    let log = outside.path().join("log");
    let add = |text: &str, more: &[&str]| {
        let script = format!("echo {text} >> {}; echo {text} >> a", log.display());
        here.run(&[&["run", "--idempotency-key", "p", "--json"], more, &["--", "sh", "-c", &script]].concat())
    };
    let first = id(&add("x", &[]).exits(0).json());
    let json = add("x", &[]).exits(0).json();
    assert_eq!((id(&json), &json["already_applied"]), (first, &json!(true)), "{json}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\nx\n");
    for (text, more) in [("y", &[][..]), ("x", &["--only", "a"]), ("x", &["--ignored"])] {
        let json = add(text, more).exits(2).json();
        assert!(json["error"].as_str().unwrap().contains("used for another request"), "{json}");
    }
    here.run(&["undo"]).exits(0);
    assert!(add("x", &[]).exits(0).json()["undone_by"].is_string());
    assert_eq!(fs::read_to_string(&log).unwrap(), "x\n", "it was run once");
    add("x", &["--again"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\nx\n");
    add("x", &["--stage"]).exits(2);
}

#[test]
fn the_answer_names_the_campaign_also_when_it_comes_again() {
    let here = with_key();
    let apply = || here.run(&["apply", "plan.json", "--campaign", "rename", "--json"]).exits(0).json();
    let first = apply();
    let again = apply();
    assert_eq!((&first["campaign"], &again["campaign"]), (&json!("rename"), &json!("rename")));
    assert_eq!(again["already_applied"], true);
    let edit = here.run(&["edit", "a", "--old", "two", "--new", "three", "--campaign", "other", "--json"]);
    assert_eq!(edit.exits(0).json()["campaign"], "other");
}

/// Three at once, again and again: one does it, and the others are told what it did.
#[test]
fn of_several_programs_with_a_key_each_gets_the_answer() {
    if !super::view::is_here() {
        return;
    }
    for _ in 0..6 {
        let here = Workspace::new();
        here.write(".git/HEAD", "");
        let names: Vec<String> = (0..6).map(|number| format!("f{number}")).collect();
        for name in &names {
            here.write(name, "greet\n");
        }
        let line = ["run", "--idempotency-key", "k", "--json", "--", "sh", "-c", "sed -i s/greet/greetgreet/ f*"];
        let start = || here.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let ran = [start(), start(), start()].map(|child| Ran::from(child.wait_with_output().unwrap()));
        let ids: std::collections::BTreeSet<String> = ran.iter().map(|ran| id(&ran.exits(0).json())).collect();
        assert_eq!(ids.len(), 1, "{ran:?}");
        assert!(names.iter().all(|name| fs::read_to_string(here.path().join(name)).unwrap() == "greetgreet\n"));
    }
}

#[test]
fn nothing_is_made_again_without_a_key() {
    let here = with_key();
    here.run(&["replace", "one", "two", "--again", "--json"]).exits(2);
    here.run(&["run", "--again", "--json", "--", "true"]).exits(2);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
}
