//! Symlinks themselves, never what they lead to.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Gid, Timespec, Timestamps, UTIME_OMIT, Uid, chownat, readlinkat, symlinkat, utimensat};

use super::super::{Metadata, Stat};
use super::{name::segment, retry};

pub(super) fn read(folder: &File, name: &OsStr) -> io::Result<Vec<u8>> {
    let name = segment(name)?;
    Ok(retry(|| readlinkat(folder, name, Vec::new()))?.into_bytes())
}

pub(super) fn make(folder: &File, name: &OsStr, target: &[u8]) -> io::Result<()> {
    let name = segment(name)?;
    retry(|| symlinkat(OsStr::from_bytes(target), folder, name))
}

pub(super) fn set_metadata(folder: &File, name: &OsStr, now: &Stat, wanted: &Metadata) -> io::Result<()> {
    let name = segment(name)?;
    if (now.user, now.group) != (wanted.user, wanted.group) {
        let user = (now.user != wanted.user).then(|| Uid::from_raw(wanted.user));
        let group = (now.group != wanted.group).then(|| Gid::from_raw(wanted.group));
        retry(|| chownat(folder, name, user, group, AtFlags::SYMLINK_NOFOLLOW))?;
    }
    let Some(modified) = wanted.modified.filter(|modified| *modified != now.modified) else { return Ok(()) };
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanos().into() },
    };
    retry(|| utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW))
}
