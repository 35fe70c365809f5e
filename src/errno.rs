//! The numbers of the operating system's errors: values, no access to anything.

use std::io;

pub use rustix::io::Errno;

/// The number in an error, if it has one.
#[must_use]
pub fn of(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

/// Whether something is missing.
#[must_use]
pub fn is_missing(error: &io::Error) -> bool {
    of(error) == Some(Errno::NOENT)
}

/// Whether a name is taken.
#[must_use]
pub fn is_taken(error: &io::Error) -> bool {
    of(error) == Some(Errno::EXIST)
}
