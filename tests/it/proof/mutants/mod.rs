//! The tests, tested: each rule of the protocol broken on purpose must be noticed. J1 to J12 are the invariants of
//! journal-format.md.
//!
//! | what is broken | rule | noticed by |
//! |---|---|---|
//! | barrier 1 left out; a target touched before it | J4 | crash |
//! | the journal changes after its seal; named before barrier 1; named late or never; torn, it waits for a person | J1, J2 | crash, a damaged medium; [`named`] |
//! | a new journal dropped unseen; marked when it is dropped; reported before that is durable | J7, J9 | crash, a sync that fails, somebody who removes a file; [`named`] |
//! | the undo state written into the journal | J2 | crash: it no longer verifies |
//! | swaps rolled back without an undo state; before it is durable | J6 | two foreign writers in a recovery, crash |
//! | an undo that becomes done | J6 | the same |
//! | no done state; done before the look | J5 | crash, a late writer, a foreign writer |
//! | swaps not looked at; those of a recovery | J5 | a foreign writer, who may change no more than a mode; one in the recovery |
//! | folders not looked at after the swaps | J5 | somebody who moves one |
//! | an original told by its digest alone | J7 | a foreign `chmod`, crash |
//! | permissions not handed over to what goes back, or on to what was put again | – | a foreign `chmod` beside a check that fails, a foreign writer |
//! | forward without evidence | J8 | crash |
//! | foreign content in a slot deleted | J7 | a foreign writer |
//! | what was rolled back or pruned unlinked without a look, by its inode alone, or at once | J7 | a late writer; [`late`] |
//! | a created file rolled back by its digest alone | J7 | a foreign creator of the same content |
//! | acknowledged before barrier 2, or without it | J9 | crash |
//! | recovery without its first sync, without its last, without any | J9 | crash after a kill, crash |
//! | the folder dropped before the undo is synced; an undo without its barrier | J9 | somebody in the way, crash |
//! | what is kept, or discarded by a person, not synced before the report | J9 | crash after the report |
//! | originals moved, or exchanged, out of history | J10 | crash |
//! | a raw move instead of a create and a delete | – | crash: no evidence |
//! | recovery before locking | – | a waiter whose edits fit only a mixture |
//! | a stale copy of the workspace trusted | J3 | a copy in which somebody went on |
//! | done decided by the target alone | – | a foreign writer of the new content |
//! | classified by inode alone | – | a foreign writer between two swaps |
//! | a young modification time that proves something | – | a foreign writer of the same size, a coarse clock |
//! | the trash emptied before a sync | – | a file that gets the number of a staged inode, crash; half a history, crash |
//! | an original, a report, a section made again, staged edits not synced | – | crash |
//! | folders removed by an undo before its swaps are durable; not synced; left by a recovery | J9 | a foreign writer and crash, crash |
//! | a sync of the whole file system believed where it does nothing | – | crash |
//! | a stage acknowledged before its name is durable; in place before it is itself | – | crash |
//! | what a power loss left of new content kept as somebody else's; taken for the original | J7 | crash |
//! | what was written into a new file that was rolled back, taken for torn | J7 | a foreign writer and crash |
//! | each sync of a commit and an undo left out, one at a time | – | crash, a late writer; [`syncs`] |
//! | the `id` of a state folder bound to no root; late writes not looked for; a single attempt | – | [`around`] |
//! | the key not looked for once the journal has its name | – | two requests with one key at once; [`keys`] |
//! | the key of a pruned transaction not durable before that goes | – | crash; [`keys`] |
//! | the state of a check not durable before it runs | – | crash |
//! | originals not looked at after the check; folders verified after it alone | J5 | a forger, somebody who moves one; [`recovered`] |
//! | folders not verified by a recovery | J5 | somebody who moves one |
//! | history pruned newest first | – | a pruning that fails |
//! | a new file that another program saved anew is no reason for doubt | – | a script of the corpus |
//! | what each script of the corpus once showed | – | that script; [`corpus`] |
//! | a guard that unlinks by path; a journal read before its header is asked | – | `hostile`, `hostile::crafted` |
//! | a mark of the newest id that does not move | – | `clock` |
//! | originals with other names not copied | J10 | `hard_links` |
//! | the target of a symlink that came out not compared | J5 | somebody who links; [`symlinks`] |
//! | a folder that goes not looked into, told by its inode alone; folders rolled back before what is in them | – | a foreign creator in it, a check that fails; [`folders`] |
//! | a plan committed that the checks in a view have not seen; a file that others changed while a program ran | – | a meddling check, a second writer; [`views`] |
//! | step by step: done before names are durable; forward after a crash; a proof, or the first name of an original, not durable | J5, J8, J3, J11 | crash; [`stepwise`] |
//! | step by step: a name taken from another program; contents not verified behind the barrier; another file told late | J5 | a foreign creator, a forger, somebody who saves; [`stepwise`] |
//! | in place: done before what was written is durable; overwritten before the copy, or the journal's name, is; forward after a crash; a foreign content taken for ours; a lease that is only believed | J5, J8, J12 | crash, a foreign writer; [`in_place`] |
//!
//! Harmless, each for a reason, and shown to be:
//! - *The look before the swap left out.* The one after it finds the same.
//! - *An unswapped transaction dropped without a (durable) undo state.* Without evidence it is dropped once more, and none
//!   can come up: what is in the trash was synced before it is unlinked. With both left out it is noticed.
//! - *An undo state that is taken for none.* The classes of the entries say all that it says, as long as a captured entry
//!   counts against going forward; it is the done state's place, and not its own, that J6 keeps it from.
//! - On ext4, *one* of the two folders of a rename *not synced*: a rename is one operation, and the sync of the other
//!   takes it along. With both left out it is noticed.

