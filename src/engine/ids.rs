//! The transactions that a part of an id may mean.

use std::collections::{BTreeSet, HashMap};

use super::Engine;
use super::history::{HistoryEntry, entries, untrusted, whole_history};
use super::store::state::{Section, StateFolder};
use crate::error::Result;

/// The transactions among which an id is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdScope {
    /// Committed ones, also by the ids that they had while they were open.
    Committed,
    /// Open ones, also those that were committed since, or whose commit was interrupted.
    Open,
    /// Committed and open ones.
    CommittedOrOpen,
    /// Interrupted ones, and those in history that cannot be read.
    Interrupted,
    /// Those of which contents were kept.
    Kept,
}

impl IdScope {
    /// Returns whether transactions that were committed are among them.
    pub(crate) const fn has_committed(self) -> bool {
        matches!(self, Self::Committed | Self::CommittedOrOpen)
    }
}

impl Engine {
    /// The ids in a scope that begin with this text, or whose random part does. Nothing is changed, whether it fails or
    /// not.
    pub(crate) fn ids_beginning_with(&self, text: &str, scope: IdScope) -> Result<BTreeSet<String>> {
        let Some(state) = self.state()? else { return Ok(BTreeSet::new()) };
        let mut ids = BTreeSet::new();
        match scope {
            IdScope::Committed => ids.extend(committed(&state)?),
            IdScope::Open => ids.extend(open(&state)?),
            IdScope::CommittedOrOpen => ids.extend(committed(&state)?.into_iter().chain(open(&state)?)),
            IdScope::Interrupted => {
                ids.extend(state.ids(Section::Transactions)?);
                for entry in entries(&state)? {
                    if let HistoryEntry::Untrusted(untrusted) = entry? {
                        ids.insert(untrusted.id);
                    }
                }
            }
            IdScope::Kept => ids.extend(state.ids(Section::Kept)?),
        }
        ids.retain(|id| begins_with(id, text));
        Ok(ids)
    }

    /// The committed transactions, each with the shortest beginning of its random part that no other has, of so many
    /// characters or more.
    pub(crate) fn short_ids(&self, fewest: usize) -> Result<HashMap<String, String>> {
        let ids = self.state()?.map_or(Ok(Vec::new()), |state| state.ids(Section::History))?;
        let mut by_random: Vec<(&str, &String)> =
            ids.iter().filter_map(|id| Some((id.split_once('-')?.1, id))).collect();
        by_random.sort_unstable();
        let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let mut short = HashMap::new();
        for (at, (random, id)) in by_random.iter().enumerate() {
            let next_to =
                [at.checked_sub(1), at.checked_add(1)].into_iter().flatten().filter_map(|at| by_random.get(at));
            let length = next_to.map(|(other, _)| shared(random, other) + 1).max().unwrap_or(0).max(fewest);
            short.insert((*id).clone(), random[..length.min(random.len())].to_owned());
        }
        Ok(short)
    }

    /// The newest committed transaction; `None` where nothing is committed. It is an error if one that is interrupted may
    /// be newer.
    pub(crate) fn newest_committed(&self) -> Result<Option<String>> {
        let Some(state) = self.state()? else { return Ok(None) };
        let newest = whole_history(&state)?.next_back().transpose()?.map(|entry| match entry {
            HistoryEntry::Ours(loaded) => loaded.journal.header.id,
            // A command that is given it says what is wrong with it.
            HistoryEntry::Untrusted(untrusted) => untrusted.id,
        });
        let interrupted = untrusted::interrupted(&state)?;
        match interrupted.iter().find(|other| newest.as_ref().is_none_or(|newest| other.id > *newest)) {
            Some(newer) => Err(newer.may_be_newest()),
            None => Ok(newest),
        }
    }
}

/// Returns whether an id, or its random part, begins with a text.
fn begins_with(id: &str, text: &str) -> bool {
    id.starts_with(text) || id.split_once('-').is_some_and(|(_, random)| random.starts_with(text))
}

fn committed(state: &StateFolder) -> Result<Vec<String>> {
    let mut ids = state.ids(Section::History)?;
    ids.extend(opened_of_committed(state)?);
    Ok(ids)
}

fn open(state: &StateFolder) -> Result<Vec<String>> {
    let mut ids = state.ids(Section::Open)?;
    ids.extend(opened_of_committed(state)?);
    let interrupted = untrusted::interrupted(state)?.into_iter();
    ids.extend(interrupted.filter_map(|interrupted| interrupted.header?.opened));
    Ok(ids)
}

/// The ids that committed transactions had while they were open.
fn opened_of_committed(state: &StateFolder) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for entry in entries(state)? {
        if let HistoryEntry::Ours(loaded) = entry? {
            ids.extend(loaded.journal.header.opened);
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_part_of_an_id_can_be_begun() {
        let id = "20261121T231459.000001Z-0123456789abcdef";
        for text in ["2026", "20261121T231459.000001Z-01", "0123", "0123456789abcdef", id] {
            assert!(begins_with(id, text), "{text}");
        }
        for text in ["1121", "20261121T231459.000001Z0123", "1234", "0123456789abcdef0"] {
            assert!(!begins_with(id, text), "{text}");
        }
    }
}
