//! The answers of the engine.

mod interrupted;

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use crate::check::CheckRun;
use crate::digest::Digest;
use crate::error::NextStep;
use crate::path::AskedPath;
use crate::text::Applied;

pub use interrupted::{
    Interrupted, InterruptedFile, Recovered, RecoveryAction, RecoveryProgress, RecoveryReason, Untrusted,
};

/// The result of a request, or of its dry run.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The transaction; `None` for a dry run, and if nothing had to be changed.
    pub transaction: Option<String>,
    /// True if nothing was written because the caller asked for that.
    pub dry_run: bool,
    /// One for each file of the request, in its order.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
    /// The check that passed.
    pub check: Option<CheckRun>,
    /// True if nothing had to be done because the same request was committed before. The reports of its files then
    /// describe the present: see [`Extra::in_place`].
    pub already_applied: bool,
    /// The transaction that reverted it since, if the same request was committed before.
    pub undone_by: Option<String>,
    /// The transaction that this one reverts, if it is an undo.
    pub reverts: Option<Box<Reverted>>,
    /// The number of attempts while another program was writing the files; 0 if it cannot be retried.
    pub attempts: usize,
}

/// A transaction that another one reverts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverted {
    /// Its id.
    pub id: String,
    /// The program that committed it, by its own account.
    pub owner: String,
    /// Its label.
    pub label: Option<String>,
}

/// One file of a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileReport {
    /// The path as the caller wrote it.
    pub path: AskedPath,
    /// The operation.
    pub operation: Operation,
    /// One for each edit.
    pub edits: Vec<Applied>,
    /// The digest before; `None` if the file did not exist.
    pub hash_before: Option<Digest>,
    /// The digest after; `None` if the file was removed. The present digest, if the request was committed before.
    pub hash_after: Option<Digest>,
    /// The rest, which few files have.
    pub extras: Extras,
}

impl FileReport {
    /// The number of edits that changed something; a text replaced by itself counts as found, not as changed.
    #[must_use]
    pub fn edits_that_changed(&self) -> usize {
        self.edits.iter().filter(|edit| edit.replaced > 0).count()
    }
}

impl Report {
    /// The same with absolute paths, for callers that use no others.
    #[must_use]
    pub fn in_root(mut self, root: &Path) -> Self {
        for file in &mut self.files {
            file.path = root.join(&file.path).into();
            if let Some(to) = &file.extras.renamed_to {
                file.extras.renamed_to = Some(root.join(to).into());
            }
            if let Some(backup) = &file.extras.backup {
                file.extras.backup = Some(root.join(backup));
            }
        }
        self
    }
}

/// The parts of a report that few files have: an [`Extra`] that takes one word while it is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extras(Option<Box<Extra>>);

impl From<Extra> for Extras {
    fn from(extra: Extra) -> Self {
        Self((extra != Extra::NONE).then(|| Box::new(extra)))
    }
}

impl Deref for Extras {
    type Target = Extra;

    fn deref(&self) -> &Extra {
        static NONE: Extra = Extra::NONE;
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for Extras {
    fn deref_mut(&mut self) -> &mut Extra {
        self.0.get_or_insert_default()
    }
}

/// The parts of a report that few files have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Extra {
    /// The path to which it was moved.
    pub renamed_to: Option<AskedPath>,
    /// The copy of the old content.
    pub backup: Option<PathBuf>,
    /// The whole new content, if asked for.
    pub content: Option<Vec<u8>>,
    /// A bounded unified diff, for a dry run.
    pub diff: Option<String>,
    /// Another program's changes to the file, over which the staged edits were carried, as a diff.
    pub rebased: Option<String>,
    /// True if it is still as the request left it; only if the request was committed before.
    pub in_place: Option<bool>,
    /// Warnings about this file.
    pub warnings: Vec<String>,
}

impl Extra {
    /// The empty value.
    pub const NONE: Self = Self {
        renamed_to: None,
        backup: None,
        content: None,
        diff: None,
        rebased: None,
        in_place: None,
        warnings: Vec::new(),
    };
}

/// Edits that were staged.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Staged {
    /// The open transaction; `None` for a dry run.
    pub id: Option<String>,
    /// The time when it expires if nothing more is staged: RFC 3339, UTC.
    pub expires: Option<String>,
    /// The report of the edits staged now, which apply to the result of those staged before.
    pub report: Report,
    /// Other open transactions that touch the same files.
    pub overlaps: Vec<Overlap>,
}

