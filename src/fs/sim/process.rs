//! A process of the machine: how each of its calls is counted, hooked and run.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::{Fs as _, Handle, Name, Stat, Timestamp};
use super::access::{Actor, is_segment};
use super::disk::{APPEND_ONLY, IMMUTABLE, Id, Node, SimBody, SimBytes, SimMetadata};
use super::hook::{Action, Inside, SimCall, SimKilled};
use super::names::Spot;
use super::state::{Descriptor, Process, SimOpenFile, SimShared, SimState};
use super::store::Store;
use crate::errno::Errno;
use crate::limits;

/// A process on a [`SimFs`](super::SimFs): a kill closes its files and releases its locks.
///
/// Clones are threads of the same process.
#[derive(Debug, Clone)]
pub struct SimProcess {
    pub(super) shared: Arc<SimShared>,
    pub(super) key: u64,
}

/// The most bytes that one copy moves, so that callers must loop as on a real system.
const COPY: usize = 1 << 30;

/// The inode flags that are not copied with a file.
pub(super) const BARRED: u32 = IMMUTABLE | APPEND_ONLY;

/// The set-group-id bit.
pub(super) const SET_GROUP: u32 = 0o2000;

/// The state during a call.
pub(super) struct SimTurn<'a> {
    pub(super) state: &'a mut SimState,
    pub(super) process: Process,
    /// The most bytes that it may move.
    pub(super) most: usize,
}

impl SimTurn<'_> {
    pub(super) fn actor(&self) -> Actor {
        self.process.actor
    }

    pub(super) fn find(&self, handle: &Handle) -> io::Result<SimOpenFile> {
        let descriptor = handle.get::<Descriptor>().ok_or(Errno::BADF)?;
        Ok(*self.state.open.get(&descriptor.key).ok_or(Errno::BADF)?)
    }

    pub(super) fn key(&self, handle: &Handle) -> io::Result<u64> {
        let descriptor = handle.get::<Descriptor>().ok_or(Errno::BADF)?;
        self.find(handle).map(|_| descriptor.key)
    }

    pub(super) fn id(&self, handle: &Handle) -> io::Result<Id> {
        Ok(self.find(handle)?.id)
    }

    pub(super) fn spot<'n>(&self, name: Name<'n>) -> io::Result<Spot<'n>> {
        let folder = self.id(name.folder)?;
        if !is_segment(name.name) {
            return Err(Errno::INVAL.into());
        }
        Ok(Spot { folder, name: name.name })
    }

    pub(super) fn look(&self, name: Name<'_>) -> io::Result<Option<Id>> {
        let spot = self.spot(name)?;
        Ok(self.state.store.look(self.actor(), spot.folder, spot.name)?)
    }

    pub(super) fn node(&self, handle: &Handle) -> io::Result<&Node> {
        Ok(self.state.store.node(self.id(handle)?)?)
    }

    /// Makes an empty file and opens it.
    pub(super) fn create(&mut self, process: u64, name: Name<'_>, mode: u32) -> io::Result<(u64, Stat)> {
        let (spot, actor) = (self.spot(name)?, self.actor());
        // The kernel takes a free descriptor first: without one, no file is made.
        let key = self.state.open(process, spot.folder, true)?;
        let created = self.state.store.make(actor, "create", spot, SimBody::File(SimBytes::default()), mode);
        match created {
            Ok(id) => self.state.reopen(key, id),
            Err(_) => self.state.close(key),
        }
        Ok((key, self.state.store.stat(created?)?))
    }

    /// Makes a symlink.
    pub(super) fn symlink(&mut self, name: Name<'_>, target: &[u8]) -> io::Result<Stat> {
        // As the kernel takes a path.
        if target.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if target.len() > limits::PATH_BYTES {
            return Err(Errno::NAMETOOLONG.into());
        }
        let (spot, actor) = (self.spot(name)?, self.actor());
        let body = SimBody::Symlink(OsStr::from_bytes(target).into());
        let id = self.state.store.make(actor, "symlink", spot, body, 0o777)?;
        Ok(self.state.store.stat(id)?)
    }

    /// Copies up to `length` bytes from one file to another.
    pub(super) fn copy(
        &mut self,
        (from, from_at): (&Handle, u64),
        (to, to_at): (&Handle, u64),
        length: u64,
    ) -> io::Result<u64> {
        let (source, target) = (self.node(from)?, self.node(to)?);
        if length == 0 {
            return Ok(0);
        }
        if source.is_folder() || target.is_folder() {
            return Err(Errno::ISDIR.into());
        }
        if !self.find(to)?.writable {
            return Err(Errno::BADF.into());
        }
        let size = source.bytes().ok_or(Errno::SPIPE)?.len();
        let left = size.saturating_sub(usize::try_from(from_at).unwrap_or(usize::MAX));
        let most = usize::try_from(length).unwrap_or(usize::MAX).min(self.most).min(COPY).min(left);
        let mut buffer = vec![0; most];
        let count = self.state.read(self.find(from)?, from_at, &mut buffer)?;
        Ok(self.state.write(self.find(to)?, to_at, &buffer[..count])? as u64)
    }

    /// Changes the metadata of a file, if anything changes and the process may.
    pub(super) fn set_metadata(
        &mut self,
        verb: &'static str,
        handle: &Handle,
        new: SimMetadata,
        time: Option<Timestamp>,
    ) -> io::Result<()> {
        self.set_metadata_of(verb, self.id(handle)?, new, time)
    }

    /// The same of an inode, which has no handle if it is a symlink.
    pub(super) fn set_metadata_of(
        &mut self,
        verb: &'static str,
        id: Id,
        new: SimMetadata,
        time: Option<Timestamp>,
    ) -> io::Result<()> {
        let (node, actor) = (self.state.store.node(id)?, self.actor());
        let (old, time) = (&node.metadata, time.filter(|time| *time != node.modified));
        if new == *old && time.is_none() && !node.is_lower {
            return Ok(());
        }
        if self.state.store.machine.volume(node.mount).read_only {
            return Err(Errno::ROFS.into());
        }
        let is_owner = actor.user == 0 || actor.user == old.user;
        let gives_away = actor.user != 0 && (new.user != old.user || ![old.group, actor.group].contains(&new.group));
        // For a group that the process is not in, the kernel clears the bit without an error; the real one verifies it.
        let loses_bit = actor.user != 0 && new.mode & SET_GROUP != 0 && new.group != actor.group;
        if node.has_flag(BARRED) || !is_owner || gives_away || loses_bit {
            return Err(Errno::PERM.into());
        }
        self.state.store.change_metadata(verb, id, new, time);
        Ok(())
    }
}

