//! Folders that a transaction removes, since a file takes their place.
//!
//! Their contents are removed by entries of their own, before them. Nothing else may be in one, and only a listing tells.

use std::collections::HashMap;
use std::path::PathBuf;

use super::folder::TransactionFolder;
use crate::error::Result;
use crate::fs::{Name, Stat};
use crate::identity::Identity;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::recover::Seen;
use crate::journal::{Record, slot_name};

/// The entries of a journal that are about folders that go.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// The folders, by their paths, with their entries.
    pub folders: HashMap<PathBuf, EntryIndex>,
    /// The entries that are about a name in one of them.
    inside: HashMap<PathBuf, EntryIndex>,
}

impl Leaving {
    fn of(records: &IndexVec<EntryIndex, Record>) -> Self {
        let path = |record: &Record| record.path.as_path().to_owned();
        let entries = || records.numbered();
        let folders = entries().filter(|(_, record)| record.change.folder_before().is_some());
        let folders: HashMap<PathBuf, EntryIndex> = folders.map(|(entry, record)| (path(record), entry)).collect();
        if folders.is_empty() {
            return Self::default();
        }
        let inside = entries().filter(|(_, record)| folders.contains_key(record.path.parent()));
        Self { inside: inside.map(|(entry, record)| (path(record), entry)).collect(), folders }
    }
}

impl TransactionFolder<'_> {
    /// The folders that it takes away. Asked for only once all entries are known.
    pub(crate) fn leaving(&self) -> &Leaving {
        self.leaving.get_or_init(|| Leaving::of(&self.journal.entries))
    }

    /// A folder that an entry takes away, and whether there is anything in it but what is still to be taken out of it.
    pub(crate) fn look_into(&self, entry: EntryIndex, name: Name<'_>, folder: Identity) -> Result<Seen> {
        let there = self.workspace().open_beneath(name.folder, name.name)?;
        for inner in self.workspace().list(&there)? {
            let own = self.leaving().inside.get(&self.record(entry).path.as_path().join(inner));
            // With its slot taken it was taken out before: this is another one.
            let is_own = match own {
                Some(&own) => self.slot_stat(own)?.is_none(),
                None => false,
            };
            if !is_own {
                return Ok(Seen::Filled(folder));
            }
        }
        Ok(Seen::Folder(folder))
    }

    /// True if a name stands for the folder that an entry takes away, and nothing is in that but what is still to be taken
    /// out.
    pub(crate) fn is_clear(&self, entry: EntryIndex, name: Name<'_>) -> Result<bool> {
        let Some(folder) = self.record(entry).change.folder_before() else { return Ok(false) };
        let stat = self.workspace().stat(name)?;
        if stat.is_none_or(|stat| stat.identity != *folder) {
            return Ok(false);
        }
        Ok(self.look_into(entry, name, *folder)? == Seen::Folder(*folder))
    }

    /// True if the folder of an entry is there, and one that goes where it was: into one that cannot come back nothing is put.
    pub(crate) fn has_its_folder(&self, entry: EntryIndex) -> Result<bool> {
        let path = self.record(entry).path.parent();
        match self.parents.get(path) {
            Some((identity, held)) if self.leaving().folders.contains_key(path) => {
                self.leads_to_held(path, identity, held)
            }
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }

    fn slot_stat(&self, entry: EntryIndex) -> Result<Option<Stat>> {
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        self.workspace().stat(slot)
    }
}
