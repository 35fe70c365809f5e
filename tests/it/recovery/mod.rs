//! What recovery reads and what it does: the journal, the state folder, a rollback that is not whole.

mod damaged;
mod examined;
mod half_done;
mod immovable;
mod in_place;
mod journal_format;
mod lost;
mod overwriting;
mod partly;
mod parts;
#[cfg(feature = "cli")]
mod reader;
mod saved_anew;
mod sections;
mod stepwise;
mod unreadable;
