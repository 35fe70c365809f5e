//! Builds a plan from a request and the files that were read.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Access, Entry, FileState, LINK_MODE, New, NewContent, Plan, PlannedChange, SourceId};
use crate::charset::Charset;
use crate::digest::{Digest, Digester};
use crate::error::{Error, ErrorKind};
use crate::index::{FileIndex, IndexVec, TargetIndex};
use crate::path::RelPath;
use crate::request::edit::Edit;
use crate::request::{self, FileRequest, Mode};
use crate::text::{Applied, Edited, RefusedEdit, encoded, splice::Splices};

/// A path that a request names, resolved.
#[derive(Debug, Clone)]
pub struct Target {
    /// The path in the workspace, without symlinks.
    pub path: RelPath,
    /// Missing folders above it, parents first.
    pub missing: Vec<RelPath>,
    /// The folders in the one that is there, if it is removed or a file takes its place.
    pub within: Option<Vec<RelPath>>,
    /// The mode that its folder gives a new file.
    pub new_mode: u32,
    /// The owner and the attributes that its folder gives a new file.
    pub new_access: Option<Access>,
}

/// The targets of one file of a request.
#[derive(Debug, Clone, Copy)]
pub struct TargetIds {
    /// The path that the entry names.
    pub subject: TargetIndex,
    /// The new path of the file.
    pub destination: Option<TargetIndex>,
    /// The path of a copy of the old content.
    pub backup: Option<TargetIndex>,
    /// The file of which it becomes a copy.
    pub origin: Option<TargetIndex>,
}

/// The number of bytes gathered for one call of the hash: it needs some to be fast, and the cache has room for them.
const HASHED_TOGETHER: usize = 64 << 10;

/// The content that edits apply to: in memory, or too large for that.
pub trait Base {
    /// The size in bytes.
    fn size(&self) -> usize;
    /// The result of edits, in the encoding that is named for the content.
    fn edit(&self, edits: &[Edit], encoding: Option<Charset>) -> Result<Result<Edited, RefusedEdit>, Error>;
    /// The digest of the content after splices.
    fn spliced(&self, splices: &Splices) -> Result<Digest, Error>;
}

impl Base for Vec<u8> {
    fn size(&self) -> usize {
        self.len()
    }

    fn edit(&self, edits: &[Edit], encoding: Option<Charset>) -> Result<Result<Edited, RefusedEdit>, Error> {
        Ok(encoded::edit(self, encoding, edits))
    }

    fn spliced(&self, splices: &Splices) -> Result<Digest, Error> {
        let mut digester = Digester::new();
        let update = |chunk: &[u8]| {
            digester.update(chunk);
            Ok::<_, Error>(())
        };
        splices.in_chunks(self, HASHED_TOGETHER, update)?;
        Ok(digester.finish())
    }
}

/// Collects the changes of each target.
#[derive(Debug)]
pub struct Builder {
    fates: IndexVec<TargetIndex, TargetFate>,
}

/// One target and its change.
#[derive(Debug)]
struct TargetFate {
    target: Target,
    before: Option<FileState>,
    vacated_by: Option<FileIndex>,
    filled: Option<(FileIndex, New)>,
    /// The file of the request that makes a folder there.
    made_by: Option<FileIndex>,
}

impl Builder {
    /// A builder for these targets, which [`TargetIds`] count.
    #[must_use]
    pub fn new(targets: IndexVec<TargetIndex, Target>) -> Self {
        let fate = |target| TargetFate { target, before: None, vacated_by: None, filled: None, made_by: None };
        Self { fates: targets.into_iter().map(fate).collect() }
    }

    /// Records the state of a target. The state of each existing target must be recorded before
    /// [`finish`](Self::finish), and that of a file's subject before the file is added.
    pub fn saw(&mut self, target: TargetIndex, state: FileState) {
        self.fates[target].before = Some(state);
    }

    /// Records that a file of the request leaves a target. Call it for all files before the first is added: the path is
    /// free for others, wherever in the request they are.
    pub fn vacate(&mut self, target: TargetIndex, file: FileIndex) {
        self.fates[target].vacated_by = Some(file);
    }

    /// The new state of a target, as far as it is known.
    #[must_use]
    pub fn becomes(&self, target: TargetIndex) -> Option<&New> {
        self.fates[target].filled.as_ref().map(|(_, new)| new)
    }

