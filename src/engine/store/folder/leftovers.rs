//! Contents in the slots of a transaction that are not txedit's to delete.

use std::collections::{BTreeMap, HashMap};

use super::TransactionFolder;
use crate::engine::store::aside::{Aside, asides};
use crate::engine::store::state::Section;
use crate::error::{KeptContent, Result};
use crate::index::EntryIndex;
use crate::journal::{Mark, slot_name};

/// The reason for keeping the slot of a contended transaction that was interrupted.
pub(crate) const UNCERTAIN: &str = "content made while another program was writing, perhaps incomplete";

impl TransactionFolder<'_> {
    /// The contents of slots that are not txedit's to delete.
    pub(crate) fn foreign_slots(&self, conflicts: &HashMap<EntryIndex, &'static str>) -> Result<Vec<KeptContent>> {
        let kept_folder = self.state.folder.path().join(Section::Kept.name()).join(&self.journal.header.id);
        let aside = match self.mark {
            Mark::CheckUndo => asides(self.workspace(), &self.folder, &self.journal)?,
            _ => BTreeMap::new(),
        };
        let told = |aside: &Aside<'_>| KeptContent {
            path: self.workspace().root.path().join(aside.path),
            kept_path: kept_folder.join(&aside.name),
            reason: "the check, or another program, wrote it".to_owned(),
        };
        let mut kept = Vec::new();
        for entry in self.journal.entries.indices() {
            let ours = self.slot_may_go(entry)?;
            let before = kept.len();
            kept.extend(aside.get(&entry).into_iter().flatten().map(told));
            if ours && kept.len() > before {
                continue;
            }
            let reason = match conflicts.get(&entry) {
                Some(reason) => reason,
                None if ours => continue,
                None if self.uncertain => UNCERTAIN,
                None => "another program's content came out of the swap",
            };
            // What remains of a folder may have gone aside with the folder above it.
            if let Some(folder) = self.record(entry).change.folder_after().filter(|_| ours)
                && !self.leads_to(self.record(entry).path.as_path(), folder)?
            {
                continue;
            }
            // What remains in a folder that was moved away is not where its path says.
            if ours && !self.has_its_place(entry)? {
                continue;
            }
            let kept_path = if ours { self.path(entry) } else { kept_folder.join(slot_name(entry)) };
            kept.push(KeptContent { path: self.path(entry), kept_path, reason: (*reason).to_owned() });
        }
        Ok(kept)
    }
}
