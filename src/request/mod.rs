//! Requests: values that are valid once constructed.

mod builder;
pub mod edit;
pub(crate) mod fingerprint;
mod held;
pub mod validate;

use crate::charset::Charset;
use crate::check::Check;
use crate::digest::Digest;
use crate::path::AskedPath;
use edit::Edit;
pub use held::HeldFile;

/// Changes of several files, done as one.
///
/// ```
/// use txedit::{Edit, Request};
///
/// let request = Request::new()
///     .label("rename old to new")
///     .edit("src/a.rs", Edit::replace_all("old", "new"))
///     .create("src/new.rs", "pub fn new() {}\n")
///     .rename("docs/old.md", "docs/new.md");
/// assert_eq!(request.files.len(), 3);
/// ```
///
/// Each call searches all files named before; for ten thousand files or more build `files` yourself.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a caller says each of them, whatever it says of the others")]
#[non_exhaustive]
pub struct Request {
    /// One entry per file, in the order in which answers count them.
    pub files: Vec<FileRequest>,
    /// Report what would be done; write nothing.
    pub dry_run: bool,
    /// Put the whole new content of each file into the answer.
    pub include_content: bool,
    /// Reports the diff of each file, also where it is not a dry run.
    pub verbose: bool,
    /// Add a copy of each file as it was, as `<file>.bak`, to the transaction.
    pub backup: bool,
    /// Decides, with the new files in place, whether to commit.
    pub check: Option<Check>,
    /// True if the request counts as done when the same request was committed before and every file is still as it left
    /// it. Otherwise this holds only if each of its files has an expected hash.
    pub idempotent: bool,
    /// Identifies a retry: if a transaction has this key, its answer is repeated.
    pub idempotency_key: Option<String>,
    /// What found or made the files, if the caller does not name them: the digest of the key and of a search, or of a
    /// program. A retry finds other files, and is told by this.
    pub made_by: Option<Digest>,
    /// True if a transaction with the key that was undone since does not count: the request is done once more.
    pub again: bool,
    /// A text for the log.
    pub label: Option<String>,
    /// The campaign over many workspaces that it is a part of: its transactions can be listed and undone together.
    pub campaign: Option<String>,
    /// Refuses the request unless its plan has this hash, which a dry run told.
    pub plan_hash: Option<Digest>,
    /// True if read-only files are replaced, moved and deleted like others: a program did so already, in a view.
    pub(crate) takes_read_only: bool,
}

impl AsRef<Self> for Request {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// The change of one file.
///
/// ```
/// use txedit::{Change, Digest, Engine, ErrorKind, FileRequest, IfExists, Mode, Request, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("run.sh"), "echo one\n")?;
/// let seen = std::fs::read(root.join("run.sh"))?;
/// let content = Change::Write { content: b"echo two\n".to_vec(), if_exists: IfExists::Replace };
/// let file = FileRequest::new("run.sh", content).expect(Digest::of(&seen)).mode(Mode::Executable(true));
/// let request = Request::of_files(vec![file]);
///
/// let engine = Engine::open(root)?;
/// engine.apply(&request, Run::default())?;
/// assert_eq!(std::fs::read(root.join("run.sh"))?, b"echo two\n");
///
/// std::fs::write(root.join("run.sh"), "echo three\n")?;
/// let error = engine.apply(&request, Run::default()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::HashMismatch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileRequest {
    /// The path as the caller wrote it: absolute, or relative to the root; no `..`.
    pub path: AskedPath,
    /// The content that the caller saw.
    pub expected_hash: Option<Digest>,
    /// The change.
    pub change: Change,
    /// The permissions afterwards; unchanged if `None`.
    pub mode: Option<Mode>,
    /// The encoding of the file, if that is neither UTF-8 nor UTF-16 with its byte-order mark. Edits are made in the
    /// decoded text, in which a [`Range`](edit::Anchor::Range) counts the bytes of UTF-8; a whole content, given in UTF-8, is
    /// encoded.
    pub encoding: Option<Charset>,
    /// The behaviour if the file is not there, and the change does not make it.
    pub if_missing: IfMissing,
}

