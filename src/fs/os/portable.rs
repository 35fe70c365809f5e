//! Linux by portable calls alone, so that the tests of Linux test them: it stands for systems that are not at hand.
//!
//! Two calls have no portable form, and Linux's stand in for those of macOS: `renameat2` for `renameatx_np`, and the boot
//! id. It has no birth times, no inode flags, no projects and no default ACLs, does not know file systems by name, does
//! not see mounts of the same file system, and cannot name the holder of a lock.

use std::ffi::OsStr;
use std::io;

use super::linux;
use super::system::System;

/// The variable that makes every program that was built with the tests use this.
const WANTED: &str = "TXEDIT_TEST_PORTABLE";

/// Linux without what only Linux has.
#[derive(Debug)]
pub(super) struct Portable;

impl System for Portable {
    /// What the kernel writes itself is no matter of portable calls.
    fn is_copied(&self, attribute: &OsStr) -> bool {
        linux::THIS.is_copied(attribute)
    }

    fn boot(&self) -> io::Result<String> {
        linux::THIS.boot()
    }
}

/// Returns whether the tests run on this.
pub(super) fn is_wanted() -> bool {
    std::env::var_os(WANTED).is_some()
}
