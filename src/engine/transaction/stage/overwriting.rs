//! Stages what a file is overwritten with, and the copy of it as it is.

use super::Staging;
use crate::cancel::CancelToken;
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::error::Result;
use crate::fs::Stat;
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::{new_name, slot_name};
use crate::plan::{FileState, New};

impl Staging<'_> {
    /// Puts a copy of the target of an entry into its slot, and stages what it is overwritten with beside it: a full disk is found
    /// before anything is overwritten. Returns the inode of the copy, and what the target becomes.
    pub(super) fn stage_overwriting(
        &mut self,
        entry: EntryIndex,
        new: &New,
        prepared: &Prepared,
        cancel: &CancelToken,
    ) -> Result<(Identity, FileState)> {
        let planned = &prepared.plan.entries[entry];
        let Some(target) = &prepared.targets[entry] else { unreachable!("what is overwritten was read") };
        let staged = self.stage_one(entry, &new_name(entry), new, prepared, cancel)?;
        staged.guard.disarm();
        self.copies.push((entry, self.transaction.slots.of(&planned.path).clone()));
        self.files.extend(staged.file);
        let copy = self.stage_copy(&slot_name(entry), planned, target, prepared, cancel)?;
        copy.guard.disarm();
        self.files.extend(copy.file);
        // It keeps its owner and attributes; a new mode changes its ACL, as it did with what was staged.
        let now = target.state();
        let access = if now.mode == new.state.mode { now.access } else { Some(staged.access) };
        Ok((copy.identity, FileState { access, ..new.state }))
    }

    /// The identities to record of the copy and of the file that is overwritten. Where nothing else is possible no number
    /// lasts, but for that of a file that another file system has.
    pub(super) fn overwritten(&self, copy: Identity, original: &Stat) -> (Identity, Identity) {
        if !self.transaction.state.only_overwrites {
            return (copy, original.identity);
        }
        let number = original.identity;
        (copy.without_number(), if original.mount_root { number } else { number.without_number() })
    }
}
