//! Rules of what moves names step by step, broken.

use std::path::Path;

use txedit::fs::sim::SimFs;

use super::*;
use crate::proof::explore::stepwise::step_by_step;

/// The script on each of the file systems; one of them must notice.
fn one_notices(script: &Script) {
    let explorer = Explorer::default();
    let noticed = step_by_step(script).into_iter().find_map(|script| explorer.explore(&script).err());
    match noticed {
        Some(violation) => eprintln!("{script:?}, noticed:\n{violation}"),
        None => panic!("{script:?}: none of them noticed"),
    }
}

#[test]
fn names_that_are_not_durable_before_the_done_state_are_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::Moves));
    one_notices(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_recovery_that_goes_forward_is_noticed() {
    let decide = |state, _, classes: &[Class]| recover::decide(state, false, classes);
    one_notices(&scripts::pair().protocol(broken(Protocol { decide, ..PROTOCOL })));
}

/// Syncs of these paths sync nothing.
fn without_syncs(script: &Script, are_left_out: fn(&FaultCall) -> bool) -> Script {
    script.clone().disturb(move |_, _, fs| {
        let faults = FaultFs::new(fs);
        let is_sync = move |call: &FaultCall| call.operation == FaultOperation::Sync && are_left_out(call);
        faults.add(Rule::pretend(1).matching(is_sync).from_then_on());
        Arc::new(faults)
    })
}

#[test]
fn a_proof_that_is_not_durable_is_noticed() {
    one_notices(&without_syncs(&scripts::pair(), |call| call.path.starts_with("/states")));
}

/// A rollback unlinks the second name of an original once the first is durable.
#[test]
fn an_original_that_loses_its_durable_name_is_noticed() {
    let fails = scripts::three_checked(|_| false);
    one_notices(&without_syncs(&fails, |call| {
        !call.path.starts_with("/w/.txedit") && !call.path.starts_with("/states")
    }));
}

/// One of the file systems, with somebody who does this, must notice.
fn one_notices_with(scripts: impl IntoIterator<Item = Script>, deeds: &[(&str, ForeignDeed)]) {
    let explorer = without_crashes();
    for script in scripts {
        for call in 0..=Explorer::calls(&script).unwrap() {
            for (path, deed) in deeds {
                let foreign = Foreign { call, path: path.into(), deed: deed.clone() };
                if let Err(violation) = explorer.explore_with(&script, &[foreign]) {
                    eprintln!("{script:?}, noticed:\n{violation}");
                    return;
                }
            }
        }
    }
    panic!("none of them noticed");
}

/// What is in the way of a name is replaced.
fn replacing(machine: &SimFs, fs: Arc<dyn Fs>) -> Arc<dyn Fs> {
    let (faults, machine) = (FaultFs::new(fs), machine.clone());
    let is_inside = |path: &Path| path.starts_with("/w/.txedit");
    let gives = move |call: &FaultCall| {
        let is_move = matches!(call.operation, FaultOperation::Rename | FaultOperation::Link);
        is_move && is_inside(&call.path) && call.to.as_ref().is_some_and(|to| !is_inside(to))
    };
    let clear = move |call: &FaultCall| drop(machine.delete(call.to.as_ref().unwrap()));
    faults.add(Rule::before(1, clear).matching(gives).from_then_on());
    Arc::new(faults)
}

#[test]
fn a_name_that_is_taken_from_another_program_is_noticed() {
    let scripts = step_by_step(&scripts::edit()).map(|script| script.disturb(|machine, _, fs| replacing(machine, fs)));
    one_notices_with(scripts, &[("/w/a", ForeignDeed::Create(b"somebody else's\n".to_vec()))]);
}
