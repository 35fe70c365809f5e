//! Rolls back open transactions, though their commit may be through or interrupted.

use super::is_gone;
use super::store::OpenedFolder;
use crate::engine::history::Loaded;
use crate::engine::history::search::SearchResult;
use crate::engine::history::untrusted::Doubtful;
use crate::engine::store::state::{Section, StateFolder, StateLookup};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};

impl Engine {
    /// Drops an open transaction, by which no file is changed. What is interrupted is recovered first, for it may be its
    /// commit: one that is committed after that cannot be dropped any more. On failure it is still open, unless it
    /// was committed. Answers what is to be told besides.
    pub fn roll_back(&self, id: &str, run: Run<'_>) -> Result<Vec<String>> {
        let (found, mut warnings) = (self.found()?, Vec::new());
        let failed = self.recover_own(&found, &mut warnings, run)?;
        match self.drop_open(&found, id, &mut warnings, run) {
            Ok(()) => Ok(warnings),
            Err(error) => Err(failed.in_front_of(error).warning_of(warnings)),
        }
    }

    fn drop_open(&self, found: &StateLookup, id: &str, warnings: &mut Vec<String>, run: Run<'_>) -> Result<()> {
        let (state, opened) = self.opened(found, id, run).map_err(|error| self.or_committed(found, id, error))?;
        // In doubt it is not said that nothing was changed.
        let may_be = |doubtful: &Doubtful| {
            doubtful.section == Section::Transactions && doubtful.id.as_str() > id && !doubtful.is_foreign()
        };
        match self.committed_open(found, id, may_be)? {
            SearchResult::Nothing => super::close(&state, opened),
            SearchResult::Perhaps(doubtful) => Err(doubtful.may_be_the_commit(id, "roll it back again")),
            SearchResult::Found(loaded) => {
                // The process died between its commit and this.
                if let Err(error) = super::close(&state, opened) {
                    warnings.push(format!("the open transaction {id} could not be closed: {}", error.message()));
                }
                Err(was_committed(id, &loaded))
            }
        }
    }

    /// The same for what makes no sense after its commit, nor while that is interrupted.
    pub(super) fn still_open(
        &self,
        found: &StateLookup,
        id: &str,
        run: Run<'_>,
    ) -> Result<(StateFolder, OpenedFolder)> {
        let (state, opened) = self.opened(found, id, run).map_err(|error| self.or_committed(found, id, error))?;
        self.not_committed(found, id)?;
        Ok((state, opened))
    }

    /// Refuses where the commit of what is still open is interrupted, or through.
    pub(super) fn not_committed(&self, found: &StateLookup, id: &str) -> Result<()> {
        match self.committed_open(found, id, |_| false)? {
            SearchResult::Nothing => Ok(()),
            SearchResult::Perhaps(doubtful) => Err(doubtful.is_the_commit(id)),
            SearchResult::Found(loaded) => Err(was_committed(id, &loaded)),
        }
    }

    /// Returns the error that names its commit if an open transaction is gone because it was committed.
    pub(super) fn or_committed(&self, found: &StateLookup, id: &str, error: Error) -> Error {
        match self.committed_open(found, id, |_| false) {
            Ok(SearchResult::Perhaps(doubtful)) if is_gone(&error) => {
                doubtful.may_be_the_commit(id, "stage them again")
            }
            Ok(SearchResult::Found(loaded)) if is_gone(&error) => was_committed(id, &loaded),
            _ => error,
        }
    }
}

fn was_committed(id: &str, loaded: &Loaded) -> Error {
    let committed = loaded.id();
    let message = format!("{id} was committed, as {committed}; undo {committed} to take it back");
    Error::new(ErrorKind::UnknownTransaction, message)
}
