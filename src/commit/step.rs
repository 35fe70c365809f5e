//! The steps of the protocol, and the meaning of a failure in each phase.

use crate::index::EntryIndex;
use crate::journal::JournalState;

/// One action of the protocol. A number is the index of an entry of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitStep {
    /// Fill the entry's slot.
    Stage(EntryIndex),
    /// Say in the folders of slots on other file systems that everything is staged.
    SealParts,
    /// Make the names of these folders durable.
    SyncParts,
    /// Write the journal, sealed, as `journal.new`.
    WriteJournal,
    /// Write it once more under its hidden name, with the final contents of a contended transaction.
    RewriteJournal,
    /// Search for another transaction with the same key.
    LookForKey,
    /// Make everything so far durable.
    Barrier(Barrier),
    /// Verify that the target is still what was read.
    VerifyTarget(EntryIndex),
    /// Exchange slot and target.
    Swap(EntryIndex),
    /// Verify what came out; put it back if it is not what was read.
    VerifySwap(EntryIndex),
    /// Verify by its metadata what came out, and put it back if it is another file; its content is verified later.
    VerifySwapByStat(EntryIndex),
    /// Verify, exchange and verify; make the content of an edit again whenever another program was faster.
    Contend(EntryIndex),
    /// Replace the first journal with the one that was written again.
    ReplaceJournal,
    /// Run the check.
    Check,
    /// Verify the slot once more, after the check or a barrier.
    VerifySwapAgain(EntryIndex),
    /// Write `report.json`.
    WriteReport,
    /// Verify that the paths of all folders still lead to those in which names were swapped.
    VerifyFolders,
    /// Rename the journal.
    SetState(JournalState),
    /// Make the names in the transaction's folder durable.
    SyncFolder,
    /// Give folders that an undo of several leaves where they are their old mode, owner and attributes.
    GiveBack,
    /// Make that durable.
    SyncGivenBack,
    /// Move the transaction's folder to history.
    Archive,
}

/// A step that finishes an interrupted transaction. Nothing is staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinishStep {
    /// Rename the journal to `journal`.
    NameJournal,
    /// Exchange slot and target.
    Swap(EntryIndex),
    /// Verify what came out; put it back if it is not the original.
    VerifySwap(EntryIndex),
    /// Verify that the paths of all folders still lead to those in which names were swapped.
    VerifyFolders,
    /// Rename the journal to `journal.done`.
    MarkDone,
    /// Make every name that was swapped, and the done state, durable.
    Sync,
    /// Give folders that an undo of several leaves where they are their old mode, owner and attributes.
    GiveBack,
    /// Make that durable.
    SyncGivenBack,
    /// Move the transaction's folder to where it ends: history.
    Archive,
}

/// A step of a rollback, at run time and in recovery alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RollbackStep {
    /// Verify that the journal has the name of its last rename: a rename that failed may have taken effect.
    VerifyState,
    /// Rename the journal.
    SetState(JournalState),
    /// Make the names in the transaction's folder durable.
    SyncFolder,
    /// Find the entry's folder by its path: a check may have moved it away, or removed it.
    FindFolder(EntryIndex),
    /// Classify the entry, and roll it back if it was swapped.
    RollBack(EntryIndex),
    /// If a new folder is not empty, roll back once more what the transaction put into it, and then the folder.
    RollBackInside(EntryIndex),
    /// Write the journal of a contended transaction once more under its hidden name, with the contents that were swapped.
    RewriteJournal,
    /// Make everything that was rolled back durable.
    Sync,
    /// Replace the first journal with the one that was written again.
    ReplaceJournal,
    /// Move the transaction's folder to the trash, or to `kept/` if it holds anything that is not ours to delete.
    Drop,
}

/// A step that drops an interrupted transaction without any swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropStep {
    /// Rename the journal.
    SetState(JournalState),
    /// Make the names in the transaction's folder durable.
    SyncFolder,
    /// Move the transaction's folder to the trash, or to `kept/` if it holds anything that is not ours to delete.
    Drop,
    /// Make its new place durable.
    Sync,
}

/// The requirements of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct Terms {
    /// True if it must survive power loss, not only `kill -9`.
    pub durable: bool,
    /// True if a check decides, with the new files in place.
    pub checked: bool,
    /// True after an attempt that another program disturbed: verifying before each sync saves the syncs of a lost
    /// attempt.
    pub again: bool,
    /// True if it has an idempotency key, which no other transaction may have.
    pub keyed: bool,
    /// True after so many attempts that the edits are swapped before their contents are durable.
    pub contended: bool,
    /// True if names change places step by step, since the file system cannot exchange them.
    pub stepwise: bool,
    /// True if files are overwritten in place, since no rename can replace them; these come last.
    pub overwrites: bool,
}

/// A point at which everything before it is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// Before the first swap: staged files, originals, journal.
    First,
    /// Before the done state where names change places step by step, or files are overwritten: every name that was moved, and
    /// what was written. From that state on no recovery touches a target.
    Moves,
    /// Before the done state of a contended transaction: contents, originals, and the journal that describes them.
    Contents,
    /// Before the done state: what a check that passed changed in the new files.
    Checked,
    /// Before the acknowledgement: every name that was swapped, and the done state.
    Second,
}

/// Steps in which a failure has the same meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPhase {
    /// The reaction to a failed step.
    pub on_failure: OnFailure,
    /// The steps, in order.
    pub steps: Vec<CommitStep>,
}

/// The reaction to a failure in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing was swapped: discard the transaction.
    Forget,
    /// Roll back what was swapped.
    RollBack,
    /// Touch nothing more: recovery decides at the next start.
    Leave,
    /// The transaction is committed and durable: report success, with a warning.
    Warn,
}
