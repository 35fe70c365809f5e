//! Undo of several transactions that are chosen by their number, session or campaign, as one transaction.

use std::collections::{HashMap, HashSet};

use super::since::{RevertWhat, ToRevert, committed_of, effective};
use crate::engine::history::group::Group;
use crate::engine::history::{self, HistoryEntry, untrusted, whole_history};
use crate::engine::report::Report;
use crate::engine::store::state::{StateFolder, StateLookup};
use crate::engine::{Engine, Run, UndoOptions};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::journal::Header;
use crate::limits;

impl Engine {
    /// Undoes the newest `count` transactions that are neither undone nor an undo themselves, as one transaction. All or
    /// nothing; an error if there are fewer. On failure the error's outcome tells the state of the files, as of
    /// [`undo`](Self::undo).
    pub fn undo_last(&self, count: usize, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        self.undo_chosen(options, run, |state| {
            let undone = history::reverted(state)?;
            let mut chosen = HashSet::new();
            for entry in whole_history(state)?.rev() {
                if chosen.len() == count {
                    break;
                }
                let Header { id, reverts, .. } = match entry? {
                    HistoryEntry::Ours(loaded) => loaded.journal.header,
                    HistoryEntry::Untrusted(untrusted) => return Err(untrusted.may_be_newest()),
                };
                if reverts.is_empty() && !undone.contains_key(&id) {
                    chosen.insert(id);
                }
            }
            if count == 0 || chosen.len() < count {
                let message = match count {
                    0 => "no transaction is to be undone: give the number of those that are".to_owned(),
                    _ => format!("{count} transactions are to be undone, and {} can be", chosen.len()),
                };
                return Err(Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::Log]));
            }
            untrusted::refuse_newer(state, chosen.iter().map(String::as_str).min(), &|_, _| true)?;
            Ok(chosen)
        })
    }

    /// Undoes everything that was committed in a session and has an effect, as one transaction; undos that were made in it
    /// are undone as well. All or nothing. On failure the error's outcome tells the state of the files, as of
    /// [`undo`](Self::undo).
    pub fn undo_session(&self, session: &str, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        self.undo_group(Group::Session(session), options, run)
    }

    /// The same for everything that was committed in a campaign.
    pub fn undo_campaign(&self, campaign: &str, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        self.undo_group(Group::Campaign(campaign), options, run)
    }

    fn undo_group(&self, group: Group<'_>, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        self.undo_chosen(options, run, |state| {
            untrusted::refuse_of(state, group)?;
            let mut of_group = HashMap::new();
            for loaded in history::history(state)?.rev() {
                let header = loaded?.journal.header;
                if group.has(&header) {
                    of_group.insert(header.id, header.reverts);
                }
            }
            let undone = history::reverted(state)?;
            let chosen = effective(&of_group, &undone);
            // What somebody else has undone stays undone.
            let chosen: HashSet<String> =
                chosen.into_iter().filter(|id| undone.get(id).is_none_or(|by| of_group.contains_key(by))).collect();
            if chosen.is_empty() {
                let message = match of_group.len() {
                    0 => format!("there is nothing of {group} in history"),
                    _ => format!("all that was committed in {group} is undone"),
                };
                return Err(Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::Log]));
            }
            Ok(chosen)
        })
    }

    /// Undoes the transactions that are chosen once, before the first attempt.
    fn undo_chosen(
        &self,
        options: &UndoOptions,
        run: Run<'_>,
        choose: impl FnOnce(&StateFolder) -> Result<HashSet<String>>,
    ) -> Result<Report> {
        let mut found = self.found()?;
        let warnings = self.recover_for(&found, None, &[&|_, _| true], options, run)?;
        let chosen = match found.trusted(&self.workspace)? {
            Some(state) => choose(state),
            None => Err(Error::new(ErrorKind::UnknownTransaction, "there is no transaction to undo")),
        };
        let chosen =
            chosen.and_then(|chosen| if chosen.len() > limits::UNDONE_TOGETHER { Err(too_many()) } else { Ok(chosen) });
        match chosen {
            Ok(chosen) => self.revert_with_retries(&mut found, RevertWhat::Chosen(&chosen), options, warnings, run),
            Err(error) => Err(error.warning_of(warnings)),
        }
    }

    /// The transactions that were chosen.
    pub(super) fn chosen(&self, found: &StateLookup, chosen: &HashSet<String>) -> Result<(StateFolder, ToRevert)> {
        let nothing = || Error::new(ErrorKind::UnknownTransaction, "there is no transaction to undo");
        let state = found.trusted(&self.workspace)?.ok_or_else(nothing)?;
        let oldest = chosen.iter().min().ok_or_else(nothing)?;
        // Ids have one length: all that are not older than the oldest sort behind its beginning.
        let before = &oldest[..oldest.len() - 1];
        let mut to_revert = committed_of(state, before, &|id, _| chosen.contains(id), Some(chosen))?;
        // Nobody asks for what is undone, and for what undid it.
        let undone = history::reverted(state)?;
        to_revert.left.retain(|id| !undone.contains_key(id) && !undone.values().any(|by| by == id));
        if to_revert.parts.len() < chosen.len() {
            let message = "some of the transactions that were to be undone were undone, or pruned, meanwhile";
            return Err(Error::new(ErrorKind::UndoConflict, message).with_next([NextStep::Log]));
        }
        Ok((state.clone(), to_revert))
    }
}

fn too_many() -> Error {
    let most = limits::UNDONE_TOGETHER;
    let message =
        format!("more than {most} transactions are to be undone, and no more are undone together: choose fewer");
    Error::new(ErrorKind::RequestTooLarge, message).with_next([NextStep::Log])
}
