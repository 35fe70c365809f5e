//! Extended attributes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::buffer::spare_capacity;
use rustix::fs::{fgetxattr, flistxattr};
use rustix::io::Errno;

use super::super::Attributes;
use super::system::System;

/// A size that nearly every list of names, and nearly every value, fits into.
const FIRST_BUFFER: usize = 512;

/// The kernel's limits for a value and for a list of names are both 64 KiB; some network file systems go beyond.
const LAST_BUFFER: usize = 16 << 20;

/// The error for an attribute that is not there.
#[cfg(target_os = "linux")]
pub(super) const MISSING: Errno = Errno::NODATA;
#[cfg(not(target_os = "linux"))]
pub(super) const MISSING: Errno = Errno::NOATTR;

pub(super) fn of(system: &dyn System, file: &File) -> io::Result<Attributes> {
    system.check_rights(file)?;
    let mut extended = Vec::new();
    for name in names(system, file)? {
        // An attribute removed since the names were listed no longer counts.
        if let Some(value) = value(file, &name)? {
            extended.push((name, value));
        }
    }
    Ok(Attributes { extended, flags: system.flags(file)?, project: system.project(file)? })
}

/// The names of the attributes that a copy can have, sorted.
pub(super) fn names(system: &dyn System, file: &File) -> io::Result<Vec<OsString>> {
    let list = match grown(|buffer| flistxattr(file, spare_capacity(buffer))) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        list => list?,
    };
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(OsStr::from_bytes);
    let mut names = names.filter(|name| system.is_copied(name)).collect::<Vec<_>>();
    names.sort_unstable();
    Ok(names.into_iter().map(OsStr::to_owned).collect())
}

/// The value of an attribute; `None` if there is none, or none can be.
pub(super) fn value(file: &File, name: impl AsRef<OsStr>) -> io::Result<Option<Vec<u8>>> {
    match grown(|buffer| fgetxattr(file, name.as_ref(), spare_capacity(buffer))) {
        Err(MISSING | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
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
