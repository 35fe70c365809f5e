//! Undo and redo of committed transactions.

pub(super) mod merge;
mod paths;
mod read;
mod reports;
pub(super) mod undo;
