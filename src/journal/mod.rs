//! The journal: the plan of a transaction, written before its first swap and never changed again.
//!
//! `journal-format.md` specifies the bytes. The invariants, by their numbers there:
//!
//! - **J1** A journal is written whole as `journal.new`, sealed, and renamed to `journal` once it, and everything staged, is
//!   durable. A folder without a journal, or whose `journal.new` does not verify, was never swapped; any other journal that
//!   does not verify is damaged.
//! - **J2** Its bytes never change after the seal. Two exceptions are replaced as a whole: a contended journal, and a
//!   copy that a person vouches for. Its name is its state ([`JournalState`]).
//! - **J3** It is acted on only where it was born: its header holds the identity of its own folder, or, where none lasts, a
//!   proof elsewhere says so.
//! - **J4** No target is touched before everything staged, the journal and its name `journal.new` are durable. In a contended
//!   transaction, content that was made again since need not be: a crash rolls it back.
//! - **J5** `journal.done` only after every swap was verified, and verified again after the check, if there is one.
//! - **J6** No swap is rolled back without a durable `journal.undo` (`journal.check.undo` after a check began); neither
//!   ever becomes `journal.done`.
//! - **J7** Only these are ever deleted: verified new content, or what a power loss left of it in a file that nobody
//!   else can have reached; of a pruned transaction its verified originals; and copies that txedit made itself.
//! - **J8** Recovery goes forward only with evidence, or from `journal.done`.
//! - **J9** Nothing is reported before it is durable.
//! - **J10** History is read-only.
//! - **J11** No name in the workspace is given but while it is free, or exchanged; and of what was at a target none goes
//!   before another one is durable.
//! - **J12** A file is overwritten only while it holds what the journal says, and only once a copy of its old content, the
//!   new one and the journal's name are durable.
//!
//! Architecture invariant: no file access here. Bytes become records ([`scan()`]); records and observations become a
//! decision (`recover`).

use std::fmt;
use std::path::Path;

use crate::digest::Digest;
use crate::identity::Identity;
use crate::plan::{self, Hashed};

mod parts;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod reverse;
pub(crate) mod scan;
pub(crate) mod swap;

pub use crate::index::{EntryIndex, IndexVec};
pub use crate::path::{PathProblem, RelPath};
pub use crate::plan::{Access, FileState};
pub use parts::RecordedPart;
pub(crate) use parts::nearest;
pub(crate) use scan::remains;
pub use scan::{Beginning, Corrupt, Extract, UnreadableJournal, header, read, read_if, scan};
pub use swap::{Guarantee, Swap, SwapMethod};

/// The newest version of the format. Versions 1, which records neither owners nor attributes, 2, which has no symlinks and
/// removes no folder by itself, 3, in which names are always exchanged, 4, in which no file is overwritten, and 5, which is
/// about one file system, can be read.
pub const VERSION: u64 = 6;

/// A verified journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// The first line.
    pub header: Header,
    /// The entries of the plan; the index of each is its slot.
    pub entries: IndexVec<EntryIndex, Record>,
    /// True if a crash before `journal.done` rolls everything back, whatever the evidence.
    pub back_on_crash: bool,
}

/// The first line of a journal: where, when and by whom it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The version of its format.
    pub version: u64,
    /// The transaction's id.
    pub id: String,
    /// The workspace's random id.
    pub workspace: String,
    /// The identity of the journal's own folder.
    pub folder: Identity,
    /// The boot id of the kernel that performs the swaps.
    pub boot: String,
    /// The process that runs the transaction, for messages.
    pub owner: Owner,
    /// The transactions that this one reverts, newest first; none if it is not an undo.
    pub reverts: Vec<String>,
    /// The open transaction of which this is the commit.
    pub opened: Option<String>,
    /// The idempotency key.
    pub key: Option<String>,
    /// The fingerprint of the request.
    pub request: Option<Digest>,
    /// How slots and targets change places.
    pub swap: SwapMethod,
    /// The other file systems, in the order of their paths.
    pub parts: Vec<RecordedPart>,
    /// A text for the log.
    pub label: Option<String>,
    /// The session of its caller, by which it is undone together with others.
    pub session: Option<String>,
    /// The campaign over many workspaces that it is a part of.
    pub campaign: Option<String>,
}

/// The process that runs a transaction, for messages; no decision depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The program and its version.
    pub program: String,
    /// The process id.
    pub process: u32,
    /// The user id.
    pub user: u32,
    /// The name of the machine.
    pub host: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {}, user {})", self.program, self.process, self.user)
    }
}

/// One entry: the change of a path, and the inodes by which recovery recognises it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The path in the workspace.
    pub path: RelPath,
    /// The change.
    pub change: RecordedChange,
}

