//! Verifies that the user may change the file at a place, and could change it back.

use std::collections::HashSet;
use std::path::Path;

use super::lock_targets::Parents;
use super::resolve::ResolvedPath;
use crate::engine::Engine;
use crate::engine::store::snapshot;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Name;
use crate::path::RelPath;

/// The permissions of a user in the folders of a request.
pub(crate) struct Permissions<'a> {
    engine: &'a Engine,
    user: u32,
    parents: &'a Parents,
    /// The folders in which the user may not change names.
    closed: HashSet<&'a Path>,
}

impl<'a> Permissions<'a> {
    pub(super) fn of(engine: &'a Engine, user: u32, parents: &'a Parents) -> Result<Self> {
        Ok(Self { engine, user, parents, closed: closed_folders(engine, user, parents)? })
    }

    /// Verifies that the file at a place can be edited, replaced, moved or deleted, or that a file can be made
    /// there. `may_be_read_only` is true if the file counts as writable without a write bit.
    pub(super) fn check(&self, place: &ResolvedPath, may_be_read_only: bool) -> Result<()> {
        let Self { engine, user, parents, closed } = self;
        let path = || engine.root().join(place.path.as_path());
        let (folder_stat, folder) = &parents[place.folder()];
        let name = Name::new(folder, place.path.name());
        match &place.stat {
            Some(stat) if may_be_read_only => {
                snapshot::check_replaceable(*user, name, stat, folder_stat, engine.may_overwrite())?;
            }
            Some(stat) => {
                let may_overwrite = engine.may_overwrite();
                snapshot::check_target(&engine.workspace, *user, name, stat, folder_stat, may_overwrite)?;
            }
            None => snapshot::check_folder(path, folder_stat)?,
        }
        let leaving: Vec<RelPath> = match place.folders_within() {
            Some(within) => within.into_iter().chain([place.path.clone()]).collect(),
            None => Vec::new(),
        };
        for folder in &leaving {
            let shown = || engine.root().join(folder.as_path());
            snapshot::check_removable(shown, &parents[folder.as_path()].0)?;
        }
        let is_foreign = |folder: &&RelPath| *user != 0 && parents[folder.as_path()].0.user != *user;
        if let Some(folder) = leaving.iter().find(is_foreign) {
            let message = format!("{folder} belongs to another user, to whom an undo could not give it back");
            return Err(Error::new(ErrorKind::PermissionDenied, message).at(path()));
        }
        // Moving a folder also writes it: its `..` changes.
        let mut touched = leaving.iter().map(RelPath::as_path).chain([place.folder()]);
        if let Some(closed) = touched.find(|folder| closed.contains(folder)) {
            let message = format!("you may not change the names in {}", engine.root().join(closed).display());
            return Err(Error::new(ErrorKind::PermissionDenied, message).at(path()));
        }
        Ok(())
    }
}

/// The folders in which this user may not change names. The root is left out: the state folder is in it.
fn closed_folders<'p>(engine: &Engine, user: u32, parents: &'p Parents) -> Result<HashSet<&'p Path>> {
    let mut closed = HashSet::new();
    if user == 0 {
        return Ok(closed);
    }
    for folder in parents.keys() {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else { continue };
        let parent = engine.workspace.open_beneath(&engine.workspace.root, parent)?;
        if !engine.workspace.may_write(Name::new(&parent, name))? {
            closed.insert(folder.as_path());
        }
    }
    Ok(closed)
}
