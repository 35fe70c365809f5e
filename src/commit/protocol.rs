//! All that a commit and a recovery rest on, as one value.
//!
//! The engine walks the steps and follows the decisions of the [`Protocol`] that it carries. There is only one,
//! [`PROTOCOL`]; but a test can change a step or a decision in a copy and see the promise break, which shows that the test
//! would have noticed.

use crate::index::{EntryIndex, FileIndex};
use std::path::Path;
use std::time::Duration;

use super::step::{DropStep, FinishStep, StepPhase, Terms, UndoStep};
use super::{backward, forward};
use crate::identity::{Identity, Timestamp};
use crate::journal::recover::{self, Ages, Class, Observed, RecoveryDecision, Seen};
use crate::journal::{Header, Mark, Record};
use crate::limits;

/// The steps and the decisions.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The steps of a commit: [`forward::commit`].
    pub commit: fn(usize, Terms) -> Vec<StepPhase>,
    /// The steps that finish an interrupted transaction: [`forward::finish`].
    pub finish: fn(&[EntryIndex], Mark) -> Vec<FinishStep>,
    /// The steps that take one back: [`backward::undo`].
    pub undo: fn(usize, Mark, bool) -> Vec<UndoStep>,
    /// The steps that drop one that was never swapped: [`backward::drop_unswapped`].
    pub drop_unswapped: fn(Mark) -> Vec<DropStep>,
    /// How far an entry is: [`recover::classify`].
    pub classify: fn(&Record, &Observed) -> Class,
    /// The same in a contended transaction: [`recover::classify_contended`].
    pub classify_contended: fn(&Record, &Observed) -> Class,
    /// The same in one that is taken back after a check: [`recover::classify_checked`].
    pub classify_checked: fn(&Record, &Observed) -> Class,
    /// What is to be done with an interrupted transaction: [`recover::decide`].
    pub decide: fn(Mark, bool, &[Class]) -> RecoveryDecision,
    /// What a rollback may let go of: [`recover::is_new`].
    pub is_new: fn(&Record, Seen) -> bool,
    /// What may be unlinked of a transaction in the trash: [`recover::may_go`].
    pub may_go: fn(&Record, Mark, Seen) -> bool,
    /// How long what was taken back stays in the trash: [`limits::GRACE`].
    pub grace: Duration,
    /// What else may be deleted: [`recover::is_incomplete`].
    pub is_incomplete: fn(&Record, Seen, Ages) -> bool,
    /// Whether a journal was written where it is: [`recover::is_born_here`].
    pub is_born_here: fn(&Header, &str, &Identity, &str) -> bool,
    /// Whether an interrupted transaction's path is in the way of ours: [`recover::touches`].
    pub touches: fn(&Path, &Path) -> bool,
    /// Whether a folder with this owner and mode is the user's alone: [`is_private`].
    pub is_private: fn(u32, u32, u32) -> bool,
    /// Whether a folder that is known by its name alone is one of the workspace's, by their owners: [`is_of_owner`].
    pub is_of_owner: fn(u32, u32) -> bool,
    /// Whether the `id` of a state folder was written for this folder in this root: [`is_bound`].
    pub is_bound: fn(&str, &str) -> bool,
    /// Whether size and time prove a content: [`recover::is_told_by_time`].
    pub is_told_by_time: fn(u64, Timestamp, Timestamp) -> bool,
    /// Whether the edits of a request may be made anew while they are swapped: [`have_entries`].
    pub have_entries: fn(usize, &[Option<FileIndex>]) -> bool,
    /// What a transaction takes of the bytes that history holds: [`room_for`].
    pub room_for: fn(bool, u64) -> u64,
}

/// The protocol.
pub static PROTOCOL: Protocol = Protocol {
    commit: forward::commit,
    finish: forward::finish,
    undo: backward::undo,
    drop_unswapped: backward::drop_unswapped,
    classify: recover::classify,
    classify_contended: recover::classify_contended,
    classify_checked: recover::classify_checked,
    decide: recover::decide,
    is_new: recover::is_new,
    may_go: recover::may_go,
    grace: limits::GRACE,
    is_incomplete: recover::is_incomplete,
    is_born_here: recover::is_born_here,
    touches: recover::touches,
    is_private,
    is_of_owner,
    is_bound,
    is_told_by_time: recover::is_told_by_time,
    have_entries,
    room_for,
};

/// Whether a folder of `owner` with `mode` is `user`'s alone: nobody else can have put anything into it.
#[must_use]
pub const fn is_private(owner: u32, mode: u32, user: u32) -> bool {
    owner == user && mode & 0o022 == 0
}

/// Whether a folder has the owner of the workspace, who may exchange names in it: with what is his he leads nobody to what
/// is not.
#[must_use]
pub const fn is_of_owner(folder: u32, workspace: u32) -> bool {
    folder == workspace
}

/// Whether an `id` names what was `probed`: the identities of the state folder and of the root. A copy, or a state folder
/// that somebody moved to another root, brings the old ones along.
#[must_use]
pub fn is_bound(id: &str, probed: &str) -> bool {
    id.split_once(' ').is_some_and(|(_, bound)| bound == probed)
}

/// Whether each of so many files of a request has an entry, which says by which file it was asked for. What is as it was
/// asked for has none: it is looked at once, and would be older than what is made anew.
#[must_use]
pub fn have_entries(files: usize, asked_by: &[Option<FileIndex>]) -> bool {
    (0..files).all(|file| asked_by.contains(&Some(FileIndex(file))))
}

/// The newest takes none, and stays whatever it weighs: what was just acknowledged can be undone.
#[must_use]
pub const fn room_for(is_newest: bool, bytes: u64) -> u64 {
    if is_newest { 0 } else { bytes }
}
