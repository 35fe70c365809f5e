//! The folders that are a transaction's, although others made them again.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::history;
use crate::commit::protocol::PlacedFolders;
use crate::engine::store::state::StateFolder;
use crate::error::Result;
use crate::identity::Identity;
use crate::journal::{Journal, Record};

/// The folders that were made again: by undoing an undo of `reverted`, or by undoing a transaction that had removed one
/// of its folders, or had put a file in its place. If several were undone together, one of them may have made the folder
/// that stays: it is the older one's now.
pub(crate) fn made_again(state: &StateFolder, reverted: &Journal) -> Result<PlacedFolders> {
    let mut made: PlacedFolders = reverted.entries.iter().filter_map(made_by).collect();
    let paths: HashSet<PathBuf> = made.iter().map(|(path, _)| path.clone()).collect();
    // The folders that other transactions made at these paths.
    let mut made_there: HashMap<String, Vec<(PathBuf, Identity)>> = HashMap::new();
    let mut same = HashSet::from([reverted.header.id.clone()]);
    let mut undos = HashSet::new();
    // The transactions that removed one of the folders, with its path.
    let mut takers: HashSet<(String, PathBuf)> = HashSet::new();
    // Oldest first: a transaction is older than its undo.
    for loaded in history(state)? {
        let journal = loaded?.journal;
        let taken = journal.entries.iter().filter_map(taken_by).filter(|folder| made.contains(folder));
        takers.extend(taken.map(|(path, _)| (journal.header.id.clone(), path)));
        let there = journal.entries.iter().filter_map(made_by).filter(|(path, _)| paths.contains(path));
        let there: Vec<_> = there.collect();
        let (id, reverts) = (journal.header.id, journal.header.reverts);
        let is_redo = reverts.iter().any(|it| undos.contains(it));
        if reverts.iter().any(|it| same.contains(it)) {
            undos.insert(id.clone());
        } else if is_redo {
            same.insert(id.clone());
        }
        let gives_back = |path: &PathBuf| reverts.iter().any(|it| takers.contains(&(it.clone(), path.clone())));
        let of_reverted = reverts.iter().filter_map(|it| made_there.get(it)).flatten();
        made.extend(of_reverted.chain(&there).filter(|(path, _)| is_redo || gives_back(path)).cloned());
        if !there.is_empty() {
            made_there.insert(id, there);
        }
    }
    Ok(made)
}

/// The folder that an entry makes.
fn made_by(record: &Record) -> Option<(PathBuf, Identity)> {
    let staged = record.change.folder_after()?;
    Some((record.path.as_path().to_owned(), *staged))
}

/// The folder that an entry removes.
fn taken_by(record: &Record) -> Option<(PathBuf, Identity)> {
    let original = record.change.folder_before()?;
    Some((record.path.as_path().to_owned(), *original))
}
