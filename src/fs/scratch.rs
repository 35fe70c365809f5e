//! A temporary folder, removed when dropped: the tour takes place in it.
//!
//! This is apart from [`Fs`](super::Fs): to show what the engine does, files must be read independently of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};

/// A temporary folder with its content.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes a new folder in `parent` that only this user can read.
    pub fn new_in(parent: &Path) -> Result<Self> {
        let made = tempfile::Builder::new().prefix("txedit-").tempdir_in(parent);
        made.map(Self).map_err(|e| Error::io("make a folder in", parent, e))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes a folder in it.
    pub fn make_folder(&self, name: &Path) -> Result<()> {
        let path = self.path().join(name);
        fs::create_dir(&path).map_err(|e| Error::io("make", &path, e))
    }

    /// Makes the missing folders above the file `name`.
    #[cfg_attr(
        not(any(feature = "delegate", feature = "testing")),
        expect(dead_code, reason = "only a delegation asks for it")
    )]
    pub fn make_folders_of(&self, name: &Path) -> Result<()> {
        let path = self.path().join(name.parent().unwrap_or(Path::new("")));
        fs::create_dir_all(&path).map_err(|e| Error::io("make", &path, e))
    }

    /// Writes a file in it.
    pub fn write(&self, name: &Path, content: &[u8]) -> Result<()> {
        let path = self.path().join(name);
        fs::write(&path, content).map_err(|e| Error::io("write", &path, e))
    }

    /// The content of a file in it; `None` if it does not exist.
    pub fn read(&self, name: &Path) -> Result<Option<Vec<u8>>> {
        read(&self.path().join(name))
    }

    /// Keeps the folder for inspection; returns its path.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        self.0.keep()
    }
}

/// The content of the file at `path`; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", path, e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_with_its_owner_unless_kept() {
        let scratch = Scratch::new_in(&std::env::temp_dir()).unwrap();
        let name = Path::new("a");
        assert_eq!(scratch.read(name).unwrap(), None);
        scratch.write(name, b"x").unwrap();
        assert_eq!(scratch.read(name).unwrap(), Some(b"x".to_vec()));
        let kept = scratch.keep();
        assert!(kept.join(name).exists());
        fs::remove_dir_all(&kept).unwrap();

        let scratch = Scratch::new_in(&std::env::temp_dir()).unwrap();
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
