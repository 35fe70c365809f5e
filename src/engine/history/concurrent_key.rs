//! Refuses one of two concurrent requests that have the same key and different files, since no lock keeps them apart.
//!
//! A commit with a key looks for another transaction with it once its own journal has its name. Of two, at least one
//! finds the other, and that one gives way before anything is swapped. An earlier search, before anything is staged,
//! only spares the later request the work of staging; correctness does not depend on it.

use std::collections::HashMap;

use super::{keys, untrusted};
use crate::engine::Engine;
use crate::engine::history;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::interrupted;
use crate::engine::store::private::{self, Opening};
use crate::engine::store::state::{Section, StateFolder, StateLookup, list_ids};
use crate::engine::store::workspace::Workspace;
use crate::errno;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::fs::{Handle, Name};
use crate::journal::{self, Header, JournalState};
use crate::request::Request;

/// Refuses where another transaction has the key of this one.
///
/// Where the caller asks for it `again`, one that is undone does not count.
pub(crate) fn refuse_another(transaction: &TransactionFolder<'_>, again: bool) -> Result<()> {
    let TransactionFolder { state, journal, .. } = transaction;
    let Header { id, key, .. } = &journal.header;
    let Some(key) = key else { return Ok(()) };
    // In this order: a transaction that moves from the first to the second meanwhile is seen in one of them.
    let undone = if again { history::reverted(state)? } else { HashMap::new() };
    let counts = |other: &str| other != id && !undone.contains_key(other);
    refuse_in(state, Section::Transactions, key, &counts)?;
    refuse_in(state, Section::History, key, &counts)?;
    match keys::find(state, key)? {
        Some(pruned) if !again || pruned.undone_by(state)?.is_none() => Err(at_work(&pruned.id)),
        _ => Ok(()),
    }
}

impl Engine {
    /// Refuses a request whose key a transaction in `txn/` has, before anything is staged.
    pub(crate) fn refuse_key_at_work(&self, request: &Request, found: &StateLookup) -> Result<()> {
        let Some(key) = &request.idempotency_key else { return Ok(()) };
        let Some(state) = found.trusted(&self.workspace)? else { return Ok(()) };
        refuse_in(state, Section::Transactions, key, &|_| true)
    }
}

/// Refuses if a transaction in a section has the key, and counts.
fn refuse_in(state: &StateFolder, section: Section, key: &str, counts: &dyn Fn(&str) -> bool) -> Result<()> {
    let Some(folder) = state.whole_section(section)? else { return Ok(()) };
    for other in list_ids(&state.workspace, &folder)?.iter().rev().filter(|other| counts(other)) {
        if header(&state.workspace, &folder, other)?.is_none_or(|header| header.key.as_deref() != Some(key)) {
            continue;
        }
        // No process will end an interrupted one: there is nothing to wait for.
        if section == Section::Transactions
            && let Some(untrusted) = untrusted::interrupted_one(state, &folder, other)?
        {
            return Err(untrusted.may_have_key(key));
        }
        return Err(at_work(other));
    }
    Ok(())
}

fn at_work(other: &str) -> Error {
    let message = format!(
        "another request with the same idempotency key is at work, or was just committed, as {other}: nothing was changed; \
         send this one again to hear what became of that"
    );
    Error::new(ErrorKind::LockTimeout, message).detail(Detail::SameKey)
}

/// The header of the journal in a transaction's folder, if it was born there.
fn header(workspace: &Workspace, section: &Handle, id: &str) -> Result<Option<Header>> {
    let Opening::Ours(folder, stat) = private::open(workspace, Name::new(section, id))? else { return Ok(None) };
    // Name by name in the order of the states: whatever name it gets meanwhile comes later in the list.
    for journal_state in JournalState::ALL {
        match interrupted::read_named(workspace, Name::new(&folder, journal_state.file_name()), |bytes| {
            journal::header(bytes)
        }) {
            Ok(Ok(header)) if header.id == id && header.folder.is_record_of(&stat.identity) => return Ok(Some(header)),
            Ok(_) => {}
            Err(e) if e.os_error().is_some_and(errno::is_missing) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}
