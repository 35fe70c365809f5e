//! The folders that a transaction removes because a file takes their place.
//!
//! Entries of their own remove their contents first. A folder may hold nothing else, and only listing it tells.

use std::collections::HashMap;
use std::path::PathBuf;

use super::folder::TransactionFolder;
use crate::engine::store::folder::name_of_original;
use crate::error::Result;
use crate::fs::{Name, Stat};
use crate::identity::Identity;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::Record;
use crate::journal::recover::Seen;

/// The entries that remove folders, and the entries beneath those folders.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// The entry of each leaving folder, by its path.
    pub folders: HashMap<PathBuf, EntryIndex>,
    /// The entry of each name in one of these folders, by its path.
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
    /// The folders that the transaction removes. Only to be called once all entries are known.
    pub(crate) fn leaving(&self) -> &Leaving {
        self.leaving.get_or_init(|| Leaving::of(&self.journal.entries))
    }

    /// Observes a folder that an entry removes; it is a `Seen::Folder` only if nothing is in it but what is still to be
    /// taken out.
    pub(crate) fn look_into(&self, entry: EntryIndex, name: Name<'_>, folder: Identity) -> Result<Seen> {
        let there = self.workspace().open_beneath(name.folder, name.name)?;
        for inner in self.workspace().list(&there)? {
            let own = self.leaving().inside.get(&self.record(entry).path.as_path().join(inner));
            // A taken slot means that the name was taken out before: what stands here now is another one.
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

    /// Returns whether a name leads to the folder that an entry removes, and that holds nothing but what is still to
    /// be taken out.
    pub(crate) fn is_clear(&self, entry: EntryIndex, name: Name<'_>) -> Result<bool> {
        let Some(folder) = self.record(entry).change.folder_before() else { return Ok(false) };
        let Some(stat) = self.workspace().stat(name)? else { return Ok(false) };
        if self.as_recorded(entry, stat.identity)? != *folder {
            return Ok(false);
        }
        Ok(self.look_into(entry, name, *folder)? == Seen::Folder(*folder))
    }

    /// Returns whether the folder of an entry is there and, if it is a leaving folder, back at its path: nothing is put
    /// into a folder that cannot come back.
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
        let slot = name_of_original(self.workspace(), self.slots_of(entry), &self.journal, entry)?;
        let slot = Name::new(self.slots_of(entry), &slot);
        self.workspace().stat(slot)
    }
}
