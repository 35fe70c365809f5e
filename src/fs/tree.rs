//! The contents of a folder in which another program wrote.
//!
//! This is apart from [`Fs`](super::Fs): it is not part of any transaction. No symlink is followed, and only regular
//! files are opened.

use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// A file, symlink or special file in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Relative to the folder.
    pub path: PathBuf,
    /// The content of a regular file; `None` for a symlink, a device and the like.
    pub content: Option<Vec<u8>>,
}

/// Everything in `folder` except folders, sorted by path. More than `files` entries, or `bytes` of contents, is an
/// error.
pub fn contents(folder: &Path, files: usize, bytes: u64) -> Result<Vec<TreeEntry>> {
    let mut found = Vec::new();
    let mut room = bytes;
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        let at = folder.join(&inner);
        for entry in fs::read_dir(&at).map_err(|e| Error::io("list", &at, e))? {
            let entry = entry.map_err(|e| Error::io("list", &at, e))?;
            let path = inner.join(entry.file_name());
            let kind = entry.file_type().map_err(|e| Error::io("look at", entry.path(), e))?;
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            let content = if kind.is_file() { Some(read(&entry.path(), &mut room)?) } else { None };
            found.push(TreeEntry { path, content });
        }
        if found.len() + folders.len() > files {
            let message = format!("there are more than {files} files in {}", folder.display());
            return Err(Error::new(ErrorKind::RequestTooLarge, message).at(folder));
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The whole content, if there is room for it.
fn read(path: &Path, room: &mut u64) -> Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|e| Error::io("open", path, e))?;
    let mut content = Vec::new();
    file.take(*room + 1).read_to_end(&mut content).map_err(|e| Error::io("read", path, e))?;
    let Some(rest) = room.checked_sub(content.len() as u64) else {
        let message = format!("{} exceeds what may be read from its folder", path.display());
        return Err(Error::new(ErrorKind::RequestTooLarge, message).at(path));
    };
    *room = rest;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_links_are_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path();
        fs::create_dir_all(base.join("b/c")).unwrap();
        fs::write(base.join("b/c/d"), "12").unwrap();
        fs::write(base.join(".a"), "345").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", base.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc", base.join("outside")).unwrap();
        let entry =
            |path: &str, content: Option<&str>| TreeEntry { path: path.into(), content: content.map(Into::into) };
        let expected =
            [entry(".a", Some("345")), entry("b/c/d", Some("12")), entry("link", None), entry("outside", None)];
        assert_eq!(contents(base, 10, 5).unwrap(), expected);
        assert_eq!(contents(base, 10, 4).unwrap_err().kind(), ErrorKind::RequestTooLarge);
        assert_eq!(contents(base, 3, 5).unwrap_err().kind(), ErrorKind::RequestTooLarge);
    }
}
