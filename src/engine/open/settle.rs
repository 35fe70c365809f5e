//! Handles files that changed since something was staged for them: carries the edits over, or refuses with the reason.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use super::compose::StagedEntry;
use super::names;
use super::store::OpenedFolder;
use super::stored::StoredBase;
use crate::charset::{Charset, readable};
use crate::digest::Digest;
use crate::engine::report::FileReport;
use crate::engine::transaction::prepare::lock_targets::Targets as _;
use crate::engine::transaction::prepare::request_paths::RequestPaths;
use crate::engine::{Engine, Run};
use crate::error::{Detail, Diverged, Error, ErrorKind, ForeignChange, NextStep, Result};
use crate::fs::{FileKind, Name};
use crate::index::FileIndex;
use crate::limits;
use crate::path::RelPath;
use crate::request::edit::{Anchor, Edit};
use crate::request::{Change, FileRequest, Request};
use crate::text::encoded::{self, FileText};
use crate::text::rebase::rebase;
use crate::text::splice::{Splice, Splices};
use crate::text::{Applied, diff};

/// Edits that were carried over to another content.
#[derive(Debug, Clone)]
pub(super) struct Rebased {
    /// The changes of the other program, as a diff.
    foreign_diff: String,
    /// The effect of each edit, as it was staged.
    applied: Option<Vec<Applied>>,
}

/// What was carried over, by file of the request that the entries become.
pub(super) type RebasedFiles = BTreeMap<FileIndex, Rebased>;

/// Adds what was carried over to the reports of the files.
pub(super) fn tell(files: &mut [FileReport], rebased: RebasedFiles) {
    for (FileIndex(file), rebased) in rebased {
        let file = &mut files[file];
        file.extras.rebased = Some(rebased.foreign_diff);
        if let Some(applied) = rebased.applied {
            file.edits = applied;
        }
    }
}

impl Engine {
    /// Makes each entry fit the present content of its file: unchanged since it was staged, or changed without harm.
    /// `bases` holds the contents that the entries were staged on, `None` for a new entry. The entries then expect what
    /// was found.
    pub(super) fn settle(
        &self,
        opened: &OpenedFolder,
        entries: &mut [&mut StagedEntry],
        run: Run<'_>,
    ) -> Result<RebasedFiles> {
        self.check_folders(opened, entries)?;
        // An entry that leaves a path does not matter to the new file that takes it.
        let left = entries.iter().filter(|entry| entry.file.vacates());
        let free: HashSet<PathBuf> = left.map(|entry| entry.file.path.to_path_buf()).collect();
        let mut rebased = RebasedFiles::new();
        for (file, entry) in entries.iter_mut().enumerate() {
            let is_free = |base: &StoredBase| base.digest.is_none() && free.contains(entry.file.path.as_path());
            let Some(base) = entry.base.filter(|base| !is_free(base)) else { continue };
            if let Some(carried) = self.settle_one(opened, &mut entry.file, base, run)? {
                rebased.insert(FileIndex(file), carried);
            }
        }
        Ok(rebased)
    }

    /// Refuses what would land elsewhere: the paths that are stored lead through no symlink, unless one took the place of a
    /// folder since.
    fn check_folders(&self, opened: &OpenedFolder, entries: &[&mut StagedEntry]) -> Result<()> {
        let paths = RequestPaths::of_files(entries.iter().map(|entry| &entry.file), false);
        let asked = entries.iter().flat_map(|entry| names(&entry.file));
        for (asked, place) in asked.zip(self.resolver().places(paths.paths())) {
            // What does not lead anywhere is reported where the request is tried.
            let Ok(place) = place else { continue };
            let leads_elsewhere = match asked.parent().filter(|_| place.is_link) {
                // A symlink at its name itself is found by what was staged on.
                Some(folder) => self.workspace.find_folder(&self.workspace.root, folder)?.is_none(),
                None => place.path.as_path() != asked.as_path(),
            };
            if leads_elsewhere {
                let message = format!(
                    "{} leads to {} now: a folder on its way was replaced by a symlink since it was staged",
                    asked.display(),
                    place.path
                );
                let error = Error::new(ErrorKind::ConcurrentModification, message).at(asked);
                return Err(error.with_next([NextStep::StageAgain { id: opened.id.clone() }]));
            }
        }
        Ok(())
    }

