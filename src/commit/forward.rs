//! The steps of a commit, in phases.

use super::step::{Barrier, CommitStep, FinishStep, OnFailure, StepPhase, Terms};
use crate::index::EntryIndex;
use crate::journal::JournalState;

/// The steps of a commit of `entries` entries.
///
/// # Panics
///
/// If a contended commit has a check, or is not durable; if a commit that overwrites files has a check.
#[must_use]
pub fn commit(entries: usize, terms: Terms) -> Vec<StepPhase> {
    if terms.contended {
        // A check would be left out unseen, and without syncs there is nothing to be quicker than.
        assert!(terms.durable && !terms.checked, "what is contended is durable and has no check");
        return contended(entries, terms.keyed);
    }
    let Terms { durable, checked, again, keyed, stepwise, overwrites, .. } = terms;
    // A check would find the old content of what is overwritten nowhere, and a rollback what the check wrote over it.
    assert!(!(checked && overwrites), "no check runs in the tree while a file is overwritten");
    let verify_target = || EntryIndex::first(entries).map(CommitStep::VerifyTarget);
    let mut prepare = Vec::with_capacity(2 * entries + 4);
    prepare.extend(EntryIndex::first(entries).map(CommitStep::Stage));
    prepare.extend(verify_target().filter(|_| again && durable));
    prepare.extend(announce(keyed, durable));
    // Never before the barrier: a journal that has this name but does not verify is damaged.
    prepare.push(CommitStep::SetState(JournalState::Sealed));
    prepare.extend(verify_target());

    let leave =
        |sync| if durable { leave(sync) } else { StepPhase { on_failure: OnFailure::Leave, steps: Vec::new() } };
    let mut phases = vec![StepPhase { on_failure: OnFailure::Forget, steps: prepare }];
    let verifies_behind_barrier = (stepwise || overwrites) && durable && !checked;
    // Another file, which was moved there, has its name again at once; contents are not read twice.
    let verify_swap = if verifies_behind_barrier { CommitStep::VerifySwapByStat } else { CommitStep::VerifySwap };
    let mut swap = Vec::with_capacity(2 * entries + 2);
    swap.extend(EntryIndex::first(entries).flat_map(|entry| [CommitStep::Swap(entry), verify_swap(entry)]));
    if checked {
        // A folder moved before its files were swapped is detected while a rollback works through its handle. After the
        // check state a rollback works by path, and the new content would stay where the folder is now.
        swap.extend([CommitStep::VerifyFolders, CommitStep::SetState(JournalState::Check)]);
        // The check's changes to the new files must not be durable without the name that announces them,
        phases.extend([undo(swap), leave(CommitStep::SyncFolder), undo(vec![CommitStep::Check])]);
        // and they must be durable before the name that makes them count.
        phases.push(leave(CommitStep::Barrier(Barrier::Checked)));
        // A check takes time: another program may have written into an original through an old handle.
        swap = EntryIndex::first(entries).map(CommitStep::VerifySwapAgain).collect();
    } else if verifies_behind_barrier {
        // What is at a target may have no other durable name than the one in the slot, and lose that; and what was written over
        // one may be there in part.
        phases.extend([undo(swap), leave(CommitStep::Barrier(Barrier::Moves))]);
        swap = EntryIndex::first(entries).map(CommitStep::VerifySwapAgain).collect();
    }
    // The done state comes only after every swap was verified: otherwise a late write after the acknowledgement would
    // make recovery roll the transaction back.
    swap.extend([CommitStep::WriteReport, CommitStep::VerifyFolders, CommitStep::SetState(JournalState::Done)]);

    phases.extend([undo(swap), leave(CommitStep::Barrier(Barrier::Second)), end(durable)]);
    phases
}

/// The steps that write the journal and make it durable, with everything that it is about.
fn announce(keyed: bool, durable: bool) -> Vec<CommitStep> {
    let mut steps = vec![CommitStep::SealParts];
    // Before the journal names them: one that is missing then is on a file system that is not mounted.
    steps.extend(durable.then_some(CommitStep::SyncParts));
    steps.push(CommitStep::WriteJournal);
    // Only after the name is there: so of two transactions with one key, at least one finds the other.
    steps.extend(keyed.then_some(CommitStep::LookForKey));
    steps.extend(durable.then_some(CommitStep::Barrier(Barrier::First)));
    steps
}

