//! What differs between operating systems; everything else in `os` is made of calls that all of them have.
//!
//! The default of each function is what POSIX offers. It never says more than it knows: without a call that tells, a file
//! has no birth time and no flags, and a file system counts as one whose sync as a whole does not reach the medium, so
//! that each file is synced by itself.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use super::super::{FileSystem, Host, Lease, Metadata, Project, Rename, Stat};
use super::{copy, facts, inherit, name, open, retry, stat};

/// An operating system, as far as it differs from others.
pub(super) trait System: fmt::Debug + Send + Sync {
    /// Does what is best done before there are other threads: by POSIX, reading the umask.
    fn begin(&self) {
        facts::umask();
    }

    /// Opens a folder by its absolute path, of which these are the segments; no symlink on the way.
    fn open_absolute(&self, _path: &Path, segments: &[&OsStr]) -> io::Result<File> {
        let top = open::top()?;
        if segments.is_empty() { Ok(top) } else { self.open_beneath(&top, segments) }
    }

    /// Opens a folder beneath another; no symlink on the way. There is at least one segment, and none is `..`.
    fn open_beneath(&self, folder: &File, segments: &[&OsStr]) -> io::Result<File> {
        open::walk(folder, segments)
    }

    /// Opens `path` beneath the folder that is `levels` above another; no symlink on the way.
    fn open_above(&self, folder: &File, levels: usize, path: &Path) -> io::Result<File> {
        let above = open::up(folder, levels)?;
        match &open::segments(path)?[..] {
            [] => Ok(above),
            segments => self.open_beneath(&above, segments),
        }
    }

    /// The metadata of an open file or folder.
    fn stat(&self, file: &File) -> io::Result<Stat> {
        Ok(self.stat_from(&retry(|| rustix::fs::fstat(file))?))
    }

