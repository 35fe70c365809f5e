//! A transaction's folder with its journal: the primitives that commit, undo and recovery share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::aside::{Aside, asides};
use super::barrier;
use super::files::write_new_by;
use super::lock::NEVER;
use super::removed_folders::Leaving;
use super::snapshot;
use super::state::{Section, State, open_transaction};
use super::workspace::Workspace;
use crate::commit::Protocol;
use crate::digest::Digest;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Kept, Result};
use crate::fs::{FileKind, Handle, Name, Rename, Stat};
use crate::identity::Identity;
use crate::journal::recover::{Ages, Class, Observed, Seen, is};
use crate::journal::{self, Change, Journal, Mark, Record, record, slot_name};
use crate::plan::Access;

/// What a contended transaction left that was interrupted.
pub(crate) const UNCERTAIN: &str = "what was made beside another program that was writing, not known to be whole";

/// A transaction in `txn/`, its folder and the folders of its targets locked by this process.
#[derive(Debug)]
pub(crate) struct TransactionFolder<'a> {
    pub state: &'a State,
    /// `txn/<id>`, locked.
    pub folder: Handle,
    pub journal: Journal,
    pub mark: Mark,
    /// It was interrupted while it was contended: what its edits hold may be other than the journal says.
    pub uncertain: bool,
    /// The folders of the targets, by their path in the workspace; what is not there has none.
    pub parents: HashMap<PathBuf, (Identity, Handle)>,
    /// Which of them, by their path, were found by their names alone and may be somebody else's: what is in them is not
    /// ours to replace unseen.
    pub strange: BTreeSet<PathBuf>,
    /// Whether all of them were found by their names: a recovery does not know what was opened before.
    pub is_recovery: bool,
    /// Entries whose slot held, before a recovery touched anything, what a power loss left of their new content.
    pub incomplete: BTreeSet<usize>,
    /// The folders that it takes away; found out when the journal is complete.
    pub leaving: OnceLock<Leaving>,
}

impl<'a> TransactionFolder<'a> {
    /// One whose folders of targets were opened by this process.
    pub(crate) fn new(
        state: &'a State,
        folder: Handle,
        journal: Journal,
        mark: Mark,
        parents: HashMap<PathBuf, (Identity, Handle)>,
    ) -> Self {
        Self {
            state,
            folder,
            journal,
            mark,
            uncertain: mark == Mark::Contended,
            parents,
            strange: BTreeSet::new(),
            is_recovery: false,
            incomplete: BTreeSet::new(),
            leaving: OnceLock::new(),
        }
    }
}

