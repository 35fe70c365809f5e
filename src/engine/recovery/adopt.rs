//! Adopts a journal that was not born in its folder, at a person's word: it becomes a journal of this folder.
//!
//! A copy has other inodes, so txedit's own new files would count as another program's. An adopted journal names the
//! inodes that are here, so that everything can be rolled back or finished, and what is finished can be undone.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::cancel::CancelToken;
use crate::engine::store::births;
use crate::engine::store::folder::see;
use crate::engine::store::parts::SlotFolders;
use crate::engine::store::state::StateFolder;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::Name;
use crate::index::EntryIndex;
use crate::journal::recover::{Observed, Seen, adopted};
use crate::journal::{Header, Journal, JournalState, Record, SwapMethod, out_name, slot_name};

/// The folder of a transaction with its id and the journal that was read there.
pub(super) struct FoundFolder<'a> {
    pub id: &'a str,
    pub slots: &'a SlotFolders,
    pub journal_state: JournalState,
}

/// The journal as it would have been written here; `None` if it was born here.
pub(super) fn adopt(
    state: &StateFolder,
    found: &FoundFolder<'_>,
    journal: &Journal,
    cancel: &CancelToken,
) -> Result<Option<Journal>> {
    let FoundFolder { id, slots, journal_state } = *found;
    let folder = slots.own();
    let stat = state.workspace.stat_handle(folder)?;
    let host = state.workspace.host()?;
    let is_it = |header: &Header| {
        header.folder.is_record_of(&stat.identity)
            || births::is_proved(&state.workspace, header, id, &stat.identity).unwrap_or(false)
    };
    if journal.header.id == id && is_it(&journal.header) {
        return Ok(None);
    }
    if journal_state == JournalState::Contended {
        let message = format!(
            "{id} was interrupted while another program was writing, and a copy does not show which content is whose: \
             look at the files and at {}, then discard it, which keeps its contents",
            folder.path().display()
        );
        let discard = NextStep::Discard { id: id.to_owned() };
        return Err(Error::new(ErrorKind::RecoveryRequired, message).at(folder.path()).with_next([discard]));
    }
    if !journal.header.parts.is_empty() && journal.header.id != id {
        let message = format!("{id} is a copy of {}, which has contents on other file systems", journal.header.id);
        let discard = NextStep::Discard { id: id.to_owned() };
        return Err(Error::new(ErrorKind::RecoveryRequired, message).at(folder.path()).with_next([discard]));
    }
    let mut journal = journal.clone();
    id.clone_into(&mut journal.header.id);
    journal.header.folder = stat.identity.to_record(state.file_system()?.keeps_numbers);
    journal.header.boot = host.boot;
    let is_made = |(_, record): &(EntryIndex, &Record)| record.change.folder_after().is_some();
    let made: HashMap<PathBuf, EntryIndex> = journal
        .entries
        .numbered()
        .filter(is_made)
        .map(|(entry, record)| (record.path.as_path().to_owned(), entry))
        .collect();
    let swap = journal.header.swap;
    for (entry, record) in journal.entries.numbered_mut() {
        let observed = observe(state, (slots, swap), (entry, record), &made, cancel)?;
        *record = adopted(record, &observed);
    }
    Ok(Some(journal))
}

/// Observes the target and slot of an entry, by name alone. `made` holds the entries of the folders that the
/// transaction makes.
fn observe(
    state: &StateFolder,
    (slots, swap): (&SlotFolders, SwapMethod),
    (entry, record): (EntryIndex, &Record),
    made: &HashMap<PathBuf, EntryIndex>,
    cancel: &CancelToken,
) -> Result<Observed> {
    let slot = see(&state.workspace, Name::new(slots.of(&record.path), &slot_name(entry)), cancel)?;
    let path = &record.path;
    let parent = match state.workspace.find_folder(&state.workspace.root, path.parent())? {
        Some(parent) => Some(parent),
        // The folder is not made yet, or it is gone.
        None => match made.get(path.parent()) {
            Some(made) => state.workspace.find_folder(slots.of(&record.path), slot_name(*made))?,
            None => None,
        },
    };
    let target = match parent {
        Some(parent) => see(&state.workspace, Name::new(&parent, path.name()), cancel)?,
        None => Seen::Missing,
    };
    let observed = Observed { target, slot };
    if swap == SwapMethod::Exchange || record.change.overwrites() {
        return Ok(observed);
    }
    let out = see(&state.workspace, Name::new(slots.of(&record.path), &out_name(entry)), cancel)?;
    Ok((state.workspace.protocol.settled)(observed, out))
}
