//! The error numbers of the operating system: values only, no access to anything.

use std::fmt;
use std::io;

/// The number of an error of the operating system. [`io::Error`] is made from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(rustix::io::Errno);

macro_rules! numbers {
    ($($name:ident: $meaning:literal,)*) => {
        impl Errno {
            $(
                #[doc = $meaning]
                pub const $name: Self = Self(rustix::io::Errno::$name);
            )*
        }
    };
}

numbers! {
    ACCESS: "Permission denied: `EACCES`.",
    AGAIN: "Not now.",
    BADF: "Not an open file, or not open for this.",
    BUSY: "In use.",
    DQUOT: "The quota is used up.",
    EXIST: "It exists.",
    FBIG: "Larger than a file may be.",
    INTR: "A signal came in between.",
    INVAL: "An argument that is not valid.",
    IO: "The medium failed.",
    ISDIR: "It is a folder.",
    LOOP: "A symlink, or too many of them.",
    MFILE: "The process has too many open files.",
    NAMETOOLONG: "The name is too long.",
    NFILE: "The system has too many open files.",
    NODEV: "There is no such device.",
    NOENT: "It is missing.",
    NOMEM: "There is no memory left.",
    NOSPC: "The file system is full.",
    NOTDIR: "It is no folder.",
    NOTEMPTY: "The folder is not empty.",
    NXIO: "There is no such device or address.",
    NOSYS: "A call that the system, or a sandbox, does not have.",
    PERM: "Not permitted: `EPERM`.",
    ROFS: "The file system is read-only.",
    SPIPE: "A pipe has no positions.",
    STALE: "The file is no longer on the server.",
    XDEV: "On another file system.",
}

impl Errno {
    /// The error with this number.
    #[must_use]
    pub fn from_raw_os_error(number: i32) -> Self {
        Self(rustix::io::Errno::from_raw_os_error(number))
    }

    /// Its number.
    #[must_use]
    pub fn raw_os_error(self) -> i32 {
        self.0.raw_os_error()
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        errno.0.into()
    }
}

/// The number in an error, if it has one.
#[must_use]
pub fn of(error: &io::Error) -> Option<Errno> {
    rustix::io::Errno::from_io_error(error).map(Errno)
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

/// Returns whether a file system, or a sandbox, has no such call or no such flag of it.
#[must_use]
pub fn is_unsupported(error: &io::Error) -> bool {
    matches!(of(error), Some(Errno::INVAL | Errno::NOSYS | Errno::PERM))
}

/// Returns whether a name is taken.
#[must_use]
pub fn is_taken(error: &io::Error) -> bool {
    of(error) == Some(Errno::EXIST)
}