impl<'a> TransactionFolder<'a> {
    pub(crate) fn workspace(&self) -> &'a Workspace {
        &self.state.workspace
    }

    pub(crate) fn record(&self, entry: usize) -> &Record {
        &self.journal.entries[entry]
    }

    pub(crate) fn path(&self, entry: usize) -> PathBuf {
        self.workspace().root.path().join(self.record(entry).path.as_path())
    }

    /// The folder of the entry's target.
    pub(crate) fn parent(&self, entry: usize) -> Result<&Handle> {
        let path = &self.record(entry).path;
        self.parents.get(path.parent()).map(|(_, folder)| folder).ok_or_else(|| {
            let message = format!("the folder of {path} is gone");
            Error::new(ErrorKind::ConcurrentModification, message).at(path.as_path())
        })
    }

    /// What stands at a name, read to the end, whoever wants to stop: something was swapped.
    pub(crate) fn see(&self, name: Name<'_>) -> Result<Seen> {
        see(self.workspace(), name, &NEVER)
    }

    /// What stands at the entry's target and in its slot.
    pub(crate) fn observe(&self, entry: usize, cancel: &AtomicBool) -> Result<Observed> {
        let slot = slot_name(entry);
        let slot = see(self.workspace(), Name::new(&self.folder, &slot), cancel)?;
        let record = self.record(entry);
        let target = match self.parents.get(record.path.parent()) {
            Some((_, parent)) => see(self.workspace(), Name::new(parent, record.path.name()), cancel)?,
            // Nothing can be put there any more: that is somebody's doing.
            None if slot != Seen::Missing && matches!(record.change, Change::Create { .. }) => Seen::Other,
            None => Seen::Missing,
        };
        let filled = |seen, name: Name<'_>| match seen {
            Seen::Folder(folder) if record.change.folder_before() == Some(&folder) => {
                self.look_into(entry, name, folder)
            }
            seen => Ok(seen),
        };
        let target = match self.parents.get(record.path.parent()) {
            Some((_, parent)) => filled(target, Name::new(parent, record.path.name()))?,
            None => target,
        };
        Ok(Observed { target, slot: filled(slot, Name::new(&self.folder, &slot_name(entry)))? })
    }

    pub(crate) fn classify(&self, entry: usize) -> Result<Class> {
        Ok(self.class_of(entry, &self.observe(entry, &NEVER)?))
    }

    /// The class of an entry that was observed.
    pub(crate) fn class_of(&self, entry: usize, observed: &Observed) -> Class {
        let Protocol { classify, classify_contended, classify_checked, .. } = self.workspace().protocol;
        let classify = match self.mark {
            _ if self.uncertain => classify_contended,
            Mark::CheckUndo => classify_checked,
            _ => classify,
        };
        classify(self.record(entry), observed)
    }

    pub(crate) fn classes(&self, cancel: &AtomicBool) -> Result<Vec<Class>> {
        let class = |entry| Ok(self.class_of(entry, &self.observe(entry, cancel)?));
        (0..self.journal.entries.len()).map(class).collect()
    }

    /// Exchanges slot and target, or moves the one that is there.
    pub(crate) fn swap(&self, entry: usize) -> Result<()> {
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let (from, to, how) = match self.record(entry).change {
            Change::Edit { .. } | Change::FileToFolder { .. } | Change::FolderToFile { .. } => {
                (slot, target, Rename::Exchange)
            }
            Change::Create { .. } | Change::Folder { .. } => (slot, target, Rename::NoReplace),
            Change::Delete { .. } | Change::RemoveFolder { .. } => (target, slot, Rename::NoReplace),
        };
        self.workspace().fs().rename(from, to, how).map_err(|e| self.swap_failed(entry, e))
    }

    /// The reverse of [`swap`](Self::swap).
    pub(crate) fn swap_back(&self, entry: usize) -> Result<()> {
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let (from, to, how) = match self.record(entry).change {
            Change::Edit { .. } | Change::FileToFolder { .. } | Change::FolderToFile { .. } => {
                (slot, target, Rename::Exchange)
            }
            Change::Create { .. } | Change::Folder { .. } => (target, slot, Rename::NoReplace),
            Change::Delete { .. } | Change::RemoveFolder { .. } => (slot, target, Rename::NoReplace),
        };
        self.workspace().fs().rename(from, to, how).map_err(|e| Error::io("put back", self.path(entry), e))
    }

    fn swap_failed(&self, entry: usize, error: std::io::Error) -> Error {
        let path = self.path(entry);
        match errno::of(&error) {
            // A name that came or went between the re-check and the swap: somebody else's doing.
            Some(Errno::EXIST | Errno::NOENT) => snapshot::changed(&path, "appeared or vanished"),
            Some(Errno::INVAL) => {
                let message = format!("{} is on a file system that cannot exchange names", path.display());
                Error::new(ErrorKind::UnsupportedFileSystem, message).at(path)
            }
            Some(Errno::XDEV) if self.record(entry).change.folder_before().is_some() => {
                let message = format!(
                    "{} is a folder that this file system does not move (overlayfs without redirect_dir); delete what is in \
                     it in a transaction of its own, remove the folder (rmdir), then send the rest",
                    path.display()
                );
                Error::new(ErrorKind::CrossDevice, message).at(path)
            }
            _ => Error::io("swap", path, error),
        }
    }

    /// A folder that its path does not lead to any more: it was moved, with all that was swapped in it.
    pub(crate) fn moved_folder(&self) -> Result<Option<PathBuf>> {
        let mut folders: Vec<_> = self.parents.iter().collect();
        folders.sort_unstable_by_key(|(path, _)| *path);
        for (path, (identity, held)) in folders {
            // What came out of the swap of one that goes was looked at.
            if !self.leaving().folders.contains_key(path) && !self.leads_to_held(path, identity, held)? {
                return Ok(Some(self.workspace().root.path().join(path)));
            }
        }
        Ok(None)
    }

    /// Whether a path of the workspace still leads to a folder that is held, and had this identity when it was opened: an
    /// overlay gives it another one when something in it is changed for the first time.
    pub(crate) fn leads_to_held(&self, path: &Path, identity: &Identity, held: &Handle) -> Result<bool> {
        if self.leads_to(path, identity)? {
            return Ok(true);
        }
        let now = self.workspace().stat_handle(held)?;
        Ok(now.identity != *identity && self.leads_to(path, &now.identity)?)
    }

    /// Whether the path of an entry still leads into the folder that is held for it.
    fn has_its_place(&self, entry: usize) -> Result<bool> {
        let folder = self.record(entry).path.parent();
        let held = self.parents.get(folder);
        held.map_or(Ok(true), |(identity, held)| self.leads_to_held(folder, identity, held))
    }

    /// Whether a path of the workspace still leads to this folder.
    pub(crate) fn leads_to(&self, path: &Path, folder: &Identity) -> Result<bool> {
        let there = self.workspace().fs().open_beneath(&self.workspace().root, path);
        match there.and_then(|there| self.workspace().fs().stat_handle(&there)) {
            Ok(there) => Ok(there.identity == *folder),
            // Nothing stands there, or what is no folder.
            Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(false),
            Err(e) => Err(Error::io("look at", self.workspace().root.path().join(path), e)),
        }
    }

    fn slot_folder_is_empty(&self, entry: usize) -> Result<bool> {
        is_empty_folder(self.workspace(), &self.folder, Path::new(&slot_name(entry)))
    }

    /// Whether the slot holds verified new content, or nothing.
    pub(crate) fn slot_is_ours(&self, entry: usize) -> Result<bool> {
        let seen = self.see(Name::new(&self.folder, &slot_name(entry)))?;
        Ok(match seen {
            Seen::Missing => true,
            // A power cut can take the folder's swap and leave what somebody had put into it since.
            Seen::Folder(_) => {
                (self.workspace().protocol.is_new)(self.record(entry), seen) && self.slot_folder_is_empty(entry)?
            }
            _ => (self.workspace().protocol.is_new)(self.record(entry), seen),
        })
    }

    /// Whether what came back into the slot of an entry is what was staged for it.
    pub(crate) fn slot_came_back(&self, entry: usize) -> Result<bool> {
        if !self.uncertain || !matches!(self.record(entry).change, Change::Edit { .. }) {
            return self.slot_is_ours(entry);
        }
        // Its content cannot be compared: whatever it is stays, and is told.
        let seen = self.see(Name::new(&self.folder, &slot_name(entry)))?;
        Ok(self.record(entry).change.staged().is_some_and(|staged| is(seen, staged)))
    }

    /// The entries of these classes whose new content a power loss left incomplete, in a file that was never swapped.
    pub(crate) fn incomplete(&self, classes: &[Class]) -> Result<BTreeSet<usize>> {
        let torn = (0..classes.len()).filter(|entry| classes[*entry] == Class::Torn);
        let mut incomplete = BTreeSet::new();
        for entry in torn {
            if is_incomplete(self.workspace(), &self.folder, &self.journal, (entry, self.mark))? {
                incomplete.insert(entry);
            }
        }
        Ok(incomplete)
    }

    /// Whether what is in the slot may be deleted.
    fn slot_may_go(&self, entry: usize) -> Result<bool> {
        if self.slot_is_ours(entry)? {
            return Ok(true);
        }
        Ok(self.incomplete.contains(&entry)
            && is_incomplete(self.workspace(), &self.folder, &self.journal, (entry, self.mark))?)
    }

    /// Renames the journal: its name is its state.
    pub(crate) fn set_mark(&mut self, mark: Mark) -> Result<()> {
        let from = Name::new(&self.folder, self.mark.file_name());
        let to = Name::new(&self.folder, mark.file_name());
        self.workspace().rename(from, to, Rename::NoReplace)?;
        self.mark = mark;
        Ok(())
    }

    /// Whether the journal is where its state says.
    pub(crate) fn verify_mark(&self) -> Result<()> {
        let name = Name::new(&self.folder, self.mark.file_name());
        if self.workspace().stat(name)?.is_some() {
            return Ok(());
        }
        let message = format!("{} has another name than it was given", name.path().display());
        Err(Error::new(ErrorKind::RecoveryRequired, message).at(name.path()))
    }

    /// Writes the whole journal, sealed, under its hidden name.
    pub(crate) fn write_journal(&self) -> Result<Handle> {
        let name = Name::new(&self.folder, journal::HIDDEN_NAME);
        write_new_by(self.workspace(), name, |to| record::write(&self.journal, to))
    }

    /// Writes the journal again, as it has become.
    pub(crate) fn rewrite_journal(&self) -> Result<Handle> {
        // It may have been written before what failed.
        self.workspace().fs().unlink(Name::new(&self.folder, journal::HIDDEN_NAME)).ok();
        self.write_journal()
    }

    /// Writes a journal that a person vouched for in the place of the one that came from elsewhere.
    pub(crate) fn write_adopted(&self) -> Result<()> {
        self.rewrite_journal()?;
        self.sync_everything()?;
        self.exchange_journal()
    }

    /// Puts the journal that was written again, and whose bytes are durable, in the place of the first.
    pub(crate) fn replace_journal(&self) -> Result<()> {
        assert_eq!(self.mark, Mark::Contended, "only what is contended changes after its swaps");
        self.exchange_journal()
    }

    fn exchange_journal(&self) -> Result<()> {
        let written = Name::new(&self.folder, journal::HIDDEN_NAME);
        self.workspace().rename(written, Name::new(&self.folder, self.mark.file_name()), Rename::Exchange)?;
        self.workspace().unlink(written)
    }

    /// Makes the names in the transaction's folder durable.
    pub(crate) fn sync_folder(&self) -> Result<()> {
        let synced = self.workspace().sync(&self.folder);
        self.state.noting(synced)
    }

    /// A barrier: everything that a recovery rests on, and that a report tells of, is durable after it.
    pub(crate) fn sync_everything(&self) -> Result<()> {
        barrier::pass(self.state, &self.workspace().root, |each| {
            each.with_content(&self.folder)?;
            let mut folders: BTreeSet<&Path> = BTreeSet::new();
            for record in &self.journal.entries {
                folders.extend(record.path.parent().ancestors());
                if let Some((_, parent)) = self.parents.get(record.path.parent()) {
                    each.name(Name::new(parent, record.path.name()))?;
                }
            }
            for path in folders {
                match self.parents.get(path) {
                    Some((_, folder)) => each.handle(folder)?,
                    None => each.folder(&self.workspace().root, path)?,
                }
            }
            each.sections(self.state)
        })
    }

    /// Moves the transaction's folder to another section.
    pub(crate) fn move_to(&self, section: Section) -> Result<()> {
        self.state.move_transaction(&self.journal.header.id, Section::Transactions, section)
    }

    /// What the slots hold that is not txedit's to delete.
    pub(crate) fn foreign_slots(&self, conflicts: &HashMap<usize, &'static str>) -> Result<Vec<Kept>> {
        let kept_folder = self.state.folder.path().join(Section::Kept.name()).join(&self.journal.header.id);
        let aside = match self.mark {
            Mark::CheckUndo => asides(self.workspace(), &self.folder, &self.journal)?,
            _ => BTreeMap::new(),
        };
        let told = |aside: &Aside<'_>| Kept {
            path: self.workspace().root.path().join(aside.path),
            kept_path: kept_folder.join(&aside.name),
            reason: "the check, or another program, wrote it".to_owned(),
        };
        let mut kept = Vec::new();
        for entry in 0..self.journal.entries.len() {
            let ours = self.slot_may_go(entry)?;
            let before = kept.len();
            kept.extend(aside.get(&entry).into_iter().flatten().map(told));
            if ours && kept.len() > before {
                continue;
            }
            let reason = match conflicts.get(&entry) {
                Some(reason) => reason,
                None if ours => continue,
                None if self.uncertain => UNCERTAIN,
                None => "another program's content came out of the swap",
            };
            // What stays of a folder may have gone aside with the one that it is in.
            if let Some(folder) = self.record(entry).change.folder_after().filter(|_| ours)
                && !self.leads_to(self.record(entry).path.as_path(), folder)?
            {
                continue;
            }
            // What stays in a folder that was moved away is not where its path says.
            if ours && !self.has_its_place(entry)? {
                continue;
            }
            let kept_path = if ours { self.path(entry) } else { kept_folder.join(slot_name(entry)) };
            kept.push(Kept { path: self.path(entry), kept_path, reason: (*reason).to_owned() });
        }
        Ok(kept)
    }
}

