//! Linux, by calls that only it has.
//!
//! A call that old kernels lack, or that sandboxes refuse, is done without where the result is the same.

mod acl;
mod copy;
mod facts;
mod flags;
mod holder;
mod inherit;
mod lease;
mod list;
mod open;
mod project;
mod stat;
mod write_out;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use super::super::{FileSystem, Lease, Metadata, Project, Stat};
use super::system::{PowerLossFacts, System};

pub(super) use facts::{home_of_user, ignores_hang_up};

/// The system of this machine.
pub(super) const THIS: Linux = Linux;

/// Linux 5.8 or newer.
#[derive(Debug)]
pub(super) struct Linux;

impl System for Linux {
    /// The umask is in `/proc`.
    fn begin(&self) {}

    fn open_absolute(&self, path: &Path, segments: &[&OsStr]) -> io::Result<File> {
        open::absolute(path, segments)
    }

    fn open_beneath(&self, folder: &File, segments: &[&OsStr]) -> io::Result<File> {
        open::beneath_it(folder, segments)
    }

    fn open_above(&self, folder: &File, levels: usize, path: &Path) -> io::Result<File> {
        open::above_it(self, folder, levels, path)
    }

    fn stat(&self, file: &File) -> io::Result<Stat> {
        stat::of(file)
    }

    fn stat_of(&self, folder: &File, name: &OsStr) -> io::Result<Option<Stat>> {
        stat::of_name(folder, name)
    }

    fn stat_path(&self, path: &Path) -> io::Result<Option<Stat>> {
        stat::of_path(path)
    }

    fn list(&self, folder: &File) -> io::Result<Vec<OsString>> {
        list::names(folder)
    }

    fn lease(&self, file: &File) -> io::Result<Lease> {
        lease::take(file)
    }

    fn end_lease(&self, file: &File) -> io::Result<()> {
        lease::give_up(file)
    }

    fn reserve(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        lease::reserve(file, offset, length)
    }

    fn copy_range(&self, from: &File, from_at: u64, to: &File, to_at: u64, length: usize) -> io::Result<u64> {
        copy::range(from, from_at, to, to_at, length)
    }

    fn free_range(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        copy::free(file, offset, length)
    }

    fn is_copied(&self, attribute: &OsStr) -> bool {
        flags::is_copied(attribute)
    }

    fn flags(&self, file: &File) -> io::Result<u32> {
        flags::copied(file)
    }

    fn set_flags(&self, file: &File, wanted: u32) -> io::Result<()> {
        flags::set(file, wanted)
    }

    fn project(&self, file: &File) -> io::Result<Project> {
        project::of(file)
    }

    fn set_project(&self, file: &File, wanted: Project) -> io::Result<()> {
        project::set(file, wanted)
    }

    fn inherited(&self, folder: &File, is_folder: bool) -> io::Result<Metadata> {
        inherit::from(folder, is_folder)
    }

    fn file_system(&self, folder: &File) -> io::Result<FileSystem> {
        facts::file_system(folder)
    }

    fn power_loss(&self, folder: &File) -> io::Result<PowerLossFacts> {
        facts::power_loss(folder)
    }

    fn moves_folders(&self, folder: &File) -> io::Result<bool> {
        facts::moves_folders(folder)
    }

    fn boot(&self) -> io::Result<String> {
        facts::boot()
    }

    fn groups(&self) -> io::Result<Option<Vec<u32>>> {
        facts::groups()
    }

    fn write_out(&self, file: &File) -> io::Result<()> {
        write_out::write_out(file)
    }

    fn sync_file_system(&self, folder: &File) -> io::Result<()> {
        Ok(rustix::fs::syncfs(folder)?)
    }

    fn path_to(&self, folder: &File) -> Option<PathBuf> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        path.is_dir().then_some(path)
    }

    fn lock_holder(&self, folder: &Stat) -> Option<String> {
        holder::of(folder)
    }

    fn share(&self, from: &File, to: &File) -> io::Result<()> {
        Ok(rustix::fs::ioctl_ficlone(to, from)?)
    }

    fn opens_beneath(&self, folder: &Path) -> io::Result<bool> {
        open::is_one_call(folder)
    }
}
