//! Swaps while another program writes more often than a sync takes: applies the edit to the present content, and swaps
//! it before it is durable.

use std::sync::Arc;

use super::CommitWalk;
use crate::cancel::CancelToken;
use crate::cancel::NEVER;
use crate::charset::readable;
use crate::digest::Digest;
use crate::engine::store::files::write_all;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::snapshot::{self, ReadMode, Snapshot};
use crate::engine::transaction::prepare::prepared::ContendedEdits;
use crate::error::{ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::index::{EntryIndex, FileIndex};
use crate::journal;
use crate::limits;
use crate::plan::{FileState, NewContent, PlannedChange};
use crate::text::{Edited, encoded};

impl CommitWalk<'_> {
    /// Swaps an entry whose target is still what was read. If another program was faster, an edit is made again; what
    /// can be made only once is a conflict.
    pub(super) fn contend(&mut self, entry: EntryIndex) -> Result<()> {
        for _ in 0..limits::CONTENDED_TRIES {
            check_cancelled(self.heeded(entry))?;
            match self.verify_target(entry) {
                // Once it is swapped, another program may have the file open: it is never written again.
                Ok(()) => {
                    self.transaction().swap(entry)?;
                    return self.verify_swap(entry);
                }
                Err(error) if error.kind() == ErrorKind::ConcurrentModification => match self.make_anew(entry) {
                    Err(error) if error.kind() != ErrorKind::ConcurrentModification => return Err(error),
                    Ok(false) => return Err(error),
                    _ => {}
                },
                Err(error) => return Err(error),
            }
        }
        Err(snapshot::changed(&self.transaction().path(entry), "keeps changing"))
    }

    /// A cancellation counts only before the first entry is swapped: then the others follow, as in every commit.
    fn heeded(&self, entry: EntryIndex) -> &CancelToken {
        if entry == EntryIndex(0) { self.run.cancel } else { &NEVER }
    }

    /// Reads the target of an edit again, and writes the result into the slot, which no other process has seen yet.
    /// Returns false if that is not possible.
    fn make_anew(&mut self, entry: EntryIndex) -> Result<bool> {
        let edits = self.prepared.contended.as_ref().and_then(|contended| contended.get(&entry));
        let (Some(ContendedEdits { edits, encoding }), Some(slot)) = (edits, self.staging.open(entry)) else {
            return Ok(false);
        };
        let Some((snapshot, bytes)) = self.read_anew(entry)? else { return Ok(false) };
        let encoding = *encoding;
        let Ok(Edited { splices, applied }) = encoded::edit(&bytes, encoding, edits) else { return Ok(false) };
        let new = splices.apply(&bytes);
        let workspace = self.transaction().workspace();
        let PlannedChange::Edit(before, planned) = &mut self.prepared.plan.entries[entry].change else {
            unreachable!("only edits are made anew")
        };
        // A staged file never becomes shorter: a longer one is left to another attempt.
        if splices.is_empty() || (new.len() as u64) < planned.state.size {
            return Ok(false);
        }
        let after = FileState { digest: Digest::of(&new), size: new.len() as u64, ..planned.state };
        let source = match &planned.content {
            NewContent::Spliced(source, _) => *source,
            NewContent::Bytes(_) | NewContent::Held(_) => unreachable!("only edits are made anew"),
        };
        if let Err(error) = write_all(workspace, &slot, 0, &new) {
            // Half of a content that no other process has seen: it takes space on a full disk, and would be kept as
            // another program's.
            self.transaction().unlink_staged(entry);
            return Err(error);
        }
        planned.content = NewContent::Spliced(source, splices);
        planned.state = after;
        *before = snapshot.state();
        self.staging.transaction_mut().made_anew(entry, &snapshot, after);
        if let Some(FileIndex(file)) = self.prepared.plan.entries[entry].asked_by {
            let report = &mut self.source.files[file];
            (report.hash_before, report.hash_after) = (Some(snapshot.digest), Some(after.digest));
            report.edits = applied;
            if report.extras.content.is_some() {
                report.extras.content = Some(readable(&new, encoding).into_owned());
            }
        }
        self.prepared.targets[entry] = Some(Arc::new(snapshot));
        Ok(true)
    }

    /// The target as it is now; `None` if more than its content changed.
    fn read_anew(&self, entry: EntryIndex) -> Result<Option<(Snapshot, Vec<u8>)>> {
        let transaction = self.transaction();
        let Some(was) = &self.prepared.targets[entry] else { return Ok(None) };
        let name = Name::new(transaction.parent(entry)?, transaction.record(entry).path.name());
        let stat = transaction.workspace().stat(name)?;
        let is_plain = |stat: &crate::fs::Stat| {
            stat.kind == FileKind::File && !stat.mount_root && stat.links <= 1 && stat.size <= limits::CONTENDED_BYTES
        };
        let Some(stat) = stat.filter(is_plain) else { return Ok(None) };
        let (snapshot, bytes) =
            snapshot::read(transaction.workspace(), name, &Arc::new(stat), ReadMode::Whole, self.heeded(entry))?;
        let now = snapshot.state();
        Ok(was.state().has_metadata(now.mode, now.access).then_some((snapshot, bytes)))
    }
}

impl crate::engine::store::folder::TransactionFolder<'_> {
    /// Deletes what was staged for an entry and never swapped. What cannot be deleted is deleted with the folder.
    fn unlink_staged(&self, entry: EntryIndex) {
        self.workspace().fs().unlink(Name::new(self.slots_of(entry), &journal::slot_name(entry))).ok();
    }

    /// Records the present target of an edit, and what was staged for it.
    fn made_anew(&mut self, entry: EntryIndex, target: &Snapshot, new: FileState) {
        let journal::RecordedChange::Edit { before, after, original, .. } = &mut self.journal.entries[entry].change
        else {
            unreachable!("only edits are made anew")
        };
        (*before, *original) = (target.state(), target.stat.identity);
        *after = FileState { access: after.access, mode: after.mode, ..new };
    }
}
