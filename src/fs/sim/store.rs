//! The live view, the durable view, and the operations between them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use super::super::Timestamp;
use super::disk::{Disk, Id, Meta, Node, ROOT, SimBody, SimBytes, SimMetadata, SimNameChange, SimOperation, Version};
use super::machine::Machine;
use super::order;
use crate::errno::Errno;

/// Returns whether an operation is one on this inode: of a name, the file or folder that has it and the folder that it is in.
fn changes(meta: &Meta, id: Id) -> bool {
    match &meta.what {
        SimOperation::Names { changes, .. } => {
            changes.iter().any(|change| [Some(change.folder), change.before, change.after].contains(&Some(id)))
        }
        SimOperation::SetMetadata { id: changed, .. } | SimOperation::WriteOut { id: changed, .. } => *changed == id,
    }
}

/// The unit in which content reaches the disk.
pub(super) const BLOCK: usize = 4096;

/// The number of unsynced contents kept of one file.
const VERSIONS: usize = 64;

/// The content of a file that is not durable.
#[derive(Debug, Clone, Default)]
pub(super) struct SimPendingContent {
    /// All contents since the durable one, the live one last.
    pub(super) versions: Vec<Version>,
    /// The number of older ones that are not kept any more.
    forgotten: usize,
    /// The blocks that the system takes for clean although they were never written.
    lost: BTreeSet<usize>,
}

impl SimPendingContent {
    /// Returns whether the last content was not written out.
    fn is_dirty(&self, id: Id, log: &[SimPendingName]) -> bool {
        let written = log.iter().rev().find_map(|logged| match logged.meta.what {
            SimOperation::WriteOut { id: of, after, .. } if of == id => Some(after),
            _ => None,
        });
        written != Some(self.forgotten + self.versions.len())
    }

    /// The contents after those that were written out.
    pub(super) fn since(&self, written: usize) -> &[Version] {
        &self.versions[written.saturating_sub(self.forgotten).min(self.versions.len())..]
    }
}

/// An operation that is not durable if metadata may be lost in any order.
#[derive(Debug, Clone)]
pub(super) struct SimPendingName {
    pub(super) meta: Arc<Meta>,
    /// True if it is durable on a file system with ordered metadata.
    pub(super) flushed: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Store {
    pub(super) live: Disk,
    /// The view that survives any crash. It has inodes from birth, but without names.
    pub(super) durable: Disk,
    pub(super) log: Vec<SimPendingName>,
    pub(super) pending: BTreeMap<Id, SimPendingContent>,
    pub(super) machine: Machine,
}

/// The bytes of block `index`, as far as there are any.
pub(super) fn block(bytes: &[u8], index: usize) -> &[u8] {
    let start = (index * BLOCK).min(bytes.len());
    &bytes[start..(start + BLOCK).min(bytes.len())]
}

/// `base` with `blocks` taken from `from`, zeros where it has none.
fn overlaid(base: &[u8], blocks: &BTreeSet<usize>, from: &[u8]) -> SimBytes {
    let mut bytes = base.to_vec();
    for index in blocks {
        let start = (index * BLOCK).min(bytes.len());
        let end = (start + BLOCK).min(bytes.len());
        let old = block(from, *index);
        let old = &old[..old.len().min(end - start)];
        bytes[start..end].fill(0);
        bytes[start..start + old.len()].copy_from_slice(old);
    }
    Arc::new(bytes)
}

impl Store {
    /// An empty file system.
    pub(super) fn new() -> Self {
        let machine = Machine::new();
        let mut live = Disk::default();
        live.insert(
            ROOT,
            Node {
                number: 2,
                born: machine.now(),
                mount: 1,
                mount_root: true,
                is_lower: false,
                copy_born: None,
                names: 1,
                body: SimBody::Folder(BTreeMap::new()),
                metadata: SimMetadata { mode: 0o755, ..SimMetadata::default() },
                modified: machine.now(),
                changed: machine.now(),
            },
        );
        Self::of(live, machine)
    }

