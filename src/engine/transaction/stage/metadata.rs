//! The mode, owner, attributes and time that a staged file is given.

use super::{Staging, missing_parent};
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::engine::transaction::prepare::project;
use crate::error::{Error, Result};
use crate::fs::{Attributes, Metadata, Stat};
use crate::plan::{Entry, New, NewContent};

impl Staging<'_> {
    /// The metadata of a staged file: those of its source, or those that its folder gives a new file.
    pub(super) fn metadata(&self, planned: &Entry, new: &New, prepared: &Prepared) -> Result<Metadata> {
        let Some(source) = new.metadata_of else {
            let (_, parent) =
                self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
            let path = planned.path.as_path();
            let mut metadata = self.transaction.workspace().fs().inherited(parent, false);
            if let Ok(metadata) = &mut metadata {
                metadata.mode = new.state.mode;
            }
            return metadata.map_err(|e| Error::io("ask what would be inherited by", path, e));
        };
        let snapshot = &prepared.sources[source].snapshot;
        let mut attributes = snapshot.attributes();
        // What is given away may have had the same path in a folder of its own.
        if prepared.sources[source].path != planned.path || matches!(new.content, NewContent::Held(_)) {
            let (_, parent) =
                self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
            project::join(self.transaction.workspace(), parent, &mut attributes)?;
        }
        Ok(Metadata {
            mode: new.state.mode,
            user: snapshot.stat.user,
            group: snapshot.stat.group,
            attributes,
            modified: new.keeps_time.then_some(snapshot.stat.modified),
        })
    }
}

/// The metadata of a file that was just made.
pub(super) fn current(stat: &Stat, attributes: Attributes) -> Metadata {
    Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None }
}
