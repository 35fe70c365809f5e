//! Writes the texts in a transaction's folder: its journal, and the report beside it.

use std::io;

use super::Staging;
use crate::engine::history::stored_report;
use crate::engine::store::births;
use crate::engine::store::files::write_new_by;
use crate::engine::store::parts::PartFolder;
use crate::error::{Error, Result};
use crate::fs::Name;
use crate::journal;
use crate::journal::record::encode;

impl Staging<'_> {
    /// Writes the whole journal, sealed, under its hidden name.
    pub(crate) fn write_journal(&mut self) -> Result<()> {
        let journal = &self.transaction.journal;
        debug_assert_eq!(journal::scan(&encode(journal)).as_ref(), Ok(journal), "a journal is read as it was written");
        self.transaction.slots.parts.iter().try_for_each(PartFolder::seal)?;
        self.hidden = Some(self.transaction.write_journal()?);
        Ok(())
    }

    pub(crate) fn sync_journal(&self) -> Result<()> {
        let Some(hidden) = &self.hidden else { unreachable!("the journal is written before it is synced") };
        self.transaction.workspace().sync(hidden)?;
        self.transaction.slots.parts.iter().try_for_each(PartFolder::sync_names)
    }

    /// Gives the journal its name. From here on it says what the slots are for, and they are not deleted.
    pub(crate) fn name_journal(&mut self) -> Result<()> {
        assert!(self.hidden.is_some(), "the journal is written before it gets its name");
        let (folder, journal) = (self.transaction.folder(), &self.transaction.journal);
        if births::is_needed(journal.header.swap, &journal.header.folder) {
            // A journal that nobody could trust after the next boot must not say that names were moved.
            births::prove(self.transaction.workspace(), &journal.header)?;
        }
        let from = Name::new(folder, journal::HIDDEN_NAME);
        let to = Name::new(folder, self.transaction.journal_state.file_name());
        self.transaction.workspace().move_own(from, to).map_err(|e| Error::io("rename", from.path(), e))?;
        self.unnamed = 0;
        self.copies.clear();
        Ok(())
    }

    /// Writes the report for the log. No decision depends on it.
    pub(crate) fn write_report(&mut self, tell: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<()> {
        let name = Name::new(self.transaction.folder(), stored_report::FILE_NAME);
        self.report = Some(write_new_by(self.transaction.workspace(), name, tell)?);
        Ok(())
    }
}
