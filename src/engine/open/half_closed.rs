//! Open transactions whose process died between their commit and their closing.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

use super::{close_committed, is_gone, store};
use crate::engine::history::search::SearchFor;
use crate::engine::history::untrusted::UntrustedTransaction;
use crate::engine::store::state::StateLookup;
use crate::engine::{Engine, Run};
use crate::error::Result;
use crate::journal::Header;

impl Engine {
    /// Closes open transactions that are committed already; returns those that were left of them, which are open. On failure
    /// some may be closed, and the same call closes the others.
    pub fn close_committed(&self, run: Run<'_>) -> Result<Vec<String>> {
        let found = self.found()?;
        let Some(state) = found.trusted(&self.workspace)?.cloned() else { return Ok(Vec::new()) };
        let mut rests = Vec::new();
        for id in self.half_closed(&found, store::list(&state)?.into_iter().map(|(id, _)| id))? {
            match store::open(&state, &id, self.patience(run)) {
                Ok(opened) => rests.extend(close_committed(&state, opened)?),
                // Another process was about to close it.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(rests)
    }

    /// Which of these open transactions are committed.
    pub(in crate::engine) fn half_closed(
        &self,
        found: &StateLookup,
        ids: impl Iterator<Item = String>,
    ) -> Result<BTreeSet<String>> {
        let mut ids: BTreeSet<String> = ids.collect();
        if ids.is_empty() {
            return Ok(ids);
        }
        let committed = RefCell::new(HashSet::new());
        let is_it = |header: &Header| {
            committed.borrow_mut().extend(header.opened.clone());
            false
        };
        // In one pass: none of them is the one that ends it.
        self.search(found, SearchFor { is_it, may_be: |_: &UntrustedTransaction| false })?;
        let committed = committed.into_inner();
        ids.retain(|id| committed.contains(id));
        Ok(ids)
    }
}
