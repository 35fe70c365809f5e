//! Rules of what moves names step by step, broken.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::{ErrorKind, Report, Run};

use super::*;
use crate::proof::explore::scripts::{replaces, request};
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

/// A commit of `a` and `b`, with what somebody does right before this one leaves its name.
fn meddled(
    protocol: &'static Protocol,
    name: &'static str,
    meddle: impl Fn(&SimFs, &FaultCall) + Send + Sync + 'static,
) -> (SimFs, txedit::Result<Report>) {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    machine.volume("/w", |volume| volume.exchange = false).unwrap();
    scripts::files(&machine);
    machine.advance(Duration::from_secs(60));
    let acting = machine.clone();
    let faults = FaultFs::new(Arc::new(machine.process(1)));
    let leaves =
        move |call: &FaultCall| call.operation == FaultOperation::Rename && call.path == Path::new("/w").join(name);
    faults.add(Rule::before(1, move |call: &FaultCall| meddle(&acting, call)).matching(leaves));
    let engine = Script::new("meddled", |_| ()).protocol(protocol).engine(Arc::new(faults)).unwrap();
    let both = request(vec![replaces("a", "one", "two"), replaces("b", "one", "two")]);
    let done = engine.apply(&both, Run::default());
    (machine, done)
}

/// Writes into the original of `a`, once it has left its name, and sets its time back.
fn forge(machine: &SimFs, call: &FaultCall) {
    let slot = call.to.as_ref().unwrap().with_file_name("000000.out");
    let time = machine.stat(&slot).unwrap().modified;
    machine.write_in_place(&slot, "a 1ne\n").unwrap();
    machine.set_modified(&slot, time).unwrap();
}

#[test]
fn contents_that_are_not_verified_behind_the_barrier_are_noticed() {
    let (machine, done) = meddled(&PROTOCOL, "b", forge);
    assert_eq!(done.unwrap_err().kind(), ErrorKind::ConcurrentModification);
    assert_eq!(["a", "b"].map(|name| machine.read(Path::new("/w").join(name)).unwrap()), [b"a 1ne\n", b"b one\n"]);
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifySwapAgain(_)));
    assert!(meddled(broken(Protocol { commit, ..PROTOCOL }), "b", forge).1.is_ok(), "it was noticed");
}

/// Whether `b` is never swapped after somebody saved another `a` by a rename in the moment of its swap.
fn is_told_at_once(protocol: &'static Protocol) -> bool {
    let swapped = Arc::new(AtomicBool::new(false));
    let swaps = swapped.clone();
    let (machine, done) = meddled(protocol, "a", move |machine, _| {
        machine.create("/w/.a.new", "theirs\n").unwrap();
        machine.rename("/w/.a.new", "/w/a").unwrap();
        let swaps = swaps.clone();
        machine.set_hook(move |call| {
            let leaves = call.verb == "rename" && call.path == Path::new("/w/b");
            swaps.fetch_or(leaves, Ordering::SeqCst);
            Action::Continue
        });
    });
    done.unwrap_err();
    assert_eq!(machine.read("/w/a").unwrap(), b"theirs\n");
    !swapped.load(Ordering::SeqCst)
}

#[test]
fn another_file_that_came_out_and_is_told_late_is_noticed() {
    assert!(is_told_at_once(&PROTOCOL));
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifySwapByStat(_)));
    assert!(!is_told_at_once(broken(Protocol { commit, ..PROTOCOL })), "it was not noticed");
}
