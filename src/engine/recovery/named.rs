//! Recovers the transaction that a person names, or discards it at that person's word.

use super::all::unswapped;
use super::describe::{Left, describe, not_observed, of_damaged, place, unobserved};
use super::{Planned, recover_one, targets};
use crate::cancel::NEVER;
use crate::engine::history::trash::{self, Goes};
use crate::engine::history::untrusted::UntrustedTransaction;
use crate::engine::report::{Recovered, RecoveryAction, RecoveryReason};
use crate::engine::store::barrier;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::interrupted;
use crate::engine::store::lock::Patience;
use crate::engine::store::parts::SlotFolders;
use crate::engine::store::state::{Section, StateFolder, open_transaction};
use crate::engine::{Decision as Wish, RecoverOptions, Run, history};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{Handle, Name};
use crate::journal::{Journal, JournalState};
use crate::path::shown;

/// A journal that verifies, and its state.
type Hot = (Journal, JournalState);

/// The error if no interrupted transaction has that id.
pub(crate) fn unknown(id: &str) -> Error {
    let message = format!("there is no interrupted transaction {id}");
    Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::Status])
}

/// Recovers the transaction that a person named, in the one of several state folders that has it.
pub(crate) fn recover_in(
    states: &[StateFolder],
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    planned: Planned<'_>,
) -> Result<Vec<Recovered>> {
    for state in states {
        let has = |section| Ok::<_, Error>(state.ids(section)?.iter().any(|known| known == id));
        if has(Section::Transactions)? || has(Section::History)? {
            if !options.plan_only {
                check_writable(state)?;
            }
            return recover_named(state, id, options, patience, Run::default(), planned);
        }
    }
    Err(unknown(id))
}

/// Refuses to recover what is in a state folder that cannot be written, as a git folder in a sandbox, where there is
/// something to recover.
pub(crate) fn check_writable(state: &StateFolder) -> Result<()> {
    if state.is_writable()? {
        return Ok(());
    }
    let ids = state.ids(Section::Transactions)?;
    let Some(id) = ids.first() else { return Ok(()) };
    let message = format!("an interrupted transaction, {id}, cannot be recovered here: {}", cannot_write(state));
    Err(Error::new(ErrorKind::RecoveryRequired, message).of_transaction(id))
}

/// Why what is in a state folder cannot be recovered.
pub(crate) fn cannot_write(state: &StateFolder) -> String {
    format!(
        "it lies in {}, which this process cannot write; recover it outside of the sandbox",
        shown(&state.home.path())
    )
}

/// Recovers the transaction that a person named.
fn recover_named(
    state: &StateFolder,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
    planned: Planned<'_>,
) -> Result<Vec<Recovered>> {
    if !state.ids(Section::Transactions)?.iter().any(|known| known == id) {
        return unreadable_in_history(state, id, options, planned)?.map(|one| vec![one]).ok_or_else(|| unknown(id));
    }
    let mut recovered = match options.decision {
        Wish::Discard => discard_interrupted(state, id, options, patience, planned)?,
        _ => recover_one(state, id, options, patience, run, planned)?,
    };
    if matches!(recovered.why, RecoveryReason::Damaged { .. }) && recovered.action == RecoveryAction::Left {
        // Only for the person who asks: it is read for nothing else.
        recovered.files = of_damaged(state, id)?;
    }
    let unswapped = unswapped(std::slice::from_ref(&recovered));
    let empty = || trash::sync_and_empty(state, Goes::Unswapped(&unswapped));
    if let Some(Err(error)) = (!options.plan_only).then(empty) {
        // The recovery itself is done and durable; a later command empties the trash.
        recovered.remarks.push(format!("but the trash could not be emptied: {}", error.message()));
    }
    Ok(vec![recovered])
}

