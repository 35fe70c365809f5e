//! Several things go wrong together.

use txedit::Durability;
use txedit::journal::Record;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::journal::recover;
use txedit::testing::internals::journal::recover::{Observed, Seen};
use txedit::testing::{Explored, ForeignDeed, Script, Violation};

use super::{creations, deeds, deeds_of_three, explore, explorer};
use crate::proof::explore::{explore_once, scripts, share, so_far};

fn told(name: &str, script: &Script, found: Result<Explored, Violation>) {
    match found {
        Ok(found) => eprintln!("{script:?}, {name}: {found}; {} so far", so_far(&found)),
        Err(violation) => panic!("{script:?}, {name}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer().seed),
    }
}

#[test]
fn two_foreign_acts_lose_nothing() {
    let script = scripts::edit();
    let found = explorer().explore_two_deeds(&script, &deeds("/w/a", "a one\n", "a two\n"), share(40_000));
    told("two foreign acts", &script, found);
    let script = scripts::three();
    told("two foreign acts", &script, explorer().explore_two_deeds(&script, &deeds_of_three(), share(400_000)));
}

#[test]
fn foreign_acts_between_a_kill_and_the_recovery_lose_nothing() {
    let script = scripts::three();
    let mut sets: Vec<Vec<(&str, ForeignDeed)>> = deeds_of_three().into_iter().map(|deed| vec![deed]).collect();
    let (edited, created) = (deeds("/w/a", "a one\n", "a two\n"), creations("/w/sub/new", "new two\n"));
    let both = edited.iter().flat_map(|first| created.iter().map(move |second| vec![first.clone(), second.clone()]));
    sets.extend(both);
    told("after a kill", &script, explorer().explore_deeds_after_kill(&script, &sets, share(40)));
}

#[test]
fn a_failed_call_and_a_crash_leave_old_or_new() {
    for script in [scripts::edit(), scripts::create(), scripts::delete()] {
        told("a failed call", &script, explorer().explore_failures(&script, &[], share(2)));
    }
    let script = crate::proof::explore::file_by_file(&scripts::three());
    told("a failed call", &script, explorer().explore_failures(&script, &[], share(3)));
    let script = scripts::edit_and_undo();
    told("a failed call", &script, explorer().explore_failures(&script, &[], share(9)));
}

#[test]
fn a_failed_call_a_foreign_act_and_a_crash_lose_nothing() {
    let script = scripts::three();
    told(
        "a failed call, a foreign act",
        &script,
        explorer().explore_failures(&script, &deeds_of_three(), share(9_000)),
    );
}

#[test]
fn commits_that_are_safe_against_kills_alone_survive_kills() {
    let process = |script: Script| script.durability(Durability::Process).named("process");
    for script in [scripts::pair(), scripts::folder(), scripts::three(), scripts::edit_and_undo(), scripts::twice()] {
        explore_once(&process(script));
    }
    explore(&process(scripts::edit()), &deeds("/w/a", "a one\n", "a two\n"), 9);
    explore(&process(scripts::create()), &creations("/w/new", "new two\n"), 9);
}

/// Inodes are told by their numbers alone.
fn by_number_alone(record: &Record, observed: &Observed) -> recover::Class {
    let alike = |seen: Seen| match (seen, record.change.staged()) {
        (Seen::File { digest, mode, access, identity }, Some(staged)) if identity.inode == staged.inode => {
            Seen::File { digest, mode, access, identity: *staged }
        }
        _ => seen,
    };
    recover::classify(record, &Observed { target: alike(observed.target), slot: alike(observed.slot) })
}

#[test]
fn inodes_told_by_their_number_alone_are_noticed() {
    let broken = Protocol { classify: by_number_alone, is_new: |_, _| true, ..PROTOCOL };
    let protocol: &'static Protocol = Box::leak(Box::new(broken));
    let script = scripts::three().on(|volume| volume.reuse_inodes = true).protocol(protocol);
    // What was created is made anew by somebody, and what is still to be deleted was written: it all goes back.
    let deeds: Vec<(&str, ForeignDeed)> = vec![
        ("/w/sub/new", ForeignDeed::Recreate(b"new two\n".to_vec())),
        ("/w/b", ForeignDeed::Write(b"somebody else's\n".to_vec())),
    ];
    match explorer().explore_deeds_after_kill(&script, &[deeds], 1) {
        Ok(found) => panic!("{script:?} did not notice: {found}"),
        Err(violation) => eprintln!("{script:?}, noticed:\n{violation}"),
    }
}

#[test]
fn a_failed_sync_that_goes_unnoticed_is_noticed() {
    use txedit::testing::internals::commit::forward;
    use txedit::testing::internals::commit::step::{Barrier, CommitStep, OnFailure, StepPhase};
    // The commit goes on although its first barrier failed, and the pages are lost.
    let commit = |n, durable| {
        let mut phases = forward::commit(n, durable);
        let first = CommitStep::Barrier(Barrier::First);
        let barrier = phases[0].steps.iter().position(|step| *step == first).unwrap();
        let steps = phases[0].steps.split_off(barrier + 1);
        phases[0].steps.pop();
        phases.insert(1, StepPhase { on_failure: OnFailure::Warn, steps: vec![first] });
        phases.insert(2, StepPhase { on_failure: OnFailure::Forget, steps });
        phases
    };
    let protocol: &'static Protocol = Box::leak(Box::new(Protocol { commit, ..PROTOCOL }));
    let script = scripts::edit().protocol(protocol);
    match explorer().explore_failures(&script, &[], 1) {
        Ok(found) => panic!("{script:?} did not notice: {found}"),
        Err(violation) => eprintln!("{script:?}, noticed:\n{violation}"),
    }
}