/// The steps while another program keeps writing, faster than a sync: no edit waits between read and swap until its
/// content is durable. The name of the journal says so, and makes a crash always roll everything back.
fn contended(entries: usize, keyed: bool) -> Vec<StepPhase> {
    let mut prepare: Vec<CommitStep> = EntryIndex::first(entries).map(CommitStep::Stage).collect();
    prepare.extend(announce(keyed, true));
    // Until here an incomplete slot was never swapped; from here on it can hold what another program wrote into it.
    prepare.extend([CommitStep::SetState(JournalState::Contended), CommitStep::SyncFolder]);
    let mut swap: Vec<CommitStep> = EntryIndex::first(entries).map(CommitStep::Contend).collect();
    swap.extend([CommitStep::WriteReport, CommitStep::RewriteJournal]);
    vec![
        StepPhase { on_failure: OnFailure::Forget, steps: prepare },
        undo(swap),
        // The contents must be durable before the name that makes them count, and so must the journal that describes
        // them before it gets a name.
        leave(CommitStep::Barrier(Barrier::Contents)),
        undo(vec![CommitStep::VerifyFolders, CommitStep::ReplaceJournal, CommitStep::SetState(JournalState::Done)]),
        leave(CommitStep::Barrier(Barrier::Second)),
        end(true),
    ]
}

const fn undo(steps: Vec<CommitStep>) -> StepPhase {
    StepPhase { on_failure: OnFailure::RollBack, steps }
}

/// A phase of one sync. After a failed sync, nothing that needs another one may follow.
fn leave(sync: CommitStep) -> StepPhase {
    StepPhase { on_failure: OnFailure::Leave, steps: vec![sync] }
}

/// Gives back metadata only when every swap is durable: a recovery that goes back does not know what it was.
fn end(durable: bool) -> StepPhase {
    let mut steps = vec![CommitStep::GiveBack];
    steps.extend(durable.then_some(CommitStep::SyncGivenBack));
    steps.push(CommitStep::Archive);
    StepPhase { on_failure: OnFailure::Warn, steps }
}

/// The steps that finish an interrupted transaction whose entries in `ready` are still to be swapped. Everything
/// visible was made durable before.
///
/// The order is that of a commit: no done state before every swap was verified and is in the folder that its path leads to,
/// no history before that state is durable.
///
/// # Panics
///
/// If `ready` is not in order, or has an entry twice.
#[must_use]
pub fn finish(ready: &[EntryIndex], state: JournalState) -> Vec<FinishStep> {
    // A folder is an entry before all that goes into it.
    assert!(ready.is_sorted_by(|a, b| a < b), "entries are swapped in their order, each once");
    // There is evidence that its bytes are durable: from here on, if they do not verify, they are damaged.
    let mut steps: Vec<FinishStep> =
        (state == JournalState::New).then_some(FinishStep::NameJournal).into_iter().collect();
    steps.extend(ready.iter().flat_map(|&entry| [FinishStep::Swap(entry), FinishStep::VerifySwap(entry)]));
    if state != JournalState::Done {
        steps.extend([FinishStep::VerifyFolders, FinishStep::MarkDone]);
    }
    steps.extend([FinishStep::Sync, FinishStep::GiveBack, FinishStep::SyncGivenBack, FinishStep::Archive]);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "has no check")]
    fn no_check_is_left_out_of_a_contended_commit() {
        let terms = Terms {
            durable: true,
            checked: true,
            again: true,
            keyed: false,
            contended: true,
            stepwise: false,
            overwrites: false,
        };
        let _ = commit(1, terms);
    }

    #[test]
    #[should_panic(expected = "in their order")]
    fn entries_are_finished_in_their_order() {
        let _ = finish(&[EntryIndex(1), EntryIndex(0)], JournalState::Sealed);
    }
}
