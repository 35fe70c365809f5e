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
//! [`request`] is what is asked, [`plan`] what will be done, [`commit`] the protocol as steps, [`journal`] what is
//! written down before it is done, [`fs`] the one door to the operating system, [`engine`] what brings them together,
//! [`wire`] their JSON. `journal-format.md` specifies what is on the disk.

mod cancel;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod commit;
#[cfg(feature = "delegate")]
pub mod delegate;
pub mod dialect;
pub mod digest;
pub mod engine;
pub mod errno;
pub mod error;
pub mod fs;
pub mod identity;
pub mod journal;
pub mod limits;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod path;
pub mod plan;
pub mod replace;
pub mod request;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod wire;

pub use cancel::CancelToken;
pub use check::Check;
pub use digest::Digest;
pub use engine::report::{FileReport, Operation, Recovered, Report, Status};
pub use engine::{
    Decision, Durability, Engine, Observer, Phase, RecoverOptions, Retention, Run, Settings, Transaction, UndoOptions,
};
pub use error::{Error, ErrorKind, Outcome, Result};
pub use request::edit::{Anchor, Count, Edit, Matching};
pub use request::{Change, FileRequest, IfExists, Mode, Request};

/// The examples of the README are run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

/// So are those of the documents.
#[cfg(all(doctest, feature = "testing"))]
#[doc = include_str!("../docs/testing.md")]
struct TestingExamples;
