//! What an error tells beyond its kind: what is true of the files, what was found, what was kept.

use std::path::PathBuf;

use super::{Diagnosis, ErrorKind, MatchPlaces};
use crate::check::CheckRun;

/// What is true of the files after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Outcome {
    /// No file was touched.
    #[default]
    Unchanged,
    /// Some were swapped, and all of them were put back; that is on the disk.
    RolledBack,
    /// The same, but for those that another program changed or removed after they were swapped:
    /// [`Error::not_old`](crate::error::Error::not_old) names them. Nothing is left to be recovered.
    PartlyRolledBack,
    /// Files may be part old and part new until a recovery has run.
    RecoveryRequired,
}

impl Outcome {
    /// The word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::RolledBack => "rolled_back",
            Self::PartlyRolledBack => "partly_rolled_back",
            Self::RecoveryRequired => "recovery_required",
        }
    }
}

/// One thing that validation found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The sentence for the reader.
    pub message: String,
    /// Where in the request: `["files", "1", "edits", "0", "old_string"]`.
    pub path: Vec<String>,
}

/// A content that a rollback put aside, since it is not txedit's to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptContent {
    /// The file it belongs to.
    pub path: PathBuf,
    /// Where it is now.
    pub kept_path: PathBuf,
    /// Why it was put aside.
    pub reason: String,
}

/// A path at which a rollback did not leave the old content, since another program had been there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotOld {
    /// The path.
    pub path: PathBuf,
    /// The file entry of the request that it belongs to, from 0.
    pub file: Option<usize>,
    /// Whether the other program came on top of the new content, so that some of that may still be there. Otherwise what
    /// is there is its own.
    pub on_top: bool,
    /// Why, in a few words.
    pub reason: String,
}

impl NotOld {
    /// A path that no file entry is known of.
    pub fn new(path: impl Into<PathBuf>, on_top: bool, reason: impl Into<String>) -> Self {
        Self { path: path.into(), file: None, on_top, reason: reason.into() }
    }
}

/// A file that changed since the transaction that was to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Conflict {
    /// The file, relative to the workspace.
    pub path: PathBuf,
    /// The later transactions that made it what it is, oldest first; those that cancel out are not among them.
    pub changed_by: Vec<String>,
    /// Whether something did that no transaction in history accounts for.
    pub by_another_program: bool,
    /// What changed since, where the content that the transaction left is still known.
    pub diff: Option<String>,
}

/// A file that changed where something was staged for it: unified diffs from the content that was staged upon.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diverged {
    /// To what is staged.
    pub ours: String,
    /// To what stands there now.
    pub theirs: String,
}

/// What is known of a failure beyond its kind.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing more.
    #[default]
    None,
    /// Another request with the same idempotency key was at work.
    SameKey,
    /// All findings of the validation layer that failed.
    Findings(Vec<Finding>),
    /// What stands in the file instead of the anchor.
    NoMatch(Box<Diagnosis>),
    /// Where the anchor was found.
    Matches(MatchPlaces),
    /// Files that changed since the transaction that was to be undone.
    Conflicts(Vec<Conflict>),
    /// The check that failed.
    Check(Box<CheckRun>),
    /// Part of what a person wanted to have deleted is.
    PartlyDeleted,
    /// Both sides of a file that changed where something was staged for it.
    Diverged(Box<Diverged>),
}
