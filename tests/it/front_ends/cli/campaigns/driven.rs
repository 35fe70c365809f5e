//! The process that makes the attempts is killed, again and again.

use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{NEW, OLD, all_are, campaign, contents, numbers, planned, reports};

const REPOSITORIES: usize = 40;

/// A number that looks random.
fn chance(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % below
}

/// Killed 50 times at random moments, half of them with everything that it started.
#[test]
fn a_driver_that_is_killed_comes_to_the_same_end() {
    let here = planned(REPOSITORIES);
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for (task, expected) in [("run", NEW), ("undo", OLD)] {
        for kill in 0..25 {
            let mut command = here.command(&["campaign", task, "c", "--jobs", "2"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
            let mut driver = command.spawn().unwrap();
            thread::sleep(Duration::from_millis(5 + chance(&mut state, 60)));
            if kill % 2 == 0 {
                kill_process(Pid::from_child(&driver), Signal::KILL).unwrap();
            } else {
                kill_process_group(Pid::from_child(&driver), Signal::KILL).ok();
            }
            driver.wait().unwrap();
            // A repository is in between only until the next call on it.
            let files = contents(&here, &format!("{:02}", kill % REPOSITORIES));
            assert!(files.iter().all(|file| file == OLD || file == NEW), "{files:?}");
        }
        // A process that the driver left may still be at work.
        let ended = campaign(&here, &[task, "--jobs", "2"]);
        let ended = if ended.status == Some(0) {
            ended
        } else {
            campaign(&here, &[if task == "run" { "retry" } else { "undo" }])
        };
        let ended = ended.exits(0).json();
        let word = if task == "run" { "done" } else { "undone" };
        assert_eq!(numbers(&ended), format!("{REPOSITORIES} {word}"));
        all_are(&here, expected);
    }
}

#[test]
fn an_interrupt_ends_it_after_what_is_at_work() {
    let here = planned(REPOSITORIES);
    let mut command = here.command(&["campaign", "run", "c", "--jobs", "2", "--rate", "20", "--json"]);
    let driver = command.stdout(Stdio::piped()).spawn().unwrap();
    super::super::wait_for(|| reports(&here).len() > 2);
    kill_process(Pid::from_child(&driver), Signal::INT).unwrap();
    let ran = super::Ran::from(driver.wait_with_output().unwrap());
    let told = ran.exits(130).json();
    assert_eq!(told["stopped"], "it was interrupted");
    assert_eq!(told["unreported"].as_u64().unwrap() + told["done"].as_u64().unwrap(), REPOSITORIES as u64, "{told}");
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), format!("{REPOSITORIES} done"));
    all_are(&here, NEW);
}

/// The file of reports that is the newest.
fn newest(here: &super::Workspace) -> std::path::PathBuf {
    let entries = std::fs::read_dir(here.path().join("c/reports")).unwrap();
    entries.map(|entry| entry.unwrap().path()).max().unwrap()
}

/// Leaves of the newest reports only that an attempt was begun, as a kill does after its commit.
fn cut_off(here: &super::Workspace) {
    let path = newest(here);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begun, _) = text.split_once('\n').unwrap();
    assert!(begun.contains("\"begun\""), "{text}");
    std::fs::write(&path, format!("{begun}\n")).unwrap();
}

#[test]
fn what_is_begun_again_and_not_reported_may_have_come_to_any_end() {
    let here = planned(1);
    let told = |line: &[&str], status: i32| numbers(&campaign(&here, line).exits(status).json());
    assert_eq!(told(&["run"], 0), "1 done");
    // An undo that is made, and not reported.
    assert_eq!(told(&["undo"], 0), "1 undone");
    cut_off(&here);
    assert_eq!(told(&["status"], 1), "1 unreported");
    assert_eq!(told(&["run"], 0), "1 undone");
    all_are(&here, OLD);
    // What is done again, and not reported.
    assert_eq!(told(&["run", "--again"], 0), "1 done");
    cut_off(&here);
    assert_eq!(told(&["status"], 1), "1 unreported");
    assert_eq!(told(&["undo"], 0), "1 undone");
    all_are(&here, OLD);
    // A retry that is made, and not reported.
    here.write("repos/00/a.rs", "other\n");
    assert_eq!(told(&["run", "--again"], 1), "1 failed");
    here.write("repos/00/a.rs", OLD);
    assert_eq!(told(&["retry", "--failed"], 0), "1 undone");
    assert_eq!(told(&["run", "--again"], 0), "1 done");
}

#[test]
fn an_undo_leaves_what_was_never_done_to_be_done() {
    let here = planned(3);
    here.write("repos/01/a.rs", "other\n");
    campaign(&here, &["work", "0", "1"]).exits(1);
    let undone = campaign(&here, &["undo"]).exits(0).json();
    assert_eq!(numbers(&undone), "1 undone, 2 unreported");
    here.write("repos/01/a.rs", OLD);
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "2 done, 1 undone");
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_what_was_done_is_done() {
    let here = planned(2);
    std::fs::create_dir(here.path().join("c/reports")).unwrap();
    let mount =
        "mount -t tmpfs -o size=8k tmpfs c/reports && dd if=/dev/zero of=c/reports/fill bs=4k count=2 2>/dev/null";
    let Some(ran) = here.run_mounted(mount, &["campaign", "run", "c", "--jobs", "1", "--json"]) else { return };
    let told = ran.exits(5).json();
    assert!(told["stopped"].as_str().unwrap().contains("could not be reported"), "{told}");
    assert_eq!((numbers(&told), contents(&here, "00").contains(NEW)), ("2 unreported".into(), true));
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "2 done");
}

