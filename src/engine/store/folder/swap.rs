//! Swaps an entry: exchanges its slot and its target, forward and back.

use super::TransactionFolder;
use crate::engine::store::snapshot;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Name, Rename};
use crate::journal::{RecordedChange, slot_name};

impl TransactionFolder<'_> {
    /// Exchanges slot and target, or moves the one of the two that exists to the other.
    pub(crate) fn swap(&self, entry: usize) -> Result<()> {
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let (from, to, how) = match self.record(entry).change {
            RecordedChange::Edit { .. } | RecordedChange::FileToFolder { .. } | RecordedChange::FolderToFile { .. } => {
                (slot, target, Rename::Exchange)
            }
            RecordedChange::Create { .. } | RecordedChange::Folder { .. } => (slot, target, Rename::NoReplace),
            RecordedChange::Delete { .. } | RecordedChange::RemoveFolder { .. } => (target, slot, Rename::NoReplace),
        };
        self.workspace().fs().rename(from, to, how).map_err(|e| self.swap_failed(entry, e))
    }

    /// The reverse of [`swap`](Self::swap).
    pub(crate) fn swap_back(&self, entry: usize) -> Result<()> {
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let (from, to, how) = match self.record(entry).change {
            RecordedChange::Edit { .. } | RecordedChange::FileToFolder { .. } | RecordedChange::FolderToFile { .. } => {
                (slot, target, Rename::Exchange)
            }
            RecordedChange::Create { .. } | RecordedChange::Folder { .. } => (target, slot, Rename::NoReplace),
            RecordedChange::Delete { .. } | RecordedChange::RemoveFolder { .. } => (slot, target, Rename::NoReplace),
        };
        self.workspace().fs().rename(from, to, how).map_err(|e| Error::io("put back", self.path(entry), e))
    }

    fn swap_failed(&self, entry: usize, error: std::io::Error) -> Error {
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
