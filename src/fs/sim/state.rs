//! A running machine: the store, its processes, their open files and locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::Lease;
use super::access::{Actor, READ, WRITE};
use super::disk::{APPEND_ONLY, IMMUTABLE, Id, SimBody};
use super::hook::{Hook, Hooked};
use super::store::{BLOCK, Store};
use crate::errno::Errno;

/// An open file description.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimOpenFile {
    /// The key of its process.
    pub(super) process: u64,
    pub(super) id: Id,
    pub(super) writable: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) actor: Actor,
}

/// The process of foreign programs; it cannot be killed.
pub(super) const FOREIGN: u64 = 0;

#[derive(Debug)]
pub(super) struct SimState {
    pub(super) store: Store,
    pub(super) open: BTreeMap<u64, SimOpenFile>,
    /// The description that holds the lock of an inode.
    pub(super) locks: BTreeMap<Id, u64>,
    /// The description that has the lease on an inode.
    pub(super) leases: BTreeMap<Id, u64>,
    /// Inodes that are open and whose last name a foreign program removed.
    pub(super) dropped: BTreeSet<Id>,
    /// The living processes, by a key that is never reused, unlike a pid.
    pub(super) processes: BTreeMap<u64, Process>,
    next_key: u64,
    pub(super) calls: u64,
    pub(super) halted: bool,
    hook: Option<Hooked>,
}

/// The state that all handles to one machine share.
#[derive(Debug)]
pub(super) struct SimShared(Mutex<SimState>);

