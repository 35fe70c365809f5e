//! Which connection committed what.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits;

/// The newest commits of this server, oldest first, with the connection of each as long as that lives.
#[derive(Debug, Default)]
pub(super) struct Commits(Mutex<VecDeque<(String, Option<u64>)>>);

impl Commits {
    pub(super) fn add(&self, transaction: &str, connection: u64) {
        let mut commits = self.lock();
        if commits.len() == limits::HISTORY_COUNT {
            commits.pop_front();
        }
        commits.push_back((transaction.to_owned(), Some(connection)));
    }

    /// Whether that connection committed it.
    pub(super) fn is_of(&self, transaction: &str, connection: u64) -> bool {
        self.lock().iter().any(|(id, by)| id == transaction && *by == Some(connection))
    }

    /// Whether a connection of this server that has ended committed it.
    pub(super) fn is_left(&self, transaction: &str) -> bool {
        self.lock().iter().any(|(id, by)| id == transaction && by.is_none())
    }

    /// A connection has ended.
    pub(super) fn leave(&self, connection: u64) {
        self.lock().iter_mut().filter(|(_, by)| *by == Some(connection)).for_each(|(_, by)| *by = None);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Option<u64>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
