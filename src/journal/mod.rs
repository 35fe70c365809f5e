//! The journal: what a transaction is about to do, written before it does it, and never changed again.
//!
//! `journal-format.md` specifies the bytes. The invariants, by their numbers there:
//!
//! - **J1** A journal is written whole under a hidden name, sealed, synced, and only then renamed to `journal`.
//!   A folder without a journal name was never swapped.
//! - **J2** Its bytes never change after the seal, but for a contended one's, and a copy's that a person vouches for: these
//!   are replaced as a whole. Its name is its state ([`Mark`]).
//! - **J3** It is acted on only where it was born: its header holds the identity of its own folder.
//! - **J4** No target is touched before everything staged and the journal's name are durable; but in a contended one a
//!   content that was made anew since need not be: a crash takes it back.
//! - **J5** `journal.done` only after every swap was looked at, and again after the check, if there is one.
//! - **J6** No swap is taken back without a durable `journal.undo` (`journal.check.undo` after a check began); neither
//!   ever becomes `journal.done`.
//! - **J7** Nothing but verified new content, or what a power loss left of it in a file that nobody else can have
//!   reached, is ever deleted, and of a pruned transaction its verified originals.
//! - **J8** Recovery goes forward only with evidence, or from `journal.done`.
//! - **J9** Nothing is reported before it is durable.
//! - **J10** History is read-only.
//!
//! Architecture invariant: no file access here. Bytes become records ([`scan()`]), records and what was observed become
//! a decision (`recover`).

use std::fmt;
use std::path::Path;

use crate::digest::Digest;
use crate::identity::Identity;
use crate::plan::{self, Hashed};

pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod reverse;
pub(crate) mod scan;

pub use crate::path::{PathProblem, RelPath};
pub use crate::plan::{Access, FileState};
pub use scan::{Beginning, Corrupt, Extract, UnreadableJournal, header, read, read_if, scan};

/// The version of the format that is written. Version 1, which tells neither owners nor attributes, is read, too.
pub const VERSION: u64 = 2;

/// A verified journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// The first line.
    pub header: Header,
    /// One for each entry of the plan; the index is the slot.
    pub entries: Vec<Record>,
    /// Whether a crash before `journal.done` takes everything back, whatever the evidence.
    pub back_on_crash: bool,
}

/// Who, where and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The version that it is written in.
    pub version: u64,
    /// The transaction.
    pub id: String,
    /// The workspace's random id.
    pub workspace: String,
    /// The journal's own folder.
    pub folder: Identity,
    /// The boot id of the kernel that swaps.
    pub boot: String,
    /// Who, for messages.
    pub owner: Owner,
    /// The transaction that this one undoes.
    pub reverts: Option<String>,
    /// The open transaction that it was before it was committed.
    pub opened: Option<String>,
    /// The key by which its caller knows it again.
    pub key: Option<String>,
    /// The fingerprint of the request that it is.
    pub request: Option<Digest>,
    /// A text for the log.
    pub label: Option<String>,
}

/// Who runs a transaction, for messages; no decision rests on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The program and its version.
    pub program: String,
    /// The process.
    pub process: u32,
    /// The user.
    pub user: u32,
    /// The machine.
    pub host: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {}, user {})", self.program, self.process, self.user)
    }
}

/// One entry: what happens to a path, and the inodes that tell whether it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The path in the workspace.
    pub path: RelPath,
    /// What happens.
    pub change: RecordedChange,
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedChange {
    /// The staged file and the target change places.
    Edit {
        /// The target before.
        before: FileState,
        /// The target after.
        after: FileState,
        /// The staged inode.
        staged: Identity,
        /// The original's inode.
        original: Identity,
    },
    /// The staged file goes to the target's name.
    Create {
        /// The target after.
        after: FileState,
        /// The staged inode.
        staged: Identity,
    },
    /// The target goes to the slot.
    Delete {
        /// The target before.
        before: FileState,
        /// The original's inode.
        original: Identity,
    },
    /// The staged folder goes to the target's name.
    Folder {
        /// The staged inode.
        staged: Identity,
    },
    /// The staged folder and the target, a file, change places.
    FileToFolder {
        /// The target before.
        before: FileState,
        /// The staged inode.
        staged: Identity,
        /// The original's inode.
        original: Identity,
    },
    /// The staged file and the target, a folder that is empty by then, change places.
    FolderToFile {
        /// The target after.
        after: FileState,
        /// The staged inode.
        staged: Identity,
        /// The folder's inode.
        original: Identity,
    },
    /// The target, a folder that is empty by then, goes to the slot.
    RemoveFolder {
        /// The folder's inode.
        original: Identity,
    },
}

