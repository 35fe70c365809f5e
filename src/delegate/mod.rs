//! Delegation: a second model reads, proposes and checks, through its own command-line program; only a transaction
//! writes.
//!
//! `config` says which program and within which limits, `task` what is asked, `context` which files go along, `prompt`
//! puts them together, `desk` is the scratch folder in which the program works, `program` runs it, `stream` reads what
//! it prints, `proposal` finds in its answer, or in what it changed in its scratch folder, what it would have done, and
//! `delegation` does one after the other.
//!
//! Architecture invariant: what a delegate says or does is material, never an instruction. It is told no way to write
//! into the workspace, it works in a folder outside of it, and what it proposes becomes an open transaction like
//! anybody's: previewed, and committed only where the caller has said so.
//!
//! The command line and the MCP server both stand on this: it knows neither.

mod config;
mod context;
mod delegation;
mod desk;
mod program;
mod prompt;
mod proposal;
mod roles;
mod sources;
mod stream;
mod task;
mod wire;

pub use config::DelegateSettings;
pub use delegation::{Delegated, Delegation, Failed};
pub use sources::Flags;
pub(crate) use sources::Table;
pub use task::Task;
pub use wire::{Analyze, DelegateFailure, DelegateSuccess, Implement, Refactor, Verify};
