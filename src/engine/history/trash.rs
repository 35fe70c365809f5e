//! The trash: folders that are about to be deleted.
//!
//! What was never swapped is deleted without being verified. What once stood at its target is verified again right
//! before it is unlinked, since a program may have had it open and written into it; what was rolled back also stays for
//! a while.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use super::late_writes::{SlotContent, Slots};
use super::stored_report;
use crate::cancel::NEVER;
use crate::engine::store::barrier;
use crate::engine::store::delete_tree;
use crate::engine::store::folder::see;
use crate::engine::store::interrupted;
use crate::engine::store::parts::{self, SlotFolders};
use crate::engine::store::state::{Section, StateFolder, list_ids, open_transaction};
use crate::engine::store::workspace::Workspace;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::fs::{Handle, Name};
use crate::identity::Timestamp;
use crate::journal::recover::Seen;
use crate::journal::{self, Journal, JournalState, Record};
use crate::limits;
use crate::path::shown;

/// The folders that were in the trash at some moment. They may be unlinked only after a sync that followed that moment:
/// else a power loss could bring a folder back to its old place with half of its content.
#[derive(Debug)]
pub(crate) struct Trash {
    folder: Option<Handle>,
    ids: Vec<String>,
}

impl Trash {
    /// The section, if there is something in it.
    pub(crate) fn folder(&self) -> Option<&Handle> {
        self.folder.as_ref().filter(|_| !self.ids.is_empty())
    }
}

/// The folders to delete, besides those that have no journal or were dropped before their first swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goes<'a> {
    /// These, without being verified: a recovery found that none of their entries was swapped.
    Unswapped(&'a [String]),
    /// Pruned transactions.
    Pruned,
    /// Pruned transactions, and those rolled back long enough before this moment of the file system's clock.
    AllBefore(Timestamp),
}

/// A folder that another program had written into; it is in `kept/` now.
#[derive(Debug)]
pub(crate) struct Rescued {
    pub id: String,
    /// The warning about it.
    pub warning: String,
}

/// The content of the trash.
pub(crate) fn list(state: &StateFolder) -> Result<Trash> {
    if state.has_certainly_no_folder(Section::Trash)? {
        return Ok(Trash { folder: None, ids: Vec::new() });
    }
    let folder = state.section(Section::Trash)?;
    let ids = match &folder {
        Some(folder) => list_ids(&state.workspace, folder)?,
        None => Vec::new(),
    };
    Ok(Trash { folder, ids })
}

/// Empties the trash after a commit: a durable one has just synced; another one syncs for this once enough has
/// gathered. Returns warnings.
pub(crate) fn after_commit(state: &StateFolder, trash: &Trash, durable: bool, now: Timestamp) -> Vec<String> {
    let rescued = if durable {
        empty(state, trash, Goes::AllBefore(now))
    } else if trash.ids.len() >= limits::TRASH {
        sync_and_empty(state, Goes::AllBefore(now)).unwrap_or_default()
    } else {
        Vec::new()
    };
    rescued.into_iter().map(|rescued| rescued.warning).collect()
}

/// Empties the trash after a sync of its own.
pub(crate) fn sync_and_empty(state: &StateFolder, goes: Goes<'_>) -> Result<Vec<Rescued>> {
    let trash = list(state)?;
    let Some(folder) = trash.folder() else { return Ok(Vec::new()) };
    barrier::pass(state, folder, |each| each.sections(state))?;
    Ok(empty(state, &trash, goes))
}

/// Unlinks, after a sync, everything in one folder of the trash, at a person's request.
pub(crate) fn sync_and_drop(state: &StateFolder, id: &str) -> Result<()> {
    let Some(section) = state.section(Section::Trash)? else { return Ok(()) };
    barrier::pass(state, &section, |each| each.sections(state))?;
    let folder = state.workspace.open_beneath(&section, id)?;
    let slots = slots_of(state, &folder)?;
    unlink_all(&state.workspace, &section, &slots, id);
    if !is_there(state, &section, id)? {
        return Ok(());
    }
    let message = format!(
        "not all of it could be deleted; what is left is in {}, and the next commit tries again",
        shown(folder.path())
    );
    Err(Error::new(ErrorKind::WriteFailed, message).at(folder.path()).detail(Detail::PartlyDone))
}

