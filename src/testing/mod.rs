//! Proof by exploration: crashes, faults and foreign programs at every point of a caller's script.
//!
//! A [`Script`] has the files and a sequence of calls of the engine. The [`Explorer`] runs it on a
//! [`SimFs`](crate::fs::sim::SimFs) and, before each call that changes something, takes the worlds that a kill or a
//! power loss would leave; it recovers each of these worlds, stops each of these recoveries at each of its own calls,
//! and so on, until there is nothing new. In each world it checks the promise: see [`check`]. A [`ScriptPair`] runs two
//! scripts in two processes at a time, and several things may go wrong together: see the methods of the explorer.
//!
//! # Example
//!
//! `examples/atomicity.rs`, which verifies a script of several edits over several files:
//!
#![doc = concat!("```no_run
", include_str!("../../examples/atomicity.rs"), "```")]

pub mod check;
pub mod explore;
pub mod faults;
pub mod foreign;
#[doc(hidden)]
pub mod internals;
pub mod pair;
pub mod scenario;
pub mod script;
pub mod strategies;

mod baton;
mod run;
mod together;
mod walk;
mod world;

pub use crate::errno::Errno;
pub use check::Violation;
pub use explore::{Explored, Explorer};
pub use faults::{Fault, Injected};
pub use foreign::{Foreign, ForeignDeed};
pub use pair::ScriptPair;
pub use script::{Acts, Role, Script};
