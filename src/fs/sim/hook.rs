//! The hook by which a test acts between the calls of a process.

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
    /// The name of the function of [`Fs`](super::super::Fs), such as `write_at`.
    pub verb: &'static str,
    /// The path that it is about.
    pub path: &'a Path,
    /// The destination of a rename.
    pub to: Option<&'a Path>,
    /// True if it can change what is visible, or what survives a crash.
    pub mutates: bool,
}

/// The hook's decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It runs.
    Continue,
    /// It fails and does nothing. A failed sync loses pages, see
    /// [`Settings::failed_sync_loses_pages`](super::SimSettings::failed_sync_loses_pages).
    Fail(Errno),
    /// It is carried out and reports a failure nevertheless.
    FailAfter(Errno),
    /// It reads, writes or copies at most this many bytes.
    Short(usize),
    /// Its process is killed before it runs: its handles are closed and its locks released.
    Kill,
    /// The whole machine stops before it runs; `images` then has what a power loss leaves.
    Halt,
}

pub(super) type Hook = Arc<dyn Fn(&SimCall<'_>) -> Action + Send + Sync>;

/// The error of every call of a dead process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the process was killed")]
pub struct SimKilled;

impl SimKilled {
    pub(super) fn error() -> io::Error {
        io::Error::other(Self)
    }

    /// Returns whether `error` comes from a killed process, or from a machine that stopped.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Self>)
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks calls made from inside a hook, which are neither counted nor hooked.
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