/// The pruned transactions that are still in the trash: deleting failed, or another process works on them.
pub(crate) fn pruned(state: &StateFolder) -> Result<Vec<String>> {
    let Trash { folder: Some(section), ids } = list(state)? else { return Ok(Vec::new()) };
    let is_pruned = |id: &String| {
        let folder = open_transaction(&state.workspace, &section, id)?;
        let journal_state = folder.map_or(Ok(None), |folder| journal_state_of(&state.workspace, &folder))?;
        Ok(journal_state == Some(JournalState::Done))
    };
    let mut left = Vec::new();
    for id in ids {
        if is_pruned(&id)? {
            left.push(id);
        }
    }
    Ok(left)
}

fn is_there(state: &StateFolder, section: &Handle, id: &str) -> Result<bool> {
    Ok(state.workspace.stat(Name::new(section, id))?.is_some())
}

/// Unlinks what was in the trash: plain unlinks and one rmdir for each folder, never recursively. What is left, because
/// another process works on it or put something there, waits for the next time.
fn empty(state: &StateFolder, trash: &Trash, goes: Goes<'_>) -> Vec<Rescued> {
    let Some(section) = &trash.folder else { return Vec::new() };
    // What cannot be examined now is examined the next time.
    trash.ids.iter().filter_map(|id| empty_one(state, section, id, goes).ok().flatten()).collect()
}

fn empty_one(state: &StateFolder, section: &Handle, id: &String, goes: Goes<'_>) -> Result<Option<Rescued>> {
    let Some(folder) = open_transaction(&state.workspace, section, id)? else { return Ok(None) };
    // One with contents on a file system that is not mounted waits for that.
    let slots = slots_of(state, &folder)?;
    let is_unswapped = matches!(goes, Goes::Unswapped(ids) if ids.contains(id));
    let Some(journal_state) = journal_state_of(&state.workspace, &folder)?.filter(|_| !is_unswapped) else {
        unlink_all(&state.workspace, section, &slots, id);
        return Ok(None);
    };
    let is_due = match (journal_state, goes) {
        (_, Goes::Unswapped(_)) => false,
        (JournalState::Done, _) => true,
        (_, Goes::Pruned) => false,
        (_, Goes::AllBefore(now)) => {
            is_past(state.workspace.stat_handle(&folder)?.changed, now, state.workspace.protocol.grace)
        }
    };
    // Of two processes that empty the trash, one could unlink what the other has just moved to `kept/`.
    if !is_due || !state.workspace.try_lock(&folder)? {
        return Ok(None);
    }
    match unlink_verified(state, &slots)? {
        None => {
            unlink_all(&state.workspace, section, &slots, id);
            Ok(None)
        }
        Some(what) => rescue(state, id, &what).map(Some),
    }
}

/// The state of a journal whose files may be open somewhere; `None` if they were never swapped.
fn journal_state_of(workspace: &Workspace, folder: &Handle) -> Result<Option<JournalState>> {
    let names = workspace.list(folder)?;
    let is = |name: &OsStr, state: JournalState| name == state.file_name();
    Ok(match interrupted::journals(&names)[..] {
        [] => None,
        [journal] if is(journal, JournalState::New) || is(journal, JournalState::Sealed) => None,
        [journal] if is(journal, JournalState::Done) => Some(JournalState::Done),
        _ => Some(JournalState::Undo),
    })
}

/// Returns whether a folder came here at least `grace` ago. A time in the future comes from a clock that was set back.
fn is_past(came: Timestamp, now: Timestamp, grace: Duration) -> bool {
    let seconds = now.seconds - came.seconds;
    seconds >= grace.as_secs().cast_signed() || seconds < -grace.as_secs().cast_signed()
}

