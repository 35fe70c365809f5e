//! A view at the path of the folder itself: an overlay in name spaces of its own, held by a process of its own.

mod control;
mod held;
mod mounts;
mod namespace;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::step::{MakeFailure, MakeStep};
use super::{OverlayOrder, is_served};
use held::OWN_PROGRAM;
pub(super) use held::serve_if_asked;
use mounts::Real;
pub(super) use mounts::mounted_in;

/// Makes a file share the bytes of another; returns whether it could.
pub(super) fn share(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
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
    /// The number of its first process.
    pub(crate) const fn first(&self) -> i32 {
        self.first
    }

    /// The path of the folder that is seen.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The command, to be started outside, that runs another command in it, in a folder relative to its root.
    pub(crate) fn command(&self, command: &[OsString], folder: &Path) -> Vec<OsString> {
        held::guest(self.first, &self.layers, &self.root.join(folder), command)
    }

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