/// A file that another open transaction touches as well.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overlap {
    /// The other one.
    pub id: String,
    /// The program that opened it.
    pub owner: String,
    /// The file, relative to the workspace.
    pub path: PathBuf,
}

/// The effect that the commit of an open transaction would have.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The open transaction.
    pub id: String,
    /// The time when it expires.
    pub expires: String,
    /// A hash of everything that would be done, to be passed to the commit.
    pub plan_hash: Digest,
    /// The files, with their diffs and hashes.
    pub report: Report,
}

/// An open transaction.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenTransaction {
    /// Its id.
    pub id: String,
    /// The time when it was opened: RFC 3339, UTC.
    pub opened: String,
    /// The time when it expires.
    pub expires: String,
    /// True if it has expired.
    pub is_expired: bool,
    /// The program that opened it.
    pub owner: String,
    /// Its label.
    pub label: Option<String>,
    /// Its files, relative to the workspace, each with what is to be done.
    pub files: Vec<(PathBuf, String)>,
}

/// The content of a file, and the digest by which a request can expect it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileContent {
    /// Its path, relative to the root and without symlinks.
    pub path: PathBuf,
    /// All of its bytes.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: Digest,
}

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Some bytes were replaced.
    Edit,
    /// It was created.
    Create,
    /// It got a whole new content.
    Replace,
    /// It was deleted.
    Delete,
    /// It was moved, perhaps with edits.
    Rename,
    /// Only its mode changed.
    Mode,
    /// Nothing had to be changed.
    None,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Edit, Self::Create, Self::Replace, Self::Delete, Self::Rename, Self::Mode, Self::None];

    /// The word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Mode => "mode",
            Self::None => "none",
        }
    }
}

/// A committed transaction in the log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Logged {
    /// Its id.
    pub id: String,
    /// The time of its commit: RFC 3339, UTC.
    pub time: String,
    /// The program that committed it, by its own account.
    pub owner: String,
    /// Its label.
    pub label: Option<String>,
    /// The transaction that it reverts.
    pub reverts: Option<String>,
    /// The transaction that reverts it.
    pub reverted_by: Option<String>,
    /// The open transaction that it was before its commit.
    pub opened: Option<String>,
    /// The check that passed.
    pub check: Option<CheckRun>,
    /// Each file, relative to the workspace, with what was done: `("edit", "src/a.rs")`.
    pub files: Vec<(String, PathBuf)>,
    /// Warnings: originals that changed since.
    pub warnings: Vec<String>,
    /// Why only its id is known: its journal does not verify, or was not written here.
    pub unreadable: Option<String>,
}

impl Logged {
    /// A transaction of which only the id is known.
    pub(super) fn unreadable(id: String, why: String) -> Self {
        Self {
            time: super::store::id::time_of(&id),
            id,
            owner: "unknown".to_owned(),
            label: None,
            reverts: None,
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
    /// As in the log.
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
    /// Lines added and removed, if both contents are known and may be shown.
    pub lines: Option<(usize, usize)>,
    /// The unified diff; if a content is lost or may not be shown, it says so.
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
    /// Transactions in history whose journal does not verify, oldest first: a person must put each aside.
    pub unreadable: Vec<Unreadable>,
    /// Anything else: a state folder that is ignored, originals that changed in history.
    pub warnings: Vec<String>,
}

/// A transaction in history that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// The name of its folder.
    pub id: String,
    /// Why.
    pub reason: String,
    /// The steps that a person can take.
    pub next_steps: Vec<NextStep>,
}

/// A folder in `kept/`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Kept {
    /// The transaction.
    pub id: String,
    /// Its contents that belong to other programs.
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
    /// Those that were kept because another program wrote into their originals.
    pub left: Vec<String>,
}
