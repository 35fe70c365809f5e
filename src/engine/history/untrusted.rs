//! Folders that may be committed transactions but cannot be used: in history, one whose journal does not verify,
//! was copied, or is another user's; in `txn/`, one that no recovery has finished.
//!
//! They are left as they are. But a search for the newest transaction, or for the one with a key, must not answer as if
//! they were not there.

use std::path::PathBuf;

use super::{HistoryEntry, whole_history};
use crate::engine::history::group::Group;
use crate::engine::report::RecoveryReason;
use crate::engine::store::interrupted::{self, JournalStatus, Untrusted};
use crate::engine::store::private::Refusal;
use crate::engine::store::state::{Section, StateFolder, list_ids};
use crate::error::{Error, ErrorKind, NextStep, Outcome, Result};
use crate::fs::Handle;
use crate::journal::{self, Header};

/// True if a transaction is wanted, judged by its id and the program that committed it.
pub(crate) type Wanting<'w> = dyn Fn(&str, &str) -> bool + 'w;

/// The reason why it cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UntrustedCause {
    /// It is not a folder, is not this user's alone, or cannot be opened.
    Refused(Refusal),
    /// It has no journal, or one that does not verify.
    Damaged,
    /// Its journal was written in another folder.
    Copied,
    /// Another kernel may be working on it.
    OtherHost,
    /// It was interrupted, and is not recovered.
    Interrupted,
}

/// A folder that may be a committed transaction but cannot be used.
#[derive(Debug)]
pub(crate) struct UntrustedTransaction {
    /// The name of its folder.
    pub id: String,
    /// The path of its folder.
    pub path: PathBuf,
    /// Its section: `txn/` or history.
    pub section: Section,
    /// The reason why it cannot be used.
    pub cause: UntrustedCause,
    /// The reason, in words that follow its path.
    pub why: String,
    /// The header of its journal, if that verifies.
    pub header: Option<Header>,
}

impl UntrustedTransaction {
    /// The error for a caller that asks for the newest transaction.
    pub(crate) fn may_be_newest(&self) -> Error {
        let error = self.refused("and may be the newest: name the transaction that is meant", ", or ");
        error.with_next([NextStep::Log]).with_next(self.next_steps())
    }

    /// The error for a caller that asks for all of a session or campaign.
    pub(crate) fn may_be_of(&self, group: Group<'_>) -> Error {
        let and = format!("and may be of {group}: name the transactions that are meant");
        self.refused(&and, ", or ").with_next([NextStep::Log]).with_next(self.next_steps())
    }

    /// The error for a request that may have been committed already.
    pub(crate) fn may_be_the_same(&self, what: &str) -> Error {
        let and = format!(
            "and may be {what}: look whether the changes of the request are in the files, and send the request again if they \
             are not"
        );
        self.refused(&and, "; ").with_next(self.next_steps())
    }

    /// The error for a call on an open transaction whose commit may be complete; `again` says what to do if it is not.
    pub(crate) fn may_be_the_commit(&self, opened: &str, again: &str) -> Error {
        let and = format!(
            "and may be the commit of {opened}: look whether the staged changes are in the files, and {again} if they are \
             not"
        );
        self.refused(&and, "; ").with_next(self.next_steps())
    }

    /// The error for staging more in an open transaction, or previewing it, while its commit is interrupted.
    pub(crate) fn is_the_commit(&self, opened: &str) -> Error {
        let and =
            format!("and is the commit of {opened}, whose changes may be in some of the files: commit {opened} again");
        self.refused(&and, ", or ").with_next(self.next_steps())
    }

    /// The error for a request whose key it has or may have.
    pub(crate) fn may_have_key(&self, key: &str) -> Error {
        self.may_be_the_same(&format!("the one with the idempotency key {key:?}"))
    }

    /// The error for a caller that names it.
    pub(crate) fn named(&self) -> Error {
        self.refused("and cannot be undone", ": ").with_next(self.next_steps())
    }

    /// The remedy at a shell after which it is no longer in the way; `None` where [`next_steps`](Self::next_steps) says
    /// it.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self.cause {
            UntrustedCause::Refused(refusal) => remedy(refusal, self.section),
            _ => None,
        }
    }

    /// The calls after which it is no longer in the way.
    pub(crate) fn next_steps(&self) -> Vec<NextStep> {
        let id = self.id.clone();
        match self.cause {
            UntrustedCause::Refused(_) if self.remedy().is_some() => Vec::new(),
            UntrustedCause::OtherHost => vec![NextStep::OtherHost { id }],
            UntrustedCause::Interrupted => {
                vec![NextStep::Recover { id: Some(id.clone()) }, NextStep::Decide { id, can_finish: true }]
            }
            UntrustedCause::Refused(_) | UntrustedCause::Damaged | UntrustedCause::Copied => {
                vec![NextStep::Discard { id }]
            }
        }
    }

    /// Returns whether this user did not commit it, as far as its owner and its kind tell.
    pub(crate) const fn is_foreign(&self) -> bool {
        matches!(self.cause, UntrustedCause::Refused(Refusal::Foreign { .. } | Refusal::NoFolder))
    }

    /// The error: `and` says what follows from it; a remedy, if there is one, comes after `between`.
    fn refused(&self, and: &str, between: &str) -> Error {
        let kind = match self.cause {
            UntrustedCause::Refused(Refusal::Shut) => ErrorKind::PermissionDenied,
            _ => ErrorKind::RecoveryRequired,
        };
        let remedy = self.remedy().map(|remedy| format!("{between}{remedy}")).unwrap_or_default();
        let message = format!("{} {}, {and}{remedy}", self.path.display(), self.why);
        Error::new(kind, message).at(&self.path).of_transaction(&self.id).outcome_is(Outcome::Unchanged)
    }
}

