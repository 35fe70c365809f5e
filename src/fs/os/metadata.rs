//! Sets the metadata of a staged file.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{
    Gid, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, XattrFlags, fchmod, fchown, fremovexattr, fsetxattr,
    futimens,
};
use rustix::io::{Errno, retry_on_intr};

use super::super::{Attributes, Metadata, Timestamp};
use super::system::System;
use super::{attributes, open, retry};

const SET_IDS: u32 = 0o6000;

/// Sets the owner first, since changing it clears set-id bits and capabilities; then attributes, before a mode that may
/// forbid the owner to write, and so to set them; then the mode, which an ACL may have changed; then the time.
pub(super) fn set(system: &dyn System, file: &File, now: &Metadata, wanted: &Metadata) -> io::Result<()> {
    // What the folder of a staged file has passed on to it would go where the file goes.
    system.check_rights(file)?;
    // Before the owner changes: only the owner may set the project.
    if now.attributes.project != wanted.attributes.project {
        system.set_project(file, wanted.attributes.project)?;
    }
    let owner_changes = (now.user, now.group) != (wanted.user, wanted.group);
    if owner_changes {
        let user = (now.user != wanted.user).then(|| Uid::from_raw(wanted.user));
        let group = (now.group != wanted.group).then(|| Gid::from_raw(wanted.group));
        retry(|| fchown(file, user, group))?;
    }
    // A change of owner can remove attributes, so they are read again.
    let attributes_change = (owner_changes || now.attributes.extended != wanted.attributes.extended)
        && set_extended(system, file, &wanted.attributes)?;
    if owner_changes || attributes_change || now.mode != wanted.mode {
        retry(|| fchmod(file, open::bits(wanted.mode)))?;
        // For a group that this process is not in, the system clears the bit and reports success.
        if wanted.mode & SET_IDS != 0 && system.stat(file)?.mode != wanted.mode {
            return Err(Errno::PERM.into());
        }
    }
    match wanted.modified {
        Some(modified) if now.modified != Some(modified) => set_modified(file, modified),
        _ => Ok(()),
    }
}

/// Returns whether anything had to be changed.
fn set_extended(system: &dyn System, file: &File, wanted: &Attributes) -> io::Result<bool> {
    let mut changed = false;
    for name in attributes::names(system, file)? {
        if !wanted.extended.iter().any(|(wanted, _)| *wanted == name) {
            match retry_on_intr(|| fremovexattr(file, &name)) {
                Ok(()) | Err(attributes::MISSING) => changed = true,
                Err(error) => return Err(error.into()),
            }
        }
    }
    for (name, value) in &wanted.extended {
        changed |= set_one(file, name, value)?;
    }
    Ok(changed)
}

/// Compares first: setting a label needs a right that reading it does not.
fn set_one(file: &File, name: &OsStr, value: &[u8]) -> io::Result<bool> {
    if attributes::value(file, name)?.is_some_and(|now| now == value) {
        return Ok(false);
    }
    retry(|| fsetxattr(file, name, value, XattrFlags::empty()))?;
    Ok(true)
}

fn set_modified(file: &File, modified: Timestamp) -> io::Result<()> {
    set_time(file, Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanos().into() })
}

/// Gives a file the current time.
pub(super) fn touch(file: &File) -> io::Result<()> {
    set_time(file, Timespec { tv_sec: 0, tv_nsec: UTIME_NOW })
}

fn set_time(file: &File, last_modification: Timespec) -> io::Result<()> {
    let times = Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification };
    retry(|| futimens(file, &times))
}
