//! Inodes and names: one view of the file system, live or durable. A clone copies only pointers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::super::{FileKind, Timestamp};
use crate::digest::Digest;

/// The permanent key of an inode: unlike an inode number, it is never reused.
pub(super) type Id = u64;

/// The root folder.
pub(super) const ROOT: Id = 1;

/// The inode flags of `chattr +i` and `chattr +a`.
pub(super) const IMMUTABLE: u32 = 0x10;
pub(super) const APPEND_ONLY: u32 = 0x20;

/// A content, shared until it is changed.
pub(super) type SimBytes = Arc<Vec<u8>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SimBody {
    File(SimBytes),
    Folder(BTreeMap<OsString, Id>),
    Symlink(PathBuf),
    Special,
}

/// The metadata that `chmod`, `chown`, `setfattr` and `chattr` change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SimMetadata {
    pub(super) mode: u32,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) flags: u32,
    pub(super) extended: Vec<(OsString, Vec<u8>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) number: u64,
    pub(super) born: Timestamp,
    pub(super) mount: u64,
    pub(super) mount_root: bool,
    /// True if it is in a lower layer, which is never changed: the first change copies it up.
    pub(super) is_lower: bool,
    /// The birth time that its copy has got in the live view: a power loss does not change that.
    pub(super) copy_born: Option<Timestamp>,
    /// The number of entries that lead here.
    pub(super) names: u64,
    pub(super) body: SimBody,
    pub(super) metadata: SimMetadata,
    pub(super) modified: Timestamp,
    pub(super) changed: Timestamp,
}

impl Node {
    pub(super) fn kind(&self) -> FileKind {
        match self.body {
            SimBody::File(_) => FileKind::File,
            SimBody::Folder(_) => FileKind::Folder,
            SimBody::Symlink(_) => FileKind::Symlink,
            SimBody::Special => FileKind::Special,
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self.body, SimBody::Folder(_))
    }

