//! The check gate: a command decides, with the new files in place, whether they stay.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Ran, Workspace, run, wait_for};

use crate::support::is_without;

/// Two files to be edited, one to be created, one to be deleted.
fn workspace() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n").write("sub/b", "two\n").write("old", "old\n");
    let plan = json!({"files": [
        {"file_path": "a", "edits": [{"old_string": "one", "new_string": "1"}]},
        {"file_path": "sub/b", "edits": [{"old_string": "two", "new_string": "2"}]},
        {"file_path": "new/c", "content": "three\n"},
        {"file_path": "old", "delete": true}]});
    here.write("plan.json", &plan.to_string());
    here
}

const OLD: [(&str, Option<&str>); 4] =
    [("a", Some("one\n")), ("sub/b", Some("two\n")), ("new/c", None), ("old", Some("old\n"))];
const NEW: [(&str, Option<&str>); 4] =
    [("a", Some("1\n")), ("sub/b", Some("2\n")), ("new/c", Some("three\n")), ("old", None)];

#[track_caller]
fn holds(here: &Workspace, files: &[(&str, Option<&str>)]) {
    for (name, content) in files {
        assert_eq!(fs::read_to_string(here.path().join(name)).ok().as_deref(), *content, "{name}");
    }
}

fn apply(here: &Workspace, check: &str) -> Ran {
    here.run(&["apply", "plan.json", "--json", "--check", check])
}

#[track_caller]
fn failed(ran: &Ran) -> Value {
    let json = ran.exits(7).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CHECK_FAILED"), &json!("rolled_back")), "{json}");
    json
}

#[test]
fn a_mode_that_was_given_while_the_check_ran_stays_when_it_fails() {
    let here = workspace();
    let mode = |name: &str| fs::metadata(here.path().join(name)).unwrap().mode() & 0o7777;
    assert_ne!((mode("a"), mode("sub/b")), (0o600, 0o600));
    failed(&apply(&here, "chmod 600 a; chmod 600 sub/b; echo more >> sub/b; exit 1"));
    holds(&here, &OLD);
    assert_eq!((mode("a"), mode("sub/b")), (0o600, 0o600), "nobody can read again what was closed to them");
}

#[test]
fn a_check_does_not_know_the_token_of_the_server() {
    let here = workspace();
    let check = "env | grep TOKENTOKEN || echo none; test -n \"$OTHER\" && exit 1";
    let mut command = here.command(&["apply", "plan.json", "--json", "--check", check]);
    let ran = run(command.env("TXEDIT_MCP_TOKEN", "TOKENTOKENTOKENTOKEN").env("OTHER", "x"));
    assert_eq!(failed(&ran)["context"]["check"]["output"], "none\n");
}

#[test]
fn a_check_that_moves_a_folder_has_not_passed() {
    let here = workspace();
    let ran = apply(&here, "mv sub elsewhere; mkdir sub");
    let json = ran.exits(3).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CONCURRENT_MODIFICATION"), &json!("rolled_back")));
    holds(&here, &OLD);
}

#[test]
fn a_check_that_moves_the_state_folder_is_told_that_its_undo_record_went_with_it() {
    let here = workspace();
    let json = apply(&here, "mv .txedit away").exits(0).json();
    holds(&here, &NEW);
    let id = json["transaction_id"].as_str().unwrap();
    let told = json["warnings"].as_array().unwrap().iter().filter_map(Value::as_str);
    let told = told.filter(|told| told.contains("is no longer the folder in which") && told.contains(id));
    assert_eq!(told.count(), 1, "{json}");
    here.run(&["undo", id]).exits(2);
    // It is true of the other way, too: once the folder is back, the undo is.
    fs::rename(here.path().join("away"), here.path().join(".txedit")).unwrap();
    here.run(&["undo", id]).exits(0);
    holds(&here, &OLD);
}

#[test]
fn a_check_sees_the_new_files_and_its_success_commits() {
    let here = workspace();
    let ran = apply(&here, "cat a sub/b new/c; test ! -e old; echo to stderr >&2");
    let json = ran.exits(0).json();
    holds(&here, &NEW);
    let printed = "1\n2\nthree\nto stderr\n";
    assert!(ran.stderr.starts_with(printed), "it is shown as it comes: {ran:?}");
    assert_eq!((&json["check"]["ended"], &json["check"]["output"]), (&json!("passed"), &json!(printed)));
    let log = here.run(&["log", "--json"]).exits(0).json();
    assert_eq!(log["transactions"][0]["check"]["output"], json!(printed), "{log}");
    here.run(&["undo"]).exits(0);
    holds(&here, &OLD);
}

