//! The reports of the files that a revert changes.

use std::collections::HashSet;
use std::path::Path;

use super::reversal::Reversal;
use crate::digest::Digest;
use crate::engine::report::{Extra, FileReport, Operation};
use crate::engine::store::snapshot;
use crate::engine::{Engine, Run};
use crate::error::Result;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::reverse::PresentTarget;
use crate::journal::{Record, RecordedChange};
use crate::text::diff;

/// The report of a folder that stays and gets its old mode, owner and attributes.
pub(super) fn folder_report(path: &Path) -> FileReport {
    FileReport {
        path: path.to_owned().into(),
        operation: Operation::Mode,
        edits: Vec::new(),
        hash_before: None,
        hash_after: None,
        extras: Extra::NONE.into(),
    }
}

/// The entries of folders that no report tells of: of those to which nothing happens, those that the report of a file stands
/// for which took the place of one above, and those in which there is something else, unless somebody asked for them.
fn untold_folders(reversal: &Reversal<'_>, now: &IndexVec<EntryIndex, PresentTarget>) -> HashSet<EntryIndex> {
    let happens = |entry: EntryIndex, record: &Record| match record.change {
        RecordedChange::Folder { .. } => now[entry].within.is_some(),
        RecordedChange::RemoveFolder { .. } => !now[entry].is_folder,
        _ => true,
    };
    let changed = reversal.entries.numbered().filter(|(entry, record)| happens(*entry, record));
    let used: HashSet<&Path> = changed.flat_map(|(_, record)| record.path.as_path().ancestors().skip(1)).collect();
    let became_file = reversal.entries.iter().filter(|it| matches!(it.change, RecordedChange::FolderToFile { .. }));
    let became_file: HashSet<&Path> = became_file.map(|record| record.path.as_path()).collect();
    let is_untold = |(entry, record): &(EntryIndex, &Record)| {
        let path = record.path.as_path();
        let is_asked_for = || reversal.part(reversal.oldest(*entry)).journal.header.reverts.is_empty();
        let is_along = match record.change {
            RecordedChange::Folder { .. } => used.contains(path),
            RecordedChange::RemoveFolder { .. } => {
                used.contains(path) && !is_asked_for() || path.ancestors().any(|path| became_file.contains(path))
            }
            _ => false,
        };
        is_along || !happens(*entry, record)
    };
    reversal.entries.numbered().filter(is_untold).map(|(entry, _)| entry).collect()
}

impl Engine {
    /// What a revert makes of each file, with a diff if one is asked for.
    pub(super) fn undo_reports(
        &self,
        reversal: &Reversal<'_>,
        now: &IndexVec<EntryIndex, PresentTarget>,
        with_diff: bool,
        run: Run<'_>,
    ) -> Result<Vec<FileReport>> {
        let mut reports = Vec::new();
        let untold = untold_folders(reversal, now);
        for (entry, record) in reversal.entries.numbered().filter(|(entry, _)| !untold.contains(entry)) {
            let now = &now[entry];
            let operation = match record.change {
                RecordedChange::Edit { before, after, .. } | RecordedChange::Overwrite { before, after, .. }
                    if before.differs_in_mode(&after) =>
                {
                    Operation::Mode
                }
                RecordedChange::Edit { .. } | RecordedChange::Overwrite { .. } => Operation::Replace,
                RecordedChange::Create { .. } | RecordedChange::FolderToFile { .. } => Operation::Delete,
                RecordedChange::Delete { .. } | RecordedChange::FileToFolder { .. } => Operation::Create,
                RecordedChange::Folder { .. } => Operation::RemoveFolder,
                RecordedChange::RemoveFolder { .. } => Operation::Folder,
            };
            let path = record.path.as_path().to_owned();
            let diff = with_diff.then(|| self.undo_diff(reversal, entry, now, run)).transpose()?;
            reports.push(FileReport {
                path: path.into(),
                operation,
                edits: Vec::new(),
                hash_before: now.state.map(|state| state.digest),
                hash_after: now
                    .carried
                    .as_ref()
                    .map(|carried| carried.state)
                    .or(record.change.before().copied())
                    .map(|s| s.digest),
                extras: Extra {
                    diff,
                    rebased: now.carried.as_ref().map(|carried| carried.foreign_diff.clone()),
                    ..Extra::NONE
                }
                .into(),
            });
        }
        Ok(reports)
    }

    /// The diff of one file, from what is there now to what it becomes.
    fn undo_diff(
        &self,
        reversal: &Reversal<'_>,
        entry: EntryIndex,
        now: &PresentTarget,
        run: Run<'_>,
    ) -> Result<String> {
        let record = &reversal.entries[entry];
        let old = self.current(&record.path, run.cancel)?.unwrap_or_default();
        let new = match (&now.carried, record.change.before()) {
            // Of another content the splices mean nothing, and may be beyond its end.
            (Some(_), _) if now.state.is_none_or(|found| found.digest != Digest::of(&old)) => {
                return Err(snapshot::changed(record.path.as_path(), "changed since it was read"));
            }
            (Some(carried), _) => carried.splices.apply(&old),
            (None, Some(_)) => reversal.original(self, entry, run.cancel)?.unwrap_or_default(),
            (None, None) => Vec::new(),
        };
        let name = record.path.as_path().display().to_string();
        Ok(diff::unified(&old, &new, &name, &name, run.diff_bytes))
    }
}
