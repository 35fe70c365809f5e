//! Verifies the targets before a swap, and what a swap brought out.

use super::CommitWalk;
use crate::cancel::NEVER;
use crate::digest::Digest;
use crate::engine::store::snapshot;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Name, Stat};
use crate::index::EntryIndex;

impl CommitWalk<'_> {
    /// Verifies that the target and its folder are still what was read.
    pub(super) fn verify_target(&self, entry: EntryIndex) -> Result<()> {
        let transaction = self.transaction();
        let record = transaction.record(entry);
        let changed = |how| self.name_edit(snapshot::changed(&transaction.path(entry), how), entry);
        let io = |e| Error::io("look at", transaction.path(entry), e);
        // Most entries are in the same folder as the one before, which then needs no second check.
        let folder = record.path.parent();
        let is_another = entry.before().is_none_or(|last| transaction.record(last).path.parent() != folder);
        if let Some((stat, held)) = self.prepared.parents.get(folder).filter(|_| is_another)
            && !transaction.leads_to_held(folder, &stat.identity, held)?
        {
            return Err(changed("is in a folder that was moved"));
        }
        let parent = transaction.parent(entry)?;
        if record.change.folder_before().is_some() {
            let is_clear = transaction.is_clear(entry, Name::new(parent, record.path.name()))?;
            return if is_clear { Ok(()) } else { Err(changed("was exchanged, or something was put into it")) };
        }
        let stat = transaction.workspace().fs().stat(Name::new(parent, record.path.name())).map_err(io)?;
        match (&self.prepared.targets[entry], stat) {
            (None, None) => Ok(()),
            (Some(snapshot), Some(stat)) if snapshot.is_same(&stat, false) => Ok(()),
            (None, Some(_)) => Err(changed("was made meanwhile")),
            (Some(_), None) => Err(changed("was removed meanwhile")),
            (Some(_), Some(_)) => Err(changed("changed since it was read")),
        }
    }

    /// Returns whether the slot holds what was read of the target.
    pub(crate) fn holds_original(&self, entry: EntryIndex) -> Result<bool> {
        let transaction = self.transaction();
        if transaction.record(entry).change.overwrites() {
            // It was verified under the lease; the slot has a copy, which nobody else has seen.
            return transaction.has_overwritten(entry);
        }
        let slot = transaction.name_brought_out(entry);
        let slot = Name::new(transaction.slots_of(entry), &slot);
        if transaction.record(entry).change.folder_before().is_some() {
            return transaction.is_clear(entry, slot);
        }
        let Some(snapshot) = &self.prepared.targets[entry] else { return Ok(true) };
        let path = || transaction.path(entry);
        let stat = transaction.workspace().fs().stat(slot).map_err(|e| Error::io("look at", path(), e))?;
        let Some(stat) = stat.filter(|stat| snapshot.is_alike(stat)) else { return Ok(false) };
        if snapshot.is_link() {
            return self.holds_link(entry, &snapshot.digest, &stat);
        }
        let is_same = snapshot.is_same(&stat, true);
        let file = match &snapshot.file {
            Some(file) if is_same => file.clone(),
            _ => transaction.workspace().fs().open_file(slot).map_err(|e| Error::io("open", path(), e))?,
        };
        let attributes = transaction.workspace().fs().attributes(&file);
        if !snapshot.has_attributes(&attributes.map_err(|e| Error::io("read the attributes of", path(), e))?) {
            return Ok(false);
        }
        let is_told_by_time = transaction.workspace().protocol.is_told_by_time;
        // The rename has changed the change time, the only one that no program can set back.
        if is_same && is_told_by_time(stat.size, snapshot.stat.modified, self.read_at) {
            return Ok(true);
        }
        Ok(snapshot::digest(transaction.workspace(), &file, stat.size, &NEVER)? == snapshot.digest)
    }

    /// Returns whether the symlink in a slot has the target that was read.
    fn holds_link(&self, entry: EntryIndex, read: &Digest, stat: &Stat) -> Result<bool> {
        let transaction = self.transaction();
        let slot = transaction.name_brought_out(entry);
        let slot = Name::new(transaction.slots_of(entry), &slot);
        let found = Digest::of(&snapshot::target_of(transaction.workspace(), slot, stat)?);
        Ok((transaction.workspace().protocol.is_same_target)(read, &found))
    }

    /// Verifies that the root, and every folder in which names were swapped, is where its path leads.
    pub(super) fn verify_folders(&self) -> Result<()> {
        let transaction = self.transaction();
        transaction.workspace().check_root()?;
        let Some(folder) = transaction.moved_folder()? else { return Ok(()) };
        if self.prepared.gate.is_none() {
            return Err(snapshot::changed(&folder, "was moved while files in it were swapped"));
        }
        let message = format!(
            "{} was moved or removed by the check, or by another program, with what the transaction has put there",
            folder.display()
        );
        Err(Error::new(ErrorKind::ConcurrentModification, message).at(folder))
    }

    /// Verifies that a swap brought out the file that was read. Its content is verified later.
    pub(super) fn verify_swap_by_stat(&mut self, entry: EntryIndex) -> Result<()> {
        let slot = self.transaction().name_brought_out(entry);
        let stat = self.transaction().workspace().stat(Name::new(self.transaction().slots_of(entry), &slot))?;
        if let (Some(read), Some(stat)) = (&self.prepared.targets[entry], stat)
            && read.is_same(&stat, true)
        {
            return Ok(());
        }
        self.verify_swap(entry)
    }

    /// Verifies what a swap brought out. Only then is it known: a file could still change after any earlier check.
    pub(super) fn verify_swap(&mut self, entry: EntryIndex) -> Result<()> {
        if self.holds_original(entry)? {
            return Ok(());
        }
        let transaction = self.staging.transaction_mut();
        if !transaction.record(entry).change.overwrites() {
            transaction.reverse_at_once(entry)?;
        }
        Err(snapshot::changed(&transaction.path(entry), "was written in the moment of the swap"))
    }
}
