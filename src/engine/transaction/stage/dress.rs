//! The mode, owner, attributes and time that a staged file is given.

use super::{Staging, missing_parent};
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::engine::transaction::prepare::project;
use crate::error::{Error, Result};
use crate::fs::{Attributes, Metadata, Stat};
use crate::plan::{Entry, New};

impl Staging<'_> {
    /// The metadata of a staged file: those of its source, or those that its folder gives a new file.
    pub(super) fn dress(&self, planned: &Entry, new: &New, prepared: &Prepared) -> Result<Metadata> {
        let Some(source) = new.dressed_as else {
            let (_, parent) =
                self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
            let path = planned.path.as_path();
            let mut dress = self.transaction.workspace().fs().inherited(parent, false);
            if let Ok(dress) = &mut dress {
                dress.mode = new.state.mode;
            }
            return dress.map_err(|e| Error::io("ask what would be inherited by", path, e));
        };
        let snapshot = &prepared.sources[source].snapshot;
        let mut attributes = snapshot.attributes();
        if prepared.sources[source].path != planned.path {
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
pub(super) fn worn(stat: &Stat, attributes: Attributes) -> Metadata {
    Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None }
}
