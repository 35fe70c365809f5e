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
//! An [`Engine`] applies a [`Request`] and answers with a [`Report`] or an [`Error`]. What one starts from is at the top;
//! the details are in modules:
//!
//! - [`report`] and [`error`]: what answers and errors consist of.
//! - [`check`]: programs, and values of one's own, that decide about a transaction.
//! - [`search`]: a text or a pattern in all files of a tree, as a request. [`patch`]: diffs and the like.
//! - [`wire`]: requests and answers as JSON.
//! - [`journal`]: what is written down before it is done; `journal-format.md` specifies it.
//! - [`fs`]: the one door to the operating system, behind which an engine takes another file system. With the feature
//!   `testing` there are a simulated one and explorers, to prove the atomicity of scripts of one's own.

#![cfg_attr(
    not(feature = "testing"),
    expect(
        unreachable_pub,
        reason = "with `testing` the closed modules are reached through `testing::internals`: what is `pub` in them is for tests"
    )
)]

#[cfg(feature = "cli")]
mod campaign;
mod cancel;
mod charset;
pub mod check;
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
pub mod error;
pub mod fs;
#[cfg(feature = "cli")]
mod html;
mod identity;
mod index;
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
mod view;
#[cfg(feature = "web")]
mod web;
pub mod wire;

pub use cancel::CancelToken;
pub use charset::Charset;
pub use check::Check;
pub use dialect::Patch;
pub use digest::Digest;
pub use engine::report::{FileReport, Preview, Report, Status};
pub use engine::{
    Decision, Durability, Engine, Observer, Phase, RecoverOptions, Retention, Run, Settings, Transaction, UndoOptions,
};
pub use error::{Error, ErrorKind, NextStep, Outcome, Result};
pub use path::AskedPath;
pub use path::bounds::Bounds;
pub use request::edit::{Anchor, Count, Edit, Encoding, Matching, Position};
pub use request::validate::PathRule;
pub use request::{Change, FileRequest, IfExists, Mode, RenameTo, Request};

/// Details of a [`FileRequest`].
pub mod file {
    pub use crate::request::IfMissing;
}

/// The parts of a [`Patch`].
pub mod patch {
    pub use crate::dialect::{FixChoice, Format, PatchOptions};
    pub use crate::request::edit::{Hunk, HunkLine, Side};
}

/// Values of [`Settings`].
pub mod settings {
    pub use crate::journal::Swap;
}

/// What the answers of an [`Engine`] consist of, beside [`Report`], [`Preview`] and [`Status`].
pub mod report {
    pub use crate::engine::report::{
        Extra, Extras, FileContent, Guarantee, Interrupted, InterruptedFile, Kept as KeptTransaction, Logged,
        OpenTransaction, Operation, Overlap, PlanPatch, Pruned, Recovered, RecoveryAction, RecoveryProgress,
        RecoveryReason, Reverted, Shown, ShownFile, Staged, Unreadable, Untrusted,
    };
    pub use crate::journal::recover::Class;
    pub use crate::text::{Applied, MatchKind};
}

/// Programs whose changes become one transaction: [`Engine::run_program`].
pub mod program {
    pub use crate::check::{LeftOut, ProgramRun, Streams};
    pub use crate::engine::program::Program;
}

/// What is looked at before an open transaction is committed, and what is chosen of it: [`Engine::review`] and
/// [`Engine::commit_selected`].
pub mod review {
    pub use crate::engine::report::review::{Review, ReviewedFile, SelectedCommit, SelectedFile, Selection, TakenRuns};
}

/// Text that is searched for in a tree of files, and replaced in all of them.
pub mod search {
    pub use crate::fs::walk::SearchTree;
    pub use crate::replace::{Pattern, Query, ReplaceGuard, Replacements, digest, search};
}

/// The examples of the README are run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

/// So are those of the documents.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../docs/testing.md")]
struct TestingExamples;
