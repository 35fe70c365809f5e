//! The folders that a revert removes by entries of its own, so that a redo makes them again as they were.
//!
//! All others that a transaction had made are tidied away behind the commit, where they are empty.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use super::paths::RevertedPaths;
use super::reversal::Reversal;
use crate::engine::Engine;
use crate::engine::history::made_folders::{Made, made_again};
use crate::engine::store::state::StateFolder;
use crate::error::Result;
use crate::fs::{FileKind, Name, Stat};
use crate::identity::Identity;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::{Record, RecordedChange};
use crate::path::RelPath;

/// The made folders that go by entries of their own.
pub(super) type Going = BTreeSet<PathBuf>;

impl Engine {
    /// Of the folders that were made and are still the same: those that nothing else was put into, since a redo of the
    /// files would not make them again, those that have another mode than their folder gives, and all beneath these.
    pub(super) fn going_folders(&self, reversal: &Reversal<'_>, state: &StateFolder) -> Result<Going> {
        let entries = &reversal.entries;
        let mut there = Vec::new();
        // What a redo makes, with the folders that it needs for that.
        let mut used = HashSet::new();
        for (entry, record) in entries.numbered() {
            let path = &record.path;
            if matches!(record.change, RecordedChange::Folder { .. }) {
                let Some((stat, usual)) = self.made_folder(path)? else { continue };
                there.push((entry, path, stat, usual));
            }
            used.extend(path.as_path().ancestors().skip(1));
        }
        let mut going = Going::new();
        let mut again = HashMap::new();
        // Parents come before their children.
        for (entry, path, stat, usual) in there {
            let is_beneath = path.as_path().ancestors().skip(1).any(|above| going.contains(above));
            let is_special = !used.contains(path.as_path()) || stat.mode != usual;
            if !is_beneath && !is_special {
                continue;
            }
            if is_made(reversal, state, entry, &stat.identity, &mut again)? {
                going.insert(path.as_path().to_owned());
            }
        }
        Ok(going)
    }

    /// The folder at a path, with the mode that the one above it gives to a new one; `None` where there is none.
    fn made_folder(&self, path: &RelPath) -> Result<Option<(Stat, u32)>> {
        let Some(parent) = self.workspace.find_folder(&self.workspace.root, path.parent())? else { return Ok(None) };
        let stat = self.workspace.stat(Name::new(&parent, path.name()))?;
        let Some(stat) = stat.filter(|stat| stat.kind == FileKind::Folder) else { return Ok(None) };
        Ok(Some((stat, self.workspace.inherited(&parent, true)?.mode)))
    }
}

/// Returns whether a folder was made by a transaction that is reverted, or again since, by a redo of it; `again` keeps
/// what was found out about that.
fn is_made(
    reversal: &Reversal<'_>,
    state: &StateFolder,
    entry: EntryIndex,
    there: &Identity,
    again: &mut HashMap<usize, Made>,
) -> Result<bool> {
    let steps = reversal.steps(entry);
    if steps.iter().any(|step| reversal.record(*step).change.folder_after() == Some(there)) {
        return Ok(true);
    }
    let path = reversal.entries[entry].path.as_path();
    for step in steps.iter() {
        let again = match again.entry(step.part) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(unknown) => unknown.insert(made_again(state, &reversal.part(*step).journal)?),
        };
        if again.contains(&(path.to_owned(), *there)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lets the folders stay in which something is that stays; returns that.
pub(super) fn leave_filled(entries: &IndexVec<EntryIndex, Record>, places: &mut RevertedPaths) -> Vec<PathBuf> {
    let created = entries.iter().filter(|record| matches!(record.change, RecordedChange::Create { .. }));
    let mut going: HashSet<&RelPath> = created.map(|record| &record.path).collect();
    let mut left = Vec::new();
    // Children before parents: one that stays is in the way of those above it.
    for (entry, record) in entries.numbered().collect::<Vec<_>>().into_iter().rev() {
        let RecordedChange::Folder { .. } = record.change else { continue };
        let Some(within) = &places[entry].within else { continue };
        match within.iter().find(|(path, _)| !going.contains(path)) {
            None => drop(going.insert(&record.path)),
            Some((path, _)) => {
                left.push(path.as_path().to_owned());
                places[entry].within = None;
            }
        }
    }
    left
}