    /// Adds one file of the request whose content, or that of its origin, is `base` (empty if it does not exist or is
    /// not needed). The caller has checked that the subject exists if it must, and that destinations are free.
    pub fn add(
        &mut self,
        file: FileIndex,
        request: &FileRequest,
        target_ids: TargetIds,
        base: &dyn Base,
    ) -> Result<Vec<Applied>, Error> {
        if let (Some(backup), Some(before)) = (target_ids.backup, self.fates[target_ids.subject].before) {
            let copy = Self::moved(target_ids.subject, before, None);
            self.fates[backup].filled = Some((file, copy));
        }
        let mut applied = Vec::new();
        let new = match &request.change {
            // What is given away is filled in by [`Self::take`].
            request::Change::Delete | request::Change::RemoveFolder | request::Change::Take { .. } => None,
            request::Change::Symlink { target, .. } => Some(self.linked(target_ids.subject, target)),
            request::Change::MakeFolder => {
                self.fates[target_ids.subject].made_by = Some(file);
                None
            }
            request::Change::Write { content, .. } => {
                let content =
                    encoded::content(content, request.encoding).map_err(|refused| refused.into_error(file))?;
                Some(self.written(target_ids.subject, &content, request.mode))
            }
            request::Change::Rename(_) | request::Change::Mode => {
                Some(Self::moved(target_ids.subject, self.present(target_ids.subject)?, request.mode))
            }
            request::Change::Edit { edits, .. } | request::Change::Copy { edits, .. } => {
                let edited = base.edit(edits, request.encoding)?.map_err(|refused| {
                    Error::new(refused.kind, refused.message).in_file(file).in_edit(refused.edit).detail(refused.detail)
                })?;
                applied = edited.applied;
                Some(match target_ids.origin {
                    Some(origin) => self.copied(origin, target_ids.subject, base, edited.splices, request.mode)?,
                    None => self.edited(target_ids.subject, base, edited.splices, request.mode)?,
                })
            }
        };
        if let Some(new) = new {
            self.fates[target_ids.destination.unwrap_or(target_ids.subject)].filled = Some((file, new));
        }
        Ok(applied)
    }

    fn present(&self, target: TargetIndex) -> Result<FileState, Error> {
        let TargetFate { target: Target { path, .. }, before, .. } = &self.fates[target];
        before.ok_or_else(|| Error::new(ErrorKind::FileNotFound, format!("{path} is not there")).at(path.as_path()))
    }

    /// The same content, elsewhere or with another mode.
    fn moved(from: TargetIndex, before: FileState, mode: Option<Mode>) -> New {
        let source = SourceId::from(from);
        New {
            state: FileState { mode: mode.map_or(before.mode, |mode| mode.of(before.mode)), ..before },
            content: NewContent::Spliced(source, Splices::none()),
            metadata_of: Some(source),
            keeps_time: true,
        }
    }

    fn edited(&self, from: TargetIndex, base: &dyn Base, splices: Splices, mode: Option<Mode>) -> Result<New, Error> {
        let before = self.present(from)?;
        if splices.is_empty() {
            return Ok(Self::moved(from, before, mode));
        }
        let size = splices.new_len(base.size()) as u64;
        let mode = mode.map_or(before.mode, |mode| mode.of(before.mode));
        let state = FileState { digest: base.spliced(&splices)?, size, mode, ..before };
        let source = SourceId::from(from);
        Ok(New { state, content: NewContent::Spliced(source, splices), metadata_of: Some(source), keeps_time: false })
    }

    /// A new file with the changed content of another. It is executable if that one is.
    fn copied(
        &self,
        from: TargetIndex,
        to: TargetIndex,
        base: &dyn Base,
        splices: Splices,
        mode: Option<Mode>,
    ) -> Result<New, Error> {
        let New { state, content, keeps_time, .. } = self.edited(from, base, splices, None)?;
        let target = &self.fates[to].target;
        let mode = mode.unwrap_or(Mode::Executable(state.mode & 0o111 != 0)).of(target.new_mode);
        let state = FileState { mode, access: target.new_access, ..state };
        Ok(New { state, content, metadata_of: None, keeps_time })
    }

    /// A whole new content. A file that stays in place keeps its mode and attributes.
    fn written(&self, at: TargetIndex, content: &[u8], mode: Option<Mode>) -> New {
        let fate = &self.fates[at];
        let stays = fate.before.filter(|_| fate.vacated_by.is_none());
        let (usual, access) = match stays {
            Some(before) => (before.mode, before.access),
            None => (fate.target.new_mode, fate.target.new_access),
        };
        let mode = mode.map_or(usual, |mode| mode.of(usual));
        let state = FileState { digest: Digest::of(content), size: content.len() as u64, mode, access };
        let metadata_of = stays.map(|_| SourceId::from(at));
        New { state, content: NewContent::Bytes(content.to_vec()), metadata_of, keeps_time: false }
    }

    /// Records that a file of the request puts one that is given away, `source`, at its subject.
    pub fn take(&mut self, file: FileIndex, at: TargetIndex, (source, state): (SourceId, FileState)) {
        let content = NewContent::Held(source);
        self.fates[at].filled = Some((file, New { state, content, metadata_of: Some(source), keeps_time: true }));
    }

    /// A symlink. It belongs to whom the file or symlink in its place belonged to, and has no other metadata.
    fn linked(&self, at: TargetIndex, to: &[u8]) -> New {
        let fate = &self.fates[at];
        let stays = fate.before.filter(|_| fate.vacated_by.is_none());
        let access = stays.map_or(fate.target.new_access, |before| before.access);
        let access = access.map(|access| Access { attributes: None, ..access });
        let state = FileState { digest: Digest::of(to), size: to.len() as u64, mode: LINK_MODE, access };
        let metadata_of = stays.map(|_| SourceId::from(at));
        New { state, content: NewContent::Bytes(to.to_vec()), metadata_of, keeps_time: false }
    }

