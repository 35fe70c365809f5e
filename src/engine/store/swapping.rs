//! Finds out by trial how names change places in a state folder, and so around it.

use super::state::StateFolder;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::probe;
use crate::journal::{Swap, SwapMethod};

const CANNOT_EXCHANGE: &str = "two names cannot be exchanged (renameat2 RENAME_EXCHANGE)";
const CANNOT_MOVE: &str = "a name cannot be taken only where it is free (renameat2 RENAME_NOREPLACE, or link)";
const CANNOT_LINK: &str = "a file cannot have a second name (link)";

impl StateFolder {
    /// Finds out by trial how slots and targets change places here.
    pub(super) fn probe_swap(&self) -> Result<SwapMethod> {
        let method = probe::swap_method(self.workspace.fs(), &self.folder);
        let method = method.map_err(|e| Error::io("try to exchange names in", self.folder.path(), e))?;
        method.ok_or_else(|| self.cannot_swap(CANNOT_EXCHANGE))
    }

    /// This folder for a commit that swaps as it was asked to.
    pub(crate) fn swapping(mut self, swap: Swap) -> Result<Self> {
        if self.swap != SwapMethod::Exchange && swap != Swap::Aside && !self.fresh {
            // What was found out in a sandbox does not hold outside of it.
            self.swap = self.probe_swap()?;
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
