//! Extended attributes and inode flags.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::buffer::spare_capacity;
use rustix::fs::{IFlags, fgetxattr, flistxattr, ioctl_getflags, ioctl_setflags};
use rustix::io::{Errno, retry_on_intr};

use super::super::Attributes;
use super::{project, retry};

/// A size that nearly every list of names, and nearly every value, fits into.
const FIRST_BUFFER: usize = 512;

/// The kernel's limits for a value and for a list of names are both 64 KiB; some network file systems go beyond.
const LAST_BUFFER: usize = 16 << 20;

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

pub(super) fn of(file: &File) -> io::Result<Attributes> {
    let mut extended = Vec::new();
    for name in names(file)? {
        // An attribute removed since the names were listed no longer counts.
        if let Some(value) = value(file, &name)? {
            extended.push((name, value));
        }
    }
    Ok(Attributes { extended, flags: flags(file)?.unwrap_or_default() & COPIED_FLAGS, project: project::of(file)? })
}

/// The names of the attributes that a copy can have, sorted.
pub(super) fn names(file: &File) -> io::Result<Vec<OsString>> {
    let list = match grown(|buffer| flistxattr(file, spare_capacity(buffer))) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        list => list?,
    };
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(OsStr::from_bytes);
    let mut names = names.filter(|name| !NOT_COPIED.iter().any(|not| name == not)).collect::<Vec<_>>();
    names.sort_unstable();
    Ok(names.into_iter().map(OsStr::to_owned).collect())
}

/// The value of an attribute; `None` if there is none, or none can be.
pub(super) fn value(file: &File, name: impl AsRef<OsStr>) -> io::Result<Option<Vec<u8>>> {
    match grown(|buffer| fgetxattr(file, name.as_ref(), spare_capacity(buffer))) {
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
        value => Ok(Some(value?)),
    }
}

/// Calls with a buffer that grows until the answer fits. Asking for the size first would not help: a writer may be
/// faster.
fn grown(mut call: impl FnMut(&mut Vec<u8>) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut buffer = Vec::with_capacity(FIRST_BUFFER);
    loop {
        match call(&mut buffer) {
            Err(Errno::INTR) => {}
            Err(Errno::RANGE) if buffer.capacity() < LAST_BUFFER => {
                buffer = Vec::with_capacity(buffer.capacity() * 4);
            }
            answer => return answer.map(|_| buffer),
        }
    }
}

/// All inode flags; `None` on a file system without them.
pub(super) fn flags(file: &File) -> io::Result<Option<u32>> {
    match retry_on_intr(|| ioctl_getflags(file)) {
        Ok(flags) => Ok(Some(flags.bits())),
        // The errors of file systems without flags; FUSE servers differ.
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn set_flags(file: &File, wanted: u32) -> io::Result<()> {
    match flags(file)? {
        Some(now) if now & COPIED_FLAGS == wanted => Ok(()),
        Some(now) => retry(|| ioctl_setflags(file, IFlags::from_bits_retain(now & !COPIED_FLAGS | wanted))),
        None if wanted == 0 => Ok(()),
        None => Err(Errno::OPNOTSUPP.into()),
    }
}
