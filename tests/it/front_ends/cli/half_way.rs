//! Commits that are cut off between their swaps: no answer calls that anything else, and each names a way out.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::{ErrorKind, NextStep, Outcome, RecoverOptions};

use super::Workspace;
use super::interrupted::{contents, killed_with};
use crate::support::is_without;
use crate::support::selected::{commit_without_closing, runs};
use crate::support::workspace::{Workspace as InProcess, running};

const EIO: i32 = 5;

fn killed() -> (Workspace, String) {
    killed_with(Workspace::new(), None)
}

/// An engine here whose renames fail from the swap of this number on: for the disk the process is as good as killed.
fn stopping_at(here: &Workspace, swap: usize) -> InProcess {
    let faults = FaultFs::new(Arc::new(OsFs::new()));
    let swaps = AtomicUsize::new(0);
    let is_late = move |call: &FaultCall| {
        let is_rename = call.operation == FaultOperation::Rename;
        let is_swap = call.to.as_ref().is_some_and(|to| !to.to_string_lossy().contains(".txedit"));
        let done =
            if is_rename && is_swap { swaps.fetch_add(1, Ordering::Relaxed) } else { swaps.load(Ordering::Relaxed) };
        is_rename && done >= swap && (is_swap || done > swap)
    };
    faults.add(Rule::fail(1, EIO).matching(is_late).from_then_on());
    InProcess::on(Arc::new(faults), &here.path())
}

const FILES: [&str; 3] = ["a", "b", "c"];

fn texts(here: &Workspace) -> [String; 3] {
    FILES.map(|name| fs::read_to_string(here.path().join(name)).unwrap())
}

/// A workspace in which the commit of an open transaction was cut off after one of three swaps; the id of what was open.
fn cut_off() -> (Workspace, String) {
    let here = Workspace::new();
    here.write(".git/HEAD", "");
    for name in FILES {
        here.write(name, "old");
    }
    let entry = |name: &str| json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]});
    let engine = stopping_at(&here, 1);
    let open = engine.open(&json!({"files": FILES.map(entry)}));
    let error = engine.commit(&open).unwrap_err();
    assert_eq!(error.outcome(), Outcome::RecoveryRequired, "{error}");
    assert_eq!(texts(&here), ["new", "old", "old"]);
    (here, open)
}

