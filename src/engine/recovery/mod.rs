//! Recovery of one interrupted transaction: observe, decide, carry out, report.
//!
//! Architecture invariant: nothing here stages anything, and nothing is touched before a decision is made about all entries.

mod adopt;
mod all;
pub(super) mod blocked;
pub(super) mod conflicts;
mod finish;
mod forward;
mod named;
mod targets;
pub(super) mod warnings;

use std::collections::HashMap;
use std::fmt::Write as _;

use super::history::untrusted;
use super::report::{Recovered, RecoveryAction};
use super::rollback::walk::{self, Undone};
use super::store::folder::TransactionFolder;
use super::store::interrupted::{self, Standing};
use super::store::lock::Patience;
use super::store::private::Refusal;
use super::store::state::{Section, State};
use super::{Decision as Wish, RecoverOptions, Run};
use crate::cancel::CancelToken;
use crate::commit::step::Step;
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::fs::Handle;
use crate::journal::recover::{Class, Decision};
use crate::journal::{Beginning, Journal, Mark};

use adopt::{Found, adopt};
pub(crate) use all::{Recoveries, plan_all, recover_all};
pub(crate) use named::{left_in_history, recover_named, unknown};
use targets::lock_targets;
pub(crate) use warnings::{InFront, not_recovered, tell, tell_once};

/// How often a decision is taken anew where somebody else keeps writing.
const TRIES: usize = 8;