#[test]
fn a_check_that_fails_rolls_everything_back_with_fresh_times() {
    let here = workspace();
    let before = fs::metadata(here.path().join("a")).unwrap();
    Command::new("touch").args(["-d", "2020-01-01", "a", "old"]).current_dir(here.path()).status().unwrap();
    let json = failed(&apply(&here, "echo no good; exit 3"));
    holds(&here, &OLD);
    assert_eq!(json["context"]["check"]["ended"], "exit status: 3");
    assert_eq!(json["context"]["check"]["output"], "no good\n");
    for name in ["a", "old"] {
        let after = fs::metadata(here.path().join(name)).unwrap();
        assert!(after.mtime() >= before.mtime(), "a build would trust what it made of the rejected {name}");
    }
    assert!(!here.path().join("new").exists());
    assert_eq!(here.run(&["log", "--json"]).exits(0).json()["transactions"], json!([]));
    assert!(here.run(&["kept", "list", "--json"]).exits(0).json()["kept"].as_array().unwrap().is_empty());
}

#[test]
fn a_check_that_rewrites_the_files_and_passes_has_its_way() {
    let here = workspace();
    let json = apply(&here, "echo formatted > a; printf 'also\\n' > f && mv f new/c").exits(0).json();
    holds(&here, &[("a", Some("formatted\n")), ("sub/b", Some("2\n")), ("new/c", Some("also\n")), ("old", None)]);
    let results = json["file_results"].as_array().unwrap();
    for (index, content, is_told) in [(0, "formatted\n", true), (1, "2\n", false), (2, "also\n", true)] {
        assert_eq!(results[index]["hash_after"], blake3::hash(content.as_bytes()).to_hex().to_string());
        assert_eq!(results[index]["warnings"].is_array(), is_told, "{}", results[index]);
    }
}

#[test]
fn a_check_that_rewrites_the_files_and_fails_goes_back_too() {
    let here = workspace();
    let script = "echo formatted > a; printf 'also\\n' > f && mv f new/c; echo back > old; rm sub/b; exit 1";
    let json = failed(&apply(&here, script));
    holds(&here, &OLD);
    let kept = json["kept"].as_array().unwrap();
    let contents: Vec<String> =
        kept.iter().map(|kept| fs::read_to_string(kept["kept_path"].as_str().unwrap()).unwrap()).collect();
    assert_eq!(contents.len(), 3, "{json}");
    for content in ["formatted\n", "also\n", "back\n"] {
        assert!(contents.iter().any(|kept| kept == content), "{content:?} is not kept: {json}");
    }
    let listed = here.run(&["kept", "list", "--json"]).exits(0).json();
    assert_eq!(listed["kept"][0]["contents"].as_array().unwrap().len(), 3, "{listed}");
}

#[test]
fn what_a_check_adds_to_a_new_folder_is_left_alone() {
    let here = workspace();
    let json = failed(&apply(&here, "echo mine > new/object; exit 1"));
    holds(&here, &[("a", Some("one\n")), ("new/object", Some("mine\n")), ("new/c", None)]);
    assert!(json["kept"][0]["reason"].as_str().unwrap().contains("not empty"), "{json}");
}

#[test]
fn a_check_that_takes_too_long_is_stopped() {
    let here = workspace();
    let ran =
        here.run(&["apply", "plan.json", "--json", "--check-timeout", "0.2", "--check", "echo started; sleep 60"]);
    let json = failed(&ran);
    holds(&here, &OLD);
    assert!(json["error"].as_str().unwrap().contains("too long"), "{json}");
    let ran = here.run(&["apply", "plan.json", "--json", "--check", "no-such-program-at-all"]);
    failed(&ran);
    here.run(&["apply", "plan.json", "--check-timeout", "-1", "--check", "true"]).exits(2);
}

#[test]
fn a_check_that_wants_its_own_files_locked_is_refused_at_once() {
    let here = workspace();
    let program = env!("CARGO_BIN_EXE_txedit");
    let started = Instant::now();
    let script = format!("{program} edit a --old 1 --new 2; echo status $?; {program} edit e/x --old x --new y");
    here.write("e/x", "x\n");
    let json = apply(&here, &script).exits(0).json();
    assert!(json["check"]["output"].as_str().unwrap().contains("status 4"), "{json}");
    assert!(started.elapsed() < Duration::from_secs(8), "it waited for itself");
    holds(&here, &[("a", Some("1\n")), ("e/x", Some("y\n"))]);
}

