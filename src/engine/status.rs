//! The state of a workspace: interrupted, open and newest transactions, locks, kept contents.

use std::time::Duration;

use super::history::kept;
use super::history::late_writes;
use super::history::untrusted::{self, Cause, Doubtful};
use super::history::{self, Entry};
use super::report::{Interrupted, RecoveryAction, Status, Unreadable};
use super::store::interrupted::{self, Standing};
use super::store::lock::Patience;
use super::store::state::{Section, State, list_ids, open_transaction};
use super::{RecoverOptions, Run, open, recovery};
use crate::error::Result;
use crate::journal::{Header, Record};

/// Interrupted and running transactions, and what is kept.
pub(super) fn status(state: &State, lock_timeout: Duration) -> Result<Status> {
    let kept = kept::list(state)?;
    let mut warnings = late_writes::all_warnings(state)?;
    warnings.extend(state.strangers()?);
    let (damaged, copies) = in_history(state)?;
    warnings.extend(told_of_copies(&copies));
    let unreadable = damaged.iter().map(unreadable).collect();
    let mut status = Status { open: open::list(state)?, kept, unreadable, warnings, ..Status::default() };
    let Some(section) = state.section(Section::Transactions)? else { return Ok(status) };
    for id in list_ids(&state.workspace, &section)? {
        if let Some(interrupted) = look(state, &id, lock_timeout)? {
            status.interrupted.push(interrupted);
        }
    }
    Ok(status)
}

/// What stands in history and is damaged, and the ids of copies. What is not ours is among the warnings already.
fn in_history(state: &State) -> Result<(Vec<Doubtful>, Vec<String>)> {
    let (mut damaged, mut copies) = (Vec::new(), Vec::new());
    for entry in history::entries(state)? {
        let Entry::Doubtful(doubtful) = entry? else { continue };
        match doubtful.cause {
            Cause::Damaged => damaged.push(doubtful),
            Cause::Copied => copies.push(doubtful.id),
            Cause::Refused(_) | Cause::OtherHost | Cause::Interrupted => {}
        }
    }
    Ok((damaged, copies))
}

/// What in history is damaged: a person must put each aside.
pub(super) fn damaged(state: &State) -> Result<Vec<Doubtful>> {
    Ok(in_history(state)?.0)
}

fn unreadable(doubtful: &Doubtful) -> Unreadable {
    let Doubtful { id, why, .. } = doubtful;
    let reason = format!("{why}; it cannot be undone: look at it, then `txedit recover {id} --discard`");
    Unreadable { id: id.clone(), reason }
}

/// Copies, of which a copied workspace has many, are told in one warning.
fn told_of_copies(copies: &[String]) -> Option<String> {
    let (count, newest) = (copies.len(), copies.last()?);
    Some(format!(
        "{count} in history, {newest} the newest, not written here (a copy, clone or restored backup): left alone, and \
         not to be undone"
    ))
}

fn look(state: &State, id: &str, lock_timeout: Duration) -> Result<Option<Interrupted>> {
    let (standing, folder) = interrupted::examine(state, id, &|_| false)?;
    drop(folder);
    let entry = |running, journal: Option<(&Header, &[Record])>, action: RecoveryAction, reason: String| Interrupted {
        id: id.to_owned(),
        running,
        owner: journal.map_or_else(|| "unknown".to_owned(), |(header, _)| owner(header)),
        files: journal.map(|(_, entries)| files(entries)).unwrap_or_default(),
        action,
        reason,
    };
    Ok(Some(match standing {
        Standing::Running => {
            let Some(section) = state.section(Section::Transactions)? else { return Ok(None) };
            let Some(folder) = open_transaction(&state.workspace, &section, id)? else { return Ok(None) };
            // It has a journal once it is staged.
            let journal = interrupted::read_born_here(&state.workspace, &folder, id)?;
            let journal = journal.as_ref().map(|journal| (&journal.header, &journal.entries[..]));
            entry(true, journal, RecoveryAction::Leave, interrupted::at_work(state, id)?)
        }
        Standing::Refused(refusal) => {
            entry(false, None, RecoveryAction::Wait, untrusted::refused_in_txn(state, id, refusal))
        }
        Standing::Unfinished => entry(false, None, RecoveryAction::Drop, "it never came to its journal".to_owned()),
        Standing::Corrupt(why) => entry(false, None, RecoveryAction::Wait, why),
        Standing::NotOurs(beginning, doubt) => {
            let journal = (&beginning.header, &beginning.entries[..]);
            entry(false, Some(journal), RecoveryAction::Leave, doubt.told(id, &beginning))
        }
        Standing::Hot(journal, _) => {
            let run = Run::default();
            let options = RecoverOptions { plan_only: true, ..RecoverOptions::default() };
            let plan = recovery::recover_one(state, id, options, Patience::new(lock_timeout, run.cancel), run)?;
            let mut found = entry(false, Some((&journal.header, &[])), plan.action, plan.reason);
            found.files = plan.files;
            found
        }
    }))
}

fn owner(header: &Header) -> String {
    let owner = &header.owner;
    format!("{}, process {} of user {} on {}", owner.program, owner.process, owner.user, owner.host)
}

fn files(entries: &[Record]) -> Vec<(std::path::PathBuf, String)> {
    entries.iter().map(|record| (record.path.as_path().to_owned(), record.change.kind().to_owned())).collect()
}
