//! Bounding history by count, bytes and age.

use std::collections::HashSet;

use super::history::{self, Loaded};
use super::report::Pruned;
use super::state::{Section, State, list_ids};
use super::{Engine, Retention, id, sweep};
use crate::error::Result;
use crate::fs::{Fs, Name};
use crate::journal::recover::Seen;
use crate::journal::slot_name;

/// One commit in so many also sums up the bytes of history; count and age are in the names of the folders.
const BYTES_EVERY: u32 = 16;

impl Engine {
    /// Removes committed transactions beyond `retention`, oldest first: they can no longer be undone. Never touches
    /// what is in commit. Originals that somebody wrote into after the commit are put into `kept/`.
    pub fn prune(&self, retention: &Retention) -> Result<Pruned> {
        let Some(state) = self.state()? else { return Ok(Pruned::default()) };
        let pruned = self.prune_state(&state, retention, true)?;
        sweep::sync_and_empty_trash(&*self.fs, &state)?;
        Ok(pruned)
    }

    /// The same after a commit, mostly by the names alone; what goes is unlinked by a later commit.
    pub(super) fn prune_by_the_way(&self, state: &State, committed: &str) -> Result<Pruned> {
        let lot = committed.rsplit('-').next().and_then(|random| u32::from_str_radix(&random[..4], 16).ok());
        self.prune_state(state, &self.settings.retention, lot.is_some_and(|lot| lot % BYTES_EVERY == 0))
    }

    fn prune_state(&self, state: &State, retention: &Retention, sum_bytes: bool) -> Result<Pruned> {
        let fs = &*self.fs;
        let Some(section) = state.section(fs, Section::History)? else { return Ok(Pruned::default()) };
        let ids = list_ids(fs, &section)?;
        let age = jiff::SignedDuration::try_from(retention.age).unwrap_or(jiff::SignedDuration::MAX);
        let oldest = jiff::Timestamp::now().checked_sub(age).unwrap_or(jiff::Timestamp::MIN);
        let mut pruned = Pruned::default();
        let mut bytes = 0;
        let mut room_is_left = true;
        // From the newest on: once the bytes are used up, everything older goes.
        for (rank, id) in ids.iter().rev().enumerate() {
            let too_old = id::instant_of(id).is_some_and(|time| time < oldest);
            let by_name = rank >= retention.count || too_old || !room_is_left;
            if !by_name && !sum_bytes {
                continue;
            }
            let Some(loaded) = history::load(fs, state, id)? else { continue };
            let size: u64 = loaded.journal.entries.iter().filter_map(|r| r.change.before()).map(|s| s.size).sum();
            bytes += size;
            room_is_left &= bytes <= retention.bytes;
            if by_name || !room_is_left {
                if move_out(fs, state, &loaded)? {
                    pruned.left.push(id.clone());
                } else {
                    pruned.bytes += size;
                    pruned.ids.push(id.clone());
                }
            }
        }
        Ok(pruned)
    }
}

/// Moves a transaction out of history: to the trash, or to `kept/` where an original was written after the commit.
fn move_out(fs: &dyn Fs, state: &State, loaded: &Loaded) -> Result<bool> {
    let late = !late_writes(fs, loaded)?.is_empty();
    let to = if late { Section::Kept } else { Section::Trash };
    state.move_transaction(fs, &loaded.journal.header.id, Section::History, to)?;
    Ok(late)
}

/// The entries whose original was written after the commit, by a program that still had it open.
pub(super) fn late_writes(fs: &dyn Fs, loaded: &Loaded) -> Result<HashSet<usize>> {
    let mut late = HashSet::new();
    for (entry, record) in loaded.journal.entries.iter().enumerate() {
        let Some(before) = record.change.before() else { continue };
        let seen = super::transaction::see(fs, Name::new(&loaded.folder, &slot_name(entry)))?;
        if matches!(seen, Seen::File { digest, .. } if digest != before.digest) {
            late.insert(entry);
        }
    }
    Ok(late)
}
