//! The way back of one path, from what is there now: over one change after the other, newest first, and around changes
//! of other lines that others made meanwhile.

use super::reversal::{Reversal, RevertStep};
use crate::digest::Digest;
use crate::engine::history::path_history::PathHistory;
use crate::engine::{Engine, Run};
use crate::error::Result;
use crate::index::EntryIndex;
use crate::journal::RecordedChange;
use crate::journal::reverse::{Carried, is_as_left};
use crate::limits;
use crate::path::RelPath;
use crate::plan::FileState;
use crate::text::diff;
use crate::text::rebase::rebase;
use crate::text::splice::{Splice, Splices};

/// The end of the way back of one path.
#[derive(Debug, Default)]
pub(super) struct WalkedBack {
    /// The file as the newest transaction left it: as it is recorded, or as its check made it.
    pub(super) left: Option<FileState>,
    /// What the file becomes, if others changed other lines of it.
    pub(super) carried: Option<Carried>,
    /// The number of the step that leads no further, since the path is not as that change left it.
    pub(super) stuck: Option<usize>,
}

/// A place on the way.
struct Place {
    state: Option<FileState>,
    content: PlaceContent,
}

/// The content at a place on the way.
enum PlaceContent {
    /// That of the file.
    Current,
    /// That which a change found.
    Original(RevertStep),
    /// What became of it on the way; it is in no file.
    Merged(Vec<u8>),
}

/// What a change becomes that is taken out of a content with other changes in it.
struct TakenOut {
    new: Vec<u8>,
    splices: Splices,
    state: FileState,
    foreign_diff: String,
}

