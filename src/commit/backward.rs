//! The way back: what was swapped is taken back, in reverse.

use super::step::{DropStep, UndoStep};
use crate::index::EntryIndex;
use crate::journal::Mark;

/// The steps that take back a transaction of `entries` entries. The same at run time and in recovery: each entry is
/// classified just before it is touched, so that a second run of the same steps does nothing twice.
#[must_use]
pub fn undo(entries: usize, mark: Mark, durable: bool) -> Vec<UndoStep> {
    let is_contended = mark == Mark::Contended;
    let is_checked = mark.undone() == Mark::CheckUndo;
    let mut steps = Vec::new();
    if is_contended {
        // No recovery goes forward from it: nothing is between a swap and its reverse. But the done mark may be what
        // failed, after it took effect, and from that one recovery does.
        steps.push(UndoStep::VerifyMark);
    } else {
        steps.extend(undo_mark(mark).map(UndoStep::Mark));
        // Also where the mark is there already: it may have been renamed by a process that died before its sync.
        steps.extend(durable.then_some(UndoStep::SyncFolder));
    }
    for entry in EntryIndex::first(entries).rev() {
        steps.extend(is_checked.then_some(UndoStep::FindFolder(entry)));
        steps.push(UndoStep::TakeBack(entry));
    }
    steps.extend(is_contended.then_some(UndoStep::WriteJournal));
    // Dropped only when the take-back is durable: without its folder nobody could repeat it.
    steps.extend(durable.then_some(UndoStep::Sync));
    // Only then its bytes are known to be there.
    steps.extend(is_contended.then_some(UndoStep::ReplaceJournal));
    steps.push(UndoStep::Drop);
    steps
}

/// The steps that drop an interrupted transaction that was never swapped.
#[must_use]
pub fn drop_unswapped(mark: Mark) -> Vec<DropStep> {
    let mut steps: Vec<DropStep> = undo_mark(mark).map(DropStep::Mark).into_iter().collect();
    steps.extend([DropStep::SyncFolder, DropStep::Drop]);
    steps
}

/// The undo mark, where it is still to be set: once it is durable, no recovery goes forward.
fn undo_mark(mark: Mark) -> Option<Mark> {
    Some(mark.undone()).filter(|undone| *undone != mark)
}
