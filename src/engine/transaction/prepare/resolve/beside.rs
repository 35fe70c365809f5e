//! What most paths of a request have in common: they are in the folder that they name, as the one before is.

use std::sync::Arc;

use super::{Folders, LastLink, ResolvedFolder, ResolvedPath, Resolver};
use crate::engine::store::section::is_of_state_folder;
use crate::error::Result;
use crate::fs::{FileKind, Name};
use crate::path::{AskedPath, RelPath};

impl Resolver<'_> {
    /// The folders that paths name, whatever is in them: those of most requests, so that what is there is looked at only once
    /// these are locked. `None` if a path has to be resolved first.
    pub(crate) fn folders_named<'p>(
        &mut self,
        paths: impl Iterator<Item = (&'p AskedPath, LastLink)>,
    ) -> Option<Folders> {
        let mut folders = Folders::new();
        let mut last: Option<RelPath> = None;
        for (path, _) in paths {
            let rel = self.relative(path).ok().filter(|rel| self.bounds.bars(rel.as_path()).is_none())?;
            if last.as_ref().is_none_or(|last| last.parent() != rel.parent()) {
                // Such a name may be that of a state folder, in which locks mean something else.
                if rel.parent().iter().any(is_of_state_folder) {
                    return None;
                }
                match self.open(rel.parent()) {
                    Ok(ResolvedFolder::Open(folder, stat)) => {
                        folders.insert(rel.parent().to_owned(), (stat.clone(), folder.clone()));
                    }
                    _ => return None,
                }
            }
            last = Some(rel);
        }
        Some(folders)
    }

    /// The place of a file, or of nothing, beside the last place, whose folder was found in order; `None` for any other.
    pub(super) fn beside_last(&self, rel: &RelPath) -> Result<Option<ResolvedPath>> {
        let Some((_, folder)) = self.last.as_ref().filter(|(last, _)| last.parent() == rel.parent()) else {
            return Ok(None);
        };
        // What has such a name may make the folder a state folder.
        if is_of_state_folder(rel.name()) {
            return Ok(None);
        }
        let stat = self.workspace.stat(Name::new(folder, rel.name()))?;
        let is_other = stat.as_ref().is_some_and(|stat| matches!(stat.kind, FileKind::Folder | FileKind::Symlink));
        let stat = stat.map(Arc::new);
        let place = || ResolvedPath {
            path: rel.clone(),
            missing: Vec::new(),
            obstacle: None,
            within: None,
            stat,
            is_link: false,
        };
        Ok((!is_other).then(place))
    }

    /// Remembers the folder of a place that was found in order.
    pub(super) fn remember(&mut self, place: &ResolvedPath) {
        if place.missing.is_empty() {
            self.last = Some((place.path.clone(), self.folder(place).0.clone()));
        }
    }
}