impl SimShared {
    pub(super) fn new(store: Store) -> Arc<Self> {
        Arc::new(Self(Mutex::new(SimState {
            store,
            open: BTreeMap::new(),
            locks: BTreeMap::new(),
            leases: BTreeMap::new(),
            dropped: BTreeSet::new(),
            processes: BTreeMap::new(),
            next_key: FOREIGN + 1,
            calls: 0,
            halted: false,
            hook: None,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SimState> {
        // A test that panicked inside a call reports that itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The content of a handle of this file system; it closes its description when dropped.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) shared: Arc<SimShared>,
    pub(super) key: u64,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.shared.lock().close(self.key);
    }
}

impl SimState {
    fn new_key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key - 1
    }

    pub(super) fn hook(&self) -> Option<Hook> {
        self.hook.as_ref().map(|h| Arc::clone(&h.0))
    }

    /// Returns the previous hook. Drop it while the machine is not locked, since it may hold handles.
    pub(super) fn set_hook(&mut self, hook: Option<Hook>) -> Option<Hooked> {
        std::mem::replace(&mut self.hook, hook.map(Hooked))
    }

    pub(super) fn start(&mut self, pid: u32, actor: Actor) -> u64 {
        let key = self.new_key();
        self.processes.insert(key, Process { pid, actor });
        key
    }

    /// Ends the process `key`: its open files are closed, its locks are free.
    pub(super) fn kill(&mut self, key: u64) {
        self.processes.remove(&key);
        let open: Vec<u64> = self.open.iter().filter(|(_, o)| o.process == key).map(|(key, _)| *key).collect();
        for description in open {
            self.close(description);
        }
        if self.processes.is_empty() {
            self.store.machine.forgotten += 1;
        }
    }

    pub(super) fn open(&mut self, process: u64, id: Id, writable: bool) -> Result<u64, Errno> {
        self.not_leased(id)?;
        let opened = self.open.values().filter(|o| o.process == process).count() as u64;
        if process != FOREIGN && opened >= self.store.machine.settings.open_files {
            return Err(Errno::MFILE);
        }
        let key = self.new_key();
        self.open.insert(key, SimOpenFile { process, id, writable });
        Ok(key)
    }

    /// Makes a description refer to another inode.
    pub(super) fn reopen(&mut self, key: u64, id: Id) {
        if let Some(open) = self.open.get_mut(&key) {
            open.id = id;
        }
    }

    pub(super) fn close(&mut self, key: u64) {
        let Some(open) = self.open.remove(&key) else { return };
        if self.locks.get(&open.id) == Some(&key) {
            self.locks.remove(&open.id);
        }
        if self.leases.get(&open.id) == Some(&key) {
            self.leases.remove(&open.id);
        }
        self.collect(open.id);
    }

    /// Records that a foreign program removed a name.
    pub(super) fn drop_name(&mut self, id: Id) {
        if self.store.live.get(id).is_some_and(|node| node.names == 0) {
            self.dropped.insert(id);
        }
        self.collect(id);
    }

    /// Frees an inode that has lost its last name and its last handle.
    pub(super) fn collect(&mut self, id: Id) {
        let is_named = self.store.live.get(id).is_none_or(|n| n.names > 0);
        if !is_named && !self.open.values().any(|o| o.id == id) {
            self.store.forget(id);
            self.dropped.remove(&id);
        }
    }

    /// Opens an inode for reading, if `actor` may.
    pub(super) fn open_to_read(&mut self, process: u64, actor: Actor, id: Id) -> Result<u64, Errno> {
        let node = self.store.node(id)?;
        if matches!(node.body, SimBody::Symlink(_)) {
            return Err(Errno::LOOP);
        }
        self.store.allow(actor, node, READ)?;
        self.open(process, id, false)
    }

    /// Opens a file for reading and writing, if `actor` may.
    pub(super) fn open_to_write(&mut self, process: u64, actor: Actor, id: Id) -> Result<u64, Errno> {
        let node = self.store.node(id)?;
        match node.body {
            SimBody::File(_) => {}
            SimBody::Symlink(_) => return Err(Errno::LOOP),
            SimBody::Folder(_) => return Err(Errno::ISDIR),
            SimBody::Special => return Err(Errno::NXIO),
        }
        self.store.allow(actor, node, READ | WRITE)?;
        self.open(process, id, true)
    }

    /// Gives a description the lease on its inode, unless there is another one.
    pub(super) fn lease(&mut self, key: u64, open: SimOpenFile) -> Lease {
        if !self.store.live.get(open.id).is_some_and(|node| self.store.machine.volume(node.mount).leases) {
            return Lease::Unavailable;
        }
        if self.open.iter().any(|(other, it)| it.id == open.id && *other != key) {
            return Lease::Refused;
        }
        self.leases.insert(open.id, key);
        Lease::Granted
    }

    /// Fails where an opener would wait for the end of a lease: here nobody waits.
    pub(super) fn not_leased(&self, id: Id) -> Result<(), Errno> {
        if self.leases.contains_key(&id) { Err(Errno::AGAIN) } else { Ok(()) }
    }

    /// Cuts a file off, or lengthens it by zeros.
    pub(super) fn set_size(&mut self, open: SimOpenFile, size: u64) -> Result<(), Errno> {
        if !open.writable {
            return Err(Errno::INVAL);
        }
        let node = self.store.node(open.id)?;
        let old = node.bytes().ok_or(Errno::INVAL)?;
        let size = usize::try_from(size).map_err(|_| Errno::FBIG)?;
        if node.has_flag(IMMUTABLE) || node.has_flag(APPEND_ONLY) {
            return Err(Errno::PERM);
        }
        if size == old.len() {
            return Ok(());
        }
        if size.saturating_sub(old.len()) as u64 > self.store.space(node.mount) {
            return Err(Errno::NOSPC);
        }
        let (first, last) = (size.min(old.len()) / BLOCK, size.max(old.len()).div_ceil(BLOCK));
        let mut new = old.to_vec();
        new.resize(size, 0);
        self.store.change_content(open.id, new, first..last);
        self.strip_set_ids(open);
        Ok(())
    }

    pub(super) fn read(&self, open: SimOpenFile, offset: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        let bytes = match &self.store.node(open.id)?.body {
            SimBody::File(bytes) => bytes,
            SimBody::Folder(_) => return Err(Errno::ISDIR),
            SimBody::Symlink(_) | SimBody::Special => return Err(Errno::SPIPE),
        };
        let start = usize::try_from(offset).map_or(bytes.len(), |o| o.min(bytes.len()));
        let count = buffer.len().min(bytes.len() - start);
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    /// Writes as much as there is room for.
    pub(super) fn write(&mut self, open: SimOpenFile, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        if !open.writable {
            return Err(Errno::BADF);
        }
        let node = self.store.node(open.id)?;
        let old = node.bytes().ok_or(Errno::BADF)?;
        if node.has_flag(IMMUTABLE) || (node.has_flag(APPEND_ONLY) && offset != old.len() as u64) {
            return Err(Errno::PERM);
        }
        let start = usize::try_from(offset).map_err(|_| Errno::FBIG)?;
        let (end, room) = (start.checked_add(bytes.len()).ok_or(Errno::FBIG)?, self.store.space(node.mount));
        let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_add(old.len());
        let count = if end <= room.max(old.len()) { bytes.len() } else { room.saturating_sub(start) };
        if bytes.is_empty() {
            return Ok(0);
        }
        if count == 0 {
            return Err(Errno::NOSPC);
        }
        let mut new = old.to_vec();
        new.resize(new.len().max(start + count), 0);
        new[start..start + count].copy_from_slice(&bytes[..count]);
        let first = start.min(old.len()) / BLOCK;
        self.store.change_content(open.id, new, first..(start + count).div_ceil(BLOCK));
        self.strip_set_ids(open);
        Ok(count)
    }

    /// Clears the set-id bits, as a write by anyone but root does.
    fn strip_set_ids(&mut self, open: SimOpenFile) {
        let is_root = self.processes.get(&open.process).is_none_or(|p| p.actor.user == 0);
        let Some(metadata) = self.store.live.get(open.id).filter(|_| !is_root).map(|n| n.metadata.clone()) else {
            return;
        };
        let set_ids = if metadata.mode & 0o010 == 0 { 0o4000 } else { 0o6000 };
        if metadata.mode & set_ids != 0 {
            let mode = metadata.mode & !set_ids;
            self.store.change_metadata("strip", open.id, super::disk::SimMetadata { mode, ..metadata }, None);
        }
    }

    /// Truncates a file, as opening it for a new content does.
    pub(super) fn truncate(&mut self, id: Id) -> Result<(), Errno> {
        let bytes = self.store.node(id)?.bytes().ok_or(Errno::ISDIR)?;
        let blocks = bytes.len().div_ceil(BLOCK);
        if !bytes.is_empty() {
            self.store.change_content(id, Vec::new(), 0..blocks);
        }
        Ok(())
    }
}
