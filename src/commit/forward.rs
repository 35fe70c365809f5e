//! The way forward: a plan becomes phases of steps.

use super::step::{Barrier, OnFailure, Step, StepPhase, Terms};
use crate::journal::Mark;

/// The steps of a commit of `entries` entries.
#[must_use]
pub fn commit(entries: usize, terms: Terms) -> Vec<StepPhase> {
    if terms.contended {
        return contended(entries, terms.keyed);
    }
    let Terms { durable, checked, again, keyed, .. } = terms;
    let recheck = || (0..entries).map(Step::Recheck);
    let mut prepare = Vec::with_capacity(2 * entries + 4);
    prepare.extend((0..entries).map(Step::Stage));
    prepare.extend(recheck().filter(|_| again && durable));
    prepare.push(Step::WriteJournal);
    // The name must not become durable before the bytes: a journal that has its name and does not verify is corrupt.
    prepare.extend(durable.then_some(Step::SyncJournal));
    prepare.extend(recheck().filter(|_| again && durable));
    prepare.push(Step::NameJournal);
    // Only now: of two with one key, one at least finds the other by its name.
    prepare.extend(keyed.then_some(Step::LookForKey));
    prepare.extend(durable.then_some(Step::Barrier(Barrier::First)));
    prepare.extend(recheck());

    let leave =
        |sync| if durable { leave(sync) } else { StepPhase { on_failure: OnFailure::Leave, steps: Vec::new() } };
    let mut phases = vec![StepPhase { on_failure: OnFailure::Forget, steps: prepare }];
    let mut swap = Vec::with_capacity(2 * entries + 2);
    swap.extend((0..entries).flat_map(|entry| [Step::Swap(entry), Step::Look(entry)]));
    if checked {
        // A folder that was moved before its files were swapped is found while the way back is through its handle: after
        // the check mark it is by the path, and the new content would stay where the folder is now.
        swap.extend([Step::VerifyFolders, Step::Mark(Mark::Check)]);
        // What the check makes of the new files must not be there without the name that tells of it,
        phases.extend([undo(swap), leave(Step::SyncFolder), undo(vec![Step::Check])]);
        // and it must be there before the name that makes it count.
        phases.push(leave(Step::Barrier(Barrier::Checked)));
        // A check takes its time: somebody may have written into an original through an old handle.
        swap = (0..entries).map(Step::LookAgain).collect();
    }
    // The done mark only after every swap was looked at: else a late writer after the acknowledgement would make
    // recovery take the transaction back.
    swap.extend([Step::WriteReport, Step::VerifyFolders, Step::Mark(Mark::Done)]);

    phases.extend([undo(swap), leave(Step::Barrier(Barrier::Second)), end(durable)]);
    phases
}

/// The same beside a program that is quicker than a sync: no edit waits between reading and swap until its content is
/// durable. The journal says so by its name, with which a crash always takes everything back.
fn contended(entries: usize, keyed: bool) -> Vec<StepPhase> {
    let mut prepare: Vec<Step> = (0..entries).map(Step::Stage).collect();
    prepare.extend([Step::WriteJournal, Step::SyncJournal, Step::NameJournal]);
    prepare.extend(keyed.then_some(Step::LookForKey));
    prepare.push(Step::Barrier(Barrier::First));
    // Until here a slot that is not whole was never swapped; from here on it can hold what somebody wrote into it.
    prepare.extend([Step::Mark(Mark::Contended), Step::SyncFolder]);
    let mut swap: Vec<Step> = (0..entries).map(Step::Contend).collect();
    swap.extend([Step::WriteReport, Step::WriteJournal]);
    vec![
        StepPhase { on_failure: OnFailure::Forget, steps: prepare },
        undo(swap),
        // The contents must be on the disk before the name that makes them count, and the journal that tells of them
        // before it has a name.
        leave(Step::Barrier(Barrier::Contents)),
        undo(vec![Step::VerifyFolders, Step::Replace, Step::Mark(Mark::Done)]),
        leave(Step::Barrier(Barrier::Second)),
        end(true),
    ]
}

const fn undo(steps: Vec<Step>) -> StepPhase {
    StepPhase { on_failure: OnFailure::Undo, steps }
}

/// Where a sync has failed, nothing that needs another one may follow.
fn leave(sync: Step) -> StepPhase {
    StepPhase { on_failure: OnFailure::Leave, steps: vec![sync] }
}

/// Folders go only when every swap is durable: a recovery that goes back could put nothing into one that is gone.
fn end(durable: bool) -> StepPhase {
    let mut steps = vec![Step::Tidy];
    steps.extend(durable.then_some(Step::SyncTidied));
    steps.push(Step::Archive);
    StepPhase { on_failure: OnFailure::Warn, steps }
}

/// The steps that finish an interrupted transaction, of whose entries those in `ready` are still to be swapped.
/// Everything that is seen was made durable before.
#[must_use]
pub fn finish(ready: &[usize], mark: Mark) -> Vec<Step> {
    let mut steps: Vec<Step> = ready.iter().flat_map(|&entry| [Step::Swap(entry), Step::Look(entry)]).collect();
    if mark != Mark::Done {
        steps.extend([Step::VerifyFolders, Step::Mark(Mark::Done)]);
    }
    steps.extend([Step::Barrier(Barrier::Second), Step::Tidy, Step::SyncTidied, Step::Archive]);
    steps
}
