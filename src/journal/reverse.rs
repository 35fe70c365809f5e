//! Makes the plan that reverts a committed transaction.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use super::{self as journal, Record};
use crate::digest::Digest;
use crate::error::{Conflict, Detail, Error, ErrorKind};
use crate::index::{EntryIndex, IndexVec};
use crate::path::RelPath;
use crate::plan::build::removed;
use crate::plan::{Entry, FileState, New, NewContent, Plan, PlannedChange, SourceId};
use crate::text::splice::Splices;

/// The current state of one entry's path.
#[derive(Debug, Clone)]
pub struct PresentTarget {
    /// The file at the path, if there is one.
    pub state: Option<FileState>,
    /// The file as the transaction left it: as it is recorded, or as the check made it.
    pub left: Option<FileState>,
    /// True if something other than a file is there, or is in the place of a folder above it.
    pub obstructed: bool,
    /// True if a folder is there, by whomever.
    pub is_folder: bool,
    /// Missing folders above it, parents first.
    pub missing: Vec<RelPath>,
    /// The folders in the one that is there, if it makes way for a file, or goes by itself.
    pub within: Option<Vec<RelPath>>,
    /// The reverse of the entry, for content that changed in other lines since.
    pub carried: Option<Carried>,
    /// True if the way back from it is blocked: somebody else changed it between two of the transactions.
    pub between: bool,
}

/// The reverse of an entry, for content that is no longer as the transaction left it.
#[derive(Debug, Clone)]
pub struct Carried {
    /// The splices of the current content.
    pub splices: Splices,
    /// The file's state after the revert.
    pub state: FileState,
    /// The changes since, for the answer.
    pub foreign_diff: String,
}

/// The plan that restores the state before these changes, from the originals in the slots of their transactions:
/// [`SourceId`] counts the entries.
///
/// Restored content gets the current time, or builds would trust what they made of the reverted content; content that
/// only moves back keeps its time. An error if a file is no longer as the transaction left it.
///
/// # Panics
///
/// If `now` has not one element for each entry.
pub fn reverse(
    changes: &IndexVec<EntryIndex, Record>,
    now: &IndexVec<EntryIndex, PresentTarget>,
) -> Result<Plan, Error> {
    // An entry without one would not be reverted.
    assert_eq!(changes.len(), now.len(), "each entry was examined");
    // Before anything is planned: all conflicts are told at once.
    refuse_conflicts(changes, now)?;
    let there: HashSet<Digest> =
        changes.iter().filter_map(|record| record.change.after().map(|state| state.digest)).collect();
    let mut folders = BTreeSet::new();
    let mut entries = Vec::new();
    // A folder in one that makes way for a file may be an entry by itself.
    let mut emptied = BTreeSet::new();
    for (entry, record) in changes.numbered() {
        let now = &now[entry];
        let restored = |before: FileState, keeps_time| New {
            state: before,
            content: NewContent::Spliced(SourceId::from(entry), Splices::none()),
            metadata_of: Some(SourceId::from(entry)),
            keeps_time,
        };
        let change = match record.change {
            journal::RecordedChange::Edit { .. } | journal::RecordedChange::Overwrite { .. }
                if now.carried.is_some() =>
            {
                let (Some(carried), Some(found)) = (&now.carried, now.state) else { continue };
                let content = NewContent::Spliced(SourceId::from(entry), carried.splices.clone());
                let metadata_of = Some(SourceId::from(entry));
                PlannedChange::Edit(found, New { state: carried.state, content, metadata_of, keeps_time: false })
            }
            journal::RecordedChange::Edit { before, after, .. }
            | journal::RecordedChange::Overwrite { before, after, .. } => {
                PlannedChange::Edit(now.left.unwrap_or(after), restored(before, there.contains(&before.digest)))
            }
            journal::RecordedChange::Create { after, .. } => PlannedChange::Delete(now.left.unwrap_or(after)),
            journal::RecordedChange::Delete { before, .. } => {
                folders.extend(now.missing.iter().map(|path| (path.clone(), None)));
                PlannedChange::Create(restored(before, there.contains(&before.digest)))
            }
            journal::RecordedChange::FileToFolder { before, .. } => {
                emptied.extend(now.within.iter().flatten().cloned());
                PlannedChange::FolderToFile(restored(before, there.contains(&before.digest)))
            }
            journal::RecordedChange::FolderToFile { after, .. } => {
                folders.insert((record.path.clone(), None));
                PlannedChange::Delete(now.left.unwrap_or(after))
            }
            // Somebody made it again, and it is theirs.
            journal::RecordedChange::RemoveFolder { .. } if now.is_folder => continue,
            journal::RecordedChange::RemoveFolder { .. } => {
                folders.extend(now.missing.iter().chain([&record.path]).map(|path| (path.clone(), None)));
                continue;
            }
            journal::RecordedChange::Folder { .. } => {
                emptied.extend(now.within.iter().map(|_| record.path.clone()));
                continue;
            }
        };
        entries.push(Entry { path: record.path.clone(), change, asked_by: None });
    }
    entries.extend(emptied.into_iter().map(|path| removed((path, None))));
    Plan::assemble(folders, entries)
}

fn refuse_conflicts(
    changes: &IndexVec<EntryIndex, Record>,
    now: &IndexVec<EntryIndex, PresentTarget>,
) -> Result<(), Error> {
    let differing =
        changes.numbered().map(|(entry, record)| (record, &now[entry])).filter(|(record, now)| match record.change {
            // Something else took its place; where nothing is, nothing is left to be done.
            journal::RecordedChange::Folder { .. } => now.state.is_some() || now.obstructed && !now.is_folder,
            journal::RecordedChange::RemoveFolder { .. } if now.is_folder => false,
            journal::RecordedChange::FileToFolder { .. } => now.within.is_none(),
            _ if now.between => true,
            _ => now.carried.is_none() && (now.obstructed || !is_as_left(now.state.as_ref(), now.left.as_ref())),
        });
    let conflicts: Vec<_> = differing.map(|(record, _)| record.path.as_path().to_owned()).collect();
    if conflicts.is_empty() { Ok(()) } else { Err(conflict(conflicts)) }
}

/// Returns whether a path is as a transaction left it.
#[must_use]
pub fn is_as_left(now: Option<&FileState>, after: Option<&FileState>) -> bool {
    match (now, after) {
        (Some(now), Some(after)) => now.is(after),
        (now, after) => now.is_none() && after.is_none(),
    }
}

/// The error for files, at least one, that are not as the transaction left them.
#[must_use]
pub fn conflict(files: Vec<PathBuf>) -> Error {
    let first = files.first().cloned().unwrap_or_default();
    let message = format!("{} changed since the transaction, {} of its files in all", first.display(), files.len());
    let conflicts = files.into_iter().map(|path| Conflict { path, ..Conflict::default() }).collect();
    Error::new(ErrorKind::UndoConflict, message).at(first).detail(Detail::Conflicts(conflicts))
}
