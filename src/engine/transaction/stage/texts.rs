//! Writes the texts in a transaction's folder: its journal, and the report beside it.

use std::io;

use super::Staging;
use crate::engine::history::stored_report;
use crate::engine::store::births;
use crate::engine::store::files::write_new_by;
use crate::engine::store::parts::PartFolder;
use crate::error::Result;
use crate::fs::Name;
use crate::journal;
use crate::journal::record::encode;

impl Staging<'_> {
    /// Says in the folders of slots on other file systems that everything is staged.
    pub(crate) fn seal_parts(&self) -> Result<()> {
        self.transaction.slots.parts.iter().try_for_each(PartFolder::seal)
    }

    /// Makes the names of these folders durable.
    pub(crate) fn sync_parts(&self) -> Result<()> {
        self.transaction.slots.parts.iter().try_for_each(PartFolder::sync_names)
    }

    /// Writes the whole journal, sealed, under its first name. From here on it says what the slots are for, and they are not
    /// deleted.
    pub(crate) fn write_journal(&mut self) -> Result<()> {
        let journal = &self.transaction.journal;
        debug_assert_eq!(journal::scan(&encode(journal)).as_ref(), Ok(journal), "a journal is read as it was written");
        if births::is_needed(journal.header.swap, &journal.header.folder) {
            // A journal that nobody could trust after the next boot must not say that names were moved.
            births::prove(self.transaction.workspace(), &journal.header)?;
        }
        self.journal = Some(self.transaction.write_journal()?);
        self.unnamed = 0;
        self.copies.clear();
        Ok(())
    }

    /// Writes it once more under its hidden name, with the contents as they are now.
    pub(crate) fn rewrite_journal(&mut self) -> Result<()> {
        self.journal = Some(self.transaction.rewrite_journal()?);
        Ok(())
    }

    /// Writes the report for the log. No decision depends on it.
    pub(crate) fn write_report(&mut self, tell: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<()> {
        let name = Name::new(self.transaction.folder(), stored_report::FILE_NAME);
        self.report = Some(write_new_by(self.transaction.workspace(), name, tell)?);
        Ok(())
    }
}