    pub(super) fn entries(&self) -> Option<&BTreeMap<OsString, Id>> {
        match &self.body {
            SimBody::Folder(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn bytes(&self) -> Option<&SimBytes> {
        match &self.body {
            SimBody::File(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn has_flag(&self, flag: u32) -> bool {
        self.metadata.flags & flag != 0
    }
}

/// One entry of a folder, before and after an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimNameChange {
    pub(super) folder: Id,
    pub(super) name: OsString,
    pub(super) before: Option<Id>,
    pub(super) after: Option<Id>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SimOperation {
    /// Entries that change together or not at all.
    Names {
        changes: Vec<SimNameChange>,
        /// True if a folder gets another parent.
        moves_folder: bool,
        /// The folder that is removed.
        removes: Option<Id>,
    },
    SetMetadata {
        id: Id,
        metadata: SimMetadata,
        modified: Option<Timestamp>,
    },
    /// A content that is on the disk once this is durable.
    WriteOut {
        id: Id,
        content: Version,
        /// The number of contents that the file had before its next one.
        after: usize,
    },
}

/// One content that a file had since its last sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) bytes: SimBytes,
    pub(super) modified: Timestamp,
    /// The time of the write: the inode is written with the content, and its change time shows it.
    pub(super) changed: Timestamp,
}

/// One change of metadata, as a journaling file system would log it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) verb: &'static str,
    pub(super) device: u64,
    pub(super) time: Timestamp,
    pub(super) what: SimOperation,
}

/// An inode with its digest once computed: most inodes are the same in many disks.
#[derive(Debug, Clone)]
struct SimNode {
    node: Node,
    digest: OnceLock<Digest>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    nodes: BTreeMap<Id, Arc<SimNode>>,
    version: u64,
}

impl Disk {
    /// Two disks with the same version are the same; a change sets a version that no disk ever had.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn renew_version(&mut self) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.version = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }

    pub(super) fn get(&self, id: Id) -> Option<&Node> {
        self.nodes.get(&id).map(|known| &known.node)
    }

    /// The digest of an inode, computed by `digest` unless it is known.
    pub(super) fn digest(&self, id: Id, digest: impl FnOnce(&Node) -> Digest) -> Option<Digest> {
        self.nodes.get(&id).map(|known| *known.digest.get_or_init(|| digest(&known.node)))
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Node> {
        self.renew_version();
        let known = self.nodes.get_mut(&id).map(Arc::make_mut)?;
        known.digest = OnceLock::new();
        Some(&mut known.node)
    }

    pub(super) fn insert(&mut self, id: Id, node: Node) {
        self.renew_version();
        self.nodes.insert(id, Arc::new(SimNode { node, digest: OnceLock::new() }));
    }

    pub(super) fn remove(&mut self, id: Id) {
        self.renew_version();
        self.nodes.remove(&id);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Node)> {
        self.nodes.iter().map(|(id, known)| (*id, &known.node))
    }

    /// Takes an inode over from another view, without copying its content.
    pub(super) fn take(&mut self, id: Id, from: &Self) {
        if let Some(node) = from.nodes.get(&id) {
            self.renew_version();
            self.nodes.insert(id, Arc::clone(node));
        }
    }

    pub(super) fn child(&self, folder: Id, name: &OsStr) -> Option<Id> {
        self.get(folder)?.entries()?.get(name).copied()
    }

    /// Answers which inodes were copied up.
    pub(super) fn apply(&mut self, meta: &Meta) -> Vec<Id> {
        let mut copied = Vec::new();
        match &meta.what {
            SimOperation::Names { changes, .. } => {
                for id in changes.iter().flat_map(|change| [Some(change.folder), change.after]).flatten() {
                    self.copy_up(id, meta.time, &mut copied);
                }
                for change in changes {
                    self.set(change, meta.time);
                }
            }
            SimOperation::SetMetadata { id, metadata, modified } => {
                self.copy_up(*id, meta.time, &mut copied);
                if let Some(node) = self.get_mut(*id) {
                    node.metadata.clone_from(metadata);
                    node.changed = meta.time;
                    node.modified = modified.unwrap_or(node.modified);
                }
            }
            SimOperation::WriteOut { id, content, .. } => self.write(*id, content, &mut copied),
        }
        copied
    }

    /// Gives a file a content.
    pub(super) fn write(&mut self, id: Id, content: &Version, copied: &mut Vec<Id>) {
        self.copy_up(id, content.changed, copied);
        if let Some(node) = self.get_mut(id).filter(|node| node.bytes().is_some()) {
            node.body = SimBody::File(Arc::clone(&content.bytes));
            node.modified = content.modified;
            node.changed = node.changed.max(content.changed);
        }
    }

    /// Copies an inode up from a lower layer, with all folders above it: each gets another birth time, and is added to `copied`.
    pub(super) fn copy_up(&mut self, id: Id, time: Timestamp, copied: &mut Vec<Id>) {
        if self.get(id).is_none_or(|node| !node.is_lower) {
            return;
        }
        let Some(node) = self.get_mut(id) else { return };
        (node.is_lower, node.born) = (false, node.copy_born.unwrap_or(time));
        copied.push(id);
        let holds = |node: &Node| node.entries().is_some_and(|entries| entries.values().any(|child| *child == id));
        let above = self.iter().find(|(_, node)| holds(node)).map(|(above, _)| above);
        if let Some(above) = above {
            self.copy_up(above, time, copied);
        }
    }

    fn set(&mut self, change: &SimNameChange, time: Timestamp) {
        let Some(folder) = self.get_mut(change.folder) else { return };
        folder.modified = time;
        folder.changed = time;
        let SimBody::Folder(entries) = &mut folder.body else { return };
        let before = match change.after {
            Some(id) => entries.insert(change.name.clone(), id),
            None => entries.remove(&change.name),
        };
        if let Some(node) = before.and_then(|id| self.get_mut(id)) {
            node.names = node.names.saturating_sub(1);
            node.changed = time;
        }
        if let Some(node) = change.after.and_then(|id| self.get_mut(id)) {
            node.names += 1;
            node.changed = time;
        }
    }

    /// Drops inodes without a name, as `fsck` does at boot, and counts the names again.
    pub(super) fn prune(&mut self) {
        let mut names = BTreeMap::from([(ROOT, 1_u64)]);
        let mut todo = vec![ROOT];
        while let Some(id) = todo.pop() {
            for child in self.get(id).and_then(Node::entries).into_iter().flat_map(BTreeMap::values) {
                let count = names.entry(*child).or_default();
                *count += 1;
                if *count == 1 {
                    todo.push(*child);
                }
            }
        }
        self.renew_version();
        self.nodes.retain(|id, _| names.contains_key(id));
        for (id, count) in names {
            if self.get(id).is_some_and(|n| n.names != count)
                && let Some(node) = self.get_mut(id)
            {
                node.names = count;
            }
        }
    }
}
