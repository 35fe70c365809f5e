//! The error numbers of the operating system: values only, no access to anything.

use std::io;

pub use rustix::io::Errno;

/// The number in an error, if it has one.
#[must_use]
pub fn of(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

/// Returns whether something is missing.
#[must_use]
pub fn is_missing(error: &io::Error) -> bool {
    of(error) == Some(Errno::NOENT)
}

/// Returns whether this process, or the machine, temporarily lacks a resource: open files, memory.
#[must_use]
pub fn is_passing(error: &io::Error) -> bool {
    matches!(of(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// Returns whether a name is taken.
#[must_use]
pub fn is_taken(error: &io::Error) -> bool {
    of(error) == Some(Errno::EXIST)
}
