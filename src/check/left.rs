//! Processes that a program started and left behind, in a session of their own or with another parent.
//!
//! They are recognised by what they inherited, and found in `/proc`. Not found are processes that gave up all of that,
//! belong to another user, or were started on the program's behalf by another one (a service manager, a container
//! engine). Without `/proc` none is found: only the program's own process group is ended with it.

#[cfg(target_os = "linux")]
mod found;

use rustix::fs::Dev;

/// The marks by which a process is recognised.
#[derive(Debug, Default)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing else tells these of a process"))]
pub(super) struct ProcessMarks {
    /// Variables of its environment, as `NAME=value`; all must be there.
    pub(super) variables: Vec<Vec<u8>>,
    /// An open file with a lock: its descriptor in the process, its device and its inode.
    pub(super) held: Option<(i32, Dev, u64)>,
    /// The first process of a process name space, by its number outside: all others in it are found.
    pub(super) first: Option<i32>,
}

/// Processes that a program left behind, for messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftBehind {
    /// Those that were ended, as far as they had not ended by themselves.
    pub(crate) ended: Vec<String>,
    /// Those that could not be.
    pub(crate) alive: Vec<String>,
}

#[cfg(not(target_os = "linux"))]
impl ProcessMarks {
    /// Finds none.
    pub(super) fn end_all(&self) -> LeftBehind {
        LeftBehind::default()
    }
}
