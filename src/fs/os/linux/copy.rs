//! Copies inside the kernel, and files with holes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::{FallocateFlags, Mode, OFlags, copy_file_range, fallocate};
use rustix::io::{Errno, retry_on_intr};

use super::super::copy::through_memory;
use super::super::retry;

/// Copies up to `length` bytes. `copy_file_range` shares them if the file system can and the offsets are aligned, so no
/// separate call to share them is needed.
pub(super) fn range(from: &File, from_at: u64, to: &File, to_at: u64, length: usize) -> io::Result<u64> {
    let copied = retry_on_intr(|| copy_file_range(from, Some(&mut { from_at }), to, Some(&mut { to_at }), length));
    match copied {
        Ok(copied) if copied > 0 => return Ok(copied as u64),
        // Zero bytes usually means the end, but some file systems generate contents as they are read, and copy nothing.
        // The errors: two file systems, one that cannot, a kernel that cannot, sandboxes that do not know the call.
        Ok(_) | Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    through_memory(from, from_at, to, to_at, length)
}

/// Frees a range of a file that is open for reading: it is opened for writing by its number, which no name is in.
pub(super) fn free(of: &File, offset: u64, length: u64) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", of.as_raw_fd());
    let file = retry(|| rustix::fs::open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()))?;
    retry(|| fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_that_only_reading_shows_is_copied() {
        // Files of /proc have no size; copy_file_range takes them for empty or refuses them.
        let from = File::open("/proc/self/stat").unwrap();
        let to = tempfile::tempfile().unwrap();
        assert!(range(&from, 0, &to, 0, usize::MAX).unwrap() > 0);
    }
}
