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

/// One commit in so many looks at the names of history, which tell count and age: what is beyond goes in one go, and a
/// history of a thousand costs the others nothing.
const NAMES_EVERY: u32 = 32;

/// One in so many also sums up its bytes, for which every original is looked at.
const BYTES_EVERY: u32 = 512;

/// Besides, that often before the bound is added: by lot, the more likely the more a commit adds.
const LOOKS: u128 = 16;

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thoroughness {
    Names,
    Bytes,
}

impl Engine {
    /// Removes committed transactions beyond `retention`, oldest first: they can no longer be undone. Never touches
    /// what is in commit. Originals that somebody wrote into after the commit are put into `kept/`.
    pub fn prune(&self, retention: &Retention) -> Result<Pruned> {
        let Some(state) = self.state()? else { return Ok(Pruned::default()) };
        let pruned = self.prune_state(&state, retention, Thoroughness::Bytes, None)?;
        sweep::sync_and_empty_trash(&*self.fs, &state)?;
        Ok(pruned)
    }

    /// The same after some of the commits; what goes is unlinked by a later one. `bytes` are those of its originals.
    pub(super) fn prune_by_the_way(&self, state: &State, committed: &str, bytes: u64) -> Result<Pruned> {
        let retention = &self.settings.retention;
        match due(committed, bytes, retention.bytes) {
            Some(thoroughness) => self.prune_state(state, retention, thoroughness, Some((committed, bytes))),
            None => Ok(Pruned::default()),
        }
    }

    /// Of one transaction the bytes may be `known`: to read what was just written would take long.
    fn prune_state(
        &self,
        state: &State,
        retention: &Retention,
        thoroughness: Thoroughness,
        known: Option<(&str, u64)>,
    ) -> Result<Pruned> {
        let fs = &*self.fs;
        let Some(section) = state.section(fs, Section::History)? else { return Ok(Pruned::default()) };
        let ids = list_ids(fs, &section)?;
        let age = jiff::SignedDuration::try_from(retention.age).unwrap_or(jiff::SignedDuration::MAX);
        let oldest = jiff::Timestamp::now().checked_sub(age).unwrap_or(jiff::Timestamp::MIN);
        let oldest = id::time_part(oldest);
        let mut pruned = Pruned::default();
        let mut bytes = 0;
        let mut room_is_left = true;
        // From the newest on: once the bytes are used up, everything older goes.
        for (rank, id) in ids.iter().rev().enumerate() {
            let too_old = id.as_str() < oldest.as_str();
            let by_name = rank >= retention.count || too_old || !room_is_left;
            if !by_name && thoroughness == Thoroughness::Names {
                continue;
            }
            let size = match known {
                Some((known, size)) if known == id => size,
                _ => match history::weigh(fs, state, id)? {
                    Some(size) => size,
                    None => continue,
                },
            };
            let fits = room_is_left && bytes + size <= retention.bytes;
            if by_name || !fits {
                // One whose records do not verify stays, and takes no room from the others.
                let Some(loaded) = history::load(fs, state, id)? else { continue };
                if move_out(fs, state, &loaded)? {
                    pruned.left.push(id.clone());
                } else {
                    pruned.bytes += size;
                    pruned.ids.push(id.clone());
                }
            }
            bytes += size;
            room_is_left = fits;
        }
        Ok(pruned)
    }
}

