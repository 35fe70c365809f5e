//! How a caller observes and cancels a call of the engine.

use std::fmt;

use crate::cancel::{CancelToken, NEVER};
use crate::limits;

/// A phase of a call, for progress bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Reading, hashing and matching.
    Read,
    /// Writing new contents into the transaction's folder.
    Stage,
    /// Exchanging new contents with the targets.
    Swap,
    /// Running the check.
    Check,
    /// Rolling targets back.
    Rollback,
}

/// Follows the progress of a call and the output of its check.
///
/// If it panics, the call ends with that panic, once everything that was swapped is rolled back; after the last swap
/// the transaction stays committed.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use txedit::{Edit, Engine, Observer, Phase, Request, Run};
///
/// /// Counts the files that were swapped.
/// #[derive(Default)]
/// struct Swapped(AtomicUsize);
///
/// impl Observer for Swapped {
///     fn progress(&self, phase: Phase, _done: usize, _total: usize) {
///         if phase == Phase::Swap {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("a.rs"), "old")?;
/// let swapped = Swapped::default();
/// let request = Request::new().edit("a.rs", Edit::replace("old", "new")).create("b.rs", "new");
/// Engine::open(folder.path())?.apply(&request, Run::default().observed_by(&swapped))?;
/// assert_eq!(swapped.0.load(Ordering::Relaxed), 2);
/// # Ok(())
/// # }
/// ```
pub trait Observer: Sync {
    /// Called before each file: `done` of `total` files have completed `phase`.
    fn progress(&self, phase: Phase, done: usize, total: usize);

    /// Called with the output of the check, as it comes.
    fn check_output(&self, _bytes: &[u8]) {}

    /// The program that asked for the work, if it is not the one that does it: an MCP client.
    fn client(&self) -> Option<&str> {
        None
    }

    /// The session in which the caller asked for the work, if the engine's settings name none.
    fn session(&self) -> Option<&str> {
        None
    }
}

/// Ignores all progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _phase: Phase, _done: usize, _total: usize) {}
}

/// The observer of one call, the token that cancels it, and the size of its diffs; by default, no observer and no token.
///
/// ```
/// use txedit::{CancelToken, Observer, Phase, Run};
///
/// struct Progress;
///
/// impl Observer for Progress {
///     fn progress(&self, phase: Phase, done: usize, total: usize) {
///         eprintln!("{phase:?}: {done} of {total}");
///     }
/// }
///
/// let token = CancelToken::new();
/// let run = Run::default().cancelled_by(&token).observed_by(&Progress);
/// ```
#[derive(Clone, Copy)]
#[must_use = "a run is passed to a call of the engine"]
pub struct Run<'a> {
    pub(crate) cancel: &'a CancelToken,
    pub(crate) observer: &'a dyn Observer,
    /// The most bytes of a file's diff in a report.
    pub(crate) diff_bytes: usize,
    /// True if a dry run makes a patch.
    pub(crate) wants_patch: bool,
}

impl<'a> Run<'a> {
    /// Stops the call once the token is cancelled, if nothing is swapped yet.
    pub const fn cancelled_by(self, token: &'a CancelToken) -> Self {
        Self { cancel: token, ..self }
    }

    /// Reports progress to the observer.
    pub const fn observed_by(self, observer: &'a dyn Observer) -> Self {
        Self { observer, ..self }
    }

    /// Cuts the diff of a file in a report after so many bytes; [`limits::DIFF_BYTES`] unless told otherwise. With 0 a dry run
    /// makes none.
    pub const fn diffs_up_to(self, bytes: usize) -> Self {
        Self { diff_bytes: bytes, ..self }
    }

    /// Has a dry run, or a preview, make a patch: [`Report::patch`](crate::Report::patch).
    pub const fn with_patch(self) -> Self {
        Self { wants_patch: true, ..self }
    }
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self { cancel: &NEVER, observer: &Unobserved, diff_bytes: limits::DIFF_BYTES, wants_patch: false }
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("cancel", self.cancel).finish_non_exhaustive()
    }
}
