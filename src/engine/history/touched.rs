//! What each commit changed, for those who watch files.

use std::path::PathBuf;

use super::load;
use crate::engine::Engine;
use crate::engine::store::state::Section;
use crate::error::Result;

/// What a committed transaction changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    /// The transaction.
    pub id: String,
    /// The transactions that it reverts.
    pub reverts: Vec<String>,
    /// Its paths, absolute and without symlinks.
    pub paths: Vec<PathBuf>,
}

impl Engine {
    /// The ids of what is in history, oldest first. Nothing is opened.
    pub(crate) fn committed_ids(&self) -> Result<Vec<String>> {
        self.state()?.map_or(Ok(Vec::new()), |state| state.ids(Section::History))
    }

    /// Returns whether this is a transaction of this workspace, committed or open.
    pub(crate) fn knows(&self, id: &str) -> bool {
        let is_committed = self.found().is_ok_and(|found| self.committed(&found, id).is_ok());
        is_committed || self.open_transactions(None).is_ok_and(|open| open.iter().any(|open| open.id == id))
    }

    /// What a committed transaction changed; `None` if there is none of that id that can be read.
    pub(crate) fn touched_by(&self, id: &str) -> Result<Option<Touched>> {
        let Some(state) = self.state()? else { return Ok(None) };
        let Some(loaded) = load(&state, id)? else { return Ok(None) };
        let paths = loaded.journal.entries.iter().map(|record| self.root().join(record.path.as_path())).collect();
        Ok(Some(Touched { id: id.to_owned(), reverts: loaded.journal.header.reverts, paths }))
    }
}
