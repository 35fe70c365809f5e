//! The folders in a state folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::parts::PARTS;
use super::state::{ID, TAG};
use super::view_folder::VIEWS;
use crate::error::{Error, ErrorKind, NextStep, Outcome};
use crate::path::bounds::Compared;

/// A folder in the state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Section {
    /// Transactions that are being committed.
    Transactions,
    /// Transactions that are staged over several calls.
    Open,
    /// Committed transactions, with their originals.
    History,
    /// Contents that a rollback must not delete.
    Kept,
    /// Folders that are about to be deleted.
    Trash,
}

impl Section {
    pub(crate) const ALL: [Self; 5] = [Self::Transactions, Self::Open, Self::History, Self::Kept, Self::Trash];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "txn",
            Self::Open => "open",
            Self::History => "history",
            Self::Kept => "kept",
            Self::Trash => "trash",
        }
    }

    /// The error where this section already has a folder `goal` of the transaction's name; it names the way out.
    pub(crate) fn is_taken(self, id: &str, goal: PathBuf) -> Error {
        let id_again = || id.to_owned();
        let (way_out, steps) = match self {
            Self::Kept => (
                "look what is in it, then drop it or move it away",
                vec![NextStep::ListKept, NextStep::DropKept { id: id_again() }],
            ),
            Self::History => (
                "it was finished there, and a restored backup brought it back here; look at the files, then discard this \
                 one",
                vec![NextStep::Discard { id: id_again() }],
            ),
            Self::Trash => (
                "the first commit after it has been there for a minute deletes it; try again then, or move it away",
                Vec::new(),
            ),
            Self::Transactions | Self::Open => ("look what is in it, then move it away", Vec::new()),
        };
        let message = format!("{} is there already: {way_out}", goal.display());
        let error = Error::new(ErrorKind::RecoveryRequired, message).at(goal).of_transaction(id).with_next(steps);
        error.outcome_is(Outcome::Unchanged)
    }
}

/// The folder with the keys of transactions that were pruned.
pub(crate) const KEYS: &str = "keys";

/// The names in a state folder that always stand for the same.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    Section::ALL.iter().map(|section| section.name()).chain([VIEWS, PARTS, KEYS, ID, TAG, ".gitignore"])
}

/// Returns whether something in a state folder has this name.
pub(crate) fn is_of_state_folder(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    if bytes.starts_with(b".") || bytes.starts_with(b"newest.") {
        return true;
    }
    let name = Compared::of(bytes);
    names().any(|known| name.is(known))
}
