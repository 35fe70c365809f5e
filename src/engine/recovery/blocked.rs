//! Checks, before anything is touched, that the place to which a recovery would move a transaction is free.

use crate::engine::Decision as Wish;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::state::Section;
use crate::error::{Error, Result};
use crate::fs::Name;
use crate::journal::recover::RecoveryDecision;

/// The refusal where a folder of its name is in the section to which it will go: a restored backup has brought it
/// here once more after it had come to its end.
pub(super) fn taken(
    transaction: &TransactionFolder<'_>,
    decision: RecoveryDecision,
    wish: Wish,
) -> Result<Option<Error>> {
    let section = match (wish, decision) {
        // Where it goes to `kept/`, that is told by the move, which is all that is done.
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