    fn settle_one(
        &self,
        opened: &OpenedFolder,
        entry: &mut FileRequest,
        base: StoredBase,
        run: Run<'_>,
    ) -> Result<Option<Rebased>> {
        let StoredBase { digest: base, is_pinned, is_link } = base;
        let path = RelPath::normalised(&entry.path)
            .map_err(|why| Error::new(ErrorKind::OutsideRoot, format!("{}: {why}", entry.path.display())))?;
        let current = self.current(&path, run.cancel)?;
        let found = current.as_ref().map(|content| Digest::of(content));
        let is_kind = self.has_link(&path)? == is_link;
        if found == base && is_kind {
            entry.expected_hash = base;
            return Ok(None);
        }
        let old = match base {
            Some(digest) => opened.base(&self.workspace, digest)?,
            None => None,
        };
        let rebased = match (&old, &current) {
            (Some(old), Some(current)) if !is_pinned && is_kind => carry_over(entry, old, current),
            _ => None,
        };
        let Some(rebased) = rebased else {
            // Without it the error still holds.
            let by = base.and_then(|base| self.foreign_change(&path, base, run).ok()?);
            // Of a long file that was to be replaced or deleted, only the digest is known.
            let old = if base.is_some() { old.as_deref() } else { Some(&[][..]) };
            let error = diverged(entry, old.zip(Some(current.as_deref().unwrap_or_default())), by);
            return Err(error.with_next([NextStep::StageAgain { id: opened.id.clone() }]));
        };
        entry.expected_hash = found;
        Ok(Some(rebased))
    }

    /// Returns whether a symlink is at a path.
    pub(super) fn has_link(&self, path: &RelPath) -> Result<bool> {
        let Some(folder) = self.workspace.find_folder(&self.workspace.root, path.parent())? else { return Ok(false) };
        let stat = self.workspace.stat(Name::new(&folder, path.name()))?;
        Ok(stat.is_some_and(|stat| stat.kind == FileKind::Symlink))
    }

    /// Keeps the base that is needed to carry edits over later, or to show what another program made of it.
    pub(super) fn keep_base(
        &self,
        opened: &OpenedFolder,
        entry: &FileRequest,
        base: Option<Digest>,
        run: Run<'_>,
    ) -> Result<()> {
        let Some(base) = base else { return Ok(()) };
        let is_needed = matches!(entry.change, Change::Edit { .. } | Change::Rename(_) | Change::Mode);
        let path = RelPath::normalised(&entry.path)
            .map_err(|why| Error::new(ErrorKind::OutsideRoot, format!("{}: {why}", entry.path.display())))?;
        match self.current(&path, run.cancel)? {
            // A longer one has no diff.
            Some(content) if !is_needed && content.len() > limits::DIFF_BYTES => Ok(()),
            Some(content) if Digest::of(&content) == base => opened.keep(&self.workspace, &content, base),
            _ if !is_needed => Ok(()),
            // It has just changed, or had changed before and was carried over: the base was kept then.
            _ if opened.base(&self.workspace, base)?.is_some() => Ok(()),
            _ => Err(crate::engine::store::snapshot::changed(&entry.path, "changed while it was staged")),
        }
    }

    /// Turns edits that are placed by lines into edits by offset in the staged content: what is stored needs no patch.
    pub(super) fn place_edits(&self, staged: &[StagedEntry], added: &mut Request, run: Run<'_>) -> Result<()> {
        for (file, entry) in added.files.iter_mut().enumerate() {
            let encoding = entry.encoding;
            let (path, edits) = match &mut entry.change {
                Change::Edit { edits, .. } => (entry.path.clone(), edits),
                Change::Copy { from, edits } => (from.clone(), edits),
                _ => continue,
            };
            if !edits.iter().any(|edit| matches!(edit.anchor, Anchor::Hunk(_) | Anchor::Span { .. })) {
                continue;
            }
            let Some(StagedContent { bytes, encoding }) = self.staged_content(staged, &path, encoding, run)? else {
                continue;
            };
            let placed = FileText::read(&bytes, encoding).and_then(|text| {
                let edited = text.edit(edits)?;
                Ok(places(text.text(), &edited.splices))
            });
            *edits = placed.map_err(|refused| {
                let error = Error::new(refused.kind, refused.message).detail(refused.detail);
                error.in_file(FileIndex(file)).in_edit(refused.edit).at(&path)
            })?;
        }
        Ok(())
    }

    /// The content of a file as it is staged, and the encoding in which it is to be edited.
    fn staged_content(
        &self,
        staged: &[StagedEntry],
        path: &std::path::Path,
        encoding: Option<Charset>,
        run: Run<'_>,
    ) -> Result<Option<StagedContent>> {
        let result = |entry: &&FileRequest| entry.result().is_some_and(|result| result.as_path() == path);
        let on_disk = |path: &std::path::Path| match RelPath::normalised(path) {
            Ok(path) => self.current(&path, run.cancel),
            Err(_) => Ok(None),
        };
        let Some(entry) = staged.iter().map(|entry| &entry.file).find(result) else {
            return Ok(on_disk(path)?.map(|bytes| StagedContent { bytes, encoding }));
        };
        let encoding = entry.encoding.or(encoding);
        let (origin, edits) = match &entry.change {
            // In UTF-8 if an encoding is named: only the commit encodes it.
            Change::Write { content, .. } => return Ok(Some(StagedContent { bytes: content.clone(), encoding: None })),
            // They are refused where the request is tried.
            Change::Symlink { .. } | Change::MakeFolder => return Ok(None),
            Change::Edit { edits, .. } => (&entry.path, &edits[..]),
            Change::Copy { from, edits } => (from, &edits[..]),
            _ => (&entry.path, &[][..]),
        };
        let Some(base) = on_disk(origin)? else { return Ok(None) };
        let edited = encoded::edit(&base, encoding, edits).ok();
        Ok(edited.map(|edited| StagedContent { bytes: edited.splices.apply(&base), encoding }))
    }
}