fn interrupted(here: &Workspace) -> String {
    here.run(&["status", "--json"]).json()["interrupted"][0]["transaction_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_open_transaction_whose_commit_was_cut_off_is_not_said_to_be_dropped() {
    let (here, open) = cut_off();
    let commit = interrupted(&here);
    for again in [false, true] {
        let told = here.run(&["rollback", &open, "--json"]).exits(2).json();
        assert_eq!(
            (&told["error_code"], &told["outcome"]),
            (&json!("UNKNOWN_TRANSACTION"), &json!("unchanged")),
            "{told}"
        );
        assert!(told["error"].to_string().contains(&format!("was committed, as {commit}; undo {commit}")), "{told}");
        assert_eq!(told["warnings"].to_string().contains("was recovered first: committed"), !again, "{told}");
        assert_eq!(texts(&here), ["new"; 3]);
    }
    assert_eq!(here.run(&["commit", &open, "--json"]).exits(0).json()["already_applied"], true);
    here.run(&["undo", &commit]).exits(0);
    assert_eq!(texts(&here), ["old"; 3]);
}

#[test]
fn an_open_transaction_whose_commit_was_rolled_back_is_dropped() {
    let (here, open) = cut_off();
    // With this the recovery goes back.
    here.write("c", "theirs");
    let told = here.run(&["rollback", &open, "--json"]).exits(0).json();
    assert!(told["warnings"].to_string().contains("was recovered first: rolled_back"), "{told}");
    assert_eq!(texts(&here), ["old", "old", "theirs"]);
    assert_eq!(here.run(&["status", "--json"]).exits(0).json()["open"], json!([]));
}

#[test]
fn an_open_transaction_whose_commit_waits_for_a_person_stays_open() {
    let (here, open) = cut_off();
    let commit = interrupted(&here);
    here.write("a", "theirs").write("c", "theirs");
    let refused = |line: &[&str]| {
        let told = here.run(&[line, &["--json"]].concat()).exits(6).json();
        assert_eq!(
            (&told["error_code"], &told["outcome"]),
            (&json!("RECOVERY_REQUIRED"), &json!("unchanged")),
            "{told}"
        );
        for word in [&open, &format!("txedit recover {commit}")] {
            let said = format!("{}{}", told["error"], told["recovery_hint"]);
            assert!(said.contains(word), "{word}: {told}");
        }
    };
    refused(&["rollback", &open]);
    refused(&["preview", &open]);
    here.run(&["recover", &commit, "--back"]).exits(6);
    here.run(&["rollback", &open]).exits(0);
    assert_eq!(texts(&here), ["theirs", "old", "theirs"]);
}

#[test]
fn a_commit_that_was_cut_off_is_not_called_another_program() {
    let (here, open) = cut_off();
    let commit = interrupted(&here);
    here.write("more.json", &json!({"files": [{"file_path": "d", "content": "d"}]}).to_string());
    for line in [&["preview", &open][..], &["stage", "more.json", "--transaction", &open, "--dry-run"]] {
        let told = here.run(&[line, &["--json"]].concat()).exits(6).json();
        assert_eq!(told["error_code"], "RECOVERY_REQUIRED", "{line:?}: {told}");
        for word in [format!("is the commit of {open}"), format!("commit {open} again"), format!("recover {commit}")] {
            let said = format!("{}{}", told["error"], told["recovery_hint"]);
            assert!(said.contains(&word), "{line:?} {word}: {told}");
        }
        assert_eq!(texts(&here), ["new", "old", "old"], "{line:?}");
    }
    // One that writes recovers it first.
    let told = here.run(&["stage", "more.json", "--transaction", &open, "--json"]).exits(2).json();
    assert!(told["error"].to_string().contains(&format!("was committed, as {commit}")), "{told}");
    assert_eq!(texts(&here), ["new"; 3]);
}

#[test]
fn what_is_finished_though_a_file_was_changed_tells_which_is_not_new() {
    let (here, id) = killed();
    here.write("5", "theirs");
    let plan = here.run(&["recover", &id, "--forward", "--plan"]);
    assert!(!plan.exits(0).stdout.contains("all files new"), "{plan:?}");
    assert!(plan.stdout.contains("5 is not new: another program changed it"), "{plan:?}");
    let json = here.run(&["recover", &id, "--forward", "--json"]).exits(6).json();
    let done = &json["recovered"][0];
    assert_eq!(done["action"], "partly_committed", "{json}");
    assert!(done["reason"].to_string().contains("5 is not new: another program changed it"), "{json}");
    assert_eq!(contents(&here), ["new", "new", "new", "new", "theirs"]);
    // Nobody wrote what txedit itself had staged.
    for line in [&["status"][..], &["show", &id]] {
        let ran = here.run(line);
        let told = format!("{}{}", ran.exits(0).stdout, ran.stderr);
        assert!(!told.contains("had it open") && told.contains("5 was not swapped"), "{line:?}: {told}");
    }
    here.run(&["history", "prune", "--keep", "0"]).exits(0);
    assert_eq!(here.run(&["kept", "list", "--json"]).exits(0).json()["kept"], json!([]));
    assert_eq!(here.run(&["status", "--json"]).exits(0).json()["warnings"], Value::Null);
}

#[test]
fn what_is_finished_though_a_swapped_file_was_changed_since_tells_which_is_not_new() {
    for decision in [&["--forward"][..], &[]] {
        let (here, id) = killed();
        here.write("1", "theirs");
        let line = [&["recover", &id, "--json"], decision].concat();
        // A person who insists on it is told by the status, too; the table's decision is the ordinary one.
        let (action, status) = if decision.is_empty() { ("committed", 0) } else { ("partly_committed", 6) };
        let json = here.run(&line).exits(status).json();
        let done = &json["recovered"][0];
        assert_eq!(done["action"], action, "{json}");
        assert!(done["reason"].to_string().contains("1 is not new: another program changed it"), "{json}");
        assert_eq!(contents(&here), ["theirs", "new", "new", "new", "new"]);
    }
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").args(["-a".as_ref(), from.as_os_str(), to.as_os_str()]).status().unwrap();
    assert!(done.success());
}

/// Kills a commit, makes a backup, lets the commit be finished, and restores the backup in place, into the inodes that
/// are there; in between `then` is done.
fn restored(then: impl FnOnce(&Workspace)) -> (Workspace, String) {
    let (here, id) = killed();
    let backup = Workspace::new();
    copy(&here.path().join("."), &backup.path());
    here.run(&["recover", &id]).exits(0);
    then(&here);
    copy(&backup.path().join("."), &here.path());
    assert_eq!(contents(&here), ["new", "new", "old", "old", "old"]);
    (here, id)
}

#[test]
fn a_backup_made_in_mid_commit_and_restored_in_place_can_be_finished() {
    if is_without("birth times: a copy may have the number of its original") {
        return;
    }
    let (here, id) = restored(|here| {
        here.run(&["history", "prune", "--keep", "0"]).exits(0);
        assert!(!here.path().join(".txedit/history").read_dir().unwrap().any(|_| true));
    });
    let json = here.run(&["recover", &id, "--trust-journal", "--json"]).exits(0).json();
    assert_eq!(json["recovered"][0]["action"], "committed", "{json}");
    assert_eq!(contents(&here), ["new"; 5]);
    here.run(&["undo", &id]).exits(0);
    assert_eq!(contents(&here), ["old"; 5]);
}

#[test]
fn a_backup_of_what_came_to_its_end_since_is_refused_before_anything_is_touched() {
    let (here, id) = restored(|_| ());
    let journal = here.path().join(".txedit/txn").join(&id).join("journal");
    let before = fs::read(&journal).unwrap();
    for line in [&["recover", &id, "--trust-journal", "--plan"][..], &["recover", &id, "--trust-journal"]] {
        let json = here.run(&[line, &["--json"]].concat()).exits(6).json();
        let told = json.to_string();
        for word in [&format!("history/{id} is there already"), &format!("txedit recover {id} --discard")] {
            assert!(told.contains(word), "{word}: {told}");
        }
        assert_eq!(contents(&here), ["new", "new", "old", "old", "old"]);
        assert_eq!(fs::read(&journal).unwrap(), before, "it is not adopted");
    }
    let json = here.run(&["recover", &id, "--trust-journal", "--back", "--json"]).exits(0).json();
    assert_eq!((&json["recovered"][0]["action"], contents(&here)), (&json!("rolled_back"), vec!["old".to_owned(); 5]));
    assert_eq!(here.run(&["kept", "list", "--json"]).exits(0).json()["kept"], json!([]), "all of it is txedit's own");
}

#[test]
fn what_has_nowhere_to_go_names_the_way_out() {
    for (section, way, goes) in [("history", None, "--discard"), ("trash", Some("--back"), "move it away")] {
        let (here, id) = killed();
        let taken = here.path().join(".txedit").join(section).join(&id);
        fs::create_dir_all(&taken).unwrap();
        fs::write(taken.join("journal.undo"), "").unwrap();
        let line: Vec<&str> = ["recover", &id].into_iter().chain(way).collect();
        let told = here.run(&line);
        let told = format!("{}{}", told.exits(6).stdout, told.stderr);
        assert!(told.contains("is there already") && told.contains(goes), "{section}: {told}");
        assert_eq!(contents(&here), ["new", "new", "old", "old", "old"], "{section}");
        if way.is_none() {
            // Neither status nor another command fails of it, or says that the next one will end it.
            let told = here.run(&["status"]);
            assert!(told.exits(6).stdout.contains("is there already"), "{told:?}");
        }
        here.run(&["recover", &id, "--discard"]).exits(0);
    }
}

#[test]
fn what_was_recovered_is_told_though_the_trash_cannot_be_emptied() {
    if is_without("syncfs: the trash is synced by a barrier before") {
        return;
    }
    let (here, id) = killed();
    fs::create_dir_all(here.path().join(".txedit/trash").join("20200101T000000.000000Z-0123456789abcdef")).unwrap();
    let faults = FaultFs::new(Arc::new(OsFs::new()));
    let syncs = |call: &FaultCall| matches!(call.operation, FaultOperation::Sync | FaultOperation::SyncFileSystem);
    faults.add(Rule::fail(1, EIO).matching(move |call| syncs(call) && call.path.ends_with("trash")));
    let engine = InProcess::on(Arc::new(faults), &here.path()).engine;
    let done = engine.recover(Some(&id), RecoverOptions::default()).unwrap().remove(0);
    assert_eq!(done.action.as_str(), "committed", "{done:?}");
    assert!(done.reason().contains("the trash could not be emptied: "), "{done:?}");
    assert_eq!(contents(&here), ["new"; 5]);
}

#[test]
fn an_undo_or_a_commit_tells_of_a_recovery_in_front_that_failed_half_way() {
    let (here, id) = killed();
    let error = stopping_at(&here, 1).undo(None).unwrap_err();
    assert_eq!(contents(&here), ["new", "new", "new", "old", "old"]);
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::RecoveryRequired, Outcome::RecoveryRequired), "{error}");
    assert!(error.to_string().contains("could not be recovered"), "{error}");
    here.run(&["recover", &id]).exits(0);
    let (here, open) = cut_off();
    let engine = stopping_at(&here, 1);
    for error in [engine.commit(&open).unwrap_err(), engine.engine.roll_back(&open, running()).unwrap_err()] {
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::RecoveryRequired, Outcome::RecoveryRequired),
            "{error}"
        );
        assert!(error.warnings().iter().any(|told| told.contains("could not be recovered")), "{error:?}");
    }
}

