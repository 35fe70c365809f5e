//! Contents that are given as files.

use std::path::{Path, PathBuf};

use crate::path::{PathProblem, RelPath};

/// A regular file outside of what a request can name, which is given away as a content, however large: it is never in memory
/// as a whole. Where the file system shares contents between files, it takes no second place either.
///
/// It must not be written from the call on, and whoever gave it away removes it afterwards, unless it is
/// [used up](Self::used_up). The new file has its mode, owner,
/// time and attributes, but for those that an overlay keeps for itself.
#[derive(Debug, Clone)]
pub struct HeldFile {
    folder: PathBuf,
    path: RelPath,
    is_used_up: bool,
}

impl HeldFile {
    /// The file at `path` beneath `folder`, an absolute path that the caller trusts; no symlink on either is followed.
    ///
    /// An error if `path` is no path beneath a folder.
    pub fn new(folder: impl Into<PathBuf>, path: impl AsRef<Path>) -> Result<Self, PathProblem> {
        Ok(Self { folder: folder.into(), path: RelPath::new(path.as_ref())?, is_used_up: false })
    }

    /// The commit takes the file away as it copies it, so that at no time there is room taken for both; if it fails, the
    /// file may be gone. A dry run leaves it.
    #[must_use]
    pub fn used_up(mut self) -> Self {
        self.is_used_up = true;
        self
    }

    /// The folder that the caller trusts.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.is_used_up
    }

    /// The path beneath it.
    pub(crate) fn path(&self) -> &RelPath {
        &self.path
    }
}
