//! Files that are overwritten in place: a lease on one, and the room for what it grows by.
//!
//! `rustix` does not have the two commands of `fcntl` for a lease, so this module has `unsafe`: a call that takes two numbers
//! and returns one.
#![expect(unsafe_code, reason = "two commands of fcntl that no library offers")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::super::super::Lease;
use super::super::retry;

/// `F_SETSIG` of `asm-generic/fcntl.h`, which `libc` does not have.
const SET_SIGNAL: libc::c_int = 10;

/// Takes a lease for writing. It ends when the file is closed.
pub(super) fn take(file: &File) -> io::Result<Lease> {
    // Whoever opens the file then makes the kernel send a signal, by default one that ends this process. Nobody acts upon this
    // one: the opener waits, and the file is closed soon.
    let asked = command(file, SET_SIGNAL, libc::SIGURG).and_then(|()| command(file, libc::F_SETLEASE, libc::F_WRLCK));
    match asked {
        Ok(()) => Ok(Lease::Granted),
        Err(Errno::AGAIN) => Ok(Lease::Refused),
        // Not the owner's; no lease on this file system; none at all in a sandbox.
        Err(Errno::ACCESS | Errno::PERM | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => {
            Ok(Lease::Unavailable)
        }
        Err(error) => Err(error.into()),
    }
}

fn command(file: &File, command: libc::c_int, number: libc::c_int) -> Result<(), Errno> {
    rustix::io::retry_on_intr(|| {
        // SAFETY: both commands take a number, which is no pointer, and the descriptor is open as long as `file` is.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, number) } {
            -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
            _ => Ok(()),
        }
    })
}

/// Reserves the room for bytes, without a longer file. Not every file system can.
pub(super) fn reserve(file: &File, offset: u64, length: u64) -> io::Result<()> {
    match retry(|| fallocate(file, FallocateFlags::KEEP_SIZE, offset, length)) {
        Err(error) if is_without(&error) => Ok(()),
        reserved => reserved,
    }
}

fn is_without(error: &io::Error) -> bool {
    const WITHOUT: [Errno; 3] = [Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    WITHOUT.iter().any(|none| error.raw_os_error() == Some(none.raw_os_error()))
}
