//! Files that are overwritten in place: a lease on one, and the room for what it grows by.
//!
//! `rustix` does not have the two commands of `fcntl` for a lease, so this module has `unsafe`: a call that takes two numbers
//! and returns one.
#![expect(unsafe_code, reason = "two commands of fcntl that no library offers")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::super::super::Lease;
use super::super::retry;

/// `F_SETSIG` of `asm-generic/fcntl.h`, which `libc` does not have.
const SET_SIGNAL: libc::c_int = 10;

/// The time that somebody who has the file open is given: most only read it. So does a program that is just being started, which
/// shares the open files of this process until it is executed.
const PATIENCE: Duration = Duration::from_millis(500);

const PAUSE: Duration = Duration::from_millis(5);

/// Takes a lease for writing. It ends when it is given up, and when the file is closed in every process that shares it.
pub(super) fn take(file: &File) -> io::Result<Lease> {
    take_within(file, PATIENCE)
}

fn take_within(file: &File, patience: Duration) -> io::Result<Lease> {
    let begun = Instant::now();
    loop {
        match try_once(file)? {
            Lease::Refused if begun.elapsed() < patience => thread::sleep(PAUSE),
            lease => return Ok(lease),
        }
    }
}

/// Gives a lease up.
pub(super) fn give_up(file: &File) -> io::Result<()> {
    Ok(command(file, libc::F_SETLEASE, libc::F_UNLCK)?)
}

fn try_once(file: &File) -> io::Result<Lease> {
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

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;
    use tempfile::TempDir;

    use super::super::super::lock::LockedFile;
    use super::super::THIS;
    use super::*;

    /// A file, and how it is opened without waiting for the end of a lease.
    fn made() -> (TempDir, impl Fn() -> io::Result<File>) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        fs::write(&path, "text").unwrap();
        let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        (scratch, move || OpenOptions::new().read(true).write(true).custom_flags(no_wait).open(&path))
    }

    #[test]
    fn a_lease_is_given_up_although_another_process_has_the_same_open_file() {
        let (_scratch, open) = made();
        let leased = LockedFile::new(open().unwrap());
        assert_eq!(leased.lease(&THIS).unwrap(), Lease::Granted);
        // As a forked process has it.
        let _shared = leased.file.try_clone().unwrap();
        assert_eq!(open().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(leased);
        open().unwrap();
    }

    #[test]
    fn who_has_the_file_open_for_a_moment_is_waited_for() {
        let (_scratch, open) = made();
        let (file, reader) = (open().unwrap(), open().unwrap());
        assert_eq!(take_within(&file, Duration::ZERO).unwrap(), Lease::Refused);
        let closes = move || {
            thread::sleep(Duration::from_millis(20));
            drop(reader);
        };
        let other = thread::Builder::new().spawn(closes).unwrap();
        assert_eq!(take_within(&file, Duration::from_secs(60)).unwrap(), Lease::Granted);
        other.join().unwrap();
    }
}
