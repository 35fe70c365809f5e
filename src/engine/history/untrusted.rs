//! What may be a committed transaction and cannot be acted on: in history one whose journal does not verify, is a copy, or
//! is somebody else's; in `txn/` one that no recovery has brought to its end.
//!
//! It is left as it is. But whoever asks for the newest transaction, or for the one with a key, is not answered as if it
//! were not there.

use std::path::PathBuf;

use crate::engine::store::interrupted::{self, Doubt, Standing};
use crate::engine::store::private::Refusal;
use crate::engine::store::state::{Section, State, list_ids};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::fs::Handle;
use crate::journal::{self, Header};

/// Whether a transaction is wanted, by its id and the program that committed it.
pub(crate) type Wanting<'w> = dyn Fn(&str, &str) -> bool + 'w;

/// Why it cannot be acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It is no folder, or not this user's alone, or cannot be opened.
    Refused(Refusal),
    /// It has no journal, or one that does not verify.
    Damaged,
    /// Its journal was written in another folder.
    Copied,
    /// Another kernel may be at it.
    OtherHost,
    /// It was interrupted, and is not recovered.
    Interrupted,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Doubtful {
    /// The name of its folder.
    pub id: String,
    /// Where that is.
    pub path: PathBuf,
    /// The same as a section: `txn/` or history.
    pub section: Section,
    /// Why it cannot be acted on.
    pub cause: Cause,
    /// The same in words that follow its path.
    pub why: String,
    /// What its journal begins with, as far as that verifies.
    pub header: Option<Header>,
}

impl Doubtful {
    /// The refusal of whoever asks for the newest.
    pub(crate) fn may_be_newest(&self) -> Error {
        self.refused(&format!(
            "and may be newer than what would be taken back: name the transaction that is meant (`txedit log`), or {}",
            self.way_out()
        ))
    }

    /// The refusal of a request that may have been done already.
    pub(crate) fn may_be_the_same(&self, what: &str) -> Error {
        self.refused(&format!(
            "and may be {what}: look whether the changes of the request are in the files, {}, and send the request again \
             if they are not",
            self.way_out()
        ))
    }

    /// The refusal of what is asked of an open transaction whose commit may be through; `again` says what to do where it
    /// is not.
    pub(crate) fn may_be_the_commit(&self, opened: &str, again: &str) -> Error {
        self.refused(&format!(
            "and may be the commit of {opened}: look whether the staged changes are in the files, {}, and {again} if they \
             are not",
            self.way_out()
        ))
    }

    /// The refusal of whoever stages more in an open transaction, or looks at it, while its commit is interrupted.
    pub(crate) fn is_the_commit(&self, opened: &str) -> Error {
        self.refused(&format!(
            "and is the commit of {opened}, whose changes may be in some of the files: commit {opened} again, or {}",
            self.way_out()
        ))
    }

    /// The refusal of a request with its key, or with one that it may have.
    pub(crate) fn may_have_key(&self, key: &str) -> Error {
        self.may_be_the_same(&format!("the one with the idempotency key {key:?}"))
    }

    /// The refusal of whoever names it.
    pub(crate) fn named(&self) -> Error {
        self.refused(&format!("and cannot be undone: {}", self.way_out()))
    }

    /// What a person can do, so that it no longer is in the way.
    pub(crate) fn way_out(&self) -> String {
        way_out(&self.id, self.cause, self.section)
    }

    /// Whether it is nothing that this user committed, as far as its owner and its kind tell.
    pub(crate) const fn is_foreign(&self) -> bool {
        matches!(self.cause, Cause::Refused(Refusal::Foreign { .. } | Refusal::NoFolder))
    }

    fn refused(&self, and: &str) -> Error {
        let kind = match self.cause {
            Cause::Refused(Refusal::Shut) => ErrorKind::PermissionDenied,
            _ => ErrorKind::RecoveryRequired,
        };
        let message = format!("{} {}, {and}", self.path.display(), self.why);
        Error::new(kind, message).at(&self.path).of_transaction(&self.id).outcome_is(Outcome::Unchanged)
    }
}