    /// A file system on which everything is durable.
    pub(super) fn of(live: Disk, machine: Machine) -> Self {
        Self { durable: live.clone(), live, log: Vec::new(), pending: BTreeMap::new(), machine }
    }

    /// The inode `id` of the live view.
    pub(super) fn node(&self, id: Id) -> Result<&Node, Errno> {
        self.live.get(id).ok_or(Errno::STALE)
    }

    fn device_of(&self, id: Id) -> Option<u64> {
        self.live.get(id).or_else(|| self.durable.get(id)).map(|n| self.machine.device(n.mount))
    }

    /// Makes an inode that has no name yet.
    pub(super) fn add(&mut self, mount: u64, body: SimBody, metadata: SimMetadata) -> Id {
        let id = self.machine.new_id();
        let number = self.machine.new_number(mount, &self.live);
        let now = self.machine.now();
        let node = Node {
            number,
            born: now,
            mount,
            mount_root: false,
            is_lower: false,
            copy_born: None,
            names: 0,
            body,
            metadata,
            modified: now,
            changed: now,
        };
        self.live.insert(id, node);
        self.durable.take(id, &self.live);
        id
    }

    fn record(&mut self, verb: &'static str, device: u64, what: SimOperation) {
        let meta = Meta { verb, device, time: self.machine.now(), what };
        let copied = self.live.apply(&meta);
        self.note_copies(&copied);
        self.log.push(SimPendingName { meta: Arc::new(meta), flushed: false });
    }

    /// Notes the birth times of copies, for the durable view.
    fn note_copies(&mut self, copied: &[Id]) {
        for id in copied {
            if let (Some(copy), Some(node)) = (self.live.get(*id), self.durable.get_mut(*id)) {
                node.copy_born = Some(copy.born);
            }
        }
    }

    /// Changes entries, all at once.
    pub(super) fn change_names(&mut self, verb: &'static str, changes: Vec<SimNameChange>, removes: Option<Id>) {
        let device = changes.first().and_then(|c| self.device_of(c.folder)).unwrap_or(1);
        let folders: BTreeSet<Id> = changes.iter().map(|c| c.folder).collect();
        let is_folder = |id: Id| self.live.get(id).is_some_and(Node::is_folder);
        let moves_folder = folders.len() > 1 && changes.iter().any(|c| c.after.is_some_and(is_folder));
        self.record(verb, device, SimOperation::Names { changes, moves_folder, removes });
    }

    /// Changes owner, mode, attributes and flags.
    pub(super) fn change_metadata(
        &mut self,
        verb: &'static str,
        id: Id,
        metadata: SimMetadata,
        modified: Option<Timestamp>,
    ) {
        let device = self.device_of(id).unwrap_or(1);
        if let (Some(time), Some(last)) = (modified, self.pending.get_mut(&id).and_then(|p| p.versions.last_mut())) {
            last.modified = time;
        }
        self.record(verb, device, SimOperation::SetMetadata { id, metadata, modified });
    }

    /// Gives a file a new content, of which `blocks` were just written.
    pub(super) fn change_content(&mut self, id: Id, bytes: Vec<u8>, blocks: std::ops::Range<usize>) {
        let now = self.machine.now();
        let bytes = Arc::new(bytes);
        let mut copied = Vec::new();
        self.live.copy_up(id, now, &mut copied);
        self.note_copies(&copied);
        let Some(node) = self.live.get_mut(id) else { return };
        node.body = SimBody::File(Arc::clone(&bytes));
        node.modified = now;
        node.changed = now;
        let pending = self.pending.entry(id).or_default();
        pending.lost.retain(|b| !blocks.contains(b));
        if pending.versions.len() == VERSIONS {
            // The oldest goes: a crash more likely leaves the newest, and the durable one is kept apart.
            pending.versions.remove(0);
            pending.forgotten += 1;
        }
        pending.versions.push(Version { bytes, modified: now, changed: now });
    }

