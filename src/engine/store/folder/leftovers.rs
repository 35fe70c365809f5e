//! Contents in the slots of a transaction that are not txedit's to delete.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::TransactionFolder;
use crate::cancel::NEVER;
use crate::engine::store::aside::{Aside, asides};
use crate::engine::store::files::write_new;
use crate::engine::store::state::Section;
use crate::error::{KeptContent, Result};
use crate::fs::{FileKind, Name};
use crate::index::EntryIndex;
use crate::journal::recover::is_original_gone;
use crate::journal::{JournalState, RESTORED_NAME, SwapMethod, slot_name};

/// The reason for keeping the slot of a contended transaction that was interrupted.
pub(crate) const UNCERTAIN: &str = "content made while another program was writing, perhaps incomplete";

/// The reason for keeping what had come out of its name when another program took that.
pub(crate) const NAME_TAKEN: &str = "what stood there until the swap; another program took its name in that moment";

/// The reason for keeping what was staged if an original is gone: of a file that was renamed, or of two that changed
/// names, it is the only copy.
pub(crate) const ONLY_COPY: &str = "what the transaction made; an original is gone, of which it may be the only copy";

/// The reason for keeping what another program wrote into a file that was overwritten.
pub(crate) const OVERWRITTEN: &str = "another program wrote it into the file, and a person wanted the old content back";

/// The reason for keeping the copy of a file that could not get its old content back.
const OLD_CONTENT: &str = "the content before the transaction";

impl TransactionFolder<'_> {
    /// The contents of slots that are not txedit's to delete.
    pub(crate) fn foreign_slots(&self, conflicts: &HashMap<EntryIndex, &'static str>) -> Result<Vec<KeptContent>> {
        let aside = match self.journal_state {
            _ if self.journal.header.swap != SwapMethod::Exchange || self.journal.overwrites() => {
                asides(self.workspace(), &self.slots, &self.journal)?
            }
            JournalState::CheckUndo => asides(self.workspace(), &self.slots, &self.journal)?,
            _ => BTreeMap::new(),
        };
        let told = |entry: EntryIndex, aside: &Aside<'_>| KeptContent {
            path: self.workspace().root.path().join(aside.path),
            kept_path: self.kept_path(entry, &aside.name),
            reason: match self.journal_state {
                JournalState::CheckUndo => "the check, or another program, wrote it",
                _ if self.is_overwritten(aside.path) => OVERWRITTEN,
                _ => NAME_TAKEN,
            }
            .to_owned(),
        };
        let is_lost = self.is_any_lost(conflicts)?;
        let mut kept = Vec::new();
        for entry in self.journal.entries.indices() {
            let ours = self.slot_may_go(entry)?;
            let before = kept.len();
            kept.extend(aside.get(&entry).into_iter().flatten().map(|aside| told(entry, aside)));
            if ours && kept.len() > before {
                continue;
            }
            let reason = match conflicts.get(&entry) {
                Some(reason) => reason,
                None if ours => {
                    if is_lost && self.holds_made(entry)? {
                        let (path, kept_path) = (self.path(entry), self.kept_path(entry, &slot_name(entry)));
                        kept.push(KeptContent { path, kept_path, reason: ONLY_COPY.to_owned() });
                    }
                    continue;
                }
                None if self.uncertain => UNCERTAIN,
                None => "another program's content came out of the swap",
            };
            // What is at its target stays there; the copy of the old content is in the slot.
            if ours && self.record(entry).change.overwrites() {
                let kept_path = self.kept_path(entry, &slot_name(entry));
                kept.push(KeptContent { path: self.path(entry), kept_path, reason: OLD_CONTENT.to_owned() });
                continue;
            }
            // What remains of a folder may have gone aside with the folder above it.
            if let Some(folder) = self.record(entry).change.folder_after().filter(|_| ours)
                && !self.leads_to(self.record(entry).path.as_path(), folder)?
            {
                continue;
            }
            // What remains in a folder that was moved away is not where its path says, and nothing may remain.
            if ours && !(self.has_its_place(entry)? && self.has_target(entry)?) {
                continue;
            }
            let kept_path = if ours { self.path(entry) } else { self.kept_path(entry, &slot_name(entry)) };
            kept.push(KeptContent { path: self.path(entry), kept_path, reason: (*reason).to_owned() });
        }
        Ok(kept)
    }

    /// The path of a name beside the slot of an entry once the transaction's folder is in `kept/`. A part stays where it is.
    fn kept_path(&self, entry: EntryIndex, name: &str) -> PathBuf {
        match self.slots.part_of(&self.record(entry).path) {
            Some(_) => self.slots_of(entry).path().join(name),
            None => self.state.folder.path().join(Section::Kept.name()).join(&self.journal.header.id).join(name),
        }
    }

    /// Returns whether the file at a path was overwritten.
    fn is_overwritten(&self, path: &Path) -> bool {
        self.journal.entries.iter().any(|record| record.change.overwrites() && record.path.as_path() == path)
    }

    /// Notes in the folder whether every original went back: the files of a later time do not tell. Without the note more
    /// is listed as kept than there is.
    pub(crate) fn note_originals(&self, conflicts: &HashMap<EntryIndex, &'static str>) -> Result<()> {
        let name = Name::new(self.folder(), RESTORED_NAME);
        if self.is_any_lost(conflicts)? {
            // A rollback that was killed may have noted it before the original was lost.
            self.workspace().fs().unlink(name).ok();
        } else {
            write_new(self.workspace(), name, b"").ok();
        }
        Ok(())
    }

    /// Returns whether the original of any of these entries, which are not old, is gone.
    fn is_any_lost(&self, conflicts: &HashMap<EntryIndex, &'static str>) -> Result<bool> {
        for entry in conflicts.keys() {
            if is_original_gone(self.record(*entry), &self.observe(*entry, &NEVER)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the slot has a file that was staged.
    fn holds_made(&self, entry: EntryIndex) -> Result<bool> {
        let slot = self.workspace().stat(Name::new(self.slots_of(entry), &slot_name(entry)))?;
        Ok(slot.is_some_and(|slot| matches!(slot.kind, FileKind::File | FileKind::Symlink)))
    }

    /// Returns whether anything is at the target of an entry.
    fn has_target(&self, entry: EntryIndex) -> Result<bool> {
        let record = self.record(entry);
        let Some((_, parent)) = self.parents.get(record.path.parent()) else { return Ok(false) };
        Ok(self.workspace().stat(Name::new(parent, record.path.name()))?.is_some())
    }
}
