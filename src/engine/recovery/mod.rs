//! Recovery of one interrupted transaction: observe, decide, carry out, report.
//!
//! Architecture invariant: nothing here stages content, and nothing is touched before a decision is made about all
//! entries.

mod adopt;
mod all;
pub(super) mod blocked;
pub(super) mod conflicts;
pub(super) mod describe;
mod finish;
mod forward;
mod named;
mod targets;
pub(super) mod warnings;

use std::collections::HashMap;

use super::report::{Recovered, RecoveryAction};
use super::rollback::walk;
use super::store::folder::TransactionFolder;
use super::store::interrupted::{self, Untrusted};
use super::store::lock::Patience;
use super::store::parts::{SlotFolders, is_away};
use super::store::state::StateFolder;
use super::{Decision as Wish, RecoverOptions, Run};
use crate::cancel::CancelToken;
use crate::commit::step::DropStep;
use crate::error::{Error, ErrorKind, NextStep, Outcome, Result};
use crate::index::{EntryIndex, IndexVec};
use crate::journal::recover::{Class, RecoveryDecision};
use crate::journal::{Journal, JournalState};
use crate::path::RelPath;

use adopt::{FoundFolder, adopt};
pub(crate) use all::{Recoveries, plan_all, recover_all};
use describe::{Left, blocked_by, describe, rolled_back};
pub(crate) use named::{cannot_write, check_writable, left_in_history, recover_in};
use targets::{TransactionPlace, lock_targets};
pub(crate) use warnings::{InFront, not_recovered, tell, tell_once};

/// The limit of decisions while another program keeps writing.
const TRIES: usize = 8;

/// Gets the decision about a transaction before it is carried out and while all locks are held. If another program
/// keeps writing, the decision is made and passed on again.
pub(crate) type Planned<'p> = &'p mut dyn FnMut(&Recovered);

/// Recovers one transaction, or plans to. If it cannot be recovered it is left as it is, and the report says why.
pub(crate) fn recover_one(
    state: &StateFolder,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
    planned: Planned<'_>,
) -> Result<Recovered> {
    assert_ne!(options.decision, Wish::Discard, "a discard has no use for the files, which may be unreadable");
    let leave = |left: Left, planned: Planned<'_>| {
        let report = left.into_report(state, id)?;
        planned(&report);
        Ok(report)
    };
    // Without the locks of its targets, only to learn which they are: the lock on its folder comes last, as in a
    // commit.
    let (journal, parts) = match examine(state, id, options, patience, run)? {
        Ok(Actionable { journal, slots, .. }) => (journal, slots.parts),
        Err(left) => return leave(left, planned),
    };
    let (locks, parents) = lock_targets(TransactionPlace { state, id, parts: &parts }, &journal, patience)?;
    let Actionable { slots, journal, journal_state, is_adopted } = match examine(state, id, options, patience, run)? {
        // The locked folders belong to the journal that was read first.
        Ok(now) if now.is_adopted && now.journal != journal => return Err(keeps_writing(id)),
        Ok(now) => now,
        Err(left) => return leave(left, planned),
    };
    let transaction = TransactionFolder::new(state, slots, journal, journal_state, parents);
    let insisted = options.decision == Wish::Back;
    let mut transaction = TransactionFolder { is_recovery: true, insisted, ..transaction };
    if options.plan_only {
        let decided = decide(&transaction, options.decision, run.cancel)?;
        return Ok(decided.report);
    }
    if is_adopted {
        // Anything in its way is reported before anything is touched. The decision itself is made below: the time of
        // the journal, which tells whether a slot is incomplete, changes when it is adopted.
        let decided = decide(&transaction, options.decision, run.cancel)?;
        if decided.is_blocked {
            planned(&decided.report);
            return Ok(decided.report);
        }
        transaction.write_adopted().map_err(required)?;
    }
    if options.decision == Wish::Forward && transaction.evident_state()? == JournalState::New {
        // It is refused if nothing was swapped: then no file may be said to be half-way.
        choose(&transaction, &transaction.classes(run.cancel)?, Wish::Forward).map_err(|e| e.of_transaction(id))?;
    }
    // Everything observed must be durable: else a decision could depend on pages that the next power loss takes.
    transaction.sync_everything().map_err(required)?;
    let report = decide_and_act(&mut transaction, options.decision, run, planned);
    let report = report.map_err(|error| transaction.displaced(required(error).of_transaction(id)));
    drop(locks);
    report
}

