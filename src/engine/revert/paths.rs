//! The paths of a revert, and what may not be in their place.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use crate::engine::transaction::prepare::lock_targets::Targets;
use crate::engine::transaction::prepare::request_paths::is_about_the_path;
use crate::engine::transaction::prepare::resolve::{LastLink, ResolvedPath};
use crate::error::{ErrorKind, Result};
use crate::fs::FileKind;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::reverse::conflict;
use crate::journal::{Record, RecordedChange};
use crate::path::{AskedPath, RelPath};

/// The paths of an undo: those that the transactions that it reverts have changed.
pub(super) struct RevertPaths<'a> {
    entries: &'a IndexVec<EntryIndex, Record>,
    going: &'a BTreeSet<PathBuf>,
    paths: Vec<AskedPath>,
}

impl<'a> RevertPaths<'a> {
    pub(super) fn of(entries: &'a IndexVec<EntryIndex, Record>, going: &'a BTreeSet<PathBuf>) -> Self {
        Self { entries, going, paths: entries.iter().map(|record| record.path.asked()).collect() }
    }

    /// Returns whether the folder at the path of an entry goes by an entry of the revert.
    fn removes(&self, record: &Record) -> bool {
        match record.change {
            RecordedChange::FileToFolder { .. } => true,
            RecordedChange::Folder { .. } => self.going.contains(record.path.as_path()),
            _ => false,
        }
    }
}

impl Targets for RevertPaths<'_> {
    /// What was changed is what is at the very path: a symlink in its place, or on the way to it, is another thing.
    fn paths(&self) -> impl Iterator<Item = (&AskedPath, LastLink)> {
        self.paths.iter().map(|path| (path, LastLink::KeepAll))
    }

    /// A path that cannot be reached, or leads elsewhere, was changed since and is a conflict; but not where the
    /// transaction put a file in the place of a folder, or a folder in the place of a file.
    fn accept(&self, found: Vec<Result<ResolvedPath>>) -> Result<Vec<ResolvedPath>> {
        let entries = self.entries;
        // One of several may have put the file there after the folder had gone without an entry of its own.
        let is_new = |record: &&Record| record.change.after().is_some() && record.change.before().is_none();
        let became_file = entries.iter().filter(is_new);
        let became_file: HashSet<&RelPath> = became_file.map(|record| &record.path).collect();
        let mut places = Vec::with_capacity(found.len());
        let mut conflicts = Vec::new();
        for ((found, path), record) in found.into_iter().zip(&self.paths).zip(entries) {
            match found {
                Ok(place) if place.obstacle.as_ref().is_some_and(|file| !became_file.contains(file)) => {
                    conflicts.push(path.to_path_buf());
                }
                Ok(mut place) => {
                    let is_folder = place.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Folder);
                    if is_folder && place.path == record.path && self.removes(record) {
                        place.make_way();
                    }
                    places.push(place);
                }
                Err(error) if error.kind() == ErrorKind::PathDenied => return Err(error),
                Err(error) if is_about_the_path(error.kind()) => conflicts.push(path.to_path_buf()),
                Err(error) => return Err(error),
            }
        }
        if conflicts.is_empty() { Ok(places) } else { Err(conflict(conflicts)) }
    }
}

/// The resolved path of each entry.
pub(super) type RevertedPaths = IndexVec<EntryIndex, ResolvedPath>;

/// Refuses to remove a folder into which another program has put something.
pub(super) fn refuse_filled(entries: &IndexVec<EntryIndex, Record>, places: &RevertedPaths) -> Result<()> {
    if places.iter().all(|place| place.within.is_none()) {
        return Ok(());
    }
    let created = entries.iter().filter(|record| matches!(record.change, RecordedChange::Create { .. }));
    let created: HashSet<&RelPath> = created.map(|record| &record.path).collect();
    let within = places.iter().flat_map(|place| place.within.iter().flatten());
    let left = within.filter(|(path, kind)| *kind != FileKind::Folder && !created.contains(path));
    let left: Vec<_> = left.map(|(path, _)| path.as_path().to_owned()).collect();
    if left.is_empty() { Ok(()) } else { Err(conflict(left)) }
}
