//! What is told of recoveries that come before a command: of those that succeed, too, where another one fails.

use std::fs::{self, File};

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::{Ran, Workspace};

/// Writes a file in a folder of its own, and makes of that commit one that was killed before its end.
fn interrupted(here: &Workspace, folder: &str) -> String {
    here.write(&format!("{folder}/x"), "old");
    let done = here.run(&["edit", &format!("{folder}/x"), "--old", "old", "--new", "new", "--json"]).exits(0).json();
    interrupt(here, &done)
}

/// As a kill after the last swap leaves it.
fn interrupt(here: &Workspace, done: &Value) -> String {
    let id = done["transaction_id"].as_str().unwrap().to_owned();
    let entry = here.path().join(".txedit/txn").join(&id);
    fs::rename(here.path().join(".txedit/history").join(&id), &entry).unwrap();
    fs::rename(entry.join("journal.done"), entry.join("journal")).unwrap();
    id
}

/// Two interrupted ones, of which the second cannot be recovered as long as the file is open.
fn one_of_two() -> (Workspace, [String; 2], File) {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n");
    let first = here.run(&["edit", "a", "--old", "one", "--new", "two"]);
    first.exits(0);
    // Made apart from each other: a command in between would end the first.
    let second = interrupted(&here, "second");
    let hidden = here.path().join(".txedit/txn").join(&second);
    let aside = here.path().join("aside");
    fs::rename(&hidden, &aside).unwrap();
    let third = interrupted(&here, "third");
    fs::rename(&aside, &hidden).unwrap();
    let held = File::open(here.path().join("third")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    (here, [second, third], held)
}

fn told(ran: &Ran) -> String {
    ran.json()["warnings"].to_string()
}

#[test]
fn a_recovery_that_fails_does_not_hide_the_others() {
    let unknown = "20260101T000000.000000Z-0123456789abcdef";
    let lines: [&[&str]; 5] =
        [&["recover"], &["edit", "a", "--old", "none", "--new", "x"], &["undo"], &["redo"], &["undo", unknown]];
    for line in lines {
        let (here, [first, second], _held) = one_of_two();
        let ran = here.run(&[line, &["--json", "--lock-timeout", "0.1"]].concat());
        assert_ne!(ran.status, Some(0), "{line:?}: {ran:?}");
        assert!(told(&ran).contains(&format!("{first}, was recovered first")), "{line:?}: {ran:?}");
        assert!(ran.stdout.contains(&second) || ran.stdout.contains("third"), "{line:?}: {ran:?}");
        assert!(!here.path().join(".txedit/txn").join(first).exists(), "{line:?}");
    }
}

#[test]
fn what_could_not_be_recovered_has_changed_nothing() {
    let (here, [first, _], _held) = one_of_two();
    here.run(&["recover", &first]).exits(0);
    let line = ["edit", "a", "--old", "none", "--new", "x", "--lock-timeout", "0.1"];
    let ran = here.run(&line);
    assert!(ran.stderr.contains("could not be recovered") && ran.stderr.ends_with("nothing was changed\n"), "{ran:?}");
    let json = here.run(&[&line[..], &["--json"]].concat()).json();
    assert!(json["message"].as_str().unwrap().contains("unchanged"), "{json}");
}

#[test]
fn what_was_recovered_is_told_where_nothing_is_left_to_undo() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n");
    here.run(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    let id = interrupt(&here, &here.run(&["undo", "--json"]).exits(0).json());
    let ran = here.run(&["undo", "--json"]);
    assert_eq!(ran.exits(2).json()["error_code"], "UNKNOWN_TRANSACTION");
    assert!(told(&ran).contains(&format!("{id}, was recovered first")), "{ran:?}");
}
