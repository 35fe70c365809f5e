//! How slots and targets change places in a state folder's file system, as it is found out by trial.

use super::StateFolder;
use crate::engine::store::births;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::probe;
use crate::identity::Identity;
use crate::journal::{Swap, SwapMethod};

const CANNOT_EXCHANGE: &str = "two names cannot be exchanged (renameat2 RENAME_EXCHANGE)";
const CANNOT_MOVE: &str = "a name cannot be taken only where it is free (renameat2 RENAME_NOREPLACE, or link)";
const CANNOT_LINK: &str = "a file cannot have a second name (link)";

impl StateFolder {
    pub(super) fn take_method(&mut self, method: Option<SwapMethod>) {
        self.only_overwrites = method.is_none();
        self.swap = method.unwrap_or_default();
    }

    /// Finds out by trial how slots and targets change places here. Where they cannot, files must be allowed to be
    /// overwritten.
    pub(super) fn probe_swap(&mut self) -> Result<()> {
        let method = probe::swap_method(self.workspace.fs(), &self.folder);
        let method = method.map_err(|e| Error::io("try to exchange names in", self.folder.path(), e))?;
        if method.is_none() && !self.workspace.overwrites {
            return Err(self.cannot_swap(CANNOT_EXCHANGE).with_next([NextStep::Overwrite]));
        }
        self.take_method(method);
        Ok(())
    }

    /// The identity by which a transaction's folder is known again, as far as one lasts here. Where nothing but overwriting
    /// can be done a number may be dealt out anew as soon as the system has forgotten the folder.
    pub(crate) fn recorded(&self, folder: Identity) -> Result<Identity> {
        if self.only_overwrites {
            return Ok(folder.without_number());
        }
        Ok(folder.to_record(self.file_system()?.keeps_numbers))
    }

    /// Returns whether a transaction leaves a proof outside the workspace that it was written here.
    pub(crate) fn leaves_proof(&self) -> Result<bool> {
        Ok(births::is_needed(self.swap, &self.recorded(self.stat.identity)?))
    }

    /// This folder for a commit that swaps as it was asked to.
    pub(crate) fn swapping(mut self, swap: Swap) -> Result<Self> {
        let is_worse = self.only_overwrites || self.swap != SwapMethod::Exchange && swap != Swap::Aside;
        if is_worse && !self.fresh {
            // What was found out in a sandbox does not hold outside of it.
            self.probe_swap()?;
        }
        self.swap = match (swap, self.swap) {
            (Swap::Exchange, SwapMethod::Rename | SwapMethod::Link) => return Err(self.cannot_swap(CANNOT_EXCHANGE)),
            (Swap::Aside, SwapMethod::Exchange) => {
                let method = probe::stepwise_method(self.workspace.fs(), &self.folder);
                let method = method.map_err(|e| Error::io("try to move names in", self.folder.path(), e))?;
                method.ok_or_else(|| self.cannot_swap(CANNOT_MOVE))?
            }
            (_, probed) => probed,
        };
        Ok(self)
    }

    /// This folder for a commit in which names change places by second names, as another of its file systems wants it.
    pub(crate) fn linking(mut self) -> Result<Self> {
        let links = probe::links(self.workspace.fs(), &self.folder);
        if !links.map_err(|e| Error::io("try to link names in", self.folder.path(), e))? {
            return Err(self.cannot_swap(CANNOT_LINK));
        }
        self.swap = SwapMethod::Link;
        Ok(self)
    }

    fn cannot_swap(&self, why: &str) -> Error {
        let root = self.workspace.root.path();
        let keeps_numbers = probe::keeps_file_numbers(self.workspace.fs(), &self.folder).unwrap_or(true);
        let message = if keeps_numbers {
            format!("{why} in {}: its file system cannot, or a sandbox forbids it", root.display())
        } else {
            format!(
                "{} is on {}, which gives a file another number with each name: {}",
                root.display(),
                self.file_system().map_or("a file system", |system| &system.name),
                probe::NUMBERS_BY_NAME
            )
        };
        Error::new(ErrorKind::UnsupportedFileSystem, message).at(root).with_next([NextStep::Doctor])
    }
}
