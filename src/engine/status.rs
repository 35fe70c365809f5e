//! The state of a workspace: interrupted, open and newest transactions, locks, kept contents.

use std::path::Path;
use std::time::Duration;

use super::history::kept;
use super::history::late_writes;
use super::history::untrusted::{self, UntrustedCause, UntrustedTransaction};
use super::history::{self, HistoryEntry};
use super::recovery::describe;
use super::report::{Interrupted, Recovered, RecoveryAction, RecoveryReason, Status, Unreadable};
use super::store::interrupted::{self, JournalStatus};
use super::store::lock::Patience;
use super::store::lookup;
use super::store::state::{Section, StateFolder, StateLookup, open_transaction};
use super::store::workspace::Workspace;
use super::{RecoverOptions, Run, open, recovery};
use crate::error::{NextStep, Result};
use crate::journal::{Header, Journal};

/// The state of a workspace: of the state folder that is in use, and what is interrupted or kept in another one.
pub(super) fn of_all(workspace: &Workspace, lock_timeout: Duration) -> Result<Status> {
    let found = lookup::find(workspace)?;
    let mut all = match &found {
        StateLookup::State(state) => status(state, lock_timeout)?,
        StateLookup::Nothing => Status::default(),
        StateLookup::Ignored(path, why) => ignored(path, why),
    };
    let others = lookup::others(workspace, &found)?;
    for other in &others {
        let other = match other {
            StateLookup::State(state) => status(state, lock_timeout)?,
            StateLookup::Nothing => continue,
            // It keeps nobody from working: another user may have a state folder of his own there.
            StateLookup::Ignored(path, why) => {
                all.warnings.push(format!("{}: interrupted transactions in it are not looked at", told(path, why)));
                continue;
            }
        };
        all.interrupted.extend(other.interrupted);
        all.kept.extend(other.kept);
        all.unreadable.extend(other.unreadable);
        all.warnings.extend(other.warnings);
    }
    all.warnings.extend(lookup::unseen(workspace, &others)?);
    Ok(all)
}

fn ignored(path: &Path, why: &str) -> Status {
    Status { warnings: vec![told(path, why)], is_ignored: true, ..Status::default() }
}

fn told(path: &Path, why: &str) -> String {
    format!("{} {why}", path.display())
}

/// Interrupted and running transactions, and kept contents.
fn status(state: &StateFolder, lock_timeout: Duration) -> Result<Status> {
    let kept = kept::list(state)?;
    let mut warnings = late_writes::all_warnings(state)?;
    warnings.extend(state.strangers()?);
    let (damaged, copies) = in_history(state)?;
    warnings.extend(told_of_copies(&copies));
    warnings.extend(open::told_of_unreadable(state)?);
    let unreadable = damaged.iter().map(unreadable).collect();
    let mut status = Status { open: open::list(state)?, kept, unreadable, warnings, ..Status::default() };
    for id in state.ids(Section::Transactions)? {
        if let Some(interrupted) = examine(state, &id, lock_timeout)? {
            status.interrupted.push(interrupted);
        }
    }
    Ok(status)
}

/// The damaged transactions in history, and the ids of copies. Other users' folders are among the warnings already.
fn in_history(state: &StateFolder) -> Result<(Vec<UntrustedTransaction>, Vec<String>)> {
    let (mut damaged, mut copies) = (Vec::new(), Vec::new());
    for entry in history::entries(state)? {
        let HistoryEntry::Untrusted(untrusted) = entry? else { continue };
        match untrusted.cause {
            UntrustedCause::Damaged => damaged.push(untrusted),
            UntrustedCause::Copied => copies.push(untrusted.id),
            UntrustedCause::Refused(_) | UntrustedCause::OtherHost | UntrustedCause::Interrupted => {}
        }
    }
    Ok((damaged, copies))
}

/// The damaged transactions in history; a person must discard each.
pub(super) fn damaged(state: &StateFolder) -> Result<Vec<UntrustedTransaction>> {
    Ok(in_history(state)?.0)
}