use std::sync::{Arc, Mutex};
use txedit::journal::EntryIndex;

use txedit::fs::Fs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::journal::{JournalState, Record, RecordedChange};
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::{Barrier, CommitStep, FinishStep, RollbackStep, StepPhase, Terms};
use txedit::testing::internals::commit::{backward, forward};
use txedit::testing::internals::journal::recover;
use txedit::testing::internals::journal::recover::{Ages, Class, Observed, RecoveryDecision, Seen};
use txedit::testing::{Explorer, Foreign, ForeignDeed, Role, Script};

use crate::proof::explore::scripts;

mod around;
mod contended;
mod corpus;
mod folders;
mod in_place;
mod keys;
mod late;
mod meanwhile;
mod named;
mod open;
mod played;
mod recovered;
mod scenes;
mod several;
mod stepwise;
mod symlinks;
mod syncs;
mod views;

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
fn is_caught_with(script: &Script, deeds: &[(&str, ForeignDeed)]) {
    let explorer = Explorer { images: 6, images_in_recovery: 4, depth: 1, ..Explorer::default() };
    let calls = Explorer::calls(script).unwrap();
    // Most need no crash to be seen, and without crashes all calls are tried in no time.
    for explorer in [without_crashes(), explorer] {
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
    }
    panic!("{script:?} did not notice");
}

/// Only the end of each run is judged.
fn without_crashes() -> Explorer {
    Explorer { images: 1, worlds: 0, ..Explorer::default() }
}

/// Somebody takes the name that is to be created, so that what was swapped before it is rolled back.
fn in_the_way() -> Vec<(&'static str, ForeignDeed)> {
    vec![("/w/sub/new", ForeignDeed::Create(b"somebody else's\n".to_vec()))]
}

/// Somebody writes the file that is to be edited, in place.
fn written() -> Vec<(&'static str, ForeignDeed)> {
    vec![("/w/a", ForeignDeed::Write(b"somebody else's\n".to_vec()))]
}

fn phases_without(phases: Vec<StepPhase>, left_out: fn(CommitStep) -> bool) -> Vec<StepPhase> {
    phases.into_iter().map(|phase| StepPhase { steps: without(phase.steps, left_out), ..phase }).collect()
}

fn without<S: Copy>(steps: Vec<S>, left_out: fn(S) -> bool) -> Vec<S> {
    steps.into_iter().filter(|step| !left_out(*step)).collect()
}

