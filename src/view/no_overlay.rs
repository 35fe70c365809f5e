//! What takes the place of an overlay on systems without: none can be made, and a copy takes its place.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::OverlayOrder;
use super::step::{MakeFailure, MakeStep};

/// There is none.
#[derive(Debug)]
pub(crate) enum NoOverlay {}

pub(crate) use NoOverlay as Overlay;

impl NoOverlay {
    /// Fails.
    pub(crate) fn make(_order: &OverlayOrder<'_>) -> Result<Self, MakeFailure> {
        Err(MakeStep::NameSpace.failed(io::Error::new(io::ErrorKind::Unsupported, "this system has none")))
    }

    pub(crate) fn first(&self) -> i32 {
        match *self {}
    }

    pub(crate) fn root(&self) -> &Path {
        match *self {}
    }

    pub(crate) fn command(&self, _command: &[OsString], _folder: &Path) -> Vec<OsString> {
        match *self {}
    }

    pub(crate) fn opened(&self) -> io::Result<File> {
        match *self {}
    }

    pub(crate) fn end(&mut self) -> io::Result<()> {
        match *self {}
    }
}

/// No process of this program holds a view.
pub(super) const fn serve_if_asked() {}

/// No file shares the bytes of another here.
pub(super) const fn share(_from: &File, _to: &File) -> bool {
    false
}

/// The paths of what is mounted in a folder: nothing tells them here.
#[expect(clippy::unnecessary_wraps, reason = "where there are overlays, the mounts are read, which may fail")]
pub(super) const fn mounted_in(_root: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(Vec::new())
}
