//! The check gate: a program that decides, with the new files in place, whether a transaction is committed.
//!
//! Architecture invariant: nothing here knows of transactions beyond their id. What a check's end means for the files
//! is the engine's business.

pub(crate) mod group;
mod left;
pub(crate) mod process;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::limits;

/// A program that runs with the new files in place. Its exit status 0 commits, everything else takes all back.
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
    /// The program and its arguments; no shell is between.
    pub command: Vec<OsString>,
    /// How long it may take.
    pub limit: Duration,
}

impl Check {
    /// A check that may take as long as checks may.
    #[must_use]
    pub const fn new(command: Vec<OsString>) -> Self {
        Self { command, limit: limits::CHECK_TIME }
    }

    /// The command as a person would write it, for messages and the log.
    #[must_use]
    pub fn shown(&self) -> String {
        let words = self.command.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Runs checks. An engine's own starts processes; a program that embeds the engine may decide by other means. What it
/// starts must have ended when it returns: what is written later is written into files that are committed, or taken back.
/// Where it panics, everything is taken back before the panic goes on.
pub trait Checker: fmt::Debug + Send + Sync {
    /// Runs a check to its end. An error means that it could not be run at all: like a check that fails, it takes the
    /// transaction back.
    fn run(&self, call: &CheckCall<'_>) -> io::Result<Ended>;
}

/// One run of a check.
#[non_exhaustive]
pub struct CheckCall<'a> {
    /// What to run.
    pub check: &'a Check,
    /// Where: a path by which the root of the workspace is reached, whatever its name is by now.
    pub folder: &'a Path,
    /// The transaction that waits for it.
    pub transaction: &'a str,
    /// The transaction's folder, where it has a descriptor. What inherits it holds the lock of the transaction as well: a
    /// recovery waits for it, whatever becomes of this process.
    pub held: Option<BorrowedFd<'a>>,
    /// Set to stop it.
    pub cancel: &'a CancelToken,
    /// Is given what it prints, as it comes.
    pub output: &'a dyn Fn(&[u8]),
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Whether it agrees, or why not.
    pub verdict: Verdict,
    /// The end of what it printed.
    pub tail: String,
    /// How long it took.
    pub took: Duration,
}

impl Ended {
    /// The end of a run with this verdict, of which nothing was printed and which took no time.
    #[must_use]
    pub const fn new(verdict: Verdict) -> Self {
        Self { verdict, tail: String::new(), took: Duration::ZERO }
    }

    /// The end of what it printed.
    #[must_use]
    pub fn tail(self, tail: impl Into<String>) -> Self {
        Self { tail: tail.into(), ..self }
    }

    /// The time that it took.
    #[must_use]
    pub fn took(self, took: Duration) -> Self {
        Self { took, ..self }
    }
}

/// A check that was run, for messages and the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckRun {
    /// The command as a person would write it.
    pub command: String,
    /// How it ended.
    pub ended: Ended,
}

/// What a check says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The new files are good.
    Passed,
    /// They are not; how the program ended, as the system words it.
    Failed(String),
    /// It took too long, and was stopped.
    TimedOut,
    /// The caller wanted to stop, and so it was stopped.
    Cancelled,
}

impl Verdict {
    /// How the check ended, as the end of a sentence: "the check …".
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
