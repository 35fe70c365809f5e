//! Finds a committed transaction by its header: its key, its request, or the open transaction that it was.

use super::untrusted::{self, UntrustedTransaction};
use super::{HistoryEntry, Loaded, whole_history};
use crate::engine::Engine;
use crate::engine::store::state::StateLookup;
use crate::error::Result;
use crate::journal::Header;

/// The condition of a search for a committed transaction.
pub(crate) struct SearchFor<I, M> {
    /// True for the header of the wanted transaction.
    pub is_it: I,
    /// True if a transaction without a readable header may be the wanted one.
    pub may_be: M,
}

/// The result of a search for a committed transaction.
pub(crate) enum SearchResult {
    Found(Loaded),
    /// None was found, but one that cannot be used may be the wanted one.
    Perhaps(UntrustedTransaction),
    Nothing,
}

impl Engine {
    /// Finds the committed transaction that an open one became.
    pub(crate) fn committed_open(
        &self,
        found: &StateLookup,
        opened: &str,
        may_be: impl Fn(&UntrustedTransaction) -> bool,
    ) -> Result<SearchResult> {
        self.search(found, SearchFor { is_it: |header: &Header| header.opened.as_deref() == Some(opened), may_be })
    }

    /// Finds the newest committed transaction that matches. If one cannot be used, its header decides where that
    /// can be read.
    pub(crate) fn search<I, M>(
        &self,
        found: &StateLookup,
        SearchFor { is_it, may_be }: SearchFor<I, M>,
    ) -> Result<SearchResult>
    where
        I: Fn(&Header) -> bool,
        M: Fn(&UntrustedTransaction) -> bool,
    {
        let Some(state) = found.trusted(&self.workspace)? else { return Ok(SearchResult::Nothing) };
        let is_perhaps =
            |untrusted: &UntrustedTransaction| untrusted.header.as_ref().map_or_else(|| may_be(untrusted), &is_it);
        // In this order: a transaction that moves from the first to the second meanwhile is seen in one of them.
        let mut perhaps = untrusted::interrupted(state)?;
        perhaps.retain(is_perhaps);
        for entry in whole_history(state)?.rev() {
            match entry? {
                HistoryEntry::Ours(loaded) if is_it(&loaded.journal.header) => return Ok(SearchResult::Found(loaded)),
                HistoryEntry::Ours(_) => {}
                HistoryEntry::Untrusted(untrusted) => perhaps.extend(Some(untrusted).filter(is_perhaps)),
            }
        }
        // One whose header matches comes first.
        perhaps.sort_by_key(|untrusted| untrusted.header.is_none());
        Ok(perhaps.into_iter().next().map_or(SearchResult::Nothing, SearchResult::Perhaps))
    }
}

/// Searches for a key. A transaction without a readable header may have any.
pub(crate) fn having_key(key: &str) -> SearchFor<impl Fn(&Header) -> bool, impl Fn(&UntrustedTransaction) -> bool> {
    SearchFor {
        is_it: move |header: &Header| header.key.as_deref() == Some(key),
        may_be: |_: &UntrustedTransaction| true,
    }
}
