//! Mutants of a recovery, and of what a check leads to.

use std::io;
use std::sync::Arc;
use std::time::Duration;
use txedit::journal::EntryIndex;

use txedit::check::{CheckCall, Checker, Ended, Verdict};
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, SimFs};
use txedit::journal::JournalState;
use txedit::report::RecoveryAction;
use txedit::testing::Script;
use txedit::testing::internals::commit::forward;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::{CommitStep, FinishStep};
use txedit::{Check, Engine, FileRequest, RecoverOptions, Request, Run};

use super::{broken, is_caught, phases_without, without};
use crate::proof::explore::scripts::{self, replaces, request};

/// A check that says yes.
#[derive(Debug)]
struct Passes;

impl Checker for Passes {
    fn run(&self, _: &CheckCall<'_>) -> io::Result<Ended> {
        Ok(Ended::new(Verdict::Passed))
    }
}

fn machine() -> SimFs {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    scripts::files(&machine);
    machine.advance(Duration::from_secs(60));
    machine
}

fn engine(faults: FaultFs, protocol: &'static Protocol) -> Engine {
    let script = Script::new("recovered", |_| ()).protocol(protocol);
    script.engine(Arc::new(faults)).unwrap().with_checker(Arc::new(Passes))
}

fn checked(files: Vec<FileRequest>) -> Request {
    request(files).check(Check::new(vec!["check".into()]))
}

/// A swap of the file in the folder.
fn swaps(call: &FaultCall) -> bool {
    call.operation == FaultOperation::Rename && call.to.as_ref().is_some_and(|to| to.ends_with("w/sub/d"))
}

/// Somebody moves the folder away and makes another.
fn moves(machine: &SimFs) -> impl Fn(&FaultCall) + Send + Sync + use<> {
    let machine = machine.clone();
    move |_| {
        machine.rename("/w/sub", "/w/elsewhere").unwrap();
        machine.make_folders("/w/sub").unwrap();
    }
}

#[test]
fn metadata_that_a_recovery_does_not_give_back_is_noticed() {
    let finish = |ready: &[EntryIndex], state| without(forward::finish(ready, state), |s| s == FinishStep::GiveBack);
    is_caught(&scripts::folder_made_again().protocol(broken(Protocol { finish, ..PROTOCOL })));
}

#[test]
fn metadata_that_a_recovery_gave_back_and_did_not_sync_is_noticed() {
    let finish =
        |ready: &[EntryIndex], state| without(forward::finish(ready, state), |s| s == FinishStep::SyncGivenBack);
    is_caught(&scripts::folder_made_again().protocol(broken(Protocol { finish, ..PROTOCOL })));
}

#[test]
fn a_check_whose_mark_is_not_durable_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::SyncFolder);
    let spoils = |machine: &SimFs| {
        machine.write_in_place("/w/a", b"formatted\n").unwrap();
        false
    };
    is_caught(&scripts::three_checked(spoils).protocol(broken(Protocol { commit, ..PROTOCOL })));
}

/// While the check runs, somebody writes into an original and sets its time back: whether that is told.
fn is_forgery_told(protocol: &'static Protocol) -> bool {
    let machine = machine();
    let time = machine.stat("/w/a").unwrap().modified;
    let faults = FaultFs::new(Arc::new(machine.process(1)));
    let acting = machine.clone();
    let forge = move |call: &FaultCall| {
        let slot = call.path.with_file_name("000000");
        acting.write_in_place(&slot, "a 1ne\n").unwrap();
        acting.set_modified(&slot, time).unwrap();
    };
    let sets_state =
        |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with(JournalState::Check.file_name()));
    faults.add(Rule::before(1, forge).matching(sets_state));
    let engine = engine(faults, protocol);
    let done = engine.apply(&checked(vec![replaces("a", "one", "two")]), Run::default());
    done.is_err() || !engine.status().unwrap().warnings.is_empty()
}

#[test]
fn originals_that_are_not_looked_at_after_the_check_are_noticed() {
    assert!(is_forgery_told(&PROTOCOL));
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifySwapAgain(_)));
    assert!(!is_forgery_told(broken(Protocol { commit, ..PROTOCOL })), "it was not noticed");
}

/// A folder is moved away once the file in it is swapped, before the check: whether the file is old there.
fn is_old_elsewhere(protocol: &'static Protocol) -> bool {
    let machine = machine();
    let faults = FaultFs::new(Arc::new(machine.process(1)));
    faults.add(Rule::after(1, moves(&machine)).matching(swaps));
    engine(faults, protocol).apply(&checked(vec![replaces("sub/d", "one", "two")]), Run::default()).unwrap_err();
    machine.read("/w/elsewhere/d").unwrap() == b"d one\n"
}

#[test]
fn folders_verified_after_the_check_alone_are_noticed() {
    assert!(is_old_elsewhere(&PROTOCOL));
    let commit = |n, terms| {
        let mut phases = forward::commit(n, terms);
        for phase in phases.iter_mut().filter(|phase| phase.steps.contains(&CommitStep::SetState(JournalState::Check)))
        {
            phase.steps.retain(|step| *step != CommitStep::VerifyFolders);
        }
        phases
    };
    assert!(!is_old_elsewhere(broken(Protocol { commit, ..PROTOCOL })), "it was not noticed");
}

/// A recovery swaps the last file, and its folder is moved away: whether it says that it committed what is not there.
fn is_committed_elsewhere(protocol: &'static Protocol) -> bool {
    let machine = machine();
    machine.set_hook(|call| {
        let is_last = call.verb == "rename" && call.path.ends_with("000001");
        if is_last { Action::Kill } else { Action::Continue }
    });
    let files = vec![replaces("a", "one", "two"), replaces("sub/d", "one", "two")];
    engine(FaultFs::new(Arc::new(machine.process(1))), &PROTOCOL).apply(&request(files), Run::default()).unwrap_err();
    machine.clear_hook();
    machine.kill(1);
    let faults = FaultFs::new(Arc::new(machine.process(2)));
    faults.add(Rule::after(1, moves(&machine)).matching(swaps));
    let said = engine(faults, protocol).recover(None, RecoverOptions::default());
    let is_committed =
        said.is_ok_and(|all| all.iter().any(|one| one.action == RecoveryAction::Committed && !one.required));
    is_committed && machine.read("/w/elsewhere/d").unwrap() == b"d two\n"
}

#[test]
fn a_recovery_that_does_not_verify_folders_is_noticed() {
    assert!(!is_committed_elsewhere(&PROTOCOL));
    let finish =
        |ready: &[EntryIndex], state| without(forward::finish(ready, state), |s| s == FinishStep::VerifyFolders);
    assert!(is_committed_elsewhere(broken(Protocol { finish, ..PROTOCOL })), "it was not noticed");
}
