//! Puts the new contents of a plan into a view, where a check sees them in their places. Nobody else does: the order in
//! which it is done does not matter, and nothing is synced.

use super::content::Filling;
use super::metadata::current;
use crate::cancel::CancelToken;
use crate::engine::store::files::write_all;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::snapshot;
use crate::engine::store::workspace::Workspace;
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::error::{Error, Result};
use crate::fs::{Handle, Metadata, Name};
use crate::identity::Timestamp;
use crate::path::RelPath;
use crate::plan::{Entry, New, NewContent, PlannedChange};
use crate::text::splice::Splices;

/// A view that is being filled. It is a workspace of its own: the same folder, at another mount.
pub(crate) struct ViewFilling<'a> {
    pub view: &'a Workspace,
    pub prepared: &'a Prepared,
    pub cancel: &'a CancelToken,
}

impl ViewFilling<'_> {
    /// Puts all of it there.
    pub(crate) fn fill(&self) -> Result<()> {
        let entries = || self.prepared.plan.entries.iter();
        // What goes makes room for what comes: a file where a folder was, and the other way round. Files go before their
        // folders, and folders before those that they are in.
        entries().try_for_each(|entry| self.clear_file(entry))?;
        let mut folders: Vec<&RelPath> = entries().filter(|entry| goes(entry)).map(|entry| &entry.path).collect();
        folders.sort_unstable_by(|one, other| other.cmp(one));
        for path in folders {
            self.view.remove_folder(Name::new(&self.folder_of(path)?, path.name()))?;
        }
        for entry in entries() {
            if let PlannedChange::Folder | PlannedChange::FileToFolder(_) = entry.change {
                self.make_folder(&entry.path)?;
            }
        }
        let read_at = snapshot::earlier(self.view.now(), self.prepared.read_at.elapsed());
        for entry in entries() {
            check_cancelled(self.cancel)?;
            if let PlannedChange::Edit(_, new) | PlannedChange::Create(new) | PlannedChange::FolderToFile(new) =
                &entry.change
            {
                self.make_file(&entry.path, new, read_at)?;
            }
        }
        Ok(())
    }

    fn folder_of(&self, path: &RelPath) -> Result<Handle> {
        self.view.open_beneath(&self.view.root, path.parent())
    }

    /// Removes the file at the target of an entry, if there is one.
    fn clear_file(&self, entry: &Entry) -> Result<()> {
        match entry.change {
            PlannedChange::Edit(..) | PlannedChange::Delete(_) | PlannedChange::FileToFolder(_) => {
                self.view.unlink(Name::new(&self.folder_of(&entry.path)?, entry.path.name()))
            }
            _ => Ok(()),
        }
    }

    fn make_folder(&self, path: &RelPath) -> Result<()> {
        let parent = self.folder_of(path)?;
        let given = self.prepared.folder_metadata.get(path).map(|metadata| metadata.mode);
        let mode = match self.prepared.folder_modes.get(path).copied().or(given) {
            Some(mode) => mode,
            None => self.view.inherited(&parent, true)?.mode,
        };
        self.view.make_folder(Name::new(&parent, path.name()), mode)
    }

    fn make_file(&self, path: &RelPath, new: &New, read_at: Timestamp) -> Result<()> {
        let folder = self.folder_of(path)?;
        let name = Name::new(&folder, path.name());
        if new.state.is_link() {
            return self.make_link(name, new);
        }
        let (file, guard, stat) = self.view.create(name, new.state.mode & 0o777)?;
        let (source, splices) = match &new.content {
            NewContent::Bytes(bytes) => (Err(bytes), &Splices::none()),
            NewContent::Spliced(source, splices) => (Ok(source), splices),
            NewContent::Held(source) => (Ok(source), &Splices::none()),
        };
        match source {
            Err(bytes) => write_all(self.view, &file, 0, bytes)?,
            Ok(source) => {
                let (source, digest) = (&self.prepared.sources[*source], new.state.digest);
                let (workspace, slot, cancel) = (self.view, &file, self.cancel);
                Filling { workspace, slot, source, splices, digest, read_at, cancel }.fill()?;
            }
        }
        self.set_metadata(&file, &current(&stat, self.view.attributes(&file)?), new)?;
        guard.disarm();
        Ok(())
    }

    fn make_link(&self, name: Name<'_>, new: &New) -> Result<()> {
        let target = match &new.content {
            NewContent::Bytes(bytes) => bytes.clone(),
            NewContent::Spliced(source, _) | NewContent::Held(source) => {
                self.view.read_link(self.prepared.sources[*source].name())?
            }
        };
        let (guard, _) = self.view.fs().symlink(name, &target).map_err(|e| Error::io("make", name.path(), e))?;
        guard.disarm();
        Ok(())
    }

    /// Gives a file the metadata that it will have. In the name spaces of a user nobody can give it to another user or
    /// group, as at the commit; then it gets the mode alone.
    fn set_metadata(&self, file: &Handle, now: &Metadata, new: &New) -> Result<()> {
        let mode = new.state.mode;
        let source = new.metadata_of.map(|source| &self.prepared.sources[source].snapshot);
        let modified = source.filter(|_| new.keeps_time).map(|source| source.stat.modified);
        let alone = Metadata { mode, modified, ..now.clone() };
        if let Some(source) = source {
            let (user, group, attributes) = (source.stat.user, source.stat.group, source.attributes());
            let wanted = Metadata { user, group, attributes, ..alone.clone() };
            if self.view.set_metadata(file, now, &wanted).is_ok() {
                return Ok(());
            }
        }
        self.view.set_metadata(file, now, &alone)
    }
}

/// Returns whether there is a folder at the target of an entry that goes.
const fn goes(entry: &Entry) -> bool {
    matches!(entry.change, PlannedChange::FolderToFile(_) | PlannedChange::RemoveFolder)
}
