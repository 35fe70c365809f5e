//! Whether a plan is about the files that a program saw.

use std::collections::HashSet;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::conflict;
use crate::cancel::CancelToken;
use crate::commit::protocol::Protocol;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::snapshot::Snapshot;
use crate::engine::store::state::StateFolder;
use crate::engine::view::RealPaths;
use crate::error::{Conflict, Error, ErrorKind, Result};
use crate::fs::{FileKind, Stat};
use crate::request::Request;
use crate::view::TreeBefore;

/// Lists what is in the workspace, before a view of it is made.
pub(super) fn before_view(state: &StateFolder, real: &RealPaths, cancel: &CancelToken) -> Result<TreeBefore> {
    let (workspace, folder) = (&state.workspace, &state.folder);
    let clock = workspace.fs().descriptor(folder).map_err(|e| Error::io("share", folder.path(), e))?;
    let clock =
        clock.ok_or_else(|| Error::new(ErrorKind::NoView, "this file system has no descriptors").at(folder.path()))?;
    let root = workspace.fs().path_to(&workspace.root);
    let system = workspace.file_system(&workspace.root)?;
    let before = TreeBefore::of(&root, clock.as_fd(), system.keeps_numbers, &|path| real.has(path), cancel);
    check_cancelled(cancel)?;
    before.map_err(|e| Error::io("list", workspace.root.path(), e))
}

/// Returns whether what is at a path was there before the view was made, and nobody has changed it since; of a folder only
/// whether it was there.
pub(super) fn is_unchanged(protocol: &Protocol, before: &TreeBefore, path: &Path, now: &Stat) -> bool {
    match now.kind {
        FileKind::Folder if !before.keeps_numbers() => before.has(path),
        FileKind::Folder => before.was_at(path, now.identity.inode),
        _ => before.was_at(path, now.identity.inode) && (protocol.is_before)(now.changed, before.since()),
    }
}

/// Verifies that a plan, of these targets as they were read, is about the files that the program saw, at the very paths at
/// which it saw them.
pub(super) fn verify<'t>(
    before: &TreeBefore,
    protocol: &Protocol,
    targets: impl Iterator<Item = (&'t Path, Option<&'t Snapshot>)>,
    request: &Request,
) -> Result<()> {
    let asked: HashSet<&Path> = request.files.iter().map(|file| file.path.as_path()).collect();
    // A new folder that a new file needs is asked for by that.
    let is_asked = |path: &Path| asked.contains(path) || asked.iter().any(|asked| asked.starts_with(path));
    let conflicts: Vec<Conflict> = targets
        .filter(|(path, target)| {
            let is_changed = target.is_some_and(|target| !is_unchanged(protocol, before, path, &target.stat));
            is_changed || !is_asked(path)
        })
        .map(|(path, _)| Conflict { path: path.to_owned(), ..Conflict::default() })
        .collect();
    if conflicts.is_empty() { Ok(()) } else { Err(conflict(conflicts)) }
}
