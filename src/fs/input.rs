//! Reads input that is not part of a workspace: a file, a pipe, standard input.
//!
//! This is apart from [`Fs`](super::Fs): it is not part of any transaction.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// Reads the whole content of the file or pipe at `path`, at most `limit` bytes.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    read_all(file, path, limit)
}

/// Returns whether users other than the file's owner may read or write it.
#[cfg_attr(
    not(any(feature = "delegate", feature = "testing")),
    expect(dead_code, reason = "only a delegation asks for it")
)]
pub fn is_open_to_others(path: &Path) -> Result<bool> {
    let metadata = path.metadata().map_err(|e| Error::io("look at", path, e))?;
    Ok(metadata.permissions().mode() & 0o077 != 0)
}

/// Reads standard input to its end, at most `limit` bytes.
pub fn read_stdin(limit: u64) -> Result<Vec<u8>> {
    read_all(io::stdin().lock(), Path::new("standard input"), limit)
}

fn read_all(from: impl Read, name: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes).map_err(|e| Error::io("read", name, e))?;
    if bytes.len() as u64 > limit {
        let message = format!("{} has more than {limit} bytes; split it into several requests", name.display());
        return Err(Error::new(ErrorKind::RequestTooLarge, message).at(name));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_and_what_is_larger_is_refused() {
        let name = Path::new("plan");
        assert_eq!(read_all(&b"1234"[..], name, 4).unwrap(), b"1234");
        assert_eq!(read_all(&b"12345"[..], name, 4).unwrap_err().kind(), ErrorKind::RequestTooLarge);
    }
}
