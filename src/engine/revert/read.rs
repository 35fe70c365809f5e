//! Reads what a revert needs: the files that are there now, and the originals of the transactions.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use super::paths::RevertedPaths;
use super::reversal::Reversal;
use super::walk_back::WalkedBack;
use crate::engine::history::folders_before::removed_metadata;
use crate::engine::history::late_writes;
use crate::engine::history::path_history::PathHistory;
use crate::engine::store::folder::name_of_original;
use crate::engine::store::snapshot::{self, ReadMode, Snapshot};
use crate::engine::transaction::prepare::lock_targets::Parents;
use crate::engine::transaction::prepare::prepared::{SourceFile, Sources};
use crate::engine::transaction::prepare::resolve::ResolvedPath;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{FileKind, Metadata, Name};
use crate::index::{EntryIndex, IndexVec};
use crate::journal::original_name;
use crate::journal::reverse::PresentTarget;
use crate::path::RelPath;
use crate::plan::SourceId;

/// The files that are at the paths of the transactions now.
pub(super) struct PresentFiles {
    pub(super) targets: IndexVec<EntryIndex, PresentTarget>,
    /// The number of the change where the way back of each ends, if it does not lead to the end.
    pub(super) stuck: IndexVec<EntryIndex, Option<usize>>,
    pub(super) snapshots: HashMap<RelPath, Option<Arc<Snapshot>>>,
}

/// The problem of an original that is not as it was read.
const WRITTEN_LATE: &str = "was written after the commit, by a program that still had it open";

/// The problem of a slot that has another file than the original.
const CAPTURED: &str = "is not the original: another program had replaced the file before it was swapped, and a recovery \
                        finished the transaction nevertheless; copy from it what is missing";

impl Engine {
    /// Reads the target of each entry.
    pub(super) fn present(
        &self,
        reversal: &Reversal<'_>,
        pasts: &[PathHistory<'_>],
        (places, parents): (&RevertedPaths, &Parents),
        rebase: bool,
        run: Run<'_>,
    ) -> Result<PresentFiles> {
        let mut present =
            PresentFiles { targets: IndexVec::default(), stuck: IndexVec::default(), snapshots: HashMap::new() };
        for (entry, record) in reversal.entries.numbered() {
            let place = &places[entry];
            let mut snapshot = self.snapshot_of(&record.path, place, parents, run)?;
            // As many handles as a process may have open would not do for all.
            if let Some(snapshot) = snapshot.as_mut().filter(|_| places.len() > self.workspace.protocol.sync_each_up_to)
            {
                snapshot.file = None;
            }
            let state = snapshot.as_ref().map(Snapshot::state);
            let WalkedBack { left, carried, stuck } = self.walk_back(reversal, pasts, entry, state, rebase, run)?;
            present.targets.push(PresentTarget {
                state,
                left,
                obstructed: place.stat.is_some() && state.is_none(),
                is_folder: place.path == record.path
                    && place.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Folder),
                missing: place.missing.clone(),
                within: place.folders_within(),
                carried,
                // The file itself may be as the newest of them left it.
                between: stuck.is_some_and(|step| step > 0),
            });
            present.stuck.push(stuck);
            present.snapshots.insert(place.path.clone(), snapshot.map(Arc::new));
        }
        Ok(present)
    }

    /// The file that is now at the path of an entry.
    fn snapshot_of(
        &self,
        path: &RelPath,
        place: &ResolvedPath,
        parents: &Parents,
        run: Run<'_>,
    ) -> Result<Option<Snapshot>> {
        let Some(stat) = &place.stat else { return Ok(None) };
        if !matches!(stat.kind, FileKind::File | FileKind::Symlink) || place.path != *path {
            // A folder that the transaction made, or a symlink in the place of a folder on the way.
            return Ok(None);
        }
        let (_, folder) = &parents[place.folder()];
        let name = Name::new(folder, path.name());
        let (snapshot, _) = snapshot::read(&self.workspace, name, stat, ReadMode::Nothing, run.cancel)?;
        Ok(Some(snapshot))
    }

