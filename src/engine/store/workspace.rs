//! The folder that an engine works in: its root, the file system that it is on, and the protocol that is followed
//! there.
//!
//! The methods are those of [`Fs`], with an error that says what was tried and where: the verb and the path are added
//! here and nowhere else. Callers that act on an error number, or report another path than that of the call, use
//! [`Workspace::fs`].

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::commit::Protocol;
use crate::errno::{self, Errno};
use crate::error::{Correction, Error, ErrorKind, NextStep, Result};
use crate::fs::{Attributes, FileKind, FileSystem, Fs, Handle, Host, Metadata, Name, Project, Rename, SlotGuard, Stat};
use crate::identity::Timestamp;
use crate::path::shown;

/// A root folder, the file system beneath it, and the protocol. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    fs: Arc<dyn Fs>,
    /// The root, open: its path may lead elsewhere by now.
    pub root: Handle,
    /// The protocol that is followed in it.
    pub protocol: &'static Protocol,
    /// The folder of this user's states, outside the workspace.
    user_state: Option<Arc<Path>>,
    /// True if files may be overwritten where nothing else can be done.
    pub overwrites: bool,
    /// The state folder that the caller named, absolute or relative to the root.
    named_state: Option<Arc<Path>>,
}

impl Workspace {
    pub(crate) fn new(fs: Arc<dyn Fs>, root: Handle, protocol: &'static Protocol) -> Self {
        Self { fs, root, protocol, user_state: None, overwrites: false, named_state: None }
    }

    /// This workspace for a user whose states are in a folder.
    pub(crate) fn with_user_state(self, folder: Option<&Path>) -> Self {
        Self { user_state: folder.map(Arc::from), ..self }
    }

    /// This workspace where files may be overwritten or not.
    pub(crate) fn overwriting(self, overwrites: bool) -> Self {
        Self { overwrites, ..self }
    }

    /// The folder of this user's states, if one is known.
    pub(crate) fn user_state(&self) -> Option<&Path> {
        self.user_state.as_deref()
    }

    /// This workspace with its state in a folder that the caller named.
    pub(crate) fn with_named_state(self, folder: Option<&Path>) -> Self {
        Self { named_state: folder.map(Arc::from), ..self }
    }

    /// The state folder that the caller named.
    pub(crate) fn named_state(&self) -> Option<&Path> {
        self.named_state.as_deref()
    }

    /// The workspace of another root, on the same file system, whose state folder was not named.
    pub(crate) fn at(&self, root: Handle) -> Self {
        Self { root, named_state: None, ..self.clone() }
    }

    /// The file system itself, which returns the system's own errors.
    pub(crate) fn fs(&self) -> &dyn Fs {
        &*self.fs
    }

    /// The whole path of a folder or file of the workspace; the root's own where `path` is empty.
    pub(crate) fn path_of(&self, path: impl AsRef<Path>) -> PathBuf {
        joined(&self.root, path.as_ref())
    }

    pub(crate) fn open_beneath(&self, folder: &Handle, path: impl AsRef<Path>) -> Result<Handle> {
        let path = path.as_ref();
        self.fs.open_beneath(folder, path).map_err(|e| Error::io("open", joined(folder, path), e))
    }

    /// The folder at a path beneath another, without following a symlink; `None` where there is no folder.
    pub(crate) fn find_folder(&self, folder: &Handle, path: impl AsRef<Path>) -> Result<Option<Handle>> {
        let path = path.as_ref();
        match self.fs.open_beneath(folder, path) {
            Ok(handle) => Ok(Some(handle)),
            Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(None),
            Err(e) => Err(Error::io("open", joined(folder, path), e)),
        }
    }

