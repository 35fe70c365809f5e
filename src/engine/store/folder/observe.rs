//! Reads the targets and slots of a transaction and classifies its entries, without changing anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::TransactionFolder;
use crate::cancel::CancelToken;
use crate::cancel::NEVER;
use crate::commit::Protocol;
use crate::digest::Digest;
use crate::engine::store::parts::{SEALED, SlotFolders};
use crate::engine::store::snapshot;
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, Result};
use crate::fs::{FileKind, Handle, Name};
use crate::identity::Identity;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::recover::overwritten::class_when_done;
use crate::journal::recover::{Ages, Class, Observed, Seen, is, is_original_gone};
use crate::journal::{Journal, JournalState, RecordedChange, slot_name};
use crate::plan::{Access, LINK_MODE};

impl TransactionFolder<'_> {
    /// Reads the file at a name to its end, even if the call was cancelled: something is swapped already.
    pub(crate) fn see(&self, name: Name<'_>) -> Result<Seen> {
        see(self.workspace(), name, &NEVER)
    }

    /// Observes the entry's target and its slot.
    pub(crate) fn observe(&self, entry: EntryIndex, cancel: &CancelToken) -> Result<Observed> {
        let slot = slot_name(entry);
        let slot = see(self.workspace(), Name::new(self.slots_of(entry), &slot), cancel)?;
        let record = self.record(entry);
        let target = match self.parents.get(record.path.parent()) {
            Some((_, parent)) if record.change.overwrites() => {
                self.see_in_place(entry, Name::new(parent, record.path.name()), cancel)?
            }
            Some((_, parent)) => see(self.workspace(), Name::new(parent, record.path.name()), cancel)?,
            // Nothing can be put there any more: another program removed the folder.
            None if slot != Seen::Missing && matches!(record.change, RecordedChange::Create { .. }) => Seen::Other,
            None => Seen::Missing,
        };
        let filled = |seen, name: Name<'_>| match seen {
            Seen::Folder(folder) => match self.as_recorded(entry, folder)? {
                recorded if record.change.folder_before() == Some(&recorded) => self.look_into(entry, name, recorded),
                folder => Ok(Seen::Folder(folder)),
            },
            seen => Ok(seen),
        };
        let target = match self.parents.get(record.path.parent()) {
            Some((_, parent)) => filled(target, Name::new(parent, record.path.name()))?,
            None => target,
        };
        let observed = Observed { target, slot: filled(slot, Name::new(self.slots_of(entry), &slot_name(entry)))? };
        self.as_settled(entry, observed)
    }

    /// Observes the target of an entry that is overwritten.
    fn see_in_place(&self, entry: EntryIndex, name: Name<'_>, cancel: &CancelToken) -> Result<Seen> {
        match self.workspace().stat(name)? {
            Some(stat) if stat.kind == FileKind::File => {
                let file = self.workspace().open_file(name)?;
                self.seen_in_place(entry, &file, cancel)
            }
            _ => see(self.workspace(), name, cancel),
        }
    }

    pub(crate) fn classify(&self, entry: EntryIndex) -> Result<Class> {
        Ok(self.class_of(entry, &self.observe(entry, &NEVER)?))
    }

    /// The class of an entry that was observed.
    pub(crate) fn class_of(&self, entry: EntryIndex, observed: &Observed) -> Class {
        let record = self.record(entry);
        if record.change.overwrites() && self.journal_state == JournalState::Done {
            return class_when_done(&record.change, observed);
        }
        let Protocol { classify, classify_contended, classify_checked, .. } = self.workspace().protocol;
        let classify = match self.journal_state {
            _ if self.uncertain => classify_contended,
            JournalState::CheckUndo => classify_checked,
            _ => classify,
        };
        classify(self.record(entry), observed)
    }

    pub(crate) fn classes(&self, cancel: &CancelToken) -> Result<IndexVec<EntryIndex, Class>> {
        let class = |entry| Ok(self.class_of(entry, &self.observe(entry, cancel)?));
        (self.journal.entries.indices()).map(class).collect()
    }

    /// The entries, which are of these classes, that may have been swapped although no class proves it.
    pub(crate) fn in_doubt(
        &self,
        classes: &IndexVec<EntryIndex, Class>,
        cancel: &CancelToken,
    ) -> Result<Vec<EntryIndex>> {
        let mut doubtful = Vec::new();
        for entry in unproved(classes) {
            if (self.workspace().protocol.is_in_doubt)(self.record(entry), &self.observe(entry, cancel)?) {
                doubtful.push(entry);
            }
        }
        Ok(doubtful)
    }

    /// The entries, which are of these classes, whose original is gone.
    pub(crate) fn lost(&self, classes: &IndexVec<EntryIndex, Class>, cancel: &CancelToken) -> Result<Vec<EntryIndex>> {
        let mut lost = Vec::new();
        for entry in unproved(classes) {
            if is_original_gone(self.record(entry), &self.observe(entry, cancel)?) {
                lost.push(entry);
            }
        }
        Ok(lost)
    }

    /// The path of a folder that was moved away, with everything that was swapped in it.
    pub(crate) fn moved_folder(&self) -> Result<Option<PathBuf>> {
        let mut folders: Vec<_> = self.parents.iter().collect();
        folders.sort_unstable_by_key(|(path, _)| *path);
        for (path, (identity, held)) in folders {
            // One that leaves was verified when its swap brought it out.
            if !self.leaving().folders.contains_key(path) && !self.leads_to_held(path, identity, held)? {
                return Ok(Some(self.workspace().root.path().join(path)));
            }
        }
        Ok(None)
    }

    /// Returns whether a path of the workspace still leads to the held folder, which had this identity when it was
    /// opened. An overlay gives a folder another identity when something in it is changed for the first time.
    pub(crate) fn leads_to_held(&self, path: &Path, identity: &Identity, held: &Handle) -> Result<bool> {
        if self.leads_to(path, identity)? {
            return Ok(true);
        }
        let now = self.workspace().stat_handle(held)?;
        Ok(now.identity != *identity && self.leads_to(path, &now.identity)?)
    }

    /// Returns whether the path of an entry still leads into the folder that is held for it.
    pub(super) fn has_its_place(&self, entry: EntryIndex) -> Result<bool> {
        let folder = self.record(entry).path.parent();
        let held = self.parents.get(folder);
        held.map_or(Ok(true), |(identity, held)| self.leads_to_held(folder, identity, held))
    }

    /// Returns whether a path of the workspace still leads to this folder.
    pub(crate) fn leads_to(&self, path: &Path, folder: &Identity) -> Result<bool> {
        self.leads_from(&self.workspace().root, path, folder)
    }

    /// The same of a path in a folder.
    pub(crate) fn leads_from(&self, base: &Handle, path: &Path, folder: &Identity) -> Result<bool> {
        let there = self.workspace().stat_folder(base, path);
        let there = there.map_err(|e| Error::io("look at", base.path().join(path), e))?;
        Ok(there.is_some_and(|there| there.identity == *folder))
    }

    /// The identity of a folder that was found, or the one that is recorded if it is the folder that the entry removes: an
    /// overlay gives it another one when something in it is changed for the first time. Only the handle that was opened
    /// before the first swap proves that; a recovery has none.
    pub(in crate::engine) fn as_recorded(&self, entry: EntryIndex, found: Identity) -> Result<Identity> {
        let record = self.record(entry);
        let Some(recorded) = record.change.folder_before().filter(|recorded| **recorded != found) else {
            return Ok(found);
        };
        match self.parents.get(record.path.as_path()) {
            Some((identity, held)) if identity == recorded && !self.is_recovery => {
                let now = self.workspace().stat_handle(held)?.identity;
                Ok(if now == found { *recorded } else { found })
            }
            _ => Ok(found),
        }
    }

    fn slot_folder_is_empty(&self, entry: EntryIndex) -> Result<bool> {
        is_empty_folder(self.workspace(), self.slots_of(entry), Path::new(&slot_name(entry)))
    }

    /// Returns whether the slot holds verified new content, or nothing.
    pub(crate) fn slot_is_ours(&self, entry: EntryIndex) -> Result<bool> {
        let seen = self.see(Name::new(self.slots_of(entry), &slot_name(entry)))?;
        Ok(match seen {
            Seen::Missing => true,
            // A power loss can undo the folder's swap and leave what another program had put into it since.
            Seen::Folder(_) => {
                (self.workspace().protocol.is_new)(self.record(entry), seen) && self.slot_folder_is_empty(entry)?
            }
            _ => (self.workspace().protocol.is_new)(self.record(entry), seen),
        })
    }

    /// Returns whether what came back into the slot of an entry is what was staged for it.
    pub(crate) fn slot_came_back(&self, entry: EntryIndex) -> Result<bool> {
        if !self.uncertain || !matches!(self.record(entry).change, RecordedChange::Edit { .. }) {
            return self.slot_is_ours(entry);
        }
        // Its content cannot be compared: whatever it is stays, and is reported.
        let seen = self.see(Name::new(self.slots_of(entry), &slot_name(entry)))?;
        Ok(self.record(entry).change.staged().is_some_and(|staged| is(seen, staged)))
    }

    /// The torn entries whose slot holds what a power loss left of the new content, in a file that was never swapped.
    pub(crate) fn incomplete(&self, classes: &IndexVec<EntryIndex, Class>) -> Result<BTreeSet<EntryIndex>> {
        let torn = classes.numbered().filter(|(_, class)| **class == Class::Torn);
        let mut incomplete = BTreeSet::new();
        for (entry, _) in torn {
            if is_incomplete(self.workspace(), &self.slots, &self.journal, (entry, self.journal_state))? {
                incomplete.insert(entry);
            }
        }
        Ok(incomplete)
    }

    /// Returns whether what is in the slot may be deleted.
    pub(super) fn slot_may_go(&self, entry: EntryIndex) -> Result<bool> {
        if self.slot_is_ours(entry)? {
            return Ok(true);
        }
        Ok(self.incomplete.contains(&entry)
            && is_incomplete(self.workspace(), &self.slots, &self.journal, (entry, self.journal_state))?)
    }
}

