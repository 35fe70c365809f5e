//! What is asked: values that are valid from their construction on.

mod builder;
pub mod edit;
mod fingerprint;
pub mod validate;

use crate::check::Check;
use crate::digest::Digest;
use crate::path::AskedPath;
use edit::Edit;

/// Many changes of many files, to be done as one.
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
/// Each call looks through all files that were named before: of some ten thousand or more make `files` yourself.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a caller says each of them, whatever it says of the others")]
#[non_exhaustive]
pub struct Request {
    /// One for each file, in the order in which answers count them.
    pub files: Vec<FileRequest>,
    /// Say what would be done; write nothing.
    pub dry_run: bool,
    /// Put the whole new content of each file into the answer.
    pub include_content: bool,
    /// Add a copy of each file as it was, as `<file>.bak`, to the transaction.
    pub backup: bool,
    /// Decides, with the new files in place, whether they stay.
    pub check: Option<Check>,
    /// Whether it has succeeded already where the very same request was committed before, and every file is still as
    /// it left it. So it is with each request that says which contents it expects.
    pub idempotent: bool,
    /// By which a retry is known: the answer of the transaction that carries it is given again.
    pub idempotency_key: Option<String>,
    /// A text for the log.
    pub label: Option<String>,
}

/// What is asked of one file.
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
    /// What to do.
    pub change: Change,
    /// The permissions afterwards.
    pub mode: Option<Mode>,
}

impl FileRequest {
    /// The edits that are asked for, in order; none where the change is another.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        match &self.change {
            Change::Edit { edits, .. } | Change::Copy { edits, .. } => edits,
            Change::Write { .. } | Change::Delete | Change::Rename(_) | Change::Mode => &[],
        }
    }

    /// The place that the file is moved to, if it is moved.
    #[must_use]
    pub const fn destination(&self) -> Option<&RenameTo> {
        match &self.change {
            Change::Rename(to) | Change::Edit { rename: Some(to), .. } => Some(to),
            _ => None,
        }
    }

    /// The file that this one is made a copy of, if it is.
    #[must_use]
    pub const fn origin(&self) -> Option<&AskedPath> {
        match &self.change {
            Change::Copy { from, .. } => Some(from),
            _ => None,
        }
    }

    /// The path of the result; `None` where the file is deleted.
    #[must_use]
    pub fn result(&self) -> Option<&AskedPath> {
        match &self.change {
            Change::Delete => None,
            _ => Some(self.destination().map_or(&self.path, |to| &to.path)),
        }
    }

    /// True if the file leaves its path, which is free for another file of the request then.
    #[must_use]
    pub const fn vacates(&self) -> bool {
        matches!(self.change, Change::Delete) || self.destination().is_some()
    }
}

/// What becomes of a file's permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Exactly these bits.
    Bits(u32),
    /// Whoever may read it may execute it, or nobody may: all that a patch says.
    Executable(bool),
}

impl Mode {
    /// The bits of a file that had `before`.
    #[must_use]
    pub const fn of(self, before: u32) -> u32 {
        match self {
            Self::Bits(bits) => bits,
            Self::Executable(true) => before | (before & 0o444) >> 2,
            Self::Executable(false) => before & !0o111,
        }
    }
}

/// What to do with a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Change {
    /// Apply edits, in order, each on the result of the one before; then, perhaps, move the file.
    Edit {
        /// The edits; at least one.
        edits: Vec<Edit>,
        /// Where to move the result, if anywhere.
        rename: Option<RenameTo>,
    },
    /// Write a whole new content.
    Write {
        /// The content.
        content: Vec<u8>,
        /// What to do where the file exists.
        if_exists: IfExists,
    },
    /// Make it a copy of another file as that is before the request, with edits.
    Copy {
        /// The other file.
        from: AskedPath,
        /// The edits; perhaps none.
        edits: Vec<Edit>,
    },
    /// Delete the file.
    Delete,
    /// Move the file as it is.
    Rename(RenameTo),
    /// Change nothing but the mode.
    Mode,
}

/// Where a file is moved.
#[derive(Debug, Clone)]
pub struct RenameTo {
    /// The new path as the caller wrote it.
    pub path: AskedPath,
    /// What to do where a file is there.
    pub if_exists: IfExists,
}

/// What to do where a file is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IfExists {
    /// Refuse.
    #[default]
    Fail,
    /// Replace its content; its mode, owner and attributes stay.
    Replace,
}
