//! The advisory lock of a folder, the lease on a file, and the limit of open files.

use std::fs::File;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::Lease;
use super::system::System;

/// An open file or folder that releases its lock, and gives up its lease, when dropped.
///
/// Closing alone is not enough: a process that another thread is just starting shares the open file until it executes
/// its program, and would keep both until then. Anyone who tried the lock meanwhile would take the owner for alive.
#[derive(Debug)]
pub(super) struct LockedFile {
    pub(super) file: File,
    locked: AtomicBool,
    leased_by: OnceLock<&'static dyn System>,
}

impl LockedFile {
    pub(super) const fn new(file: File) -> Self {
        Self { file, locked: AtomicBool::new(false), leased_by: OnceLock::new() }
    }

    /// Takes the lock if it is free; no other function takes one.
    pub(super) fn try_lock(&self) -> io::Result<bool> {
        match fs4::FileExt::try_lock(&self.file) {
            Ok(()) => {
                self.locked.store(true, Ordering::Relaxed);
                Ok(true)
            }
            Err(fs4::TryLockError::WouldBlock) => Ok(false),
            Err(fs4::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Asks that nobody else opens the file as long as it is open here.
    pub(super) fn lease(&self, system: &'static dyn System) -> io::Result<Lease> {
        let lease = system.lease(&self.file)?;
        if lease == Lease::Granted {
            self.leased_by.get_or_init(|| system);
        }
        Ok(lease)
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if let Some(system) = self.leased_by.get() {
            // As below.
            drop(system.end_lease(&self.file));
        }
        if self.locked.load(Ordering::Relaxed) {
            // If this fails, closing releases the lock, only later.
            drop(fs4::FileExt::unlock(&self.file));
        }
    }
}

/// Raises the limit: each parent folder of a transaction is held open, and many shells allow only 1,024.
pub(super) fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current =
        if raised == limit || setrlimit(Resource::Nofile, raised).is_ok() { raised.current } else { limit.current };
    current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_up_although_another_process_has_the_same_open_file() {
        let scratch = tempfile::tempdir().unwrap();
        let open = || LockedFile::new(File::open(scratch.path()).unwrap());
        let first = open();
        assert!(first.try_lock().unwrap());
        // As a forked process has it.
        let twin = first.file.try_clone().unwrap();
        let second = open();
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
        drop(twin);
        assert!(!open().try_lock().unwrap(), "closing what was in vain gives up nobody's lock");
    }
}
