//! The mutants that it takes a scene to show.

use std::sync::Arc;
use txedit::journal::EntryIndex;

use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::{Fs, Timestamp};
use txedit::journal::{JournalState, Record};
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::testing::internals::commit::step::{CommitStep, DropStep, FinishStep, RollbackStep};
use txedit::testing::internals::commit::{Protocol, backward, forward};
use txedit::testing::internals::journal::recover;
use txedit::testing::internals::journal::recover::{Ages, Class, Seen};

use super::scenes::{self, Scene, Wrap, plain};
use super::{broken, in_the_way, phases_without, without};
use crate::proof::explore::scripts;

/// The protocol comes through a scene, and a broken one does not.
pub(super) fn tells_apart(scene: impl Fn(&'static Protocol) -> Scene, mutant: Protocol) {
    scene(&PROTOCOL).unwrap_or_else(|broken| panic!("{broken}"));
    let noticed = scene(broken(mutant)).expect_err("the mutant was not noticed");
    eprintln!("{noticed}");
}

/// The same of something between the engine and the machine.
fn tells_wrapped_apart(scene: impl Fn(Wrap) -> Scene, mutant: Wrap) {
    scene(plain).unwrap_or_else(|broken| panic!("{broken}"));
    let noticed = scene(mutant).expect_err("the mutant was not noticed");
    eprintln!("{noticed}");
}

#[test]
fn a_rollback_without_an_undo_state_is_noticed() {
    let rollback =
        |n, state, durable| without(backward::rollback(n, state, durable), |s| matches!(s, RollbackStep::SetState(_)));
    tells_apart(scenes::written_after_it_was_rolled_back, Protocol { rollback, ..PROTOCOL });
}

#[test]
fn a_rollback_before_the_undo_state_is_durable_is_noticed() {
    let rollback =
        |n, state, durable| without(backward::rollback(n, state, durable), |s| s == RollbackStep::SyncFolder);
    tells_apart(scenes::written_after_it_was_rolled_back, Protocol { rollback, ..PROTOCOL });
}

#[test]
fn an_undo_that_becomes_done_is_noticed() {
    let decide = |state, back, classes: &[Class]| match state {
        JournalState::Undo => recover::decide(JournalState::Done, back, classes),
        _ => recover::decide(state, back, classes),
    };
    let finish = |ready: &[EntryIndex], state| match state {
        JournalState::Undo => forward::finish(ready, JournalState::Sealed),
        _ => forward::finish(ready, state),
    };
    tells_apart(scenes::written_after_it_was_rolled_back, Protocol { decide, finish, ..PROTOCOL });
}

#[test]
fn an_undo_state_that_is_taken_for_none_is_harmless() {
    let decide = |state, back, classes: &[Class]| match state {
        JournalState::Undo => recover::decide(JournalState::Sealed, back, classes),
        _ => recover::decide(state, back, classes),
    };
    let finish = |ready: &[EntryIndex], state| match state {
        JournalState::Undo => forward::finish(ready, JournalState::Sealed),
        _ => forward::finish(ready, state),
    };
    let protocol = broken(Protocol { decide, finish, ..PROTOCOL });
    scenes::written_after_it_was_rolled_back(protocol).unwrap();
    let found = crate::proof::foreign::explorer().explore_deeds(&scripts::three().protocol(protocol), &in_the_way(), 8);
    found.unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn a_recovery_that_does_not_look_at_its_swaps_is_noticed() {
    let finish = |ready: &[EntryIndex], state| {
        without(forward::finish(ready, state), |s| matches!(s, FinishStep::VerifySwap(_)))
    };
    tells_apart(scenes::written_before_the_last_swap, Protocol { finish, ..PROTOCOL });
}

#[test]
fn a_stale_copy_that_is_trusted_is_noticed() {
    tells_apart(scenes::a_stale_copy, Protocol { is_born_here: |_, _, _, _| true, ..PROTOCOL });
}

#[test]
fn a_recovery_before_locking_is_noticed() {
    // What is interrupted is looked for before the locks alone.
    tells_apart(scenes::a_waiter, Protocol { touches: |_, _| false, ..PROTOCOL });
}

#[test]
fn content_kept_and_not_synced_before_the_report_is_noticed() {
    tells_wrapped_apart(scenes::what_a_rollback_keeps, scenes::no_sync_of_what_is_kept);
    for torn in [false, true] {
        tells_wrapped_apart(|wrap| scenes::what_a_person_discards(wrap, torn), scenes::no_sync_of_what_is_kept);
    }
}

#[test]
fn a_trash_emptied_before_a_sync_is_noticed() {
    tells_wrapped_apart(|wrap| scenes::a_trash_that_comes_back(&PROTOCOL, wrap, false), scenes::trash_not_synced);
    tells_wrapped_apart(scenes::pruned, scenes::trash_not_synced);
}

#[test]
fn an_unswapped_transaction_dropped_without_an_undo_state_and_a_sync_is_noticed() {
    // Each of the two is there for the other: the state, and the sync of the trash.
    let drop_unswapped = |state| without(backward::drop_unswapped(state), |s| s != DropStep::Drop);
    let without_state = broken(Protocol { drop_unswapped, ..PROTOCOL });
    let scene = |protocol, wrap| scenes::a_trash_that_comes_back(protocol, wrap, true);
    scene(&PROTOCOL, plain).unwrap();
    scene(without_state, plain).unwrap();
    scene(&PROTOCOL, scenes::trash_not_synced).unwrap();
    scene(without_state, scenes::trash_not_synced).expect_err("both were left out, and it was not noticed");
}

#[test]
fn an_original_that_is_not_synced_is_noticed() {
    let unsynced = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        let is_sync = |call: &FaultCall| matches!(call.operation, FaultOperation::Sync | FaultOperation::WriteOut);
        let of_original = move |call: &FaultCall| is_sync(call) && call.path.ends_with("w/a");
        faults.add(Rule::pretend(1).matching(of_original).from_then_on());
        Arc::new(faults)
    };
    tells_wrapped_apart(scenes::an_original_that_was_not_durable, unsynced);
}

#[test]
fn a_section_made_again_and_not_synced_is_noticed() {
    let unsynced = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        let of_state = |call: &FaultCall| call.operation == FaultOperation::Sync && call.path.ends_with(".txedit");
        faults.add(Rule::pretend(1).matching(of_state).from_then_on());
        Arc::new(faults)
    };
    tells_wrapped_apart(scenes::sections_removed, unsynced);
}

