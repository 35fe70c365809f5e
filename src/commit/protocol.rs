//! Everything that a commit and a recovery depend on, as one value.
//!
//! The engine walks the steps and follows the decisions of the [`Protocol`] that it carries. There is only one,
//! [`PROTOCOL`]; but a test can change a step or a decision in a copy and see the promise break, which shows that the
//! tests would notice it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::step::{DropStep, FinishStep, RollbackStep, StepPhase, Terms};
use super::{backward, forward};
use crate::digest::Digest;
use crate::identity::{Identity, Timestamp};
use crate::index::{EntryIndex, FileIndex};
use crate::journal::recover::{self, Ages, Class, Observed, RecoveryDecision, Seen};
use crate::journal::{Corrupt, Header, JournalState, Record, scan};
use crate::limits;

/// Folders, by path and identity.
pub type PlacedFolders = HashSet<(PathBuf, Identity)>;

/// The steps and the decisions.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The steps of a commit: [`forward::commit`].
    pub commit: fn(usize, Terms) -> Vec<StepPhase>,
    /// The steps that finish an interrupted transaction: [`forward::finish`].
    pub finish: fn(&[EntryIndex], JournalState) -> Vec<FinishStep>,
    /// The steps of a rollback: [`backward::rollback`].
    pub rollback: fn(usize, JournalState, bool) -> Vec<RollbackStep>,
    /// The steps that drop a transaction without any swap: [`backward::drop_unswapped`].
    pub drop_unswapped: fn(JournalState) -> Vec<DropStep>,
    /// The class of an entry: [`recover::classify`].
    pub classify: fn(&Record, &Observed) -> Class,
    /// The same in a contended transaction: [`recover::classify_contended`].
    pub classify_contended: fn(&Record, &Observed) -> Class,
    /// The same during a rollback after a check: [`recover::classify_checked`].
    pub classify_checked: fn(&Record, &Observed) -> Class,
    /// What an entry counts as whose names were to change places step by step: [`settled`](recover::settled::settled).
    pub settled: fn(Observed, Seen) -> Observed,
    /// The decision about an interrupted transaction: [`recover::decide`].
    pub decide: fn(JournalState, bool, &[Class]) -> RecoveryDecision,
    /// Whether a journal that does not verify is none: [`scan::is_no_journal`].
    pub is_no_journal: fn(JournalState, &Corrupt) -> bool,
    /// Whether nothing verifies that an entry was not swapped: [`recover::is_in_doubt`].
    pub is_in_doubt: fn(&Record, &Observed) -> bool,
    /// Whether a rollback may delete a content: [`recover::is_new`].
    pub is_new: fn(&Record, Seen) -> bool,
    /// Whether a slot in the trash may be unlinked: [`recover::may_go`].
    pub may_go: fn(&Record, JournalState, Seen) -> bool,
    /// How long a transaction that was rolled back stays in the trash: [`limits::GRACE`].
    pub grace: Duration,
    /// Whether an incomplete content may be deleted: [`recover::is_incomplete`].
    pub is_incomplete: fn(&Record, Seen, Ages) -> bool,
    /// Whether a journal was written where it is found: [`recover::is_born_here`].
    pub is_born_here: fn(&Header, &str, &Identity, &str) -> bool,
    /// Whether the path of an interrupted transaction conflicts with ours: [`recover::touches`].
    pub touches: fn(&Path, &Path) -> bool,
    /// Whether a folder with this owner and mode is private to the user: [`is_private`].
    pub is_private: fn(u32, u32, u32) -> bool,
    /// Whether a folder known only by its name belongs to the workspace's owner: [`is_of_owner`].
    pub is_of_owner: fn(u32, u32) -> bool,
    /// Whether the `id` of a state folder was written for this folder in this root: [`is_bound`].
    pub is_bound: fn(&str, &str) -> bool,
    /// Whether an `id` is of this folder in this root, though both have other birth times now: [`was_copied_up`].
    pub was_copied_up: fn(&str, [Identity; 2]) -> bool,
    /// Whether size and time prove that a content is unchanged: [`recover::is_told_by_time`].
    pub is_told_by_time: fn(u64, Timestamp, Timestamp) -> bool,
    /// Whether a symlink that a swap brought out has the target that was read, by their digests: [`is_same_target`].
    pub is_same_target: fn(&Digest, &Digest) -> bool,
    /// Whether two plans, by their hashes, are the same: what checks have seen in a view is what is committed.
    pub is_same_plan: fn(&Digest, &Digest) -> bool,
    /// Whether the last change of a file comes before a view was made, so that a program in it saw the file as it is:
    /// [`is_before`].
    pub is_before: fn(Timestamp, Timestamp) -> bool,
    /// Whether the edits of a request may be made again while they are swapped: [`have_entries`].
    pub have_entries: fn(usize, &[Option<FileIndex>]) -> bool,
    /// Whether the folder at a path is one of those that were made there again, by path and identity: [`is_made_again`].
    pub is_made_again: fn(&PlacedFolders, &(PathBuf, Identity)) -> bool,
    /// The most files that are synced one by one where there is a choice: [`limits::SYNC_EACH_UP_TO`].
    pub sync_each_up_to: usize,
    /// The bytes of a transaction that count against the retention limit of history: [`room_for`].
    pub room_for: fn(bool, u64) -> u64,
}

