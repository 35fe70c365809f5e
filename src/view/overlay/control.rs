//! What the process that holds a view tells the one that asked for it, over a socket: that it stands, with the open
//! root, or the step that failed.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::super::step::{MakeFailure, MakeStep};

/// The most bytes of a message: a step with a path.
const MESSAGE_BYTES: usize = 16 << 10;

/// A message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum HolderMessage {
    /// The view stands; its open root comes with this.
    Ready {
        /// The first process in it, by its number outside.
        first: i32,
    },
    /// It does not.
    Failed(MakeFailure),
}

/// Sends a message, with the root of the view if it stands.
pub(super) fn tell(to: BorrowedFd<'_>, message: &HolderMessage, root: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    if bytes.len() > MESSAGE_BYTES {
        bytes = serde_json::to_vec(&HolderMessage::Failed(MakeStep::Start.failed(io::ErrorKind::InvalidInput)))?;
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let root: Vec<BorrowedFd<'_>> = root.into_iter().collect();
    if !root.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&root));
    }
    sendmsg(to, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for the message, and returns the root where the view stands.
pub(super) fn hear(from: &UnixStream) -> Result<(i32, OwnedFd), MakeFailure> {
    let lost = |e: io::Error| MakeStep::Start.failed(e);
    let mut bytes = vec![0; MESSAGE_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(from.as_fd(), &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)
    });
    let length = received.map_err(|e| lost(e.into()))?.bytes;
    if length == 0 {
        return Err(lost(io::Error::other("it ended before it said anything")));
    }
    let mut opened = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    match serde_json::from_slice(&bytes[..length]).map_err(|e| lost(e.into()))? {
        HolderMessage::Failed(failed) => Err(failed),
        HolderMessage::Ready { first } => {
            Ok((first, opened.next().ok_or_else(|| lost(io::Error::other("it passed no folder on")))?))
        }
    }
}
