//! Lists a folder with a buffer of its own.

use std::ffi::OsString;
use std::fs::File;
use std::io;

use rustix::fs::RawDir;
use rustix::io::Errno;

use super::super::{name, open};

/// The size of the buffer for one call that lists names: some hundred transactions.
const LISTED_TOGETHER: usize = 16 << 10;

pub(super) fn names(folder: &File) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    // Opened once more, so that two listings through one handle do not share a position.
    let opened = open::again(folder)?;
    let mut buffer = Vec::with_capacity(LISTED_TOGETHER);
    let mut entries = RawDir::new(&opened, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = match entry {
            // A folder that was removed has no names.
            Err(Errno::NOENT) => break,
            entry => entry?,
        };
        names.extend(name::listed(entry.file_name()));
    }
    Ok(names)
}