/// The reason for leaving a name in `txn/` that is not this user's alone, or not a folder.
pub(crate) fn refused_in_txn(state: &StateFolder, id: &str, refusal: Refusal) -> RecoveryReason {
    let folder = state.folder.path().join(Section::Transactions.name()).join(id);
    let remedy = remedy(refusal, Section::Transactions).unwrap_or_default();
    RecoveryReason::Refused { folder, problem: refusal.to_string(), remedy }
}

/// The remedy at a shell after which a folder is no longer refused; `None` where it can be moved to `kept/`.
fn remedy(refusal: Refusal, section: Section) -> Option<String> {
    match (refusal, section) {
        (Refusal::Shut, _) => Some("give yourself all rights to it, or move it away".to_owned()),
        // Only the owner of a folder may move it to another one.
        (Refusal::Foreign { owner, user }, _) if user != 0 => Some(format!("have user {owner} or root move it away")),
        (Refusal::NoFolder, Section::Transactions) => Some("move it away".to_owned()),
        // A process may own it, and that cannot be found out.
        (_, Section::Transactions) => Some("make it yours alone (chown, chmod go-w), or move it away".to_owned()),
        _ => None,
    }
}

/// The transactions in `txn/` that may have been committed and are neither running nor recovered, newest first.
pub(crate) fn interrupted(state: &StateFolder) -> Result<Vec<UntrustedTransaction>> {
    let Some(section) = state.whole_section(Section::Transactions)? else { return Ok(Vec::new()) };
    let ids = list_ids(&state.workspace, &section)?;
    ids.iter().rev().filter_map(|id| interrupted_one(state, &section, id).transpose()).collect()
}

/// Refuses if an interrupted transaction that may be wanted is newer than this one, or may be the only one.
pub(crate) fn refuse_newer(state: &StateFolder, than: Option<&str>, is_wanted_one: &Wanting<'_>) -> Result<()> {
    let is_newer = |untrusted: &UntrustedTransaction| than.is_none_or(|than| untrusted.id.as_str() > than);
    let interrupted = interrupted(state)?;
    let newer = interrupted.iter().find(|it| is_newer(it) && is_wanted(it, is_wanted_one));
    newer.map_or(Ok(()), |untrusted| Err(untrusted.may_be_newest()))
}

/// One transaction in `txn/`, if it may have been committed and no process is working on it.
pub(crate) fn interrupted_one(state: &StateFolder, section: &Handle, id: &str) -> Result<Option<UntrustedTransaction>> {
    let (status, folder) = interrupted::examine(state, id, &|_| false)?;
    let (cause, why, header) = match status {
        // What its owner has not acknowledged cannot be meant.
        JournalStatus::Running | JournalStatus::Unfinished => return Ok(None),
        JournalStatus::Refused(refusal) => (UntrustedCause::Refused(refusal), refusal.to_string(), None),
        JournalStatus::Damaged(why) => {
            let header = match &folder {
                Some(folder) => interrupted::read_of_journal(&state.workspace, folder, |bytes| journal::header(bytes))?,
                None => None,
            };
            let header = header.and_then(Result::ok).map(|(header, _)| header);
            (UntrustedCause::Damaged, format!("is interrupted, and {why}"), header)
        }
        JournalStatus::Untrusted(beginning, reason) => {
            let cause = match reason {
                Untrusted::Copied | Untrusted::Moved => UntrustedCause::Copied,
                Untrusted::OtherHost => UntrustedCause::OtherHost,
            };
            (cause, format!("is interrupted, and {}", reason.reason()), Some(beginning.header))
        }
        JournalStatus::Hot(journal, _) => {
            (UntrustedCause::Interrupted, "is interrupted".to_owned(), Some(journal.header))
        }
    };
    let (id, path) = (id.to_owned(), section.path().join(id));
    Ok(Some(UntrustedTransaction { id, path, section: Section::Transactions, cause, why, header }))
}

/// Refuses if one that cannot be used may be of a session or campaign.
pub(crate) fn refuse_of(state: &StateFolder, group: Group<'_>) -> Result<()> {
    let is_of_it = |untrusted: &UntrustedTransaction| match &untrusted.header {
        Some(header) => group.has(header),
        None => !untrusted.is_foreign(),
    };
    for entry in whole_history(state)? {
        if let HistoryEntry::Untrusted(untrusted) = entry?
            && is_of_it(&untrusted)
        {
            return Err(untrusted.may_be_of(group));
        }
    }
    let interrupted = interrupted(state)?;
    interrupted.iter().find(|it| is_of_it(it)).map_or(Ok(()), |untrusted| Err(untrusted.may_be_of(group)))
}

/// Returns whether it may be the wanted one: by its id and, as far as its journal tells, by who committed it.
pub(crate) fn is_wanted(untrusted: &UntrustedTransaction, is_wanted: &Wanting<'_>) -> bool {
    let program = untrusted.header.as_ref().map_or("", |header| header.owner.program.as_str());
    is_wanted(&untrusted.id, program)
}