/// The entries whose class does not say where their original is.
fn unproved(classes: &IndexVec<EntryIndex, Class>) -> impl Iterator<Item = EntryIndex> {
    let is_one = |class: &Class| matches!(class, Class::OriginalLost | Class::Unknown | Class::Same);
    classes.numbered().filter(move |(_, class)| is_one(class)).map(|(entry, _)| entry)
}

/// Observes the file, symlink or folder at a name; a file is read to the end, a symlink not followed.
pub(crate) fn see(workspace: &Workspace, name: Name<'_>, cancel: &CancelToken) -> Result<Seen> {
    let Some(stat) = workspace.stat(name)? else { return Ok(Seen::Missing) };
    match stat.kind {
        FileKind::Folder => Ok(Seen::Folder(stat.identity)),
        FileKind::Special => Ok(Seen::Other),
        FileKind::Symlink => {
            let digest = Digest::of(&snapshot::target_of(workspace, name, &stat)?);
            let access = Access { user: stat.user, group: stat.group, attributes: None };
            Ok(Seen::File { digest, mode: LINK_MODE, access, identity: stat.identity })
        }
        FileKind::File => {
            let file = workspace.open_file(name)?;
            let digest = snapshot::digest(workspace, &file, stat.size, cancel)?;
            let attributes = workspace.attributes(&file)?.digest();
            let access = Access { user: stat.user, group: stat.group, attributes };
            Ok(Seen::File { digest, mode: stat.mode, access, identity: stat.identity })
        }
    }
}