#[test]
fn a_crafted_report_does_not_count() {
    let here = planned(1);
    campaign(&here, &["run"]).exits(0);
    let line = std::fs::read_to_string(newest(&here)).unwrap();
    let crafted = line.replace("\"round\":1", "\"round\":4294967295").replace("\"done\"", "\"failed\"");
    here.write("c/reports/zz.jsonl", &format!("{crafted}{}\n{{}}\n", "\0".repeat(2 << 20)));
    let status = campaign(&here, &["status"]).exits(0).json();
    assert_eq!((numbers(&status), &status["damaged_reports"]), ("1 done".into(), &serde_json::json!(3)));
}

/// A run and an undo at once: one is refused, or they come one after the other; what is told is what is there.
#[test]
fn no_two_kinds_of_work_are_done_at_once() {
    let here = planned(3);
    let start = |line: &[&str]| {
        let mut command = here.command(&[&["campaign", line[0], "c", "--json"], &line[1..]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut refused = 0;
    for (one, other) in
        [(&["run"][..], &["undo"][..]), (&["run", "--again"], &["undo"]), (&["run", "--again"], &["run"])]
    {
        for _ in 0..5 {
            let ran = [start(one), start(other)].map(|child| super::Ran::from(child.wait_with_output().unwrap()));
            refused += ran.iter().filter(|ran| ran.status == Some(4)).count();
            let status = campaign(&here, &["status"]).json();
            for index in 0..3 {
                let name = format!("{index:02}");
                let told = campaign(&here, &["report"]).exits(0).json();
                let of_it =
                    told["reports"].as_array().unwrap().iter().find(|one| one["name"] == format!("repos/{name}"));
                let outcome = of_it.map_or("unreported", |one| one["outcome"].as_str().unwrap());
                let expected = match outcome {
                    "done" => NEW,
                    "undone" => OLD,
                    _ => continue,
                };
                assert_eq!(contents(&here, &name), [expected.to_owned()].into(), "{outcome}: {status}");
            }
        }
    }
    // How many depends on how busy the machine is.
    assert!(refused > 0, "none of them were at work at once");
}

/// While a process is at work that a killed driver had started, no other kind of work begins.
#[test]
fn what_a_killed_driver_left_at_work_is_waited_for() {
    let here = super::repositories(1);
    let line = ["--workspaces", "repos/*", "--replace", "greet()", "hello(greet())", "--check", "sleep 1"];
    super::new(&here, &line).exits(0);
    let mut driver = here.command(&["campaign", "run", "c"]).stdout(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_millis(400));
    driver.kill().unwrap();
    driver.wait().unwrap();
    let refused = campaign(&here, &["undo"]).exits(4).json();
    assert_eq!((&refused["error_code"], &refused["retryable"]), (&"LOCK_TIMEOUT".into(), &true.into()));
    super::super::wait_for(|| campaign(&here, &["undo"]).status == Some(0));
    all_are(&here, OLD);
    assert_eq!(numbers(&campaign(&here, &["status"]).exits(0).json()), "1 undone");
}

#[test]
fn an_attempt_without_an_answer_is_unreported() {
    let here = super::repositories(1);
    // The check kills the program that started it.
    let line = ["--workspaces", "repos/*", "--replace", "greet()", "hello(greet())", "--check", "kill -9 $PPID"];
    super::new(&here, &line).exits(0);
    let told = campaign(&here, &["run"]).exits(1).json();
    assert_eq!((numbers(&told), &told["failures"]), ("1 unreported".into(), &serde_json::json!([])));
    assert_eq!(reports(&here).len(), 0);
    let lines = std::fs::read_to_string(newest(&here)).unwrap();
    assert!(lines.contains("NO_ANSWER"), "{lines}");
    // It was killed in its check: the next call rolls it back, once that has ended, too.
    super::super::wait_for(|| {
        here.run(&["-C", "repos/00", "recover"]).exits(0);
        contents(&here, "00") == [OLD.to_owned()].into()
    });
}

/// A report that was cut off says nothing, and those before it nothing any more.
#[test]
fn a_begun_attempt_that_was_cut_off_may_have_come_to_any_end() {
    let here = planned(1);
    campaign(&here, &["run"]).exits(0);
    campaign(&here, &["undo"]).exits(0);
    campaign(&here, &["run", "--again"]).exits(0);
    let path = newest(&here);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..40]).unwrap();
    assert_eq!(numbers(&campaign(&here, &["status"]).exits(1).json()), "1 unreported");
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "1 done");
}
