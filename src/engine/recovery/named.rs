//! Recovers the transaction that a person names, or puts it aside on that person's word.

use std::fmt::Write as _;

use super::all::unswapped;
use super::recover_one;
use crate::engine::history::trash::{self, Goes};
use crate::engine::history::untrusted::Doubtful;
use crate::engine::report::{Recovered, RecoveryAction};
use crate::engine::store::barrier;
use crate::engine::store::interrupted::{self, Standing};
use crate::engine::store::lock::Patience;
use crate::engine::store::state::{Section, State, list_ids, open_transaction};
use crate::engine::{Decision as Wish, RecoverOptions, Run, history};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Handle;

/// Nothing is interrupted by that name.
pub(crate) fn unknown(id: &str) -> Error {
    let message = format!("there is no interrupted transaction {id}; `txedit status` lists them");
    Error::new(ErrorKind::UnknownTransaction, message)
}

/// Recovers the one that a person named.
pub(crate) fn recover_named(
    state: &State,
    id: &str,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<Vec<Recovered>> {
    let known = match state.section(Section::Transactions)? {
        Some(section) => list_ids(&state.workspace, &section)?.iter().any(|known| known == id),
        None => false,
    };
    if !known {
        return unreadable_in_history(state, id, options)?.map(|one| vec![one]).ok_or_else(|| unknown(id));
    }
    let mut recovered = discard_unreadable(state, id, options)
        .transpose()
        .unwrap_or_else(|| recover_one(state, id, options, patience, run))?;
    let unswapped = unswapped(std::slice::from_ref(&recovered));
    let empty = || trash::sync_and_empty(state, Goes::Unswapped(&unswapped));
    if let Some(Err(error)) = (!options.plan_only).then(empty) {
        // What was recovered is so, and durable; a later command empties the trash.
        let _ = write!(recovered.reason, "; but the trash could not be emptied: {error}");
    }
    Ok(vec![recovered])
}

/// A folder whose journal does not verify can only be put aside, and only on a person's word.
fn discard_unreadable(state: &State, id: &str, options: RecoverOptions) -> Result<Option<Recovered>> {
    let (Standing::Corrupt(why), Some(folder)) = interrupted::examine(state, id, &|_| true)? else {
        return Ok(None);
    };
    if options.decision != Wish::Discard {
        return Ok(None);
    }
    put_aside(state, id, (Section::Transactions, Some(&folder)), why, options).map(Some)
}

/// The same for what stands in history under an id and cannot be read; `None` where nothing does, or a transaction that
/// can be undone.
fn unreadable_in_history(state: &State, id: &str, options: RecoverOptions) -> Result<Option<Recovered>> {
    let Some(history::Entry::Doubtful(doubtful)) = history::look(state, id)? else { return Ok(None) };
    if options.decision != Wish::Discard {
        return Ok(Some(left_in_history(&doubtful)));
    }
    let why = format!("it is in history, and {}", doubtful.why);
    let folder = match state.section(Section::History)? {
        Some(section) => open_transaction(&state.workspace, &section, id)?,
        None => None,
    };
    put_aside(state, id, (Section::History, folder.as_ref()), why, options).map(Some)
}

/// What is told of one in history that a person must put aside.
pub(crate) fn left_in_history(doubtful: &Doubtful) -> Recovered {
    let reason = format!("it is in history, and {}; look at it, then {}", doubtful.why, doubtful.way_out());
    let (id, action, files, kept) = (doubtful.id.clone(), RecoveryAction::Left, Vec::new(), Vec::new());
    Recovered { id, action, required: true, reason, files, kept }
}

/// Moves what cannot be acted on out of its section to `kept/`; its folder may be none that can be opened.
fn put_aside(
    state: &State,
    id: &str,
    (section, folder): (Section, Option<&Handle>),
    reason: String,
    options: RecoverOptions,
) -> Result<Recovered> {
    if !options.plan_only {
        state.move_transaction(id, section, Section::Kept)?;
        barrier::pass(state, &state.workspace.root, |each| {
            folder.map_or(Ok(()), |folder| each.with_content(folder))?;
            each.sections(state)
        })?;
    }
    let action = if options.plan_only { RecoveryAction::Discard } else { RecoveryAction::Discarded };
    let (files, kept) = (Vec::new(), Vec::new());
    Ok(Recovered { id: id.to_owned(), action, required: false, reason, files, kept })
}