#[test]
fn of_a_copy_that_is_discarded_the_originals_are_listed() {
    let (here, id) = killed();
    let there = Workspace::new();
    copy(&here.path().join("."), &there.path());
    there.run(&["recover", &id, "--discard"]).exits(0);
    let kept = there.run(&["kept", "list", "--json"]).exits(0).json();
    let paths: Vec<&Value> = kept["kept"][0]["contents"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(paths.len(), 2, "{kept}");
    let told = there.run(&["kept", "restore", &id]);
    assert!(told.exits(2).stderr.contains("keeps 2 contents"), "{told:?}");
    there.run(&["kept", "restore", &id, "1"]).exits(0);
    assert_eq!(contents(&there)[0], "old");
}

#[test]
fn where_a_file_is_written_in_each_swap_the_way_out_is_named() {
    let (here, id) = killed();
    let faults = FaultFs::new(Arc::new(OsFs::new()));
    let file = here.path().join("3");
    let is_its =
        |file: &Path, call: &FaultCall| call.operation == FaultOperation::Rename && call.to.as_deref() == Some(file);
    // Another content comes out of each swap; and when it is back, it is the old one again.
    let (swaps, rule_of) = (Arc::new(AtomicUsize::new(0)), file.clone());
    let (count, written) = (Arc::clone(&swaps), file.clone());
    let before = move |_: &FaultCall| {
        if count.fetch_add(1, Ordering::Relaxed) % 2 == 0 {
            fs::write(&written, "theirs").unwrap();
        }
    };
    faults.add(Rule::before(1, before).matching(move |call| is_its(&rule_of, call)).from_then_on());
    let (rule_of, written) = (file.clone(), file);
    let after = move |_: &FaultCall| {
        if swaps.load(Ordering::Relaxed) % 2 == 0 {
            fs::write(&written, "old").unwrap();
        }
    };
    faults.add(Rule::after(1, after).matching(move |call| is_its(&rule_of, call)).from_then_on());
    let engine = InProcess::on(Arc::new(faults), &here.path()).engine;
    let error = engine.recover(Some(&id), RecoverOptions::default()).unwrap_err();
    assert!(error.to_string().contains("keeps writing"), "{error}");
    assert_eq!(error.next_steps(), [NextStep::Decide { id: id.clone(), can_finish: false }], "{error}");
    here.run(&["recover", &id, "--back"]).exits(0);
    assert_eq!(contents(&here), ["old"; 5]);
}

#[test]
fn a_recovery_tells_what_is_left_of_a_transaction_that_was_committed_in_part_and_not_closed() {
    let here = Workspace::new();
    here.write("a", "one\nx\nx\nx\nx\nx\nx\ntwo\n").write(
        "plan.json",
        &json!({ "files": [{ "file_path": "a", "edits": [
            { "old_string": "one", "new_string": "1" }, { "old_string": "two", "new_string": "2" },
        ]}]})
        .to_string(),
    );
    let staged = here.run(&["stage", "plan.json", "--json"]).exits(0).json();
    let id = staged["transaction_id"].as_str().unwrap();
    commit_without_closing(&here.path(), id, vec![runs(&[0])]);
    let refused = here.run(&["preview", id, "--json"]).exits(2).json();
    assert!(refused["recovery_hint"].as_str().unwrap().contains("recover"), "{refused}");
    let recovered = here.run(&["recover", "--json"]).exits(0).json();
    let rest = recovered["opened"][0].as_str().unwrap();
    here.run(&["commit", rest]).exits(0);
    let text = fs::read_to_string(here.path().join("a")).unwrap();
    assert!(text.starts_with("1\n") && text.ends_with("\n2\n"), "{text}");
    assert_eq!(here.run(&["recover"]).exits(0).stdout, "nothing to recover\n");
}
