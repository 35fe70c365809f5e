//! Rolls back one entry, classified just before it is touched.

pub(super) mod folder;
mod in_place;
pub(crate) mod metadata;
pub(super) mod panic_guard;
pub(super) mod walk;

use std::path::Path;

use super::store::folder::{TransactionFolder, is_empty_folder};
use crate::cancel::NEVER;
use crate::errno;
use crate::error::{Error, Result};
use crate::fs::Name;
use crate::index::EntryIndex;
use crate::journal::recover::{Class, Observed, Seen, is, is_original_back, is_original_gone};
use crate::journal::{JournalState, Record, RecordedChange, kept_name, slot_name};
use metadata::{Handed, NewFileAt};

/// The result of rolling one entry back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryRollback {
    /// It was not swapped, or its old state is back.
    Old,
    /// Another program's content is there, and nothing of the new content.
    Theirs,
    /// Its old state is back, but something of another program is set aside or stays.
    Aside(&'static str),
    /// It was left as it is, for this reason.
    Left(&'static str),
}

const MOVED_HERE: EntryRollback =
    EntryRollback::Left("another program moved what the transaction had put elsewhere to it");
const IN_THE_WAY: EntryRollback = EntryRollback::Left("another program made a file there meanwhile");
const NOT_HANDED_OVER: EntryRollback =
    EntryRollback::Left("another program changed its mode, owner or attributes, and the original cannot be given them");
const NOT_GIVEN: EntryRollback = EntryRollback::Left(
    "another program changed its mode, owner or attributes while it was put back, and it cannot be given them",
);
const NOT_HANDED_ON: EntryRollback = EntryRollback::Left(
    "another program wrote it while it was rolled back, and changed the mode, owner or attributes of what is kept",
);
const NO_FOLDER: EntryRollback = EntryRollback::Left("its folder is gone");
const STRANGE: EntryRollback =
    EntryRollback::Left("a folder of another owner than the workspace's is in the place of its folder");
const FILLED: EntryRollback = EntryRollback::Left("another program put something into the folder that took its place");
const WRITTEN: EntryRollback = EntryRollback::Left("another program wrote it while it was rolled back");
/// What is in a new folder is another program's, and then so is the folder.
const NOT_EMPTY: &str = "the new folder is not empty; it stays";
const ASIDE: &str = "the check, or another program, wrote it";

/// The result for an entry whose original is gone.
fn lost(observed: Observed, is_staged: bool) -> EntryRollback {
    EntryRollback::Left(match observed.target {
        Seen::Missing => "its original is gone, and nothing is there",
        _ if is_staged => "its original is gone, and the new file stays",
        _ => "its original is gone, and what another program wrote stays",
    })
}

/// The result for an entry that is not touched, and whether that is a conflict. `may_be_swapped` is false only for a
/// delete that is known not to have been swapped: what was to be deleted was removed before.
fn left_alone(record: &Record, observed: Observed, class: Class, may_be_swapped: bool) -> EntryRollback {
    let is_missing = observed.target == Seen::Missing;
    let is_staged = record.change.staged().is_some_and(|staged| is(observed.target, staged));
    match (class, &record.change) {
        (Class::OnTop, RecordedChange::Delete { .. } | RecordedChange::RemoveFolder { .. }) => IN_THE_WAY,
        (Class::OnTop, _) if is_missing => EntryRollback::Left("another program removed it"),
        (Class::OnTop, _) => EntryRollback::Left("another program changed the new content"),
        (Class::PutBack, _) => {
            EntryRollback::Aside("another program put the old content back; the original itself is kept")
        }
        (Class::OriginalLost, _) => lost(observed, is_staged),
        (Class::Unknown, _) if is_original_gone(record, &observed) => lost(observed, is_staged),
        (Class::Same, _) if may_be_swapped && is_original_gone(record, &observed) => lost(observed, is_staged),
        // Another program removed what was created, or a power loss took it before it was swapped.
        (Class::Unknown, RecordedChange::Create { .. } | RecordedChange::Folder { .. }) if is_gone(observed) => {
            EntryRollback::Old
        }
        (Class::Unknown, RecordedChange::Create { .. }) => EntryRollback::Left("another program replaced it"),
        // Nothing that was staged is left in the slot: it was swapped, and another program has saved it anew since.
        (Class::Same, RecordedChange::Create { .. } | RecordedChange::Folder { .. })
            if observed.slot == Seen::Missing =>
        {
            EntryRollback::Left("another program replaced it")
        }
        // It was put back before a crash, in exchange for what another program had put there.
        (Class::Unknown, _) if is_original_back(record, observed.target) && observed.slot == Seen::Missing => {
            EntryRollback::Old
        }
        (Class::Unknown, _) if is_original_back(record, observed.target) => EntryRollback::Aside(ASIDE),
        (Class::Unknown, _) => EntryRollback::Left("neither its old nor its new content is there"),
        (Class::Same, _) if is_staged => EntryRollback::Left("another program wrote the new content into its original"),
        (Class::Before | Class::Same, _) => EntryRollback::Theirs,
        _ => EntryRollback::Old,
    }
}

/// Returns whether nothing is left of an entry.
fn is_gone(observed: Observed) -> bool {
    observed == Observed { target: Seen::Missing, slot: Seen::Missing }
}

/// Returns whether the content at the target after a check is set aside, even if no original goes back.
fn is_to_go_aside(change: &RecordedChange, class: Class, observed: Observed) -> bool {
    match change {
        RecordedChange::Create { .. } => observed.slot == Seen::Missing && observed.target != Seen::Missing,
        _ => change.original().is_some_and(|it| class == Class::OnTop || is(observed.slot, it)),
    }
}

impl TransactionFolder<'_> {
    /// Returns whether a new file has left nothing behind.
    pub(crate) fn is_created_and_gone(&self, entry: EntryIndex) -> Result<bool> {
        let is_created = matches!(self.record(entry).change, RecordedChange::Create { .. });
        Ok(is_created && is_gone(self.observe(entry, &NEVER)?))
    }

    /// Rolls an entry back if it was swapped. It is classified just before it is touched; what returns to the slot is
    /// verified, and swapped in again unless it is verified new content.
    pub(crate) fn roll_back(&self, entry: EntryIndex) -> Result<EntryRollback> {
        if self.record(entry).change.overwrites() {
            return self.roll_back_in_place(entry);
        }
        let is_settled = self.settle(entry)?;
        if self.is_gap(entry, &self.observe(entry, &NEVER)?)? {
            self.swap_into_place(entry)?;
            return Ok(EntryRollback::Old);
        }
        let rolled_back = self.roll_back_by_class(entry)?;
        if !is_settled && matches!(rolled_back, EntryRollback::Old | EntryRollback::Theirs) {
            return Ok(IN_THE_WAY);
        }
        if rolled_back != EntryRollback::Theirs {
            return Ok(rolled_back);
        }
        Ok(if self.not_given.contains(&entry) {
            NOT_GIVEN
        } else if self.has_new_of_another(entry)? {
            MOVED_HERE
        } else {
            rolled_back
        })
    }

    /// Returns whether another program has moved the new file of another entry to the target.
    fn has_new_of_another(&self, entry: EntryIndex) -> Result<bool> {
        let target = self.observe(entry, &NEVER)?.target;
        let is_it = |record: &Record| record.change.staged().is_some_and(|staged| is(target, staged));
        Ok(self.journal.entries.numbered().any(|(other, record)| other != entry && is_it(record)))
    }

    fn roll_back_by_class(&self, entry: EntryIndex) -> Result<EntryRollback> {
        let is_folder = matches!(self.record(entry).change, RecordedChange::Folder { .. });
        if self.journal_state == JournalState::CheckUndo && !is_folder {
            return self.roll_back_checked(entry);
        }
        let observed = self.observe(entry, &NEVER)?;
        match self.class_of(entry, &observed) {
            Class::Done if is_folder => self.roll_back_folder(entry),
            // Its folder was removed with what is in it. Any other folder that is missing has nothing in place either.
            Class::Done | Class::Captured if !self.has_its_folder(entry)? => Ok(NO_FOLDER),
            class @ (Class::Done | Class::Captured) => self.reverse_swap(entry, class),
            // The check removed it, or moved it away.
            Class::Unknown if is_folder && self.journal_state == JournalState::CheckUndo && is_gone(observed) => {
                Ok(EntryRollback::Old)
            }
            class => Ok(left_alone(self.record(entry), observed, class, self.is_recovery)),
        }
    }

    /// Reverses a swap that brought out something else than the original, before another program misses it. The rollback
    /// that follows classifies the entry anew, and reports the result.
    pub(crate) fn reverse_at_once(&mut self, entry: EntryIndex) -> Result<()> {
        self.settle(entry)?;
        if self.reverse_swap(entry, Class::Captured)? == NOT_GIVEN {
            self.not_given.insert(entry);
        }
        Ok(())
    }

    /// Reverses a swap. What returns to the slot is verified, and swapped in again unless it is verified new content.
    pub(crate) fn reverse_swap(&self, entry: EntryIndex, class: Class) -> Result<EntryRollback> {
        let makes_folder = self.record(entry).change.folder_after().is_some();
        if makes_folder && !self.target_folder_is_empty(entry)? {
            return Ok(FILLED);
        }
        let handed = self.hand_over(entry, NewFileAt::Target, Handed::AsStaged)?;
        if handed == Handed::Not {
            return Ok(NOT_HANDED_OVER);
        }
        let returned = self.returning(entry)?;
        match self.swap_back(entry) {
            Err(e) if e.os_error().is_some_and(errno::is_taken) => return Ok(IN_THE_WAY),
            other => other?,
        }
        let back = if class == Class::Captured { EntryRollback::Theirs } else { EntryRollback::Old };
        if matches!(self.record(entry).change, RecordedChange::Delete { .. } | RecordedChange::RemoveFolder { .. }) {
            return Ok(back);
        }
        if !self.slot_came_back(entry)? {
            self.swap_again(entry)?;
            // The file that went back had its name for a moment, and another program may have changed its metadata.
            let is_given = returned.given.map_or(Ok(true), |given| self.hand_on(entry, &given))?;
            return Ok(match (is_given, makes_folder) {
                (false, _) => NOT_HANDED_ON,
                (true, true) => FILLED,
                (true, false) => WRITTEN,
            });
        }
        // Another program may have changed its metadata in this moment, perhaps back to what they were.
        Ok(if self.hand_over(entry, NewFileAt::Slot(&returned), handed)? == Handed::Not { NOT_GIVEN } else { back })
    }

    /// Rolls an entry back after a check began: every entry was swapped then, and what the check wrote over it goes as
    /// well.
    fn roll_back_checked(&self, entry: EntryIndex) -> Result<EntryRollback> {
        let record = self.record(entry);
        let observed = self.observe(entry, &NEVER)?;
        let class = self.class_of(entry, &observed);
        let is_edit = matches!(record.change, RecordedChange::Edit { .. });
        // What a check made in a new folder is set aside with the folder.
        let is_filled =
            class == Class::Done && record.change.folder_after().is_some() && !self.target_folder_is_empty(entry)?;
        match (class, &record.change) {
            (Class::Done | Class::Captured, _) if !is_filled => {
                self.touch_original(entry, observed.slot);
                self.reverse_swap(entry, class)
            }
            // What is neither the new content nor the original may belong to the owner of that folder, whoever put it
            // there.
            (_, change) if self.is_in_strange_folder(entry) && is_to_go_aside(change, class, observed) => Ok(STRANGE),
            (_, RecordedChange::Create { .. }) if observed.slot == Seen::Missing => self.set_aside(entry, observed),
            (_, change) if is_to_go_aside(change, class, observed) => {
                if is_edit && self.hand_over(entry, NewFileAt::Target, Handed::AsStaged)? == Handed::Not {
                    return Ok(NOT_HANDED_OVER);
                }
                self.touch_original(entry, observed.slot);
                let aside = self.set_aside(entry, observed)?;
                match self.swap_into_place(entry) {
                    Err(e) if e.os_error().is_some_and(errno::is_taken) => Ok(IN_THE_WAY),
                    other => {
                        other.map(|()| if aside == EntryRollback::Old { aside } else { EntryRollback::Aside(ASIDE) })
                    }
                }
            }
            (Class::OriginalLost | Class::Torn | Class::Unknown, change)
                if change.original().is_some() && observed.slot == Seen::Missing =>
            {
                Ok(left_alone(record, observed, Class::OriginalLost, true))
            }
            // It was rolled back before a crash, which may have lost the time that was set then.
            (
                Class::Ready,
                RecordedChange::Edit { .. } | RecordedChange::Delete { .. } | RecordedChange::FileToFolder { .. },
            ) => {
                self.touch(Name::new(self.parent(entry)?, record.path.name()));
                Ok(EntryRollback::Old)
            }
            (class, _) => Ok(left_alone(record, observed, class, true)),
        }
    }

    fn is_in_strange_folder(&self, entry: EntryIndex) -> bool {
        self.strange.contains(self.record(entry).path.parent())
    }

    /// Moves the content at the target out of the way, into kept content. Never an exchange: what is not txedit's must
    /// not be in a slot.
    fn set_aside(&self, entry: EntryIndex, observed: Observed) -> Result<EntryRollback> {
        let kept = kept_name(entry, 0);
        let kept = Name::new(self.slots_of(entry), &kept);
        let is_kept = self.workspace().stat(kept)?.is_some();
        match (is_kept, observed.target == Seen::Missing) {
            (true, true) => return Ok(EntryRollback::Aside(ASIDE)),
            (true, false) => return Ok(EntryRollback::Left(ASIDE)),
            (false, true) => return Ok(EntryRollback::Old),
            (false, false) => {}
        }
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let moved = self.workspace().move_own(target, kept);
        moved.map(|()| EntryRollback::Aside(ASIDE)).map_err(|e| Error::io("set aside", target.path(), e))
    }

    /// Moves the original back to its name, which must be free.
    fn swap_into_place(&self, entry: EntryIndex) -> Result<()> {
        let slot = slot_name(entry);
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let moved = self.give_back_name(Name::new(self.slots_of(entry), &slot), target);
        moved.map_err(|e| Error::io("put back", target.path(), e))
    }

    /// Sets the current time: else a build would trust what it made of the rejected content, which is newer than the
    /// original.
    fn touch_original(&self, entry: EntryIndex, slot: Seen) {
        if matches!(slot, Seen::File { .. }) {
            self.touch(Name::new(self.slots_of(entry), &slot_name(entry)));
        }
    }

    /// Sets the current time if possible: the content counts more, and the file goes back in any case.
    fn touch(&self, name: Name<'_>) {
        if let Ok(file) = self.workspace().fs().open_file(name) {
            self.workspace().fs().touch(&file).ok();
        }
    }

    fn roll_back_folder(&self, entry: EntryIndex) -> Result<EntryRollback> {
        if !self.target_folder_is_empty(entry)? {
            return Ok(EntryRollback::Aside(NOT_EMPTY));
        }
        self.swap_back(entry)?;
        // Another program may just have put a file into it, or a folder of its own in its place.
        if self.slot_is_ours(entry)? {
            return Ok(EntryRollback::Old);
        }
        self.swap_again(entry)?;
        Ok(EntryRollback::Aside(NOT_EMPTY))
    }

    fn target_folder_is_empty(&self, entry: EntryIndex) -> Result<bool> {
        is_empty_folder(self.workspace(), self.parent(entry)?, Path::new(self.record(entry).path.name()))
    }
}
