//! Swaps an entry: exchanges its slot and its target, forward and back.

use std::io;

use super::TransactionFolder;
use crate::engine::store::snapshot;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Name, Rename};
use crate::index::EntryIndex;
use crate::journal::{RecordedChange, slot_name};

/// The direction of a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

impl TransactionFolder<'_> {
    /// Exchanges slot and target, or moves the one of the two that exists to the other.
    pub(crate) fn swap(&self, entry: EntryIndex) -> Result<()> {
        let parent = self.parent(entry)?;
        self.rename(entry, parent, Direction::Forward).map_err(|e| self.swap_failed(entry, e))
    }

    /// The reverse of [`swap`](Self::swap).
    pub(crate) fn swap_back(&self, entry: EntryIndex) -> Result<()> {
        let parent = self.parent(entry)?;
        self.rename(entry, parent, Direction::Back).map_err(|e| Error::io("put back", self.path(entry), e))
    }

    fn rename(&self, entry: EntryIndex, parent: &Handle, direction: Direction) -> io::Result<()> {
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let target = Name::new(parent, self.record(entry).path.name());
        let (from, to, how) = match self.record(entry).change {
            RecordedChange::Edit { .. } | RecordedChange::FileToFolder { .. } | RecordedChange::FolderToFile { .. } => {
                (slot, target, Rename::Exchange)
            }
            RecordedChange::Create { .. } | RecordedChange::Folder { .. } => (slot, target, Rename::NoReplace),
            RecordedChange::Delete { .. } | RecordedChange::RemoveFolder { .. } => (target, slot, Rename::NoReplace),
        };
        let fs = self.workspace().fs();
        match direction {
            Direction::Back if how != Rename::Exchange => fs.rename(to, from, how),
            // An exchange is its own reverse.
            _ => fs.rename(from, to, how),
        }
    }

    fn swap_failed(&self, entry: EntryIndex, error: io::Error) -> Error {
        let path = self.path(entry);
        match errno::of(&error) {
            // A name that came or went between the verification and the swap: another program did that.
            Some(Errno::EXIST | Errno::NOENT) => snapshot::changed(&path, "appeared or vanished"),
            Some(Errno::INVAL) => {
                let message = format!("{} is on a file system that cannot exchange names", path.display());
                Error::new(ErrorKind::UnsupportedFileSystem, message).at(path)
            }
            Some(Errno::XDEV) if self.record(entry).change.folder_before().is_some() => {
                let message = format!(
                    "{} is a folder that this file system does not move (overlayfs without redirect_dir); delete what is in \
                     it in a transaction of its own, remove the folder (rmdir), then send the rest",
                    path.display()
                );
                Error::new(ErrorKind::CrossDevice, message).at(path)
            }
            _ => Error::io("swap", path, error),
        }
    }
}