/// The change of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedChange {
    /// The staged file and the target are exchanged.
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
    /// The target, which no rename can replace, is overwritten; a copy of it is in the slot from the beginning.
    Overwrite {
        /// The target before.
        before: FileState,
        /// The target after.
        after: FileState,
        /// The inode of the copy.
        staged: Identity,
        /// The target's inode, which stays.
        original: Identity,
    },
    /// The staged file is renamed to the target.
    Create {
        /// The target after.
        after: FileState,
        /// The staged inode.
        staged: Identity,
    },
    /// The target is renamed to the slot.
    Delete {
        /// The target before.
        before: FileState,
        /// The original's inode.
        original: Identity,
    },
    /// The staged folder is renamed to the target.
    Folder {
        /// The staged inode.
        staged: Identity,
    },
    /// The staged folder and the target, a file, are exchanged.
    FileToFolder {
        /// The target before.
        before: FileState,
        /// The staged inode.
        staged: Identity,
        /// The original's inode.
        original: Identity,
    },
    /// The staged file and the target, a folder that is empty by then, are exchanged.
    FolderToFile {
        /// The target after.
        after: FileState,
        /// The staged inode.
        staged: Identity,
        /// The folder's inode.
        original: Identity,
    },
    /// The target, a folder that is empty by then, is renamed to the slot.
    RemoveFolder {
        /// The folder's inode.
        original: Identity,
    },
}

impl RecordedChange {
    /// Returns whether the slot and the target change places.
    #[must_use]
    pub const fn exchanges(&self) -> bool {
        matches!(self, Self::Edit { .. } | Self::FileToFolder { .. } | Self::FolderToFile { .. })
    }

    /// The word in journals and answers.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Edit { .. } => "edit",
            Self::Overwrite { .. } => "overwrite",
            Self::Create { .. } => "create",
            Self::Delete { .. } => "delete",
            Self::Folder { .. } => "folder",
            Self::FileToFolder { .. } => "file_to_folder",
            Self::FolderToFile { .. } => "folder_to_file",
            Self::RemoveFolder { .. } => "remove_folder",
        }
    }

    /// The target before; `None` if it is not a file then.
    #[must_use]
    pub const fn before(&self) -> Option<&FileState> {
        match self {
            Self::Edit { before, .. }
            | Self::Overwrite { before, .. }
            | Self::Delete { before, .. }
            | Self::FileToFolder { before, .. } => Some(before),
            Self::Create { .. } | Self::Folder { .. } | Self::FolderToFile { .. } | Self::RemoveFolder { .. } => None,
        }
    }

    /// The target after; `None` if it is not a file then.
    #[must_use]
    pub const fn after(&self) -> Option<&FileState> {
        match self {
            Self::Edit { after, .. }
            | Self::Overwrite { after, .. }
            | Self::Create { after, .. }
            | Self::FolderToFile { after, .. } => Some(after),
            Self::Delete { .. } | Self::Folder { .. } | Self::FileToFolder { .. } | Self::RemoveFolder { .. } => None,
        }
    }

    /// The staged inode.
    #[must_use]
    pub const fn staged(&self) -> Option<&Identity> {
        match self {
            Self::Edit { staged, .. }
            | Self::Overwrite { staged, .. }
            | Self::Create { staged, .. }
            | Self::Folder { staged }
            | Self::FileToFolder { staged, .. }
            | Self::FolderToFile { staged, .. } => Some(staged),
            Self::Delete { .. } | Self::RemoveFolder { .. } => None,
        }
    }

    /// The inode that was at the target; `None` if there was none.
    #[must_use]
    pub const fn original(&self) -> Option<&Identity> {
        match self {
            Self::Edit { original, .. }
            | Self::Overwrite { original, .. }
            | Self::Delete { original, .. }
            | Self::FileToFolder { original, .. }
            | Self::FolderToFile { original, .. }
            | Self::RemoveFolder { original } => Some(original),
            Self::Create { .. } | Self::Folder { .. } => None,
        }
    }

    /// The inode that is in the slot once it is done; `None` if there is none.
    #[must_use]
    pub const fn replaced(&self) -> Option<&Identity> {
        match self {
            Self::Overwrite { staged, .. } => Some(staged),
            _ => self.original(),
        }
    }

    /// Returns whether the target is overwritten.
    #[must_use]
    pub const fn overwrites(&self) -> bool {
        matches!(self, Self::Overwrite { .. })
    }

    /// The folder that is removed, if any.
    #[must_use]
    pub const fn folder_before(&self) -> Option<&Identity> {
        match self {
            Self::FolderToFile { original, .. } | Self::RemoveFolder { original } => Some(original),
            _ => None,
        }
    }

    /// The folder that is made, if any.
    #[must_use]
    pub const fn folder_after(&self) -> Option<&Identity> {
        match self {
            Self::Folder { staged } | Self::FileToFolder { staged, .. } => Some(staged),
            _ => None,
        }
    }
}

impl Journal {
    /// Returns whether files are overwritten.
    #[must_use]
    pub fn overwrites(&self) -> bool {
        self.entries.iter().any(|record| record.change.overwrites())
    }

    /// Returns whether the original of an entry stays at the name to which it came out, `NNNNNN.out`.
    #[must_use]
    pub fn keeps_out(&self, entry: EntryIndex) -> bool {
        self.header.swap == SwapMethod::Rename && self.entries[entry].change.exchanges()
    }

