//! The check gate: a program that decides, with the new files in place, whether a transaction is committed.
//!
//! Architecture invariant: nothing here knows more of transactions than their id. The engine decides what the result of
//! a check means for the files.

pub(crate) mod group;
mod left;
pub(crate) mod process;
mod program;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::limits;
use crate::view::View;
pub use crate::view::serve_views;
pub use group::Streams;
pub use program::{LeftOut, ProgramRun};

/// A program that runs with the new files in place. Exit status 0 commits, everything else rolls all of it back.
///
/// ```
/// use txedit::{Check, Edit, Engine, ErrorKind, Outcome, Request, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one\n")?;
/// let engine = Engine::open(root)?.allowing_checks();
/// let wants_one = Check::new(["grep", "-q", "one", "a.txt"].map(Into::into).to_vec());
/// let request = Request::new().edit("a.txt", Edit::replace("one", "two")).check(wants_one);
///
/// let error = engine.apply(&request, Run::default()).unwrap_err();
/// assert_eq!((error.kind(), error.outcome()), (ErrorKind::CheckFailed, Outcome::RolledBack));
/// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "one\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// The program and its arguments; no shell is used.
    pub command: Vec<OsString>,
    /// The time limit.
    pub limit: Duration,
}

impl Check {
    /// A check with the longest time limit that is allowed.
    #[must_use]
    pub const fn new(command: Vec<OsString>) -> Self {
        Self { command, limit: limits::CHECK_TIME }
    }

    /// The command as a person would type it, for messages and the log.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.command)
    }
}

/// A command as a person would type it.
pub(crate) fn shown(command: &[OsString]) -> String {
    let words = command.iter().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// Runs checks. The engine starts them as processes by itself; a program that embeds the engine may decide by other
/// means. Everything that it starts must have ended when it returns: later writes go into files that are committed, or
/// rolled back. If it panics, everything is rolled back before the panic continues.
pub trait Checker: fmt::Debug + Send + Sync {
    /// Returns whether it runs checks in the view that a call names, where there is one. One that does not always gets the
    /// tree itself.
    fn runs_in_views(&self) -> bool {
        false
    }

    /// Runs a check to its end. An error means that it could not be run at all: like a check that fails, it rolls the
    /// transaction back.
    fn run(&self, call: &CheckCall<'_>) -> io::Result<Ended>;
}

/// One run of a check.
#[non_exhaustive]
pub struct CheckCall<'a> {
    /// The check.
    pub check: &'a Check,
    /// The folder to run it in: a path that reaches the root of the workspace, whatever its name is by now.
    pub folder: &'a Path,
    /// The transaction that waits for it; `None` in a view, where no transaction does.
    pub transaction: Option<&'a str>,
    /// The view to run it in.
    pub(crate) view: Option<&'a View>,
    /// The transaction's folder, if it has a descriptor. A process that inherits it also holds the lock of the
    /// transaction: a recovery waits for it, whatever happens to this process.
    pub held: Option<BorrowedFd<'a>>,
    /// Cancelled to stop it.
    pub cancel: &'a CancelToken,
    /// Receives what it prints, as it comes.
    pub output: &'a dyn Fn(&[u8]),
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The decision.
    pub verdict: Verdict,
    /// The end of what it printed.
    pub tail: String,
    /// The time it took.
    pub took: Duration,
}

impl Ended {
    /// A result with this verdict, without output and of no duration.
    #[must_use]
    pub const fn new(verdict: Verdict) -> Self {
        Self { verdict, tail: String::new(), took: Duration::ZERO }
    }

    /// Sets the end of what it printed.
    #[must_use]
    pub fn tail(self, tail: impl Into<String>) -> Self {
        Self { tail: tail.into(), ..self }
    }

    /// Sets the time that it took.
    #[must_use]
    pub fn took(self, took: Duration) -> Self {
        Self { took, ..self }
    }
}

/// A check that was run, for messages and the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckRun {
    /// The command as a person would type it.
    pub command: String,
    /// How it ended.
    pub ended: Ended,
    /// Where it ran.
    pub place: CheckPlace,
    /// What it wrote besides the new files, in a view.
    pub dropped: Dropped,
}

impl CheckRun {
    /// A check that ran in the tree.
    #[must_use]
    pub(crate) fn new(command: String, ended: Ended) -> Self {
        Self { command, ended, place: CheckPlace::Tree, dropped: Dropped::default() }
    }
}

/// Where checks run. A view is a private picture of the workspace, in which the new files are in their places: until the
/// check has passed, no file is touched and no lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CheckIn {
    /// In the tree itself, with the new files in place, under the locks of their folders.
    #[default]
    Tree,
    /// In a view where there can be one, otherwise in the tree. The program must have called
    /// [`serve_views`].
    Auto,
    /// In a view; without one nothing is committed.
    View,
}

/// Where a check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CheckPlace {
    /// In the tree itself, with the new files in place.
    #[default]
    Tree,
    /// In a view, before any file was touched.
    View,
    /// In a copy at another path, where there could be no view at the path of the tree.
    Copy,
}

impl CheckPlace {
    /// The word for it in answers: `tree`, `view` or `copy`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::View => "view",
            Self::Copy => "copy",
        }
    }

    /// The place with this word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        [Self::Tree, Self::View, Self::Copy].into_iter().find(|place| place.word() == word)
    }
}

/// What a check wrote in a view besides the new files: it ended with the view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Dropped {
    /// The number of files that it made, wrote or removed.
    pub count: usize,
    /// The first of them, up to [`limits::DROPPED_NAMES`], relative to the root.
    pub paths: Vec<PathBuf>,
}

/// The decision of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The new files are good.
    Passed,
    /// They are not; the end of the program in the words of the system.
    Failed(String),
    /// It exceeded its time limit, and was stopped.
    TimedOut,
    /// The caller cancelled, so it was stopped.
    Cancelled,
}

impl Verdict {
    /// The result of the check, as the end of a sentence: "the check …".
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Passed => "passed",
            Self::Failed(how) => how,
            Self::TimedOut => "took too long and was stopped",
            Self::Cancelled => "was cancelled",
        }
    }
}
