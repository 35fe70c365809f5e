//! A transaction from its beginning to its end: committed, dropped, cancelled, over several calls.

mod begin;
mod cancelled;
mod checks;
mod displaced;
mod lives_on;
mod many;
mod open;
mod panics;
mod parts;
mod programs;
mod staged_links;
