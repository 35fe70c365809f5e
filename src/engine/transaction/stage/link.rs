//! Stages symlinks.

use super::Staging;
use super::file::StagedFile;
use crate::digest::Digest;
use crate::engine::store::snapshot;
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::error::{Error, Result};
use crate::fs::{Metadata, Name};
use crate::index::EntryIndex;
use crate::journal::slot_name;
use crate::plan::{Access, Entry, New, NewContent};

impl Staging<'_> {
    /// Makes the symlink of an entry in its slot.
    ///
    /// It cannot be opened, and so not be synced by itself: the first barrier covers it by the sync of the transaction's
    /// folder, behind which the new inode is as durable as its name. Its target is part of the inode, and never changes:
    /// what a power loss leaves is the whole symlink or none.
    pub(super) fn stage_link(
        &self,
        entry: EntryIndex,
        planned: &Entry,
        new: &New,
        metadata: &Metadata,
        prepared: &Prepared,
    ) -> Result<StagedFile> {
        let workspace = self.transaction.workspace();
        let target = match &new.content {
            NewContent::Bytes(bytes) => bytes.clone(),
            NewContent::Spliced(source, _) | NewContent::Held(source) => {
                workspace.read_link(prepared.sources[*source].name())?
            }
        };
        let path = planned.path.as_path();
        if Digest::of(&target) != new.state.digest {
            return Err(snapshot::changed(path, "changed since it was read"));
        }
        let slot = slot_name(entry);
        let slot = Name::new(self.transaction.slots.of(&planned.path), &slot);
        let io = |verb: &'static str| move |e| Error::io(verb, workspace.root.path().join(path), e);
        let (guard, stat) = workspace.fs().symlink(slot, &target).map_err(io("stage"))?;
        workspace.fs().set_link_metadata(slot, &stat, metadata).map_err(io("set the owner of staged"))?;
        let access = Access { user: metadata.user, group: metadata.group, attributes: None };
        Ok(StagedFile { file: None, guard, identity: stat.identity, access, handed_on: None })
    }
}
