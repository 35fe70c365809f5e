//! Checks, before anything is touched, that the place to which a recovery would move a transaction is free.

use crate::engine::Decision as Wish;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::state::Section;
use crate::error::{Error, Result};
use crate::fs::Name;
use crate::journal::recover::RecoveryDecision;

/// The error if the section to which the transaction will go has a folder of its name: it was finished there, and a
/// restored backup brought it back to `txn/`.
pub(super) fn taken(
    transaction: &TransactionFolder<'_>,
    decision: RecoveryDecision,
    wish: Wish,
) -> Result<Option<Error>> {
    let section = match (wish, decision) {
        // The move to `kept/`, which is all that a discard does, reports this itself.
        (Wish::Discard, _) | (_, RecoveryDecision::Wait) => return Ok(None),
        (_, RecoveryDecision::Forward) => Section::History,
        (_, RecoveryDecision::Back | RecoveryDecision::Drop) => Section::Trash,
    };
    let id = &transaction.journal.header.id;
    let Some(folder) = transaction.state.section(section)? else { return Ok(None) };
    let name = Name::new(&folder, id);
    let there = transaction.workspace().stat(name)?;
    Ok(there.map(|_| section.is_taken(id, name.path())))
}
