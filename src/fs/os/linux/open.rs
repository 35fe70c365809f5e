//! Opens a path in one call, or segment by segment where that call is missing.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::super::open::{FOLDER, beneath, top, up, walk};
use super::super::system::System;

/// The number of times that a lookup disturbed by a rename elsewhere is tried before the path is walked by hand.
const LOOKUPS: usize = 32;

/// Opens `path` beneath the folder that is `levels` above another, refusing symlinks on the way.
pub(super) fn above_it(system: &dyn System, folder: &File, levels: usize, path: &Path) -> io::Result<File> {
    let up_there = "../".repeat(levels);
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, Path::new(&up_there).join(path), FOLDER, Mode::empty(), resolve) {
        Ok(opened) => Ok(opened.into()),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOSYS | Errno::PERM) => beneath(system, &up(folder, levels)?, path),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder beneath another, refusing symlinks on the way.
pub(super) fn beneath_it(folder: &File, segments: &[&OsStr]) -> io::Result<File> {
    let path: PathBuf = segments.iter().collect();
    match in_one_call(folder.as_fd(), &path, ResolveFlags::BENEATH) {
        Ok(Some(opened)) => Ok(opened),
        Ok(None) => walk(folder, segments),
        // What was found was moved out of the folder before the call ended.
        Err(Errno::XDEV) => Err(Errno::NOENT.into()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder by its absolute path, refusing symlinks on the way.
pub(super) fn absolute(path: &Path, segments: &[&OsStr]) -> io::Result<File> {
    match in_one_call(CWD, path, ResolveFlags::empty())? {
        Some(opened) => Ok(opened),
        None => walk(&top()?, segments),
    }
}

/// Opens a folder without following a symlink; `None` where that takes more than one call.
fn in_one_call(base: BorrowedFd<'_>, path: &Path, within: ResolveFlags) -> rustix::io::Result<Option<File>> {
    let resolve = within | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..LOOKUPS {
        match openat2(base, path, FOLDER, Mode::empty(), resolve) {
            Ok(opened) => return Ok(Some(opened.into())),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Sandboxes that do not know the call refuse it with one of these two.
            Err(Errno::NOSYS | Errno::PERM) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns whether a path can be opened in one call; for the probe.
pub(super) fn is_one_call(folder: &Path) -> io::Result<bool> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Ok(_) => Ok(true),
        Err(Errno::NOSYS | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_walk_by_hand_opens_and_refuses_the_same() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        std::fs::write(scratch.path().join("file"), "").unwrap();
        symlink("a", scratch.path().join("link")).unwrap();
        symlink("nowhere", scratch.path().join("broken")).unwrap();
        let top = File::open(scratch.path()).unwrap();
        for path in ["a", "a/b", "link", "link/b", "broken", "file", "file/b", "missing", "a/missing"] {
            let segments = Path::new(path).iter().collect::<Vec<_>>();
            let told = |opened: io::Result<File>| match opened {
                Ok(folder) => Ok(super::super::stat::of(&folder).unwrap().identity),
                Err(error) => Err(error.raw_os_error().unwrap()),
            };
            assert_eq!(told(walk(&top, &segments)), told(beneath_it(&top, &segments)), "{path}");
        }
    }
}
