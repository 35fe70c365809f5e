//! Looks at what stands in the way of a swap, and at what it brought out.

use std::io;
use std::path::Path;

use super::Walk;
use crate::engine::lock::NEVER;
use crate::engine::snapshot;
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::{Name, Stat};
use crate::journal::{Change, slot_name};

impl Walk<'_> {
    /// Whether the target, and its folder, are still what was read.
    pub(super) fn recheck(&self, entry: usize) -> Result<()> {
        let transaction = self.transaction();
        let record = transaction.record(entry);
        let changed = |how| self.name_edit(snapshot::changed(&transaction.path(entry), how), entry);
        let io = |e| Error::io("look at", transaction.path(entry), e);
        // Mostly those of one folder follow each other: one look at it is enough for them.
        let folder = record.path.parent();
        let is_another = entry == 0 || transaction.record(entry - 1).path.parent() != folder;
        if let Some((stat, _)) = self.draft.parents.get(folder).filter(|_| is_another)
            && !self.is_there(folder, stat).map_err(io)?
        {
            return Err(changed("is in a folder that was moved"));
        }
        let parent = transaction.parent(entry)?;
        let stat = transaction.fs.stat(Name::new(parent, record.path.name())).map_err(io)?;
        match (&self.draft.targets[entry], stat) {
            (None, None) => Ok(()),
            (Some(snapshot), Some(stat)) if snapshot.is_same(&stat, false) => Ok(()),
            (None, Some(_)) => Err(changed("was made meanwhile")),
            (Some(_), None) => Err(changed("was removed meanwhile")),
            (Some(_), Some(_)) => Err(changed("changed since it was read")),
        }
    }

    /// Whether a path of the workspace still leads to this folder.
    fn is_there(&self, path: &Path, folder: &Stat) -> io::Result<bool> {
        let transaction = self.transaction();
        let there = transaction.fs.open_beneath(&transaction.state.root, path);
        match there.and_then(|there| transaction.fs.stat_handle(&there)) {
            Ok(there) => Ok(there.identity == folder.identity),
            // Nothing stands there, or what is no folder.
            Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether the slot holds what was read of the target.
    pub(in crate::engine) fn holds_original(&self, entry: usize) -> Result<bool> {
        let Some(snapshot) = &self.draft.targets[entry] else { return Ok(true) };
        let transaction = self.transaction();
        let slot = slot_name(entry);
        let slot = Name::new(&transaction.folder, &slot);
        let path = || transaction.path(entry);
        match &transaction.fs.stat(slot).map_err(|e| Error::io("look at", path(), e))? {
            Some(stat)
                if snapshot.is_same(stat, true)
                    && !(transaction.state.protocol.is_young)(snapshot.stat.modified, self.read_at) =>
            {
                Ok(true)
            }
            Some(stat) if snapshot.is_alike(stat) => {
                let file = transaction.fs.open_file(slot).map_err(|e| Error::io("open", path(), e))?;
                Ok(snapshot::digest(transaction.fs, &file, &path(), stat.size, &NEVER)? == snapshot.digest)
            }
            _ => Ok(false),
        }
    }

    /// Looks at what a swap brought out. The file that came out is what was there: no check before it could tell.
    pub(super) fn look(&self, entry: usize) -> Result<()> {
        if self.holds_original(entry)? {
            return Ok(());
        }
        let transaction = self.transaction();
        let path = transaction.path(entry);
        // At once, before anybody misses it. What returns to the slot is looked at by the undo that follows.
        transaction.swap_back(entry)?;
        if matches!(transaction.record(entry).change, Change::Edit { .. }) && !transaction.slot_is_ours(entry)? {
            transaction.swap(entry)?;
        }
        Err(snapshot::changed(&path, "was written in the moment of the swap"))
    }
}
