//! The answers of the engine.

mod history;
mod interrupted;
pub(crate) mod review;

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use crate::check::{CheckRun, ProgramRun};
use crate::digest::Digest;
pub use crate::journal::Guarantee;
use crate::path::AskedPath;
use crate::request::FileRequest;
use crate::request::edit::Edit;
use crate::text::Applied;

pub use history::{Kept, Logged, Pruned, Shown, ShownFile, StateMove, Status, Unreadable};
pub use interrupted::{
    Interrupted, InterruptedFile, Recovered, RecoveryAction, RecoveryProgress, RecoveryReason, Untrusted,
};

/// The result of a request: what was done, or would be.
///
/// ```
/// use txedit::report::Operation;
/// use txedit::{Digest, Edit, Engine, Request, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one one\n")?;
/// let request = Request::new().edit("a.txt", Edit::replace_all("one", "two")).create("b.txt", "new\n");
/// let report = Engine::open(root)?.apply(&request, Run::default())?;
///
/// let [edited, created] = &report.files[..] else { panic!("one for each file of the request") };
/// assert_eq!((edited.operation, edited.edits[0].replaced), (Operation::Edit, 2));
/// assert_eq!((created.operation, created.hash_before), (Operation::Create, None));
/// assert_eq!(created.hash_after, Some(Digest::of(b"new\n")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The transaction; `None` for a dry run, and where nothing had to be changed.
    pub transaction: Option<String>,
    /// The campaign that it is a part of.
    pub campaign: Option<String>,
    /// What a reader of its files could count on while it was committed; `None` where there is no transaction.
    pub guarantee: Option<Guarantee>,
    /// True if nothing was written because this was a dry run.
    pub dry_run: bool,
    /// One for each file of the request, in its order.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
    /// The check that passed.
    pub check: Option<Box<CheckRun>>,
    /// The program that made the changes.
    pub program: Option<Box<ProgramRun>>,
    /// True if nothing had to be done because the same request was committed before. Its files are then described as
    /// they are now: see [`Extra::in_place`].
    pub already_applied: bool,
    /// True if nothing had to be done because nothing that the request is about is there, and it says that this is no failure.
    pub nothing_to_do: bool,
    /// The hash of the plan, of a dry run: [`Request::plan_hash`](crate::Request) commits exactly that.
    pub plan_hash: Option<Digest>,
    /// The transaction that undid it since, if the same request was committed before.
    pub undone_by: Option<String>,
    /// The transactions that this one reverts, if it is an undo, newest first.
    pub reverts: Vec<Reverted>,
    /// The number of attempts, because another program was writing the files meanwhile; 0 where there cannot be
    /// several.
    pub attempts: usize,
    /// The changes as a patch, for a dry run or a preview that asked for it: [`Run::with_patch`](crate::Run::with_patch).
    pub patch: Option<Box<PlanPatch>>,
}

/// The changes of a dry run as a patch, which `git apply` takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanPatch {
    /// Its text as git writes it, every byte unchanged and nothing left out. Of contents that are not text it only says that
    /// they differ.
    pub text: Vec<u8>,
    /// The files of the report, from 0, whose changes no patch can tell: folders, and modes that git does not record.
    pub untold: Vec<usize>,
}

/// A transaction that another one reverts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverted {
    /// Its id.
    pub id: String,
    /// The program that committed it, as it named itself.
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
    /// The result of each edit.
    pub edits: Vec<Applied>,
    /// The digest before; `None` if there was no file.
    pub hash_before: Option<Digest>,
    /// The digest after; `None` if there is no file any more. If the request was committed before, the digest now.
    pub hash_after: Option<Digest>,
    /// Details that few files have.
    pub extras: Extras,
}

impl FileReport {
    /// A file that is not there, and was left out.
    pub(crate) fn left_out(path: AskedPath) -> Self {
        let extras = Extra { skipped: true, ..Extra::NONE };
        let operation = Operation::None;
        Self { path, operation, edits: Vec::new(), hash_before: None, hash_after: None, extras: extras.into() }
    }

