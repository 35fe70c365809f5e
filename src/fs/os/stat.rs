//! The metadata of files as `fstat` and `fstatat` tell it.

use std::io;

use rustix::fs::{FileType, RawMode};
use rustix::io::Errno;

use super::super::{FileKind, Identity, Stat, Timestamp};

/// The kind of file in a mode.
pub(super) fn kind(mode: RawMode) -> FileKind {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Special,
    }
}

/// Without a birth time, and without what only some systems tell; a mount point is not known as one.
pub(super) fn from_stat(stat: &rustix::fs::Stat) -> Stat {
    let time = |seconds, nanoseconds| Timestamp::new(seconds, number(nanoseconds));
    Stat {
        kind: kind(stat.st_mode),
        identity: Identity { inode: stat.st_ino, born: None },
        device: number(stat.st_dev),
        mount: 0,
        size: number(stat.st_size),
        modified: time(stat.st_mtime, stat.st_mtime_nsec),
        changed: time(stat.st_ctime, stat.st_ctime_nsec),
        mode: number::<u32>(stat.st_mode) & 0o7777,
        user: stat.st_uid,
        group: stat.st_gid,
        links: number(stat.st_nlink),
        mount_root: false,
        immutable: false,
        append_only: false,
    }
}

/// The metadata of a path; `None` if something on the way is gone, or no folder any more.
pub(super) fn if_there(stat: rustix::io::Result<Stat>) -> io::Result<Option<Stat>> {
    match stat {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A number of the system, whose width depends on the system; 0 if it is out of range.
pub(super) fn number<T: Default>(of: impl TryInto<T>) -> T {
    of.try_into().unwrap_or_default()
}