/// What stands at a name, read to the end.
pub(crate) fn see(workspace: &Workspace, name: Name<'_>, cancel: &AtomicBool) -> Result<Seen> {
    let Some(stat) = workspace.stat(name)? else { return Ok(Seen::Missing) };
    match stat.kind {
        FileKind::Folder => Ok(Seen::Folder(stat.identity)),
        FileKind::Symlink | FileKind::Special => Ok(Seen::Other),
        FileKind::File => {
            let file = workspace.open_file(name)?;
            let digest = snapshot::digest(workspace, &file, stat.size, cancel)?;
            let attributes = workspace.attributes(&file)?.digest();
            let access = Access { user: stat.user, group: stat.group, attributes };
            Ok(Seen::File { digest, mode: stat.mode, access, identity: stat.identity })
        }
    }
}

/// Whether the slot of an entry holds what a power loss left of its new content, in a file that was never swapped.
pub(crate) fn is_incomplete(
    workspace: &Workspace,
    folder: &Handle,
    journal: &Journal,
    (entry, mark): (usize, Mark),
) -> Result<bool> {
    let slot = slot_name(entry);
    let slot = Name::new(folder, &slot);
    let seen = see(workspace, slot, &NEVER)?;
    if mark == Mark::Contended {
        // It was written anew after its journal, so that times tell nothing; but an empty file is nobody's work.
        let is_staged = journal.entries[entry].change.staged().is_some_and(|staged| is(seen, staged));
        return Ok(is_staged && matches!(seen, Seen::File { digest, .. } if digest == Digest::of(&[])));
    }
    let (Some(slot), Some(sealed)) = (workspace.stat(slot)?, workspace.stat(Name::new(folder, mark.file_name()))?)
    else {
        return Ok(false);
    };
    let host = workspace.host()?;
    // Not by when it was modified: a moved file keeps that time, which a clock that was set back puts in the future.
    let ages = Ages { same_boot: journal.header.boot == host.boot, touched: slot.changed, sealed: sealed.modified };
    Ok((workspace.protocol.is_incomplete)(&journal.entries[entry], seen, ages))
}

pub(crate) fn is_empty_folder(workspace: &Workspace, parent: &Handle, name: &Path) -> Result<bool> {
    let folder = workspace.open_beneath(parent, name)?;
    Ok(workspace.list(&folder)?.is_empty())
}

/// Opens and locks `txn/<id>`; `None` where it is not there, is not ours, or its owner is alive.
pub(crate) fn lock_folder(workspace: &Workspace, section: &Handle, id: &str) -> Result<Option<(Handle, Stat)>> {
    match open_transaction(workspace, section, id)? {
        Some(folder) => lock(workspace, section, id, folder),
        None => Ok(None),
    }
}

/// Locks the folder of a transaction that was just opened.
pub(crate) fn lock(
    workspace: &Workspace,
    section: &Handle,
    id: &str,
    folder: Handle,
) -> Result<Option<(Handle, Stat)>> {
    if !workspace.try_lock(&folder)? {
        return Ok(None);
    }
    // It may have been moved between the opening and the lock.
    let stat = workspace.stat_handle(&folder)?;
    let there = workspace.stat(Name::new(section, id))?;
    Ok(there.filter(|there| there.identity == stat.identity).map(|_| (folder, stat)))
}
