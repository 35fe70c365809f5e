//! Stages new folders.

use super::metadata::current;
use super::{Staging, missing_parent};
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Name;
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::slot_name;
use crate::plan::Entry;

impl Staging<'_> {
    /// Stages an empty folder, locked before it appears: no other process can edit beneath it before the commit is
    /// complete.
    pub(super) fn stage_folder(&mut self, entry: EntryIndex, planned: &Entry, prepared: &Prepared) -> Result<Identity> {
        let workspace = self.transaction.workspace();
        let slot = slot_name(entry);
        let name = Name::new(self.transaction.slots.of(&planned.path), &slot);
        let path = self.transaction.workspace().root.path().join(planned.path.as_path());
        let io = |verb: &'static str| {
            let path = path.clone();
            move |e| Error::io(verb, &path, e)
        };
        let (_, parent) = self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
        let mut metadata = match prepared.folder_metadata.get(&planned.path) {
            Some(metadata) => metadata.clone(),
            None => workspace.fs().inherited(parent, true).map_err(io("ask what would be inherited by"))?,
        };
        if let Some(mode) = prepared.folder_modes.get(&planned.path) {
            metadata.mode = *mode;
        }
        workspace.fs().make_folder(name, 0o700).map_err(io("stage"))?;
        let folder = workspace.fs().open_beneath(name.folder, slot.as_ref()).map_err(io("open staged"))?;
        if !workspace.fs().try_lock(&folder).map_err(io("lock staged"))? {
            return Err(
                Error::new(ErrorKind::LockTimeout, "another process locked a folder that was just staged").at(path)
            );
        }
        let stat = workspace.fs().stat_handle(&folder).map_err(io("look at staged"))?;
        let handed_on = workspace.fs().attributes(&folder).map_err(io("read the attributes of staged"))?;
        let now = current(&stat, handed_on);
        workspace.fs().set_flags(&folder, metadata.attributes.flags).map_err(io("set the flags of staged"))?;
        workspace
            .fs()
            .set_metadata(&folder, &now, &metadata)
            .map_err(io("set owner, mode and attributes of staged"))?;
        self.files.push(folder.clone());
        let made = (stat.identity, folder.renamed(path));
        self.transaction.parents.insert(planned.path.as_path().to_owned(), made);
        Ok(stat.identity)
    }
}
