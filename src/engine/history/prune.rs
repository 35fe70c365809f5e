//! Prunes history by count, bytes and age.

use super::keys;
use super::trash::{self, Goes};
use crate::engine::report::Pruned;
use crate::engine::store::id;
use crate::engine::store::lookup;
use crate::engine::store::state::{Section, StateFolder, list_ids};
use crate::engine::{Durability, Engine, Retention, history, open};
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::limits;
use crate::path::{listed, shown};

/// One in so many commits lists the names in history, which tell count and age. What exceeds the bounds is pruned at
/// once, and the other commits pay nothing for a history of a thousand.
const NAMES_EVERY: u32 = 32;

/// One in so many commits also adds up the bytes, which needs a stat of every original.
const BYTES_EVERY: u32 = 512;

/// Large commits add them up more often: with a probability proportional to their size, so many times until they fill
/// the bound.
const LOOKS: u128 = 16;

/// Says which transactions went because all together were too large.
fn told_of_heavy(moved: &[Moved], bound: u64) -> Option<String> {
    let heavy: Vec<_> = moved.iter().filter(|moved| moved.is_heavy).map(|moved| moved.id.clone()).collect();
    let told = || format!("history holds {bound} bytes at most: {} can no longer be undone", listed(&heavy));
    (!heavy.is_empty()).then(told)
}

/// The thoroughness with which history is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thoroughness {
    Names,
    Bytes,
}

/// A transaction that went to the trash.
#[derive(Debug)]
struct Moved {
    id: String,
    size: u64,
    /// True if only its bytes exceeded a bound.
    is_heavy: bool,
}

impl Engine {
    /// Removes the oldest committed transactions beyond `retention`; they can no longer be undone. The newest does not
    /// count towards the bytes, whatever its size; one that does not fit is removed without the older ones.
    /// Transactions that are being committed are not touched. Originals that were written after the commit are moved to
    /// `kept/`. No file of the workspace is changed; on failure some transactions may be gone from history, each as a
    /// whole.
    ///
    /// Where the workspace has a second state folder, that one is pruned as well: whoever prunes to be rid of a secret means
    /// all of them. One that cannot be written is an error, before anything is pruned.
    pub fn prune(&self, retention: &Retention) -> Result<Pruned> {
        let states = lookup::trusted(&self.workspace)?;
        for state in &states {
            if state.committed()? > 0 && !state.is_writable()? {
                let path = state.home.path();
                let message = format!("{} holds committed transactions and cannot be written here", shown(&path));
                return Err(Error::new(ErrorKind::PermissionDenied, message).at(path));
            }
        }
        let mut all = Pruned::default();
        for state in &states {
            let Pruned { ids, bytes, left, in_trash } = self.prune_whole(state, retention)?;
            all.ids.extend(ids);
            all.bytes += bytes;
            all.left.extend(left);
            all.in_trash.extend(in_trash);
        }
        Ok(all)
    }

    fn prune_whole(&self, state: &StateFolder, retention: &Retention) -> Result<Pruned> {
        let moved = self.prune_state(state, retention, Thoroughness::Bytes, None)?;
        let gone = moved.iter().map(|moved| moved.id.clone()).collect::<Vec<_>>();
        let rescued = trash::sync_and_empty(state, Goes::Pruned).map_err(|error| partly_pruned(error, &gone))?;
        let (left, gone): (Vec<_>, Vec<_>) =
            moved.into_iter().partition(|moved| rescued.iter().any(|rescued| rescued.id == moved.id));
        let in_trash = trash::pruned(state)?;
        let is_deleted = |moved: &&Moved| !in_trash.contains(&moved.id);
        Ok(Pruned {
            bytes: gone.iter().filter(is_deleted).map(|moved| moved.size).sum(),
            ids: gone.iter().filter(is_deleted).map(|moved| moved.id.clone()).collect(),
            left: left.into_iter().map(|moved| moved.id).collect(),
            in_trash,
        })
    }

    /// Prunes after some of the commits, and drops open transactions that have expired; a later one verifies and unlinks what
    /// is pruned. `bytes` is the size of this commit's originals. Returns warnings for the caller.
    pub(crate) fn prune_by_the_way(&self, state: &StateFolder, committed: &str, bytes: u64) -> Vec<String> {
        let retention = &self.settings.retention;
        let Some(thoroughness) = due(committed, bytes, retention.bytes) else { return Vec::new() };
        let mut warnings = Vec::new();
        if let Err(error) = open::sweep(state) {
            warnings.push(format!("open transactions that have expired could not be dropped: {}", error.message()));
        }
        match self.prune_state(state, retention, thoroughness, Some((committed, bytes))) {
            Ok(moved) => warnings.extend(told_of_heavy(&moved, retention.bytes)),
            Err(error) => warnings.push(format!("history could not be pruned: {}", error.message())),
        }
        warnings
    }

