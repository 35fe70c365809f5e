//! The steps of a commit, in phases.

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
    // The name must not become durable before the bytes: a journal that has its name but does not verify is corrupt.
    prepare.extend(durable.then_some(Step::SyncJournal));
    prepare.extend(recheck().filter(|_| again && durable));
    prepare.push(Step::NameJournal);
    // Only after the name is there: so of two transactions with one key, at least one finds the other.
    prepare.extend(keyed.then_some(Step::LookForKey));
    prepare.extend(durable.then_some(Step::Barrier(Barrier::First)));
    prepare.extend(recheck());

    let leave =
        |sync| if durable { leave(sync) } else { StepPhase { on_failure: OnFailure::Leave, steps: Vec::new() } };
    let mut phases = vec![StepPhase { on_failure: OnFailure::Forget, steps: prepare }];
    let mut swap = Vec::with_capacity(2 * entries + 2);
    swap.extend((0..entries).flat_map(|entry| [Step::Swap(entry), Step::Look(entry)]));
    if checked {
        // A folder moved before its files were swapped is detected while a rollback works through its handle. After the
        // check mark a rollback works by path, and the new content would stay where the folder is now.
        swap.extend([Step::VerifyFolders, Step::Mark(Mark::Check)]);
        // The check's changes to the new files must not be durable without the name that announces them,
        phases.extend([undo(swap), leave(Step::SyncFolder), undo(vec![Step::Check])]);
        // and they must be durable before the name that makes them count.
        phases.push(leave(Step::Barrier(Barrier::Checked)));
        // A check takes time: another program may have written into an original through an old handle.
        swap = (0..entries).map(Step::LookAgain).collect();
    }
    // The done mark comes only after every swap was verified: otherwise a late write after the acknowledgement would
    // make recovery roll the transaction back.
    swap.extend([Step::WriteReport, Step::VerifyFolders, Step::Mark(Mark::Done)]);

    phases.extend([undo(swap), leave(Step::Barrier(Barrier::Second)), end(durable)]);
    phases
}

/// The steps while another program keeps writing, faster than a sync: no edit waits between read and swap until its
/// content is durable. The name of the journal says so, and makes a crash always roll everything back.
fn contended(entries: usize, keyed: bool) -> Vec<StepPhase> {
    let mut prepare: Vec<Step> = (0..entries).map(Step::Stage).collect();
    prepare.extend([Step::WriteJournal, Step::SyncJournal, Step::NameJournal]);
    prepare.extend(keyed.then_some(Step::LookForKey));
    prepare.push(Step::Barrier(Barrier::First));
    // Until here an incomplete slot was never swapped; from here on it can hold what another program wrote into it.
    prepare.extend([Step::Mark(Mark::Contended), Step::SyncFolder]);
    let mut swap: Vec<Step> = (0..entries).map(Step::Contend).collect();
    swap.extend([Step::WriteReport, Step::WriteJournal]);
    vec![
        StepPhase { on_failure: OnFailure::Forget, steps: prepare },
        undo(swap),
        // The contents must be durable before the name that makes them count, and so must the journal that describes
        // them before it gets a name.
        leave(Step::Barrier(Barrier::Contents)),
        undo(vec![Step::VerifyFolders, Step::Replace, Step::Mark(Mark::Done)]),
        leave(Step::Barrier(Barrier::Second)),
        end(true),
    ]
}

const fn undo(steps: Vec<Step>) -> StepPhase {
    StepPhase { on_failure: OnFailure::Undo, steps }
}

/// A phase of one sync. After a failed sync, nothing that needs another one may follow.
fn leave(sync: Step) -> StepPhase {
    StepPhase { on_failure: OnFailure::Leave, steps: vec![sync] }
}

/// Removes folders only when every swap is durable: a recovery that goes back could put nothing into a removed one.
fn end(durable: bool) -> StepPhase {
    let mut steps = vec![Step::Tidy];
    steps.extend(durable.then_some(Step::SyncTidied));
    steps.push(Step::Archive);
    StepPhase { on_failure: OnFailure::Warn, steps }
}

/// The steps that finish an interrupted transaction whose entries in `ready` are still to be swapped. Everything
/// visible was made durable before.
#[must_use]
pub fn finish(ready: &[usize], mark: Mark) -> Vec<Step> {
    let mut steps: Vec<Step> = ready.iter().flat_map(|&entry| [Step::Swap(entry), Step::Look(entry)]).collect();
    if mark != Mark::Done {
        steps.extend([Step::VerifyFolders, Step::Mark(Mark::Done)]);
    }
    steps.extend([Step::Barrier(Barrier::Second), Step::Tidy, Step::SyncTidied, Step::Archive]);
    steps
}
