//! Removes the empty folders that a reverted transaction had made.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use super::folders_before::FoldersBefore;
use super::{history, load};
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::state::StateFolder;
use crate::errno::{self, Errno};
use crate::error::Result;
use crate::fs::{Handle, Name};
use crate::identity::Identity;
use crate::journal::{Journal, Record, RecordedChange};

/// The result of removing the folders that a reverted transaction had made.
#[derive(Debug, Default)]
pub(crate) struct Tidied {
    /// The folders that the removed ones were in, by their paths in the workspace.
    pub folders: BTreeMap<PathBuf, Handle>,
    /// Warnings about the folders that stay.
    pub warnings: Vec<String>,
}

/// The result of removing one folder.
enum Removed {
    /// It is removed; this is the folder that it was in.
    From(Handle),
    IsGone,
    IsNotOurs,
    /// It is still there; the error says why.
    Stays(std::io::Error),
}

/// Folders, by path and identity.
pub(crate) type Made = HashSet<(PathBuf, Identity)>;

impl TransactionFolder<'_> {
    /// Removes the folders that the reverted transaction had made, children first, if they are empty and still the
    /// same. A folder that stays does no harm: a failure is a warning and not worth a rollback.
    pub(crate) fn tidy(&self) -> Tidied {
        let mut tidied = Tidied::default();
        let mut reverted = Vec::new();
        for id in &self.journal.header.reverts {
            let why = match load(self.state, id) {
                Ok(Some(loaded)) => {
                    reverted.push(loaded);
                    continue;
                }
                Ok(None) => "its journal cannot be read".to_owned(),
                Err(error) => error.message().to_owned(),
            };
            tidied.warnings.push(format!("folders that {id} had made are left: {why}"));
        }
        let before = FoldersBefore::of(reverted.iter().rev().map(|loaded| &loaded.journal));
        // Of nested folders only the innermost that stays is reported: the ones above it cannot go either.
        let mut left = Vec::new();
        for loaded in &reverted {
            self.tidy_after(&loaded.journal, &before, &mut tidied, &mut left);
        }
        self.give_back(&reverted, &mut tidied);
        tidied
    }

    /// The same for one of the reverted transactions; `left` are the folders that stay. What was a folder before all of
    /// them is not theirs, though one of them made it again.
    fn tidy_after(&self, reverted: &Journal, before: &FoldersBefore<'_>, tidied: &mut Tidied, left: &mut Vec<PathBuf>) {
        let is_one_of_several = self.journal.header.reverts.len() > 1;
        // Made again by a redo, or by the undo of a transaction that had put a file in their place.
        let again = OnceCell::new();
        let is_ours = |record: &Record, staged: &Identity, there: &Identity| {
            let is_again = |made: &Made| made.contains(&(record.path.as_path().to_owned(), *there));
            there == staged || again.get_or_init(|| made_again(self.state, reverted)).as_ref().is_ok_and(is_again)
        };
        for record in reverted.entries.iter().rev() {
            let staged = match &record.change {
                RecordedChange::Folder { staged } => staged,
                // An older one of them had made the file that was there, so that there is none to be put back.
                RecordedChange::FileToFolder { staged, .. } if is_one_of_several => staged,
                _ => continue,
            };
            let path = record.path.as_path();
            if before.had(path) || left.iter().any(|inner| inner.starts_with(path)) {
                continue;
            }
            let told = |how: &str, why: &str| {
                let path = self.workspace().root.path().join(path);
                format!("{} {how}, which the undone transaction had made: {why}", path.display())
            };
            match self.remove_empty(record, |there| is_ours(record, staged, there)) {
                Ok(Removed::From(parent)) => {
                    // A removed folder needs no sync, though it was recorded as a parent before.
                    tidied.folders.remove(path);
                    tidied.folders.insert(record.path.parent().to_owned(), parent);
                }
                Ok(Removed::IsNotOurs) => {
                    if let Some(Err(error)) = again.get() {
                        let path = self.workspace().root.path().join(path);
                        let path = path.display();
                        tidied.warnings.push(format!("{path} stays, which a redo may have made: {}", error.message()));
                    }
                }
                Ok(Removed::IsGone) => {}
                Ok(Removed::Stays(error)) => {
                    let why = match errno::of(&error) {
                        Some(Errno::NOTEMPTY | Errno::EXIST) => "it is not empty".to_owned(),
                        _ => error.to_string(),
                    };
                    tidied.warnings.push(told("stays", &why));
                    left.push(path.to_owned());
                }
                // It could not be examined: it may be gone.
                Err(error) => {
                    tidied.warnings.push(told("may be left", &error.to_string()));
                    left.push(path.to_owned());
                }
            }
        }
    }

    /// Removes a folder if it is there and ours.
    fn remove_empty(&self, record: &Record, is_ours: impl FnOnce(&Identity) -> bool) -> std::io::Result<Removed> {
        let folder = record.path.parent();
        let parent = match self.parents.get(folder) {
            Some((_, parent)) => parent.clone(),
            None => match self.workspace().fs().open_beneath(&self.workspace().root, folder) {
                Err(e) if errno::is_missing(&e) => return Ok(Removed::IsGone),
                other => other?,
            },
        };
        let name = Name::new(&parent, record.path.name());
        match self.workspace().fs().stat(name)? {
            None => return Ok(Removed::IsGone),
            Some(stat) if !is_ours(&stat.identity) => return Ok(Removed::IsNotOurs),
            Some(_) => {}
        }
        match self.workspace().fs().remove_folder(name) {
            // Whatever the call returned, a folder that is gone was removed.
            Err(e) if self.workspace().fs().stat(name)?.is_some() => Ok(Removed::Stays(e)),
            _ => Ok(Removed::From(parent)),
        }
    }
}

/// The folders that were made again: by undoing an undo of `reverted`, or by undoing a transaction that had removed one
/// of its folders, or had put a file in its place. If several were undone together, one of them may have made the folder
/// that stays: it is the older one's now.
pub(crate) fn made_again(state: &StateFolder, reverted: &Journal) -> Result<Made> {
    let mut made: Made = reverted.entries.iter().filter_map(made_by).collect();
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
