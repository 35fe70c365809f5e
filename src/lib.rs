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
//! 5. **The answer tells the truth.** [`Error`](error::Error) names the edit that failed, and its
//!    [`Outcome`](error::Outcome) what is true of the files now.
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
//! use std::sync::atomic::AtomicBool;
//! use txedit::engine::{Durability, Engine, Retention, Run, Settings, Unobserved};
//! use txedit::error::{ErrorKind, Outcome};
//! use txedit::request::validate::PathRule;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # std::fs::write(root.join("a.rs"), "fn old() {}\n")?;
//! # std::fs::write(root.join("b.rs"), "use a::old;\n")?;
//! let settings = Settings {
//!     durability: Durability::Power,
//!     lock_timeout: txedit::limits::LOCK_TIMEOUT,
//!     retention: Retention::default(),
//!     program: "my-editor 1.0".to_owned(),
//! };
//! let engine = Engine::open(root, settings)?;
//! let never = AtomicBool::new(false);
//! let run = Run { cancel: &never, observer: &Unobserved };
//!
//! let plan = br#"{"files": [
//!     {"file_path": "a.rs", "edits": [{"old_string": "old", "new_string": "new"}]},
//!     {"file_path": "b.rs", "edits": [{"old_string": "old", "new_string": "new"}]}]}"#;
//! let request = txedit::wire::parse(plan)?.into_request(PathRule::AbsoluteOrRelative)?;
//! let report = engine.apply(&request, run)?;
//! assert_eq!(std::fs::read_to_string(root.join("b.rs"))?, "use a::new;\n");
//!
//! // The same again: `old` is no longer there, so nothing happens at all.
//! let error = engine.apply(&request, run).unwrap_err();
//! assert_eq!((error.kind(), error.outcome()), (ErrorKind::MatchNotFound, Outcome::Unchanged));
//!
//! engine.undo(report.transaction.as_deref(), false, run)?;
//! assert_eq!(std::fs::read_to_string(root.join("b.rs"))?, "use a::old;\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Parts
//!
//! [`request`] is what is asked, [`plan`] what will be done, [`commit`] the protocol as steps, [`journal`] what is
//! written down before it is done, [`fs`] the one door to the operating system, [`engine`] what brings them together,
//! [`wire`] their JSON. `journal-format.md` specifies what is on the disk.

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

/// The examples of the README are run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
