//! Lists, renames and removes names in an open folder.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{Access, AtFlags, Dir, RenameFlags, accessat, linkat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::super::Rename;

/// The name, if it is one segment: the system would walk a longer one, through symlinks and out of the folder.
pub(super) fn segment(name: &OsStr) -> io::Result<&OsStr> {
    match name.as_bytes() {
        b"" | b"." | b".." => Err(Errno::INVAL.into()),
        bytes if bytes.contains(&b'/') || bytes.contains(&0) => Err(Errno::INVAL.into()),
        _ => Ok(name),
    }
}

pub(super) fn list(folder: &File) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = match entry {
            // A folder that was removed has no names.
            Err(Errno::NOENT) => break,
            entry => entry?,
        };
        names.extend(listed(entry.file_name()));
    }
    Ok(names)
}

/// A name that a folder lists, unless it is that of the folder itself or of the one above.
pub(super) fn listed(name: &CStr) -> Option<OsString> {
    let name = name.to_bytes();
    (name != b"." && name != b"..").then(|| OsString::from_vec(name.to_vec()))
}

pub(super) fn rename(from: (&File, &OsStr), to: (&File, &OsStr), how: Rename) -> io::Result<()> {
    let flags = match how {
        Rename::Exchange => RenameFlags::EXCHANGE,
        Rename::NoReplace => RenameFlags::NOREPLACE,
        // Every system has this call, also in a sandbox that knows no other.
        Rename::Replace => return Ok(renameat(from.0, segment(from.1)?, to.0, segment(to.1)?)?),
    };
    Ok(renameat_with(from.0, segment(from.1)?, to.0, segment(to.1)?, flags)?)
}

/// A symlink itself gets the other name, not the file that it leads to.
pub(super) fn link(from: (&File, &OsStr), to: (&File, &OsStr)) -> io::Result<()> {
    Ok(linkat(from.0, segment(from.1)?, to.0, segment(to.1)?, AtFlags::empty())?)
}

pub(super) fn unlink(folder: &File, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(folder, segment(name)?, AtFlags::empty())?)
}

pub(super) fn remove_folder(folder: &File, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(folder, segment(name)?, AtFlags::REMOVEDIR)?)
}

/// Checks with the effective ids, so that ACLs count.
pub(super) fn may_write(folder: &File, name: &OsStr) -> io::Result<bool> {
    match accessat(folder, segment(name)?, Access::WRITE_OK, AtFlags::EACCESS) {
        Ok(()) => Ok(true),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