    /// Drops an inode that has neither a name nor a handle. A crash may still bring its old name back.
    pub(super) fn forget(&mut self, id: Id) {
        self.live.remove(id);
    }

    /// Makes a file, or the names in a folder, durable; on a file system with ordered metadata also all metadata up to its own
    /// last change. A content that is not written yet makes one.
    pub(super) fn sync(&mut self, id: Id) {
        if self.live.get(id).is_some_and(|node| self.machine.volume(node.mount).syncs_to_cache) {
            return;
        }
        let device = self.device_of(id).unwrap_or(1);
        let log = std::mem::take(&mut self.log);
        let wanted = |meta: &Meta| match &meta.what {
            SimOperation::Names { changes, .. } => changes.iter().any(|c| c.folder == id),
            SimOperation::SetMetadata { .. } | SimOperation::WriteOut { .. } => changes(meta, id),
        };
        let is_dirty = self.pending.get(&id).is_some_and(|pending| pending.is_dirty(id, &log));
        let last = if is_dirty { Some(log.len()) } else { log.iter().rposition(|logged| changes(&logged.meta, id)) };
        let needs = order::dependencies(&log, &self.durable);
        let mut taken: Vec<bool> = log.iter().map(|l| wanted(&l.meta)).collect();
        for index in (0..log.len()).rev().filter(|i| taken[*i]).collect::<Vec<_>>() {
            order::with_dependencies(&needs, index, &mut taken);
        }
        for (index, (logged, taken)) in log.into_iter().zip(taken).enumerate() {
            if taken {
                self.durable.apply(&logged.meta);
            } else {
                let is_before = last.is_some_and(|last| index <= last);
                let flushed = logged.flushed || is_before && logged.meta.device == device;
                self.log.push(SimPendingName { flushed, ..logged });
            }
        }
        // The time of a write is later than one that was set before it.
        self.sync_content(id);
    }

    /// Writes the content of a file to the disk, where it is durable with the next metadata that is.
    pub(super) fn write_out(&mut self, id: Id) {
        let orders = self.live.get(id).is_some_and(|node| self.machine.volume(node.mount).orders);
        let Some(pending) = self.pending.get(&id).filter(|_| orders) else { return };
        let Some(last) = pending.versions.last().cloned() else { return };
        let bytes = if pending.lost.is_empty() {
            Arc::clone(&last.bytes)
        } else {
            let empty = SimBytes::default();
            overlaid(&last.bytes, &pending.lost, self.durable.get(id).and_then(Node::bytes).unwrap_or(&empty))
        };
        let after = pending.forgotten + pending.versions.len();
        let device = self.device_of(id).unwrap_or(1);
        let what = SimOperation::WriteOut { id, content: Version { bytes, ..last }, after };
        let meta = Meta { verb: "write out", device, time: self.machine.now(), what };
        self.log.push(SimPendingName { meta: Arc::new(meta), flushed: false });
    }

    /// A process's call to sync the file system of `id`: on some it does nothing, and on some it fails.
    pub(super) fn sync_file_system(&mut self, id: Id) -> io::Result<()> {
        let volume = self.live.get(id).map(|node| self.machine.volume(node.mount));
        if volume.is_some_and(|volume| volume.no_whole_sync) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if volume.is_none_or(|volume| volume.syncs_whole) {
            self.sync_all(id);
        }
        Ok(())
    }

