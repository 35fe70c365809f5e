//! Rolls back a file that was overwritten, since no rename can replace it: its old content is written over the new one.

use super::{ASIDE, EntryRollback, WRITTEN};
use crate::cancel::NEVER;
use crate::engine::store::folder::TransactionFolder;
use crate::error::Result;
use crate::fs::Name;
use crate::index::EntryIndex;
use crate::journal::kept_name;
use crate::journal::recover::overwritten::{fits, is_copy};
use crate::journal::recover::{Class, Observed, Seen};

const UNMOUNTED: EntryRollback =
    EntryRollback::Left("it is not mounted, or another file is; its old content is in the transaction's folder");
const NO_COPY: EntryRollback = EntryRollback::Left("the copy of its old content is gone");

impl TransactionFolder<'_> {
    /// Rolls back a file that was overwritten. What another program wrote stays, unless a person has decided: then it is kept,
    /// and the old content comes back.
    pub(super) fn roll_back_in_place(&self, entry: EntryIndex) -> Result<EntryRollback> {
        let observed = self.observe(entry, &NEVER)?;
        match self.class_of(entry, &observed) {
            Class::Done | Class::Partly => {
                Ok(if self.write_back(entry, None)? { EntryRollback::Old } else { self.left_in_place(entry, observed) })
            }
            Class::Theirs if self.insisted && self.may_be_kept(entry, observed) => {
                self.keep_in_place(entry)?;
                let kept = kept_name(entry, 0);
                let is_back = self.write_back(entry, Some(Name::new(self.slots_of(entry), &kept)))?;
                Ok(if is_back { EntryRollback::Aside(ASIDE) } else { WRITTEN })
            }
            Class::Before => Ok(EntryRollback::Theirs),
            Class::Ready => {
                // A crash may have come between its old content and its old time.
                if self.is_recovery {
                    self.give_back_time(entry)?;
                }
                Ok(EntryRollback::Old)
            }
            Class::Torn => Ok(EntryRollback::Old),
            _ => Ok(self.left_in_place(entry, observed)),
        }
    }

    /// Returns whether it is the file that was overwritten, and its old content is there.
    fn may_be_kept(&self, entry: EntryIndex, observed: Observed) -> bool {
        let change = &self.record(entry).change;
        let has_copy = change.before().is_some_and(|before| is_copy(before, observed.slot));
        has_copy && change.original().is_some_and(|original| fits(observed.target, original))
    }

    fn left_in_place(&self, entry: EntryIndex, observed: Observed) -> EntryRollback {
        let change = &self.record(entry).change;
        if !change.before().is_some_and(|before| is_copy(before, observed.slot)) {
            return NO_COPY;
        }
        match (observed.target, change.original()) {
            (Seen::File { .. } | Seen::Mixed(_), Some(original)) if fits(observed.target, original) => WRITTEN,
            _ => UNMOUNTED,
        }
    }
}
