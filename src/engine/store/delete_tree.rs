//! Deletes what is in folders: the plain names in one of a transaction; and folders of other programs with everything in them,
//! only at a person's request.

use super::workspace::Workspace;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::fs::{FileKind, Handle, Name};
use crate::journal::JournalState;
use crate::limits;

/// Unlinks every name in a folder of a transaction, as far as that can be done: files, and folders that are empty, since one that
/// is not is no longer txedit's. The journal goes last.
pub(crate) fn names_in(workspace: &Workspace, folder: &Handle) {
    let mut names = workspace.fs().list(folder).unwrap_or_default();
    names.sort_by_key(|name| name.to_string_lossy().starts_with(JournalState::Sealed.file_name()));
    for name in &names {
        let name = Name::new(folder, name);
        match workspace.fs().stat(name) {
            Ok(Some(stat)) if stat.kind == FileKind::Folder => drop(workspace.fs().remove_folder(name)),
            _ => drop(workspace.fs().unlink(name)),
        }
    }
}

/// Deletes each folder in `folder` with its content. Each tree is walked first: one that is too deep, or holds the root
/// of another mount, is refused before anything in it is deleted. On any other failure the rest is still there.
pub(crate) fn folders_in(workspace: &Workspace, folder: &Handle) -> Result<()> {
    let mount = workspace.stat_handle(folder)?.mount;
    let tree = TreeDeletion { workspace, mount };
    let mut folders = Vec::new();
    for name in workspace.list(folder)? {
        if tree.kind(Name::new(folder, &name))? == Some(FileKind::Folder) {
            folders.push(name);
        }
    }
    let levels = limits::RAZED_LEVELS;
    folders.iter().try_for_each(|name| tree.survey(Name::new(folder, name), levels))?;
    let deleted = folders.iter().try_for_each(|name| tree.delete(Name::new(folder, name), levels));
    let told = |message: &str| format!("part of it is deleted, and the rest is still kept: {message}");
    deleted.map_err(|error| error.reworded(told).detail(Detail::PartlyDone))
}

/// A tree that is being deleted.
struct TreeDeletion<'a> {
    workspace: &'a Workspace,
    /// The mount that it is on.
    mount: u64,
}

impl TreeDeletion<'_> {
    fn kind(&self, name: Name<'_>) -> Result<Option<FileKind>> {
        let stat = self.workspace.stat(name)?;
        Ok(stat.map(|stat| stat.kind))
    }

    /// Opens a folder of the tree. Each level is held open, and no symlink is followed: nothing outside the tree can be
    /// reached.
    fn open(&self, name: Name<'_>) -> Result<Handle> {
        let folder = self.workspace.open_beneath(name.folder, name.name)?;
        let stat = self.workspace.stat_handle(&folder)?;
        if stat.mount_root || stat.mount != self.mount {
            return Err(stays(name, ErrorKind::MountPoint, "is the root of another mount"));
        }
        Ok(folder)
    }

    /// Refuses what cannot be deleted.
    fn survey(&self, name: Name<'_>, levels: usize) -> Result<()> {
        let folder = self.open(name)?;
        for inner in self.workspace.list(&folder)? {
            let inner = Name::new(&folder, &inner);
            if self.kind(inner)? == Some(FileKind::Folder) {
                self.survey(inner, deeper(inner, levels)?)?;
            }
        }
        Ok(())
    }

    fn delete(&self, name: Name<'_>, levels: usize) -> Result<()> {
        let folder = self.open(name)?;
        for inner in self.workspace.list(&folder)? {
            let inner = Name::new(&folder, &inner);
            match self.kind(inner)? {
                None => {}
                Some(FileKind::Folder) => self.delete(inner, deeper(inner, levels)?)?,
                Some(_) => self.workspace.unlink(inner)?,
            }
        }
        self.workspace.remove_folder(name)
    }
}

fn deeper(name: Name<'_>, levels: usize) -> Result<usize> {
    levels.checked_sub(1).ok_or_else(|| stays(name, ErrorKind::WriteFailed, "is nested too deeply"))
}

fn stays(name: Name<'_>, kind: ErrorKind, why: &str) -> Error {
    let message = format!("{} {why}: delete it by hand, and drop again", name.path().display());
    Error::new(kind, message).at(name.path())
}
