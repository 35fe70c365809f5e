//! The folders that a revert removes, by entries of their own: so a redo, or the undo of several, makes them again as they
//! were.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::paths::RevertedPaths;
use super::reversal::Reversal;
use crate::commit::protocol::PlacedFolders;
use crate::engine::Engine;
use crate::engine::history::folders_before::metadata_of;
use crate::engine::history::made_folders::made_again;
use crate::engine::store::state::StateFolder;
use crate::error::Result;
use crate::fs::{FileKind, Metadata, Name, Stat};
use crate::identity::Identity;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::reverse::PresentTarget;
use crate::journal::{Record, RecordedChange};
use crate::path::RelPath;

/// The folders that were made, are there and still the same.
#[derive(Debug, Default)]
pub(super) struct MadeFolders {
    /// Those that go.
    pub(super) going: BTreeSet<PathBuf>,
    /// Those that stay, each with something in it that stays.
    pub(super) filled: BTreeMap<PathBuf, PathBuf>,
    /// Folders of others in the places of those that were made, which would be left empty, or were asked for by themselves.
    pub(super) others: BTreeSet<PathBuf>,
    /// What is told about folders of which history does not tell whose they are; they stay.
    pub(super) unknown: Vec<String>,
}

impl Engine {
    /// Looks at the folders that the transactions made.
    pub(super) fn made_folders(&self, reversal: &Reversal<'_>, state: &StateFolder) -> Result<MadeFolders> {
        let mut again = HashMap::new();
        let mut made = MadeFolders::default();
        let created = reversal.entries.iter().filter(|record| matches!(record.change, RecordedChange::Create { .. }));
        let created: HashSet<&Path> = created.map(|record| record.path.as_path()).collect();
        let others = reversal.entries.iter().filter(|record| !matches!(record.change, RecordedChange::Folder { .. }));
        let mut used: HashSet<&Path> = others.flat_map(|record| record.path.as_path().ancestors().skip(1)).collect();
        // Children come after their parents.
        for (entry, record) in reversal.entries.numbered().collect::<Vec<_>>().into_iter().rev() {
            let RecordedChange::Folder { .. } = record.change else { continue };
            let path = record.path.as_path();
            let Some(stat) = self.folder_at(&record.path)? else { continue };
            let folder = self.workspace.open_beneath(&self.workspace.root, path)?;
            let stays = |path: &PathBuf| !created.contains(&**path) && !made.going.contains(path);
            let within = self.workspace.list(&folder)?;
            let inner = within.iter().map(|name| path.join(name)).find(stays);
            match (is_made(reversal, state, entry, &stat.identity, &mut again), inner) {
                (Ok(true), None) => drop(made.going.insert(path.to_owned())),
                (Ok(true), Some(inner)) => drop(made.filled.insert(path.to_owned(), inner)),
                (Ok(false), Some(_)) if used.contains(path) => {}
                (Ok(false), _) => drop(made.others.insert(path.to_owned())),
                (Err(error), _) => {
                    let path = self.root().join(path);
                    let told = format!("{} stays, which a redo may have made: {}", path.display(), error.message());
                    made.unknown.push(told);
                }
            }
            // Of folders, only one that is there: of a missing one nothing is undone.
            used.extend(path.ancestors().skip(1));
        }
        Ok(made)
    }

    /// What is told about folders that are to be given back, and were made again by others.
    pub(super) fn there_again(
        &self,
        reversal: &Reversal<'_>,
        now: &IndexVec<EntryIndex, PresentTarget>,
        before: &HashMap<RelPath, Metadata>,
    ) -> Result<Vec<String>> {
        let mut told = Vec::new();
        for (entry, record) in reversal.entries.numbered() {
            let RecordedChange::RemoveFolder { .. } = record.change else { continue };
            let path = record.path.as_path();
            if now[entry].is_folder
                && let Some(folder) = self.workspace.find_folder(&self.workspace.root, path)?
                && before.get(&record.path) != Some(&metadata_of(&self.workspace, &folder)?)
            {
                let path = self.root().join(path);
                let path = path.display();
                told.push(format!("{path} stays, as it is: it was made again, with another mode, owner or attributes"));
            }
        }
        Ok(told)
    }