    /// What a reader of the files could count on.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        if self.overwrites() { Guarantee::InPlace } else { self.header.swap.guarantee() }
    }

    /// The hash of the plan, as a preview shows it.
    #[must_use]
    pub fn plan_hash(&self) -> Digest {
        plan::hash(self.entries.iter().map(|record| Hashed {
            path: &record.path,
            // A preview does not know how a file gets its content.
            kind: if record.change.overwrites() { "edit" } else { record.change.kind() },
            before: record.change.before(),
            after: record.change.after(),
        }))
    }
}

/// The name of the slot of an entry.
#[must_use]
pub fn slot_name(entry: EntryIndex) -> String {
    format!("{:06}", entry.0)
}

/// The name beside the slot of entry `index` for what a check, or another program, put in the place of its target (or
/// of a folder `above` levels higher): a rollback moves it there.
#[must_use]
pub fn kept_name(entry: EntryIndex, above: usize) -> String {
    let slot = slot_name(entry);
    if above == 0 { format!("{slot}.kept") } else { format!("{slot}.kept.{above}") }
}

/// The entry and the number of levels above its target, from such a name.
#[must_use]
pub fn kept_place(name: &str) -> Option<(EntryIndex, usize)> {
    let (index, rest) = name.split_once(".kept")?;
    let above = rest.strip_prefix('.').unwrap_or("0");
    let (entry, above) = (EntryIndex(index.parse().ok()?), above.parse().ok()?);
    (kept_name(entry, above) == name).then_some((entry, above))
}

/// The suffix of what came out of its name.
pub const OUT: &str = ".out";

/// The name beside the slot of an entry for what came out of its target's name where that and the slot change places
/// without an exchange.
#[must_use]
pub fn out_name(entry: EntryIndex) -> String {
    format!("{}{OUT}", slot_name(entry))
}

/// The suffix of what a target is overwritten with.
pub const NEW: &str = ".new";

/// The name beside the slot of an entry for the content with which its target is overwritten.
#[must_use]
pub fn new_name(entry: EntryIndex) -> String {
    format!("{}{NEW}", slot_name(entry))
}

/// The entry whose target is overwritten with the file of this name.
#[must_use]
pub fn entry_of_new(name: &str) -> Option<EntryIndex> {
    let entry = EntryIndex(name.strip_suffix(NEW)?.parse().ok()?);
    (new_name(entry) == name).then_some(entry)
}

/// The suffix of the copy of an original.
pub const ORIGINAL: &str = ".original";

/// The name of a copy of the original of entry `index`: made if its inode had other names, through which the slot could
/// be written.
#[must_use]
pub fn original_name(entry: EntryIndex) -> String {
    format!("{}{ORIGINAL}", slot_name(entry))
}

/// The entry of whose original a file of this name is the copy.
#[must_use]
pub fn entry_of_original(name: &str) -> Option<EntryIndex> {
    let entry = EntryIndex(name.strip_suffix(ORIGINAL)?.parse().ok()?);
    (original_name(entry) == name).then_some(entry)
}

/// The state of a transaction: the name of its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JournalState {
    /// `journal.new`: it may not be durable, and nor may anything staged; if it verifies, only the files tell whether swaps
    /// were under way.
    New,
    /// `journal`: swaps may be under way.
    Sealed,
    /// `journal.contended`: swaps may be under way, or rolled back; the contents of edits may differ from the journal,
    /// and may not be durable.
    Contended,
    /// `journal.check`: every swap was done and verified, and a check decides.
    Check,
    /// `journal.done`: every swap was done and verified, and the check, if there is one, passed.
    Done,
    /// `journal.undo`: it is being rolled back.
    Undo,
    /// `journal.check.undo`: it is being rolled back, and a check may have written over what was swapped.
    CheckUndo,
}

impl JournalState {
    /// All states.
    pub const ALL: [Self; 7] =
        [Self::New, Self::Sealed, Self::Contended, Self::Check, Self::Done, Self::Undo, Self::CheckUndo];

    /// The file name.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::New => "journal.new",
            Self::Sealed => "journal",
            Self::Contended => "journal.contended",
            Self::Check => "journal.check",
            Self::Done => "journal.done",
            Self::Undo => "journal.undo",
            Self::CheckUndo => "journal.check.undo",
        }
    }

    /// Returns whether it is being rolled back.
    #[must_use]
    pub const fn is_undo(self) -> bool {
        matches!(self, Self::Undo | Self::CheckUndo)
    }

    /// The state of the same transaction during its rollback. A contended one keeps its state: after a crash it can only
    /// go back.
    #[must_use]
    pub const fn undone(self) -> Self {
        match self {
            Self::New | Self::Sealed | Self::Done | Self::Undo => Self::Undo,
            Self::Check | Self::CheckUndo => Self::CheckUndo,
            Self::Contended => Self::Contended,
        }
    }
}

/// The name of a journal while it is written once more.
pub const HIDDEN_NAME: &str = ".journal";

/// The name of an empty file in a folder in `kept/`: every original went back when the transaction was rolled back,
/// whatever is at their paths since.
pub const RESTORED_NAME: &str = "restored";

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
