//! Ids of transactions as people type them: whole, by their beginning, or `@` for the newest.

use crate::engine::Engine;
use crate::engine::ids::IdScope;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::journal::is_id;
use crate::path::{listed, one_line};

use super::options::usage;

/// What stands for the newest committed transaction.
const NEWEST: &str = "@";

/// The fewest characters of an id.
const FEWEST: usize = 4;

/// The id that is meant. What is the beginning of none is returned as it is, for the command to refuse.
pub(super) fn meant(typed: &str, scope: IdScope, engine: &Engine) -> Result<String> {
    if typed == NEWEST {
        if scope.has_committed() {
            return newest(engine);
        }
        let message = "@ is the newest committed transaction, which is none that this command is about: give an id";
        return Err(usage("ID", message).with_next([NextStep::Status]));
    }
    if is_id(typed.as_ref()) {
        return Ok(typed.to_owned());
    }
    if typed.chars().count() < FEWEST {
        let typed = one_line(typed);
        let message = format!("{typed:?} is too short for an id: give {FEWEST} characters of it or more");
        return Err(Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::Log]));
    }
    let mut ids: Vec<String> = engine.ids_beginning_with(typed, scope)?.into_iter().collect();
    match (ids.pop(), ids.is_empty()) {
        (None, _) => Ok(typed.to_owned()),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            ids.push(last);
            ids.reverse();
            let message =
                format!("{typed} is the beginning of {} ids, give more of the one meant: {}", ids.len(), listed(&ids));
            Err(usage("ID", message))
        }
    }
}

/// The same for an id that may be left out.
pub(super) fn meant_if_any(typed: Option<&str>, scope: IdScope, engine: &Engine) -> Result<Option<String>> {
    typed.map(|typed| meant(typed, scope, engine)).transpose()
}

/// The id or time that is meant. The first part of an id is also a time, to the microsecond.
pub(super) fn meant_or_time(typed: &str, engine: &Engine) -> Result<String> {
    if typed.parse::<jiff::Timestamp>().is_err() {
        return meant(typed, IdScope::Committed, engine);
    }
    match engine.ids_beginning_with(typed, IdScope::Committed)?.first() {
        None => Ok(typed.to_owned()),
        Some(id) => {
            let message = format!(
                "{typed} is a time, and the beginning of {id}: give more of the id, or another form of the time"
            );
            Err(usage("--since", message))
        }
    }
}

/// The newest committed transaction.
pub(super) fn newest(engine: &Engine) -> Result<String> {
    let nothing =
        || Error::new(ErrorKind::UnknownTransaction, "nothing is committed here, so there is no newest transaction");
    engine.newest_committed()?.ok_or_else(nothing)
}
