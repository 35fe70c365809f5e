//! Writes the content of a file to the disk, and neither its metadata nor the cache of the drive: a sync that follows does both
//! at once for many files.
//!
//! `rustix` does not have this call, so this module has `unsafe`: a call that takes numbers and returns one.
#![expect(unsafe_code, reason = "a call that no library offers")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::fsync;
use rustix::io::Errno;

const WHOLE: libc::c_uint =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// Writes everything that is in the cache of a file, and waits for that. It is not made again after a signal, as no sync is.
/// Where the call is missing or refused, a sync of the file does more than it.
pub(super) fn write_out(file: &File) -> io::Result<()> {
    // SAFETY: it takes numbers, none of which is a pointer, and the descriptor is open as long as `file` is.
    if unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, WHOLE) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match Errno::from_io_error(&error) {
        Some(Errno::NOSYS | Errno::PERM) => Ok(fsync(file)?),
        _ => Err(error),
    }
}
