//! Detects late writes: a program had a file open when it was swapped or rolled back, and wrote into it afterwards.
//!
//! They cannot be prevented. Their bytes are in a slot, and a file in a slot is deleted only if this module verifies
//! that it is what the journal says: by size and times where these prove it, else by its digest.

use std::path::PathBuf;

use super::stored_report;
use super::{Loaded, history};
use crate::cancel::NEVER;
use crate::engine::store::folder::{is_empty_folder, is_incomplete, name_of_original, see};
use crate::engine::store::interrupted;
use crate::engine::store::parts::{SlotFolders, is_away};
use crate::engine::store::state::{Section, StateFolder, list_ids, open_transaction};
use crate::engine::store::workspace::Workspace;
use crate::error::{ErrorKind, Result};
use crate::fs::{FileKind, Handle, Name, Stat};
use crate::identity::Timestamp;
use crate::index::EntryIndex;
use crate::journal::recover::{Seen, is_new, is_original};
use crate::journal::{Journal, JournalState, Record, RecordedChange, original_name, slot_name};

/// The reason why the slot of a file has another program's content, after its path.
const CAPTURED: &str = "was replaced by another program before it was swapped, and a recovery finished the transaction \
                        nevertheless";

/// The slots of a finished transaction, and what proves that they were not written since.
#[derive(Debug)]
pub(crate) struct Slots<'a> {
    workspace: &'a Workspace,
    folders: SlotFolders,
    journal: &'a Journal,
    journal_state: JournalState,
    /// True if the journal was born in this folder. In a copy, its inodes and times prove nothing.
    is_born_here: bool,
    /// The time from which the slots must be unchanged (the folder was made, or the journal written) and the time at
    /// which the swaps or the rollback were complete.
    span: Option<(Timestamp, Timestamp)>,
    /// True if the rename into the slot must have left a time within that span.
    needs_time: bool,
    /// True if slots are to be deleted on the strength of this.
    to_delete: bool,
}

/// The content of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotContent {
    /// Nothing.
    Nothing,
    /// The content that the journal records; it may be deleted.
    AsRecorded,
    /// The content that was staged and never swapped; it may be deleted.
    Unswapped,
    /// The unchanged original of a transaction that was rolled back: another program had replaced the new content, so
    /// the original could not go back. It stays.
    Original,
    /// Another file than the original: another program put it there before the swap, and a recovery finished the
    /// transaction nevertheless. It stays.
    Captured,
    /// Something that this user cannot read. It stays.
    Unreadable,
    /// Anything else.
    Written,
}

impl<'a> Slots<'a> {
    /// The slots of a transaction in history or in the trash.
    pub(crate) fn new(
        workspace: &'a Workspace,
        folders: SlotFolders,
        journal: &'a Journal,
        journal_state: JournalState,
        to_delete: bool,
    ) -> Result<Self> {
        let folder = folders.own();
        let stat = workspace.stat_handle(folder)?;
        let look = |name: &str| {
            let name = Name::new(folder, name);
            workspace.stat(name)
        };
        let is_born_here = journal.header.folder.is_record_of(&stat.identity);
        // A contended commit writes its journal again after the swaps; what was written in between is older than that.
        let made = stat.identity.born.filter(|_| journal_state == JournalState::Done);
        let begin = match made {
            Some(made) => Some(made),
            None => look(journal_state.file_name())?.map(|stat| stat.modified),
        };
        // A committed transaction was verified before its report was written; one that was rolled back, before its
        // folder came to the trash.
        let end = match journal_state {
            JournalState::Done => look(stored_report::FILE_NAME)?.map(|stat| stat.changed),
            _ => Some(stat.changed),
        };
        let span = begin.zip(end).filter(|_| is_born_here);
        let needs_time = to_delete || made.is_none();
        Ok(Self { workspace, folders, journal, journal_state, is_born_here, span, needs_time, to_delete })
    }

    /// The name of what is in the slot of an entry: of a committed one it may be that to which the original came out.
    pub(crate) fn slot_of(&self, entry: EntryIndex) -> Result<String> {
        name_of_original(self.workspace, self.folders.of(&self.journal.entries[entry].path), self.journal, entry)
    }

