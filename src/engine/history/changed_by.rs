//! Who changed a file since it was read: which transactions, or another program.

use super::path_history::PathHistory;
use super::{HistoryEntry, Loaded, entries};
use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::engine::store::id;
use crate::engine::store::state::StateFolder;
use crate::engine::{Engine, Run};
use crate::error::{Changer, Detail, Error, ErrorKind, ForeignChange, Result};
use crate::index::EntryIndex;
use crate::journal::reverse::is_as_left;
use crate::limits;
use crate::path::RelPath;
use crate::plan::FileState;
use crate::request::Request;
use crate::text::diff;

/// The changes of a path back to a content.
struct Back {
    /// The content, as the oldest of the changes found it, or as `left` left it.
    state: Option<FileState>,
    /// Newest first, each with the entry of the path.
    changes: Vec<(Loaded, EntryIndex)>,
    /// The transaction that left the content, if no change of a transaction found it.
    left: Option<(Loaded, EntryIndex)>,
}

impl Engine {
    /// Adds to an error about a file with another content than the request expects who changed it, and how.
    pub(crate) fn with_foreign_change(&self, error: Error, request: &Request, run: Run<'_>) -> Error {
        if error.kind() != ErrorKind::HashMismatch || !matches!(error.details(), Detail::None) {
            return error;
        }
        let file = error.file().and_then(|index| request.files.get(index));
        let Some((file, expected)) = file.and_then(|file| Some((file, file.expected_hash?))) else { return error };
        let Ok(path) = self.rel_path(&file.path) else { return error };
        // Without it the error still holds.
        let Ok(Some(change)) = self.foreign_change(&path, expected, run) else { return error };
        let who = change.who();
        error.reworded(|message| format!("{message}; changed since by {who}")).detail(Detail::Changed(Box::new(change)))
    }

    /// What happened to the file at a path since it had a content; `None` if history does not know that content.
    pub(crate) fn foreign_change(
        &self,
        path: &RelPath,
        expected: Digest,
        run: Run<'_>,
    ) -> Result<Option<ForeignChange>> {
        let Some(state) = self.state()? else { return Ok(None) };
        let Some(back) = back_to(&state, path, expected)? else { return Ok(None) };
        let mut since = Since::new(back.state);
        for (loaded, entry) in back.changes.iter().rev() {
            let change = loaded.journal.entries[*entry].change;
            since.transaction(loaded.id(), change.before().copied(), change.after().copied());
        }
        since.others(self.state_at(path, run)?);
        let (ids, by_another_program) = since.blamed();
        let by = back.changes.iter().rev().filter(|(loaded, _)| ids.iter().any(|id| id == loaded.id()));
        let by = by.map(|(loaded, _)| changer(loaded)).collect();
        let content = self.content_before(&state, path, &back, run.cancel)?;
        let diff = match content.filter(|content| Digest::of(content) == expected) {
            Some(content) => {
                let current = self.current(path, run.cancel)?.unwrap_or_default();
                let name = path.as_path().display().to_string();
                Some(diff::unified(&content, &current, &name, &name, limits::DIFF_BYTES))
            }
            None => None,
        };
        Ok(Some(ForeignChange { by, by_another_program, diff }))
    }

    /// The content before the changes, if it is still known.
    fn content_before(
        &self,
        state: &StateFolder,
        path: &RelPath,
        back: &Back,
        cancel: &CancelToken,
    ) -> Result<Option<Vec<u8>>> {
        match (&back.left, back.changes.last(), &back.state) {
            (Some((loaded, entry)), _, Some(left)) => {
                let original = self.original(loaded, *entry, cancel)?.unwrap_or_default();
                PathHistory::new(self, state, loaded).left(path, &original, left.digest, cancel)
            }
            (None, Some((loaded, entry)), _) => self.original(loaded, *entry, cancel),
            _ => Ok(None),
        }
    }
}

/// The changes of a path back to the newest place in history with that content.
fn back_to(state: &StateFolder, path: &RelPath, expected: Digest) -> Result<Option<Back>> {
    let has = |state: Option<&FileState>| state.is_some_and(|state| state.digest == expected);
    let mut changes = Vec::new();
    for entry in entries(state)?.rev() {
        let HistoryEntry::Ours(loaded) = entry? else { continue };
        let Some(entry) = loaded.journal.entries.position(|record| record.path == *path) else { continue };
        let change = loaded.journal.entries[entry].change;
        if has(change.after()) {
            return Ok(Some(Back { state: change.after().copied(), changes, left: Some((loaded, entry)) }));
        }
        let is_oldest = has(change.before());
        changes.push((loaded, entry));
        if is_oldest {
            return Ok(Some(Back { state: change.before().copied(), changes, left: None }));
        }
    }
    Ok(None)
}

fn changer(loaded: &Loaded) -> Changer {
    let header = &loaded.journal.header;
    Changer { id: header.id.clone(), owner: header.owner.to_string(), time: id::time_of(&header.id) }
}

/// The changes of a file since a transaction left it: only the steps that led from there to its present state. A step
/// back to an earlier state, by whatever means, cancels those in between.
#[derive(Debug)]
pub(crate) struct Since {
    left: Option<FileState>,
    /// The transaction of each step, `None` for another program, and the state after it.
    steps: Vec<(Option<String>, Option<FileState>)>,
}

impl Since {
    pub(crate) const fn new(left: Option<FileState>) -> Self {
        Self { left, steps: Vec::new() }
    }

    pub(crate) fn transaction(&mut self, id: &str, before: Option<FileState>, after: Option<FileState>) {
        self.others(before);
        self.step(Some(id.to_owned()), after);
    }

    /// Adds a step of another program, if the file was found in a state that no transaction left.
    pub(crate) fn others(&mut self, found: Option<FileState>) {
        let last = self.steps.last().map_or(self.left.as_ref(), |(_, state)| state.as_ref());
        if !is_as_left(found.as_ref(), last) {
            self.step(None, found);
        }
    }

    fn step(&mut self, by: Option<String>, to: Option<FileState>) {
        if is_as_left(to.as_ref(), self.left.as_ref()) {
            self.steps.clear();
        } else if let Some(at) = self.steps.iter().position(|(_, state)| is_as_left(to.as_ref(), state.as_ref())) {
            self.steps.truncate(at + 1);
        } else {
            self.steps.push((by, to));
        }
    }

    /// Returns whether the file is as the transaction left it.
    pub(crate) const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The transactions, oldest first, and whether another program changed the file.
    pub(crate) fn blamed(self) -> (Vec<String>, bool) {
        // No transaction turned it into something that is not a regular file.
        let others = self.steps.is_empty() || self.steps.iter().any(|(by, _)| by.is_none());
        (self.steps.into_iter().filter_map(|(by, _)| by).collect(), others)
    }
}
