//! The way back: what was swapped is taken back, in reverse.

use super::step::{Barrier, Step};
use crate::journal::Mark;

/// The steps that take back a transaction of `entries` entries. The same at run time and in recovery: each entry is
/// classified just before it is touched, so that a second run of the same steps does nothing twice.
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
    // Dropped only when the take-back is durable: without its folder nobody could repeat it.
    steps.extend(durable.then_some(Step::Barrier(Barrier::Undone)));
    // Only then its bytes are known to be there.
    steps.extend(is_contended.then_some(Step::Replace));
    steps.push(Step::Drop);
    steps
}

/// The steps that drop an interrupted transaction that was never swapped.
#[must_use]
pub fn drop_unswapped(mark: Mark) -> Vec<Step> {
    let mut steps = forget_swaps(mark, true);
    steps.push(Step::Drop);
    steps
}

/// A durable undo mark: from here on no recovery goes forward.
fn forget_swaps(mark: Mark, durable: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    if mark == Mark::Contended {
        // No recovery goes forward from it: nothing is between a swap and its reverse. But the done mark may be what
        // failed, after it took effect, and from that one recovery does.
        steps.push(Step::VerifyMark);
        return steps;
    }
    steps.extend((!mark.is_undo()).then_some(Step::Mark(mark.undone())));
    // Also where the mark is there already: it may have been renamed by a process that died before its sync.
    steps.extend(durable.then_some(Step::SyncFolder));
    steps
}