    /// Examines the slot of an entry.
    pub(crate) fn look(&self, entry: EntryIndex) -> Result<SlotContent> {
        let slot = self.slot_of(entry)?;
        let record = &self.journal.entries[entry];
        let folder = self.folders.of(&record.path);
        let name = Name::new(folder, &slot);
        let Some(stat) = self.workspace.stat(name)? else {
            return Ok(SlotContent::Nothing);
        };
        if self.is_proven(record, &stat) {
            return Ok(SlotContent::AsRecorded);
        }
        let recorded = match self.journal_state {
            JournalState::Done => record.change.folder_before(),
            _ => record.change.staged(),
        };
        let seen = match see(self.workspace, name, &NEVER) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return Ok(SlotContent::Unreadable),
            seen => seen?,
        };
        // Left by a recovery that a person forced forward: another program had changed the file.
        let is_staged = !record.change.overwrites() && matches!(seen, Seen::File { .. }) && is_new(record, seen);
        if self.journal_state == JournalState::Done && is_staged {
            return Ok(SlotContent::Unswapped);
        }
        let seen = match (seen, recorded) {
            // A copy has other inodes.
            (Seen::File { digest, mode, access, .. }, Some(recorded)) if !self.is_born_here => {
                Seen::File { digest, mode, access, identity: *recorded }
            }
            (Seen::Folder(_), Some(recorded)) if !self.is_born_here => Seen::Folder(*recorded),
            (seen, _) => seen,
        };
        if matches!(seen, Seen::Folder(_)) && !is_empty_folder(self.workspace, folder, slot.as_ref())? {
            return Ok(SlotContent::Written);
        }
        let may_go = (self.workspace.protocol.may_go)(record, self.journal_state, seen)
            || self.is_elsewhere(entry, &stat)?
            || is_incomplete(self.workspace, &self.folders, self.journal, (entry, self.journal_state))?;
        if may_go {
            return Ok(SlotContent::AsRecorded);
        }
        if self.journal_state != JournalState::Done {
            return Ok(if is_original(record, seen) { SlotContent::Original } else { SlotContent::Written });
        }
        let is_captured = self.is_born_here && is_captured(self.workspace, folder, record, &stat)?;
        Ok(if is_captured { SlotContent::Captured } else { SlotContent::Written })
    }

    /// Returns whether a changed file has other names, under which its writer still finds it, so that deleting the slot
    /// loses nothing. For a warning there must also be a copy of the original: without one the original is lost.
    fn is_elsewhere(&self, entry: EntryIndex, slot: &Stat) -> Result<bool> {
        if self.journal_state != JournalState::Done || slot.kind != FileKind::File || slot.links < 2 {
            return Ok(false);
        }
        let copy = original_name(entry);
        let copy = Name::new(self.folders.of(&self.journal.entries[entry].path), &copy);
        Ok(self.to_delete || self.workspace.stat(copy)?.is_some())
    }

    /// Returns whether size and times prove that a file is what was verified at the end of the transaction. Its content
    /// is older than the transaction, and the rename into its slot was the last change: a program that writes and sets
    /// the time back leaves a later change time. Where a rename leaves no time (an exchange on XFS), a clock that was
    /// set back could have left it: good enough for a list, not for a deletion.
    fn is_proven(&self, record: &Record, stat: &Stat) -> bool {
        let recorded = match self.journal_state {
            JournalState::Done => record.change.before(),
            _ => record.change.after().filter(|_| record.change.staged() == Some(&stat.identity)),
        };
        let (Some(recorded), Some((begin, end))) = (recorded, self.span) else { return false };
        // Another file system may be of another clock, or of a coarser one.
        self.folders.part_of(&record.path).is_none()
            && stat.kind == FileKind::File
            && stat.size == recorded.size
            && stat.modified < begin
            && stat.changed <= end
            && (begin <= stat.changed || !self.needs_time)
    }

    /// The entries whose file was written since, or is missing though it should be there.
    fn not_as_recorded(&self) -> Result<Vec<(EntryIndex, SlotContent)>> {
        let mut found_entries = Vec::new();
        for (entry, record) in self.journal.entries.numbered() {
            if matches!(record.change, RecordedChange::Folder { .. }) {
                continue;
            }
            match self.look(entry)? {
                SlotContent::Nothing
                    if self.journal_state == JournalState::Done && record.change.original().is_some() =>
                {
                    found_entries.push((entry, SlotContent::Nothing));
                }
                SlotContent::Nothing | SlotContent::AsRecorded => {}
                found => found_entries.push((entry, found)),
            }
        }
        Ok(found_entries)
    }

    /// The warning about what is in the slot of a committed entry.
    fn told(&self, entry: EntryIndex, found: SlotContent) -> String {
        let (path, slot) = (&self.journal.entries[entry].path, self.slot_path(entry));
        let slot = slot.display();
        match found {
            SlotContent::Nothing => format!("the original of {path} is gone from {slot}"),
            SlotContent::Unswapped => format!(
                "{path} was not swapped by the recovery, since another program had changed it; the new content that was \
                 staged for it is in {slot}"
            ),
            SlotContent::Captured => format!("{path} {CAPTURED}; that is in {slot}"),
            SlotContent::Unreadable => format!("the original of {path} cannot be read: {slot}"),
            _ => format!(
                "{path} was written after the commit by a program that still had it open; what it wrote is in {slot}"
            ),
        }
    }

    fn slot_path(&self, entry: EntryIndex) -> PathBuf {
        let name = self.slot_of(entry).unwrap_or_else(|_| slot_name(entry));
        self.folders.of(&self.journal.entries[entry].path).path().join(name)
    }
}

