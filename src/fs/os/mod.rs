//! The file systems of the machine, through descriptors.
//!
//! What all systems have in common is here; what differs is in [`system`], with what POSIX offers as its default, and
//! what Linux and macOS have beyond that in a folder of each.
//!
//! A name is always one segment in an open folder, so no call walks a path that another program may be changing. A call
//! that a signal interrupts is made again, except for three kinds: a sync, because the interrupted one may have used up
//! the report of a failed write; a rename, because an exchange made twice undoes itself; and a close.

// Without a rename that exchanges two names nothing can be committed.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("txedit needs Linux 5.8 or newer, or macOS 10.12 or newer");

mod attributes;
mod copy;
mod facts;
mod inherit;
mod link;
#[cfg(target_os = "linux")]
mod linux;
mod lock;
#[cfg(target_os = "macos")]
mod macos;
mod metadata;
mod name;
mod open;
#[cfg(all(target_os = "linux", any(test, feature = "testing")))]
mod portable;
mod stat;
mod system;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::{Errno, retry_on_intr};

use super::{
    Attributes, FileKind, FileSystem, Fs, Handle, Host, Lease, Metadata, Name, Project, Rename, SlotGuard, Stat,
    Timestamp,
};
use lock::LockedFile;
use system::{PowerLossFacts, System};

#[cfg(target_os = "linux")]
use linux as native;
#[cfg(target_os = "macos")]
use macos as native;

/// The file systems of this machine.
#[derive(Debug)]
pub struct OsFs {
    system: &'static dyn System,
    host: OnceLock<Host>,
}

impl OsFs {
    /// Returns access to all file systems of this machine.
    #[must_use]
    pub fn new() -> Self {
        #[cfg(all(target_os = "linux", any(test, feature = "testing")))]
        if portable::is_wanted() {
            return Self::portable();
        }
        Self::of(&native::THIS)
    }

    /// Returns the same access by portable calls alone, as far as there are any: for tests of what other systems do.
    #[cfg(all(target_os = "linux", any(test, feature = "testing")))]
    #[must_use]
    pub fn portable() -> Self {
        Self::of(&portable::Portable)
    }

    fn of(system: &'static dyn System) -> Self {
        system.begin();
        Self { system, host: OnceLock::new() }
    }
}

/// Questions of the probe.
impl OsFs {
    /// How the file system of a folder survives a power loss.
    pub(super) fn power_loss(&self, folder: &Handle) -> io::Result<PowerLossFacts> {
        self.system.power_loss(file(folder)?)
    }

    /// Makes one file share the bytes of another.
    pub(super) fn share(&self, from: &Handle, to: &Handle) -> io::Result<()> {
        self.system.share(file(from)?, file(to)?)
    }

    /// Returns whether a path can be opened in one step without following symlinks.
    pub(super) fn opens_beneath(&self, folder: &Path) -> io::Result<bool> {
        self.system.opens_beneath(folder)
    }
}

impl Default for OsFs {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns whether this process was started with SIGHUP ignored, as `nohup` does: then it must keep ignoring it.
#[must_use]
pub fn ignores_hang_up() -> bool {
    native::ignores_hang_up()
}

/// The home folder of the user that this process runs as, from the password file.
#[must_use]
pub fn home_of_user() -> Option<PathBuf> {
    native::home_of_user()
}

/// The open file in a handle; a handle of another [`Fs`] counts as closed.
pub(super) fn file(handle: &Handle) -> io::Result<&File> {
    Ok(&opened(handle)?.file)
}

/// An open folder that another process has handed over; `path` is for messages.
pub(crate) fn adopt(folder: File, path: &Path) -> Handle {
    Handle::new(LockedFile::new(folder), path)
}

fn opened(handle: &Handle) -> io::Result<&LockedFile> {
    handle.get().ok_or_else(|| Errno::BADF.into())
}

/// Removes a name of a file from a folder that is held open.
pub(super) fn unlink(name: Name<'_>) -> io::Result<()> {
    name::unlink(file(name.folder)?, name.name)
}

/// Repeats a call that a signal interrupts; only for calls that can be repeated.
fn retry<T>(call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    Ok(retry_on_intr(call)?)
}

impl Fs for OsFs {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn open_folder(&self, path: &Path) -> io::Result<Handle> {
        Ok(Handle::new(LockedFile::new(open::folder(self.system, path)?), path))
    }

