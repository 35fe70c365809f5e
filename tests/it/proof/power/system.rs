//! The file systems that lose their power.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::disk::{Blocks, Served};
use crate::support::mounts::run;

/// Which file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Ext4,
    Xfs,
    Btrfs,
}

impl System {
    /// Bytes of a disk; mkfs.xfs refuses less than 300 MiB.
    pub(super) const fn size(self) -> u64 {
        match self {
            Self::Ext4 => 64 << 20,
            Self::Xfs | Self::Btrfs => 320 << 20,
        }
    }

    /// A new file system; the reason where there is no tool for it.
    pub(super) fn make(self) -> Result<Blocks, String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let image = folder.path().join("image");
        File::create(&image).and_then(|file| file.set_len(self.size())).map_err(|e| e.to_string())?;
        let (tool, options): (_, &[&str]) = match self {
            Self::Ext4 => ("mkfs.ext4", &["-q", "-F", "-b", "4096"]),
            Self::Xfs => ("mkfs.xfs", &["-q", "-f", "-s", "size=4096"]),
            Self::Btrfs => ("mkfs.btrfs", &["-q", "-f"]),
        };
        run(tool, options.iter().map(OsStr::new).chain([image.as_os_str()]))?;
        Blocks::load(&image).map_err(|e| e.to_string())
    }

    /// Does what any other program may do, and what makes the file system put all names on the disk, but no contents
    /// that it has not given a place yet.
    pub(super) fn commit_names(self, folder: &Path) {
        match self {
            Self::Ext4 | Self::Xfs => {
                let mut file = File::create(folder.join("synced")).unwrap();
                file.write_all(b"noise").and_then(|()| file.sync_all()).unwrap();
            }
            Self::Btrfs => {
                let count = fs::read_dir(folder).unwrap().count();
                let volume = folder.join(format!("volume{count}"));
                let tool = ["-q", "subvolume", "create"].map(OsStr::new);
                run("btrfs", tool.into_iter().chain([volume.as_os_str()])).unwrap();
            }
        }
    }
}

/// A served disk, mounted through a loop device: the file system does its own recovery first.
pub(super) struct Mounted(TempDir);

impl Mounted {
    pub(super) fn new(disk: &Served) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("txedit-power-").tempdir().map_err(|e| e.to_string())?;
        run("mount", [OsStr::new("-o"), OsStr::new("loop"), disk.path.as_os_str(), folder.path().as_os_str()])?;
        Ok(Self(folder))
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let folder = self.0.path();
        // A server of files in it takes a moment to end after it was unmounted itself.
        let is_gone = |_: u32| {
            let gone = run("umount", [folder]).is_ok();
            if !gone {
                std::thread::sleep(Duration::from_millis(50));
            }
            gone
        };
        if !(0..40).any(is_gone)
            && let Err(reason) = run("umount", [OsStr::new("-l"), folder.as_os_str()])
        {
            eprintln!("{} stays mounted: {reason}", folder.display());
        }
        // Left alone where it is still mounted: nothing in it may be deleted.
        let _ = fs::remove_dir(folder);
    }
}
