//! Shows the contents of an open transaction, for somebody who decides on each of its changes.

use std::collections::HashMap;

use super::compose::StagedEntry;
use super::store::OpenedFolder;
use super::{entries_of, request_of, settle};
use crate::engine::patch::sides;
use crate::engine::report::review::{Review, ReviewedFile};
use crate::engine::report::{Preview, Report};
use crate::engine::store::state::StateLookup;
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::engine::{Engine, Run};
use crate::error::Result;
use crate::index::FileIndex;
use crate::plan::Entry;
use crate::request::{Change, FileRequest, IfExists, Request};
use crate::text::diff;

/// What would be done, before anything of it is chosen.
pub(super) struct Reviewed {
    /// The entries, as they were staged.
    pub staged: Vec<StagedEntry>,
    /// The files of the entries as they fit what is there now.
    pub settled: Vec<FileRequest>,
    pub review: Review,
}

impl Engine {
    /// The same as [`preview`](Self::preview), with the contents of these files of the report, or of all. Nothing is written,
    /// whether it fails or not.
    pub fn review(&self, id: &str, files: Option<&[usize]>, run: Run<'_>) -> Result<Review> {
        let mut found = self.found()?;
        let (_, opened) = self.still_open(&found, id, run)?;
        let reviewed = self.reviewed(&opened, files, &mut found, run);
        reviewed.map(|reviewed| reviewed.review).map_err(|error| super::or_mend(id, error))
    }

    /// The same, one file after the other, so that the contents of only one are held at a time.
    #[cfg(feature = "web")]
    pub(crate) fn review_each(
        &self,
        id: &str,
        files: Option<&[usize]>,
        run: Run<'_>,
        each: &mut dyn FnMut(usize, ReviewedFile),
    ) -> Result<Preview> {
        let mut found = self.found()?;
        let (_, opened) = self.still_open(&found, id, run)?;
        let reviewed = self.reviewed_each(&opened, files, &mut found, run, each);
        reviewed.map(|(_, _, preview)| preview).map_err(|error| super::or_mend(id, error))
    }

    pub(super) fn reviewed(
        &self,
        opened: &OpenedFolder,
        wanted: Option<&[usize]>,
        found: &mut StateLookup,
        run: Run<'_>,
    ) -> Result<Reviewed> {
        let mut contents = Vec::new();
        let each = &mut |index, file| contents.push((index, file));
        let (staged, settled, preview) = self.reviewed_each(opened, wanted, found, run, each)?;
        let mut files = vec![None; settled.len()];
        for (index, file) in contents {
            files[index] = Some(file);
        }
        Ok(Reviewed { staged, settled, review: Review { preview, files } })
    }

    /// Passes the contents of each file that is wanted to `each`; returns the entries as they were staged, and as they fit
    /// what is there now.
    fn reviewed_each(
        &self,
        opened: &OpenedFolder,
        wanted: Option<&[usize]>,
        found: &mut StateLookup,
        run: Run<'_>,
        each: &mut dyn FnMut(usize, ReviewedFile),
    ) -> Result<(Vec<StagedEntry>, Vec<FileRequest>, Preview)> {
        let staged = entries_of(opened)?;
        let mut settled = staged.clone();
        let rebased = self.settle(opened, &mut settled.iter_mut().collect::<Vec<_>>(), run)?;
        let request = Request { dry_run: true, ..request_of(opened, settled) };
        let mut warnings = Vec::new();
        let (prepared, mut reports) = self.prepare_unlocked(&request, found, &mut warnings, run)?;
        settle::tell(&mut reports, rebased);
        let patch = self.patch_if_wanted(&prepared, &reports, run)?;
        let all: Vec<usize> = (0..request.files.len()).collect();
        let mut entries: HashMap<FileIndex, Vec<&Entry>> = HashMap::new();
        for entry in &prepared.plan.entries {
            entry.asked_by.into_iter().for_each(|file| entries.entry(file).or_default().push(entry));
        }
        for index in wanted.unwrap_or(&all).iter().copied() {
            let Some(file) = request.files.get(index) else { continue };
            let entries = entries.get(&FileIndex(index)).map(Vec::as_slice).unwrap_or_default();
            each(index, self.reviewed_file(&prepared, entries, file, run)?);
        }
        let report = Report { dry_run: true, files: reports, warnings, patch, ..Report::default() };
        let preview =
            Preview { id: opened.id.clone(), expires: opened.expires(), plan_hash: prepared.plan.hash(), report };
        Ok((staged, request.files, preview))
    }

    /// The contents of one file of the request, which asked for these entries.
    fn reviewed_file(
        &self,
        prepared: &Prepared,
        entries: &[&Entry],
        file: &FileRequest,
        run: Run<'_>,
    ) -> Result<ReviewedFile> {
        let is_written = matches!(file.change, Change::Write { .. });
        let mut reviewed = ReviewedFile { is_written, ..ReviewedFile::default() };
        let mut is_text = true;
        for entry in entries {
            let (before, after) = sides(entry);
            // Of a move onto another file, what moves.
            if let Some(before) = before
                && (reviewed.before.is_none() || entry.path.as_path() == file.path.as_path())
            {
                reviewed.before = Some(self.old_content(&entry.path, before, run)?);
                reviewed.mode_before = (!before.is_link()).then_some(before.mode);
            }
            if let Some(after) = after {
                reviewed.after = Some(self.new_content(prepared, after, &entry.path, run)?);
                reviewed.mode_after = (!after.state.is_link()).then_some(after.state.mode);
            }
            is_text &= before.zip(after).is_some_and(|(before, after)| !before.is_link() && !after.state.is_link());
        }
        let stays = matches!(
            file.change,
            Change::Edit { rename: None, .. } | Change::Write { if_exists: IfExists::Replace, .. }
        );
        if let (Some(before), Some(after)) = (&reviewed.before, &reviewed.after)
            && is_text
            && stays
            && entries.len() == 1
            // UTF-16 has no lines of bytes.
            && !before.contains(&0)
            && !after.contains(&0)
        {
            reviewed.runs = diff::changed(before, after).filter(|runs| !runs.is_empty());
        }
        Ok(reviewed)
    }
}
