//! Rules of what overwrites files in place, broken.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use txedit::fs::sim::{Action, Policy, SimFs};
use txedit::settings::Swap;
use txedit::{Decision, Engine, RecoverOptions, Run, Settings};

use super::*;
use crate::proof::explore::as_on_fuse;
use crate::proof::explore::in_place::{all_overwritten, among_others, as_long, blocks, longer};

#[test]
fn what_was_written_that_is_not_durable_before_the_done_state_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::Moves));
    is_caught(&longer().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_copy_that_is_not_durable_before_the_file_is_overwritten_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::First));
    is_caught(&longer().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_file_overwritten_before_the_journal_is_written_is_noticed() {
    let commit = |n, terms| {
        let mut phases = forward::commit(n, terms);
        let is_swap = |step: &CommitStep| matches!(step, CommitStep::Swap(_));
        let swaps: Vec<_> = phases.iter().flat_map(|phase| phase.steps.clone()).filter(is_swap).collect();
        for phase in &mut phases {
            phase.steps.retain(|step| !is_swap(step));
        }
        let prepare = &mut phases[0].steps;
        // No look at the target afterwards: it would not be as it was read.
        prepare.retain(|step| !matches!(step, CommitStep::VerifyTarget(_)));
        let at = prepare.iter().position(|step| *step == CommitStep::WriteJournal).unwrap();
        prepare.splice(at..at, swaps);
        phases
    };
    is_caught(&longer().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_recovery_that_goes_forward_over_what_was_overwritten_is_noticed() {
    let decide = |state, _, classes: &[Class]| recover::decide(state, false, classes);
    is_caught(&among_others().protocol(broken(Protocol { decide, ..PROTOCOL })));
}

#[test]
fn a_file_that_is_taken_for_ours_whatever_is_in_it_is_noticed() {
    let classify = |record: &Record, observed: &Observed| match recover::classify(record, observed) {
        Class::Theirs => Class::Partly,
        class => class,
    };
    let deeds = [("/w/m", ForeignDeed::Write(b"theirs\n".to_vec()))];
    is_caught_with(&as_long().protocol(broken(Protocol { classify, ..PROTOCOL })), &deeds);
}

/// Whoever opens the file would wait for the end of the lease; without one, somebody writes between the look and the write.
#[test]
fn a_lease_that_is_only_believed_is_noticed() {
    let script = as_long().disturb(|_, _, fs| {
        let faults = FaultFs::new(fs);
        faults.add(Rule::pretend(1).of(FaultOperation::Lease).from_then_on());
        Arc::new(faults)
    });
    let theirs = blocks("tb", "theirs\n").into_bytes();
    is_caught_with(&script, &[("/w/m", ForeignDeed::Write(theirs))]);
}

#[test]
fn where_all_files_are_overwritten_the_rules_are_needed_as_well() {
    let [forgets, has_no_links] = all_overwritten();
    let first = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::First));
    is_caught(&forgets.clone().protocol(broken(Protocol { commit: first, ..PROTOCOL })));
    let written = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::Moves));
    is_caught(&has_no_links.protocol(broken(Protocol { commit: written, ..PROTOCOL })));
    let decide = |state, _, classes: &[Class]| recover::decide(state, false, classes);
    is_caught(&forgets.protocol(broken(Protocol { decide, ..PROTOCOL })));
}

/// The number of the folder has changed, so that it counts as a copy unless there is a proof.
#[test]
fn a_proof_that_is_not_durable_is_noticed_where_numbers_are_forgotten() {
    let [forgets, _] = all_overwritten();
    let script = forgets.disturb(|_, _, fs| {
        let faults = FaultFs::new(fs);
        let is_proof = |call: &FaultCall| call.operation == FaultOperation::Sync && call.path.starts_with("/states");
        faults.add(Rule::pretend(1).matching(is_proof).from_then_on());
        Arc::new(faults)
    });
    is_caught(&as_on_fuse(&script));
}

fn engine(fs: Arc<dyn Fs>) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).swap(Swap::InPlace);
    Engine::with_fs(fs, Path::new("/w"), settings).unwrap()
}

/// Kills at the second write into the file, after a part of the first.
fn killed_while_writing(sim: &SimFs, call: impl FnOnce()) {
    let writes = AtomicUsize::new(0);
    sim.set_hook(move |call| {
        if call.verb != "write_at" || call.path != Path::new("/w/m") {
            return Action::Continue;
        }
        if writes.fetch_add(1, Ordering::Relaxed) == 0 { Action::Short(4096) } else { Action::Kill }
    });
    call();
    sim.clear_hook();
}

/// Returns whether a power loss while a person's rollback writes over another program's content may take that.
fn loses_theirs(leave_out: bool) -> bool {
    let theirs = blocks("tuv", "theirs\n").into_bytes();
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/m", blocks("abc", "old\n")).unwrap();
    sim.mount_file("/w/m").unwrap();
    sim.advance(Duration::from_secs(60));
    let request = txedit::Request::new().edit("m", txedit::Edit::replace("old", "new"));
    killed_while_writing(&sim, || {
        engine(Arc::new(sim.process(1))).apply(&request, Run::default()).unwrap_err();
    });
    sim.write_in_place("/w/m", &theirs).unwrap();
    sim.sync_everything();
    let faults = Arc::new(FaultFs::new(Arc::new(sim.process(2))));
    if leave_out {
        let is_kept =
            |call: &FaultCall| call.operation == FaultOperation::Sync && call.path.to_string_lossy().ends_with(".kept");
        faults.add(Rule::pretend(1).matching(is_kept).from_then_on());
    }
    let engine = engine(faults);
    let id = engine.status().unwrap().interrupted[0].id.clone();
    let back = RecoverOptions::new().decision(Decision::Back);
    killed_while_writing(&sim, || {
        engine.recover(Some(&id), back).unwrap_err();
    });
    sim.images(Policy::Unordered, 200, 1).into_iter().any(|image| {
        let tree = SimFs::from_image(&image).entries("/w").unwrap();
        !tree.iter().any(|(_, entry)| entry.content == theirs)
    })
}

#[test]
fn what_is_kept_of_an_overwritten_file_and_not_synced_is_noticed() {
    assert!(!loses_theirs(false));
    assert!(loses_theirs(true));
}
