//! Folder locks, which keep cooperating processes from losing each other's updates.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::workspace::Workspace;
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Stat};

/// Locks on folders. A lock dies with its process; before that it is released when the last handle of its folder is
/// dropped, so whoever releases locks also drops the handles that were locked.
#[derive(Debug)]
#[must_use = "dropping releases the locks"]
pub(crate) struct Locks {
    held: BTreeMap<(u64, u64), Handle>,
}

/// The limit of a wait for locks, and the flag that cancels it.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    /// `None` means for ever: the end is later than the clock can tell.
    until: Option<Instant>,
    pub timeout: Duration,
    pub cancel: &'a CancelToken,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(timeout: Duration, cancel: &'a CancelToken) -> Self {
        Self { until: Instant::now().checked_add(timeout), timeout, cancel }
    }

    pub(crate) fn check_cancelled(&self) -> Result<()> {
        check_cancelled(self.cancel)
    }

    /// The time that is left to wait.
    pub(crate) fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Pauses before another attempt; fails when the time is up.
    pub(crate) fn pause(&self, waiting_for: &Path) -> Result<()> {
        self.check_cancelled()?;
        if self.left().is_zero() {
            let message = format!(
                "{} has been in use by other processes for longer than {} s; try again, or raise the lock timeout",
                waiting_for.display(),
                self.timeout.as_secs_f32()
            );
            return Err(Error::new(ErrorKind::LockTimeout, message).at(waiting_for));
        }
        std::thread::sleep(jittered(SHORTEST_PAUSE));
        Ok(())
    }
}

impl Locks {
    /// Takes the locks of all `folders`, each once, in ascending order of device and inode, so that no two processes
    /// wait for each other. The handles must have been opened for this: a lock belongs to its open file.
    pub(crate) fn acquire(workspace: &Workspace, folders: Vec<(Stat, Handle)>, patience: Patience<'_>) -> Result<Self> {
        let mut wanted = BTreeMap::new();
        for (stat, handle) in folders {
            wanted.entry((stat.device, stat.identity.inode)).or_insert(handle);
        }
        let mut locks = Self { held: BTreeMap::new() };
        for (key, handle) in wanted {
            debug_assert!(
                locks.held.last_key_value().is_none_or(|(last, _)| *last < key),
                "locks are taken in ascending order"
            );
            wait_for(workspace, &handle, patience)?;
            locks.held.insert(key, handle);
        }
        Ok(locks)
    }

    /// Returns whether this folder is locked.
    pub(crate) fn holds(&self, stat: &Stat) -> bool {
        self.held.contains_key(&(stat.device, stat.identity.inode))
    }
}

/// Fails if the caller has cancelled. Only to be called while nothing is swapped.
pub(crate) fn check_cancelled(cancel: &CancelToken) -> Result<()> {
    if cancel.is_cancelled() {
        return Err(Error::new(ErrorKind::Cancelled, "cancelled before anything was changed"));
    }
    Ok(())
}

const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Growing pauses between attempts to get what another process holds.
#[derive(Debug)]
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) const fn new() -> Self {
        Self(SHORTEST_PAUSE)
    }

    /// Sleeps for the next pause, but no longer than what is `left`.
    pub(crate) fn sleep(&mut self, left: Duration) {
        std::thread::sleep(jittered(self.0).min(left));
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

/// Polls: a blocking wait could neither time out nor be cancelled.
fn wait_for(workspace: &Workspace, folder: &Handle, patience: Patience<'_>) -> Result<()> {
    let mut pauses = Pauses::new();
    loop {
        if workspace.try_lock(folder)? {
            return Ok(());
        }
        patience.check_cancelled()?;
        let left = patience.left();
        if left.is_zero() {
            let holder = workspace.lock_holder(folder).unwrap_or_else(|| "another process".to_owned());
            let message = format!(
                "{holder} holds the lock of {} for longer than {} s; wait for it, or raise the lock timeout",
                folder.path().display(),
                patience.timeout.as_secs_f32()
            );
            return Err(Error::new(ErrorKind::LockTimeout, message).at(folder.path()));
        }
        pauses.sleep(left);
    }
}

/// A random pause around `pause`, so that waiters that woke together do not stay together.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0];
    getrandom::fill(&mut random).ok();
    pause.mul_f32(0.5 + f32::from(random[0]) / 255.0)
}
