//! What protects files and folders that become each other.

use txedit::journal::{JournalState, Record, RecordedChange};
use txedit::testing::ForeignDeed;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::{CommitStep, RollbackStep, StepPhase, Terms};
use txedit::testing::internals::commit::{backward, forward};
use txedit::testing::internals::journal::recover;
use txedit::testing::internals::journal::recover::{Class, Observed, Seen};

use super::{broken, is_caught, is_caught_with, phases_without};
use crate::proof::explore::scripts;

/// Somebody puts a file into the folder that becomes a file.
fn filled() -> Vec<(&'static str, ForeignDeed)> {
    vec![("/w/sub/theirs", ForeignDeed::Create(b"theirs\n".to_vec()))]
}

#[test]
fn a_folder_that_goes_and_is_not_looked_into_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |step| matches!(step, CommitStep::VerifySwap(_)));
    is_caught_with(&scripts::folder_to_file().protocol(broken(Protocol { commit, ..PROTOCOL })), &filled());
}

#[test]
fn a_folder_told_by_its_inode_whatever_is_in_it_is_noticed() {
    let classify = |record: &Record, observed: &Observed| {
        let emptied = |seen| match seen {
            Seen::Filled(folder) => Seen::Folder(folder),
            seen => seen,
        };
        let Observed { target, slot } = *observed;
        recover::classify(record, &Observed { target: emptied(target), slot: emptied(slot) })
    };
    is_caught_with(&scripts::folder_to_file().protocol(broken(Protocol { classify, ..PROTOCOL })), &filled());
}

#[test]
fn a_file_that_came_out_in_the_place_of_a_folder_and_is_not_compared_is_noticed() {
    let classify = |record: &Record, observed: &Observed| match recover::classify(record, observed) {
        Class::Captured if matches!(record.change, RecordedChange::FileToFolder { .. }) => Class::Done,
        class => class,
    };
    let deeds = [("/w/a", ForeignDeed::Replace(b"somebody else's\n".to_vec()))];
    is_caught_with(&scripts::file_to_folder().protocol(broken(Protocol { classify, ..PROTOCOL })), &deeds);
}

/// A rollback that takes the entries from the first to the last.
fn rolled_back_forward(n: usize, state: JournalState, durable: bool) -> Vec<RollbackStep> {
    let steps = backward::rollback(n, state, durable);
    let is_back = |step: &RollbackStep| matches!(step, RollbackStep::RollBack(_) | RollbackStep::FindFolder(_));
    let first = steps.iter().position(is_back).unwrap_or(0);
    let (before, rest) = steps.split_at(first);
    let (mut back, after): (Vec<RollbackStep>, Vec<RollbackStep>) = rest.iter().partition(|step| is_back(step));
    back.sort_by_key(|step| match step {
        RollbackStep::FindFolder(entry) => (entry.0, 0),
        RollbackStep::RollBack(entry) => (entry.0, 1),
        _ => (n, 2),
    });
    before.iter().copied().chain(back).chain(after).collect()
}

#[test]
fn folders_rolled_back_before_what_is_in_them_are_noticed() {
    let script = scripts::file_and_folder_checked(|_| false);
    is_caught(&script.protocol(broken(Protocol { rollback: rolled_back_forward, ..PROTOCOL })));
}

#[test]
fn a_removed_folder_rolled_back_after_what_was_in_it_is_noticed() {
    let script = scripts::folders_removed().protocol(broken(Protocol { rollback: rolled_back_forward, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/sub/theirs", ForeignDeed::Create(b"theirs\n".to_vec()))]);
}

/// The swaps from the last entry to the first, each followed by its verification.
fn swapped_backward(n: usize, terms: Terms) -> Vec<StepPhase> {
    let mut phases = forward::commit(n, terms);
    for phase in &mut phases {
        let is_swap = |step: &CommitStep| matches!(step, CommitStep::Swap(_) | CommitStep::VerifySwap(_));
        let (mut swaps, rest): (Vec<CommitStep>, Vec<CommitStep>) = phase.steps.iter().partition(|step| is_swap(step));
        swaps.sort_by_key(|step| match step {
            CommitStep::Swap(entry) => (n - entry.0, 0),
            CommitStep::VerifySwap(entry) => (n - entry.0, 1),
            _ => (0, 0),
        });
        phase.steps = swaps.into_iter().chain(rest).collect();
    }
    phases
}

/// Not by a crash: the names in a folder that goes are reached through the folder itself, wherever it is by then.
#[test]
fn a_folder_removed_before_its_entries_can_be_finished() {
    let protocol = broken(Protocol { commit: swapped_backward, ..PROTOCOL });
    let found = crate::proof::foreign::explorer().explore(&scripts::folders_removed().protocol(protocol));
    found.unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn a_removed_folder_that_is_not_looked_into_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |step| matches!(step, CommitStep::VerifySwap(_)));
    is_caught_with(&scripts::folders_removed().protocol(broken(Protocol { commit, ..PROTOCOL })), &filled());
}
