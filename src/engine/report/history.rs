//! What is told of a workspace and its history.

use std::path::PathBuf;

use super::{Interrupted, OpenTransaction};
use crate::check::CheckRun;
use crate::engine::store::id;
use crate::error::NextStep;

/// A committed transaction in the log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Logged {
    /// Its id.
    pub id: String,
    /// The time of the commit: RFC 3339, UTC.
    pub time: String,
    /// The program that committed it, as it named itself.
    pub owner: String,
    /// Its label.
    pub label: Option<String>,
    /// The session of its caller.
    pub session: Option<String>,
    /// The campaign that it is a part of.
    pub campaign: Option<String>,
    /// The transactions that it reverts, newest first.
    pub reverts: Vec<String>,
    /// The transaction that reverted it.
    pub reverted_by: Option<String>,
    /// The id that it had while it was open.
    pub opened: Option<String>,
    /// The check that passed.
    pub check: Option<CheckRun>,
    /// Its operations and their files, relative to the workspace: `("edit", "src/a.rs")`.
    pub files: Vec<(String, PathBuf)>,
    /// Warnings about it, such as originals that changed since.
    pub warnings: Vec<String>,
    /// The reason why only its id is known: its journal does not verify, or was not born here.
    pub unreadable: Option<String>,
}

impl Logged {
    /// A transaction of which only the id is known.
    pub(in crate::engine) fn unreadable(id: String, why: String) -> Self {
        Self {
            time: id::time_of(&id),
            id,
            owner: "unknown".to_owned(),
            label: None,
            session: None,
            campaign: None,
            reverts: Vec::new(),
            reverted_by: None,
            opened: None,
            check: None,
            files: Vec::new(),
            warnings: Vec::new(),
            unreadable: Some(why),
        }
    }
}

/// One transaction with its diff.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Shown {
    /// Its entry in the log.
    pub logged: Logged,
    /// For each file: kind, path, added lines, removed lines, unified diff.
    pub files: Vec<ShownFile>,
}

/// One file of a transaction, with its diff.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShownFile {
    /// The kind: `edit`, `create`, `delete`, `folder`.
    pub kind: String,
    /// The path, relative to the workspace.
    pub path: PathBuf,
    /// The number of lines added and removed, if both contents are known and may be shown.
    pub lines: Option<(usize, usize)>,
    /// The unified diff, or the reason why there is none: a content is gone, or may not be shown.
    pub diff: String,
}

/// The state of a workspace.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Status {
    /// Transactions whose folder is in `txn/`.
    pub interrupted: Vec<Interrupted>,
    /// Open transactions, oldest first.
    pub open: Vec<OpenTransaction>,
    /// Kept contents.
    pub kept: Vec<Kept>,
    /// Transactions in history whose journal does not verify, oldest first; a person must discard each.
    pub unreadable: Vec<Unreadable>,
    /// Other warnings: a state folder that is ignored, originals in history that changed.
    pub warnings: Vec<String>,
    /// True if there is a state folder that was not looked at: there may be interrupted transactions in it. A warning says
    /// why.
    pub is_ignored: bool,
}

/// The state folder, moved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateMove {
    /// Where it was.
    pub from: PathBuf,
    /// Where it is.
    pub to: PathBuf,
    /// What was interrupted, and recovered first; how the next command finds the state folder, if that changes.
    pub warnings: Vec<String>,
}

/// A transaction in history that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// The name of its folder.
    pub id: String,
    /// The reason.
    pub reason: String,
    /// The steps that a person can take.
    pub next_steps: Vec<NextStep>,
}

/// A folder in `kept/`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Kept {
    /// The id of the transaction.
    pub id: String,
    /// The folder that it is in.
    pub folder: PathBuf,
    /// Its contents that are another program's; none where its journal cannot be read.
    pub contents: Vec<crate::error::KeptContent>,
}

/// The result of pruning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The transactions that were removed.
    pub ids: Vec<String>,
    /// The bytes of their originals.
    pub bytes: u64,
    /// The transactions whose originals another program had written into; they are in `kept/`.
    pub left: Vec<String>,
    /// The transactions that are no longer in history, but not deleted yet, or only in part: deleting failed, or another
    /// process works on it. The next commit, or pruning, tries again. Some may be of an earlier pruning.
    pub in_trash: Vec<String>,
}
