//! Copies inside the system.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::{FallocateFlags, Mode, OFlags, copy_file_range, fallocate};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::retry;
use crate::limits::CHUNK_BYTES;

/// Copies up to `length` bytes. `copy_file_range` shares them if the file system can and the offsets are aligned, so no
/// separate call to share them is needed.
pub(super) fn range(from: &File, from_at: u64, to: &File, to_at: u64, length: u64) -> io::Result<u64> {
    let asked = usize::try_from(length).unwrap_or(usize::MAX);
    if asked == 0 {
        return Ok(0);
    }
    let copied = retry_on_intr(|| copy_file_range(from, Some(&mut { from_at }), to, Some(&mut { to_at }), asked));
    match copied {
        Ok(copied) if copied > 0 => return Ok(copied as u64),
        // Zero bytes usually means the end, but some file systems generate contents as they are read, and copy nothing.
        // The errors: two file systems, one that cannot, a kernel that cannot, sandboxes that do not know the call.
        Ok(_) | Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    through_memory(from, from_at, to, to_at, asked.min(CHUNK_BYTES))
}

/// Frees a range of a file that is open for reading: it is opened for writing by its number, which no name is in.
pub(super) fn free(of: &File, offset: u64, length: u64) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", of.as_raw_fd());
    let file = retry(|| rustix::fs::open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()))?;
    retry(|| fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length))
}

fn through_memory(from: &File, from_at: u64, to: &File, to_at: u64, length: usize) -> io::Result<u64> {
    let mut buffer = vec![0; length];
    let read = retry(|| pread(from, &mut buffer[..], from_at))?;
    let mut written = 0;
    while written < read {
        match retry(|| pwrite(to, &buffer[written..read], to_at + written as u64))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            some => written += some,
        }
    }
    Ok(read as u64)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn content_that_only_reading_shows_is_copied() {
        // Files of /proc have no size; copy_file_range takes them for empty or refuses them.
        let from = File::open("/proc/self/stat").unwrap();
        let to = tempfile::tempfile().unwrap();
        assert!(range(&from, 0, &to, 0, u64::MAX).unwrap() > 0);
    }

    #[test]
    fn through_memory_goes_piece_by_piece_to_the_end() {
        let mut from = tempfile::tempfile().unwrap();
        let to = tempfile::tempfile().unwrap();
        from.write_all(b"0123456789").unwrap();
        assert_eq!(through_memory(&from, 2, &to, 1, 5).unwrap(), 5);
        assert_eq!(through_memory(&from, 7, &to, 6, 5).unwrap(), 3);
        assert_eq!(through_memory(&from, 10, &to, 9, 5).unwrap(), 0);
        let mut copied = [0; 16];
        assert_eq!(pread(&to, &mut copied[..], 0).unwrap(), 9);
        assert_eq!(&copied[..9], b"\x0023456789");
    }
}
