//! The changes of a plan as a patch that `git apply` takes.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::history::export::{PatchBody, PatchSection};
use super::report::{FileReport, Operation, PlanPatch};
use super::store::snapshot;
use super::transaction::prepare::prepared::{Prepared, SourceFile};
use super::{Engine, Run};
use crate::digest::Digest;
use crate::error::Result;
use crate::index::FileIndex;
use crate::path::RelPath;
use crate::plan::{Entry, FileState, New, NewContent, PlannedChange};
use crate::text::diff;

impl Engine {
    /// The patch of what was prepared, for a run that wants one.
    pub(super) fn patch_if_wanted(
        &self,
        prepared: &Prepared,
        files: &[FileReport],
        run: Run<'_>,
    ) -> Result<Option<Box<PlanPatch>>> {
        if run.wants_patch { self.patch_of(prepared, files, run).map(Box::new).map(Some) } else { Ok(None) }
    }

    /// The patch of what was prepared, and the files of the report that it cannot tell of.
    fn patch_of(&self, prepared: &Prepared, files: &[FileReport], run: Run<'_>) -> Result<PlanPatch> {
        let mut entries: Vec<&Entry> = prepared.plan.entries.iter().collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let moved = moves(&entries, prepared);
        let gone: HashSet<&RelPath> = moved.values().map(|from| &from.path).collect();
        let (mut text, mut told) = (Vec::new(), HashSet::new());
        for entry in entries.iter().filter(|entry| !gone.contains(&entry.path)) {
            let from = moved.get(&entry.path);
            let length = text.len();
            self.push(&mut text, prepared, entry, from.copied(), run)?;
            if text.len() > length {
                for entry in from.into_iter().copied().chain([*entry]) {
                    told.insert(Asked::Path(entry.path.as_path()));
                    told.extend(entry.asked_by.map(Asked::File));
                }
            }
        }
        let is_untold = |(index, file): &(usize, &FileReport)| {
            let path = file.path.strip_prefix(self.root()).unwrap_or(&file.path);
            let is_told = told.contains(&Asked::File(FileIndex(*index))) || told.contains(&Asked::Path(path));
            file.operation != Operation::None && !is_told
        };
        let untold = files.iter().enumerate().filter(is_untold).map(|(index, _)| index).collect();
        Ok(PlanPatch { text, untold })
    }

    /// Adds what becomes of one path, which may come from another.
    fn push(
        &self,
        text: &mut Vec<u8>,
        prepared: &Prepared,
        entry: &Entry,
        from: Option<&Entry>,
        run: Run<'_>,
    ) -> Result<()> {
        let (before, after) = (sides(from.unwrap_or(entry)).0, sides(entry).1);
        if before.is_none() && after.is_none() {
            return Ok(());
        }
        let old_path = from.map_or(&entry.path, |from| &from.path);
        let old = match before {
            Some(before) => self.old_content(old_path, before, run)?,
            None => Vec::new(),
        };
        let new = match after {
            Some(after) => self.new_content(prepared, after, &entry.path, run)?,
            None => Vec::new(),
        };
        let names = [old_path, &entry.path].map(|path| path.as_path().as_os_str().as_bytes());
        let after = after.map(|after| &after.state);
        let section = |before, after, body| PatchSection { names, before, after, body };
        if before.zip(after).is_some_and(|(before, after)| before.is_link() != after.is_link()) {
            // To git one that takes the place of the other is a new file.
            section(before, None, body(&old, b"")).push(text);
            section(None, after, body(b"", &new)).push(text);
        } else {
            section(before, after, body(&old, &new)).push(text);
        }
        Ok(())
    }

    pub(in crate::engine) fn old_content(&self, path: &RelPath, before: &FileState, run: Run<'_>) -> Result<Vec<u8>> {
        let content = self.current(path, run.cancel)?.filter(|content| Digest::of(content) == before.digest);
        content.ok_or_else(|| snapshot::changed(path.as_path(), "changed since it was read"))
    }

    pub(in crate::engine) fn new_content(
        &self,
        prepared: &Prepared,
        new: &New,
        path: &RelPath,
        run: Run<'_>,
    ) -> Result<Vec<u8>> {
        let source = |source: &SourceFile| match &source.bytes {
            Some(bytes) => Ok(Some(bytes.to_vec())),
            None => self.content(source.name(), run.cancel),
        };
        let content = match &new.content {
            NewContent::Bytes(bytes) => Some(bytes.clone()),
            NewContent::Spliced(id, splices) => source(&prepared.sources[*id])?.map(|bytes| splices.apply(&bytes)),
            NewContent::Held(id) => source(&prepared.sources[*id])?,
        };
        let content = content.filter(|content| Digest::of(content) == new.state.digest);
        content.ok_or_else(|| snapshot::changed(path.as_path(), "changed since it was read"))
    }
}

/// What a section of a patch is about: a file of the request, or a path.
#[derive(PartialEq, Eq, Hash)]
enum Asked<'p> {
    File(FileIndex),
    Path(&'p Path),
}

/// The state of a path before, and what it is afterwards, where they are files.
pub(super) fn sides(entry: &Entry) -> (Option<&FileState>, Option<&New>) {
    match &entry.change {
        PlannedChange::Edit(before, new) => (Some(before), Some(new)),
        PlannedChange::Create(new) | PlannedChange::FolderToFile(new) => (None, Some(new)),
        PlannedChange::Delete(before) | PlannedChange::FileToFolder(before) => (Some(before), None),
        PlannedChange::Folder | PlannedChange::RemoveFolder => (None, None),
    }
}

/// The new files that are made of one that goes, or have its content, each with that one.
fn moves<'p>(entries: &[&'p Entry], prepared: &Prepared) -> HashMap<&'p RelPath, &'p Entry> {
    let gone = entries.iter().filter_map(|entry| match sides(entry) {
        (Some(before), None) => Some((&entry.path, (*entry, before))),
        _ => None,
    });
    let mut gone: HashMap<&RelPath, (&Entry, &FileState)> = gone.collect();
    let mut moves = HashMap::new();
    let new = || {
        entries.iter().filter_map(|entry| match sides(entry) {
            (None, Some(new)) => Some((*entry, new)),
            _ => None,
        })
    };
    let fits = |before: &FileState, new: &New| before.is_link() == new.state.is_link();
    for (entry, new) in new() {
        if let NewContent::Spliced(id, _) = &new.content
            && let Some(source) = prepared.sources.get(*id)
            && gone.get(&source.path).is_some_and(|(_, before)| fits(before, new))
            && let Some((from, _)) = gone.remove(&source.path)
        {
            moves.insert(&entry.path, from);
        }
    }
    let mut same: HashMap<(Digest, bool), Vec<&Entry>> = HashMap::new();
    // The last comes first, and is taken last.
    for entry in entries.iter().rev() {
        if let Some((from, before)) = gone.get(&entry.path).filter(|(_, before)| before.size > 0) {
            same.entry((before.digest, before.is_link())).or_default().push(from);
        }
    }
    for (entry, new) in new() {
        if !moves.contains_key(&entry.path)
            && let Some(from) = same.get_mut(&(new.state.digest, new.state.is_link())).and_then(Vec::pop)
        {
            moves.insert(&entry.path, from);
        }
    }
    moves
}

/// The difference of two contents. What has a NUL byte, or is too large to be compared, is only told to differ.
fn body(old: &[u8], new: &[u8]) -> PatchBody {
    let is_text = old == new || !(old.contains(&0) || new.contains(&0));
    diff::hunks(old, new).filter(|_| is_text).map_or(PatchBody::Binary, PatchBody::Hunks)
}
