//! The tests, tested: each rule of the protocol broken on purpose must be noticed.
//!
//! | what is broken | rule | noticed by |
//! |---|---|---|
//! | barrier 1 left out; a target touched before it | 1 | crash |
//! | the journal changes after its seal; not synced; named before it is synced | 2 | crash |
//! | forward without evidence | 6 | crash |
//! | acknowledged before barrier 2, or without it | 8 | crash |
//! | recovery without its first sync, without its last | 8 | crash |
//! | originals moved out of history | 9 | crash |
//! | no done mark; done before the look | 5 | crash, a late writer, a foreign writer |
//! | swaps not looked at | 5 | a foreign writer |
//! | foreign content in a slot deleted | 7 | a foreign writer |
//! | a created file taken back by its digest alone | 7 | a foreign creator of the same content |
//! | done decided by the target alone | – | a foreign writer of the new content |
//! | classified by inode alone | – | a foreign writer between two swaps |
//! | the folder dropped before the undo is synced; an undo without its barrier | 8 | somebody in the way, crash |
//!
//! Not noticed yet, each tried on the same scripts and no test here:
//! - *The trash emptied before a sync*, *an unswapped transaction dropped without a (durable) undo mark*, and both at
//!   once: a folder that comes back with a part of its content shows no evidence, and is dropped once more.
//! - *Swaps taken back without a (durable) undo mark*, *an undo that becomes done* (rules 3 and 4): until the report all
//!   of old and new is allowed, and the report comes after a sync. One foreign act and crashes do not show it; it may
//!   take a second transaction, or a second foreign act between the take-back and the crash.
//! - *What is kept not synced before the report*: the next recovery keeps it once more; only the path that was reported
//!   is missing until then, and that is not checked.
//!
//! Harmless, and shown to be: the look before the swap left out. The one after it finds the same.

use std::sync::{Arc, Mutex};

use txedit::commit::protocol::{PROTOCOL, Protocol};
use txedit::commit::step::{Barrier, Phase, Step};
use txedit::commit::{backward, forward};
use txedit::fs::Fs;
use txedit::fs::fault::{Call, FaultFs, Operation, Rule};
use txedit::journal::recover::{Class, Decision};
use txedit::journal::recover::{Observed, Seen};
use txedit::journal::{Change, Mark, Record, recover};
use txedit::testing::{Deed, Explorer, Foreign, Role, Script};

use crate::explore::scripts;

/// A protocol that is broken.
fn broken(protocol: Protocol) -> &'static Protocol {
    Box::leak(Box::new(protocol))
}

/// A crash must show what is broken.
fn is_caught(script: &Script) {
    match Explorer::default().explore(script) {
        Ok(found) => panic!("{script:?} did not notice: {found}"),
        Err(violation) => eprintln!("{script:?}, noticed:\n{violation}"),
    }
}

/// A crash after a foreign program's deed must show it.
fn is_caught_with(script: &Script, deeds: &[(&str, Deed)]) {
    let explorer = Explorer { images: 6, images_in_recovery: 4, depth: 1, ..Explorer::default() };
    let calls = Explorer::calls(script).unwrap();
    // What comes before the first swap is no matter of these.
    for call in calls / 2..=calls {
        for (path, deed) in deeds {
            let foreign = Foreign { call, path: path.into(), deed: deed.clone() };
            if let Err(violation) = explorer.explore_with(script, &[foreign]) {
                eprintln!("{script:?}, noticed:\n{violation}");
                return;
            }
        }
    }
    panic!("{script:?} did not notice");
}

/// Somebody takes the name that is to be created, so that what was swapped before it is taken back.
fn in_the_way() -> Vec<(&'static str, Deed)> {
    vec![("/w/sub/new", Deed::Create(b"somebody else's\n".to_vec()))]
}

/// Somebody writes the file that is to be edited, in place.
fn written() -> Vec<(&'static str, Deed)> {
    vec![("/w/a", Deed::Write(b"somebody else's\n".to_vec()))]
}

fn phases_without(phases: Vec<Phase>, left_out: fn(Step) -> bool) -> Vec<Phase> {
    phases.into_iter().map(|phase| Phase { steps: without(phase.steps, left_out), ..phase }).collect()
}

