//! Transactions beside each other and beside other programs.

mod attempts;
mod contended;
mod engines;
mod meanwhile;
