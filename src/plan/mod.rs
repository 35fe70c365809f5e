//! The effect of a transaction: for each path its content before and after, and the source of the new content.
//!
//! A plan is a value. A dry run prints it, a commit writes it into a journal, and a revert is a plan like any other.

use crate::digest::{Digest, Digester};
use crate::index::{EntryIndex, FileIndex, IndexVec, TargetIndex};
use crate::path::RelPath;
use crate::text::splice::Splices;

pub mod build;

/// All entries, one per path: new folders first, parents before children; removed folders last, children before
/// parents.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The entries; the index of one is its slot.
    pub entries: IndexVec<EntryIndex, Entry>,
}

/// The change of one path.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The path in the workspace.
    pub path: RelPath,
    /// The change.
    pub change: PlannedChange,
    /// The file of the request that asked for it.
    pub asked_by: Option<FileIndex>,
}

/// A kind of change. A rename is a create and a delete; an exchange of two names is two edits.
#[derive(Debug, Clone)]
pub enum PlannedChange {
    /// A file gets another content, another mode, or both.
    Edit(FileState, New),
    /// A file appears.
    Create(New),
    /// A file is removed.
    Delete(FileState),
    /// A folder appears, empty.
    Folder,
    /// A folder appears, empty, where a file was.
    FileToFolder(FileState),
    /// A file appears in the place of a folder from which everything was moved out.
    FolderToFile(New),
    /// A folder is removed, by itself or within such a folder, after everything was moved out of it.
    RemoveFolder,
}

/// The mode of a symlink in its state: its type and nothing else, as git writes it. Its permissions mean nothing. No file
/// has this mode, so that none is taken for a symlink, or a symlink for a file with its target as content.
pub const LINK_MODE: u32 = 0o120_000;

/// The state of a file, or of a symlink, as far as recovery can recognise it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// The digest of its content; of a symlink, of its target's bytes.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Its permission, set-id and sticky bits; of a symlink [`LINK_MODE`].
    pub mode: u32,
    /// Its owner and attributes; `None` in a journal of version 1.
    pub access: Option<Access>,
}

/// The owner and the metadata of a file besides its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The owner.
    pub user: u32,
    /// The group.
    pub group: u32,
    /// The digest of the extended attributes, with ACLs among them, and of the inode flags; `None` if there are none.
    pub attributes: Option<Digest>,
}

impl FileState {
    /// Returns whether it is a symlink.
    #[must_use]
    pub const fn is_link(&self) -> bool {
        self.mode == LINK_MODE
    }

    /// Returns whether content, mode, owner and attributes are the same, as far as both are known.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.digest == other.digest && self.has_metadata(other.mode, other.access)
    }

    /// Returns whether it is a file with this content in another mode, or with other metadata.
    #[must_use]
    pub fn differs_in_mode(&self, other: &Self) -> bool {
        self.digest == other.digest && self.is_link() == other.is_link()
    }

    /// Returns whether mode, owner and attributes are these, as far as they are known.
    #[must_use]
    pub fn has_metadata(&self, mode: u32, access: Option<Access>) -> bool {
        self.mode == mode && self.access.zip(access).is_none_or(|(one, other)| one == other)
    }
}

/// The new state of a file.
#[derive(Debug, Clone)]
pub struct New {
    /// Its state.
    pub state: FileState,
    /// The source of its bytes.
    pub content: NewContent,
    /// The file whose owner, attributes and flags it gets; `None` for what its folder gives to a new file.
    pub metadata_of: Option<SourceId>,
    /// True if it keeps the modification time of the source: its content only moves.
    pub keeps_time: bool,
}

/// A file that was read for the plan: a target of a request, or the original of an entry that an undo restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub usize);

impl From<TargetIndex> for SourceId {
    /// The file at a target of the request.
    fn from(target: TargetIndex) -> Self {
        Self(target.0)
    }
}

impl From<EntryIndex> for SourceId {
    /// The original of an entry of the journal that is undone.
    fn from(entry: EntryIndex) -> Self {
        Self(entry.0)
    }
}

/// Where new bytes come from.
#[derive(Debug, Clone)]
pub enum NewContent {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The content of a file that was read, with some ranges replaced.
    Spliced(SourceId, Splices),
    /// A file that is given away.
    Held(SourceId),
}

impl Plan {
    /// Returns whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The hash of its whole effect: plans with the same hash expect the same files and leave the same files.
    #[must_use]
    pub fn hash(&self) -> Digest {
        hash(self.entries.iter().map(|entry| {
            let (kind, before, after) = match &entry.change {
                PlannedChange::Edit(before, new) => ("edit", Some(before), Some(&new.state)),
                PlannedChange::Create(new) => ("create", None, Some(&new.state)),
                PlannedChange::Delete(before) => ("delete", Some(before), None),
                PlannedChange::Folder => ("folder", None, None),
                PlannedChange::FileToFolder(before) => ("file_to_folder", Some(before), None),
                PlannedChange::FolderToFile(new) => ("folder_to_file", None, Some(&new.state)),
                PlannedChange::RemoveFolder => ("remove_folder", None, None),
            };
            Hashed { path: &entry.path, kind, before, after }
        }))
    }
}

/// The part of an entry that counts for the hash of its plan.
#[derive(Debug, Clone, Copy)]
pub struct Hashed<'a> {
    /// The path in the workspace.
    pub path: &'a RelPath,
    /// The word for it in journals.
    pub kind: &'a str,
    /// The state before.
    pub before: Option<&'a FileState>,
    /// The state after.
    pub after: Option<&'a FileState>,
}

/// The hash of entries in their order.
pub fn hash<'a>(entries: impl Iterator<Item = Hashed<'a>>) -> Digest {
    use std::os::unix::ffi::OsStrExt as _;
    let mut digester = Digester::new();
    let mut field = |bytes: &[u8]| {
        // Each field is preceded by its length, so that no field can be taken for a part of the next.
        digester.update(&(bytes.len() as u64).to_le_bytes());
        digester.update(bytes);
    };
    for entry in entries {
        field(entry.path.as_path().as_os_str().as_bytes());
        field(entry.kind.as_bytes());
        for state in [entry.before, entry.after] {
            let text = state.map(|state| format!("{} {} {:o}", state.digest, state.size, state.mode));
            field(text.unwrap_or_default().as_bytes());
        }
    }
    digester.finish()
}
