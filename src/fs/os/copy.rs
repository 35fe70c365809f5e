//! Copies through memory.

use std::fs::File;
use std::io;

use rustix::io::{pread, pwrite};

use super::retry;
use crate::limits::CHUNK_BYTES;

/// Copies up to `length` bytes; fewer if there are many.
pub(super) fn through_memory(from: &File, from_at: u64, to: &File, to_at: u64, length: usize) -> io::Result<u64> {
    let mut buffer = vec![0; length.min(CHUNK_BYTES)];
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
