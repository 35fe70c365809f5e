//! Undo and redo of committed transactions, one at a time or several at once.

mod chosen;
mod conflicts;
mod folders;
mod paths;
mod read;
mod reports;
mod reversal;
mod since;
pub(super) mod undo;
mod walk_back;