/// Starts a commit whose check says that it is ready, and waits for that.
fn with_check(here: &Workspace, check: &str) -> Child {
    let mut command = here.command(&["apply", "plan.json", "--json", "--check", check]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(|| here.path().join("ready").exists());
    child
}

/// What a check may do to be left alone. Each runs `$SCRIPT`, and is given what it writes to.
const ESCAPES: [(&str, &str); 5] = [
    ("in the background", "sh -c \"$SCRIPT\" &"),
    ("in a session of its own", "setsid sh -c \"$SCRIPT\" &"),
    ("as nobody's child", "(setsid sh -c \"$SCRIPT\" &) &"),
    ("deaf to a terminal that closes", "nohup setsid sh -c \"$SCRIPT\" > /dev/null 2>&1 &"),
    ("without its environment", "setsid env -i /bin/sh -c \"$SCRIPT\" &"),
];

#[test]
fn nothing_that_a_check_starts_outlives_it() {
    // Long enough for a machine that is busy elsewhere to come to the end of the check before.
    let late = "trap '' HUP TERM; touch started; sleep 4; echo late > a; echo late > late";
    let start = |escape: &str| format!("SCRIPT={late:?}; {escape}\n while [ ! -e started ]; do sleep 0.01; done");
    let mut all = Vec::new();
    for (how, escape) in ESCAPES {
        for status in [0, 1] {
            let here = workspace();
            let ran = apply(&here, &format!("{}; exit {status}", start(escape)));
            ran.exits(if status == 0 { 0 } else { 7 });
            holds(&here, if status == 0 { &NEW } else { &OLD });
            all.push((how, status, here));
        }
    }
    std::thread::sleep(Duration::from_secs(5));
    for (how, status, here) in all {
        assert!(!here.path().join("late").exists(), "what ran {how} outlived a check that ended with {status}");
        holds(&here, if status == 0 { &NEW } else { &OLD });
    }
}

#[test]
fn a_process_that_ended_its_first_thread_ends_with_the_check() {
    const LATE: &str = "\
import ctypes, os, threading, time
if os.fork():
    os._exit(0)
os.setsid()
def late():
    open('started', 'w').close()
    time.sleep(1.5)
    open('late', 'w').close()
threading.Thread(target=late).start()
SYS_exit = {'x86_64': 60, 'aarch64': 93}[os.uname().machine]
ctypes.CDLL(None).syscall(SYS_exit, 0)
";
    if crate::support::mounts::run("python3", ["--version"]).is_err() {
        eprintln!("skipped: python3 is missing");
        return;
    }
    let all = [0, 1].map(|status| {
        let here = workspace();
        here.write("late.py", LATE);
        let wait = "while [ ! -e started ]; do sleep 0.01; done; sleep 0.1";
        let ran = apply(&here, &format!("python3 late.py; {wait}; exit {status}"));
        ran.exits(if status == 0 { 0 } else { 7 });
        here
    });
    std::thread::sleep(Duration::from_secs(2));
    for here in all {
        assert!(!here.path().join("late").exists());
    }
}

#[test]
fn a_kill_during_the_check_waits_for_its_end_and_rolls_back() {
    if is_without("table of locks, which tells who holds one") {
        return;
    }
    for (how, escape) in ESCAPES {
        let here = workspace();
        let late = "touch ready; until [ -e end ]; do sleep 0.02; done; echo late > a";
        let check = format!("echo $$ > shell; SCRIPT={late:?}; {escape}\n while :; do sleep 0.05; done");
        let mut child = with_check(&here, &check);
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        // The check itself goes, too; what it started stays.
        let shell = fs::read_to_string(here.path().join("shell")).unwrap().trim().parse().unwrap();
        kill_process(Pid::from_raw(shell).unwrap(), Signal::KILL).unwrap();
        let json = here.run(&["recover", "--json"]).exits(0).json();
        assert_eq!(json["recovered"][0]["action"], "running", "{how}: {json}");
        let reason = json["recovered"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("process ") && reason.contains("end it"), "{how}: {reason}");
        // A user who names it has not got what they asked for.
        let id = json["recovered"][0]["transaction_id"].as_str().unwrap();
        here.run(&["recover", id, "--back"]).exits(4);
        let json = here.run(&["status", "--json"]).exits(0).json();
        assert_eq!(json["interrupted"][0]["running"], true, "{how}: {json}");
        let edit = ["edit", "a", "--old", "1", "--new", "2", "--lock-timeout", "0.1", "--json"];
        let json = here.run(&edit).exits(4).json();
        assert!(json["error"].as_str().unwrap().contains("process "), "{how}: {json}");
        holds(&here, &NEW);
        here.write("end", "");
        let json = loop {
            let json = here.run(&["recover", "--json"]).exits(0).json();
            if json["recovered"][0]["action"] != "running" {
                break json;
            }
        };
        assert_eq!(json["recovered"][0]["action"], "rolled_back", "{how}: {json}");
        assert_eq!(json["recovered"][0]["kept"].as_array().unwrap().len(), 1, "{how}: {json}");
        holds(&here, &OLD);
    }
}

#[test]
fn a_terminal_that_closes_stops_the_check_like_an_interrupt() {
    for signal in [Signal::HUP, Signal::TERM] {
        let here = workspace();
        let child = with_check(&here, "touch ready; sleep 60");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let json = Ran::from(child.wait_with_output().unwrap()).exits(130).json();
        assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CANCELLED"), &json!("rolled_back")));
        holds(&here, &OLD);
    }
    // Who said that it is to go on has it go on.
    let here = workspace();
    let check = "touch ready; until [ -e end ]; do sleep 0.02; done";
    let mut command = Command::new("nohup");
    let txedit = here.command(&["apply", "plan.json", "--json", "--check", check]);
    command.arg(txedit.get_program()).args(txedit.get_args()).current_dir(here.path()).stdin(Stdio::null());
    command.envs(txedit.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(|| here.path().join("ready").exists());
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    here.write("end", "");
    Ran::from(child.wait_with_output().unwrap()).exits(0);
    holds(&here, &NEW);
}

#[test]
fn an_interrupt_stops_the_check_and_everything_goes_back() {
    let here = workspace();
    let mut command = here.command(&["apply", "plan.json", "--json", "--check", "touch ready; sleep 60"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(|| here.path().join("ready").exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let json = Ran::from(child.wait_with_output().unwrap()).exits(130).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CANCELLED"), &json!("rolled_back")));
    holds(&here, &OLD);
}

#[test]
fn a_check_that_a_plan_names_runs_only_where_that_is_allowed() {
    let here = workspace();
    let plan = json!({"check": ["touch", "ran"], "files": [{"file_path": "a", "delete": true}]});
    here.write("evil.json", &plan.to_string());
    for dry_run in [&[][..], &["--dry-run"]] {
        let ran = here.run(&[&["apply", "evil.json", "--json"], dry_run].concat());
        let json = ran.exits(2).json();
        assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CHECKS_NOT_ALLOWED"), &json!("unchanged")));
        let words = json["error"].as_str().unwrap();
        assert!(words.contains("touch ran") && words.contains("--allow-checks"), "{words}");
    }
    here.run(&["apply", "evil.json", "--check", "true"]).exits(2);
    holds(&here, &OLD);
    assert!(!here.path().join("ran").exists() && !here.path().join(".txedit").exists());
    here.run(&["apply", "evil.json", "--allow-checks"]).exits(0);
    assert!(here.path().join("ran").exists());
}

#[test]
fn the_check_of_the_operator_runs_before_that_of_the_plan() {
    let here = workspace();
    let plan = json!({"check": ["sh", "-c", "echo plan >> ran"], "files": [{"file_path": "a", "delete": true}]});
    here.write("plan.json", &plan.to_string());
    here.run(&["apply", "plan.json", "--allow-checks", "--check", "echo operator >> ran; false"]).exits(7);
    holds(&here, &[("ran", Some("operator\n")), ("a", Some("one\n"))]);
    here.run(&["apply", "plan.json", "--allow-checks", "--check", "echo operator >> ran"]).exits(0);
    holds(&here, &[("ran", Some("operator\noperator\nplan\n")), ("a", None)]);
}

#[test]
fn no_command_that_writes_goes_without_the_check() {
    let here = workspace();
    let refused = |line: &[&str]| {
        let ran = here.run(&[line, &["--check", "echo seen >> seen; false"]].concat());
        ran.exits(7);
    };
    refused(&["replace", "one", "1", "a"]);
    refused(&["edit", "a", "--old", "one", "--new", "1"]);
    holds(&here, &OLD);
    apply(&here, "true").exits(0);
    refused(&["undo"]);
    holds(&here, &[("a", Some("1\n")), ("seen", Some("seen\nseen\nseen\n"))]);
    here.run(&["undo"]).exits(0);
    refused(&["redo"]);
    holds(&here, &OLD);
    let id = here.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
    refused(&["commit", &id]);
    holds(&here, &OLD);
}

const FORMATS: &str = "echo formatted >> a; chmod 600 a";

fn formatted(more: &[&str]) -> (Workspace, Value) {
    let here = Workspace::new();
    here.write("a", "hello\n");
    let line = [&["--json", "--check", FORMATS], more, &["edit", "a", "--old", "hello", "--new", "bye"]].concat();
    let done = here.run(&line).exits(0).json();
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "bye\nformatted\n");
    (here, done)
}

#[test]
fn what_a_check_made_of_a_file_is_undone_with_it() {
    let (here, done) = formatted(&[]);
    let id = done["transaction_id"].as_str().unwrap();
    let shown = here.run(&["show", id]);
    assert!(shown.exits(0).stdout.contains("+formatted"), "{}", shown.stdout);
    let undo = here.run(&["undo", "--json"]).exits(0).json();
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "hello\n");
    let file = &undo["file_results"][0];
    assert_eq!(file["hash_before"], done["file_results"][0]["hash_after"], "{undo}");
    // Nothing is lost: a redo has it again, with its mode.
    here.run(&["redo"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "bye\nformatted\n");
    assert_eq!(fs::metadata(here.path().join("a")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_another_program_writes_after_the_check_is_a_conflict() {
    let (here, _) = formatted(&[]);
    here.write("a", "bye\nformatted, and more\n");
    here.run(&["undo"]).exits(3);
    here.write("a", "bye\n");
    here.run(&["undo"]).exits(3);
}

#[test]
fn a_commit_whose_check_formatted_is_in_place_when_it_is_sent_again() {
    let here = Workspace::new();
    here.write("a", "hello\n");
    here.write("plan", r#"{"files": [{"file_path": "a", "edits": [{"old_string": "hello", "new_string": "bye"}]}]}"#);
    let line = ["--json", "--check", FORMATS, "apply", "--idempotent", "plan"];
    let first = here.run(&line).exits(0).json();
    let again = here.run(&line).exits(0).json();
    assert_eq!(again["already_applied"], true, "{again}");
    let file = &again["file_results"][0];
    assert_eq!((&file["in_place"], &file["hash_after"]), (&json!(true), &first["file_results"][0]["hash_after"]));
}

#[test]
fn a_formatter_that_changes_nothing_does_not_keep_a_file_from_going_back() {
    for ends in ["exit 1", "kill -9 $PPID"] {
        let here = Workspace::new();
        here.write("a", "hello\n").write("b", "hello\n");
        let check = format!("cp a a.tmp; mv a.tmp a; {ends}");
        here.run(&["--check", &check, "replace", "hello", "bye"]);
        // The check of a killed process is ended, or ends, before it is recovered.
        let recovered = here.run(&["recover"]);
        recovered.exits(0);
        for name in ["a", "b"] {
            assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), "hello\n", "{ends}: {}", recovered.stdout);
        }
    }
}

/// The new content of what a check moved away is not the transaction's any more: it stays, and is told where it is.
#[test]
fn a_new_file_that_went_away_with_its_folder_is_told_where_it_is() {
    for (check, place) in [
        ("mv sub moved; false", "moved/b"),
        ("mkdir -p in && mv sub in/other && mkdir sub; false", "in/other/b"),
        ("mv sub moved", "moved/b"),
    ] {
        let here = workspace();
        let ran = apply(&here, check);
        let json = ran.json();
        assert_eq!(json["outcome"], "rolled_back", "{json}");
        holds(&here, &OLD);
        let there = here.path().join(place);
        assert_eq!(fs::read_to_string(&there).unwrap(), "2\n");
        let told = format!("{} has the new content", there.display());
        assert!(json["warnings"][0].as_str().is_some_and(|warning| warning.starts_with(&told)), "{json}");
    }
    // What was removed with its folder is nowhere.
    let here = workspace();
    let json = apply(&here, "rm -r sub; false").json();
    assert!(json["outcome"] == "rolled_back" && json.get("warnings").is_none(), "{json}");
    holds(&here, &OLD);
}