#[test]
fn a_report_that_is_not_synced_is_noticed() {
    let unsynced = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        let of_report = |call: &FaultCall| call.operation == FaultOperation::Sync && call.path.ends_with("report.json");
        faults.add(Rule::pretend(1).matching(of_report).from_then_on());
        Arc::new(faults)
    };
    tells_wrapped_apart(scenes::a_report_on_ext4, unsynced);
}

#[test]
fn staged_edits_that_are_not_synced_are_noticed() {
    let unsynced = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        let in_open = |call: &FaultCall| {
            call.operation == FaultOperation::SyncFileSystem && call.path.to_string_lossy().contains("open")
        };
        faults.add(Rule::pretend(1).matching(in_open).from_then_on());
        Arc::new(faults)
    };
    tells_wrapped_apart(scenes::staged_in_two_calls, unsynced);
}

#[test]
fn content_written_into_a_swapped_file_and_taken_for_torn_is_noticed() {
    let is_incomplete = |record: &Record, seen: Seen, ages: Ages| {
        recover::is_incomplete(record, seen, Ages { touched: Timestamp::new(0, 0), ..ages })
    };
    tells_apart(scenes::written_into_a_new_file_that_is_rolled_back, Protocol { is_incomplete, ..PROTOCOL });
}

#[test]
fn a_recovery_without_its_first_sync_is_noticed() {
    tells_wrapped_apart(scenes::recovered_from_the_page_cache, scenes::no_first_sync);
}

#[test]
fn metadata_given_back_before_the_swaps_are_durable_is_noticed() {
    let commit = |n, terms| {
        let mut phases = phases_without(forward::commit(n, terms), |s| s == CommitStep::GiveBack);
        phases[1].steps.push(CommitStep::GiveBack);
        phases
    };
    tells_apart(scenes::an_undo_that_gives_a_folder_its_mode_back, Protocol { commit, ..PROTOCOL });
}

#[test]
fn an_adopted_journal_that_is_not_synced_is_noticed() {
    let unsynced = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        faults.add(Rule::pretend(1).of(FaultOperation::SyncFileSystem).from_then_on());
        Arc::new(faults)
    };
    tells_wrapped_apart(scenes::an_adopted_journal, unsynced);
}
