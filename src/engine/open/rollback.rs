//! Discards open transactions, even where their commit may be complete or interrupted.

use super::is_gone;
use super::store::OpenedFolder;
use crate::engine::history::Loaded;
use crate::engine::history::search::SearchResult;
use crate::engine::history::untrusted::UntrustedTransaction;
use crate::engine::store::state::{Section, StateFolder, StateLookup};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, NextStep, Result};

impl Engine {
    /// Discards an open transaction, which changes no file. Interrupted transactions are recovered first, since one may
    /// be its commit; a committed one can no longer be discarded. Returns warnings.
    pub fn roll_back(&self, id: &str, run: Run<'_>) -> Result<Vec<String>> {
        let (found, mut warnings) = (self.found()?, Vec::new());
        let failed = self.recover_and_sweep(&found, &mut warnings, run)?;
        match self.drop_open(&found, id, &mut warnings, run) {
            Ok(()) => Ok(warnings),
            Err(error) => Err(failed.in_front_of(error).warning_of(warnings)),
        }
    }

    fn drop_open(&self, found: &StateLookup, id: &str, warnings: &mut Vec<String>, run: Run<'_>) -> Result<()> {
        let (state, opened) = self.opened(found, id, run).map_err(|error| self.or_committed(found, id, error))?;
        // In doubt, the answer must not say that nothing was changed.
        let may_be = |untrusted: &UntrustedTransaction| {
            untrusted.section == Section::Transactions && untrusted.id.as_str() > id && !untrusted.is_foreign()
        };
        match self.committed_open(found, id, may_be)? {
            SearchResult::Nothing => super::close(&state, opened),
            SearchResult::Perhaps(untrusted) => Err(untrusted.may_be_the_commit(id, "roll it back again")),
            SearchResult::Found(loaded) => {
                // The process died between the commit and the closing.
                match super::close_committed(&state, opened) {
                    Ok(None) => {}
                    Ok(Some(rest)) => {
                        warnings.push(format!(
                            "what was not selected of {id} is open, as {rest}; nothing of it is discarded"
                        ));
                    }
                    Err(error) => {
                        warnings.push(format!("closing the open transaction {id} failed: {}", error.message()));
                    }
                }
                Err(was_committed(id, &loaded))
            }
        }
    }

    /// Opens a transaction for calls that make no sense after its commit, or while that is interrupted.
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

    /// Refuses if the commit of an open transaction is interrupted or complete.
    pub(super) fn not_committed(&self, found: &StateLookup, id: &str) -> Result<()> {
        match self.committed_open(found, id, |_| false)? {
            SearchResult::Nothing => Ok(()),
            SearchResult::Perhaps(untrusted) => Err(untrusted.is_the_commit(id)),
            // Its process died before it was closed: what is left of it is opened by a recovery.
            SearchResult::Found(loaded) => Err(was_committed(id, &loaded).with_next([NextStep::Recover { id: None }])),
        }
    }

    /// The error that names the commit, if an open transaction is gone because it was committed.
    pub(super) fn or_committed(&self, found: &StateLookup, id: &str, error: Error) -> Error {
        match self.committed_open(found, id, |_| false) {
            Ok(SearchResult::Perhaps(untrusted)) if is_gone(&error) => {
                untrusted.may_be_the_commit(id, "stage them again")
            }
            Ok(SearchResult::Found(loaded)) if is_gone(&error) => was_committed(id, &loaded),
            _ => error,
        }
    }
}

fn was_committed(id: &str, loaded: &Loaded) -> Error {
    let committed = loaded.id();
    let message = format!("{id} was committed, as {committed}; undo {committed} to revert it");
    Error::new(ErrorKind::UnknownTransaction, message)
}