    fn open_beneath(&self, folder: &Handle, path: &Path) -> io::Result<Handle> {
        // Joining an empty path would add a slash.
        let shown = if path.as_os_str().is_empty() { folder.path().to_owned() } else { folder.path().join(path) };
        Ok(Handle::new(LockedFile::new(open::beneath(self.system, file(folder)?, path)?), shown))
    }

    fn open_above(&self, folder: &Handle, levels: usize, path: &Path) -> io::Result<Handle> {
        let above = folder.path().ancestors().nth(levels).unwrap_or(Path::new("/"));
        let opened = self.system.open_above(file(folder)?, levels, path)?;
        // Not joined: an empty path would leave a slash at the end, and messages name this path.
        let path: PathBuf = above.components().chain(path.components()).collect();
        Ok(Handle::new(LockedFile::new(opened), path))
    }

    fn open_file(&self, name: Name<'_>) -> io::Result<Handle> {
        Ok(Handle::new(LockedFile::new(open::file(file(name.folder)?, name.name)?), name.path()))
    }

    fn stat(&self, name: Name<'_>) -> io::Result<Option<Stat>> {
        self.system.stat_of(file(name.folder)?, name.name)
    }

    fn stat_path(&self, path: &Path) -> io::Result<Option<Stat>> {
        let found = self.system.stat_path(path)?;
        Ok(found.filter(|stat| stat.kind == FileKind::Folder))
    }

    fn stat_handle(&self, handle: &Handle) -> io::Result<Stat> {
        self.system.stat(file(handle)?)
    }

    fn may_write(&self, name: Name<'_>) -> io::Result<bool> {
        name::may_write(file(name.folder)?, name.name)
    }

    fn list(&self, folder: &Handle) -> io::Result<Vec<OsString>> {
        self.system.list(file(folder)?)
    }

    fn read_at(&self, handle: &Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = file(handle)?;
        let read = retry(|| rustix::io::pread(file, &mut *buffer, offset))?;
        // Whoever hashes or compares a content takes so many bytes of the buffer for it.
        assert!(read <= buffer.len(), "no more is read than there is room for");
        Ok(read)
    }

    fn read_link(&self, name: Name<'_>) -> io::Result<Vec<u8>> {
        link::read(file(name.folder)?, name.name)
    }

    fn attributes(&self, handle: &Handle) -> io::Result<Attributes> {
        attributes::of(self.system, file(handle)?)
    }

    fn inherited(&self, folder: &Handle, is_folder: bool) -> io::Result<Metadata> {
        self.system.inherited(file(folder)?, is_folder)
    }

    fn project(&self, handle: &Handle) -> io::Result<Project> {
        self.system.project(file(handle)?)
    }

    fn set_project(&self, handle: &Handle, project: Project) -> io::Result<()> {
        self.system.set_project(file(handle)?, project)
    }

    fn is_read_only(&self, folder: &Handle) -> io::Result<bool> {
        facts::is_read_only(file(folder)?)
    }

    fn moves_folders(&self, folder: &Handle) -> io::Result<bool> {
        self.system.moves_folders(file(folder)?)
    }

    fn file_system(&self, folder: &Handle) -> io::Result<FileSystem> {
        self.system.file_system(file(folder)?)
    }

    fn now(&self) -> Timestamp {
        facts::now()
    }

    fn host(&self) -> io::Result<Host> {
        if let Some(host) = self.host.get() {
            return Ok(host.clone());
        }
        let host = self.system.host()?;
        Ok(self.host.get_or_init(|| host).clone())
    }

    fn make_folder(&self, name: Name<'_>, mode: u32) -> io::Result<()> {
        open::make_folder(self.system, file(name.folder)?, name.name, mode)
    }

    fn create(&self, name: Name<'_>, mode: u32) -> io::Result<(Handle, SlotGuard, Stat)> {
        let created = open::create(file(name.folder)?, name.name, mode)?;
        let guard = SlotGuard::deleting(name, unlink);
        let stat = open::exactly(self.system, &created, mode)?;
        Ok((Handle::new(LockedFile::new(created), name.path()), guard, stat))
    }

    fn symlink(&self, name: Name<'_>, target: &[u8]) -> io::Result<(SlotGuard, Stat)> {
        link::make(file(name.folder)?, name.name, target)?;
        let guard = SlotGuard::deleting(name, unlink);
        let stat = self.stat(name)?.ok_or(Errno::NOENT)?;
        Ok((guard, stat))
    }

