//! What the engine answers.

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

/// A request that was done, or would be.
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
    /// Whether nothing was written because nothing should be.
    pub dry_run: bool,
    /// One for each file of the request, in its order.
    pub files: Vec<FileReport>,
    /// What the caller should know.
    pub warnings: Vec<String>,
    /// The check that it passed.
    pub check: Option<CheckRun>,
    /// Whether nothing had to be done, since the same request was committed before. What is told of its files is true
    /// now: see [`Extra::in_place`].
    pub already_applied: bool,
    /// The transaction that undid it since, where the same request was committed before.
    pub undone_by: Option<String>,
    /// What it takes back, where it is an undo.
    pub reverts: Option<Box<Reverted>>,
    /// How often it was tried, where another program was writing the files meanwhile; 0 where it cannot be.
    pub attempts: usize,
}

/// A transaction that another one takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reverted {
    /// Its id.
    pub id: String,
    /// Who committed it, as it said of itself.
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
    /// What was done.
    pub operation: Operation,
    /// One for each edit.
    pub edits: Vec<Applied>,
    /// The digest before; `None` for a file that was not there.
    pub hash_before: Option<Digest>,
    /// The digest after; `None` for a file that is gone. Of a request that was committed before: the digest now.
    pub hash_after: Option<Digest>,
    /// The rest, which few files have.
    pub extras: Extras,
}

impl FileReport {
    /// How many of the edits changed something; a text that is replaced by itself is found, and that is all.
    #[must_use]
    pub fn edits_that_changed(&self) -> usize {
        self.edits.iter().filter(|edit| edit.replaced > 0).count()
    }
}

impl Report {
    /// The same with absolute paths, for callers that name files by nothing else.
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

/// What there is to tell of few files only, [`Extra`] as a value: it takes one word until something is told.
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

/// What there is to tell of few files only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Extra {
    /// Where it was moved.
    pub renamed_to: Option<AskedPath>,
    /// The copy of the old content.
    pub backup: Option<PathBuf>,
    /// The whole new content, if asked for.
    pub content: Option<Vec<u8>>,
    /// A bounded unified diff, for a dry run.
    pub diff: Option<String>,
    /// What another program had changed in the file before the staged edits were carried over to it, as a diff.
    pub rebased: Option<String>,
    /// Whether it is still as the request left it; told where the request was committed before.
    pub in_place: Option<bool>,
    /// What the caller should know of this file.
    pub warnings: Vec<String>,
}

impl Extra {
    /// Nothing at all.
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
    /// The open transaction; `None` where it was only tried.
    pub id: Option<String>,
    /// When it lapses if nothing more is staged: RFC 3339, UTC.
    pub expires: Option<String>,
    /// What was staged now, as it will be on top of what was staged before.
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
    /// Who opened it.
    pub owner: String,
    /// The file, relative to the workspace.
    pub path: PathBuf,
}

/// What the commit of an open transaction would do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The open transaction.
    pub id: String,
    /// When it lapses.
    pub expires: String,
    /// The hash over everything that would be done, for the commit.
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
    /// When it was opened: RFC 3339, UTC.
    pub opened: String,
    /// When it lapses.
    pub expires: String,
    /// Whether it has.
    pub is_expired: bool,
    /// Who opened it.
    pub owner: String,
    /// Its label.
    pub label: Option<String>,
    /// Its files, relative to the workspace, each with what is to be done.
    pub files: Vec<(PathBuf, String)>,
}

/// The content of a file, and the digest that a request may expect of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileContent {
    /// Where it is, relative to the root and without symlinks.
    pub path: PathBuf,
    /// All of its bytes.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: Digest,
}

/// What was done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Some bytes were replaced.
    Edit,
    /// It is new.
    Create,
    /// It has a whole new content.
    Replace,
    /// It is gone.
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
    /// When it was committed: RFC 3339, UTC.
    pub time: String,
    /// Who committed it, as it said of itself.
    pub owner: String,
    /// Its label.
    pub label: Option<String>,
    /// The transaction that it undid.
    pub reverts: Option<String>,
    /// The transaction that undid it.
    pub reverted_by: Option<String>,
    /// The open transaction that it was before its commit.
    pub opened: Option<String>,
    /// The check that it passed.
    pub check: Option<CheckRun>,
    /// What it did to which file, relative to the workspace: `("edit", "src/a.rs")`.
    pub files: Vec<(String, PathBuf)>,
    /// What is odd about it: originals that changed since.
    pub warnings: Vec<String>,
    /// Why nothing is known of it but its id: its journal does not verify, or was not written here.
    pub unreadable: Option<String>,
}

impl Logged {
    /// One of which nothing is known but its id.
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
    /// Lines added and removed, as far as both contents are known and may be told.
    pub lines: Option<(usize, usize)>,
    /// The unified diff; where a content is no longer there or may not be told, says so.
    pub diff: String,
}

/// What is going on in a workspace.
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
    /// What a person can do about it.
    pub next_steps: Vec<NextStep>,
}

/// A folder in `kept/`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Kept {
    /// The transaction.
    pub id: String,
    /// Its contents that belong to somebody.
    pub contents: Vec<crate::error::KeptContent>,
}

/// What pruning removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The transactions.
    pub ids: Vec<String>,
    /// The bytes of their originals.
    pub bytes: u64,
    /// Those that were left since somebody wrote into their originals.
    pub left: Vec<String>,
}