impl FileRequest {
    /// The edits, in order; none for other kinds of change.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        match &self.change {
            Change::Edit { edits, .. } | Change::Copy { edits, .. } => edits,
            Change::Write { .. }
            | Change::Delete
            | Change::Rename(_)
            | Change::Mode
            | Change::MakeFolder
            | Change::RemoveFolder
            | Change::Symlink { .. }
            | Change::Take { .. } => &[],
        }
    }

    /// The new path of the file, if it is moved.
    #[must_use]
    pub const fn destination(&self) -> Option<&RenameTo> {
        match &self.change {
            Change::Rename(to) | Change::Edit { rename: Some(to), .. } => Some(to),
            _ => None,
        }
    }

    /// The file of which this one becomes a copy, if it does.
    #[must_use]
    pub const fn origin(&self) -> Option<&AskedPath> {
        match &self.change {
            Change::Copy { from, .. } => Some(from),
            _ => None,
        }
    }

    /// The path of the result; `None` if the file is deleted, or the folder removed.
    #[must_use]
    pub fn result(&self) -> Option<&AskedPath> {
        match &self.change {
            Change::Delete | Change::RemoveFolder => None,
            _ => Some(self.destination().map_or(&self.path, |to| &to.path)),
        }
    }

    /// True if the file, or folder, leaves its path, which is free for another file of the request then.
    #[must_use]
    pub const fn vacates(&self) -> bool {
        matches!(self.change, Change::Delete | Change::RemoveFolder) || self.destination().is_some()
    }

    /// True if what it puts at its path is made whatever is there: a new file, a symlink or a folder.
    #[must_use]
    pub const fn makes(&self) -> bool {
        matches!(
            self.change,
            Change::Write { .. }
                | Change::Copy { .. }
                | Change::Symlink { .. }
                | Change::Take { .. }
                | Change::MakeFolder
        )
    }

    /// True if it is left out where no file is.
    #[must_use]
    pub(crate) fn skips_missing(&self) -> bool {
        self.if_missing == IfMissing::Skip && !self.makes() && !self.is_of_folder()
    }

    /// True if it is about a folder, not about a file.
    #[must_use]
    pub const fn is_of_folder(&self) -> bool {
        matches!(self.change, Change::MakeFolder | Change::RemoveFolder)
    }
}

/// A change of a file's permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Exactly these bits.
    Bits(u32),
    /// Everyone who may read it may execute it, or nobody may: a patch says no more.
    Executable(bool),
}

impl Mode {
    /// The resulting bits of a file that had `before`.
    #[must_use]
    pub const fn of(self, before: u32) -> u32 {
        match self {
            Self::Bits(bits) => bits,
            Self::Executable(true) => before | (before & 0o444) >> 2,
            Self::Executable(false) => before & !0o111,
        }
    }
}

/// The change of a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Change {
    /// Apply edits, in order, each to the result of the one before; then move the file if requested.
    Edit {
        /// The edits; at least one.
        edits: Vec<Edit>,
        /// The new path of the result, if it is moved.
        rename: Option<RenameTo>,
    },
    /// Write a whole new content.
    Write {
        /// The content.
        content: Vec<u8>,
        /// The behaviour if the file exists.
        if_exists: IfExists,
    },
    /// Make it a copy of another file as that is before the request, with edits.
    Copy {
        /// The other file.
        from: AskedPath,
        /// The edits; may be empty.
        edits: Vec<Edit>,
    },
    /// Delete the file, or the symlink itself.
    Delete,
    /// Move the file, or the symlink itself, unchanged.
    Rename(RenameTo),
    /// Change only the mode.
    Mode,
    /// Make a symlink, or put one in the place of the file or symlink that is there: it is not followed.
    Symlink {
        /// What it leads to: any bytes but NUL, whether anything is there or not.
        target: Vec<u8>,
        /// The behaviour if a file or symlink is there.
        if_exists: IfExists,
    },
    /// Make the file, or replace it, from a file that is given away, with its mode, owner and attributes.
    #[doc(hidden)]
    Take {
        /// The file that is given away.
        held: HeldFile,
        /// The behaviour if a file is there.
        if_exists: IfExists,
    },
    /// Make an empty folder, and the missing ones above it. An error if anything is there. [`FileRequest::mode`] is its
    /// own; the folders above it get what their parents give them.
    MakeFolder,
    /// Remove the folder, which the rest of the request must leave empty: what is in it is deleted, moved out or removed
    /// by entries of its own.
    RemoveFolder,
}

/// The destination of a move.
#[derive(Debug, Clone)]
pub struct RenameTo {
    /// The new path as the caller wrote it.
    pub path: AskedPath,
    /// The behaviour if a file is there.
    pub if_exists: IfExists,
}

/// The behaviour if a file that is to be changed, moved or deleted is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IfMissing {
    /// Refuse.
    #[default]
    Fail,
    /// Leave it out.
    Skip,
}

/// The behaviour if a file exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IfExists {
    /// Refuse.
    #[default]
    Fail,
    /// Replace its content; its mode, owner and attributes stay.
    Replace,
}