/// The same steps, with two that follow each other in the other order.
fn exchanged<S: Copy + PartialEq>(mut steps: Vec<S>, first: S, second: S) -> Vec<S> {
    if let Some(at) = steps.windows(2).position(|pair| pair == [first, second]) {
        steps.swap(at, at + 1);
    }
    steps
}

/// A file system whose syncs of this kind sync nothing.
fn unsynced(
    role: Role,
    is_left_out: impl Fn(&FaultCall) -> bool + Copy + Send + Sync + 'static,
) -> impl Fn(&txedit::fs::sim::SimFs, Role, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync + 'static {
    move |_, now, fs| {
        if now != role {
            return fs;
        }
        let faults = FaultFs::new(fs);
        let syncs = |call: &FaultCall| matches!(call.operation, FaultOperation::Sync | FaultOperation::SyncFileSystem);
        faults.add(Rule::pretend(1).matching(move |call| syncs(call) && is_left_out(call)).from_then_on());
        Arc::new(faults)
    }
}

#[test]
fn a_commit_without_barrier_one_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::First));
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_target_touched_before_barrier_one_is_noticed() {
    let commit = |n, terms| {
        let mut phases = forward::commit(n, terms);
        let (barrier, rest): (Vec<CommitStep>, Vec<CommitStep>) =
            phases[0].steps.iter().partition(|s| **s == CommitStep::Barrier(Barrier::First));
        phases[0].steps = rest;
        phases[1].steps.splice(2..2, barrier);
        phases
    };
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_commit_acknowledged_before_barrier_two_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::Second));
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_missing_done_state_is_noticed() {
    let commit =
        |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::SetState(JournalState::Done));
    is_caught(&scripts::edit_and_undo().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_folder_dropped_before_the_undo_is_synced_is_noticed() {
    let rollback =
        |n, state, durable| exchanged(backward::rollback(n, state, durable), RollbackStep::Sync, RollbackStep::Drop);
    is_caught_with(&scripts::three().protocol(broken(Protocol { rollback, ..PROTOCOL })), &in_the_way());
}

#[test]
fn a_recovery_without_its_last_sync_is_noticed() {
    let finish = |ready: &[EntryIndex], state| without(forward::finish(ready, state), |s| s == FinishStep::Sync);
    is_caught(&scripts::three().protocol(broken(Protocol { finish, ..PROTOCOL })));
}

#[test]
fn a_recovery_without_its_syncs_is_noticed() {
    let of_root = |call: &FaultCall| call.operation == FaultOperation::SyncFileSystem && call.path.ends_with("w");
    is_caught(&scripts::three().disturb(unsynced(Role::Recover, of_root)));
}

#[test]
fn a_recovery_forward_without_evidence_is_noticed() {
    let decide = |state, back, classes: &[Class]| match recover::decide(state, back, classes) {
        RecoveryDecision::Drop if classes.iter().all(|class| *class == Class::Ready) => RecoveryDecision::Forward,
        other => other,
    };
    is_caught(&scripts::with_metadata().protocol(broken(Protocol { decide, ..PROTOCOL })));
}

#[test]
fn originals_moved_out_of_history_are_noticed() {
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
                    call.operation == FaultOperation::CopyRange && call.path.to_string_lossy().contains("/history/")
                })
                .from_then_on(),
        );
        let written = |call: &FaultCall| call.operation == FaultOperation::Create && call.path.ends_with("journal.new");
        let unlink = move |_: &FaultCall| {
            let Some(path) = moved.lock().unwrap().take() else { return };
            let folder = fs.open_folder(path.parent().unwrap()).unwrap();
            fs.unlink(txedit::fs::Name::new(&folder, path.file_name().unwrap())).unwrap();
        };
        faults.add(Rule::before(1, unlink).matching(written).from_then_on());
        Arc::new(faults)
    };
    is_caught(&scripts::edit_and_undo().disturb(moves));
}

#[test]
fn a_journal_that_changes_after_its_seal_is_noticed() {
    let rewrites = |machine: &txedit::fs::sim::SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let faults = FaultFs::new(fs);
        let machine = machine.clone();
        let rewrite = move |call: &FaultCall| {
            let bytes = machine.read(&call.path).unwrap();
            machine.write_in_place(&call.path, bytes).unwrap();
        };
        let sets_state = |call: &FaultCall| call.operation == FaultOperation::Rename && call.path.ends_with("journal");
        faults.add(Rule::before(1, rewrite).matching(sets_state).from_then_on());
        Arc::new(faults)
    };
    is_caught(&scripts::edit().disturb(rewrites));
}

