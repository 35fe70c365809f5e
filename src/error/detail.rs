//! The details of an error beyond its kind: the state of the files, what was found, what was kept.

use std::path::PathBuf;

use super::{Diagnosis, ErrorKind, MatchPlaces};
use crate::check::{CheckRun, ProgramRun};

/// The state of the files after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Outcome {
    /// No file was touched.
    #[default]
    Unchanged,
    /// Some were swapped, and all of them were restored; that is durable.
    RolledBack,
    /// The same, except for those that another program changed or removed after they were swapped:
    /// [`Error::not_old`](crate::error::Error::not_old) names them. No recovery is needed.
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

/// One finding of a validation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The message for the reader.
    pub message: String,
    /// The place in the request: `["files", "1", "edits", "0", "old_string"]`.
    pub path: Vec<String>,
    /// Where a file is not there: the one that may be meant, absolute.
    pub did_you_mean: Option<PathBuf>,
}

/// A content that a rollback kept, since it is not txedit's to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptContent {
    /// The file it belongs to.
    pub path: PathBuf,
    /// Its path now.
    pub kept_path: PathBuf,
    /// The reason.
    pub reason: String,
}

/// A path at which a rollback did not restore the old content, since another program had changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotOld {
    /// The path.
    pub path: PathBuf,
    /// The file entry of the request that it belongs to, from 0.
    pub file: Option<usize>,
    /// True if the other program wrote over the new content, so that some of that may still be there. Otherwise all of
    /// the content is its own.
    pub on_top: bool,
    /// The reason, in a few words.
    pub reason: String,
}

impl NotOld {
    /// A path without a known file entry.
    pub fn new(path: impl Into<PathBuf>, on_top: bool, reason: impl Into<String>) -> Self {
        Self { path: path.into(), file: None, on_top, reason: reason.into() }
    }
}

/// A file that changed since the transaction that was to be reverted, or that a program and others changed at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Conflict {
    /// The file, relative to the workspace.
    pub path: PathBuf,
    /// The later transactions with an effect on it, oldest first; those that cancel out are left out.
    pub changed_by: Vec<String>,
    /// True if a change comes from no transaction in history.
    pub by_another_program: bool,
    /// The changes since, if the content that the transaction left is still known; of a program, from what is there now to
    /// what it left.
    pub diff: Option<String>,
    /// What others did to the file that a program changed, too, if what it saw is still known.
    pub theirs: Option<String>,
    /// What the program did to it.
    pub ours: Option<String>,
}

/// A file that changed after something was staged for it: unified diffs from the content it was staged on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diverged {
    /// To the staged content.
    pub ours: String,
    /// To the current content.
    pub theirs: String,
    /// Who changed it, as far as history tells.
    pub by: Option<ForeignChange>,
}

/// What happened to a file since it had the content that a request expects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ForeignChange {
    /// The transactions with an effect on it, oldest first; those that cancel out are left out.
    pub by: Vec<Changer>,
    /// True if a change comes from no transaction in history.
    pub by_another_program: bool,
    /// The changes, as a bounded unified diff, if the content that is expected is still known.
    pub diff: Option<String>,
}

impl ForeignChange {
    /// Who it was, in words.
    #[must_use]
    pub fn who(&self) -> String {
        let transactions = self.by.iter().map(|it| format!("transaction {} of {} at {}", it.id, it.owner, it.time));
        let others = self.by_another_program.then(|| "another program".to_owned());
        transactions.chain(others).collect::<Vec<_>>().join(", and by ")
    }
}

/// A transaction that changed a file, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changer {
    /// Its id.
    pub id: String,
    /// The program that committed it, as it named itself.
    pub owner: String,
    /// The time of the commit: RFC 3339, UTC.
    pub time: String,
}

/// What is wrong with the encoding of a file, or of what would be put into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodingFault {
    /// The file is not UTF-8, and the request does not name its encoding.
    NotNamed,
    /// The byte-order mark of the file is that of another encoding than the request names.
    Contradicted,
    /// The encoding of the file does not have this character.
    Unmappable(char),
    /// The file has U+0000, so it is not text.
    NotText,
    /// The new text has U+0000, with which the file would not be text any more.
    Nul,
    /// Bytes that are no character of the encoding, or the byte-order mark, would be changed or read differently.
    Bytes,
    /// The content would begin with the byte-order mark of another encoding.
    Marked,
    /// The new text is not in UTF-8.
    NotUtf8,
}

/// Details of a failure beyond its kind.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing more.
    #[default]
    None,
    /// Another request with the same idempotency key was being processed.
    SameKey,
    /// All findings of the validation layer that failed.
    Findings(Vec<Finding>),
    /// The text in the file instead of the anchor.
    NoMatch(Box<Diagnosis>),
    /// The places of the anchor.
    Matches(MatchPlaces),
    /// Files that changed since the transaction that was to be reverted.
    Conflicts(Vec<Conflict>),
    /// The check that failed.
    Check(Box<CheckRun>),
    /// The program that failed.
    Program(Box<ProgramRun>),
    /// Some of what a person wanted to have deleted or discarded is; the message says which.
    PartlyDone,
    /// Both sides of a file that changed after something was staged for it.
    Diverged(Box<Diverged>),
    /// What is wrong with the encoding of a file.
    Encoding(EncodingFault),
    /// What changed a file that has another hash than the request expects.
    Changed(Box<ForeignChange>),
}
