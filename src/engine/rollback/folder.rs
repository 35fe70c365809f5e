//! Finds the folder of an entry again after a check, which may have moved it away, removed it, or put something else in
//! its place.

use std::path::{Path, PathBuf};

use crate::engine::store::folder::{TransactionFolder, name_of_original};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Metadata, Name, Stat};
use crate::index::EntryIndex;
use crate::journal::{Record, kept_name, out_name, slot_name};

impl TransactionFolder<'_> {
    /// Makes the folder that the entry's path leads to now the folder of the entry, instead of the one that was opened
    /// before the check. A missing folder is made again if an original is to go back into it. Returns the new files that
    /// went away with the folder that was opened: they stay where they are.
    pub(crate) fn find_folder(&mut self, entry: EntryIndex) -> Result<Vec<PathBuf>> {
        let path = self.record(entry).path.parent().to_owned();
        // A folder may be missing during a rename and be there a moment later: only one that is missing twice is gone.
        let there = match self.open_there(&path)? {
            Some(there) => Some(there),
            None => self.open_there(&path)?,
        };
        let before = match self.parents.get(&path) {
            Some((_, held)) => Some((self.look_at(held)?, held.clone())),
            None => None,
        };
        let folder = match (there, &before) {
            (Some(there), Some((stat, _))) if self.look_at(&there)?.identity == stat.identity => {
                if self.is_recovery && !self.is_of_the_workspace(&there)? {
                    self.strange.insert(path);
                }
                return Ok(Vec::new());
            }
            // The owner of the workspace may have put another user's folder there: the one that was opened before
            // stays.
            (Some(there), Some(_)) if !self.is_of_the_workspace(&there)? => return Ok(Vec::new()),
            (Some(there), _) => Some(there),
            // A power loss took the folder's name, but not the names in it.
            (None, Some((stat, _))) if self.is_in_its_slot(&path, stat)? => return Ok(Vec::new()),
            (None, _) if self.has_original(entry)? => self.make_folder_again(entry, &path, before.as_ref())?,
            (None, _) => None,
        };
        let gone = before.map_or_else(Vec::new, |(_, held)| self.new_files_in(&path, &held));
        let Some(folder) = folder else {
            self.parents.remove(&path);
            return Ok(gone);
        };
        if !self.is_of_the_workspace(&folder)? {
            self.strange.insert(path.clone());
        }
        self.sync_way(&path)?;
        self.parents.insert(path, (self.look_at(&folder)?.identity, folder));
        Ok(gone)
    }

    /// The new files of entries in the folder `path` that are in `held`, which was that folder, where it is by now. What
    /// cannot be told is left out: the rollback does not depend on it.
    fn new_files_in(&self, path: &Path, held: &Handle) -> Vec<PathBuf> {
        let Ok(place) = self.workspace().fs().canonical(&self.workspace().fs().path_to(held)) else {
            return Vec::new();
        };
        let is_there = |record: &&Record| {
            let there = self.workspace().stat(Name::new(held, record.path.name())).ok().flatten();
            let staged = record.change.staged();
            record.path.parent() == path && there.is_some_and(|there| staged == Some(&there.identity))
        };
        self.journal.entries.iter().filter(is_there).map(|record| place.join(record.path.name())).collect()
    }

    /// Opens the folder of an entry if it was missing and is there again: it was in a slot, or had come out of its name, until
    /// the entry of the folder itself was rolled back.
    pub(crate) fn open_again(&mut self, entry: EntryIndex) -> Result<()> {
        let path = self.record(entry).path.parent();
        if self.parents.contains_key(path) {
            return Ok(());
        }
        let path = path.to_owned();
        let Some(folder) = self.open_there(&path)? else { return Ok(()) };
        if self.is_of_the_workspace(&folder)? {
            self.workspace().try_lock(&folder)?;
            self.parents.insert(path, (self.look_at(&folder)?.identity, folder));
        }
        Ok(())
    }

    /// Returns whether a folder that is known by name alone has the owner of the workspace.
    fn is_of_the_workspace(&self, folder: &Handle) -> Result<bool> {
        let [folder, root] = [self.look_at(folder)?, self.look_at(&self.workspace().root)?];
        Ok((self.workspace().protocol.is_of_owner)(folder.user, root.user))
    }

    /// Returns whether a folder that the transaction made is in its slot.
    fn is_in_its_slot(&self, path: &Path, folder: &Stat) -> Result<bool> {
        let is_it =
            |record: &Record| record.path.as_path() == path && record.change.folder_after() == Some(&folder.identity);
        let Some(entry) = self.journal.entries.position(is_it) else { return Ok(false) };
        for name in [slot_name(entry), out_name(entry)] {
            let stat = self.workspace().stat(Name::new(self.slots_of(entry), &name))?;
            if stat.is_some_and(|stat| stat.identity == folder.identity) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the path to a folder durable: if a power loss took a folder's name, its contents would be lost.
    fn sync_way(&self, path: &Path) -> Result<()> {
        for at in path.ancestors() {
            let Some(folder) = self.open_there(at)? else { continue };
            let synced = self.workspace().sync(&folder);
            self.state.noting(synced)?;
        }
        Ok(())
    }

    /// Returns whether the slot holds what the swap brought out: not by its identity, since an overlay gives the original
    /// another one when the swap copies it up.
    fn has_original(&self, entry: EntryIndex) -> Result<bool> {
        let change = &self.record(entry).change;
        if change.original().is_none() {
            return Ok(false);
        }
        let slot = name_of_original(self.workspace(), self.slots_of(entry), &self.journal, entry)?;
        let slot = Name::new(self.slots_of(entry), &slot);
        let stat = self.workspace().stat(slot)?;
        Ok(stat.is_some_and(|stat| change.staged().is_none_or(|staged| stat.identity != *staged)))
    }

    fn look_at(&self, folder: &Handle) -> Result<Stat> {
        self.workspace().stat_handle(folder)
    }

    /// Makes a folder again, with what is missing above it: as it was, if that is known, else as its parent makes new
    /// ones. `None` if it would be made in another owner's folder.
    fn make_folder_again(
        &mut self,
        entry: EntryIndex,
        path: &Path,
        before: Option<&(Stat, Handle)>,
    ) -> Result<Option<Handle>> {
        let mut at = PathBuf::new();
        let mut folder = self.open_there(&at)?.ok_or_else(|| self.unreachable(path))?;
        for name in path {
            at.push(name);
            let next = match self.open_there(&at)? {
                Some(next) => next,
                None if !self.is_of_the_workspace(&folder)? => {
                    self.strange.insert(path.to_owned());
                    return Ok(None);
                }
                None => self.make_one_again(entry, &at, &folder, before.filter(|_| at == path))?,
            };
            let identity = self.look_at(&folder)?.identity;
            self.parents.entry(at.parent().unwrap_or(Path::new("")).to_owned()).or_insert((identity, folder));
            folder = next;
        }
        Ok(Some(folder))
    }

    fn open_there(&self, path: &Path) -> Result<Option<Handle>> {
        self.workspace().find_folder(&self.workspace().root, path)
    }

    fn make_one_again(
        &self,
        entry: EntryIndex,
        at: &Path,
        parent: &Handle,
        before: Option<&(Stat, Handle)>,
    ) -> Result<Handle> {
        let name = Name::new(parent, at.file_name().unwrap_or_default());
        let workspace = self.workspace();
        if workspace.stat(name)?.is_some() {
            // Not a folder, or it would have been opened: what the check put there is kept.
            let target = self.record(entry).path.as_path().ancestors();
            let kept = kept_name(entry, target.take_while(|above| *above != at).count());
            let moved = workspace.move_own(name, Name::new(self.slots_of(entry), &kept));
            moved.map_err(|e| Error::io("set aside", name.path(), e))?;
        }
        let metadata = match before {
            Some((stat, folder)) => Metadata {
                mode: stat.mode,
                user: stat.user,
                group: stat.group,
                attributes: workspace.attributes(folder)?,
                modified: None,
            },
            None => workspace.inherited(parent, true)?,
        };
        // The mode is given at once: a power loss may take what is set later.
        workspace.make_folder(name, metadata.mode)?;
        let made = workspace.open_beneath(parent, name.name)?;
        // Keeps other processes out until this is complete. One that was faster is no worse than one that takes no
        // locks.
        workspace.try_lock(&made)?;
        let stat = self.look_at(&made)?;
        let attributes = workspace.attributes(&made)?;
        let now = Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None };
        workspace.set_flags(&made, metadata.attributes.flags)?;
        workspace.set_metadata(&made, &now, &metadata)?;
        Ok(made)
    }

    fn unreachable(&self, path: &Path) -> Error {
        let message = format!("the root of {} is gone", path.display());
        Error::new(ErrorKind::ConcurrentModification, message).at(self.workspace().root.path())
    }
}
