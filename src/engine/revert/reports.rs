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
        // The report of the file that took the place of a folder stands for the folders in that.
        let became_file = reversal.entries.iter().filter(|it| matches!(it.change, RecordedChange::FolderToFile { .. }));
        let became_file: HashSet<&Path> = became_file.map(|record| record.path.as_path()).collect();
        let is_in_file = |record: &Record| record.path.as_path().ancestors().any(|path| became_file.contains(path));
        for (entry, record) in reversal.entries.numbered() {
            let now = &now[entry];
            let operation = match record.change {
                RecordedChange::Edit { before, after, .. } if before.differs_in_mode(&after) => Operation::Mode,
                RecordedChange::Edit { .. } => Operation::Replace,
                RecordedChange::Create { .. } | RecordedChange::FolderToFile { .. } => Operation::Delete,
                RecordedChange::Delete { .. } | RecordedChange::FileToFolder { .. } => Operation::Create,
                RecordedChange::Folder { .. } if now.within.is_some() => Operation::RemoveFolder,
                RecordedChange::RemoveFolder { .. } if !is_in_file(record) => Operation::Folder,
                RecordedChange::Folder { .. } | RecordedChange::RemoveFolder { .. } => continue,
            };
            let path = record.path.as_path().to_owned();
            let diff = if with_diff {
                let old = self.current(&record.path, run.cancel)?.unwrap_or_default();
                let new = match (&now.carried, record.change.before()) {
                    // Of another content the splices mean nothing, and may be beyond its end.
                    (Some(_), _) if now.state.is_none_or(|found| found.digest != Digest::of(&old)) => {
                        return Err(snapshot::changed(&path, "changed since it was read"));
                    }
                    (Some(carried), _) => carried.splices.apply(&old),
                    (None, Some(_)) => reversal.original(self, entry, run.cancel)?.unwrap_or_default(),
                    (None, None) => Vec::new(),
                };
                let name = path.display().to_string();
                Some(diff::unified(&old, &new, &name, &name, run.diff_bytes))
            } else {
                None
            };
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
}
