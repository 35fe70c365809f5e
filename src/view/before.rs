//! What was in a folder before a view of it was made, to know later what others changed since.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, fchmod, fstat};

use super::folders::each_folder;
use crate::cancel::CancelToken;
use crate::identity::Timestamp;
use crate::path::is_state;

/// The interval at which the clock of a file system is asked for the time.
const PACE: Duration = Duration::from_millis(1);

/// The hash of a path, and the inode there.
type HashedInode = (u64, u64);

/// The inode at each name of a folder, and the time from which on every change is one of others.
///
/// A name takes two words, whatever its length: its hash with a key that nobody knows, and the inode.
#[derive(Debug)]
pub(crate) struct TreeBefore {
    inodes: HashMap<u64, u64>,
    keys: RandomState,
    since: Timestamp,
    keeps_numbers: bool,
}

impl TreeBefore {
    /// Lists the names in `root`, before the view is made: what is changed between this and that is taken for a change of
    /// others while the view stands. `clock` is a folder of its own on the same file system, whose mode is set to what it
    /// is. Nothing of the state folder is listed, and nothing that is `left_out`. An overlay lists other numbers than
    /// some of its files have, and `keeps_numbers` is false: each file is looked at.
    pub(crate) fn of(
        root: &Path,
        clock: BorrowedFd<'_>,
        keeps_numbers: bool,
        left_out: &(dyn Fn(&Path) -> bool + Sync),
        cancel: &CancelToken,
    ) -> io::Result<Self> {
        let before =
            Self { inodes: HashMap::new(), keys: RandomState::new(), since: next_tick(clock, cancel)?, keeps_numbers };
        let inodes = Mutex::new(HashMap::new());
        each_folder(&|folder| {
            go_on(cancel)?;
            match before.list(root, folder, left_out) {
                // Nobody can have read what is in a folder that is closed, or is gone.
                Err(e) if is_out_of_reach(&e) => Ok(Vec::new()),
                listed => {
                    let (listed, folders) = listed?;
                    inodes.lock().unwrap_or_else(PoisonError::into_inner).extend(listed);
                    Ok(folders)
                }
            }
        })?;
        Ok(Self { inodes: inodes.into_inner().unwrap_or_else(PoisonError::into_inner), ..before })
    }

    /// The inode at each name in a folder, and the folders in it.
    fn list(
        &self,
        root: &Path,
        folder: &Path,
        left_out: &(dyn Fn(&Path) -> bool + Sync),
    ) -> io::Result<(Vec<HashedInode>, Vec<PathBuf>)> {
        let (mut inodes, mut folders) = (Vec::new(), Vec::new());
        // Something else may be mounted here.
        let mut lists_inodes = (!self.keeps_numbers).then_some(false);
        for entry in fs::read_dir(root.join(folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if is_state(&path) || left_out(&path) {
                continue;
            }
            let inode = || entry.metadata().ok().map(|metadata| metadata.ino());
            let lists_inodes = *lists_inodes.get_or_insert_with(|| inode() == Some(entry.ino()));
            if let Some(inode) = if lists_inodes { Some(entry.ino()) } else { inode() } {
                inodes.push((self.key(&path), inode));
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
            }
        }
        Ok((inodes, folders))
    }

    fn key(&self, path: &Path) -> u64 {
        self.keys.hash_one(path.as_os_str().as_bytes())
    }

    /// Returns whether there was anything at a path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.inodes.contains_key(&self.key(path))
    }

    /// Returns whether the file with this inode was at a path already.
    pub(crate) fn was_at(&self, path: &Path, inode: u64) -> bool {
        self.inodes.get(&self.key(path)) == Some(&inode)
    }

    /// Returns whether a folder has the same inode number as long as it exists.
    pub(crate) const fn keeps_numbers(&self) -> bool {
        self.keeps_numbers
    }

    /// A time after every change that is not one of others.
    pub(crate) const fn since(&self) -> Timestamp {
        self.since
    }

