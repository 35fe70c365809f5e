//! Reads the metadata of files, by `statx`.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, FileType, Statx, StatxAttributes, StatxFlags, StatxTimestamp, makedev, statx};
use rustix::io::Errno;

use super::super::{FileKind, Identity, Stat, Timestamp};
use super::{name, retry};

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

pub(super) fn of(file: &File) -> io::Result<Stat> {
    Ok(from_system(&retry(|| statx(file, c"", AtFlags::EMPTY_PATH, WANTED))?))
}

pub(super) fn of_name(folder: &File, name: &OsStr) -> io::Result<Option<Stat>> {
    let name = name::segment(name)?;
    // An automount point is not followed: reading metadata must not mount anything.
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    match retry(|| statx(folder, name, flags, WANTED)) {
        Ok(stat) => Ok(Some(from_system(&stat))),
        Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether the file is on a file system that knows the no-dump flag: ext4, xfs, btrfs, f2fs and tmpfs do, and
/// nothing in FUSE does. An overlay reports what its upper folder does.
pub(super) fn knows_no_dump(folder: &File) -> io::Result<bool> {
    let stat = retry(|| statx(folder, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE))?;
    Ok(stat.stx_attributes_mask.contains(StatxAttributes::NODUMP))
}

fn from_system(stat: &Statx) -> Stat {
    let answered = StatxFlags::from_bits_retain(stat.stx_mask);
    let kind = match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Special,
    };
    let attribute = |attribute| stat.stx_attributes.contains(attribute);
    Stat {
        kind,
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
