//! The steps of a rollback: swaps are reversed, last first.

use super::step::{Barrier, Step};
use crate::journal::Mark;

/// The steps that roll back a transaction of `entries` entries, the same at run time and in recovery. Each entry is
/// classified just before it is touched, so that running the same steps twice does nothing twice.
#[must_use]
pub fn undo(entries: usize, mark: Mark, durable: bool) -> Vec<Step> {
    let mut steps = forget_swaps(mark, durable);
    let is_checked = mark.undone() == Mark::CheckUndo;
    for entry in (0..entries).rev() {
        steps.extend(is_checked.then_some(Step::FindFolder(entry)));
        steps.push(Step::TakeBack(entry));
    }
    let is_contended = mark == Mark::Contended;
    steps.extend(is_contended.then_some(Step::WriteJournal));
    // The folder is dropped only when the rollback is durable: without it nobody could repeat the rollback.
    steps.extend(durable.then_some(Step::Barrier(Barrier::Undone)));
    // Only now its bytes are known to be durable.
    steps.extend(is_contended.then_some(Step::Replace));
    steps.push(Step::Drop);
    steps
}

/// The steps that drop an interrupted transaction without any swap.
#[must_use]
pub fn drop_unswapped(mark: Mark) -> Vec<Step> {
    let mut steps = forget_swaps(mark, true);
    steps.push(Step::Drop);
    steps
}

/// Sets a durable undo mark: after it no recovery goes forward.
fn forget_swaps(mark: Mark, durable: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    if mark == Mark::Contended {
        // No recovery goes forward from this mark, so nothing is needed between a swap and its reverse. But the rename
        // to the done mark may have failed after it took effect, and from that mark recovery does go forward.
        steps.push(Step::VerifyMark);
        return steps;
    }
    steps.extend((!mark.is_undo()).then_some(Step::Mark(mark.undone())));
    // Even if the mark is there already: the process that renamed it may have died before its sync.
    steps.extend(durable.then_some(Step::SyncFolder));
    steps
}
