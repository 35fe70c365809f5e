//! Reverts files that changed since: takes out the transaction's changes where no other program changed the same lines.

use std::collections::HashMap;
use std::path::Path;

use crate::digest::Digest;
use crate::engine::history::path_history::PathHistory;
use crate::engine::store::folder::see;
use crate::engine::store::lock::check_cancelled;
use crate::engine::{Engine, Run};
use crate::error::{Conflict, Detail, Error, Result};
use crate::fs::Name;
use crate::index::EntryIndex;
use crate::journal::RecordedChange;
use crate::journal::recover::Seen;
use crate::journal::reverse::{Carried, is_as_left};
use crate::limits;
use crate::path::RelPath;
use crate::plan::FileState;
use crate::text::diff;
use crate::text::rebase::rebase;
use crate::text::splice::{Splice, Splices};

impl Engine {
    /// The reverted content of a file that is no longer as the transaction left it; `None` if it cannot be had, or the
    /// file is unchanged.
    pub(crate) fn carry_back(
        &self,
        past: &PathHistory<'_>,
        entry: EntryIndex,
        found: FileState,
        run: Run<'_>,
    ) -> Result<Option<Carried>> {
        let loaded = past.loaded;
        let record = &loaded.journal.entries[entry];
        let RecordedChange::Edit { before, after, .. } = record.change else { return Ok(None) };
        if found.digest == after.digest {
            return Ok(None);
        }
        let original = self.original(loaded, entry, run.cancel)?;
        let (Some(original), Some(current)) = (original, self.current(&record.path, run.cancel)?) else {
            return Ok(None);
        };
        let Some(left) = past.left(&record.path, &original, after.digest, run.cancel)? else {
            return Ok(None);
        };
        if Digest::of(&original) != before.digest || Digest::of(&current) != found.digest {
            return Ok(None);
        }
        let Some(splices) = back(&left, &original).and_then(|back| rebase(&left, &current, &back)) else {
            return Ok(None);
        };
        let new = splices.apply(&current);
        let mode = if found.mode == after.mode { before.mode } else { found.mode };
        let name = record.path.as_path().display().to_string();
        Ok(Some(Carried {
            state: FileState { digest: Digest::of(&new), size: new.len() as u64, mode, access: found.access },
            foreign_diff: diff::unified(&left, &current, &name, &name, limits::DIFF_BYTES),
            splices,
        }))
    }

    /// Adds to a conflict what changed the files since.
    pub(crate) fn explain_conflicts(&self, error: Error, past: &PathHistory<'_>, run: Run<'_>) -> Error {
        let Detail::Conflicts(conflicts) = error.details() else { return error };
        let entries = past.loaded.journal.entries.numbered();
        let entries: HashMap<&Path, EntryIndex> =
            entries.map(|(entry, record)| (record.path.as_path(), entry)).collect();
        let conflicts = conflicts.iter().map(|conflict| match entries.get(&*conflict.path) {
            Some(entry) => self.explained(past, *entry, run),
            None => Ok(Conflict { path: conflict.path.clone(), ..Conflict::default() }),
        });
        // Without the explanation the error still holds.
        match conflicts.collect::<Result<Vec<_>>>() {
            Ok(conflicts) => error.detail(Detail::Conflicts(conflicts)),
            Err(_) => error,
        }
    }

    /// The state of the file at a path of the workspace; `None` unless it is a regular file.
    fn state_at(&self, path: &RelPath, run: Run<'_>) -> Result<Option<FileState>> {
        let Ok(folder) = self.workspace.fs().open_beneath(&self.workspace.root, path.parent()) else { return Ok(None) };
        let name = Name::new(&folder, path.name());
        let stat = self.workspace.stat(name)?;
        Ok(match (see(&self.workspace, name, run.cancel)?, stat) {
            (Seen::File { digest, mode, access, .. }, Some(stat)) => {
                Some(FileState { digest, size: stat.size, mode, access: Some(access) })
            }
            _ => None,
        })
    }

    fn explained(&self, past: &PathHistory<'_>, entry: EntryIndex, run: Run<'_>) -> Result<Conflict> {
        check_cancelled(run.cancel)?;
        let loaded = past.loaded;
        let record = &loaded.journal.entries[entry];
        let path = &record.path;
        let mut conflict = Conflict { path: path.as_path().to_owned(), ..Conflict::default() };
        let mut since = Since::new(record.change.after().copied());
        for change in past.changes(path)?.iter().filter(|change| &*change.id > loaded.id()) {
            since.transaction(&change.id, change.before, change.after);
        }
        since.others(self.state_at(path, run)?);
        (conflict.changed_by, conflict.by_another_program) = since.blamed();
        let original = self.original(loaded, entry, run.cancel)?.unwrap_or_default();
        let left = match record.change.after() {
            Some(after) => past.left(path, &original, after.digest, run.cancel)?,
            None => Some(Vec::new()),
        };
        if let Some(left) = left {
            let current = self.current(path, run.cancel)?.unwrap_or_default();
            let name = path.as_path().display().to_string();
            conflict.diff = Some(diff::unified(&left, &current, &name, &name, limits::DIFF_BYTES));
        }
        Ok(conflict)
    }
}

/// The changes of a file since a transaction left it: only the steps that led from there to its present state. A step
/// back to an earlier state, by whatever means, cancels those in between.
#[derive(Debug)]
struct Since {
    left: Option<FileState>,
    /// The transaction of each step, `None` for another program, and the state after it.
    steps: Vec<(Option<String>, Option<FileState>)>,
}

impl Since {
    const fn new(left: Option<FileState>) -> Self {
        Self { left, steps: Vec::new() }
    }

    fn transaction(&mut self, id: &str, before: Option<FileState>, after: Option<FileState>) {
        self.others(before);
        self.step(Some(id.to_owned()), after);
    }

    /// Adds a step of another program, if the file was found in a state that no transaction left.
    fn others(&mut self, found: Option<FileState>) {
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

    /// The transactions, oldest first, and whether another program changed the file.
    fn blamed(self) -> (Vec<String>, bool) {
        // No transaction turned it into something that is not a regular file.
        let others = self.steps.is_empty() || self.steps.iter().any(|(by, _)| by.is_none());
        (self.steps.into_iter().filter_map(|(by, _)| by).collect(), others)
    }
}

/// The splices that turn `left` into `original` again.
fn back(left: &[u8], original: &[u8]) -> Option<Splices> {
    let changed = diff::changed(left, original)?;
    let splices = changed.into_iter().map(|(range, with)| Splice { range, with: original[with].to_vec() });
    Splices::new(left, splices.collect()).ok()
}
