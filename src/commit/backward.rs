//! The steps of a rollback: swaps are reversed, last first.

use super::step::{DropStep, RollbackStep};
use crate::index::EntryIndex;
use crate::journal::JournalState;

/// The steps that roll back a transaction of `entries` entries, the same at run time and in recovery. Each entry is
/// classified just before it is touched, so that running the same steps twice does nothing twice.
#[must_use]
pub fn rollback(entries: usize, state: JournalState, durable: bool) -> Vec<RollbackStep> {
    let is_contended = state == JournalState::Contended;
    let is_checked = state.undone() == JournalState::CheckUndo;
    let mut steps = Vec::new();
    if is_contended {
        // No recovery goes forward from this state, so nothing is needed between a swap and its reverse. But the rename
        // to the done state may have failed after it took effect, and from that state recovery does go forward.
        steps.push(RollbackStep::VerifyState);
    } else {
        steps.extend(undo_state(state).map(RollbackStep::SetState));
        // Even if it is in that state already: the process that renamed it may have died before its sync.
        steps.extend(durable.then_some(RollbackStep::SyncFolder));
    }
    for entry in EntryIndex::first(entries).rev() {
        steps.extend(is_checked.then_some(RollbackStep::FindFolder(entry)));
        steps.push(RollbackStep::RollBack(entry));
        // The folder may have been elsewhere while what is in it was looked for, and be back now.
        steps.extend(is_checked.then_some(RollbackStep::RollBackInside(entry)));
    }
    steps.extend(is_contended.then_some(RollbackStep::RewriteJournal));
    // The folder is dropped only when the rollback is durable: without it nobody could repeat the rollback.
    steps.extend(durable.then_some(RollbackStep::Sync));
    // Only now its bytes are known to be durable.
    steps.extend(is_contended.then_some(RollbackStep::ReplaceJournal));
    steps.push(RollbackStep::Drop);
    steps
}

/// The steps that drop an interrupted transaction without any swap.
#[must_use]
pub fn drop_unswapped(state: JournalState) -> Vec<DropStep> {
    if state == JournalState::New {
        // Its bytes may not be durable: under another name, a power loss would leave what looks damaged. So nothing but its
        // place says that it was dropped, and a report must not come before that is durable.
        return vec![DropStep::Drop, DropStep::Sync];
    }
    let mut steps: Vec<DropStep> = undo_state(state).map(DropStep::SetState).into_iter().collect();
    steps.extend([DropStep::SyncFolder, DropStep::Drop]);
    steps
}

/// The undo state, if it is not set yet: once it is durable, no recovery goes forward.
fn undo_state(state: JournalState) -> Option<JournalState> {
    Some(state.undone()).filter(|undone| *undone != state)
}
