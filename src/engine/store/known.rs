//! The state folder that an engine committed in last: the next call asks for a few names, and finds nothing out anew.

use std::sync::{Mutex, PoisonError};

use super::lookup::{self, StateLookup};
use super::state::StateFolder;
use super::workspace::Workspace;
use crate::error::Result;
use crate::journal::SwapMethod;

/// A state folder, open, as it was found.
#[derive(Debug, Default)]
pub(crate) struct KnownState(Mutex<Option<StateFolder>>);

impl KnownState {
    /// The state folder of a workspace that is in use: the known one where its names still lead to it.
    pub(crate) fn find(&self, workspace: &Workspace) -> Result<StateLookup> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            // What cannot be found out about it is for the search to tell, which may come to another one.
            Some(known) if known.is_found_again().unwrap_or(false) => Ok(StateLookup::State(known)),
            _ => lookup::find(workspace),
        }
    }

    /// Forgets it, until a commit in it has succeeded: one that can be written no more would be in the way of another one.
    pub(crate) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Keeps one in which a commit succeeded. How names change place where they cannot be exchanged is tried out each time.
    pub(crate) fn keep(&self, state: &StateFolder) {
        let known = (state.swap == SwapMethod::Exchange && !state.only_overwrites).then(|| state.as_known());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}