/// Unlinks the slots that hold what the journal records, each right after it was verified. Returns a short description
/// of what must not be deleted.
fn unlink_verified(state: &StateFolder, folders: &SlotFolders) -> Result<Option<String>> {
    let folder = folders.own();
    let (journal, journal_state) =
        match interrupted::read_of_journal(&state.workspace, folder, |bytes| journal::read(bytes))? {
            Some(Ok(read)) => read,
            Some(Err(problem)) => {
                return Ok(Some(format!("a folder whose content cannot be verified, since {problem}")));
            }
            None => return Ok(None),
        };
    let slots = Slots::new(&state.workspace, folders.clone(), &journal, journal_state, true)?;
    let mut written = Vec::new();
    for (entry, record) in journal.entries.numbered() {
        let slot = slots.slot_of(entry)?;
        let name = Name::new(folders.of(&record.path), &slot);
        let is_gone = match slots.look(entry)? {
            SlotContent::Nothing => true,
            SlotContent::Written | SlotContent::Captured | SlotContent::Original | SlotContent::Unreadable => false,
            // A folder is not removed if anything is in it.
            SlotContent::AsRecorded if is_folder(record, journal_state) => {
                state.workspace.fs().remove_folder(name).is_ok()
            }
            SlotContent::AsRecorded | SlotContent::Unswapped => state.workspace.unlink(name).map(|()| true)?,
        };
        if !is_gone {
            written.push(record.path.to_string());
        }
    }
    // A contended transaction that was interrupted leaves a journal under its hidden name.
    let ours = |name: &OsString| {
        name == stored_report::FILE_NAME
            || name == journal_state.file_name()
            || name == JournalState::New.file_name()
            || name == journal::HIDDEN_NAME
            || name == journal::RESTORED_NAME
            || parts::OWN_NAMES.iter().any(|own| name == *own)
    };
    let mut strange = false;
    for folder in folders.all() {
        for name in state.workspace.list(folder)?.iter().filter(|name| !ours(name)) {
            strange |= !is_copy(&state.workspace, folder, &journal, name)?;
        }
    }
    Ok(match (written.is_empty(), strange) {
        (true, false) => None,
        (true, true) => Some("files that are not txedit's".to_owned()),
        (false, _) => {
            let when = if journal_state == JournalState::Done { "it was committed" } else { "it was rolled back" };
            Some(format!("what another program wrote into {} after {when}", written.join(", ")))
        }
    })
}

/// Returns whether a folder was put into the slot of an entry.
fn is_folder(record: &Record, journal_state: JournalState) -> bool {
    match journal_state {
        JournalState::Done => record.change.folder_before().is_some(),
        _ => record.change.folder_after().is_some(),
    }
}

/// Returns whether a file is the copy of an original that txedit made itself.
fn is_copy(workspace: &Workspace, folder: &Handle, journal: &Journal, name: &OsStr) -> Result<bool> {
    // Nobody else has seen what a target was to be overwritten with.
    let new = name.to_str().and_then(journal::entry_of_new).and_then(|entry| journal.entries.get(entry));
    if new.is_some_and(|record| record.change.overwrites()) {
        return Ok(true);
    }
    let entry = name.to_str().and_then(journal::entry_of_original);
    let before = entry.and_then(|entry| journal.entries.get(entry)?.change.before());
    let Some(before) = before else { return Ok(false) };
    Ok(matches!(see(workspace, Name::new(folder, name), &NEVER)?, Seen::File { digest, .. } if digest == before.digest))
}

/// Moves a folder from the trash to `kept/`, durably.
fn rescue(state: &StateFolder, id: &str, what: &str) -> Result<Rescued> {
    state.move_transaction(id, Section::Trash, Section::Kept)?;
    barrier::pass(state, &state.workspace.root, |each| {
        each.folder_with_content(&state.folder, &Path::new(Section::Kept.name()).join(id))?;
        each.sections(state)
    })?;
    let folder = state.folder.path().join(Section::Kept.name()).join(id);
    let warning = format!("transaction {id}: {what}, is kept in {} now", folder.display());
    Ok(Rescued { id: id.to_owned(), warning })
}

/// The folders with the slots of a transaction in the trash. One that has no journal, or was not born there, may name no others.
pub(crate) fn slots_of(state: &StateFolder, folder: &Handle) -> Result<SlotFolders> {
    let header = interrupted::read_of_journal(&state.workspace, folder, |bytes| journal::header(bytes))?;
    let header = header.and_then(std::result::Result::ok).map(|(header, _)| header);
    let identity = state.workspace.stat_handle(folder)?.identity;
    match header.filter(|header| header.folder.is_record_of(&identity)) {
        Some(header) => SlotFolders::left(&state.workspace, folder, &header),
        None => Ok(SlotFolders::new(folder.clone(), Vec::new())),
    }
}

/// Unlinks everything in the folders of a transaction, then the folders. The journal goes last: without it the rest would count
/// as never swapped, and nothing would lead to the parts on other file systems.
fn unlink_all(workspace: &Workspace, section: &Handle, slots: &SlotFolders, id: &str) {
    for part in &slots.parts {
        delete_tree::names_in(workspace, &part.folder);
        if part.remove(id).is_err() {
            return;
        }
    }
    delete_tree::names_in(workspace, slots.own());
    drop(workspace.fs().remove_folder(Name::new(section, id)));
}