/// The content of a file as it is staged.
struct StagedContent {
    bytes: Vec<u8>,
    /// The encoding in which it is to be edited.
    encoding: Option<Charset>,
}

/// Carries the edits of an entry over from `old` to `current`: they must still match in the same places, and no line
/// that they touch may have changed.
fn carry_over(entry: &mut FileRequest, old: &[u8], current: &[u8]) -> Option<Rebased> {
    let foreign_diff = foreign(entry, old, current);
    let encoding = entry.encoding;
    let edits = match &mut entry.change {
        Change::Edit { edits, .. } => edits,
        Change::Rename(_) | Change::Mode => return Some(Rebased { foreign_diff, applied: None }),
        Change::Write { .. }
        | Change::Copy { .. }
        | Change::Delete
        | Change::Symlink { .. }
        | Change::Take { .. }
        | Change::MakeFolder
        | Change::RemoveFolder => return None,
    };
    // What is stored counts in the text, not in the bytes.
    let was_utf8 = std::str::from_utf8(old).is_ok();
    let is_utf8 = !current.is_ascii() && std::str::from_utf8(current).is_ok();
    let (old, current) = (FileText::read(old, encoding).ok()?, FileText::read(current, encoding).ok()?);
    let is_converted = is_utf8 && !was_utf8 || current.is_malformed() && !old.is_malformed();
    if encoding.is_some() && is_converted {
        // Another program has written it in another encoding than the one that was named.
        return None;
    }
    let staged = old.edit(edits).ok()?;
    let moved = rebase(old.text(), current.text(), &staged.splices)?;
    if edits.iter().all(|edit| matches!(edit.anchor, Anchor::Text { .. })) {
        // If another place matches by now, or one no longer does, the edits mean something else here.
        let again = current.edit(edits).ok()?;
        if again.splices != moved {
            return None;
        }
    }
    *edits = places(current.text(), &moved);
    Some(Rebased { foreign_diff, applied: Some(staged.applied) })
}

/// Splices as edits that apply in sequence: the last comes first, so that it moves none of the others.
fn places(content: &[u8], splices: &Splices) -> Vec<Edit> {
    let splices: Vec<_> = splices.iter().collect();
    let edit = |splice: &&Splice| Edit {
        anchor: Anchor::Range { range: splice.range.clone(), expected: content[splice.range.clone()].to_vec() },
        replacement: splice.with.clone(),
    };
    splices.iter().rev().map(edit).collect()
}

fn foreign(entry: &FileRequest, old: &[u8], current: &[u8]) -> String {
    let name = entry.path.display().to_string();
    let (old, current) = (readable(old, entry.encoding), readable(current, entry.encoding));
    diff::unified(&old, &current, &name, &name, limits::DIFF_BYTES)
}

/// The error for a file that changed where something is staged, with both sides where both contents are known.
fn diverged(entry: &FileRequest, contents: Option<(&[u8], &[u8])>, by: Option<ForeignChange>) -> Error {
    let name = entry.path.display().to_string();
    let (ours, theirs) = contents.map(|(old, current)| sides(entry, old, current)).unwrap_or_default();
    let who = by.as_ref().map(|by| format!(" (by {})", by.who())).unwrap_or_default();
    let message = format!(
        "{name} changed since it was staged{who}, where the staged edits are or in a way that they do not survive"
    );
    Error::new(ErrorKind::ConcurrentModification, message)
        .at(&entry.path)
        .detail(Detail::Diverged(Box::new(Diverged { ours, theirs, by })))
}

/// What is staged, and what others did, each as a diff.
fn sides(entry: &FileRequest, old: &[u8], current: &[u8]) -> (String, String) {
    let name = entry.path.display().to_string();
    let ours = match &entry.change {
        Change::Edit { edits, .. } => {
            encoded::edit(old, entry.encoding, edits).map(|edited| edited.splices.apply(old)).unwrap_or_default()
        }
        Change::Write { content, .. } => {
            encoded::content(content, entry.encoding).map_or_else(|_| content.clone(), Cow::into_owned)
        }
        Change::Symlink { target, .. } => target.clone(),
        Change::Delete | Change::MakeFolder | Change::RemoveFolder => Vec::new(),
        _ => old.to_vec(),
    };
    let shown = |bytes| readable(bytes, entry.encoding);
    let ours = diff::unified(&shown(old), &shown(&ours), &name, &name, limits::DIFF_BYTES);
    (ours, foreign(entry, old, current))
}
