//! Where the trees stand: a fresh ext4 for each run, or a folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use txedit::testing::internals::fs::probe;

use crate::Result;

/// Bytes of the file system, most of which are never written.
const SIZE: u64 = 8 << 30;

/// A place that can be emptied.
pub(crate) struct Disk {
    scratch: tempfile::TempDir,
    /// Whether it is a file system of its own.
    mounted: bool,
}

impl Disk {
    pub(crate) fn new(scratch: &Path, plain: bool) -> Result<Self> {
        fs::create_dir_all(scratch)?;
        let scratch = tempfile::TempDir::with_prefix_in("compare-", scratch)?;
        let mut disk = Self { scratch, mounted: false };
        fs::create_dir(disk.path())?;
        if !plain && rustix::process::geteuid().is_root() {
            disk.mounted = disk.mount().is_ok();
        }
        Ok(disk)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.scratch.path().join("disk")
    }

    /// For what belongs to a run and not to its tree.
    pub(crate) fn beside(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn describe(&self) -> String {
        let found = probe::guarantees(&self.path());
        let name = found.map_or_else(|_| "an unknown file system".to_owned(), |found| found.file_system.name);
        let what = if self.mounted { "a fresh file system for each run, in a loop device" } else { "one folder" };
        format!("{name} ({what}) in {}", self.scratch.path().display())
    }

    /// Empties it.
    pub(crate) fn renew(&mut self) -> Result<()> {
        if self.mounted {
            self.unmount()?;
            return self.mount();
        }
        fs::remove_dir_all(self.path())?;
        fs::create_dir(self.path())?;
        rustix::fs::sync();
        Ok(())
    }

    /// How often the device was told to flush, where it is one of its own.
    pub(crate) fn flushes(&self) -> Option<u64> {
        let device = fs::metadata(self.path()).ok().filter(|_| self.mounted)?.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let told = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
        // Documented in the kernel's admin-guide/iostats: the sixteenth figure.
        told.split_whitespace().nth(15)?.parse().ok()
    }

    /// How often ext4 has committed its journal.
    pub(crate) fn commits(&self) -> Option<u64> {
        let device = fs::metadata(self.path()).ok().filter(|_| self.mounted)?.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let block = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
        // The journal is named after the inode that it is in.
        let told = fs::read_to_string(format!("/proc/fs/jbd2/{}-8/info", block.file_name()?.display())).ok()?;
        told.split_whitespace().next()?.parse().ok()
    }

    fn mount(&self) -> Result<()> {
        let image = self.scratch.path().join("image");
        fs::File::create(&image)?.set_len(SIZE)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]).arg(&image))?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(self.path()))?;
        // Nothing of the making may be left to be written during a run.
        rustix::fs::sync();
        Ok(())
    }

    fn unmount(&self) -> Result<()> {
        run(Command::new("umount").arg(self.path()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.mounted {
            drop(self.unmount());
        }
    }
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Err(format!("{command:?}: {}\n{said}", output.status).into())
}
