//! Resolves a path in the folder of the one before, as most paths of a request are, by one call.

use std::sync::Arc;

use super::{ResolvedPath, Resolver};
use crate::engine::store::section::is_of_state_folder;
use crate::error::Result;
use crate::fs::{FileKind, Name};
use crate::path::RelPath;

impl Resolver<'_> {
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
