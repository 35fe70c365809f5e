//! Reads the metadata of files, by `statx`, or by `fstatat` where that is missing.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Statx, StatxAttributes, StatxFlags, StatxTimestamp, makedev, statat, statx};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

use super::super::super::{Identity, Stat, Timestamp};
use super::super::name;
use super::super::stat::{from_stat, if_there, kind};

/// Exactly the fields of [`Stat`]: some file systems go to the server or the disk for more.
const WANTED: StatxFlags = StatxFlags::TYPE
    .union(StatxFlags::MODE)
    .union(StatxFlags::NLINK)
    .union(StatxFlags::UID)
    .union(StatxFlags::GID)
    .union(StatxFlags::MTIME)
    .union(StatxFlags::CTIME)
    .union(StatxFlags::INO)
    .union(StatxFlags::SIZE)
    .union(StatxFlags::BTIME)
    .union(StatxFlags::MNT_ID);

/// An automount point is not followed: reading metadata must not mount anything.
const OF_NAME: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::NO_AUTOMOUNT);

pub(super) fn of(file: &File) -> io::Result<Stat> {
    Ok(read(file.as_fd(), c"", AtFlags::EMPTY_PATH)?)
}

pub(super) fn of_path(path: &Path) -> io::Result<Option<Stat>> {
    if_there(read(CWD, path, OF_NAME))
}

pub(super) fn of_name(folder: &File, name: &OsStr) -> io::Result<Option<Stat>> {
    let name = name::segment(name)?;
    match read(folder.as_fd(), name, OF_NAME) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sandboxes that do not know `statx` refuse it with one of two errors, which it has for nothing else. Without it there are no
/// birth times, and a mount point is not known as one.
fn read(folder: BorrowedFd<'_>, name: impl Arg + Copy, flags: AtFlags) -> rustix::io::Result<Stat> {
    match retry_on_intr(|| statx(folder, name, flags, WANTED)) {
        Ok(stat) => Ok(from_statx(&stat)),
        Err(Errno::NOSYS | Errno::PERM) => Ok(from_stat(&retry_on_intr(|| statat(folder, name, flags))?)),
        Err(error) => Err(error),
    }
}

/// Returns whether the file is on a file system that knows the no-dump flag: ext4, xfs, btrfs, f2fs and tmpfs do, and
/// nothing in FUSE does. An overlay reports what its upper folder does.
pub(super) fn knows_no_dump(folder: &File) -> io::Result<bool> {
    let stat = match retry_on_intr(|| statx(folder, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE)) {
        Err(Errno::NOSYS | Errno::PERM) => return Ok(false),
        stat => stat?,
    };
    Ok(stat.stx_attributes_mask.contains(StatxAttributes::NODUMP))
}

fn from_statx(stat: &Statx) -> Stat {
    let answered = StatxFlags::from_bits_retain(stat.stx_mask);
    let attribute = |attribute| stat.stx_attributes.contains(attribute);
    Stat {
        kind: kind(stat.stx_mode.into()),
        identity: Identity {
            inode: stat.stx_ino,
            born: answered.contains(StatxFlags::BTIME).then(|| timestamp(&stat.stx_btime)),
        },
        device: makedev(stat.stx_dev_major, stat.stx_dev_minor),
        mount: stat.stx_mnt_id,
        size: stat.stx_size,
        modified: timestamp(&stat.stx_mtime),
        changed: timestamp(&stat.stx_ctime),
        mode: u32::from(stat.stx_mode) & 0o7777,
        user: stat.stx_uid,
        group: stat.stx_gid,
        links: stat.stx_nlink.into(),
        mount_root: attribute(StatxAttributes::MOUNT_ROOT),
        immutable: attribute(StatxAttributes::IMMUTABLE),
        append_only: attribute(StatxAttributes::APPEND),
    }
}

fn timestamp(time: &StatxTimestamp) -> Timestamp {
    Timestamp::new(time.tv_sec, time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_calls_tell_the_same() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        std::fs::write(&path, "content").unwrap();
        std::os::unix::fs::symlink("file", scratch.path().join("link")).unwrap();
        let folder = File::open(scratch.path()).unwrap();
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        for name in [c"file", c"link", c"."] {
            let new = from_statx(&statx(&folder, name, flags, WANTED).unwrap());
            let old = from_stat(&statat(&folder, name, flags).unwrap());
            let identity = Identity { born: None, ..new.identity };
            assert_eq!(old, Stat { identity, mount: 0, ..new }, "{name:?}");
        }
    }
}
