//! `txedit doctor --torture`: real kills; here a few, and one torture that must fail.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Ran, Workspace, run};

/// Kills where nothing else is asked for.
const KILLS: &str = "40";

#[test]
fn killed_commits_are_whole_or_not_there() {
    let here = Workspace::new();
    let kills = std::env::var("TXEDIT_TEST_KILLS").unwrap_or_else(|_| KILLS.to_owned());
    let json = here.run(&["doctor", "--torture", &kills, "--json"]).exits(0).json();
    eprintln!("torture: {json}");
    assert_eq!(json["rounds"].to_string(), kills);
    assert_eq!(json["violations"].as_array().unwrap().len(), 0);
    assert!(json["killed_in_commit"].as_u64().unwrap() > 0, "{json}");
    assert!(json["transactions"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0, "the scratch folder is gone");

    let people = here.run(&["doctor", "--torture", "3", "--durability", "process"]);
    assert!(people.exits(0).stdout.contains("0 violations"), "{people:?}");
    // A check of the user's is about other files.
    run(here.command(&["doctor", "--torture", "3"]).env("TXEDIT_CHECK", "false")).exits(0);
}

/// Somebody writes into the scratch folder all the time: neither old nor new is what the torture must find.
#[test]
fn a_file_that_is_neither_old_nor_new_is_a_violation() {
    let here = Workspace::new();
    let mut command = here.command(&["doctor", "--torture", "1000", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                // Not before the first commit is over, which is there to tell whether any can be.
                let begun =
                    |at: &PathBuf| fs::read_dir(at.join(".txedit/history")).is_ok_and(|mut all| all.next().is_some());
                for workspace in workspaces(&here).into_iter().filter(begun) {
                    // Gone already, perhaps: the torture ends when it sees this.
                    let _ = fs::write(workspace.join("one"), "foreign");
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let output = child.wait_with_output().unwrap();
        over.store(true, Ordering::SeqCst);
        output
    });
    let ran = Ran::from(output);
    let json = ran.exits(1).json();
    assert_eq!((&json["success"], json["violations"].as_array().unwrap().len()), (&false.into(), 1), "{json}");
    assert!(json["rounds"].as_u64().unwrap() < 1000, "it goes on no longer than it must: {json}");
    assert!(ran.stderr.contains("kept for inspection"), "{ran:?}");
    assert_eq!(workspaces(&here).len(), 1, "the folder is left");
}

fn workspaces(here: &Workspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(here.path()).unwrap();
    entries.map(|entry| entry.unwrap().path().join("workspace")).filter(|path| path.is_dir()).collect()
}