    /// The metadata of a name; `None` if it does not exist.
    fn stat_of(&self, folder: &File, name: &OsStr) -> io::Result<Option<Stat>> {
        let name = name::segment(name)?;
        match rustix::io::retry_on_intr(|| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => Ok(Some(self.stat_from(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The metadata of an absolute path; `None` if it does not exist. A symlink on the way is followed, one at the end is not.
    fn stat_path(&self, path: &Path) -> io::Result<Option<Stat>> {
        let stat = rustix::io::retry_on_intr(|| rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
        stat::if_there(stat.map(|stat| self.stat_from(&stat)))
    }

    /// The metadata in what `fstat` tells.
    fn stat_from(&self, stat: &rustix::fs::Stat) -> Stat {
        let plain = stat::from_stat(stat);
        // A mount of another file system is known by its device; one of the same file system is not.
        Stat { mount: plain.device, ..plain }
    }

    /// The names in a folder, without `.` and `..`.
    fn list(&self, folder: &File) -> io::Result<Vec<OsString>> {
        name::list(folder)
    }

    /// Asks that nobody else opens a file as long as it is open here.
    fn lease(&self, _file: &File) -> io::Result<Lease> {
        Ok(Lease::Unavailable)
    }

    /// Gives up a lease that was granted.
    fn end_lease(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    /// Makes sure that a file has the room for these bytes, at least one; it does not become longer.
    fn reserve(&self, _file: &File, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    /// Copies up to `length` bytes; at least one, unless there are no more.
    fn copy_range(&self, from: &File, from_at: u64, to: &File, to_at: u64, length: usize) -> io::Result<u64> {
        copy::through_memory(from, from_at, to, to_at, length)
    }

    /// Gives back the room of a part of a file that is open for reading.
    fn free_range(&self, _file: &File, _offset: u64, _length: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns whether a copy can have this attribute: not if it belongs to one inode, or the system writes it itself.
    fn is_copied(&self, _attribute: &OsStr) -> bool {
        true
    }

    /// The flags of a file or folder that a copy can have.
    fn flags(&self, _file: &File) -> io::Result<u32> {
        Ok(0)
    }

    /// Sets these flags, and clears the others of them.
    fn set_flags(&self, file: &File, wanted: u32) -> io::Result<()> {
        if self.flags(file)? == wanted { Ok(()) } else { Err(Errno::OPNOTSUPP.into()) }
    }

    /// Fails for a file or folder with access rights that neither its mode nor its attributes tell.
    fn check_rights(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    /// The project of a file or folder.
    fn project(&self, _file: &File) -> io::Result<Project> {
        Ok(Project::default())
    }

    /// Moves a file or folder to a project.
    fn set_project(&self, _file: &File, wanted: Project) -> io::Result<()> {
        if wanted == Project::default() { Ok(()) } else { Err(Errno::OPNOTSUPP.into()) }
    }

    /// The metadata that the system would give to a new file (or folder).
    fn inherited(&self, folder: &File, is_folder: bool) -> io::Result<Metadata> {
        Ok(inherit::by_umask(&self.stat(folder)?, is_folder))
    }

    /// The file system that a folder is on.
    fn file_system(&self, _folder: &File) -> io::Result<FileSystem> {
        Ok(FileSystem {
            name: "unknown".to_owned(),
            local: true,
            sync_each: false,
            orders: false,
            syncs_whole: false,
            // It may be one by a program that passes no sync on.
            syncs_folders: false,
            keeps_numbers: true,
            counts_folders: false,
        })
    }

    /// How the file system of a folder survives a power loss.
    fn power_loss(&self, _folder: &File) -> io::Result<PowerLossFacts> {
        Ok(PowerLossFacts { name: None, renames_survive: true })
    }

    /// Returns whether every folder on the file system of one can be renamed.
    fn moves_folders(&self, _folder: &File) -> io::Result<bool> {
        Ok(true)
    }

    /// What changes with each start of the machine, and only then. POSIX has nothing like it.
    fn boot(&self) -> io::Result<String>;

    /// The machine and the process.
    fn host(&self) -> io::Result<Host> {
        Ok(Host { groups: self.groups()?, ..facts::host(self.boot()?) })
    }

    /// The groups to which this process may give its files; `None` for any.
    fn groups(&self) -> io::Result<Option<Vec<u32>>> {
        facts::groups(rustix::process::geteuid().is_root())
    }

    /// Renames. POSIX has neither an exchange nor a rename that refuses to replace.
    fn rename(&self, from: (&File, &OsStr), to: (&File, &OsStr), how: Rename) -> io::Result<()> {
        name::rename(from, to, how)
    }

    /// Makes a file, or the names in a folder, durable.
    fn sync(&self, file: &File) -> io::Result<()> {
        Ok(rustix::fs::fsync(file)?)
    }

    /// Writes the content of a file to the disk.
    fn write_out(&self, file: &File) -> io::Result<()> {
        self.sync(file)
    }

    /// Makes everything on a file system durable. It is only called where [`file_system`](Self::file_system) says that it
    /// reaches the medium.
    fn sync_file_system(&self, _folder: &File) -> io::Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    /// A path to an open folder that stays right when the folder is renamed.
    fn path_to(&self, _folder: &File) -> Option<PathBuf> {
        None
    }

    /// The process that holds the lock of a folder.
    fn lock_holder(&self, _folder: &Stat) -> Option<String> {
        None
    }

    /// Makes one file share the bytes of another; for the probe.
    fn share(&self, _from: &File, _to: &File) -> io::Result<()> {
        Err(Errno::OPNOTSUPP.into())
    }

    /// Returns whether a path can be opened in one step without following symlinks; for the probe.
    fn opens_beneath(&self, _folder: &Path) -> io::Result<bool> {
        Ok(false)
    }
}

/// How a file system survives a power loss.
pub(in crate::fs) struct PowerLossFacts {
    /// The name in the mount table, where several file systems share the magic number.
    pub(in crate::fs) name: Option<String>,
    /// True if a rename survives whole or not at all.
    pub(in crate::fs) renames_survive: bool,
}