/// Recovers one transaction. What cannot be recovered is left as it is, and the answer says why.
pub(crate) fn recover_one(
    state: &State,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<Recovered> {
    // The lock on its folder comes last, after those of its targets, as in a commit.
    let journal = match look(state, id, options, run)? {
        Ok(Looked { journal, .. }) => journal,
        Err(Left::Running) => return running(state, id),
        Err(left) => return Ok(left.into_report(state, id)),
    };
    let (locks, parents) = lock_targets(state, id, &journal, patience)?;
    let Looked { folder, journal, mark, is_adopted } = match look(state, id, options, run)? {
        // The folders that are locked are those that were found first.
        Ok(looked) if looked.is_adopted && looked.journal != journal => return Err(keeps_writing(id)),
        Ok(looked) => looked,
        Err(Left::Running) => return running(state, id),
        Err(left) => return Ok(left.into_report(state, id)),
    };
    let transaction = TransactionFolder::new(state, folder, journal, mark, parents);
    let mut transaction = TransactionFolder { is_recovery: true, ..transaction };
    if options.plan_only {
        return plan_only(&transaction, options.decision, run.cancel);
    }
    if is_adopted {
        // What stands against it is said before anything is touched.
        let plan = plan_only(&transaction, options.decision, run.cancel)?;
        if plan.action == RecoveryAction::Left {
            return Ok(plan);
        }
        transaction.write_adopted().map_err(required)?;
    }
    // What is seen must be what is on the disk: else a decision could rest on pages that the next power cut takes.
    transaction.sync_everything().map_err(required)?;
    let report = act(&mut transaction, options.decision, run);
    drop(locks);
    report.map_err(|e| required(e).of_transaction(id))
}

/// An interrupted transaction that can be acted on.
struct Looked {
    folder: Handle,
    journal: Journal,
    mark: Mark,
    /// Whether the journal on the disk is that of another folder.
    is_adopted: bool,
}

/// Looks at what stands under an id in `txn/`, and has the lock on it.
fn look(state: &State, id: &str, options: RecoverOptions, run: Run<'_>) -> Result<std::result::Result<Looked, Left>> {
    let (standing, folder) = interrupted::examine(state, id, &|doubt| dismisses(options, doubt))?;
    let (mut journal, mark) = match actionable(standing) {
        Ok(actionable) => actionable,
        Err(left) => return Ok(Err(left)),
    };
    let Some(folder) = folder else { return Ok(Err(Left::Running)) };
    let adopted = match options.decision {
        Wish::Discard => None,
        _ => adopt(state, &Found { id, folder: &folder, mark }, &journal, run.cancel)?,
    };
    let is_adopted = adopted.is_some();
    journal = adopted.unwrap_or(journal);
    // Of one that is only put aside it can be another one.
    id.clone_into(&mut journal.header.id);
    Ok(Ok(Looked { folder, journal, mark, is_adopted }))
}

fn required(error: Error) -> Error {
    error.outcome_is(Outcome::RecoveryRequired)
}

/// The report of one that somebody is at: its owner, or what the check of an owner that is gone has left behind.
fn running(state: &State, id: &str) -> Result<Recovered> {
    Ok(Recovered { reason: interrupted::at_work(state, id)?, ..Left::Running.into_report(state, id) })
}

/// Why a transaction is left as it is.
enum Left {
    Running,
    Refused(Refusal),
    Unfinished,
    Corrupt(String),
    NotOurs(Box<Beginning>, interrupted::Doubt),
}

impl Left {
    fn into_report(self, state: &State, id: &str) -> Recovered {
        let (action, required, reason, beginning) = match self {
            Self::Running => (RecoveryAction::Running, false, "its owner is alive, or it is gone".to_owned(), None),
            Self::Refused(refusal) => (RecoveryAction::Left, true, untrusted::refused_in_txn(state, id, refusal), None),
            Self::Unfinished => {
                (RecoveryAction::Left, false, "it never came to its journal; it is swept away".to_owned(), None)
            }
            Self::Corrupt(why) => {
                (RecoveryAction::Left, true, format!("{why}; look at it, then `txedit recover {id} --discard`"), None)
            }
            Self::NotOurs(beginning, doubt) => {
                (RecoveryAction::Left, false, doubt.told(id, &beginning), Some(*beginning))
            }
        };
        let paths = beginning.iter().flat_map(|beginning| &beginning.entries);
        let files = paths.map(|record| (record.path.as_path().to_owned(), record.change.kind().to_owned())).collect();
        Recovered { id: id.to_owned(), action, required, reason, files, kept: Vec::new() }
    }
}

fn actionable(standing: Standing) -> std::result::Result<(Journal, Mark), Left> {
    match standing {
        Standing::Hot(journal, mark) => Ok((journal, mark)),
        Standing::NotOurs(beginning, doubt) => Err(Left::NotOurs(Box::new(beginning), doubt)),
        Standing::Running => Err(Left::Running),
        Standing::Refused(refusal) => Err(Left::Refused(refusal)),
        Standing::Unfinished => Err(Left::Unfinished),
        Standing::Corrupt(why) => Err(Left::Corrupt(why)),
    }
}

/// Whether a person said what is to be done in spite of a doubt.
fn dismisses(options: RecoverOptions, doubt: interrupted::Doubt) -> bool {
    match doubt {
        // A folder that is only put aside is not acted on.
        _ if options.decision == Wish::Discard => true,
        interrupted::Doubt::Copied => options.trust_journal,
        interrupted::Doubt::OtherHost => options.other_host,
    }
}

/// What is to be done, from the classes and what a person wishes.
fn choose(transaction: &TransactionFolder<'_>, classes: &[Class], wish: Wish) -> Result<Decision> {
    let table = (transaction.workspace().protocol.decide)(transaction.mark, transaction.journal.back_on_crash, classes);
    match wish {
        Wish::Table | Wish::Discard => Ok(table),
        Wish::Back => Ok(Decision::Back),
        Wish::Forward if transaction.mark == Mark::Contended => {
            let message = "it was interrupted beside another program that was writing, and its new contents are not known \
                           to be whole; use --back or --discard";
            Err(Error::new(ErrorKind::RecoveryRequired, message))
        }
        Wish::Forward if transaction.mark.is_undo() => {
            let message = "its undo was begun, and what was taken back may have been built on; use --back or --discard";
            Err(Error::new(ErrorKind::RecoveryRequired, message))
        }
        Wish::Forward => Ok(Decision::Forward),
    }
}

fn plan_only(transaction: &TransactionFolder<'_>, wish: Wish, cancel: &CancelToken) -> Result<Recovered> {
    let classes = transaction.classes(cancel)?;
    let decision = choose(transaction, &classes, wish)?;
    if let Some(taken) = blocked::taken(transaction, decision, wish)? {
        return Ok(left_for(transaction, &classes, &taken));
    }
    let (action, required) = match (wish, decision) {
        (Wish::Discard, _) => (RecoveryAction::Discard, false),
        (_, Decision::Forward) => (RecoveryAction::Forward, false),
        (_, Decision::Back) => (RecoveryAction::Back, false),
        (_, Decision::Drop) => (RecoveryAction::Drop, false),
        (_, Decision::Wait) => (RecoveryAction::Wait, true),
    };
    let mut report = describe(transaction, &classes, action, required);
    if action == RecoveryAction::Forward {
        forward::tell(transaction, &classes, &mut report);
    }
    Ok(report)
}

fn act(transaction: &mut TransactionFolder<'_>, wish: Wish, run: Run<'_>) -> Result<Recovered> {
    for attempt in 0..TRIES {
        let classes = transaction.classes(run.cancel)?;
        if attempt == 0 {
            transaction.incomplete = transaction.incomplete(&classes)?;
        }
        let decision = choose(transaction, &classes, wish)?;
        if let Some(taken) = blocked::taken(transaction, decision, wish)? {
            return Ok(left_for(transaction, &classes, &taken));
        }
        if wish == Wish::Discard {
            transaction.move_to(Section::Kept)?;
            transaction.sync_everything()?;
            return Ok(describe(transaction, &classes, RecoveryAction::Discarded, false));
        }
        let mut report = match decision {
            Decision::Forward => {
                let ready: Vec<usize> = (0..classes.len()).filter(|&entry| classes[entry] == Class::Ready).collect();
                // What it was, not what it is by then.
                let mut report = describe(transaction, &classes, RecoveryAction::Committed, false);
                if forward::tell(transaction, &classes, &mut report) {
                    report.action = RecoveryAction::PartlyCommitted;
                }
                let Some(told) = finish::finish(transaction, &ready, wish == Wish::Forward)? else { continue };
                report.reason.extend(told.iter().map(|told| format!("; {told}")));
                report
            }
            Decision::Back => {
                let report = describe(transaction, &classes, RecoveryAction::RolledBack, false);
                let undone = walk::undo(transaction, true, run)?;
                rolled_back(transaction, undone, report)
            }
            Decision::Drop => {
                let report = describe(transaction, &classes, RecoveryAction::Dropped, false);
                Recovered { kept: drop_unswapped(transaction)?, ..report }
            }
            Decision::Wait => describe(transaction, &classes, RecoveryAction::Left, true),
        };
        if decision == Decision::Wait {
            let id = &transaction.journal.header.id;
            let _ = write!(report.reason, "; decide with `txedit recover {id} --forward | --back | --discard`");
        }
        return Ok(report);
    }
    Err(keeps_writing(&transaction.journal.header.id))
}

fn keeps_writing(id: &str) -> Error {
    let message = format!(
        "another program keeps writing the files: stop it and recover again; where none does, take it back (`txedit \
         recover {id} --back`), or put it aside and leave the files as they are (`--discard`)"
    );
    Error::new(ErrorKind::RecoveryRequired, message).of_transaction(id)
}

/// The report of one that has nowhere to go.
fn left_for(transaction: &TransactionFolder<'_>, classes: &[Class], taken: &Error) -> Recovered {
    let mut report = describe(transaction, classes, RecoveryAction::Left, true);
    let _ = write!(report.reason, "; {taken}");
    report
}

/// The report of a take-back: what it did not make old again is named.
fn rolled_back(transaction: &TransactionFolder<'_>, undone: Undone, mut report: Recovered) -> Recovered {
    report.kept = undone.kept;
    for odd in undone.odd.iter().filter(|odd| odd.on_top) {
        report.action = RecoveryAction::PartlyRolledBack;
        let path = &transaction.record(odd.entry).path;
        let _ = write!(report.reason, "; {path} is not as it was: {}", odd.reason);
    }
    report
}

fn drop_unswapped(transaction: &mut TransactionFolder<'_>) -> Result<Vec<crate::error::Kept>> {
    let mut kept = Vec::new();
    for step in (transaction.workspace().protocol.drop_unswapped)(transaction.mark) {
        match step {
            Step::Mark(mark) => transaction.set_mark(mark)?,
            Step::SyncFolder => transaction.sync_folder()?,
            Step::Drop => kept = walk::drop_folder(transaction, &HashMap::new(), true)?,
            _ => unreachable!("nothing was swapped"),
        }
    }
    Ok(kept)
}

fn describe(
    transaction: &TransactionFolder<'_>,
    classes: &[Class],
    action: RecoveryAction,
    required: bool,
) -> Recovered {
    let entries = transaction.journal.entries.iter().zip(classes);
    let files: Vec<_> =
        entries.map(|(record, class)| (record.path.as_path().to_owned(), class.as_str().to_owned())).collect();
    let count = |class| classes.iter().filter(|c| **c == class).count();
    let mut reason = format!(
        "it was {}: {} of {} swapped, {} not, {} changed by another program",
        mark_word(transaction.mark),
        count(Class::Done),
        classes.len(),
        count(Class::Ready),
        count(Class::OnTop) + count(Class::Before) + count(Class::Captured),
    );
    if count(Class::Torn) > 0 {
        let _ = write!(reason, ", {} whose new content never reached the disk whole", count(Class::Torn));
    }
    let id = transaction.journal.header.id.clone();
    Recovered { id, action, required, reason, files, kept: Vec::new() }
}

/// The mark that a recovery found, for messages.
const fn mark_word(mark: Mark) -> &'static str {
    match mark {
        Mark::Sealed => "interrupted",
        Mark::Contended => "interrupted beside another program that was writing",
        Mark::Check => "interrupted in its check",
        Mark::Done => "done, not yet in history",
        Mark::Undo | Mark::CheckUndo => "being taken back",
    }
}
