//! What was in the places of folders before several transactions, which together may have removed and made them again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Loaded;
use super::made_folders::{Tidied, made_again};
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::state::StateFolder;
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, Result};
use crate::fs::{Handle, Metadata};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::{Journal, slot_name};

/// Whether there was a folder before the oldest of some transactions: at each path that they changed, and above each.
#[derive(Debug)]
pub(crate) struct FoldersBefore<'a>(HashMap<&'a Path, bool>);

impl<'a> FoldersBefore<'a> {
    /// Before these transactions, oldest first.
    pub(crate) fn of(oldest_first: impl Iterator<Item = &'a Journal>) -> Self {
        let mut before = HashMap::new();
        for journal in oldest_first {
            for record in &journal.entries {
                before.entry(record.path.as_path()).or_insert(record.change.folder_before().is_some());
            }
            // What they need and was missing is an entry by itself; all other folders were there.
            for above in journal.entries.iter().flat_map(|record| record.path.as_path().ancestors().skip(1)) {
                before.entry(above).or_insert(true);
            }
        }
        Self(before)
    }

    /// Returns whether a folder was at a path.
    pub(crate) fn had(&self, path: &Path) -> bool {
        self.0.get(path).copied().unwrap_or(false)
    }
}

/// The metadata of the folder that an entry of a committed transaction removed.
pub(crate) fn removed_metadata(workspace: &Workspace, loaded: &Loaded, entry: EntryIndex) -> Result<Metadata> {
    metadata_of(workspace, &workspace.open_beneath(&loaded.folder, slot_name(entry))?)
}

fn metadata_of(workspace: &Workspace, folder: &Handle) -> Result<Metadata> {
    let stat = workspace.stat_handle(folder)?;
    let attributes = workspace.attributes(folder)?;
    let (mode, user, group) = (stat.mode, stat.user, stat.group);
    Ok(Metadata { mode, user, group, attributes, modified: None })
}

/// A folder that stays and has other metadata than before some transactions: one of them removed it, and another made it
/// again.
#[derive(Debug)]
pub(crate) struct ChangedFolder {
    folder: Handle,
    now: Metadata,
    old: Metadata,
}

/// The folders that several transactions made, by their paths, each with the transaction.
type Makers<'a> = HashMap<&'a Path, Vec<(&'a Journal, &'a Identity)>>;

/// The folders that stay and have other metadata than before the reverted transactions, newest first; or why one could not
/// be examined.
pub(crate) fn changed_folders(state: &StateFolder, reverted: &[Loaded]) -> Vec<(PathBuf, Result<ChangedFolder>)> {
    let mut changed = Vec::new();
    if reverted.len() < 2 {
        return changed;
    }
    let before = FoldersBefore::of(reverted.iter().rev().map(|loaded| &loaded.journal));
    let mut makers = Makers::new();
    for journal in reverted.iter().map(|loaded| &loaded.journal) {
        for record in &journal.entries {
            let Some(staged) = record.change.folder_after() else { continue };
            makers.entry(record.path.as_path()).or_default().push((journal, staged));
        }
    }
    let mut seen = HashSet::new();
    // The oldest that removed a folder has it as it was before all of them.
    for loaded in reverted.iter().rev() {
        for (entry, record) in loaded.journal.entries.numbered() {
            let path = record.path.as_path();
            let is_removed = record.change.folder_before().is_some() && before.had(path);
            let Some(makers) = makers.get(path).filter(|_| is_removed && seen.insert(path)) else { continue };
            let found = changed_folder(state, loaded, entry, makers).transpose();
            changed.extend(found.map(|found| (path.to_owned(), found)));
        }
    }
    changed
}

/// The folder at the path of an entry that removed one; `None` if it has the same metadata, or is none of these.
fn changed_folder(
    state: &StateFolder,
    loaded: &Loaded,
    entry: EntryIndex,
    makers: &[(&Journal, &Identity)],
) -> Result<Option<ChangedFolder>> {
    let workspace = &state.workspace;
    let path = &loaded.journal.entries[entry].path;
    let Some(folder) = workspace.find_folder(&workspace.root, path.as_path())? else { return Ok(None) };
    let (now, old) = (metadata_of(workspace, &folder)?, removed_metadata(workspace, loaded, entry)?);
    if now == old {
        return Ok(None);
    }
    let place = (path.as_path().to_owned(), workspace.stat_handle(&folder)?.identity);
    for (journal, staged) in makers {
        if **staged == place.1 || made_again(state, journal)?.contains(&place) {
            return Ok(Some(ChangedFolder { folder, now, old }));
        }
    }
    Ok(None)
}

impl ChangedFolder {
    /// Gives it what it had before.
    fn give_back(&self, workspace: &Workspace) -> Result<()> {
        let io = |e| Error::io("set owner, mode and attributes of", self.folder.path(), e);
        workspace.fs().set_flags(&self.folder, self.old.attributes.flags).map_err(io)?;
        workspace.fs().set_metadata(&self.folder, &self.now, &self.old).map_err(io)
    }
}

impl TransactionFolder<'_> {
    /// Gives folders that stay what they had before the reverted transactions. One for which that fails stays as it is,
    /// with a warning.
    pub(super) fn give_back(&self, reverted: &[Loaded], tidied: &mut Tidied) {
        for (path, changed) in changed_folders(self.state, reverted) {
            let given = changed.and_then(|changed| changed.give_back(self.workspace()).map(|()| changed.folder));
            match given {
                Ok(folder) => drop(tidied.folders.insert(path, folder)),
                Err(error) => {
                    let path = self.workspace().root.path().join(path);
                    let (path, why) = (path.display(), error.message());
                    tidied.warnings.push(format!("{path} is there, but not with its old mode and owner: {why}"));
                }
            }
        }
    }
}
