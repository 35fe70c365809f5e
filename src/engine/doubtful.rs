//! What may be a committed transaction and cannot be acted on: in history one whose journal does not verify, or that is a
//! copy, or somebody else's; in `txn/` one that no recovery has brought to its end.
//!
//! It is left as it is. But whoever asks for the newest transaction, or for the one with a key, is not answered as if it
//! were not there.

use std::path::PathBuf;

use super::hot::{self, Standing};
use super::state::{Section, State, list_ids};
use super::undo::Wanting;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::fs::Fs;
use crate::journal::Header;

/// Why it cannot be acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// It is this user's, and cannot be opened.
    Shut,
    /// It is no folder, or not this user's alone.
    Strange,
    /// It has no journal, or one that does not verify.
    Damaged,
    /// Its journal was written in another folder.
    Copied,
    /// It is in `txn/`.
    Interrupted,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Doubtful {
    /// The name of its folder.
    pub id: String,
    /// Where that is.
    pub path: PathBuf,
    /// Why it cannot be acted on.
    pub cause: Cause,
    /// The same in words that follow its path.
    pub why: String,
    /// What its journal begins with, as far as that verifies.
    pub header: Option<Header>,
}

impl Doubtful {
    /// The refusal of whoever asks for the newest.
    pub(super) fn may_be_newest(&self) -> Error {
        let Self { id, path, why, .. } = self;
        let path = path.display();
        let advice = match self.cause {
            Cause::Interrupted => format!("end it (`txedit recover {id}`)"),
            Cause::Shut => "give yourself all rights to it, or move it away".to_owned(),
            _ => format!("put it aside (`txedit recover {id} --discard`)"),
        };
        self.refused(format!(
            "{path} {why}, and may be newer than what would be taken back: name the transaction that is meant (`txedit \
             log`), or {advice}"
        ))
    }

    /// The refusal of a request that may have been done already.
    pub(super) fn may_be_the_same(&self, what: &str) -> Error {
        let Self { id, path, why, .. } = self;
        let path = path.display();
        let advice = match self.cause {
            Cause::Shut => "give yourself all rights to it, or move it away".to_owned(),
            _ => format!("put it aside (`txedit recover {id} --discard`), then send the request again if they are not"),
        };
        self.refused(format!(
            "{path} {why}, and may be {what}: look whether the changes of the request are in the files; {advice}"
        ))
    }

    /// The refusal of whoever names it.
    pub(super) fn named(&self) -> Error {
        let Self { id, path, why, .. } = self;
        let path = path.display();
        self.refused(format!("{path} {why}: it cannot be undone; `txedit recover {id} --discard` puts it aside"))
    }

    fn refused(&self, message: String) -> Error {
        let kind = match self.cause {
            Cause::Shut => ErrorKind::PermissionDenied,
            _ => ErrorKind::RecoveryRequired,
        };
        Error::new(kind, message).at(&self.path).of_transaction(&self.id).outcome_is(Outcome::Unchanged)
    }
}

/// The newest in `txn/` that may have been committed after a transaction of history, or after none.
pub(super) fn interrupted_after(fs: &dyn Fs, state: &State, id: Option<&str>) -> Result<Option<Doubtful>> {
    let Some(section) = state.section(fs, Section::Transactions)? else { return Ok(None) };
    for found in list_ids(fs, &section)?.into_iter().rev() {
        if id.is_some_and(|id| found.as_str() <= id) {
            break;
        }
        let (why, header) = match hot::examine(fs, state, &found, &|_| false)?.0 {
            // What its owner has not acknowledged is not asked for.
            Standing::Running | Standing::Unfinished => continue,
            Standing::Refused(why) => (why, None),
            Standing::Corrupt(why) => (format!("is interrupted, and {why}"), None),
            Standing::NotOurs(beginning, doubt) => {
                let why = format!("is interrupted, and {}", doubt.told(&found, &beginning));
                (why, Some(beginning.header))
            }
            Standing::Hot(journal, _) => ("is interrupted".to_owned(), Some(journal.header)),
        };
        let path = section.path().join(&found);
        return Ok(Some(Doubtful { id: found, path, cause: Cause::Interrupted, why, header }));
    }
    Ok(None)
}

/// Whether it may be what is looked for: by its id and, as far as its journal tells, by who committed it.
pub(super) fn is_wanted(doubtful: &Doubtful, is_wanted: &Wanting<'_>) -> bool {
    let program = doubtful.header.as_ref().map_or("", |header| header.owner.program.as_str());
    is_wanted(&doubtful.id, program)
}
