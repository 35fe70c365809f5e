//! What is going on in a workspace.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::doubtful::{Cause, Doubtful};
use super::history::{self, Entry};
use super::hot::{self, Standing};
use super::lock::Patience;
use super::report::{Interrupted, Status, Unreadable};
use super::state::{Section, State, list_ids, open_transaction};
use super::{RecoverOptions, Run, Unobserved, kept, late, open, recovery};
use crate::error::Result;
use crate::fs::Fs;
use crate::journal::{Header, Record};

/// Interrupted and running transactions, and what is kept.
pub(super) fn status(fs: &dyn Fs, state: &State, lock_timeout: Duration) -> Result<Status> {
    let kept = kept::list(fs, state)?;
    let mut warnings = late::all_warnings(fs, state)?;
    warnings.extend(state.strangers(fs)?);
    let unreadable = unreadable(fs, state, &mut warnings)?;
    let mut status = Status { open: open::list(fs, state)?, kept, unreadable, warnings, ..Status::default() };
    let Some(section) = state.section(fs, Section::Transactions)? else { return Ok(status) };
    for id in list_ids(fs, &section)? {
        if let Some(interrupted) = look(fs, state, &id, lock_timeout)? {
            status.interrupted.push(interrupted);
        }
    }
    Ok(status)
}

/// What stands in history and cannot be read. Copies, of which a copied workspace has many, are told in one warning; what is
/// not ours is among the warnings already.
fn unreadable(fs: &dyn Fs, state: &State, warnings: &mut Vec<String>) -> Result<Vec<Unreadable>> {
    let (mut unreadable, mut copies) = (Vec::new(), Vec::new());
    for entry in history::entries(fs, state)? {
        let Entry::Doubtful(Doubtful { id, cause, why, .. }) = entry? else { continue };
        match cause {
            Cause::Damaged => {
                let reason = format!("{why}; it cannot be undone: look at it, then `txedit recover {id} --discard`");
                unreadable.push(Unreadable { id, reason });
            }
            Cause::Copied => copies.push(id),
            Cause::Refused(_) | Cause::OtherHost | Cause::Interrupted => {}
        }
    }
    if let Some(newest) = copies.last() {
        let count = copies.len();
        warnings.push(format!(
            "{count} in history, {newest} the newest, not written here (a copy, clone or restored backup): left alone, and \
             not to be undone"
        ));
    }
    Ok(unreadable)
}

fn look(fs: &dyn Fs, state: &State, id: &str, lock_timeout: Duration) -> Result<Option<Interrupted>> {
    let (standing, folder) = hot::examine(fs, state, id, &|_| false)?;
    drop(folder);
    let entry = |running, journal: Option<(&Header, &[Record])>, action: &str, reason: String| Interrupted {
        id: id.to_owned(),
        running,
        owner: journal.map_or_else(|| "unknown".to_owned(), |(header, _)| owner(header)),
        files: journal.map(|(_, entries)| files(entries)).unwrap_or_default(),
        action: action.to_owned(),
        reason,
    };
    Ok(Some(match standing {
        Standing::Running => {
            let Some(section) = state.section(fs, Section::Transactions)? else { return Ok(None) };
            let Some(folder) = open_transaction(fs, &section, id)? else { return Ok(None) };
            // It has a journal once it is staged.
            let journal = hot::read_born_here(fs, &folder, id, state.protocol)?;
            let journal = journal.as_ref().map(|journal| (&journal.header, &journal.entries[..]));
            entry(true, journal, "leave", hot::at_work(fs, state, id)?)
        }
        // It is among the warnings.
        Standing::Refused(_) => return Ok(None),
        Standing::Unfinished => entry(false, None, "drop", "it never came to its journal".to_owned()),
        Standing::Corrupt(why) => entry(false, None, "wait", why),
        Standing::NotOurs(beginning, doubt) => {
            let journal = (&beginning.header, &beginning.entries[..]);
            entry(false, Some(journal), "leave", doubt.told(id, &beginning))
        }
        Standing::Hot(journal, _) => {
            let never = AtomicBool::new(false);
            let run = Run { cancel: &never, observer: &Unobserved };
            let options = RecoverOptions { plan_only: true, ..RecoverOptions::default() };
            let plan = recovery::recover_one(fs, state, id, options, Patience::new(lock_timeout, &never), run)?;
            let mut found = entry(false, Some((&journal.header, &[])), &plan.action, plan.reason);
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