impl RecordedChange {
    /// The word in journals and answers.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Edit { .. } => "edit",
            Self::Create { .. } => "create",
            Self::Delete { .. } => "delete",
            Self::Folder { .. } => "folder",
            Self::FileToFolder { .. } => "file_to_folder",
            Self::FolderToFile { .. } => "folder_to_file",
            Self::RemoveFolder { .. } => "remove_folder",
        }
    }

    /// The target before; `None` where it is no file then.
    #[must_use]
    pub const fn before(&self) -> Option<&FileState> {
        match self {
            Self::Edit { before, .. } | Self::Delete { before, .. } | Self::FileToFolder { before, .. } => Some(before),
            Self::Create { .. } | Self::Folder { .. } | Self::FolderToFile { .. } | Self::RemoveFolder { .. } => None,
        }
    }

    /// The target after; `None` where it is no file then.
    #[must_use]
    pub const fn after(&self) -> Option<&FileState> {
        match self {
            Self::Edit { after, .. } | Self::Create { after, .. } | Self::FolderToFile { after, .. } => Some(after),
            Self::Delete { .. } | Self::Folder { .. } | Self::FileToFolder { .. } | Self::RemoveFolder { .. } => None,
        }
    }

    /// The inode that was staged.
    #[must_use]
    pub const fn staged(&self) -> Option<&Identity> {
        match self {
            Self::Edit { staged, .. }
            | Self::Create { staged, .. }
            | Self::Folder { staged }
            | Self::FileToFolder { staged, .. }
            | Self::FolderToFile { staged, .. } => Some(staged),
            Self::Delete { .. } | Self::RemoveFolder { .. } => None,
        }
    }

    /// The inode that was at the target; `None` where nothing was.
    #[must_use]
    pub const fn original(&self) -> Option<&Identity> {
        match self {
            Self::Edit { original, .. }
            | Self::Delete { original, .. }
            | Self::FileToFolder { original, .. }
            | Self::FolderToFile { original, .. }
            | Self::RemoveFolder { original } => Some(original),
            Self::Create { .. } | Self::Folder { .. } => None,
        }
    }

    /// The folder that goes, if one does.
    #[must_use]
    pub const fn folder_before(&self) -> Option<&Identity> {
        match self {
            Self::FolderToFile { original, .. } | Self::RemoveFolder { original } => Some(original),
            _ => None,
        }
    }

    /// The folder that appears, if one does.
    #[must_use]
    pub const fn folder_after(&self) -> Option<&Identity> {
        match self {
            Self::Folder { staged } | Self::FileToFolder { staged, .. } => Some(staged),
            _ => None,
        }
    }
}

impl Journal {
    /// The hash of the plan that it carries out: what a preview of it said.
    #[must_use]
    pub fn plan_hash(&self) -> Digest {
        plan::hash(self.entries.iter().map(|record| Hashed {
            path: &record.path,
            kind: record.change.kind(),
            before: record.change.before(),
            after: record.change.after(),
        }))
    }
}

/// The name of the slot of entry `index`.
#[must_use]
pub fn slot_name(index: usize) -> String {
    format!("{index:06}")
}

/// The name beside the slot of entry `index` where a rollback puts what a check, or another program, put in the place of
/// its target, or so many folders above it.
#[must_use]
pub fn kept_name(index: usize, above: usize) -> String {
    if above == 0 { format!("{index:06}.kept") } else { format!("{index:06}.kept.{above}") }
}

/// The entry and the number of folders above its target that such a name is made of.
#[must_use]
pub fn kept_place(name: &str) -> Option<(usize, usize)> {
    let (index, rest) = name.split_once(".kept")?;
    let above = rest.strip_prefix('.').unwrap_or("0");
    let (index, above) = (index.parse().ok()?, above.parse().ok()?);
    (kept_name(index, above) == name).then_some((index, above))
}

/// What follows the number of an entry in the name of the copy of its original.
pub const ORIGINAL: &str = ".original";

/// The name of a copy of what was at the target of entry `index`: made where its inode had other names, through which
/// what is in the slot could be written.
#[must_use]
pub fn original_name(index: usize) -> String {
    format!("{index:06}{ORIGINAL}")
}

/// The state of a transaction: the name of its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// `journal`: swaps may be under way.
    Sealed,
    /// `journal.contended`: swaps may be under way, or taken back; the contents of edits may be others than the journal
    /// says, and not durable.
    Contended,
    /// `journal.check`: every swap was done and looked at, and a check decides.
    Check,
    /// `journal.done`: every swap was done and looked at, and a check, if there was one, passed.
    Done,
    /// `journal.undo`: it is being taken back.
    Undo,
    /// `journal.check.undo`: it is being taken back, and a check may have written over what was swapped.
    CheckUndo,
}

impl Mark {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Sealed, Self::Contended, Self::Check, Self::Done, Self::Undo, Self::CheckUndo];

    /// The file name.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Sealed => "journal",
            Self::Contended => "journal.contended",
            Self::Check => "journal.check",
            Self::Done => "journal.done",
            Self::Undo => "journal.undo",
            Self::CheckUndo => "journal.check.undo",
        }
    }

    /// Whether it is being taken back.
    #[must_use]
    pub const fn is_undo(self) -> bool {
        matches!(self, Self::Undo | Self::CheckUndo)
    }

    /// The mark of the same transaction while it is being taken back. A contended one has it from the start: after a crash
    /// it goes nowhere but back.
    #[must_use]
    pub const fn undone(self) -> Self {
        match self {
            Self::Sealed | Self::Done | Self::Undo => Self::Undo,
            Self::Check | Self::CheckUndo => Self::CheckUndo,
            Self::Contended => Self::Contended,
        }
    }
}

/// The name under which a journal is written.
pub const HIDDEN_NAME: &str = ".journal";

/// Whether `name` can be a transaction's id: UTC time, a dash and 16 hex digits.
#[must_use]
pub fn is_id(name: &Path) -> bool {
    let Some(name) = name.to_str() else { return false };
    let Some((time, random)) = name.split_once('-') else { return false };
    let digit_or = |b: u8, at: usize| match at {
        8 => b == b'T',
        15 => b == b'.',
        22 => b == b'Z',
        _ => b.is_ascii_digit(),
    };
    time.len() == 23
        && time.bytes().enumerate().all(|(at, b)| digit_or(b, at))
        && random.len() == 16
        && random.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
