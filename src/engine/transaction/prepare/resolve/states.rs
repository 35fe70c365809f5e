//! Refuses what is in a state folder, whatever that is called: one that a caller named can be anywhere.

use std::path::Path;

use super::{ResolvedPath, Resolver, refused};
use crate::engine::store::section::{Section, is_of_state_folder};
use crate::error::Result;
use crate::fs::{FileKind, Name};
use crate::path::PathProblem;

/// The number of names beside `txn`, of the other sections and `id`, that make a folder a state folder.
const ENOUGH: usize = 3;

impl Resolver<'_> {
    /// Refuses a place that is a state folder, or in one.
    pub(super) fn check_states(&self, place: &ResolvedPath, path: &Path) -> Result<()> {
        let is_folder = place.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Folder);
        if is_folder && self.is_state(place.path.as_path())? {
            return Err(refused(PathProblem::StateFolder, path));
        }
        let mut inner = place.path.as_path();
        // Most paths have no name that a state folder has: they cost no call.
        while let (Some(folder), Some(name)) = (inner.parent(), inner.file_name()) {
            if is_of_state_folder(name) && self.is_state(folder)? {
                return Err(refused(PathProblem::StateFolder, path));
            }
            inner = folder;
        }
        Ok(())
    }

    /// Returns whether a folder is a state folder by what it has.
    pub(super) fn is_state(&self, folder: &Path) -> Result<bool> {
        let workspace = self.workspace;
        let Some(handle) = workspace.find_folder(&workspace.root, folder)? else { return Ok(false) };
        let has = |name: &str| Ok(workspace.stat(Name::new(&handle, name))?.is_some());
        if !has(Section::Transactions.name())? {
            return Ok(false);
        }
        // Some of it may be gone, by a power loss or by hand: what is left is a state folder all the same.
        let mut others = 0;
        for section in Section::ALL.into_iter().filter(|section| *section != Section::Transactions) {
            others += usize::from(has(section.name())?);
        }
        others += usize::from(has("id")?);
        Ok(others >= ENOUGH)
    }
}
