//! Finishes an interrupted transaction: swaps what is not swapped yet, and moves its folder to history.

use crate::cancel::NEVER;
use crate::commit::step::FinishStep;
use crate::engine::history::folders_before::GivenBack;
use crate::engine::store::barrier::sync_all;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::snapshot;
use crate::engine::store::state::Section;
use crate::error::Result;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::JournalState;
use crate::journal::recover::{Class, RecoveryDecision};

/// A transaction that was finished.
#[derive(Debug, Default)]
pub(super) struct Finished {
    /// Warnings about folders that stay.
    pub warnings: Vec<String>,
    /// The classes of the entries just before the done state, if it was set now.
    pub classes: Option<IndexVec<EntryIndex, Class>>,
}

/// Finishes the swaps of an interrupted transaction. `None` if a swap brought
/// out something other than the original, or another program wrote meanwhile: the decision must be made again. If a
/// person insists, other programs' writes do not count.
pub(super) fn finish(
    transaction: &mut TransactionFolder<'_>,
    ready: &[EntryIndex],
    insisted: bool,
) -> Result<Option<Finished>> {
    let mut given_back = GivenBack::default();
    let mut finished = Finished::default();
    for step in (transaction.workspace().protocol.finish)(ready, transaction.journal_state) {
        match step {
            FinishStep::NameJournal => transaction.set_state(JournalState::Sealed)?,
            FinishStep::Swap(entry) => transaction.swap(entry)?,
            FinishStep::VerifySwap(entry) => {
                if !came_out_old(transaction, entry)? {
                    // With whatever another program changed of the new file's permissions while it was at the target.
                    transaction.reverse_at_once(entry)?;
                    return Ok(None);
                }
            }
            FinishStep::VerifyFolders => {
                let error = match transaction.workspace().check_root() {
                    Err(gone) => gone,
                    Ok(()) => match transaction.moved_folder()? {
                        Some(folder) => snapshot::changed(&folder, "was moved while files in it were recovered"),
                        None => continue,
                    },
                };
                // Through the folders that are held: else what this recovery has swapped is moved away with them.
                for &entry in ready.iter().rev() {
                    transaction.roll_back(entry)?;
                }
                return Err(error);
            }
            FinishStep::MarkDone => {
                // Every entry is classified again: a late write must not be committed unseen.
                let classes = transaction.classes(&NEVER)?;
                if !insisted
                    && (transaction.workspace().protocol.decide)(transaction.journal_state, false, &classes)
                        != RecoveryDecision::Forward
                {
                    return Ok(None);
                }
                transaction.set_state(JournalState::Done)?;
                finished.classes = Some(classes);
            }
            FinishStep::GiveBack => given_back = transaction.give_back(),
            FinishStep::SyncGivenBack => sync_all(transaction.workspace(), given_back.folders.values())?,
            FinishStep::Sync => transaction.sync_everything()?,
            FinishStep::Archive => transaction.move_to(Section::History)?,
        }
    }
    finished.warnings = given_back.warnings;
    Ok(Some(finished))
}

/// Returns whether a swap brought out the original, by its digest. A create brings out nothing.
fn came_out_old(transaction: &TransactionFolder<'_>, entry: EntryIndex) -> Result<bool> {
    if transaction.record(entry).change.original().is_none() {
        return Ok(true);
    }
    Ok(matches!(transaction.classify(entry)?, Class::Done | Class::OnTop | Class::PutBack))
}