/// Deletes a name as the process that has its folder open, if that is alive.
pub(super) fn unlink(name: Name<'_>) -> io::Result<()> {
    let Descriptor { shared, key } = name.folder.get().ok_or(Errno::BADF)?;
    let process = shared.lock().open.get(key).ok_or(Errno::BADF)?.process;
    SimProcess { shared: Arc::clone(shared), key: process }.unlink(name)
}

impl SimProcess {
    /// Runs one call: counts it, calls the hook, and carries it out if both process and machine are still alive.
    pub(super) fn call<T>(
        &self,
        verb: &'static str,
        mutates: bool,
        path: impl FnOnce() -> PathBuf,
        act: impl FnOnce(&mut SimTurn<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.call_or(verb, mutates, || (path(), None), act, |_| Ok(()))
    }

    /// The same for a call that changes something even if the hook makes it fail, or that has two paths.
    pub(super) fn call_or<T>(
        &self,
        verb: &'static str,
        mutates: bool,
        paths: impl FnOnce() -> (PathBuf, Option<PathBuf>),
        act: impl FnOnce(&mut SimTurn<'_>) -> io::Result<T>,
        fail: impl FnOnce(&mut SimTurn<'_>) -> io::Result<()>,
    ) -> io::Result<T> {
        match self.ask(verb, mutates, paths)? {
            Action::Continue => self.act(usize::MAX, mutates, act),
            Action::Short(most) => self.act(most.max(1), mutates, act),
            Action::Fail(errno) => self.act(usize::MAX, mutates, fail).and(Err(errno.into())),
            Action::FailAfter(errno) => self.act(usize::MAX, mutates, act).and(Err(errno.into())),
            Action::Kill => {
                self.shared.lock().kill(self.key);
                Err(SimKilled::error())
            }
            Action::Halt => {
                self.shared.lock().halted = true;
                Err(SimKilled::error())
            }
        }
    }

    /// The hook's decision about a call. The machine is not locked meanwhile.
    fn ask(
        &self,
        verb: &'static str,
        mutates: bool,
        paths: impl FnOnce() -> (PathBuf, Option<PathBuf>),
    ) -> io::Result<Action> {
        let (number, process, hook) = {
            let mut state = self.shared.lock();
            let process = self.alive(&state)?;
            if Inside::is() {
                return Ok(Action::Continue);
            }
            state.calls += 1;
            (state.calls - 1, process, state.hook())
        };
        let Some(hook) = hook else { return Ok(Action::Continue) };
        let (path, to) = paths();
        let _inside = Inside::enter();
        Ok(hook(&SimCall { number, process: process.pid, verb, path: &path, to: to.as_deref(), mutates }))
    }

    fn alive(&self, state: &SimState) -> io::Result<Process> {
        let process = state.processes.get(&self.key).filter(|_| !state.halted);
        process.copied().ok_or_else(SimKilled::error)
    }

    fn act<T>(&self, most: usize, mutates: bool, act: impl FnOnce(&mut SimTurn<'_>) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.shared.lock();
        let process = self.alive(&state)?;
        if mutates {
            let tick = state.store.machine.settings.tick;
            state.store.machine.advance(tick);
        }
        act(&mut SimTurn { state: &mut state, process, most })
    }

    pub(super) fn handle(&self, key: u64, path: impl Into<PathBuf>) -> Handle {
        Handle::new(Descriptor { shared: Arc::clone(&self.shared), key }, path)
    }
}

impl SimProcess {
    pub(super) fn open_at(&self, turn: &mut SimTurn<'_>, start: Id, path: &Path, whole: &Path) -> io::Result<Handle> {
        let actor = turn.actor();
        let id = turn.state.store.walk(actor, start, path)?;
        if !turn.state.store.node(id)?.is_folder() {
            return Err(Errno::NOTDIR.into());
        }
        Ok(self.handle(turn.state.open_to_read(self.key, actor, id)?, whole))
    }

    pub(super) fn sync_call(
        &self,
        verb: &'static str,
        path: impl FnOnce() -> PathBuf,
        handle: &Handle,
        sync: fn(&mut Store, Id) -> io::Result<()>,
        lose: fn(&mut Store, Id),
    ) -> io::Result<()> {
        let work = |turn: &mut SimTurn<'_>| {
            let id = turn.id(handle)?;
            sync(&mut turn.state.store, id)
        };
        let fail = |turn: &mut SimTurn<'_>| {
            let id = turn.id(handle)?;
            if turn.state.store.machine.settings.failed_sync_loses_pages {
                lose(&mut turn.state.store, id);
            }
            Ok(())
        };
        self.call_or(verb, true, || (path(), None), work, fail)
    }
}
