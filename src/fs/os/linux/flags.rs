//! Inode flags, and which attributes a copy can have.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use rustix::io::{Errno, retry_on_intr};

use super::super::retry;

/// Attributes that belong to one content or one inode and that the kernel writes itself, so that no copy can have them:
/// the integrity subsystem's hash and seal. The last two are the ACLs under a second name, on xfs.
const NOT_COPIED: [&str; 4] = ["security.evm", "security.ima", "trusted.SGI_ACL_FILE", "trusted.SGI_ACL_DEFAULT"];

/// `FS_NOCOMP_FL` and `FS_DAX_FL`, which rustix does not name.
const NO_COMPRESSION: u32 = 0x400;
const DIRECT_ACCESS: u32 = 0x0200_0000;

/// The inode flags that a copy of a file can have.
///
/// Left out: immutable and append-only, with which nothing could be staged (such a file is refused before); those that
/// tell how this inode happens to be stored (extents, inline data, index, encryption, verity); and two that a folder
/// has for its contents (project inheritance, which goes along with the project; case folding, which only an empty
/// folder can get and which changes the meaning of names).
pub(super) const COPIED_FLAGS: u32 = IFlags::SECURE_REMOVAL.bits()
    | IFlags::UNRM.bits()
    | IFlags::COMPRESSED.bits()
    | IFlags::SYNC.bits()
    | IFlags::NODUMP.bits()
    | IFlags::NOATIME.bits()
    | NO_COMPRESSION
    | IFlags::JOURNALING.bits()
    | IFlags::NOTAIL.bits()
    | IFlags::DIRSYNC.bits()
    | IFlags::TOPDIR.bits()
    | IFlags::NOCOW.bits()
    | DIRECT_ACCESS;

pub(super) fn is_copied(attribute: &OsStr) -> bool {
    !NOT_COPIED.iter().any(|not| attribute == *not)
}

/// The flags that a copy can have.
pub(super) fn copied(file: &File) -> io::Result<u32> {
    Ok(of(file)?.unwrap_or_default() & COPIED_FLAGS)
}

/// All inode flags; `None` on a file system without them.
pub(super) fn of(file: &File) -> io::Result<Option<u32>> {
    match retry_on_intr(|| ioctl_getflags(file)) {
        Ok(flags) => Ok(Some(flags.bits())),
        // The errors of file systems without flags; FUSE servers differ.
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn set(file: &File, wanted: u32) -> io::Result<()> {
    match of(file)? {
        Some(now) if now & COPIED_FLAGS == wanted => Ok(()),
        Some(now) => retry(|| ioctl_setflags(file, IFlags::from_bits_retain(now & !COPIED_FLAGS | wanted))),
        None if wanted == 0 => Ok(()),
        None => Err(Errno::OPNOTSUPP.into()),
    }
}
