//! Projects, to which quotas belong. `rustix` does not have these two calls, so this module has `unsafe`:
//! an `ioctl` that reads or writes one structure of plain numbers.
#![expect(unsafe_code, reason = "two ioctls that no library offers")]

use std::fs::File;
use std::io;

use rustix::io::Errno;
use rustix::ioctl::{Getter, Setter, ioctl, opcode};

use super::super::super::Project;
use super::super::retry;

/// `struct fsxattr` of `linux/fs.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FsXattr {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    cow_extent_size: u32,
    padding: [u8; 8],
}

/// `FS_XFLAG_PROJINHERIT`.
const HANDS_ON: u32 = 0x200;

/// `FS_IOC_FSGETXATTR` and `FS_IOC_FSSETXATTR`.
const GET: u32 = opcode::read::<FsXattr>(b'X', 31);
const SET: u32 = opcode::write::<FsXattr>(b'X', 32);

/// The project of a file or folder; project 0 on a file system without them.
pub(super) fn of(file: &File) -> io::Result<Project> {
    match get(file) {
        Ok(now) => Ok(Project { id: now.project, hands_on: now.flags & HANDS_ON != 0 }),
        // The errors of file systems without projects; FUSE servers differ.
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(Project::default()),
        Err(error) => Err(error.into()),
    }
}

/// Moves a file or folder to a project. The owner may do so, except in a user namespace of its own.
pub(super) fn set(file: &File, wanted: Project) -> io::Result<()> {
    let now = get(file)?;
    let flags = if wanted.hands_on { now.flags | HANDS_ON } else { now.flags & !HANDS_ON };
    let wanted = FsXattr { flags, project: wanted.id, ..now };
    // SAFETY: the kernel reads a `struct fsxattr` through the pointer, and `FsXattr` is laid out like one.
    retry(|| unsafe { ioctl(file, Setter::<SET, FsXattr>::new(wanted)) })
}

fn get(file: &File) -> rustix::io::Result<FsXattr> {
    // SAFETY: the kernel writes a `struct fsxattr` through the pointer; any bytes are a valid `FsXattr`.
    rustix::io::retry_on_intr(|| unsafe { ioctl(file, Getter::<GET, FsXattr>::new()) })
}
