//! Writes files that are not part of a workspace.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

/// Writes a whole file, and makes the folders above it. After a failure the file may be cut off.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
    written.map_err(|e| Error::io("write", path, e))
}