    /// Returns whether it was left out, or an edit of it.
    pub(crate) fn is_left_out(&self, asked: &FileRequest) -> bool {
        let is_missing = |(applied, edit): (&Applied, &Edit)| applied.lines.is_empty() && edit.anchor.may_be_missing();
        self.extras.skipped || self.edits.iter().zip(asked.edits()).any(is_missing)
    }

    /// The number of edits that changed something; replacing a text by itself changes nothing.
    #[must_use]
    pub fn edits_that_changed(&self) -> usize {
        self.edits.iter().filter(|edit| edit.replaced > 0).count()
    }
}

impl Report {
    /// This report with absolute paths, for callers that name files by nothing else.
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

/// Details that few files have: [`Extra`] as a value, which takes one word while it is empty.
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

/// Details that few files have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Extra {
    /// The new name of a moved file.
    pub renamed_to: Option<AskedPath>,
    /// The backup of the old content.
    pub backup: Option<PathBuf>,
    /// The whole new content, if it was asked for; decoded, if it is in another encoding than UTF-8.
    pub content: Option<Vec<u8>>,
    /// A bounded unified diff, for a dry run.
    pub diff: Option<String>,
    /// The changes of another program to the file, as a diff, before the staged edits were carried over to it.
    pub rebased: Option<String>,
    /// What it leads to, if it is a symlink now.
    pub symlink_to: Option<PathBuf>,
    /// True if it was left out, since no file is there.
    pub skipped: bool,
    /// True if the file is still as the request left it; only present if the request was committed before.
    pub in_place: Option<bool>,
    /// What a reader of this file could count on, if that is less than of the others: it was overwritten.
    pub guarantee: Option<Guarantee>,
    /// Warnings about this file.
    pub warnings: Vec<String>,
}

impl Extra {
    /// No details.
    pub const NONE: Self = Self {
        renamed_to: None,
        backup: None,
        content: None,
        diff: None,
        rebased: None,
        symlink_to: None,
        skipped: false,
        in_place: None,
        guarantee: None,
        warnings: Vec::new(),
    };
}

/// Edits that were staged.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Staged {
    /// The open transaction; `None` for a dry run.
    pub id: Option<String>,
    /// The time at which it expires if nothing more is staged: RFC 3339, UTC.
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
    /// The id of the other transaction.
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
    /// The time at which it expires.
    pub expires: String,
    /// The hash of everything that would be done, for the commit.
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
    /// The time at which it was opened: RFC 3339, UTC.
    pub opened: String,
    /// The time at which it expires.
    pub expires: String,
    /// True if it has expired.
    pub is_expired: bool,
    /// The program that opened it.
    pub owner: String,
    /// Its label.
    pub label: Option<String>,
    /// Its files, relative to the workspace, each with the operation that is staged.
    pub files: Vec<(PathBuf, String)>,
    /// The names that its commit would change: those of its files, and the new names of those that are moved.
    pub names: BTreeSet<PathBuf>,
}

/// The content of a file, and the digest that a request may expect of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileContent {
    /// The path, relative to the root and without symlinks.
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
    /// The file is new.
    Create,
    /// The whole content was replaced.
    Replace,
    /// The file was deleted.
    Delete,
    /// The file was moved, perhaps with edits.
    Rename,
    /// Only its mode changed.
    Mode,
    /// A folder was made.
    Folder,
    /// A folder was removed.
    RemoveFolder,
    /// Nothing: the file is already as requested.
    None,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 9] = [
        Self::Edit,
        Self::Create,
        Self::Replace,
        Self::Delete,
        Self::Rename,
        Self::Mode,
        Self::Folder,
        Self::RemoveFolder,
        Self::None,
    ];

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
            Self::Folder => "folder",
            Self::RemoveFolder => "remove_folder",
            Self::None => "none",
        }
    }
}