/// Returns whether the slot of a committed transaction, which does not hold what was read, has another file than the
/// original. An overlay gives a file another number when it is written for the first time, so there nothing tells.
pub(crate) fn is_captured(workspace: &Workspace, folder: &Handle, record: &Record, slot: &Stat) -> Result<bool> {
    let is_other = record.change.replaced().is_some_and(|replaced| *replaced != slot.identity);
    Ok(is_other && workspace.file_system(folder)?.keeps_numbers)
}

/// Warnings about the originals of a transaction that were written since.
pub(crate) fn warnings(workspace: &Workspace, loaded: &Loaded) -> Result<Vec<String>> {
    let folders = match loaded.slots(workspace) {
        // Its log is there nevertheless.
        Err(error) if is_away(&error) => return Ok(vec![error.message().to_owned()]),
        folders => folders?.clone(),
    };
    let slots = Slots::new(workspace, folders, &loaded.journal, JournalState::Done, false)?;
    Ok(slots.not_as_recorded()?.into_iter().map(|(entry, found)| slots.told(entry, found)).collect())
}

/// Warnings about the folders that a transaction removed and into which something was written since: an undo makes them
/// again, without that.
pub(crate) fn written_folders(workspace: &Workspace, loaded: &Loaded) -> Result<Vec<String>> {
    let removed = loaded.journal.entries.numbered().filter(|(_, record)| record.change.folder_before().is_some());
    let removed: Vec<_> = removed.map(|(entry, _)| entry).collect();
    if removed.is_empty() {
        return Ok(Vec::new());
    }
    let slots = Slots::new(workspace, loaded.slots(workspace)?.clone(), &loaded.journal, JournalState::Done, false)?;
    let mut warnings = Vec::new();
    for entry in removed {
        if slots.look(entry)? == SlotContent::Written {
            warnings.push(slots.told(entry, SlotContent::Written));
        }
    }
    Ok(warnings)
}

/// Warnings about all of history and the trash.
pub(crate) fn all_warnings(state: &StateFolder) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for loaded in history(state)? {
        let loaded = loaded?;
        let of_one = warnings(&state.workspace, &loaded)?;
        all.extend(of_one.into_iter().map(|warning| format!("transaction {}: {warning}", loaded.id())));
    }
    all.extend(in_trash(state)?);
    Ok(all)
}

fn in_trash(state: &StateFolder) -> Result<Vec<String>> {
    let Some(section) = state.section(Section::Trash)? else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for id in list_ids(&state.workspace, &section)? {
        let Some(folder) = open_transaction(&state.workspace, &section, &id)? else { continue };
        let stat = state.workspace.stat_handle(&folder)?;
        // No program has the files of a copy open, and its journal can be long.
        let Some((journal, journal_state)) =
            interrupted::read_wanted(&state.workspace, &folder, |header| header.folder.is_record_of(&stat.identity))?
        else {
            continue;
        };
        // What was staged and never swapped belongs to no other program.
        if matches!(journal_state, JournalState::New | JournalState::Sealed) {
            continue;
        }
        let folders = match SlotFolders::open(&state.workspace, &folder, &journal.header) {
            Err(error) if is_away(&error) => {
                all.push(format!("in the trash: {}", error.message()));
                continue;
            }
            folders => folders?,
        };
        let slots = Slots::new(&state.workspace, folders, &journal, journal_state, true)?;
        let written = slots
            .not_as_recorded()?
            .into_iter()
            .filter(|(_, found)| !matches!(found, SlotContent::Nothing | SlotContent::Unswapped));
        all.extend(written.map(|(entry, found)| {
            let (path, slot) = (&journal.entries[entry].path, slots.slot_path(entry));
            if found == SlotContent::Original {
                return format!(
                    "transaction {id}: the original of {path} is still at {}, and a later commit puts it into kept/",
                    slot.display()
                );
            }
            if found == SlotContent::Unreadable {
                return format!("transaction {id}: the original of {path} cannot be read: {}", slot.display());
            }
            if found == SlotContent::Captured {
                return format!(
                    "transaction {id}: {path} {CAPTURED}; that is in {}, and a later commit puts it into kept/",
                    slot.display()
                );
            }
            let when = if journal_state == JournalState::Done { "the commit" } else { "it was rolled back" };
            format!(
                "transaction {id}: {path} was written after {when} by a program that still had it open; what it wrote is \
                 in {}, and a later commit puts it into kept/",
                slot.display()
            )
        }));
    }
    Ok(all)
}