impl Engine {
    /// Walks back from `found`, the file at the path of an entry.
    pub(super) fn walk_back(
        &self,
        reversal: &Reversal<'_>,
        pasts: &[PathHistory<'_>],
        entry: EntryIndex,
        found: Option<FileState>,
        rebase: bool,
        run: Run<'_>,
    ) -> Result<WalkedBack> {
        let path = &reversal.entries[entry].path;
        let mut walked = WalkedBack::default();
        let mut place = Place { state: found, content: PlaceContent::Current };
        // The splices of the present file, as long as only one change was taken out of it.
        let mut splices = None;
        let mut merged_at = None;
        let mut foreign_diff = String::new();
        for (nth, step) in reversal.steps(entry).iter().enumerate() {
            let past = &pasts[step.part];
            let change = reversal.record(*step).change;
            let recorded = change.after().copied();
            // Only what the check of this transaction left stands for what is recorded; the undo keeps it.
            let changed = place.state.zip(recorded).filter(|(state, recorded)| !state.is(recorded));
            let by_check = match changed {
                Some((state, recorded)) => past.report()?.and_then(|it| it.left(path, &recorded, &state)),
                None => None,
            };
            let left = by_check.or(recorded);
            if nth == 0 {
                walked.left = left;
            }
            if is_as_left(place.state.as_ref(), left.as_ref()) {
                place = Place { state: change.before().copied(), content: PlaceContent::Original(*step) };
                (splices, merged_at) = (None, None);
                continue;
            }
            let taken_out = if rebase { self.take_out(reversal, past, *step, &place, run)? } else { None };
            let Some(taken_out) = taken_out else {
                walked.stuck = Some(nth);
                return Ok(walked);
            };
            splices = matches!(place.content, PlaceContent::Current).then_some(taken_out.splices);
            foreign_diff.push_str(&taken_out.foreign_diff);
            place = Place { state: Some(taken_out.state), content: PlaceContent::Merged(taken_out.new) };
            merged_at = Some(nth);
        }
        let (Some(nth), Some(state), PlaceContent::Merged(new)) = (merged_at, place.state, place.content) else {
            return Ok(walked);
        };
        let is_edit =
            matches!(reversal.entries[entry].change, RecordedChange::Edit { .. } | RecordedChange::Overwrite { .. });
        match found.filter(|_| is_edit) {
            Some(found) => walked.carried = self.carried(path, (found, state), &new, splices, foreign_diff, run)?,
            // The file is not there, and only its metadata could be that of the original.
            None => walked.stuck = Some(nth),
        }
        Ok(walked)
    }

    /// Takes a change out of a content that has changed in other lines since; `None` if that cannot be done.
    fn take_out(
        &self,
        reversal: &Reversal<'_>,
        past: &PathHistory<'_>,
        step: RevertStep,
        place: &Place,
        run: Run<'_>,
    ) -> Result<Option<TakenOut>> {
        let record = reversal.record(step);
        let (RecordedChange::Edit { before, after, .. } | RecordedChange::Overwrite { before, after, .. }) =
            record.change
        else {
            return Ok(None);
        };
        let Some(found) = place.state.filter(|found| found.digest != after.digest) else { return Ok(None) };
        if !is_of_lines([&before, &after, &found]) {
            return Ok(None);
        }
        let current = match &place.content {
            PlaceContent::Current => self.current(&record.path, run.cancel)?,
            PlaceContent::Original(newer) => self.original(reversal.part(*newer), newer.entry, run.cancel)?,
            PlaceContent::Merged(content) => Some(content.clone()),
        };
        let original = self.original(reversal.part(step), step.entry, run.cancel)?;
        let (Some(original), Some(current)) = (original, current) else { return Ok(None) };
        let Some(left) = past.left(&record.path, &original, after.digest, run.cancel)? else { return Ok(None) };
        if Digest::of(&original) != before.digest || Digest::of(&current) != found.digest {
            return Ok(None);
        }
        let Some(splices) = between(&left, &original).and_then(|back| rebase(&left, &current, &back)) else {
            return Ok(None);
        };
        let new = splices.apply(&current);
        let name = record.path.as_path().display().to_string();
        let mode = if found.mode == after.mode { before.mode } else { found.mode };
        Ok(Some(TakenOut {
            state: FileState { digest: Digest::of(&new), size: new.len() as u64, mode, access: found.access },
            foreign_diff: diff::unified(&left, &current, &name, &name, limits::DIFF_BYTES),
            new,
            splices,
        }))
    }

    /// What the file that was found becomes; `None` if it has changed since it was read.
    fn carried(
        &self,
        path: &RelPath,
        (found, state): (FileState, FileState),
        new: &[u8],
        splices: Option<Splices>,
        foreign_diff: String,
        run: Run<'_>,
    ) -> Result<Option<Carried>> {
        let splices = if let Some(splices) = splices {
            splices
        } else {
            let Some(current) = self.current(path, run.cancel)? else { return Ok(None) };
            if Digest::of(&current) != found.digest {
                return Ok(None);
            }
            let whole = || Splices::new(&current, vec![Splice { range: 0..current.len(), with: new.to_vec() }]).ok();
            let Some(splices) = between(&current, new).or_else(whole) else { return Ok(None) };
            splices
        };
        // The new content gets the owner and the attributes of the file that it replaces.
        Ok(Some(Carried { splices, state: FileState { access: found.access, ..state }, foreign_diff }))
    }
}

/// Returns whether a file is as before a change, but for the lines of others, once the lines of that are taken out. A symlink has
/// none, although its target is compared as a content is; and owner, attributes and a mode that others have changed since are not
/// merged.
pub(super) fn is_of_lines([before, after, found]: [&FileState; 3]) -> bool {
    let keeps_mode = before.mode == after.mode || found.mode == after.mode;
    !before.is_link() && !after.is_link() && !found.is_link() && before.access == after.access && keeps_mode
}

/// The splices that turn `from` into `to`; `None` if they are too large to be compared.
fn between(from: &[u8], to: &[u8]) -> Option<Splices> {
    let changed = diff::changed(from, to)?;
    let splices = changed.into_iter().map(|(range, with)| Splice { range, with: to[with].to_vec() });
    Splices::new(from, splices.collect()).ok()
}
