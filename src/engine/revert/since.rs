//! Undo of everything that was committed after a transaction, as one transaction.

use std::collections::{HashMap, HashSet};

use crate::engine::history::untrusted::{self, Wanting};
use crate::engine::history::{self, HistoryEntry, Loaded, late_writes, whole_history};
use crate::engine::report::Report;
use crate::engine::store::id;
use crate::engine::store::state::{Section, StateFolder, StateLookup};
use crate::engine::store::workspace::Workspace;
use crate::engine::{Engine, Run, UndoOptions};
use crate::error::{Correction, Error, ErrorKind, NextStep, Result};
use crate::journal::Header;
use crate::limits;

/// What a revert undoes.
#[derive(Clone, Copy)]
pub(super) enum RevertWhat<'a> {
    /// This transaction.
    One(&'a str),
    /// Those after this transaction that are wanted, by their id and the program that committed them.
    Since(&'a str, &'a Wanting<'a>),
    /// These.
    Chosen(&'a HashSet<String>),
}

/// The transactions that a revert undoes.
pub(super) struct ToRevert {
    /// Newest first; at least one.
    pub(super) parts: Vec<Loaded>,
    /// Others of the same time, newest first, which were not asked for.
    pub(super) left: Vec<String>,
}

impl ToRevert {
    /// What the caller is told about those that are left, and about folders that come back without what was written into
    /// them since.
    pub(super) fn warnings(&self, workspace: &Workspace) -> Result<Vec<String>> {
        let count = self.left.len();
        let told = |newest: &String| {
            format!("{count} committed by others meanwhile, the newest of them {newest}, were left as they are")
        };
        let mut warnings: Vec<String> = self.left.first().map(told).into_iter().collect();
        for part in &self.parts {
            warnings.extend(late_writes::written_folders(workspace, part)?);
        }
        Ok(warnings)
    }
}

impl Engine {
    /// Restores what was right after the transaction `id`, or at the time that it is (RFC 3339): reverts everything that was committed after it and is wanted,
    /// by its id and the program that committed it, as one transaction. `id` itself is not reverted. All or nothing: if
    /// one cannot be reverted, none is. Undos that were made since are reverted as well, so that what they undid is
    /// there again, as it was then. On failure the error's outcome tells the state of the files, as of
    /// [`undo`](Self::undo).
    ///
    /// ```
    /// use txedit::{Edit, Engine, Request, Run, UndoOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # std::fs::write(root.join("a.txt"), "one\n")?;
    /// let engine = Engine::open(root)?;
    /// let edit = |from, to| engine.apply(&Request::new().edit("a.txt", Edit::replace(from, to)), Run::default());
    /// let first = edit("one", "two")?.transaction.unwrap();
    /// edit("two", "three")?;
    /// edit("three", "four")?;
    ///
    /// let report = engine.undo_since(&first, &|_, _| true, &UndoOptions::default(), Run::default())?;
    /// assert_eq!(report.reverts.len(), 2);
    /// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "two\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn undo_since(&self, id: &str, is_wanted: &Wanting<'_>, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        let mut found = self.found()?;
        let warnings = self.recover_for(&found, Some(id), &[], options, run)?;
        self.revert_with_retries(&mut found, RevertWhat::Since(id, is_wanted), options, warnings, run)
    }

    /// The transactions to be reverted.
    pub(super) fn to_revert(&self, found: &StateLookup, what: RevertWhat<'_>) -> Result<(StateFolder, ToRevert)> {
        let (state, to_revert) = match what {
            RevertWhat::One(id) => {
                let (state, loaded) = self.committed(found, id).map_err(|error| self.or_open(error, found, id))?;
                if let Some(by) = history::reverted(&state)?.get(loaded.id()) {
                    let message = format!("{} is undone already, by {by}", loaded.id());
                    let redo = NextStep::Redo { id: loaded.id().to_owned(), undo: by.clone() };
                    return Err(Error::new(ErrorKind::UndoConflict, message).with_next([redo]));
                }
                (state, ToRevert { parts: vec![loaded], left: Vec::new() })
            }
            RevertWhat::Since(since, is_wanted) => {
                let (state, bound) = self.bound(found, since)?;
                let to_revert = committed_since(&state, &bound, is_wanted);
                let in_own_words = |error: Error| error.reworded(|why| why.replace(&bound, since));
                (state, to_revert.map_err(in_own_words)?)
            }
            RevertWhat::Chosen(chosen) => self.chosen(found, chosen)?,
        };
        for part in &to_revert.parts {
            // First: files on a file system that is not mounted are away, not changed or gone.
            part.slots(&self.workspace)?;
        }
        Ok((state, to_revert))
    }

    /// What sorts before all ids after a transaction, or after a time.
    fn bound(&self, found: &StateLookup, since: &str) -> Result<(StateFolder, String)> {
        let Ok(time) = since.parse::<jiff::Timestamp>() else {
            let (state, since) = self.committed(found, since)?;
            return Ok((state, since.id().to_owned()));
        };
        let nothing = || Error::new(ErrorKind::UnknownTransaction, format!("nothing was committed after {since}"));
        let state = found.trusted(&self.workspace)?.ok_or_else(nothing)?;
        Ok((state.clone(), id::time_part(time)))
    }

    /// The error, unless the transaction is open: then it has changed nothing that could be undone.
    fn or_open(&self, error: Error, found: &StateLookup, id: &str) -> Error {
        let is_open = || -> Result<bool> {
            let Some(state) = found.trusted(&self.workspace)? else { return Ok(false) };
            let Some(section) = state.section(Section::Open)? else { return Ok(false) };
            Ok(self.workspace.list(&section)?.iter().any(|name| name.to_str() == Some(id)))
        };
        if error.kind() != ErrorKind::UnknownTransaction || !is_open().unwrap_or(false) {
            return error;
        }
        let message = format!("transaction {id} is not committed, so there is nothing to undo");
        Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::RollBack { id: id.to_owned() }])
    }
}

