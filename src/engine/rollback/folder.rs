//! The folder of an entry, where a check moved it away, removed it, or put something else in its place.

use std::path::{Path, PathBuf};

use crate::engine::store::folder::TransactionFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Metadata, Name, Rename, Stat};
use crate::index::EntryIndex;
use crate::journal::{Record, kept_name, slot_name};

impl TransactionFolder<'_> {
    /// From here on the folder of the entry is what its path leads to, not what was opened there before the check. Where
    /// nothing is there it is made again, if an original is to go back into it.
    pub(crate) fn find_folder(&mut self, entry: EntryIndex) -> Result<()> {
        let path = self.record(entry).path.parent().to_owned();
        // One that is missing in the moment of a rename is there a moment later: only what is missing twice is gone.
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
                return Ok(());
            }
            // Whoever owns the workspace may have put another's folder there: what was opened before stays the one.
            (Some(there), Some(_)) if !self.is_of_the_workspace(&there)? => return Ok(()),
            (Some(there), _) => Some(there),
            // A power cut took its name, and not those in it.
            (None, Some((stat, _))) if self.is_in_its_slot(&path, stat)? => return Ok(()),
            (None, _) if self.has_original(entry)? => self.make_folder_again(entry, &path, before.as_ref())?,
            (None, _) => None,
        };
        let Some(folder) = folder else {
            self.parents.remove(&path);
            return Ok(());
        };
        if !self.is_of_the_workspace(&folder)? {
            self.strange.insert(path.clone());
        }
        self.sync_way(&path)?;
        self.parents.insert(path, (self.look_at(&folder)?.identity, folder));
        Ok(())
    }

    /// True if a folder that is known by its name alone is one of the workspace's.
    fn is_of_the_workspace(&self, folder: &Handle) -> Result<bool> {
        let [folder, root] = [self.look_at(folder)?, self.look_at(&self.workspace().root)?];
        Ok((self.workspace().protocol.is_of_owner)(folder.user, root.user))
    }

    /// True if a folder that the transaction made stands in its slot.
    fn is_in_its_slot(&self, path: &Path, folder: &Stat) -> Result<bool> {
        let is_it =
            |record: &Record| record.path.as_path() == path && record.change.folder_after() == Some(&folder.identity);
        let Some(entry) = self.journal.entries.position(is_it) else { return Ok(false) };
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let stat = self.workspace().stat(slot)?;
        Ok(stat.is_some_and(|stat| stat.identity == folder.identity))
    }

    /// Makes the way to a folder durable: what goes into one whose name a power cut takes is lost.
    fn sync_way(&self, path: &Path) -> Result<()> {
        for at in path.ancestors() {
            let Some(folder) = self.open_there(at)? else { continue };
            let synced = self.workspace().sync(&folder);
            self.state.noting(synced)?;
        }
        Ok(())
    }

    fn has_original(&self, entry: EntryIndex) -> Result<bool> {
        let Some(original) = self.record(entry).change.original() else { return Ok(false) };
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let stat = self.workspace().stat(slot)?;
        Ok(stat.is_some_and(|stat| stat.identity == *original))
    }

    fn look_at(&self, folder: &Handle) -> Result<Stat> {
        self.workspace().stat_handle(folder)
    }

    /// Makes a folder again, and what is missing above it. It is as it was, as far as that is known; else as its parent
    /// makes new ones. `None` where it would be made in another's folder.
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
            // No folder, or it would have been opened: what the check put there is kept.
            let target = self.record(entry).path.as_path().ancestors();
            let kept = kept_name(entry, target.take_while(|above| *above != at).count());
            workspace.rename(name, Name::new(&self.folder, &kept), Rename::NoReplace)?;
        }
        let dress = match before {
            Some((stat, folder)) => Metadata {
                mode: stat.mode,
                user: stat.user,
                group: stat.group,
                attributes: workspace.attributes(folder)?,
                modified: None,
            },
            None => workspace.inherited(parent, true)?,
        };
        // A power cut may take what is given later, owner and attributes, but not this.
        workspace.make_folder(name, dress.mode)?;
        let made = workspace.open_beneath(parent, name.name)?;
        // Nobody else begins in it before this is through. Whoever was quicker is no worse than one without locks.
        workspace.try_lock(&made)?;
        let stat = self.look_at(&made)?;
        let attributes = workspace.attributes(&made)?;
        let now = Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None };
        workspace.set_flags(&made, dress.attributes.flags)?;
        workspace.set_metadata(&made, &now, &dress)?;
        Ok(made)
    }

    fn unreachable(&self, path: &Path) -> Error {
        let message = format!("the root of {} is gone", path.display());
        Error::new(ErrorKind::ConcurrentModification, message).at(self.workspace().root.path())
    }
}