#[test]
fn an_undo_without_its_barrier_is_noticed() {
    let rollback = |n, state, durable| without(backward::rollback(n, state, durable), |s| s == RollbackStep::Sync);
    is_caught_with(&scripts::three().protocol(broken(Protocol { rollback, ..PROTOCOL })), &in_the_way());
}

#[test]
fn swaps_that_are_not_looked_at_are_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifySwap(_)));
    is_caught_with(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })), &written());
}

#[test]
fn the_look_before_the_swap_can_be_left_out() {
    // The look after the swap finds all that this one would; it only saves the undo.
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifyTarget(_)));
    let script = scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL }));
    let found = crate::proof::foreign::explorer().explore_deeds(&script, &written(), 4);
    found.unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn foreign_content_deleted_in_a_slot_is_noticed() {
    let is_new = |_: &Record, _: Seen| true;
    is_caught_with(&scripts::edit().protocol(broken(Protocol { is_new, ..PROTOCOL })), &written());
}

#[test]
fn a_created_file_rolled_back_by_its_digest_alone_is_noticed() {
    let classify = |record: &Record, observed: &Observed| match recover::classify(record, observed) {
        Class::Same if matches!(record.change, RecordedChange::Create { .. }) => Class::Done,
        other => other,
    };
    let script = scripts::three().protocol(broken(Protocol { classify, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/sub/new", ForeignDeed::Create(b"new two\n".to_vec()))]);
}

#[test]
fn done_decided_by_the_target_alone_is_noticed() {
    let classify = |record: &Record, observed: &Observed| {
        let is_edit = matches!(record.change, RecordedChange::Edit { .. });
        if is_edit && recover::is_new(record, observed.target) {
            return Class::Done;
        }
        recover::classify(record, observed)
    };
    let script = scripts::edit().protocol(broken(Protocol { classify, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/a", ForeignDeed::Replace(b"a two\n".to_vec()))]);
}

#[test]
fn classes_told_by_inode_alone_are_noticed() {
    let classify = |record: &Record, observed: &Observed| {
        let staged = record.change.staged();
        match staged {
            Some(staged) if recover::is(observed.target, staged) => Class::Done,
            Some(staged) if recover::is(observed.slot, staged) => Class::Ready,
            _ => recover::classify(record, observed),
        }
    };
    let script = scripts::pair().protocol(broken(Protocol { classify, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/b", ForeignDeed::Write(b"somebody else's\n".to_vec()))]);
}

#[test]
fn a_done_state_before_the_look_is_noticed() {
    let commit = |n, terms| {
        let mut phases = forward::commit(n, terms);
        let steps = &mut phases[1].steps;
        steps.retain(|step| *step != CommitStep::SetState(JournalState::Done));
        steps.insert(1, CommitStep::SetState(JournalState::Done));
        phases
    };
    is_caught_with(&scripts::pair().protocol(broken(Protocol { commit, ..PROTOCOL })), &written());
}

#[test]
fn a_missing_done_state_beside_a_late_writer_is_noticed() {
    let commit =
        |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::SetState(JournalState::Done));
    let script = scripts::three().protocol(broken(Protocol { commit, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/a", ForeignDeed::AppendToOld(b"late\n".to_vec()))]);
}

#[test]
fn metadata_given_back_that_is_not_synced_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::SyncGivenBack);
    is_caught(&scripts::folder_made_again().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_sync_of_the_file_system_believed_where_it_does_nothing_is_noticed() {
    let of_all = |call: &FaultCall| call.operation == FaultOperation::SyncFileSystem;
    is_caught(&scripts::edit().disturb(unsynced(Role::Act, of_all)));
}

#[test]
fn torn_content_kept_as_somebody_elses_is_noticed() {
    let is_incomplete = |_: &Record, _: Seen, _: Ages| false;
    is_caught(&scripts::edit().protocol(broken(Protocol { is_incomplete, ..PROTOCOL })));
}

#[test]
fn torn_content_taken_for_the_original_is_noticed() {
    // What is left of a new content can be the old one, where that was empty.
    let classify = |record: &Record, observed: &Observed| match recover::classify(record, observed) {
        Class::Torn if !recover::is_new(record, observed.slot) && observed.slot != Seen::Missing => Class::OnTop,
        other => other,
    };
    is_caught(&scripts::an_empty_one().protocol(broken(Protocol { classify, ..PROTOCOL })));
}

/// A call between the workspace's own folder and the transaction's.
fn swaps(call: &FaultCall, names: &[&str]) -> bool {
    let is = |path: &std::path::Path| names.iter().any(|name| path == std::path::Path::new("/w").join(name));
    call.operation == FaultOperation::Rename && (is(&call.path) || call.to.as_deref().is_some_and(is))
}

fn is_unlooked(n: usize, terms: Terms) -> Vec<StepPhase> {
    phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifySwap(_)))
}

#[test]
fn a_raw_move_instead_of_a_create_and_a_delete_is_noticed() {
    let moves = |_: &txedit::fs::sim::SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let faults = FaultFs::new(Arc::clone(&fs));
        let of_either = |call: &FaultCall| swaps(call, &["a", "moved"]);
        let renames = move |_: &FaultCall| {
            let root = fs.open_folder(std::path::Path::new("/w")).unwrap();
            let (from, to) = (txedit::fs::Name::new(&root, "a"), txedit::fs::Name::new(&root, "moved"));
            fs.rename(from, to, txedit::fs::Rename::NoReplace).unwrap();
        };
        faults.add(Rule::before(1, renames).matching(of_either));
        faults.add(Rule::pretend(1).matching(of_either).from_then_on());
        Arc::new(faults)
    };
    let files = vec![scripts::renames("a", "moved"), scripts::replaces("b", "one", "two")];
    let script = Script::new("a move and an edit", scripts::files).apply(scripts::request(files));
    is_caught(&script.protocol(broken(Protocol { commit: is_unlooked, ..PROTOCOL })).disturb(moves));
}

#[test]
fn an_undo_that_exchanges_out_of_history_is_noticed() {
    let exchanges = |_: &txedit::fs::sim::SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let faults = FaultFs::new(Arc::clone(&fs));
        // The first two swaps are those of the transaction that is undone.
        let of_either = |call: &FaultCall| swaps(call, &["a", "b"]);
        let exchange = move |call: &FaultCall| {
            let history = fs.open_folder(std::path::Path::new("/w/.txedit/history")).unwrap();
            let newest = fs.list(&history).unwrap().into_iter().max().unwrap();
            let undone = fs.open_beneath(&history, newest.as_ref()).unwrap();
            let root = fs.open_folder(std::path::Path::new("/w")).unwrap();
            let (slot, target) = (call.path.file_name().unwrap(), call.to.as_ref().unwrap().file_name().unwrap());
            let (slot, target) = (txedit::fs::Name::new(&undone, slot), txedit::fs::Name::new(&root, target));
            fs.rename(slot, target, txedit::fs::Rename::Exchange).unwrap();
        };
        faults.add(Rule::before(3, exchange).matching(of_either).from_then_on());
        faults.add(Rule::pretend(3).matching(of_either).from_then_on());
        Arc::new(faults)
    };
    let script = scripts::pair().undo().protocol(broken(Protocol { commit: is_unlooked, ..PROTOCOL }));
    is_caught(&script.disturb(exchanges));
}

#[test]
fn an_undo_state_written_into_the_journal_is_noticed() {
    let appends = |machine: &txedit::fs::sim::SimFs, _, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        let machine = machine.clone();
        let undoes = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with(JournalState::Undo.file_name()));
        let append = move |call: &FaultCall| machine.append(&call.path, "{\"undo\":true}\n").unwrap();
        faults.add(Rule::before(1, append).matching(undoes).from_then_on());
        faults.add(Rule::pretend(1).matching(undoes).from_then_on());
        Arc::new(faults)
    };
    is_caught(&scripts::edit().disturb(appends));
}