/// The wanted transactions after one that have an effect: of one that was undone, and its undo, neither has. So whoever
/// undoes in steps, since no more than a limited number are undone together, gets on.
fn effective_since(state: &StateFolder, since: &str, is_wanted: &Wanting<'_>) -> Result<HashSet<String>> {
    let mut wanted: HashMap<String, Vec<String>> = HashMap::new();
    for loaded in history::history(state)?.rev() {
        let Header { id, reverts, owner, .. } = loaded?.journal.header;
        if id.as_str() <= since {
            break;
        }
        if is_wanted(&id, &owner.program) {
            wanted.insert(id, reverts);
        }
    }
    Ok(effective(&wanted, &history::reverted(state)?))
}

/// Those of the transactions, with what each reverts, that have an effect beside each other.
pub(super) fn effective(wanted: &HashMap<String, Vec<String>>, undone: &HashMap<String, String>) -> HashSet<String> {
    // An undo that reverts something else as well has an effect.
    let cancels =
        |undo: &String| wanted.get(undo).is_some_and(|reverts| reverts.iter().all(|id| wanted.contains_key(id)));
    let is_cancelled = |id: &String| undone.get(id).is_some_and(&cancels);
    let undoing: HashSet<&String> = undone.values().filter(|undo| cancels(undo)).collect();
    wanted.keys().filter(|id| !is_cancelled(id) && !undoing.contains(id)).cloned().collect()
}

/// The wanted transactions after one.
fn committed_since(state: &StateFolder, since: &str, is_wanted: &Wanting<'_>) -> Result<ToRevert> {
    committed_of(state, since, is_wanted, None)
}

/// The same, or only those of them with these ids.
pub(super) fn committed_of(
    state: &StateFolder,
    since: &str,
    is_wanted: &Wanting<'_>,
    wanted: Option<&HashSet<String>>,
) -> Result<ToRevert> {
    let (mut parts, mut left): (Vec<Loaded>, Vec<String>) = Default::default();
    for entry in whole_history(state)?.rev() {
        match entry? {
            HistoryEntry::Ours(loaded) if loaded.id() <= since => break,
            HistoryEntry::Untrusted(untrusted) if untrusted.id.as_str() <= since => break,
            HistoryEntry::Ours(loaded) if is_wanted(loaded.id(), &loaded.journal.header.owner.program) => {
                if wanted.as_ref().is_some_and(|wanted| !wanted.contains(loaded.id())) {
                    continue;
                }
                if parts.len() == limits::UNDONE_TOGETHER {
                    if wanted.is_some() {
                        return Err(too_many(loaded.id(), since));
                    }
                    let effective = effective_since(state, since, is_wanted)?;
                    return committed_of(state, since, is_wanted, Some(&effective));
                }
                parts.push(loaded);
            }
            HistoryEntry::Ours(other) => left.push(other.id().to_owned()),
            HistoryEntry::Untrusted(untrusted) if untrusted::is_wanted(&untrusted, is_wanted) => {
                return Err(untrusted.may_be_newest());
            }
            HistoryEntry::Untrusted(_) => {}
        }
    }
    untrusted::refuse_newer(state, Some(since), is_wanted)?;
    // What somebody else's undo has undone stays undone, and so does that undo.
    let undone = history::reverted(state)?;
    let ids: Vec<String> = parts.iter().map(|part| part.id().to_owned()).collect();
    parts.retain(|part| undone.get(part.id()).is_none_or(|by| ids.contains(by)));
    if parts.is_empty() {
        let (message, step) = match &left[..] {
            [] if wanted.is_some() => (format!("all that was committed after {since} is undone"), NextStep::Log),
            [] => (format!("nothing was committed after {since}"), NextStep::Log),
            left => {
                let others = format!("{} transactions of others are", left.len());
                let message = format!("nothing of this caller's own after {since} is left to be undone; {others}");
                (message, NextStep::Correct(Correction::AllCallers))
            }
        };
        return Err(Error::new(ErrorKind::UnknownTransaction, message).with_next([step]));
    }
    Ok(ToRevert { parts, left })
}

fn too_many(until: &str, since: &str) -> Error {
    let most = limits::UNDONE_TOGETHER;
    let message = format!(
        "more than {most} transactions were committed after {since}, and no more are undone together: undo what was \
         committed after {until}, and then what was committed after {since}"
    );
    Error::new(ErrorKind::RequestTooLarge, message).of_transaction(since)
}