/// Returns whether the slot of an entry holds what a power loss left of its new content, in a file that was never
/// swapped.
pub(crate) fn is_incomplete(
    workspace: &Workspace,
    slots: &SlotFolders,
    journal: &Journal,
    (entry, state): (EntryIndex, JournalState),
) -> Result<bool> {
    let (slot, path) = (slot_name(entry), &journal.entries[entry].path);
    let slot = Name::new(slots.of(path), &slot);
    let seen = see(workspace, slot, &NEVER)?;
    if state == JournalState::Contended {
        // It was rewritten after its journal, so times prove nothing; but with an empty file no work is lost.
        let is_staged = journal.entries[entry].change.staged().is_some_and(|staged| is(seen, staged));
        return Ok(is_staged && matches!(seen, Seen::File { digest, .. } if digest == Digest::of(&[])));
    }
    // By the clock of its own file system.
    let sealed = match slots.part_of(path) {
        Some(_) => Name::new(slots.of(path), SEALED),
        None => Name::new(slots.own(), state.file_name()),
    };
    let (Some(slot), Some(sealed)) = (workspace.stat(slot)?, workspace.stat(sealed)?) else { return Ok(false) };
    let host = workspace.host()?;
    // Not the modification time: a moved file keeps it, and a clock that was set back puts it in the future.
    let ages = Ages { same_boot: journal.header.boot == host.boot, touched: slot.changed, sealed: sealed.modified };
    Ok((workspace.protocol.is_incomplete)(&journal.entries[entry], seen, ages))
}

pub(crate) fn is_empty_folder(workspace: &Workspace, parent: &Handle, name: &Path) -> Result<bool> {
    let folder = workspace.open_beneath(parent, name)?;
    Ok(workspace.list(&folder)?.is_empty())
}