fn unreadable(untrusted: &UntrustedTransaction) -> Unreadable {
    let UntrustedTransaction { id, why, .. } = untrusted;
    let reason = format!("{why}; it cannot be undone");
    Unreadable { id: id.clone(), reason, next_steps: vec![NextStep::Discard { id: id.clone() }] }
}

/// One warning for all copies, of which a copied workspace has many.
fn told_of_copies(copies: &[String]) -> Option<String> {
    let (count, newest) = (copies.len(), copies.last()?);
    Some(format!(
        "{count} in history, {newest} the newest, not written here (a copy, clone or restored backup): left alone, and \
         not to be undone"
    ))
}

/// The report of the transaction under an id in `txn/`; `None` if it is gone by now. Nothing is touched.
fn examine(state: &StateFolder, id: &str, lock_timeout: Duration) -> Result<Option<Interrupted>> {
    let (status, folder) = interrupted::examine(state, id, &|_| false)?;
    drop(folder);
    let entry = |action, why, next_steps| Interrupted {
        id: id.to_owned(),
        running: false,
        owner: "unknown".to_owned(),
        files: Vec::new(),
        action,
        why,
        remarks: Vec::new(),
        next_steps,
    };
    Ok(Some(match status {
        JournalStatus::Running => {
            let Some(section) = state.section(Section::Transactions)? else { return Ok(None) };
            let Some(folder) = open_transaction(&state.workspace, &section, id)? else { return Ok(None) };
            // It has a journal once it is staged.
            let journal = interrupted::read_born_here(&state.workspace, &folder, id)?;
            let running = entry(RecoveryAction::Leave, describe::at_work(state, id)?, Vec::new());
            let running = Interrupted { running: true, ..running };
            match journal {
                Some(Journal { header, entries, .. }) => {
                    Interrupted { owner: owner(&header), files: describe::unobserved(&entries), ..running }
                }
                None => running,
            }
        }
        JournalStatus::Refused(refusal) => {
            entry(RecoveryAction::Wait, untrusted::refused_in_txn(state, id, refusal), Vec::new())
        }
        JournalStatus::Unfinished => entry(RecoveryAction::Drop, RecoveryReason::NoJournal, Vec::new()),
        JournalStatus::Damaged(problem) => {
            let discard = NextStep::Discard { id: id.to_owned() };
            Interrupted {
                files: describe::of_damaged(state, id)?,
                remarks: vec![describe::place(state, Section::Transactions, id)],
                ..entry(RecoveryAction::Wait, RecoveryReason::Damaged { problem }, vec![discard])
            }
        }
        JournalStatus::Untrusted(beginning, untrusted) => Interrupted {
            owner: owner(&beginning.header),
            files: describe::unobserved(&beginning.entries),
            ..entry(
                RecoveryAction::Leave,
                RecoveryReason::Untrusted { untrusted, has_more_files: beginning.has_more },
                vec![untrusted.next_step(id)],
            )
        },
        JournalStatus::Hot(journal, _) => {
            let plan = plan(state, id, &journal, lock_timeout)?;
            Interrupted {
                owner: owner(&journal.header),
                files: plan.files,
                remarks: plan.remarks,
                ..entry(plan.action, plan.why, plan.next_steps)
            }
        }
    }))
}

/// What a recovery would do.
fn plan(state: &StateFolder, id: &str, journal: &Journal, lock_timeout: Duration) -> Result<Recovered> {
    let run = Run::default();
    let options = RecoverOptions { plan_only: true, ..RecoverOptions::default() };
    match recovery::recover_one(state, id, options, Patience::new(lock_timeout, run.cancel), run, &mut |_| {}) {
        Err(error) if !describe::is_of_this_process(&error) => Ok(Recovered {
            // One whose files cannot be read hides no other.
            files: describe::unobserved(&journal.entries),
            ..describe::not_observed(id, RecoveryAction::Wait, &error)
        }),
        plan => plan,
    }
}

fn owner(header: &Header) -> String {
    let owner = &header.owner;
    format!("{}, process {} of user {} on {}", owner.program, owner.process, owner.user, owner.host)
}