    /// The plan in normal form. Entries without an effect are dropped.
    pub fn finish(self) -> Result<Plan, Error> {
        let mut folders = BTreeSet::new();
        // A folder in one that makes way for a file may be removed by an entry of its own as well.
        let mut emptied = BTreeMap::new();
        let entry = |TargetFate { target, before, vacated_by, filled, made_by }: TargetFate| {
            if let Some(file) = made_by {
                folders.extend(target.missing.iter().chain([&target.path]).map(|path| (path.clone(), Some(file))));
            }
            let (asked_by, change) = match (before, filled, vacated_by) {
                (None, Some((file, new)), _) if target.within.is_some() => {
                    for path in target.within.into_iter().flatten() {
                        emptied.entry(path).or_insert(Some(file));
                    }
                    (file, PlannedChange::FolderToFile(new))
                }
                (None, None, Some(file)) if target.within.is_some() => {
                    emptied.insert(target.path, Some(file));
                    return None;
                }
                (None, Some((file, new)), _) => {
                    folders.extend(target.missing.into_iter().map(|path| (path, Some(file))));
                    (file, PlannedChange::Create(new))
                }
                (Some(before), Some((file, new)), _) if new.state != before => (file, PlannedChange::Edit(before, new)),
                (Some(before), None, Some(file)) => (file, PlannedChange::Delete(before)),
                _ => return None,
            };
            Some(Entry { path: target.path, change, asked_by: Some(asked_by) })
        };
        // The standard library reuses the memory of the fates, but keeps all of it.
        let mut entries: Vec<Entry> = self.fates.into_iter().filter_map(entry).collect();
        entries.extend(emptied.into_iter().map(removed));
        entries.shrink_to_fit();
        Plan::assemble(folders, entries)
    }
}

/// The entry of a folder that is removed together with the one above it.
pub(crate) fn removed((path, asked_by): (RelPath, Option<FileIndex>)) -> Entry {
    Entry { path, change: PlannedChange::RemoveFolder, asked_by }
}

impl Plan {
    /// Puts new folders first, parents before children, and removed ones last, children before parents; refuses a path
    /// that would be both a folder and a file.
    pub(crate) fn assemble(
        folders: BTreeSet<(RelPath, Option<FileIndex>)>,
        mut files: Vec<Entry>,
    ) -> Result<Self, Error> {
        put_leaving_last(&mut files);
        if folders.is_empty() {
            return Ok(Self { entries: files.into() });
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(folders.len() + files.len());
        for (path, asked_by) in folders {
            if entries.last().is_none_or(|last| last.path != path) {
                entries.push(Entry { path, change: PlannedChange::Folder, asked_by });
            }
        }
        let index: HashMap<RelPath, usize> =
            entries.iter().enumerate().map(|(at, entry)| (entry.path.clone(), at)).collect();
        // A file that is removed makes room for a folder of its name.
        files.retain(|file| match (index.get(&file.path), &file.change) {
            (Some(&at), PlannedChange::Delete(before)) => {
                entries[at].change = PlannedChange::FileToFolder(*before);
                false
            }
            _ => true,
        });
        if let Some(clash) = files.iter().find(|entry| index.contains_key(&entry.path)) {
            let error = Error::new(ErrorKind::NotARegularFile, clash_of(clash, &entries, &files));
            return Err(error.at(clash.path.as_path()).asked_by(clash.asked_by));
        }
        entries.append(&mut files);
        Ok(Self { entries: entries.into() })
    }
}

/// Why a path cannot be both a folder, for one of `folders` or `files`, and what an entry puts there.
fn clash_of(clash: &Entry, folders: &[Entry], files: &[Entry]) -> String {
    let path = &clash.path;
    let is_link =
        matches!(&clash.change, PlannedChange::Create(new) | PlannedChange::Edit(_, new) if new.state.is_link());
    let within = |entry: &&Entry| entry.path != *path && entry.path.as_path().starts_with(path.as_path());
    // What is deepest, files first, is what was asked for.
    let beneath = files.iter().find(within).or_else(|| folders.iter().rev().find(within));
    match beneath.filter(|_| is_link) {
        Some(beneath) => format!(
            "{} would be beneath {path}, where the request puts a symlink: give its path without the symlink, or send \
             two requests",
            beneath.path
        ),
        None => format!("{path} would be a file and a folder at once: name another file"),
    }
}

/// The content of a folder must be moved out before the folder is removed.
fn put_leaving_last(files: &mut [Entry]) {
    let rank = |entry: &Entry| match entry.change {
        PlannedChange::RemoveFolder => 1,
        PlannedChange::FolderToFile(_) => 2,
        _ => 0,
    };
    if files.iter().any(|entry| rank(entry) > 0) {
        files.sort_by(|a, b| {
            rank(a).cmp(&rank(b)).then_with(|| match rank(a) {
                1 => b.path.cmp(&a.path),
                _ => Ordering::Equal,
            })
        });
    }
}

#[cfg(test)]
mod tests;