    /// Makes everything on the file system of `id` durable.
    pub(super) fn sync_all(&mut self, id: Id) {
        let device = self.device_of(id).unwrap_or(1);
        let pending: Vec<Id> = self.pending.keys().copied().filter(|id| self.device_of(*id) == Some(device)).collect();
        let log = std::mem::take(&mut self.log);
        for logged in log {
            if logged.meta.device == device {
                self.durable.apply(&logged.meta);
            } else {
                self.log.push(logged);
            }
        }
        for id in pending {
            self.sync_content(id);
        }
        let gone: Vec<Id> = self
            .durable
            .iter()
            .filter(|(id, n)| n.names == 0 && self.machine.device(n.mount) == device && self.live.get(*id).is_none())
            .map(|(id, _)| id)
            .collect();
        for id in gone {
            self.durable.remove(id);
            self.pending.remove(&id);
        }
    }

    fn sync_content(&mut self, id: Id) {
        self.log.retain(|logged| !matches!(logged.meta.what, SimOperation::WriteOut { id: of, .. } if of == id));
        let Some(mut pending) = self.pending.remove(&id) else { return };
        let Some(last) = pending.versions.last().cloned() else { return };
        self.durable.copy_up(id, last.changed, &mut Vec::new());
        let Some(node) = self.durable.get_mut(id) else { return };
        let Some(old) = node.bytes().cloned() else { return };
        node.modified = last.modified;
        node.changed = node.changed.max(last.changed);
        if pending.lost.is_empty() {
            node.body = SimBody::File(last.bytes);
            return;
        }
        node.body = SimBody::File(overlaid(&last.bytes, &pending.lost, &old));
        for version in &mut pending.versions {
            version.bytes = overlaid(&last.bytes, &pending.lost, &version.bytes);
        }
        self.pending.insert(id, pending);
    }

    /// Makes all that is there, and durable, the lower layer of an overlay.
    pub(super) fn lower(&mut self) {
        for disk in [&mut self.live, &mut self.durable] {
            let ids: Vec<Id> = disk.iter().map(|(id, _)| id).collect();
            ids.into_iter().filter_map(|id| disk.get_mut(id).map(|node| node.is_lower = true)).count();
        }
    }

    /// Handles a failed sync of `id`: its dirty pages are marked clean, and no later sync writes them.
    pub(super) fn lose_pages(&mut self, id: Id) {
        let Some(pending) = self.pending.get_mut(&id) else { return };
        let Some(last) = pending.versions.last() else { return };
        let empty = SimBytes::default();
        let durable = self.durable.get(id).and_then(Node::bytes).unwrap_or(&empty);
        let blocks = last.bytes.len().div_ceil(BLOCK);
        pending.lost.extend((0..blocks).filter(|b| block(durable, *b) != block(&last.bytes, *b)));
    }

    /// Writes the whole content again: blocks that a failed sync lost become durable.
    pub(super) fn write_again(&mut self, id: Id) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.lost.clear();
        }
        self.sync_content(id);
    }

    /// Handles a failed sync of the whole file system of `id`.
    pub(super) fn lose_all_pages(&mut self, id: Id) {
        let device = self.device_of(id);
        for id in self.pending.keys().copied().filter(|id| self.device_of(*id) == device).collect::<Vec<_>>() {
            self.lose_pages(id);
        }
    }

    /// The number of bytes that may still be written to the volume of `mount`.
    pub(super) fn space(&self, mount: u64) -> u64 {
        let Some(limit) = self.machine.volume(mount).bytes else { return u64::MAX };
        let device = self.machine.device(mount);
        let used: usize = self
            .live
            .iter()
            .filter(|(_, n)| self.machine.device(n.mount) == device)
            .filter_map(|(_, n)| n.bytes().map(|b| b.len()))
            .sum();
        limit.saturating_sub(used as u64)
    }

    /// Returns whether the volume of `mount` has room for another inode.
    pub(super) fn has_inode(&self, mount: u64) -> bool {
        let Some(limit) = self.machine.volume(mount).inodes else { return true };
        let device = self.machine.device(mount);
        (self.live.iter().filter(|(_, n)| self.machine.device(n.mount) == device).count() as u64) < limit
    }
}
