//! Checks, before anything is touched, that the place to which a recovery would move a transaction is free.

use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::state::Section;
use crate::error::{Error, Result};
use crate::fs::Name;
use crate::journal::recover::RecoveryDecision;

/// The error if a section to which the transaction may go has a folder of its name: it was finished there, and a
/// restored backup brought it back to `txn/`. Whether a rollback keeps something is known only once it is done, and then
/// it would be too late to find its place taken.
pub(super) fn taken(transaction: &TransactionFolder<'_>, decision: RecoveryDecision) -> Result<Option<Error>> {
    let sections: &[Section] = match decision {
        RecoveryDecision::Wait => &[],
        RecoveryDecision::Forward => &[Section::History],
        RecoveryDecision::Drop | RecoveryDecision::Back => &[Section::Trash, Section::Kept],
    };
    let id = &transaction.journal.header.id;
    for section in sections {
        let Some(folder) = transaction.state.section(*section)? else { continue };
        let name = Name::new(&folder, id);
        if transaction.workspace().stat(name)?.is_some() {
            return Ok(Some(section.is_taken(id, name.path())));
        }
    }
    Ok(None)
}
