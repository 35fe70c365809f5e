//! Locks the folders of an interrupted transaction's targets where they are now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::engine::store::lock::{Locks, Patience};
use crate::engine::store::parts::PartFolder;
use crate::engine::store::state::{Section, StateFolder};
use crate::error::Result;
use crate::fs::{Handle, Stat};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::{Journal, out_name, slot_name};

/// Where an interrupted transaction is: its folder, whose lock comes last, is not open.
#[derive(Clone, Copy)]
pub(super) struct TransactionPlace<'a> {
    pub state: &'a StateFolder,
    pub id: &'a str,
    pub parts: &'a [PartFolder],
}

/// The folders of the targets, by their path in the workspace.
pub(super) type FoundParents = HashMap<PathBuf, (Identity, Handle)>;

/// Locks the folders of all targets and all folders that the transaction makes, then verifies that they are still where
/// they were.
pub(super) fn lock_targets(
    at: TransactionPlace<'_>,
    journal: &Journal,
    patience: Patience<'_>,
) -> Result<(Locks, FoundParents)> {
    let state = at.state;
    loop {
        let before = open_parents(at, journal)?;
        let found: HashMap<PathBuf, Stat> =
            before.iter().map(|(path, (stat, _))| (path.clone(), stat.clone())).collect();
        let parents = before.iter();
        let parents = parents.map(|(path, (stat, folder))| (path.clone(), (stat.identity, folder.clone()))).collect();
        let locks = Locks::acquire(&state.workspace, before.into_values().collect(), patience)?;
        if are_there(at, journal, &found)? {
            return Ok((locks, parents));
        }
        drop((locks, parents));
        patience.pause(state.workspace.root.path())?;
    }
}

/// The folders of the targets that are there, without their locks: nothing is to be done in them.
pub(super) fn found_parents(at: TransactionPlace<'_>, journal: &Journal) -> Result<FoundParents> {
    let found = open_parents(at, journal)?;
    Ok(found.into_iter().map(|(path, (stat, folder))| (path, (stat.identity, folder))).collect())
}

/// Opens the folder of each target that is there: at its path, or still in its slot.
fn open_parents(at: TransactionPlace<'_>, journal: &Journal) -> Result<HashMap<PathBuf, (Stat, Handle)>> {
    let mut open = HashMap::new();
    each_parent(at, journal, |path, stat, handle| {
        open.insert(path.to_owned(), (stat, handle));
    })?;
    Ok(open)
}

/// Returns whether the folders are those that were found. One is opened at a time: twice as many handles as are locked
/// may be too many.
fn are_there(at: TransactionPlace<'_>, journal: &Journal, found: &HashMap<PathBuf, Stat>) -> Result<bool> {
    let mut there = HashMap::new();
    each_parent(at, journal, |path, stat, _| {
        there.insert(path.to_owned(), stat.identity);
    })?;
    Ok(there.len() == found.len()
        && there.iter().all(|(path, identity)| found.get(path).is_some_and(|stat| stat.identity == *identity)))
}

/// Opens the folder of each target, one after the other.
fn each_parent(at: TransactionPlace<'_>, journal: &Journal, mut found: impl FnMut(&Path, Stat, Handle)) -> Result<()> {
    let TransactionPlace { state, id, parts } = at;
    let mut add = |path: &Path, handle: Option<Handle>| -> Result<()> {
        if let Some(handle) = handle {
            let stat = state.workspace.stat_handle(&handle)?;
            found(path, stat, handle);
        }
        Ok(())
    };
    for record in &journal.entries {
        let parent = record.path.parent();
        add(parent, state.workspace.find_folder(&state.workspace.root, parent)?)?;
    }
    // On its way between target and slot it may have neither name.
    let own_places = |entry: EntryIndex| {
        [slot_name(entry), out_name(entry)].map(|name| match journal.header.part_of(&journal.entries[entry].path) {
            Some(part) => (&parts[part].folder, PathBuf::from(name)),
            None => (&state.folder, Path::new(Section::Transactions.name()).join(id).join(name)),
        })
    };
    for (index, record) in journal.entries.numbered() {
        if record.change.folder_after().is_none() {
            continue;
        }
        let path = record.path.as_path();
        let mut handle = state.workspace.find_folder(&state.workspace.root, path)?;
        for (base, place) in own_places(index) {
            if handle.is_none() {
                handle = state.workspace.find_folder(base, place)?;
            }
        }
        add(path, handle)?;
    }
    let mut places: HashMap<&Path, (&Handle, PathBuf)> = HashMap::new();
    // FoundParents first: a folder that was removed took what is in it along.
    for (index, record) in journal.entries.numbered().rev() {
        let Some(original) = record.change.folder_before() else { continue };
        let path = record.path.as_path();
        let at_target = match places.get(record.path.parent()) {
            Some((base, parent)) => (*base, parent.join(record.path.name())),
            None => (&state.workspace.root, path.to_owned()),
        };
        let [slot, out] = own_places(index);
        for (base, place) in [at_target, slot, out] {
            let Some(folder) = state.workspace.find_folder(base, &place)? else { continue };
            let stat = state.workspace.stat_handle(&folder)?;
            if stat.identity == *original {
                places.insert(path, (base, place));
                add(path, Some(folder))?;
                break;
            }
        }
    }
    Ok(())
}
