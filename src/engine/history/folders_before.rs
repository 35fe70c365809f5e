//! The metadata of folders before several transactions, which together have removed them and made them again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::made_folders::made_again;
use super::{Loaded, load};
use crate::engine::store::folder::{TransactionFolder, name_of_original};
use crate::engine::store::state::StateFolder;
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, Result};
use crate::fs::{Handle, Metadata};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::Journal;

/// What was given back behind the commit of a revert.
#[derive(Debug, Default)]
pub(crate) struct GivenBack {
    /// The folders that have their old metadata again, by their paths in the workspace.
    pub folders: BTreeMap<PathBuf, Handle>,
    /// Warnings about those that have not.
    pub warnings: Vec<String>,
}

/// The metadata of the folder that an entry of a committed transaction removed.
pub(crate) fn removed_metadata(workspace: &Workspace, loaded: &Loaded, entry: EntryIndex) -> Result<Metadata> {
    let folder = loaded.slots_of(workspace, entry)?;
    let name = name_of_original(workspace, folder, &loaded.journal, entry)?;
    metadata_of(workspace, &workspace.open_beneath(folder, name)?)
}

pub(crate) fn metadata_of(workspace: &Workspace, folder: &Handle) -> Result<Metadata> {
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
    let mut makers = Makers::new();
    for journal in reverted.iter().map(|loaded| &loaded.journal) {
        for record in &journal.entries {
            let Some(staged) = record.change.folder_after() else { continue };
            makers.entry(record.path.as_path()).or_default().push((journal, staged));
        }
    }
    let mut seen = HashSet::new();
    // The oldest that changed a path has the folder as it was before all of them, if there was one.
    for loaded in reverted.iter().rev() {
        for (entry, record) in loaded.journal.entries.numbered() {
            let path = record.path.as_path();
            let is_removed = seen.insert(path) && record.change.folder_before().is_some();
            let Some(makers) = makers.get(path).filter(|_| is_removed) else { continue };
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
        if **staged == place.1 || (workspace.protocol.is_made_again)(&made_again(state, journal)?, &place) {
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
    /// with a warning: that is not worth a rollback.
    pub(crate) fn give_back(&self) -> GivenBack {
        let mut given_back = GivenBack::default();
        let ids = &self.journal.header.reverts;
        if ids.len() < 2 {
            return given_back;
        }
        let mut reverted = Vec::new();
        for id in ids {
            let why = match load(self.state, id) {
                Ok(Some(loaded)) => {
                    reverted.push(loaded);
                    continue;
                }
                Ok(None) => "its journal cannot be read".to_owned(),
                Err(error) => error.message().to_owned(),
            };
            given_back.warnings.push(format!("folders that {id} had removed may have another mode and owner: {why}"));
        }
        for (path, changed) in changed_folders(self.state, &reverted) {
            let given = changed.and_then(|changed| changed.give_back(self.workspace()).map(|()| changed.folder));
            match given {
                Ok(folder) => drop(given_back.folders.insert(path, folder)),
                Err(error) => {
                    let path = self.workspace().root.path().join(path);
                    let (path, why) = (path.display(), error.message());
                    given_back.warnings.push(format!("{path} is there, but not with its old mode and owner: {why}"));
                }
            }
        }
        given_back
    }
}