    /// The metadata of the folder at a path beneath another, without following a symlink; `None` where there is no folder.
    pub(crate) fn stat_folder(&self, folder: &Handle, path: &Path) -> io::Result<Option<Stat>> {
        let mut segments = path.components();
        let stat = match (segments.next(), segments.next()) {
            (None, _) => self.fs.stat_handle(folder).map(Some),
            // What one name leads to is told without opening it.
            (Some(Component::Normal(name)), None) => self.fs.stat(Name::new(folder, name)),
            _ => self.fs.open_beneath(folder, path).and_then(|there| self.fs.stat_handle(&there)).map(Some),
        };
        match stat {
            Ok(stat) => Ok(stat.filter(|stat| stat.kind == FileKind::Folder)),
            Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(crate) fn open_file(&self, name: Name<'_>) -> Result<Handle> {
        self.fs.open_file(name).map_err(|e| Error::io("open", name.path(), e))
    }

    pub(crate) fn stat(&self, name: Name<'_>) -> Result<Option<Stat>> {
        self.fs.stat(name).map_err(|e| Error::io("look at", name.path(), e))
    }

    pub(crate) fn stat_handle(&self, handle: &Handle) -> Result<Stat> {
        self.fs.stat_handle(handle).map_err(|e| Error::io("look at", handle.path(), e))
    }

    /// Returns whether the path of the root still leads to it.
    pub(crate) fn is_at_its_root(&self) -> Result<bool> {
        self.leads_to_it(&self.root)
    }

    /// An error if it does not: answers would be about other files.
    pub(crate) fn check_root(&self) -> Result<()> {
        if self.is_at_its_root()? {
            return Ok(());
        }
        let root = self.root.path();
        let message = format!("the root {} is gone: it was moved, deleted or replaced", shown(root));
        let step = NextStep::Correct(Correction::RestoreRoot);
        Err(Error::new(ErrorKind::FileNotFound, message).at(root).with_next([step]))
    }

    /// Returns whether the path at which a folder was opened still leads to it, through the same mount.
    pub(crate) fn leads_to_it(&self, folder: &Handle) -> Result<bool> {
        let path = folder.path();
        let there = self.fs.stat_path(path).map_err(|e| Error::io("look at", path, e))?;
        let held = self.stat_handle(folder)?;
        Ok(there.is_some_and(|there| there.is_of_same(&held)))
    }

    pub(crate) fn may_write(&self, name: Name<'_>) -> Result<bool> {
        self.fs.may_write(name).map_err(|e| Error::io("ask for access to", name.path(), e))
    }

    pub(crate) fn list(&self, folder: &Handle) -> Result<Vec<OsString>> {
        self.fs.list(folder).map_err(|e| Error::io("list", folder.path(), e))
    }

    pub(crate) fn read_at(&self, file: &Handle, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.fs.read_at(file, offset, buffer).map_err(|e| Error::io("read", file.path(), e))
    }

    pub(crate) fn read_link(&self, name: Name<'_>) -> Result<Vec<u8>> {
        self.fs.read_link(name).map_err(|e| Error::io("read the target of", name.path(), e))
    }

    pub(crate) fn attributes(&self, handle: &Handle) -> Result<Attributes> {
        self.fs.attributes(handle).map_err(|e| Error::io("read the attributes of", handle.path(), e))
    }

    pub(crate) fn project(&self, handle: &Handle) -> Result<Project> {
        self.fs.project(handle).map_err(|e| Error::io("ask for the project of", handle.path(), e))
    }

    pub(crate) fn file_system(&self, folder: &Handle) -> Result<FileSystem> {
        self.fs.file_system(folder).map_err(|e| Error::io("ask for the file system of", folder.path(), e))
    }

    pub(crate) fn host(&self) -> Result<Host> {
        self.fs.host().map_err(|e| Error::io("ask who runs in", self.root.path(), e))
    }

    /// The owner, mode and attributes that the system would give to a new file or folder in `folder`.
    pub(crate) fn inherited(&self, folder: &Handle, is_folder: bool) -> Result<Metadata> {
        self.fs.inherited(folder, is_folder).map_err(|e| Error::io("ask what would be inherited in", folder.path(), e))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.fs.now()
    }

    pub(crate) fn make_folder(&self, name: Name<'_>, mode: u32) -> Result<()> {
        self.fs.make_folder(name, mode).map_err(|e| Error::io("make", name.path(), e))
    }

    pub(crate) fn create(&self, name: Name<'_>, mode: u32) -> Result<(Handle, SlotGuard, Stat)> {
        self.fs.create(name, mode).map_err(|e| Error::io("create", name.path(), e))
    }

    pub(crate) fn write_at(&self, file: &Handle, offset: u64, bytes: &[u8]) -> Result<usize> {
        self.fs.write_at(file, offset, bytes).map_err(|e| Error::io("write", file.path(), e))
    }

    pub(crate) fn set_flags(&self, file: &Handle, flags: u32) -> Result<()> {
        self.fs.set_flags(file, flags).map_err(|e| Error::io("set the flags of", file.path(), e))
    }

    pub(crate) fn set_metadata(&self, handle: &Handle, now: &Metadata, wanted: &Metadata) -> Result<()> {
        let set = self.fs.set_metadata(handle, now, wanted);
        set.map_err(|e| Error::io("set owner, mode and attributes of", handle.path(), e))
    }

    pub(crate) fn rename(&self, from: Name<'_>, to: Name<'_>, how: Rename) -> Result<()> {
        self.fs.rename(from, to, how).map_err(|e| Error::io("rename", from.path(), e))
    }

    /// Renames in the state folder, to a free name. Nobody else makes names there, so where no rename can refuse to replace,
    /// looking first is enough.
    pub(crate) fn move_own(&self, from: Name<'_>, to: Name<'_>) -> io::Result<()> {
        match self.fs.rename(from, to, Rename::NoReplace) {
            Err(e) if errno::is_unsupported(&e) => {}
            moved => return moved,
        }
        self.move_looking(from, to)
    }

    /// The same where it is known that no rename can refuse to replace.
    pub(crate) fn move_looking(&self, from: Name<'_>, to: Name<'_>) -> io::Result<()> {
        match self.fs.stat(to)? {
            Some(_) => Err(Errno::EXIST.into()),
            None => self.fs.rename(from, to, Rename::Replace),
        }
    }

    pub(crate) fn unlink(&self, name: Name<'_>) -> Result<()> {
        self.fs.unlink(name).map_err(|e| Error::io("remove", name.path(), e))
    }

    pub(crate) fn remove_folder(&self, name: Name<'_>) -> Result<()> {
        self.fs.remove_folder(name).map_err(|e| Error::io("remove", name.path(), e))
    }

    pub(crate) fn sync(&self, handle: &Handle) -> Result<()> {
        self.fs.sync(handle).map_err(|e| Error::io("sync", handle.path(), e))
    }

    /// Writes the content of a file to the disk: [`Fs::write_out`].
    pub(crate) fn write_out(&self, file: &Handle) -> Result<()> {
        self.fs.write_out(file).map_err(|e| Error::io("write out", file.path(), e))
    }

    pub(crate) fn sync_file_system(&self, folder: &Handle) -> Result<()> {
        self.fs.sync_file_system(folder).map_err(|e| Error::io("sync the file system of", folder.path(), e))
    }

    pub(crate) fn try_lock(&self, folder: &Handle) -> Result<bool> {
        self.fs.try_lock(folder).map_err(|e| Error::io("lock", folder.path(), e))
    }

    pub(crate) fn lock_holder(&self, folder: &Handle) -> Option<String> {
        self.fs.lock_holder(folder)
    }

    pub(crate) fn is_parallel(&self) -> bool {
        self.fs.is_parallel()
    }
}

/// A path in a folder; the folder's own where it is empty.
fn joined(folder: &Handle, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { folder.path().to_owned() } else { folder.path().join(path) }
}
