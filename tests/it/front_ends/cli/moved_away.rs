//! The folder of a transaction is moved away while txedit is at work on it: the answer says so, and what helps.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::{Error, NextStep, Outcome, RecoverOptions, Request};

use super::Workspace;
use super::interrupted::{contents, killed_with};
use crate::support::is_without;
use crate::support::workspace::{Workspace as InProcess, running};

/// The name that is moved away, and the place where it goes.
fn places(here: &Workspace, id: &str, is_whole: bool) -> [PathBuf; 2] {
    let txn = here.path().join(".txedit/txn");
    [if is_whole { txn } else { txn.join(id) }, here.path().join("away")]
}

#[track_caller]
fn says_that_it_is_moved(error: &Error, here: &Workspace, id: &str) {
    let place = here.path().join(".txedit/txn").join(id);
    let moved = NextStep::MoveBack { id: id.to_owned(), place };
    assert_eq!((error.outcome(), error.next_steps()), (Outcome::RecoveryRequired, &[moved][..]), "{error}");
    assert!(error.to_string().contains("moved its folder away from"), "{error}");
}

/// Moves it back, into the place of what was made meanwhile, and recovers it.
#[track_caller]
fn is_recovered_once_it_is_back(here: &Workspace, id: &str, [place, away]: [&Path; 2]) {
    fs::remove_dir(place).ok();
    fs::rename(away, place).unwrap();
    here.run(&["recover", id]).exits(0);
    assert_eq!(contents(here), ["new"; 5]);
}

#[test]
fn what_is_moved_away_while_its_plan_is_shown_is_an_error() {
    for (is_whole, is_named) in [(true, false), (false, false), (true, true), (false, true)] {
        let (here, id) = killed_with(Workspace::new(), None);
        let [place, away] = places(&here, &id, is_whole);
        let engine = InProcess::on(Arc::new(OsFs::new()), &here.path()).engine;
        let mut moves = |_: &_| fs::rename(&place, &away).unwrap();
        let error = engine.recover_with(is_named.then_some(&*id), RecoverOptions::default(), &mut moves).unwrap_err();
        says_that_it_is_moved(&error, &here, &id);
        is_recovered_once_it_is_back(&here, &id, [&place, &away]);
    }
}

#[test]
fn what_is_moved_away_while_it_is_recovered_before_another_command_is_a_warning() {
    let (here, id) = killed_with(Workspace::new(), None);
    let [place, away] = places(&here, &id, false);
    let faults = FaultFs::new(Arc::new(OsFs::new()));
    let sets_state = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with("journal.done"));
    let [from, to] = [place.clone(), away.clone()];
    faults.add(Rule::before(1, move |_| fs::rename(&from, &to).unwrap()).matching(sets_state));
    let engine = InProcess::on(Arc::new(faults), &here.path()).engine;
    let report = engine.apply(&Request::new().create("other", "x"), running()).unwrap();
    assert!(report.warnings.iter().any(|told| told.contains("moved its folder away from")), "{:?}", report.warnings);
    is_recovered_once_it_is_back(&here, &id, [&place, &away]);
}

#[test]
fn what_another_process_has_finished_since_is_said_to_be_committed() {
    if is_without("syncfs: history is opened once more to be synced") {
        return;
    }
    let (here, id) = killed_with(Workspace::new(), None);
    let faults = FaultFs::new(Arc::new(OsFs::new()));
    let sets_state = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with("journal.done"));
    faults.add(Rule::fail(1, 5).matching(sets_state));
    // The first look at history is that for a free place; at the second one the locks are free, and another comes.
    let looks = |call: &FaultCall| call.operation == FaultOperation::OpenBeneath && call.path.ends_with("history");
    let mut other = here.command(&["recover", &id]);
    let other = Mutex::new(move || assert!(other.output().unwrap().status.success()));
    faults.add(Rule::before(2, move |_| other.lock().unwrap()()).matching(looks));
    let engine = InProcess::on(Arc::new(faults), &here.path()).engine;
    let done = engine.recover(None, RecoverOptions::default()).unwrap().remove(0);
    assert_eq!((done.action.as_str(), done.reason()), ("committed", "another process has finished it".to_owned()));
    assert_eq!(contents(&here), ["new"; 5]);
}

#[test]
fn a_check_that_moves_the_folder_of_its_transaction_away_is_told_to_move_it_back() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "old");
    let line = ["--check", "mv .txedit/txn away; false", "edit", "a", "--old", "old", "--new", "new"];
    let ran = here.run(&line);
    let told = &ran.exits(6).stderr;
    assert!(told.contains("moved its folder away from"), "{told}");
    assert!(told.contains("move it back to "), "{told}");
    fs::remove_dir(here.path().join(".txedit/txn")).ok();
    fs::rename(here.path().join("away"), here.path().join(".txedit/txn")).unwrap();
    here.run(&["recover"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "old");
}
