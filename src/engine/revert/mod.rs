//! Undo and redo of committed transactions.

pub(super) mod merge;
pub(super) mod undo;
