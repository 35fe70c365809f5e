//! Records which connection committed which transaction.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits;

/// The newest commits of the connections of this server, oldest first.
#[derive(Debug, Default)]
pub(super) struct Commits(Mutex<VecDeque<(String, u64)>>);

impl Commits {
    pub(super) fn add(&self, transaction: &str, connection: u64) {
        let mut commits = self.lock();
        if commits.len() == limits::HISTORY_COUNT {
            commits.pop_front();
        }
        commits.push_back((transaction.to_owned(), connection));
    }

    /// True if that connection committed it.
    pub(super) fn is_of(&self, transaction: &str, connection: u64) -> bool {
        self.lock().iter().any(|(id, by)| id == transaction && *by == connection)
    }

    /// Removes the commits of a connection that has ended.
    pub(super) fn leave(&self, connection: u64) {
        self.lock().retain(|(_, by)| *by != connection);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