/// Discards a folder in `txn/`, whatever its journal says. Its files stay as they are, and need not be readable.
fn discard_interrupted(
    state: &StateFolder,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    planned: Planned<'_>,
) -> Result<Recovered> {
    let (status, folder) = interrupted::examine_to_recover(state, id, &|_| true, patience)?;
    let plan = match (Left::of(status), &folder) {
        (Ok((journal, journal_state)), Some(folder)) => plan_discard(state, id, folder, (journal, journal_state)),
        (Err(Left::Damaged(problem)), Some(_)) => Recovered {
            files: of_damaged(state, id)?,
            ..Recovered::new(id, RecoveryAction::Discard, RecoveryReason::Damaged { problem })
        },
        (left, _) => {
            let report = left.err().unwrap_or(Left::Running).into_report(state, id)?;
            planned(&report);
            return Ok(report);
        }
    };
    discard(state, plan, (Section::Transactions, folder.as_ref()), options, planned)
}

/// The plan to discard a transaction: how its files are left, as far as they can be read.
fn plan_discard(state: &StateFolder, id: &str, folder: &Handle, (mut journal, journal_state): Hot) -> Recovered {
    // The folder may hold the journal of another transaction.
    id.clone_into(&mut journal.header.id);
    let files = unobserved(&journal.entries);
    let observed = SlotFolders::open(&state.workspace, folder, &journal.header).and_then(|slots| {
        let parents = targets::found_parents(targets::TransactionPlace { state, id, parts: &slots.parts }, &journal)?;
        let transaction = TransactionFolder::new(state, slots, journal, journal_state, parents);
        let classes = transaction.classes(&NEVER)?;
        Ok(describe(&transaction, &classes, RecoveryAction::Discard))
    });
    observed.unwrap_or_else(|error| Recovered { files, ..not_observed(id, RecoveryAction::Discard, &error) })
}

/// Discards a folder in history that cannot be read; `None` if there is none of that id, or it is a transaction that
/// can be undone.
fn unreadable_in_history(
    state: &StateFolder,
    id: &str,
    options: RecoverOptions,
    planned: Planned<'_>,
) -> Result<Option<Recovered>> {
    let Some(history::HistoryEntry::Untrusted(untrusted)) = history::look(state, id)? else { return Ok(None) };
    if options.decision != Wish::Discard {
        let left = left_in_history(&untrusted);
        planned(&left);
        return Ok(Some(left));
    }
    let why = RecoveryReason::DamagedInHistory { problem: untrusted.why };
    let plan = Recovered::new(id, RecoveryAction::Discard, why);
    let folder = match state.section(Section::History)? {
        Some(section) => open_transaction(&state.workspace, &section, id)?,
        None => None,
    };
    discard(state, plan, (Section::History, folder.as_ref()), options, planned).map(Some)
}

/// The report of a transaction in history that a person must discard.
pub(crate) fn left_in_history(untrusted: &UntrustedTransaction) -> Recovered {
    let why = RecoveryReason::DamagedInHistory { problem: untrusted.why.clone() };
    let remarks = untrusted.remedy().into_iter().collect();
    let left = Recovered::new(&untrusted.id, RecoveryAction::Left, why);
    Recovered { required: true, remarks, next_steps: untrusted.next_steps(), ..left }
}

/// Moves a folder that cannot be used from its section to `kept/`; it need not be possible to open it.
fn discard(
    state: &StateFolder,
    plan: Recovered,
    (section, folder): (Section, Option<&Handle>),
    options: RecoverOptions,
    planned: Planned<'_>,
) -> Result<Recovered> {
    if let Some(kept) = state.section(Section::Kept)? {
        let name = Name::new(&kept, &plan.id);
        if state.workspace.stat(name)?.is_some() {
            return Err(Section::Kept.is_taken(&plan.id, name.path()));
        }
    }
    if options.plan_only {
        return Ok(plan);
    }
    planned(&plan);
    state.move_transaction(&plan.id, section, Section::Kept)?;
    barrier::pass(state, &state.workspace.root, |each| {
        folder.map_or(Ok(()), |folder| each.with_content(folder))?;
        each.sections(state)
    })?;
    let mut remarks = plan.remarks;
    remarks.push(place(state, Section::Kept, &plan.id));
    Ok(Recovered { action: RecoveryAction::Discarded, remarks, ..plan })
}
