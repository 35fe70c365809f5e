//! Swaps an entry: its slot and its target change places, forward and back.

use std::io;

use super::TransactionFolder;
use crate::engine::store::snapshot;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{Handle, Name, Rename, probe};
use crate::index::EntryIndex;
use crate::journal::{RecordedChange, SwapMethod, slot_name};

/// The direction of a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwapDirection {
    /// What is in the slot was staged, and is nobody's work.
    Forward,
    /// Forward once more, with what a rollback brought into the slot.
    Again,
    Back,
}

impl TransactionFolder<'_> {
    /// Exchanges slot and target, or moves the one of the two that exists to the other; or overwrites the target.
    pub(crate) fn swap(&self, entry: EntryIndex) -> Result<()> {
        if self.record(entry).change.overwrites() {
            return self.overwrite(entry);
        }
        let parent = self.parent(entry)?;
        self.move_names(entry, parent, SwapDirection::Forward).map_err(|e| self.swap_failed(entry, e))
    }

    /// The same in a rollback: what is in the slot may be another program's.
    pub(crate) fn swap_again(&self, entry: EntryIndex) -> Result<()> {
        let parent = self.parent(entry)?;
        self.move_names(entry, parent, SwapDirection::Again).map_err(|e| self.swap_failed(entry, e))
    }

    /// The reverse of [`swap`](Self::swap).
    pub(crate) fn swap_back(&self, entry: EntryIndex) -> Result<()> {
        let parent = self.parent(entry)?;
        self.move_names(entry, parent, SwapDirection::Back).map_err(|e| Error::io("put back", self.path(entry), e))
    }

    fn move_names(&self, entry: EntryIndex, parent: &Handle, direction: SwapDirection) -> io::Result<()> {
        debug_assert!(!self.record(entry).change.overwrites(), "no name of a file that is overwritten changes");
        let slot = slot_name(entry);
        let slot = Name::new(self.slots_of(entry), &slot);
        let target = Name::new(parent, self.record(entry).path.name());
        match (&self.record(entry).change, direction) {
            (
                RecordedChange::Edit { .. } | RecordedChange::FileToFolder { .. } | RecordedChange::FolderToFile { .. },
                _,
            ) => match self.journal.header.swap {
                // It is its own reverse.
                SwapMethod::Exchange => self.workspace().fs().rename(slot, target, Rename::Exchange),
                SwapMethod::Rename | SwapMethod::Link => self.exchange_stepwise(entry, [slot, target], direction),
            },
            (
                RecordedChange::Create { .. } | RecordedChange::Folder { .. },
                SwapDirection::Forward | SwapDirection::Again,
            )
            | (RecordedChange::Delete { .. } | RecordedChange::RemoveFolder { .. }, SwapDirection::Back) => {
                self.give_name(slot, target, direction)
            }
            _ => self.take_name(target, slot),
        }
    }

    /// Returns whether names that are to be exchanged cannot be.
    fn cannot_exchange(&self, entry: EntryIndex) -> bool {
        let is_to = self.journal.header.swap == SwapMethod::Exchange;
        is_to && !probe::exchanges(self.workspace().fs(), self.slots_of(entry)).unwrap_or(true)
    }

    fn swap_failed(&self, entry: EntryIndex, error: io::Error) -> Error {
        let path = self.path(entry);
        match errno::of(&error) {
            // A name that came or went between the verification and the swap: another program did that.
            Some(Errno::EXIST | Errno::NOENT) => snapshot::changed(&path, "appeared or vanished"),
            Some(Errno::INVAL | Errno::PERM | Errno::NOSYS) if self.cannot_exchange(entry) => {
                let message = format!(
                    "{} cannot be exchanged with its new content: the file system could when the state folder was made, and \
                     now it cannot, or a sandbox forbids it",
                    path.display()
                );
                Error::new(ErrorKind::UnsupportedFileSystem, message).at(path).with_next([NextStep::SwapAside])
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