    /// Verifies that the file at a place may be replaced. A file that is as the transaction left it may be
    /// read-only: the transaction made it so, or found it so.
    pub(super) fn check_restorable(&self, place: &ResolvedPath, now: &PresentTarget, parents: &Parents) -> Result<()> {
        let path = || self.workspace.root.path().join(place.path.as_path());
        let (folder_stat, folder) = &parents[place.folder()];
        match &place.stat {
            Some(stat) if matches!(stat.kind, FileKind::File | FileKind::Symlink) => {
                let name = Name::new(folder, place.path.name());
                let user = self.workspace.host()?.user;
                let checked = match now.carried {
                    Some(_) => {
                        snapshot::check_target(&self.workspace, user, name, stat, folder_stat, self.may_overwrite())
                    }
                    None => snapshot::check_replaceable(user, name, stat, folder_stat, self.may_overwrite()),
                };
                checked.map_err(|error| match error.kind() {
                    ErrorKind::MountPoint => error.with_next([NextStep::Overwrite]),
                    _ => error,
                })
            }
            _ => snapshot::check_folder(path, folder_stat),
        }
    }

    /// The sources of an undo's plan: originals, and current contents into which the undo is merged.
    pub(super) fn sources(
        &self,
        reversal: &Reversal<'_>,
        present: &PresentFiles,
        parents: &Parents,
        run: Run<'_>,
    ) -> Result<Sources> {
        let mut sources = self.originals(reversal, run)?;
        for (entry, record) in reversal.entries.numbered() {
            let is_carried = present.targets[entry].carried.is_some();
            let Some(Some(snapshot)) = present.snapshots.get(&record.path).filter(|_| is_carried) else { continue };
            let (_, folder) = &parents[record.path.parent()];
            let path = record.path.clone();
            let source =
                SourceFile { folder: folder.clone(), path, snapshot: snapshot.clone(), bytes: None, is_used_up: false };
            sources.insert(SourceId::from(entry), source);
        }
        Ok(sources)
    }

    /// The originals in the slots of the transactions, verified: an undo stages copies of them.
    fn originals(&self, reversal: &Reversal<'_>, run: Run<'_>) -> Result<Sources> {
        let mut sources = Sources::default();
        let mut copies = HashMap::new();
        for (entry, record) in reversal.entries.numbered() {
            let Some(before) = record.change.before() else { continue };
            let oldest = reversal.oldest(entry);
            let (loaded, entry_there) = (reversal.part(oldest), oldest.entry);
            let of_part = match copies.entry(oldest.part) {
                MapEntry::Occupied(known) => known.into_mut(),
                MapEntry::Vacant(unknown) => unknown.insert(loaded.copied(&self.workspace)?),
            };
            let is_copied = of_part.contains(&entry_there);
            let folder = loaded.slots_of(&self.workspace, entry_there)?;
            let slot = if is_copied {
                original_name(entry_there)
            } else {
                name_of_original(&self.workspace, folder, &loaded.journal, entry_there)?
            };
            let name = Name::new(folder, &slot);
            let path = name.path();
            let damaged = |why: &str| {
                let message = format!("the original of {} in {} {why}", record.path, path.display());
                Error::new(ErrorKind::UndoConflict, message).at(record.path.as_path())
            };
            let stat = self.workspace.stat(name)?;
            let kind = if before.is_link() { FileKind::Symlink } else { FileKind::File };
            let stat = stat.filter(|stat| stat.kind == kind).ok_or_else(|| damaged("is gone"))?;
            let stat = Arc::new(stat);
            let (mut snapshot, _) = snapshot::read(&self.workspace, name, &stat, ReadMode::Nothing, run.cancel)?;
            if snapshot.digest != before.digest {
                let record = reversal.record(oldest);
                let is_captured = !is_copied && late_writes::is_captured(&self.workspace, folder, record, &stat)?;
                return Err(damaged(if is_captured { CAPTURED } else { WRITTEN_LATE }));
            }
            if reversal.entries.len() > self.workspace.protocol.sync_each_up_to {
                snapshot.file = None;
            }
            let source = SourceFile {
                folder: folder.clone(),
                path: RelPath::new(&slot).unwrap_or_else(|_| unreachable!("a slot has a name")),
                snapshot: Arc::new(snapshot),
                bytes: None,
                is_used_up: false,
            };
            sources.insert(SourceId::from(entry), source);
        }
        Ok(sources)
    }

    /// The metadata of the folders that the transactions removed.
    pub(super) fn folder_metadata(&self, reversal: &Reversal<'_>) -> Result<HashMap<RelPath, Metadata>> {
        let mut folder_metadata = HashMap::new();
        for (entry, record) in reversal.entries.numbered() {
            if record.change.folder_before().is_none() {
                continue;
            }
            let oldest = reversal.oldest(entry);
            let metadata = removed_metadata(&self.workspace, reversal.part(oldest), oldest.entry)?;
            folder_metadata.insert(record.path.clone(), metadata);
        }
        Ok(folder_metadata)
    }
}
