//! Views: a private copy-on-write picture of a folder for one program and everything that it starts.
//!
//! The program sees the folder at its own path, with what was put into the view; what it writes goes to an upper layer
//! beside it, and nobody outside sees any of it: no file, no event, no time stamp. It is not a sandbox: whatever else the
//! program may reach, it reaches.
//!
//! A view is an overlay in name spaces of its own. It ends, with every process in it, when this process ends it, or ends
//! itself in any way. Where there can be none, a copy at another path takes its place.
//!
//! Architecture invariant: nothing here knows of transactions, and nothing outside of it mounts.

mod before;
mod control;
mod copy;
mod folders;
mod held;
mod layer;
mod mounts;
mod namespace;
#[cfg(feature = "cli")]
mod probe;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use before::TreeBefore;
pub(crate) use control::MakeFailure;
use control::MakeStep;
pub(crate) use copy::{CopyMarks, TreeCopy};
pub(crate) use held::NOT_STARTED_MARK;
use held::OWN_PROGRAM;
pub(crate) use layer::{PutInView, Written, WrittenFile, WrittenKind, WrittenLayer, delete};
use mounts::Real;
pub(crate) use mounts::real_in;
#[cfg(feature = "cli")]
pub(crate) use probe::{NoView, try_out};

/// The variable that tells a program in a view its path.
pub(crate) const VIEW: &str = "TXEDIT_VIEW";

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
    held::serve_if_asked();
    SERVES.store(true, Ordering::Relaxed);
}

/// Returns whether this program has called [`serve_views`].
fn is_served() -> bool {
    SERVES.load(Ordering::Relaxed)
}

/// What a view is made of.
#[derive(Debug)]
pub(crate) struct OverlayOrder<'a> {
    /// The folder that is seen, without symlinks in its path.
    pub(crate) root: &'a Path,
    /// The same, open.
    pub(crate) lower: OwnedFd,
    /// An empty folder for what is written, with the metadata of `root`, on a file system that can be an upper layer.
    pub(crate) upper: OwnedFd,
    /// An empty folder beside it.
    pub(crate) work: OwnedFd,
    /// The path, relative to `root`, of the folder that has these two, as `upper` and `work`.
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
            Self::Overlay(overlay) => held::guest(overlay.first, &overlay.layers, &overlay.root.join(folder), command),
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
    pub(crate) const fn first(&self) -> Option<i32> {
        match self {
            Self::Overlay(overlay) => Some(overlay.first),
            Self::Copy(_) => None,
        }
    }

    /// The path at which a program in it sees the folder.
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Overlay(overlay) => &overlay.root,
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

/// An overlay in name spaces of its own. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Overlay {
    /// The number of its first process.
    first: i32,
    root: PathBuf,
    /// The folder with its layers, outside of it.
    layers: PathBuf,
    opened: OwnedFd,
    /// Closing it ends the holder. `None` once that was done.
    held: Option<(UnixStream, Child)>,
}

impl Overlay {
    /// Mounts one.
    pub(crate) fn make(order: &OverlayOrder<'_>) -> Result<Self, MakeFailure> {
        let failed = |e: io::Error| MakeStep::Start.failed(e);
        if !is_served() {
            return Err(failed(io::Error::other("this program does not call `serve_views` at its start")));
        }
        let real = |is_read_only| move |path: &PathBuf| Real { path: path.clone(), is_read_only };
        let real: Vec<Real> =
            order.through.iter().map(real(false)).chain(order.read_only.iter().map(real(true))).collect();
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        // Held until it stands: no other folder gets the same identities.
        let layers = mounts::identities_of([&order.lower, &order.upper, &order.work]).map_err(failed)?;
        let mut command = Command::new(OWN_PROGRAM);
        // A program in the view can read the environment of its first process.
        command
            .args(held::holder(order.root, order.layers, &layers, &real))
            .env_clear()
            .current_dir("/")
            .process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let mut holder = command.spawn().map_err(failed)?;
        // The command has our end of the holder's standard input.
        drop(command);
        match control::hear(&ours) {
            Ok((first, opened)) => {
                let (root, layers) = (order.root.to_owned(), order.root.join(order.layers));
                Ok(Self { first, root, layers, opened, held: Some((ours, holder)) })
            }
            Err(why) => {
                drop(ours);
                holder.wait().map_err(failed)?;
                Err(why)
            }
        }
    }

    /// The root of the view, open: from outside, what is seen in it is reached through this alone. It stays valid when
    /// the view has ended.
    pub(crate) fn opened(&self) -> io::Result<File> {
        Ok(self.opened.as_fd().try_clone_to_owned()?.into())
    }

    /// Ends every process in it, and its mounts. What was written stays in its layers.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        let Some((socket, mut holder)) = self.held.take() else { return Ok(()) };
        drop(socket);
        holder.wait().map(drop)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // A holder that cannot be waited for ends by itself.
        drop(self.end());
    }
}
