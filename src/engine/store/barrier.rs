//! Barriers: everything written before one is durable after it.
//!
//! One call does it where that call reaches the medium. Where it does not (a FUSE server is not told of it), each file
//! and folder that the promise depends on is synced by itself, however many there are. Each is opened for its sync and
//! closed again: thousands of open files would be too many. An earlier write error that was never reported is reported
//! to whoever opens the file next.

use std::path::Path;

use super::parts::PARTS;
use super::state::{Section, StateFolder};
use super::workspace::Workspace;
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::{FileKind, Handle, Name};

/// Makes everything on the file system of `folder` durable; where one call cannot do that, syncs what `each` names.
pub(crate) fn pass(state: &StateFolder, folder: &Handle, each: impl FnOnce(OneByOne<'_>) -> Result<()>) -> Result<()> {
    let whole = || state.workspace.sync_file_system(folder);
    let system = state.file_system()?;
    let synced = if system.syncs_whole { whole() } else { each(OneByOne { workspace: &state.workspace }) };
    if !system.syncs_folders {
        // After the other syncs, whose errors are known.
        state.workspace.fs().sync_machine();
    }
    state.noting(synced)
}

/// Syncs each of these once.
pub(crate) fn sync_all<'h>(workspace: &Workspace, handles: impl Iterator<Item = &'h Handle>) -> Result<()> {
    for handle in handles {
        workspace.sync(handle)?;
    }
    Ok(())
}

/// Syncs files and folders one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneByOne<'a> {
    workspace: &'a Workspace,
}

impl OneByOne<'_> {
    /// Syncs the names in a folder, or the content of a file.
    pub(crate) fn handle(self, handle: &Handle) -> Result<()> {
        self.workspace.sync(handle)
    }

    /// Syncs the file or folder of that name, if there is one. A symlink is durable with its folder.
    pub(crate) fn name(self, name: Name<'_>) -> Result<()> {
        let stat = self.workspace.stat(name)?;
        match stat.map(|stat| stat.kind) {
            Some(FileKind::Folder) => self.folder(name.folder, name.name.as_ref()),
            Some(FileKind::File) => match self.workspace.fs().open_file(name) {
                Ok(file) => self.handle(&file),
                Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::LOOP)) => Ok(()),
                Err(e) => Err(Error::io("open", name.path(), e)),
            },
            Some(FileKind::Symlink | FileKind::Special) | None => Ok(()),
        }
    }

    /// Syncs the folder at a path, if there is one.
    pub(crate) fn folder(self, base: &Handle, path: &Path) -> Result<()> {
        self.workspace.find_folder(base, path)?.map_or(Ok(()), |folder| self.handle(&folder))
    }

    /// Syncs a folder and what is in it.
    pub(crate) fn with_content(self, folder: &Handle) -> Result<()> {
        for name in self.workspace.list(folder)? {
            self.name(Name::new(folder, &name))?;
        }
        self.handle(folder)
    }

    /// Syncs the folder at a path and what is in it, if there is one.
    pub(crate) fn folder_with_content(self, base: &Handle, path: &Path) -> Result<()> {
        match self.workspace.fs().open_beneath(base, path) {
            Ok(folder) => self.with_content(&folder),
            Err(e) if errno::is_missing(&e) => Ok(()),
            Err(e) => Err(Error::io("open", base.path().join(path), e)),
        }
    }

    /// Syncs the sections, which hold the names of all transactions, and the way to them from the root.
    pub(crate) fn sections(self, state: &StateFolder) -> Result<()> {
        for section in Section::ALL {
            self.folder(&state.folder, section.name().as_ref())?;
        }
        self.folder(&state.folder, PARTS.as_ref())?;
        self.handle(&state.folder)?;
        state.home.sync(&state.workspace)
    }
}
