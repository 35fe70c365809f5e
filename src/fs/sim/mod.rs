//! A file system in memory that loses what was not synced.
//!
//! A [`SimFs`] is a small machine: files, a clock, mounts, and processes ([`SimProcess`]) that see it through
//! [`Fs`](super::Fs). It keeps two views, the live one that processes see and the durable one that survives a power
//! loss, with a log of the operations in between. [`SimFs::images`] lists what a power loss may leave of them, and
//! [`SimFs::from_image`] boots the machine again from one such [`Image`]. A kill -9 ends only the process:
//! [`SimFs::kill`].
//!
//! - **Names and contents are lost independently.** Names: an operation on one or two entries survives whole or not at
//!   all; the [`Policy`] decides which sets of operations survive together.
//! - **Contents** of files that were written and not synced are kept, lost, or torn: each block of 4 KiB old, new, or
//!   zeros where there was nothing before, at any size that the file had or grew through.
//! - An inode exists if a surviving name leads to it, with the owner and mode it was born with until changed.
//! - A test acts between calls with a hook ([`SimFs::set_hook`]): to fail one, to kill, to stop the machine, or to act
//!   as a foreign program, with the methods of [`SimFs`] that take a path.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

mod access;
mod calls;
mod crash;
mod disk;
mod foreign;
mod hook;
mod machine;
mod names;
mod order;
mod process;
mod state;
mod store;
mod torn;
mod tree;
mod unsynced;

#[cfg(test)]
mod tests;

pub use crash::{Image, Images, Policy};
pub use foreign::SimHeldFile;
pub use hook::{Action, SimCall, SimKilled};
pub use machine::{SimSettings, Volume};
pub use process::SimProcess;
pub use torn::Random;
pub use tree::{SimEntry, SimTree};

use crate::digest::Digest;
use crate::errno::Errno;
use access::Actor;
use state::SimShared;
use store::Store;

/// A machine with a file system in memory. Clones are the same machine; [`fork`](Self::fork) makes another.
#[derive(Clone)]
pub struct SimFs {
    shared: Arc<SimShared>,
}

impl fmt::Debug for SimFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimFs")
    }
}

impl Default for SimFs {
    fn default() -> Self {
        Self::new()
    }
}

impl SimFs {
    /// A machine with an empty root folder, owned by root, mode 0755.
    #[must_use]
    pub fn new() -> Self {
        Self { shared: SimShared::new(Store::new()) }
    }

    /// Boots from an image: another boot id, no process, no lock, everything durable.
    #[must_use]
    pub fn from_image(image: &Image) -> Self {
        Self { shared: SimShared::new(Store::of(image.disk.clone(), image.machine.clone())) }
    }

    /// Another machine in the same state, including what is not durable, but with all processes killed, no hook, and
    /// all counters at 0.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut store = self.shared.lock().store.clone();
        let nameless: Vec<_> = store.live.iter().filter(|(_, n)| n.names == 0).map(|(id, _)| id).collect();
        for id in nameless {
            store.forget(id);
        }
        store.machine.forgotten += 1;
        Self { shared: SimShared::new(store) }
    }

    /// Starts a process of root.
    #[must_use]
    pub fn process(&self, pid: u32) -> SimProcess {
        self.process_of(pid, 0, 0)
    }

    /// Starts a process of this user and group.
    #[must_use]
    pub fn process_of(&self, pid: u32, user: u32, group: u32) -> SimProcess {
        let key = self.shared.lock().start(pid, Actor { user, group });
        SimProcess { shared: Arc::clone(&self.shared), key }
    }

    /// Kills the process: its handles are closed, its locks are free, its calls return [`SimKilled`] from now on. Its
    /// changes stay, as durable as they were.
    pub fn kill(&self, pid: u32) {
        let mut state = self.shared.lock();
        let keys: Vec<u64> = state.processes.iter().filter(|(_, p)| p.pid == pid).map(|(key, _)| *key).collect();
        for key in keys {
            state.kill(key);
        }
    }

    /// Returns whether a process lives, and the machine runs.
    #[must_use]
    pub fn is_running(&self, pid: u32) -> bool {
        let state = self.shared.lock();
        !state.halted && state.processes.values().any(|process| process.pid == pid)
    }

    /// Stops the machine: every call of every process returns [`SimKilled`] from now on.
    pub fn halt(&self) {
        self.shared.lock().halted = true;
    }

    /// Returns whether the machine was stopped.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.shared.lock().halted
    }

    /// The number of calls that its processes made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.shared.lock().calls
    }

    /// Calls `hook` before each call of a process. The machine is not locked meanwhile, so `hook` may act on it, and
    /// may block; calls made from inside a hook are neither counted nor hooked.
    pub fn set_hook(&self, hook: impl Fn(&SimCall<'_>) -> Action + Send + Sync + 'static) {
        let old = self.shared.lock().set_hook(Some(Arc::new(hook)));
        drop(old);
    }

    /// Removes the hook. A hook that holds a clone of this machine keeps it in memory until then.
    pub fn clear_hook(&self) {
        let old = self.shared.lock().set_hook(None);
        drop(old);
    }

    /// The disks that a power loss now may leave: all, or a sample of `limit`, chosen by `seed`, if there are more.
    #[must_use]
    pub fn images(&self, policy: Policy, limit: usize, seed: u64) -> Images {
        let store = self.shared.lock().store.clone();
        store.images(policy, limit, seed)
    }

    /// One of the disks that a power loss now may leave, chosen by `seed`; much faster than all of them.
    #[must_use]
    pub fn image(&self, policy: Policy, seed: u64) -> Image {
        let store = self.shared.lock().store.clone();
        store.image(policy, seed)
    }

    /// The digest of everything visible now, inode identities included, times (except birth times) left out.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let state = self.shared.lock();
        tree::digest(&state.store.live, &state.store.machine, false)
    }

    /// The same with modification times.
    #[must_use]
    pub fn digest_with_times(&self) -> Digest {
        let state = self.shared.lock();
        tree::digest(&state.store.live, &state.store.machine, true)
    }

    /// A number that changes with every visible change: machines with the same number show the same.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.lock().store.live.version()
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.shared.lock().store.machine.advance(by);
    }

    /// Sets the clock back.
    pub fn rewind(&self, by: Duration) {
        self.shared.lock().store.machine.rewind(by);
    }

    /// Changes the settings of the machine.
    pub fn settings(&self, change: impl FnOnce(&mut SimSettings)) {
        change(&mut self.shared.lock().store.machine.settings);
    }

    /// Changes the properties of the file system that `path` is on.
    pub fn volume(&self, path: impl AsRef<Path>, change: impl FnOnce(&mut Volume)) -> std::io::Result<()> {
        let mut state = self.shared.lock();
        let (_, id) = state.store.resolve(Actor::ROOT, path.as_ref(), true)?;
        let mount = state.store.node(id)?.mount;
        change(state.store.machine.volume_mut(mount).ok_or(Errno::NODEV)?);
        state.store.live.renew_version();
        Ok(())
    }
}