    fn set_link_metadata(&self, name: Name<'_>, now: &Stat, wanted: &Metadata) -> io::Result<()> {
        link::set_metadata(file(name.folder)?, name.name, now, wanted)
    }

    fn write_at(&self, handle: &Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let file = file(handle)?;
        match retry(|| rustix::io::pwrite(file, bytes, offset))? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WriteZero.into()),
            written => {
                // Who writes goes on behind what was written.
                assert!(written <= bytes.len(), "no more is written than was given");
                Ok(written)
            }
        }
    }

    fn open_to_write(&self, name: Name<'_>) -> io::Result<Handle> {
        Ok(Handle::new(LockedFile::new(open::to_write(file(name.folder)?, name.name)?), name.path()))
    }

    fn lease(&self, handle: &Handle) -> io::Result<Lease> {
        opened(handle)?.lease(self.system)
    }

    fn reserve(&self, handle: &Handle, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 { Ok(()) } else { self.system.reserve(file(handle)?, offset, length) }
    }

    fn set_size(&self, handle: &Handle, size: u64) -> io::Result<()> {
        let file = file(handle)?;
        retry(|| rustix::fs::ftruncate(file, size))
    }

    fn copy_range(&self, from: &Handle, from_at: u64, to: &Handle, to_at: u64, length: u64) -> io::Result<u64> {
        let asked = usize::try_from(length).unwrap_or(usize::MAX);
        if asked == 0 {
            return Ok(0);
        }
        let copied = self.system.copy_range(file(from)?, from_at, file(to)?, to_at, asked)?;
        assert!(copied <= length, "no more is copied than was asked for");
        Ok(copied)
    }

    fn free_range(&self, handle: &Handle, offset: u64, length: u64) -> io::Result<()> {
        self.system.free_range(file(handle)?, offset, length)
    }

    fn set_flags(&self, handle: &Handle, flags: u32) -> io::Result<()> {
        self.system.set_flags(file(handle)?, flags)
    }

    fn set_metadata(&self, handle: &Handle, now: &Metadata, wanted: &Metadata) -> io::Result<()> {
        metadata::set(self.system, file(handle)?, now, wanted)
    }

    fn touch(&self, handle: &Handle) -> io::Result<()> {
        metadata::touch(file(handle)?)
    }

    fn rename(&self, from: Name<'_>, to: Name<'_>, how: Rename) -> io::Result<()> {
        self.system.rename((file(from.folder)?, from.name), (file(to.folder)?, to.name), how)
    }

    fn link(&self, from: Name<'_>, to: Name<'_>) -> io::Result<()> {
        name::link((file(from.folder)?, from.name), (file(to.folder)?, to.name))
    }

    fn unlink(&self, name: Name<'_>) -> io::Result<()> {
        unlink(name)
    }

    fn remove_folder(&self, name: Name<'_>) -> io::Result<()> {
        name::remove_folder(file(name.folder)?, name.name)
    }

    fn sync(&self, handle: &Handle) -> io::Result<()> {
        self.system.sync(file(handle)?)
    }

    fn write_out(&self, handle: &Handle) -> io::Result<()> {
        self.system.write_out(file(handle)?)
    }

    fn sync_file_system(&self, folder: &Handle) -> io::Result<()> {
        self.system.sync_file_system(file(folder)?)
    }

    fn path_to(&self, folder: &Handle) -> PathBuf {
        let path = file(folder).ok().and_then(|folder| self.system.path_to(folder));
        path.unwrap_or_else(|| folder.path().to_owned())
    }

    fn sync_machine(&self) {
        rustix::fs::sync();
    }

    fn try_lock(&self, folder: &Handle) -> io::Result<bool> {
        opened(folder)?.try_lock()
    }

    fn descriptor(&self, folder: &Handle) -> io::Result<Option<OwnedFd>> {
        Ok(Some(file(folder)?.try_clone()?.into()))
    }

    fn lock_holder(&self, folder: &Handle) -> Option<String> {
        self.system.lock_holder(&self.system.stat(file(folder).ok()?).ok()?)
    }

    fn is_parallel(&self) -> bool {
        std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
    }

    fn raise_open_files(&self) -> u64 {
        lock::raise_open_files()
    }
}