fn without(steps: Vec<Step>, left_out: fn(Step) -> bool) -> Vec<Step> {
    steps.into_iter().filter(|step| !left_out(*step)).collect()
}

/// The same steps, with two that follow each other in the other order.
fn exchanged(mut steps: Vec<Step>, first: Step, second: Step) -> Vec<Step> {
    if let Some(at) = steps.windows(2).position(|pair| pair == [first, second]) {
        steps.swap(at, at + 1);
    }
    steps
}

/// A file system whose syncs of this kind sync nothing.
fn unsynced(
    role: Role,
    is_left_out: impl Fn(&Call) -> bool + Copy + Send + Sync + 'static,
) -> impl Fn(&txedit::fs::sim::SimFs, Role, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync + 'static {
    move |_, now, fs| {
        if now != role {
            return fs;
        }
        let faults = FaultFs::new(fs);
        let syncs = |call: &Call| matches!(call.operation, Operation::Sync | Operation::SyncFileSystem);
        faults.add(Rule::pretend(1).matching(move |call| syncs(call) && is_left_out(call)).from_then_on());
        Arc::new(faults)
    }
}

#[test]
fn barrier_one_left_out() {
    let commit = |n, durable| phases_without(forward::commit(n, durable), |s| s == Step::Barrier(Barrier::First));
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn the_journal_not_synced() {
    let commit = |n, durable| phases_without(forward::commit(n, durable), |s| s == Step::SyncJournal);
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn the_journal_named_before_it_is_synced() {
    let commit = |n, durable| {
        let mut phases = forward::commit(n, durable);
        phases[0].steps = exchanged(std::mem::take(&mut phases[0].steps), Step::SyncJournal, Step::NameJournal);
        phases
    };
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_target_touched_before_barrier_one() {
    let commit = |n, durable| {
        let mut phases = forward::commit(n, durable);
        let (barrier, rest): (Vec<Step>, Vec<Step>) =
            phases[0].steps.iter().partition(|s| **s == Step::Barrier(Barrier::First));
        phases[0].steps = rest;
        phases[1].steps.splice(2..2, barrier);
        phases
    };
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn acknowledged_before_barrier_two() {
    let commit = |n, durable| phases_without(forward::commit(n, durable), |s| s == Step::Barrier(Barrier::Second));
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn no_done_mark() {
    let commit = |n, durable| phases_without(forward::commit(n, durable), |s| s == Step::Mark(Mark::Done));
    is_caught(&scripts::edit_and_undo().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn the_folder_dropped_before_the_undo_is_synced() {
    let undo =
        |n, mark, durable| exchanged(backward::undo(n, mark, durable), Step::Barrier(Barrier::Undone), Step::Drop);
    is_caught_with(&scripts::three().protocol(broken(Protocol { undo, ..PROTOCOL })), &in_the_way());
}

#[test]
fn recovery_without_its_last_sync() {
    let finish = |ready: &[usize], mark| without(forward::finish(ready, mark), |s| s == Step::Barrier(Barrier::Second));
    is_caught(&scripts::three().protocol(broken(Protocol { finish, ..PROTOCOL })));
}

#[test]
fn recovery_without_its_first_sync() {
    let first = |call: &Call| call.operation == Operation::SyncFileSystem && call.path.ends_with("w");
    is_caught(&scripts::three().disturb(unsynced(Role::Recover, first)));
}

#[test]
fn forward_without_evidence() {
    let decide = |mark, back, classes: &[Class]| match recover::decide(mark, back, classes) {
        Decision::Drop if classes.iter().all(|class| *class == Class::Ready) => Decision::Forward,
        other => other,
    };
    is_caught(&scripts::three().protocol(broken(Protocol { decide, ..PROTOCOL })));
}

#[test]
fn originals_moved_out_of_history() {
    let moves = |_: &txedit::fs::sim::SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let faults = FaultFs::new(Arc::clone(&fs));
        let moved = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&moved);
        faults.add(
            Rule::after(1, move |call| *seen.lock().unwrap() = Some(call.path.clone()))
                .matching(|call| {
                    call.operation == Operation::CopyRange && call.path.to_string_lossy().contains("/history/")
                })
                .from_then_on(),
        );
        let named = |call: &Call| call.operation == Operation::Rename && call.path.ends_with(".journal");
        let unlink = move |_: &Call| {
            let Some(path) = moved.lock().unwrap().take() else { return };
            let folder = fs.open_folder(path.parent().unwrap()).unwrap();
            fs.unlink(txedit::fs::Name::new(&folder, path.file_name().unwrap())).unwrap();
        };
        faults.add(Rule::before(1, unlink).matching(named).from_then_on());
        Arc::new(faults)
    };
    is_caught(&scripts::edit_and_undo().disturb(moves));
}

#[test]
fn a_journal_that_changes_after_its_seal() {
    let rewrites = |machine: &txedit::fs::sim::SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let faults = FaultFs::new(fs);
        let machine = machine.clone();
        let rewrite = move |call: &Call| {
            let bytes = machine.read(&call.path).unwrap();
            machine.write_in_place(&call.path, bytes).unwrap();
        };
        let marks = |call: &Call| call.operation == Operation::Rename && call.path.ends_with("journal");
        faults.add(Rule::before(1, rewrite).matching(marks).from_then_on());
        Arc::new(faults)
    };
    is_caught(&scripts::edit().disturb(rewrites));
}

#[test]
fn an_undo_without_its_barrier() {
    let undo = |n, mark, durable| without(backward::undo(n, mark, durable), |s| s == Step::Barrier(Barrier::Undone));
    is_caught_with(&scripts::three().protocol(broken(Protocol { undo, ..PROTOCOL })), &in_the_way());
}

#[test]
fn swaps_that_are_not_looked_at() {
    let commit = |n, durable| phases_without(forward::commit(n, durable), |s| matches!(s, Step::Look(_)));
    is_caught_with(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })), &written());
}

#[test]
fn targets_that_are_not_looked_at_before_the_swap() {
    // The look after the swap finds all that this one would; it only saves the undo.
    let commit = |n, durable| phases_without(forward::commit(n, durable), |s| matches!(s, Step::Recheck(_)));
    let script = scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL }));
    let found = crate::foreign::explorer().explore_deeds(&script, &written(), 4);
    found.unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn foreign_content_in_a_slot_deleted() {
    let is_new = |_: &Record, _: Seen| true;
    is_caught_with(&scripts::edit().protocol(broken(Protocol { is_new, ..PROTOCOL })), &written());
}

