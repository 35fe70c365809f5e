//! What keeps a revert from a file: who changed it since, and how.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::read::PresentFiles;
use super::reversal::{Reversal, RevertStep};
use super::walk_back::is_of_lines;
use crate::engine::history::changed_by::Since;
use crate::engine::history::path_history::PathHistory;
use crate::engine::store::folder::see;
use crate::engine::store::lock::check_cancelled;
use crate::engine::{Engine, Run};
use crate::error::{Conflict, Correction, Detail, Error, NextStep, Result};
use crate::fs::Name;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::RecordedChange;
use crate::journal::recover::Seen;
use crate::journal::reverse::is_as_left;
use crate::limits;
use crate::path::RelPath;
use crate::plan::FileState;
use crate::text::diff;

/// Adds to a conflict what can be done about it: to keep what changed in other lines, unless that was asked for already or
/// there are none; else to undo first what changed the files since.
pub(super) fn advised(error: Error, rebase: bool, reversal: &Reversal<'_>, present: &PresentFiles) -> Error {
    let Detail::Conflicts(conflicts) = error.details() else { return error };
    let edited: HashSet<&Path> = edited_files(reversal, present).collect();
    let has_other_lines = |conflict: &Conflict| {
        edited.contains(&*conflict.path) && conflict.diff.as_ref().is_some_and(|diff| !diff.is_empty())
    };
    if !rebase && conflicts.iter().all(has_other_lines) {
        return error.with_next([NextStep::Correct(Correction::Rebase)]);
    }
    // Undoing it does not help where another program has changed the file besides.
    let is_known = !conflicts.iter().any(|conflict| conflict.by_another_program);
    let newest = conflicts.iter().filter_map(|conflict| conflict.changed_by.last()).max().filter(|_| is_known);
    let first = newest.map(|id| NextStep::UndoFirst { id: id.clone() });
    error.with_next(first.into_iter().chain([NextStep::Correct(Correction::ByHand)]))
}

/// The files that were edited, are there, and have other lines by which they can be told apart.
fn edited_files<'r>(reversal: &'r Reversal<'_>, present: &'r PresentFiles) -> impl Iterator<Item = &'r Path> {
    let edited = reversal.entries.numbered().filter(move |(entry, record)| {
        let states = (record.change.before(), record.change.after(), present.targets[*entry].state.as_ref());
        matches!(record.change, RecordedChange::Edit { .. } | RecordedChange::Overwrite { .. })
            && matches!(states, (Some(before), Some(after), Some(found)) if is_of_lines([before, after, found]))
    });
    edited.map(|(_, record)| record.path.as_path())
}

impl Engine {
    /// Adds to a conflict what changed the files since.
    pub(super) fn explain_conflicts(
        &self,
        error: Error,
        reversal: &Reversal<'_>,
        pasts: &[PathHistory<'_>],
        stuck: &IndexVec<EntryIndex, Option<usize>>,
        run: Run<'_>,
    ) -> Error {
        let Detail::Conflicts(conflicts) = error.details() else { return error };
        let entries = reversal.entries.numbered();
        let entries: HashMap<&Path, EntryIndex> =
            entries.map(|(entry, record)| (record.path.as_path(), entry)).collect();
        let conflicts = conflicts.iter().map(|conflict| match entries.get(&*conflict.path) {
            Some(entry) => self.explained_conflict(reversal, pasts, *entry, stuck[*entry].unwrap_or_default(), run),
            None => Ok(Conflict { path: conflict.path.clone(), ..Conflict::default() }),
        });
        // Without the explanation the error still holds.
        match conflicts.collect::<Result<Vec<_>>>() {
            Ok(conflicts) => error.detail(Detail::Conflicts(conflicts)),
            Err(_) => error,
        }
    }

    /// The state of the file at a path of the workspace; `None` unless it is a regular file.
    pub(crate) fn state_at(&self, path: &RelPath, run: Run<'_>) -> Result<Option<FileState>> {
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

    /// Who changed a file since a transaction, besides those that are reverted with it.
    fn others_since(
        &self,
        reversal: &Reversal<'_>,
        past: &PathHistory<'_>,
        steps: &[RevertStep],
        run: Run<'_>,
    ) -> Result<(Vec<String>, bool)> {
        let Some(step) = steps.iter().find(|step| reversal.part(**step).id() == past.loaded.id()) else {
            return Ok(Default::default());
        };
        let record = reversal.record(*step);
        let is_reverted = |id: &str| steps.iter().any(|step| reversal.part(*step).id() == id);
        let (mut ids, mut by_another_program) = (Vec::new(), false);
        let mut last = record.change.after().copied();
        for change in past.changes(&record.path)?.iter().filter(|change| &*change.id > past.loaded.id()) {
            by_another_program |= !is_as_left(change.before.as_ref(), last.as_ref());
            if !is_reverted(&change.id) {
                ids.push(change.id.to_string());
            }
            last = change.after;
        }
        let now = self.state_at(&record.path, run)?;
        by_another_program |= !is_as_left(now.as_ref(), last.as_ref());
        Ok((ids, by_another_program))
    }

    /// What changed a file between the change where the way back ends and the next newer one, or now.
    fn explained_conflict(
        &self,
        reversal: &Reversal<'_>,
        pasts: &[PathHistory<'_>],
        entry: EntryIndex,
        stuck: usize,
        run: Run<'_>,
    ) -> Result<Conflict> {
        check_cancelled(run.cancel)?;
        let steps = reversal.steps(entry);
        let (step, newer) = (steps[stuck], stuck.checked_sub(1).map(|newer| steps[newer]));
        let (past, record) = (&pasts[step.part], reversal.record(step));
        let path = &record.path;
        let mut conflict = Conflict { path: path.as_path().to_owned(), ..Conflict::default() };
        let mut since = Since::new(record.change.after().copied());
        let is_between = |id: &str| id > past.loaded.id() && newer.is_none_or(|it| id < reversal.part(it).id());
        for change in past.changes(path)?.iter().filter(|change| is_between(&change.id)) {
            since.transaction(&change.id, change.before, change.after);
        }
        since.others(match newer {
            Some(newer) => reversal.record(newer).change.before().copied(),
            None => self.state_at(path, run)?,
        });
        if newer.is_some() && since.is_empty() {
            // The newer one left the file as this one needs it. What others did after that is in the way.
            (conflict.changed_by, conflict.by_another_program) =
                self.others_since(reversal, &pasts[step.part], &steps, run)?;
            return Ok(conflict);
        }
        (conflict.changed_by, conflict.by_another_program) = since.blamed();
        let original = self.original(past.loaded, step.entry, run.cancel)?.unwrap_or_default();
        let left = match record.change.after() {
            Some(after) => past.left(path, &original, after.digest, run.cancel)?,
            None => Some(Vec::new()),
        };
        if let Some(left) = left {
            let current = match newer {
                Some(newer) => self.original(reversal.part(newer), newer.entry, run.cancel)?,
                None => self.current(path, run.cancel)?,
            };
            let (current, name) = (current.unwrap_or_default(), path.as_path().display().to_string());
            conflict.diff = Some(diff::unified(&left, &current, &name, &name, limits::DIFF_BYTES));
        }
        Ok(conflict)
    }
}