/// An interrupted transaction that can be recovered.
struct Actionable {
    /// The folders with its slots; its own is locked.
    slots: SlotFolders,
    journal: Journal,
    journal_state: JournalState,
    /// True if the journal on the disk still names another folder.
    is_adopted: bool,
}

/// Examines the folder of a transaction in `txn/`; the returned handle holds its lock.
fn examine(
    state: &StateFolder,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<std::result::Result<Actionable, Left>> {
    let dismissed = |untrusted| is_trusted(options, untrusted);
    let (status, folder) = match options.decision {
        Wish::Table => interrupted::examine(state, id, &dismissed)?,
        // What a person has decided does not fail because of a glance.
        _ => interrupted::examine_to_recover(state, id, &dismissed, patience)?,
    };
    let (mut journal, journal_state) = match Left::of(status) {
        Ok(hot) => hot,
        Err(left) => return Ok(Err(left)),
    };
    let Some(folder) = folder else { return Ok(Err(Left::Running)) };
    let slots = SlotFolders::open(&state.workspace, &folder, &journal.header).map_err(|error| waiting(id, error))?;
    let adopted = adopt(state, &FoundFolder { id, slots: &slots, journal_state }, &journal, run.cancel)?;
    let is_adopted = adopted.is_some();
    journal = adopted.unwrap_or(journal);
    Ok(Ok(Actionable { slots, journal, journal_state, is_adopted }))
}

/// The error while one of its file systems is not mounted.
fn waiting(id: &str, error: Error) -> Error {
    if !is_away(&error) {
        return error;
    }
    let waiting = Error::new(ErrorKind::RecoveryRequired, error.message()).of_transaction(id);
    let waiting = waiting.with_next([NextStep::Mend { id: id.to_owned() }]);
    match error.path() {
        Some(path) => waiting.at(path),
        None => waiting,
    }
}

fn required(error: Error) -> Error {
    error.outcome_is(Outcome::RecoveryRequired)
}

/// Returns whether a person dismissed this reason against the journal.
fn is_trusted(options: RecoverOptions, untrusted: Untrusted) -> bool {
    match untrusted {
        Untrusted::Copied | Untrusted::Moved => options.trust_journal,
        Untrusted::OtherHost => options.other_host,
    }
}

/// The decision about a transaction: the recovery table's, or a person's if that is possible.
fn choose(transaction: &TransactionFolder<'_>, classes: &[Class], wish: Wish) -> Result<RecoveryDecision> {
    let journal_state = transaction.evident_state()?;
    let table = (transaction.workspace().protocol.decide)(journal_state, transaction.journal.back_on_crash, classes);
    let cannot_finish = |why: &str| {
        let id = transaction.journal.header.id.clone();
        let error = Error::new(ErrorKind::RecoveryRequired, format!("{why}; it cannot be finished"));
        Err(error.with_next([NextStep::Decide { id, can_finish: false }]))
    };
    match wish {
        Wish::Table | Wish::Discard => Ok(table),
        Wish::Back => match removed_folder(transaction, classes)? {
            None => Ok(RecoveryDecision::Back),
            Some(path) => {
                let id = transaction.journal.header.id.clone();
                let message = format!(
                    "it is done, and the folder of {path} is removed already, so that it cannot be rolled back: finish it, \
                     then undo it"
                );
                let error = Error::new(ErrorKind::RecoveryRequired, message);
                Err(error.with_next([NextStep::Decide { id, can_finish: true }]))
            }
        },
        // Nor is it needed: whoever asked for it can send it again.
        Wish::Forward if journal_state == JournalState::New && table == RecoveryDecision::Drop => {
            let why = "it was interrupted before anything was swapped, and its new contents may be incomplete";
            let recover = NextStep::Recover { id: Some(transaction.journal.header.id.clone()) };
            cannot_finish(why).map_err(|error: Error| error.next_instead([recover].into_iter()))
        }
        Wish::Forward if transaction.journal_state == JournalState::Contended => cannot_finish(
            "it was interrupted while another program was writing, and its new contents may be incomplete",
        ),
        Wish::Forward if transaction.journal_state.is_undo() => {
            cannot_finish("its rollback was begun, and other programs may have used the files that were put back")
        }
        // What is written in part has its old content in a copy, and may have lost its new one.
        Wish::Forward if transaction.journal.overwrites() && transaction.journal_state != JournalState::Done => {
            cannot_finish("it overwrites a file in place, which goes back after a crash")
        }
        Wish::Forward => Ok(RecoveryDecision::Forward),
    }
}

/// The path of a file that cannot go back, since the transaction, which is done, has removed its folder.
fn removed_folder(transaction: &TransactionFolder<'_>, classes: &[Class]) -> Result<Option<RelPath>> {
    if transaction.journal_state != JournalState::Done {
        return Ok(None);
    }
    for (entry, class) in transaction.journal.entries.indices().zip(classes) {
        if matches!(class, Class::Done | Class::Captured) && !transaction.has_its_folder(entry)? {
            return Ok(Some(transaction.record(entry).path.clone()));
        }
    }
    Ok(None)
}

/// The decision about a transaction, and what it is based on.
struct Decided {
    classes: IndexVec<EntryIndex, Class>,
    decision: RecoveryDecision,
    /// True if something is in the way, so that nothing can be done.
    is_blocked: bool,
    /// The plan: what would be done.
    report: Recovered,
}

/// Observes all entries and decides, without touching anything.
fn decide(transaction: &TransactionFolder<'_>, wish: Wish, cancel: &CancelToken) -> Result<Decided> {
    let classes = transaction.classes(cancel)?;
    let mut decision = choose(transaction, &classes, wish)?;
    // Dropped is only what is verified to be as it was: whatever else there is stays, and is named.
    let in_doubt = match decision {
        RecoveryDecision::Drop | RecoveryDecision::Back => transaction.in_doubt(&classes, cancel)?,
        RecoveryDecision::Forward | RecoveryDecision::Wait => Vec::new(),
    };
    if decision == RecoveryDecision::Drop && !in_doubt.is_empty() {
        decision = RecoveryDecision::Back;
    }
    if let Some(taken) = blocked::taken(transaction, decision)? {
        let report = blocked_by(transaction, &classes, &taken);
        return Ok(Decided { classes, decision, is_blocked: true, report });
    }
    let action = match decision {
        RecoveryDecision::Forward => RecoveryAction::Forward,
        RecoveryDecision::Back => RecoveryAction::Back,
        RecoveryDecision::Drop => RecoveryAction::Drop,
        RecoveryDecision::Wait => RecoveryAction::Wait,
    };
    let mut report = describe(transaction, &classes, action);
    match action {
        RecoveryAction::Forward => {
            forward::tell(transaction, transaction.journal_state, [&classes, &classes], false, &mut report);
        }
        RecoveryAction::Back => {
            let lost = transaction.lost(&classes, cancel)?;
            let remark = |entry: &EntryIndex| {
                let path = &transaction.record(*entry).path;
                if lost.contains(entry) {
                    format!("{path} cannot be as it was: its original is gone")
                } else {
                    format!("{path} may stay as it is: another program replaced it, before it was swapped or after")
                }
            };
            report.remarks.extend(in_doubt.iter().map(remark));
            for entry in transaction.gaps(cancel)? {
                let path = &transaction.record(entry).path;
                report.remarks.push(format!(
                    "{path} was missing, by a power loss or because another program removed it: its original goes back"
                ));
            }
        }
        _ => {}
    }
    Ok(Decided { classes, decision, is_blocked: false, report })
}

fn decide_and_act(
    transaction: &mut TransactionFolder<'_>,
    wish: Wish,
    run: Run<'_>,
    planned: Planned<'_>,
) -> Result<Recovered> {
    for attempt in 0..TRIES {
        let decided = decide(transaction, wish, run.cancel)?;
        if attempt == 0 {
            // Before anything is touched: a swap changes the times that tell it.
            transaction.incomplete = transaction.incomplete(&decided.classes)?;
        }
        planned(&decided.report);
        if decided.is_blocked {
            return Ok(decided.report);
        }
        if let Some(report) = act(transaction, &decided, wish, run)? {
            return Ok(report);
        }
    }
    Err(keeps_writing(&transaction.journal.header.id))
}

/// Carries out a decision; `None` if another program interfered, so that a new decision must be made.
fn act(
    transaction: &mut TransactionFolder<'_>,
    decided: &Decided,
    wish: Wish,
    run: Run<'_>,
) -> Result<Option<Recovered>> {
    let classes = &decided.classes;
    // Described before it is touched: the report says what was found, not what is there afterwards.
    Ok(Some(match decided.decision {
        RecoveryDecision::Forward => {
            let ready: Vec<EntryIndex> =
                classes.numbered().filter(|(_, class)| **class == Class::Ready).map(|(entry, _)| entry).collect();
            let mut report = describe(transaction, classes, RecoveryAction::Committed);
            let journal_state = transaction.journal_state;
            let insisted = wish == Wish::Forward;
            let finished = match finish::finish(transaction, &ready, insisted) {
                // Whether a folder of an overlay's lower layer can be moved is only found out by trying. But after a sync
                // that failed, whatever its error, nothing that a rollback syncs would be known to be durable.
                Err(error)
                    if is_immovable(&error)
                        && transaction.state.may_sync()
                        && matches!(journal_state, JournalState::New | JournalState::Sealed)
                        && !insisted =>
                {
                    return roll_back(transaction, classes, run).map(Some);
                }
                finished => finished?,
            };
            let Some(finished) = finished else { return Ok(None) };
            // Only now: another program may have changed a file since the decision.
            let now = finished.classes.as_deref().unwrap_or(classes);
            if forward::tell(transaction, journal_state, [classes, now], insisted, &mut report) {
                report.action = RecoveryAction::PartlyCommitted;
            }
            report.remarks.extend(finished.warnings);
            report
        }
        RecoveryDecision::Back => roll_back(transaction, classes, run)?,
        RecoveryDecision::Drop => {
            let report = describe(transaction, classes, RecoveryAction::Dropped);
            Recovered { kept: drop_unswapped(transaction)?, ..report }
        }
        RecoveryDecision::Wait => Recovered { action: RecoveryAction::Left, ..decided.report.clone() },
    }))
}

fn roll_back(
    transaction: &mut TransactionFolder<'_>,
    classes: &IndexVec<EntryIndex, Class>,
    run: Run<'_>,
) -> Result<Recovered> {
    let report = describe(transaction, classes, RecoveryAction::RolledBack);
    let undone = walk::roll_back(transaction, true, run)?;
    Ok(rolled_back(transaction, undone, report))
}

/// Returns whether the file system does not move a folder, so that the transaction can only go back.
fn is_immovable(error: &Error) -> bool {
    error.kind() == ErrorKind::CrossDevice
}

fn keeps_writing(id: &str) -> Error {
    let message = "another program keeps writing the files: stop it and recover again; where none does, roll it back, or \
                   discard it, which leaves the files as they are";
    let steps = [NextStep::Decide { id: id.to_owned(), can_finish: false }];
    Error::new(ErrorKind::RecoveryRequired, message).of_transaction(id).with_next(steps)
}

fn drop_unswapped(transaction: &mut TransactionFolder<'_>) -> Result<Vec<crate::error::KeptContent>> {
    let mut kept = Vec::new();
    for step in (transaction.workspace().protocol.drop_unswapped)(transaction.journal_state) {
        match step {
            DropStep::SetState(journal_state) => transaction.set_state(journal_state)?,
            DropStep::SyncFolder => transaction.sync_folder()?,
            DropStep::Drop => kept = walk::drop_folder(transaction, &HashMap::new(), true)?,
            DropStep::Sync => transaction.sync_everything()?,
        }
    }
    Ok(kept)
}