#[test]
fn a_created_file_taken_back_by_its_digest_alone() {
    let classify = |record: &Record, observed: &Observed| match recover::classify(record, observed) {
        Class::Same if matches!(record.change, Change::Create { .. }) => Class::Done,
        other => other,
    };
    let script = scripts::three().protocol(broken(Protocol { classify, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/sub/new", Deed::Create(b"new two\n".to_vec()))]);
}

#[test]
fn done_decided_by_the_target_alone() {
    let classify = |record: &Record, observed: &Observed| {
        let is_edit = matches!(record.change, Change::Edit { .. });
        if is_edit && recover::is_new(record, observed.target) {
            return Class::Done;
        }
        recover::classify(record, observed)
    };
    let script = scripts::edit().protocol(broken(Protocol { classify, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/a", Deed::Replace(b"a two\n".to_vec()))]);
}

#[test]
fn classified_by_inode_alone() {
    let classify = |record: &Record, observed: &Observed| {
        let staged = record.change.staged();
        match staged {
            Some(staged) if recover::is(observed.target, staged) => Class::Done,
            Some(staged) if recover::is(observed.slot, staged) => Class::Ready,
            _ => recover::classify(record, observed),
        }
    };
    let script = scripts::pair().protocol(broken(Protocol { classify, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/b", Deed::Write(b"somebody else's\n".to_vec()))]);
}

#[test]
fn done_before_the_look() {
    let commit = |n, durable| {
        let mut phases = forward::commit(n, durable);
        let steps = &mut phases[1].steps;
        steps.retain(|step| *step != Step::Mark(Mark::Done));
        steps.insert(1, Step::Mark(Mark::Done));
        phases
    };
    is_caught_with(&scripts::pair().protocol(broken(Protocol { commit, ..PROTOCOL })), &written());
}

#[test]
fn no_done_mark_and_a_late_writer() {
    let commit = |n, durable| phases_without(forward::commit(n, durable), |s| s == Step::Mark(Mark::Done));
    let script = scripts::three().protocol(broken(Protocol { commit, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/a", Deed::AppendToOld(b"late\n".to_vec()))]);
}