    /// Moves what exceeds the bounds to the trash. The size of one transaction may be `known`: it takes long to read
    /// what was just written.
    fn prune_state(
        &self,
        state: &StateFolder,
        retention: &Retention,
        thoroughness: Thoroughness,
        known: Option<(&str, u64)>,
    ) -> Result<Vec<Moved>> {
        let Some(section) = state.section(Section::History)? else { return Ok(Vec::new()) };
        let ids = list_ids(&self.workspace, &section)?;
        let age = jiff::SignedDuration::try_from(retention.age).unwrap_or(jiff::SignedDuration::MAX);
        let now = id::instant(self.workspace.now());
        // Without a person's request, only what is older than many others is pruned, so that a clock that jumps for a
        // while removes nothing.
        let now = match known {
            Some(_) => aged_by(&ids).map_or(jiff::Timestamp::MIN, |later| later.min(now)),
            None => now,
        };
        let oldest = now.checked_sub(age).unwrap_or(jiff::Timestamp::MIN);
        let oldest = id::time_part(oldest);
        let (mut moved, mut headers) = (Vec::new(), Vec::new());
        let mut room = retention.bytes;
        let mut is_newest = true;
        for (rank, id) in ids.iter().rev().enumerate() {
            let by_name = rank >= retention.count || id.as_str() < oldest.as_str();
            if !by_name && thoroughness == Thoroughness::Names {
                continue;
            }
            let size = match known {
                Some((known, size)) if known == id => size,
                _ => match history::weigh(state, id)? {
                    Some(size) => size,
                    None => continue,
                },
            };
            let taken = (self.workspace.protocol.room_for)(std::mem::take(&mut is_newest), size);
            if !by_name && let Some(left) = room.checked_sub(taken) {
                room = left;
                continue;
            }
            // One whose journal does not verify stays, and takes no room from the others.
            let Some(loaded) = history::load(state, id)? else { continue };
            headers.push(loaded.journal.header);
            moved.push(Moved { id: id.clone(), size, is_heavy: !by_name });
        }
        // Never after they have left history: a retry finds one or the other.
        keys::keep(state, &headers, self.settings.durability == Durability::Power)?;
        // The oldest first: if a move fails, the newest transactions are left, which an undo reverts first.
        let mut gone = Vec::new();
        for Moved { id, .. } in moved.iter().rev() {
            let moved = state.move_transaction(id, Section::History, Section::Trash);
            moved.map_err(|error| partly_pruned(error, &gone))?;
            gone.push(id.clone());
        }
        Ok(moved)
    }
}

/// A failure after transactions left history: they can no longer be undone, and the answer says which.
fn partly_pruned(error: Error, gone: &[String]) -> Error {
    if gone.is_empty() {
        return error;
    }
    let told = |message: &str| {
        format!("{} can no longer be undone, though a power loss may bring it back: {message}", listed(gone))
    };
    error.reworded(told).detail(Detail::PartlyDone)
}

/// The time from which age is counted.
fn aged_by(ids: &[String]) -> Option<jiff::Timestamp> {
    ids.iter().rev().nth(limits::HISTORY_AGED_BY - 1).and_then(|id| id::instant_of(id))
}

/// The examination that is due after a commit that adds `bytes`, decided by the random part of its id.
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

#[cfg(test)]
mod tests {

    use super::*;
    use crate::engine::{Run, Settings};
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
            ..Settings::default()
        };
        let engine = Engine::open_with(scratch.path(), settings).unwrap();
        for content in ["1", "22", "333", "4444", "55555"] {
            let file = format!(r#"{{"file_path": "a", "content": "{content}", "if_exists": "replace"}}"#);
            let request = wire::request::parse(format!(r#"{{"files": [{file}]}}"#).as_bytes()).unwrap();
            let request = request.into_request(PathRule::AbsoluteOrRelative).unwrap();
            engine.apply(&request, Run::default()).unwrap();
        }
        // A copy, as a repository may bring it along, does not count, whatever is in it.
        let history = scratch.path().join(".txedit/history");
        let mut folders: Vec<_> = std::fs::read_dir(&history).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        let (newest, before) = (&folders[4], &folders[3]);
        let copy = history.join("29991231T235959.000000Z-0123456789abcdef");
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(newest.join("journal.done"), copy.join("journal.done")).unwrap();
        std::fs::write(copy.join("000000"), "a thousand\n".repeat(100)).unwrap();
        let state = engine.state().unwrap().unwrap();
        let pruned = |retention: Retention, random: &str| {
            let id = format!("20261122T101651.831875Z-{random}6aee4e6f");
            due(&id, 0, retention.bytes)
                .map_or(0, |thoroughness| engine.prune_state(&state, &retention, thoroughness, None).unwrap().len())
        };
        let (names, bytes) = ("00000020", "00000200");
        assert_eq!(pruned(Retention { count: 5, ..unbounded.clone() }, "00000001"), 0, "it was not its turn");
        assert_eq!(pruned(Retention { count: 5, ..unbounded.clone() }, names), 1);
        assert_eq!(pruned(Retention { bytes: 9, ..unbounded.clone() }, names), 0, "names do not tell bytes");
        // Beside the newest, which is 4 bytes, there is room for 3 and 1, not for 2.
        assert_eq!(pruned(Retention { bytes: 4, ..unbounded.clone() }, bytes), 1);
        // The one of 3 bytes stays if its journal is damaged, and the one of 1 still fits.
        let (damaged, journal) = (before.join("journal.done"), std::fs::read(before.join("journal.done")).unwrap());
        std::fs::write(&damaged, &journal[..journal.len() - 1]).unwrap();
        assert_eq!(pruned(Retention { bytes: 1, ..unbounded.clone() }, bytes), 0);
        std::fs::write(&damaged, journal).unwrap();
        assert_eq!(pruned(Retention { age: std::time::Duration::ZERO, ..unbounded }, names), 3);
    }
}