/// What in `txn/` is not this user's alone, or no folder, and what a person can do about it.
pub(crate) fn refused_in_txn(state: &State, id: &str, refusal: Refusal) -> String {
    let path = state.folder.path().join(Section::Transactions.name()).join(id);
    let way_out = way_out(id, Cause::Refused(refusal), Section::Transactions);
    format!("{} {refusal}, and may be one that was interrupted: {way_out}", path.display())
}

/// What a person can do, so that it no longer is in the way.
fn way_out(id: &str, cause: Cause, section: Section) -> String {
    match (cause, section) {
        (Cause::Refused(Refusal::Shut), _) => "give yourself all rights to it, or move it away".to_owned(),
        // Whose folder it is not, may not move it to another one.
        (Cause::Refused(Refusal::Foreign { owner, user }), _) if user != 0 => {
            format!("have user {owner} or root move it away")
        }
        (Cause::Refused(Refusal::NoFolder), Section::Transactions) => "move it away".to_owned(),
        // Somebody may be at it, and nobody can tell.
        (Cause::Refused(_), Section::Transactions) => {
            "make it yours alone (chown, chmod go-w), or move it away".to_owned()
        }
        (Cause::OtherHost, _) => format!("end it if that one is down (`txedit recover {id} --other-host`)"),
        (Cause::Interrupted, _) => {
            format!("end it (`txedit recover {id}`, with `--forward`, `--back` or `--discard` if that leaves it)")
        }
        _ => format!("put it aside (`txedit recover {id} --discard`)"),
    }
}

/// What in `txn/` may have been committed, and is neither at work nor recovered; the newest first.
pub(crate) fn interrupted(state: &State) -> Result<Vec<Doubtful>> {
    let Some(section) = state.whole_section(Section::Transactions)? else { return Ok(Vec::new()) };
    let ids = list_ids(&state.workspace, &section)?;
    ids.iter().rev().filter_map(|id| interrupted_one(state, &section, id).transpose()).collect()
}

/// One of them; `section` is `txn/`.
pub(crate) fn interrupted_one(state: &State, section: &Handle, id: &str) -> Result<Option<Doubtful>> {
    let (standing, folder) = interrupted::examine(state, id, &|_| false)?;
    let (cause, why, header) = match standing {
        // What its owner has not acknowledged is not asked for.
        Standing::Running | Standing::Unfinished => return Ok(None),
        Standing::Refused(refusal) => (Cause::Refused(refusal), refusal.to_string(), None),
        Standing::Corrupt(why) => {
            let header = match &folder {
                Some(folder) => interrupted::read_of_journal(&state.workspace, folder, |bytes| journal::header(bytes))?,
                None => None,
            };
            let header = header.and_then(Result::ok).map(|(header, _)| header);
            (Cause::Damaged, format!("is interrupted, and {why}"), header)
        }
        Standing::NotOurs(beginning, doubt) => {
            let cause = match doubt {
                Doubt::Copied => Cause::Copied,
                Doubt::OtherHost => Cause::OtherHost,
            };
            (cause, format!("is interrupted, and {}", doubt.reason()), Some(beginning.header))
        }
        Standing::Hot(journal, _) => (Cause::Interrupted, "is interrupted".to_owned(), Some(journal.header)),
    };
    let (id, path) = (id.to_owned(), section.path().join(id));
    Ok(Some(Doubtful { id, path, section: Section::Transactions, cause, why, header }))
}

/// Whether it may be what is looked for: by its id and, as far as its journal tells, by who committed it.
pub(crate) fn is_wanted(doubtful: &Doubtful, is_wanted: &Wanting<'_>) -> bool {
    let program = doubtful.header.as_ref().map_or("", |header| header.owner.program.as_str());
    is_wanted(&doubtful.id, program)
}