/// Whether it is the turn of this commit, which adds `bytes`: by the random part of its id.
fn due(committed: &str, bytes: u64, bound: u64) -> Option<Thoroughness> {
    let random = committed.rsplit('-').next().and_then(|random| random.get(..8));
    let lot = random.and_then(|random| u32::from_str_radix(random, 16).ok())?;
    let is_heavy = u128::from(lot) * u128::from(bound) < (u128::from(bytes) * LOOKS) << 32;
    match lot {
        _ if is_heavy || lot.is_multiple_of(BYTES_EVERY) => Some(Thoroughness::Bytes),
        _ if lot.is_multiple_of(NAMES_EVERY) => Some(Thoroughness::Names),
        _ => None,
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::engine::{Durability, Run, Settings, Unobserved};
    use crate::request::validate::PathRule;
    use crate::wire;

    #[test]
    fn some_commits_look_at_the_names_few_at_the_bytes_and_large_ones_more_often() {
        let of = |random: &str, bytes| due(&format!("20261122T101651.831875Z-{random}6aee4e6f"), bytes, 1 << 30);
        assert_eq!(of("00000001", 0), None);
        assert_eq!(of("00000020", 0), Some(Thoroughness::Names));
        assert_eq!(of("00000200", 0), Some(Thoroughness::Bytes));
        // Every fourth that adds a 64th, and every one that adds a 16th.
        assert_eq!(of("3fffffff", 1 << 24), Some(Thoroughness::Bytes));
        assert_eq!(of("40000001", 1 << 24), None);
        assert_eq!(of("ffffffff", 1 << 26), Some(Thoroughness::Bytes));
    }

    #[test]
    fn what_is_beyond_goes_when_a_commit_looks() {
        let scratch = tempfile::tempdir().unwrap();
        let unbounded = Retention { count: usize::MAX, bytes: u64::MAX, age: std::time::Duration::MAX };
        let settings = Settings {
            durability: Durability::Process,
            lock_timeout: std::time::Duration::ZERO,
            retention: unbounded.clone(),
            program: "txedit tests".to_owned(),
        };
        let mut engine = Engine::open(scratch.path(), settings).unwrap();
        let cancel = AtomicBool::new(false);
        for content in ["1", "22", "333", "4444", "55555"] {
            let file = format!(r#"{{"file_path": "a", "content": "{content}", "if_exists": "replace"}}"#);
            let request = wire::request::parse(format!(r#"{{"files": [{file}]}}"#).as_bytes()).unwrap();
            let request = request.into_request(PathRule::AbsoluteOrRelative).unwrap();
            engine.apply(&request, Run { cancel: &cancel, observer: &Unobserved }).unwrap();
        }
        // A copy of one, as a repository may bring it along, is none: it does not count, whatever is in it.
        let history = scratch.path().join(".txedit/history");
        let newest = std::fs::read_dir(&history).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
        let copy = history.join("29991231T235959.000000Z-0123456789abcdef");
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(newest.join("journal.done"), copy.join("journal.done")).unwrap();
        std::fs::write(copy.join("000000"), "a thousand\n".repeat(100)).unwrap();
        let state = engine.state().unwrap().unwrap();
        let mut pruned = |retention: Retention, random: &str| {
            engine.settings.retention = retention;
            let id = format!("20261122T101651.831875Z-{random}6aee4e6f");
            engine.prune_by_the_way(&state, &id, 0).unwrap().ids.len()
        };
        let (names, bytes) = ("00000020", "00000200");
        assert_eq!(pruned(Retention { count: 5, ..unbounded.clone() }, "00000001"), 0, "it was not its turn");
        assert_eq!(pruned(Retention { count: 5, ..unbounded.clone() }, names), 1);
        assert_eq!(pruned(Retention { bytes: 9, ..unbounded.clone() }, names), 0, "names do not tell bytes");
        // 4 and 3 fit, 2 does not; what is older than that goes too.
        assert_eq!(pruned(Retention { bytes: 7, ..unbounded.clone() }, bytes), 2);
        // Where the records of 4 are damaged it cannot go; 3 fits all the same.
        let (damaged, journal) = (newest.join("journal.done"), std::fs::read(newest.join("journal.done")).unwrap());
        std::fs::write(&damaged, &journal[..journal.len() - 1]).unwrap();
        assert_eq!(pruned(Retention { bytes: 3, ..unbounded.clone() }, bytes), 0);
        std::fs::write(&damaged, journal).unwrap();
        assert_eq!(pruned(Retention { age: std::time::Duration::ZERO, ..unbounded }, names), 2);
    }
}
