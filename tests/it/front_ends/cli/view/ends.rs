//! A view ends with its program: no process, mount or folder stays behind.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{APPLY, OLD, Ran, checked, command, ended, holds, is_here, nothing_stays, started, wait_for, workspace};

/// Returns whether a process with this in its command line runs.
fn runs(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        fs::read(entry.path().join("cmdline")).ok()
    });
    processes.into_iter().any(|line| String::from_utf8_lossy(&line).contains(mark))
}

#[test]
fn daemons_end_with_it() {
    if !is_here() {
        return;
    }
    let here = workspace();
    // In a session of its own, with nothing that it inherited.
    let daemon = "setsid env -i sleep 6121 < /dev/null > /dev/null 2>&1 & (sleep 6122 &) ; true";
    let json = checked(&here, &APPLY, daemon).exits(0).json();
    assert_eq!(json["check"]["in"], json!("view"), "{json}");
    assert!(!runs("sleep\u{0}6121") && !runs("sleep\u{0}6122"));
    nothing_stays(&here);
}

#[test]
fn the_end_of_a_check_is_told_as_it_was() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let by_signal = checked(&here, &APPLY, "kill -9 $$").exits(7).json();
    assert!(by_signal["error"].as_str().unwrap().contains("signal: 9"), "{by_signal}");
    let by_status = checked(&here, &APPLY, "exit 42").exits(7).json();
    assert!(by_status["error"].as_str().unwrap().contains("exit status: 42"), "{by_status}");
    let missing = checked(&here, &APPLY, "exec no-such-program").exits(7).json();
    assert!(missing["error"].as_str().unwrap().contains("127"), "{missing}");
    let mut program = command(&here, &APPLY, "trap '' TERM; while :; do sleep 0.1; done");
    let ran = Ran::from(program.args(["--check-timeout", "0.3"]).output().unwrap());
    let late = ran.exits(7).json();
    assert!(late["error"].as_str().unwrap().contains("took too long"), "{late}");
    holds(&here, &OLD);
    nothing_stays(&here);
}

#[test]
fn a_signal_stops_the_check_and_changes_nothing() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let check = "touch through/began; sleep 6123";
    let mut program = command(&here, &APPLY, check);
    let child = started(program.args(["--through", "through"]));
    wait_for(|| here.path().join("through/began").exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let json = ended(child).exits(130).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CANCELLED"), &json!("unchanged")), "{json}");
    fs::remove_dir_all(here.path().join("through")).unwrap();
    holds(&here, &OLD);
    assert!(!runs("sleep\u{0}6123"));
    nothing_stays(&here);
}

#[test]
fn a_killed_txedit_takes_its_view_with_it_and_the_next_command_sweeps() {
    if !is_here() {
        return;
    }
    let here = workspace();
    // A folder to which the program has no rights is deleted, too.
    let check = "mkdir -p made/shut; touch made/shut/f; chmod 0 made/shut; touch through/began; sleep 6124";
    let mut program = command(&here, &APPLY, check);
    program.args(["--through", "through"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = program.spawn().unwrap();
    wait_for(|| here.path().join("through/began").exists());
    wait_for(|| runs("sleep\u{0}6124"));
    child.kill().unwrap();
    child.wait().unwrap();
    // The holder waits for the end of all others.
    let holder = format!("view-of-txedit\u{0}hold\u{0}{}", here.path().display());
    wait_for(|| !runs("sleep\u{0}6124") && !runs(&holder));
    fs::remove_dir_all(here.path().join("through")).unwrap();
    holds(&here, &OLD);
    let left = fs::read_dir(here.path().join(".txedit/view")).unwrap().count();
    assert_eq!(left, 1, "its layers are still there");
    std::thread::sleep(Duration::from_millis(20));
    here.run(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    nothing_stays(&here);
}