/// The protocol.
pub static PROTOCOL: Protocol = Protocol {
    commit: forward::commit,
    finish: forward::finish,
    rollback: backward::rollback,
    drop_unswapped: backward::drop_unswapped,
    classify: recover::classify,
    classify_contended: recover::classify_contended,
    classify_checked: recover::classify_checked,
    settled: recover::settled::settled,
    decide: recover::decide,
    is_no_journal: scan::is_no_journal,
    is_in_doubt: recover::is_in_doubt,
    is_new: recover::is_new,
    may_go: recover::may_go,
    grace: limits::GRACE,
    is_incomplete: recover::is_incomplete,
    is_born_here: recover::is_born_here,
    touches: recover::touches,
    is_private,
    is_of_owner,
    is_bound,
    was_copied_up,
    is_told_by_time: recover::is_told_by_time,
    is_same_target,
    is_same_plan: is_same_target,
    is_before,
    have_entries,
    is_made_again,
    sync_each_up_to: limits::SYNC_EACH_UP_TO,
    room_for,
};

/// Returns whether a folder of `owner` with `mode` is private to `user`: nobody else can have put anything into it.
#[must_use]
pub const fn is_private(owner: u32, mode: u32, user: u32) -> bool {
    owner == user && mode & 0o022 == 0
}

/// Returns whether a folder belongs to the owner of the workspace. Such an owner can exchange names in the workspace
/// anyway, and with folders of their own cannot lead anyone to files of others.
#[must_use]
pub const fn is_of_owner(folder: u32, workspace: u32) -> bool {
    folder == workspace
}

/// Returns whether an `id` matches what was `probed`: the identities of the state folder and of the root. A copy, or a
/// state folder that was moved to another root, carries the old ones.
#[must_use]
pub fn is_bound(id: &str, probed: &str) -> bool {
    id.split_once(' ').is_some_and(|(_, bound)| bound == probed)
}

/// Returns whether an `id` was written for this state folder in this root before an overlay copied them, which gave both another
/// birth time. Their numbers tell; where none lasts, the state folder must have been copied as well: one that was moved from
/// another root has its birth time.
#[must_use]
pub fn was_copied_up(id: &str, [folder, root]: [Identity; 2]) -> bool {
    let &[_, number, born, root_number, _] = &*id.split(' ').collect::<Vec<_>>() else { return false };
    let has = |number: &str, now: Identity| number == "0" || number == now.inode.to_string();
    let is_other = || folder.born.is_some_and(|now| now.to_string() != born);
    has(number, folder) && has(root_number, root) && (root_number != "0" || is_other())
}

/// Returns whether two symlinks have the same target. Size and times do not tell: whoever replaces one can set them.
#[must_use]
pub fn is_same_target(read: &Digest, found: &Digest) -> bool {
    read == found
}

/// Returns whether a change comes before a time. One at that very time may come after it.
#[must_use]
pub fn is_before(change: Timestamp, time: Timestamp) -> bool {
    change < time
}

/// Returns whether each file of a request has an entry, which says for which file it was made. A file that is already
/// as requested has none: it is verified only once, and could be older than edits that are made again.
#[must_use]
pub fn have_entries(files: usize, asked_by: &[Option<FileIndex>]) -> bool {
    (0..files).all(|file| asked_by.contains(&Some(FileIndex(file))))
}

/// Returns whether a folder is one of those that were made again: it goes with the transaction that made the first of them.
#[must_use]
pub fn is_made_again(again: &PlacedFolders, there: &(PathBuf, Identity)) -> bool {
    again.contains(there)
}

/// The newest transaction counts nothing and stays, whatever its size: what was just acknowledged can be reverted.
#[must_use]
pub const fn room_for(is_newest: bool, bytes: u64) -> u64 {
    if is_newest { 0 } else { bytes }
}