    /// The paths of everything in `root` that is no folder, and that was changed or made since; no folder that is
    /// `left_out` is looked into. What is gone is not found.
    pub(crate) fn changed_since(
        &self,
        root: &Path,
        left_out: &(dyn Fn(&Path) -> bool + Sync),
        cancel: &CancelToken,
    ) -> io::Result<Vec<PathBuf>> {
        let changed = Mutex::new(Vec::new());
        each_folder(&|folder| {
            go_on(cancel)?;
            let entries = match fs::read_dir(root.join(folder)) {
                Err(e) if is_out_of_reach(&e) => return Ok(Vec::new()),
                entries => entries?,
            };
            let mut folders = Vec::new();
            for entry in entries {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                // One that is gone by now is not looked at.
                let Ok(now) = entry.metadata() else { continue };
                if is_state(&path) || now.is_dir() && left_out(&path) {
                    continue;
                }
                if now.is_dir() {
                    folders.push(path);
                } else if !self.was_at(&path, now.ino()) || changed_at(&now) >= self.since {
                    changed.lock().unwrap_or_else(PoisonError::into_inner).push(path);
                }
            }
            Ok(folders)
        })?;
        Ok(changed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

fn changed_at(metadata: &Metadata) -> Timestamp {
    Timestamp::new(metadata.ctime(), u32::try_from(metadata.ctime_nsec()).unwrap_or_default())
}

fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn go_on(cancel: &CancelToken) -> io::Result<()> {
    if cancel.is_cancelled() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}

/// The time of a file system, as soon as it is later than that of everything before.
fn next_tick(clock: BorrowedFd<'_>, cancel: &CancelToken) -> io::Result<Timestamp> {
    let mode = Mode::from_raw_mode(fstat(clock)?.st_mode & 0o7777);
    let now = || {
        // Setting what is set already changes the time of the change alone.
        fchmod(clock, mode)?;
        let stat = fstat(clock)?;
        let nanos = u32::try_from(stat.st_ctime_nsec).unwrap_or_default();
        Ok::<_, io::Error>(Timestamp::new(stat.st_ctime, nanos))
    };
    let first = now()?;
    loop {
        let next = now()?;
        if next > first {
            return Ok(next);
        }
        go_on(cancel)?;
        std::thread::sleep(PACE);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn what_others_change_since_is_told_from_what_was_there() {
        let scratch = tempfile::tempdir().unwrap();
        let (root, clock) = (scratch.path().join("root"), scratch.path().join("clock"));
        for folder in [&root, &clock, &root.join("sub")] {
            fs::create_dir(folder).unwrap();
        }
        for name in ["a", "b", "sub/c", "sub/d"] {
            fs::write(root.join(name), "one\n").unwrap();
        }
        let (opened, cancel) = (fs::File::open(&clock).unwrap(), CancelToken::new());
        let before = TreeBefore::of(&root, opened.as_fd(), true, &|path| path == Path::new("sub/d"), &cancel).unwrap();
        let is_unchanged = |name: &str| {
            let now = root.join(name).symlink_metadata().unwrap();
            before.was_at(Path::new(name), now.ino()) && (now.is_dir() || changed_at(&now) < before.since())
        };
        assert!(before.has(Path::new("a")) && !before.has(Path::new("new")) && !before.has(Path::new("sub/d")));
        assert!(["a", "b", "sub", "sub/c"].into_iter().all(is_unchanged));
        let time = fs::metadata(root.join("a")).unwrap().modified().unwrap();
        fs::write(root.join("a"), "two\n").unwrap();
        fs::File::options().write(true).open(root.join("a")).unwrap().set_modified(time).unwrap();
        // Another file that is as old.
        fs::rename(root.join("sub/c"), root.join("b")).unwrap();
        fs::write(root.join("sub/new"), "").unwrap();
        assert!(!is_unchanged("a") && !is_unchanged("b") && is_unchanged("sub"));
        let mut seen = before.changed_since(&root, &|_| false, &cancel).unwrap();
        seen.sort();
        assert_eq!(seen, ["a", "b", "sub/d", "sub/new"].map(PathBuf::from));
    }
}
