//! The steps of the protocol, and what a failure in each phase of a commit means.
//!
//! Each way through it has steps of its own, so that whoever walks one performs every step there is.

use crate::index::EntryIndex;
use crate::journal::Mark;

/// A step of a commit. Numbers are entries of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitStep {
    /// Fill the entry's slot.
    Stage(EntryIndex),
    /// Write the journal under its hidden name, sealed; that of a contended transaction once more, as it has become.
    WriteJournal,
    /// Make the journal's bytes durable.
    SyncJournal,
    /// Give the journal its name.
    NameJournal,
    /// Look whether another transaction has the same key.
    LookForKey,
    /// Make everything before durable.
    Barrier(Barrier),
    /// Look whether the target is still what was read.
    Recheck(EntryIndex),
    /// Exchange slot and target.
    Swap(EntryIndex),
    /// Look at what came out; put it back where it is not what was read.
    Look(EntryIndex),
    /// Look, exchange and look, with the content of an edit made anew as often as another program is quicker.
    Contend(EntryIndex),
    /// Put the journal that was written anew in the place of the first one.
    ReplaceJournal,
    /// Run the check.
    Check,
    /// Look at the slot once more, after the check.
    LookAgain(EntryIndex),
    /// Write `report.json`.
    WriteReport,
    /// Look whether the paths of all folders still lead to those in which names were swapped.
    VerifyFolders,
    /// Rename the journal.
    Mark(Mark),
    /// Make the names in the transaction's folder durable.
    SyncFolder,
    /// Remove the folders whose removal was asked for, as far as they are empty.
    Tidy,
    /// Make the removal of those folders durable.
    SyncTidied,
    /// Move the transaction's folder to where it ends: history.
    Archive,
}

/// A step that finishes an interrupted transaction. Nothing is staged or verified anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinishStep {
    /// Exchange slot and target.
    Swap(EntryIndex),
    /// Look at what came out; put it back where it is not the original.
    Look(EntryIndex),
    /// Look whether the paths of all folders still lead to those in which names were swapped.
    VerifyFolders,
    /// Rename the journal to `journal.done`.
    MarkDone,
    /// Make every name that was swapped, and the done mark, durable.
    Sync,
    /// Remove the folders whose removal was asked for, as far as they are empty.
    Tidy,
    /// Make the removal of those folders durable.
    SyncTidied,
    /// Move the transaction's folder to where it ends: history.
    Archive,
}

/// A step of a rollback, at run time and in recovery alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UndoStep {
    /// Look whether the journal has the name that it was given last: a rename that failed may have taken effect.
    VerifyMark,
    /// Rename the journal.
    Mark(Mark),
    /// Make the names in the transaction's folder durable.
    SyncFolder,
    /// Find the entry's folder by its path: a check may have moved it away, or removed it.
    FindFolder(EntryIndex),
    /// Classify the entry, and take it back where it was swapped.
    TakeBack(EntryIndex),
    /// Write the journal of a contended transaction anew under its hidden name, as it has become.
    WriteJournal,
    /// Make everything that was taken back durable.
    Sync,
    /// Put the journal that was written anew in the place of the first one.
    ReplaceJournal,
    /// Move the transaction's folder to the trash, or to `kept/` where it holds what is not ours to delete.
    Drop,
}

/// A step that drops an interrupted transaction that was never swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropStep {
    /// Rename the journal.
    Mark(Mark),
    /// Make the names in the transaction's folder durable.
    SyncFolder,
    /// Move the transaction's folder to the trash, or to `kept/` where it holds what is not ours to delete.
    Drop,
}

/// What a commit is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct Terms {
    /// Safe against power loss, not only against `kill -9`.
    pub durable: bool,
    /// Decided by a check, with the new files in place.
    pub checked: bool,
    /// Tried before, and another program came in between: a look before each sync saves those of a lost attempt.
    pub again: bool,
    /// Its caller knows it again by a key, which no other transaction may have.
    pub keyed: bool,
    /// Tried so often that the edits are swapped before their contents are durable.
    pub contended: bool,
}

/// A point of a commit where everything before is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// Before the first swap: staged files, originals, journal.
    First,
    /// Before the done mark of a contended transaction: contents, originals, and the journal that tells of them.
    Contents,
    /// Before the done mark: whatever a check that passed made of the new files.
    Checked,
    /// Before the acknowledgement: every name that was swapped, and the done mark.
    Second,
}

/// Steps between which a failure means the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPhase {
    /// What to do where a step fails.
    pub on_failure: OnFailure,
    /// The steps, in order.
    pub steps: Vec<CommitStep>,
}

/// What a failure in a phase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing was swapped: forget the transaction.
    Forget,
    /// Take back what was swapped.
    Undo,
    /// Touch nothing more: recovery decides at the next start.
    Leave,
    /// The transaction is committed and durable: say so, with a warning.
    Warn,
}