    fn folder_at(&self, path: &RelPath) -> Result<Option<Stat>> {
        let Some(parent) = self.workspace.find_folder(&self.workspace.root, path.parent())? else { return Ok(None) };
        let stat = self.workspace.stat(Name::new(&parent, path.name()))?;
        Ok(stat.filter(|stat| stat.kind == FileKind::Folder))
    }
}

impl MadeFolders {
    /// Lets the folders stay in which something is by now that stays.
    pub(super) fn leave_filled(&mut self, entries: &IndexVec<EntryIndex, Record>, places: &mut RevertedPaths) {
        let created = entries.iter().filter(|record| matches!(record.change, RecordedChange::Create { .. }));
        let mut leaving: HashSet<&RelPath> = created.map(|record| &record.path).collect();
        // Children before parents: one that stays is in the way of those above it.
        for (entry, record) in entries.numbered().collect::<Vec<_>>().into_iter().rev() {
            let RecordedChange::Folder { .. } = record.change else { continue };
            let Some(within) = &places[entry].within else { continue };
            match within.iter().find(|(path, _)| !leaving.contains(path)) {
                None => drop(leaving.insert(&record.path)),
                Some((inner, _)) => {
                    self.going.remove(record.path.as_path());
                    self.filled.insert(record.path.as_path().to_owned(), inner.as_path().to_owned());
                    places[entry].within = None;
                }
            }
        }
    }

    /// What is told about those that stay.
    pub(super) fn warnings(&self, root: &Path) -> Vec<String> {
        let filled = self.innermost().map(|(folder, _)| {
            let folder = root.join(folder);
            format!("{} stays, which the undone transaction had made: it is not empty", folder.display())
        });
        let others = self.others.iter().map(|folder| {
            let folder = root.join(folder);
            format!("{} stays, which is not the folder that the undone transaction had made", folder.display())
        });
        filled.chain(others).chain(self.unknown.iter().cloned()).collect()
    }

    /// What is in the way of those that stay, and those of others.
    pub(super) fn in_the_way(&self) -> Vec<PathBuf> {
        self.innermost().map(|(_, inner)| inner).chain(&self.others).cloned().collect()
    }

    /// The innermost of those that stay: the ones above them cannot go either.
    fn innermost(&self) -> impl Iterator<Item = (&PathBuf, &PathBuf)> {
        // Those beneath a folder come right behind it.
        let next = self.filled.keys().skip(1).map(Some).chain([None]);
        let is_innermost =
            |((folder, _), next): &((&PathBuf, _), Option<&PathBuf>)| !next.is_some_and(|it| it.starts_with(folder));
        self.filled.iter().zip(next).filter(is_innermost).map(|(filled, _)| filled)
    }
}

/// Returns whether a folder was made by a transaction that is reverted, or again since, by a redo of it; `again` keeps
/// what was found out about that.
fn is_made(
    reversal: &Reversal<'_>,
    state: &StateFolder,
    entry: EntryIndex,
    there: &Identity,
    again: &mut HashMap<usize, PlacedFolders>,
) -> Result<bool> {
    let steps = reversal.steps(entry);
    if steps.iter().any(|step| reversal.record(*step).change.folder_after() == Some(there)) {
        return Ok(true);
    }
    let there = (reversal.entries[entry].path.as_path().to_owned(), *there);
    for step in steps.iter() {
        let again = match again.entry(step.part) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(unknown) => unknown.insert(made_again(state, &reversal.part(*step).journal)?),
        };
        if (state.workspace.protocol.is_made_again)(again, &there) {
            return Ok(true);
        }
    }
    Ok(false)
}
