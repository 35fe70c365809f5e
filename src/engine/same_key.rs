//! Two requests with one key at the same time, about other files: no lock keeps them apart.
//!
//! So a commit with a key looks for another one with it once its own journal has its name. Of two one at least finds the
//! other, and whoever finds one gives way before anything is swapped.

use super::hot;
use super::private::{self, Opening};
use super::state::{Section, list_ids};
use super::transaction::Transaction;
use crate::errno;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::fs::{Fs, Handle, Name};
use crate::journal::{self, Header, Mark};

/// Refuses where another transaction has the key of this one.
pub(super) fn refuse_another(transaction: &Transaction<'_>) -> Result<()> {
    let Transaction { fs, state, journal, .. } = transaction;
    let Header { id, key, .. } = &journal.header;
    // In this order: what moves from the one to the other meanwhile is seen in one of them.
    for section in [Section::Transactions, Section::History] {
        let Some(section) = state.section(*fs, section)? else { continue };
        for other in list_ids(*fs, &section)?.iter().rev().filter(|other| *other != id) {
            if header(*fs, &section, other)?.is_some_and(|header| header.key == *key) {
                let message = format!(
                    "another request with the same idempotency key is at work, or was just committed, as {other}: nothing \
                     was changed; send this one again to hear what became of that"
                );
                let error = Error::new(ErrorKind::LockTimeout, message).detail(Detail::SameKey);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// The header of the journal in the folder of a transaction, where it was written there.
fn header(fs: &dyn Fs, section: &Handle, id: &str) -> Result<Option<Header>> {
    let Opening::Ours(folder, stat) = private::open(fs, Name::new(section, id))? else { return Ok(None) };
    // Name by name in the order of the states: whatever it becomes meanwhile comes later.
    for mark in Mark::ALL {
        match hot::read_marked(fs, Name::new(&folder, mark.file_name()), |bytes| journal::header(bytes)) {
            Ok(Ok(header)) if header.id == id && header.folder.is_record_of(&stat.identity) => return Ok(Some(header)),
            Ok(_) => {}
            Err(e) if e.os_error().is_some_and(errno::is_missing) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}
