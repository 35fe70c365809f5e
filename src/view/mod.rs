//! Views: a private copy-on-write picture of a folder for one program and everything that it starts.
//!
//! The program sees the folder at its own path, with what was put into the view; what it writes goes to an upper layer
//! beside it, and nobody outside sees any of it: no file, no event, no time stamp. It is not a sandbox: whatever else the
//! program may reach, it reaches.
//!
//! A view is an overlay in name spaces of its own. It ends, with every process in it, when this process ends it, or ends
//! itself in any way. Where there can be none, a copy at another path takes its place.
//!
//! Only Linux has overlays and name spaces. Elsewhere there is the copy alone.
//!
//! Architecture invariant: nothing here knows of transactions, and nothing outside of it mounts.

mod before;
mod copy;
mod folders;
mod layer;
#[cfg(not(target_os = "linux"))]
mod no_overlay;
#[cfg(target_os = "linux")]
mod overlay;
#[cfg(feature = "cli")]
mod probe;
mod step;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::path::bounds::VCS_FOLDERS;
pub(crate) use before::TreeBefore;
pub(crate) use copy::{CopyMarks, TreeCopy};
pub(crate) use layer::{PutInView, Written, WrittenFile, WrittenKind, WrittenLayer, delete};
#[cfg(not(target_os = "linux"))]
use no_overlay as overlay;
pub(crate) use overlay::Overlay;
#[cfg(feature = "cli")]
pub(crate) use probe::{NoView, try_out};

/// The variable that tells a program in a view its path.
pub(crate) const VIEW: &str = "TXEDIT_VIEW";

/// The folder that a program of a view leaves beside the layers if it could not be started.
pub(crate) const NOT_STARTED_MARK: &str = "not-started";

/// True once this program has said that it serves views.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Lets this program make views: it must be called at the very start of `main`, before there is a second thread, since
/// a view is held by this same program, started anew. In such a process this never returns.
///
/// ```no_run
/// txedit::check::serve_views();
/// // …
/// ```
pub fn serve_views() {
    overlay::serve_if_asked();
    SERVES.store(true, Ordering::Relaxed);
}

/// Returns whether this program has called [`serve_views`].
#[cfg(any(target_os = "linux", feature = "cli"))]
fn is_served() -> bool {
    SERVES.load(Ordering::Relaxed)
}

/// The paths in a folder that can only be read in a view of it: version control, and what is mounted there.
pub(crate) fn real_in(root: &Path) -> io::Result<Vec<PathBuf>> {
    let is_there = |name: &PathBuf| root.join(name).symlink_metadata().is_ok_and(|it| !it.is_symlink());
    let vcs = VCS_FOLDERS.iter().map(PathBuf::from).filter(is_there);
    let mut mounted = overlay::mounted_in(root)?;
    // What is in another one of them comes with that.
    mounted.dedup_by(|later, earlier| later.starts_with(earlier));
    Ok(vcs.chain(mounted).collect())
}

/// The paths of what is mounted in a folder, relative to it, each before those in it.
#[cfg(feature = "cli")]
pub(crate) fn mounted_in(root: &Path) -> io::Result<Vec<PathBuf>> {
    overlay::mounted_in(root)
}

/// What a view is made of.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing else makes one"))]
pub(crate) struct OverlayOrder<'a> {
    /// The folder that is seen, without symlinks in its path.
    pub(crate) root: &'a Path,
    /// The same, open.
    pub(crate) lower: OwnedFd,
    /// An empty folder for what is written, with the metadata of `root`, on a file system that can be an upper layer.
    pub(crate) upper: OwnedFd,
    /// An empty folder beside it.
    pub(crate) work: OwnedFd,
    /// The path of the folder that has these two, as `upper` and `work`; relative to `root` if it is in there.
    pub(crate) layers: &'a Path,
    /// Paths in the folder that are not copied on write; they must exist.
    pub(crate) through: &'a [PathBuf],
    /// Paths in the folder that may only be read; they must exist.
    pub(crate) read_only: &'a [PathBuf],
}

/// A view that stands. It ends when this is dropped.
#[derive(Debug)]
pub(crate) enum View {
    /// At the path of the folder itself.
    Overlay(Overlay),
    /// A copy, at another path.
    Copy(PathBuf),
}

impl View {
    /// The command, to be started outside in [`folder`](Self::folder), that runs another command in this view, in a folder
    /// relative to its root.
    pub(crate) fn command(&self, command: &[OsString], folder: &Path) -> Vec<OsString> {
        match self {
            Self::Overlay(overlay) => overlay.command(command, folder),
            Self::Copy(_) => command.to_vec(),
        }
    }

    /// The folder in which that is started.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Overlay(_) => Path::new("/"),
            Self::Copy(path) => path,
        }
    }

    /// The number of its first process outside of it, if it has processes of its own. The program itself and what it starts
    /// have others.
    pub(crate) fn first(&self) -> Option<i32> {
        match self {
            Self::Overlay(overlay) => Some(overlay.first()),
            Self::Copy(_) => None,
        }
    }

    /// The path at which a program in it sees the folder.
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Overlay(overlay) => overlay.root(),
            Self::Copy(path) => path,
        }
    }

    /// Ends every process in it, and its mounts. What was written stays in its layers.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Overlay(overlay) => overlay.end(),
            Self::Copy(_) => Ok(()),
        }
    }
}
