//! Barriers: everything written before one is durable after it.
//!
//! One call does it, where that reaches the medium. Where it does not (a FUSE server is not told of it), every file and
//! folder that the promise rests on is synced by itself, however many there are. Each is opened for that and closed
//! again: thousands of open files would be too many. A write that failed before, and that nobody was told of, is told to
//! whoever opens the file next.

use std::path::Path;

use super::state::{Section, State};
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::{FileKind, Fs, Handle, Name};

/// Makes everything on the file system of `folder` durable; where one call cannot do that, what `each` syncs.
pub(crate) fn pass(
    fs: &dyn Fs,
    state: &State,
    folder: &Handle,
    each: impl FnOnce(OneByOne<'_>) -> Result<()>,
) -> Result<()> {
    let whole = || fs.sync_file_system(folder).map_err(|e| Error::io("sync the file system of", folder.path(), e));
    let system = state.file_system(fs)?;
    let synced = if system.syncs_whole { whole() } else { each(OneByOne { fs }) };
    if !system.syncs_folders {
        // After the others, of which it is known what failed.
        fs.sync_machine();
    }
    state.noting(synced)
}

/// Syncs each of these once.
pub(crate) fn sync_all<'h>(fs: &dyn Fs, handles: impl Iterator<Item = &'h Handle>) -> Result<()> {
    for handle in handles {
        fs.sync(handle).map_err(|e| Error::io("sync", handle.path(), e))?;
    }
    Ok(())
}

/// Syncs files and folders one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneByOne<'a> {
    fs: &'a dyn Fs,
}

impl OneByOne<'_> {
    /// The names in a folder, or the content of a file.
    pub(crate) fn handle(self, handle: &Handle) -> Result<()> {
        self.fs.sync(handle).map_err(|e| Error::io("sync", handle.path(), e))
    }

    /// The file or folder of that name, if there is one. A symlink is durable with its folder.
    pub(crate) fn name(self, name: Name<'_>) -> Result<()> {
        let stat = self.fs.stat(name).map_err(|e| Error::io("look at", name.path(), e))?;
        match stat.map(|stat| stat.kind) {
            Some(FileKind::Folder) => self.folder(name.folder, name.name.as_ref()),
            Some(FileKind::File) => match self.fs.open_file(name) {
                Ok(file) => self.handle(&file),
                Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::LOOP)) => Ok(()),
                Err(e) => Err(Error::io("open", name.path(), e)),
            },
            Some(FileKind::Symlink | FileKind::Special) | None => Ok(()),
        }
    }

    /// The folder at a path, if there is one.
    pub(crate) fn folder(self, base: &Handle, path: &Path) -> Result<()> {
        match self.fs.open_beneath(base, path) {
            Ok(folder) => self.handle(&folder),
            Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(()),
            Err(e) => Err(Error::io("open", base.path().join(path), e)),
        }
    }

    /// A folder and what is in it.
    pub(crate) fn with_content(self, folder: &Handle) -> Result<()> {
        for name in self.fs.list(folder).map_err(|e| Error::io("list", folder.path(), e))? {
            self.name(Name::new(folder, &name))?;
        }
        self.handle(folder)
    }

    /// The same of the folder at a path, if there is one.
    pub(crate) fn folder_with_content(self, base: &Handle, path: &Path) -> Result<()> {
        match self.fs.open_beneath(base, path) {
            Ok(folder) => self.with_content(&folder),
            Err(e) if errno::is_missing(&e) => Ok(()),
            Err(e) => Err(Error::io("open", base.path().join(path), e)),
        }
    }

    /// The names of all transactions, and the way to them from the root.
    pub(crate) fn sections(self, state: &State) -> Result<()> {
        for section in Section::ALL {
            self.folder(&state.folder, section.name().as_ref())?;
        }
        self.handle(&state.folder)?;
        self.handle(&state.root)
    }
}
