//! The place where a test steps in between the calls of a process.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::errno::Errno;

/// A call that is about to run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SimCall<'a> {
    /// Its number, from 0, over all processes of the machine.
    pub number: u64,
    /// The process that makes it.
    pub process: u32,
    /// The function of [`Fs`](super::super::Fs), like `write_at`.
    pub verb: &'static str,
    /// What it is about.
    pub path: &'a Path,
    /// Of a rename: where to.
    pub to: Option<&'a Path>,
    /// Whether it can change what is seen, or what survives a crash.
    pub mutates: bool,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It runs.
    Continue,
    /// It fails and does nothing. A failed sync loses pages, see
    /// [`Settings::failed_sync_loses_pages`](super::SimSettings::failed_sync_loses_pages).
    Fail(Errno),
    /// It does its work and reports a failure all the same.
    FailAfter(Errno),
    /// It reads, writes or copies so many bytes at most.
    Short(usize),
    /// Its process is killed before it runs: handles and locks are gone.
    Kill,
    /// The whole machine stops before it runs; what a power loss leaves is for `images` to say.
    Halt,
}

pub(super) type Hook = Arc<dyn Fn(&SimCall<'_>) -> Action + Send + Sync>;

/// What every call of a dead process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the process was killed")]
pub struct SimKilled;

impl SimKilled {
    pub(super) fn error() -> io::Error {
        io::Error::other(Self)
    }

    /// Whether `error` is of a process that was killed, or of a machine that stopped.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Self>)
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls that are made from inside a hook are neither counted nor hooked.
#[derive(Debug)]
pub(super) struct Inside;

impl Inside {
    pub(super) fn is() -> bool {
        INSIDE.get()
    }

    pub(super) fn enter() -> Self {
        INSIDE.set(true);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

pub(super) struct Hooked(pub(super) Hook);

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
