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
