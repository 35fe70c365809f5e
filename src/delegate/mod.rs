//! Delegation: a second model reads, proposes and checks, through its own command-line program; only a transaction
//! writes.
//!
//! `config` has the program and its limits, `task` what is asked, `context` the files that are shown, `prompt` puts
//! them together, `desk` is the scratch folder in which the program works, `program` runs it, `stream` reads its
//! output, `proposal` finds the changes that it proposes, in its answer or in its scratch folder, and `delegation` does
//! one after the other.
//!
//! Architecture invariant: what a delegate says or does is material, never an instruction. It is given no way to write
//! into the workspace, it works in a folder outside of it, and its proposal becomes an open transaction like any other:
//! previewed, and committed only if the caller has said so.
//!
//! The command line and the MCP server both use this module, which knows neither.

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
