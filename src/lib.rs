//! Many edits over many files, as one transaction, or nothing at all.
//!
//! # The promise
//!
//! 1. **All or nothing.** After any failure, `kill -9` or power loss, once recovery has run (it runs by itself at the
//!    next start), every file of a transaction is all-old or all-new.
//! 2. **Acknowledged means there.** A transaction that was reported as committed is on the disk, without any recovery.
//! 3. **Nobody's work is lost.** A file that another program changed is never overwritten: the change is detected, kept
//!    and reported. Two cooperating processes never lose an update.
//! 4. **Nothing else changes.** Bytes outside the edits, mode, owner, attributes, symlinks and the folder listing stay
//!    as they were.
//! 5. **The answer tells the truth.** [`Error`] names the edit that failed, and its
//!    [`Outcome`] what is true of the files now.
//!
//! # Its limits
//!
//! A reader that takes no lock may see some files new and some old during the swap. A program that ignores locks can
//! change a file at any time, which is detected, not prevented. Linux 5.8 or newer; one user for a workspace; one file
//! system for a transaction, and one that can exchange two names. Every maximum is in [`limits`].
//!
//! The library is synchronous, prints nothing and reads no environment.
//!
//! # Example
//!
//! ```
//! use txedit::{Edit, Engine, ErrorKind, Outcome, Request, Run};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # std::fs::write(root.join("a.rs"), "fn old() {}\n")?;
//! # std::fs::write(root.join("b.rs"), "use a::old;\n")?;
//! let engine = Engine::open(root)?;
//! let request =
//!     Request::new().edit("a.rs", Edit::replace("old", "new")).edit("b.rs", Edit::replace("old", "new"));
//! let report = engine.apply(&request, Run::default())?;
//! assert_eq!(std::fs::read_to_string(root.join("b.rs"))?, "use a::new;\n");
//!
//! // The same again: `old` is no longer there, so nothing happens at all.
//! let error = engine.apply(&request, Run::default()).unwrap_err();
//! assert_eq!((error.kind(), error.outcome()), (ErrorKind::MatchNotFound, Outcome::Unchanged));
//!
//! engine.undo(report.transaction.as_deref(), false, Run::default())?;
//! assert_eq!(std::fs::read_to_string(root.join("b.rs"))?, "use a::old;\n");
//!
//! // Looked at first: what is begun is locked, and is discarded where it is not committed.
//! let transaction = engine.begin(&request, Run::default())?;
//! assert_eq!(transaction.plan().files.len(), 2);
//! transaction.commit()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Parts
//!
//! An [`Engine`] applies a [`Request`] and answers with a [`Report`] or an [`Error`]. [`wire`] reads requests and writes
//! answers as JSON. [`journal`] reads what is written down before it is done; `journal-format.md` specifies it. [`fs`] is the
//! one door to the operating system, behind which an engine takes another file system. With the feature `testing` there are a
//! simulated one and explorers, to prove the atomicity of scripts of one's own.

#![cfg_attr(
    not(feature = "testing"),
    expect(
        unreachable_pub,
        reason = "with `testing` the closed modules are reached through `testing::internals`: what is `pub` in them is for tests"
    )
)]

mod cancel;
mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod commit;
#[cfg(feature = "delegate")]
mod delegate;
mod dialect;
mod digest;
mod engine;
mod errno;
mod error;
pub mod fs;
mod identity;
pub mod journal;
pub mod limits;
#[cfg(feature = "mcp")]
mod mcp;
mod path;
mod plan;
mod replace;
mod request;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
pub mod wire;

pub use cancel::CancelToken;
pub use check::{Check, CheckCall, CheckRun, Checker, Ended, Verdict};
pub use dialect::{Format as PatchFormat, Patch};
pub use digest::{Digest, NotADigest};
pub use engine::report::{
    Extra, Extras, FileContent, FileReport, Interrupted, InterruptedFile, Kept as KeptTransaction, Logged,
    OpenTransaction, Operation, Overlap, Preview, Pruned, Recovered, RecoveryAction, RecoveryProgress, RecoveryReason,
    Report, Reverted, Shown, ShownFile, Staged, Status, Unreadable, Untrusted,
};
pub use engine::{
    Decision, Durability, Engine, Observer, Phase, RecoverOptions, Retention, Run, Settings, Transaction, UndoOptions,
};
pub use error::{
    Conflict, Detail, Diagnosis, Difference, Diverged, Error, ErrorKind, Finding, KeptContent, MatchPlace, MatchPlaces,
    MismatchCause, NextStep, NotOld, Outcome, Result,
};
pub use fs::walk::SearchTree;
pub use path::AskedPath;
pub use path::bounds::{BadGlob, Bounds};
pub use replace::{Pattern, Query, ReplaceGuard, Replacements, search};
pub use request::edit::{Anchor, Count, Edit, Encoding, Hunk, HunkLine, Matching, Position, Side};
pub use request::validate::PathRule;
pub use request::{Change, FileRequest, IfExists, Mode, RenameTo, Request};
pub use text::{Applied, MatchKind};

/// The examples of the README are run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

/// So are those of the documents.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../docs/testing.md")]
struct TestingExamples;
