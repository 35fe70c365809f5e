//! Swaps where two names cannot be exchanged: what is at the target moves out of its name, to a third one, and what is in the
//! slot gets the name of the target. Where a name can be given without replacement, what came out stays there unless the entry is
//! rolled back; else it gets the name of the slot. A crash in between is seen by the third name, and
//! [`settle`](TransactionFolder::settle) ends or reverses it.
//!
//! Architecture invariant: no name of the workspace is given but while it is free, and of an original no name goes before
//! another one is durable.

use std::io;

use super::TransactionFolder;
use super::swap::SwapDirection;
use crate::cancel::CancelToken;
use crate::engine::store::workspace::Workspace;
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::{FileKind, Handle, Name, Rename};
use crate::index::EntryIndex;
use crate::journal::recover::Observed;
use crate::journal::recover::settled::may_be_gap;
use crate::journal::{Journal, JournalState, SwapMethod, kept_name, out_name, slot_name};

/// The name of the original of an entry that was swapped, in the folder of its slot: it may be the one to which it came out.
pub(crate) fn name_of_original(
    workspace: &Workspace,
    slots: &Handle,
    journal: &Journal,
    entry: EntryIndex,
) -> Result<String> {
    if journal.keeps_out(entry) {
        let out = out_name(entry);
        if workspace.stat(Name::new(slots, &out))?.is_some() {
            return Ok(out);
        }
    }
    Ok(slot_name(entry))
}

impl TransactionFolder<'_> {
    /// Exchanges a slot and a target step by step. Backward, and once it is settled, it is its own reverse.
    pub(super) fn exchange_stepwise(
        &self,
        entry: EntryIndex,
        [slot, target]: [Name<'_>; 2],
        direction: SwapDirection,
    ) -> io::Result<()> {
        let out = out_name(entry);
        let out = Name::new(self.slots_of(entry), &out);
        self.take_name(target, out)?;
        // Nothing else may come between: nobody finds the file meanwhile.
        if let Err(error) = self.give_name_to(slot, target) {
            if !errno::is_taken(&error) {
                self.give_name(out, target, SwapDirection::Back).ok();
            }
            return Err(error);
        }
        if direction == SwapDirection::Forward && self.journal.keeps_out(entry) {
            return Ok(());
        }
        self.end_exchange([slot, target, out], direction)
    }

    /// The name of what a swap brought out.
    pub(crate) fn name_brought_out(&self, entry: EntryIndex) -> String {
        if self.journal.keeps_out(entry) { out_name(entry) } else { slot_name(entry) }
    }

    /// Gives what came out the name of the slot, which is free or that of what is at the target now.
    fn end_exchange(&self, [slot, target, out]: [Name<'_>; 3], direction: SwapDirection) -> io::Result<()> {
        if self.journal.header.swap != SwapMethod::Link {
            return self.workspace().move_own(out, slot);
        }
        // The slot may have the only name that is durable.
        if direction != SwapDirection::Forward {
            self.sync_target(target)?;
        }
        let fs = self.workspace().fs();
        let kind = |name| fs.stat(name).map(|stat| stat.map(|stat| stat.kind));
        if kind(slot)? == Some(FileKind::Folder) || kind(out)? != Some(FileKind::Folder) {
            return fs.rename(out, slot, Rename::Replace);
        }
        // A folder takes the place of no file.
        self.drop_second_name(slot, target, direction)?;
        self.workspace().move_own(out, slot)
    }

    /// Moves what has a name in the workspace to a free one in the transaction's folder.
    pub(super) fn take_name(&self, target: Name<'_>, own: Name<'_>) -> io::Result<()> {
        match self.journal.header.swap {
            SwapMethod::Exchange | SwapMethod::Rename => self.workspace().fs().rename(target, own, Rename::NoReplace),
            SwapMethod::Link => self.workspace().move_looking(target, own),
        }
    }

    /// Moves what is in the transaction's folder to a name in the workspace, which must be free.
    pub(super) fn give_name(&self, own: Name<'_>, target: Name<'_>, direction: SwapDirection) -> io::Result<()> {
        self.give_name_to(own, target)?;
        self.drop_second_name(own, target, direction)
    }

    /// Moves an original back to its name, which must be free.
    pub(crate) fn give_back_name(&self, own: Name<'_>, target: Name<'_>) -> io::Result<()> {
        self.give_name(own, target, SwapDirection::Back)
    }

    /// The same, but a file may keep its own name as well.
    fn give_name_to(&self, own: Name<'_>, target: Name<'_>) -> io::Result<()> {
        let fs = self.workspace().fs();
        if self.journal.header.swap != SwapMethod::Link {
            return fs.rename(own, target, Rename::NoReplace);
        }
        let kind = fs.stat(own)?.ok_or(Errno::NOENT)?.kind;
        if kind != FileKind::Folder {
            return fs.link(own, target);
        }
        // A folder has one name. The system replaces nothing but an empty one, which is no worse than ours.
        match fs.stat(target)? {
            Some(_) => Err(Errno::EXIST.into()),
            None => fs.rename(own, target, Rename::Replace),
        }
    }

    /// Drops the name in the transaction's folder of what has one in the workspace, too. That must be durable, but for what was
    /// staged: if it is lost, no more is lost than by a crash.
    fn drop_second_name(&self, own: Name<'_>, target: Name<'_>, direction: SwapDirection) -> io::Result<()> {
        let fs = self.workspace().fs();
        let Some(stat) = fs.stat(own)? else { return Ok(()) };
        if stat.kind == FileKind::Folder || fs.stat(target)?.is_none_or(|there| there.identity != stat.identity) {
            return Ok(());
        }
        if direction != SwapDirection::Forward {
            self.sync_target(target)?;
        }
        fs.unlink(own)
    }

    /// Makes a name in the workspace durable. After a sync that failed nothing is taken for durable: it is not tried again.
    fn sync_target(&self, target: Name<'_>) -> io::Result<()> {
        if !self.state.may_sync() {
            return Err(Errno::IO.into());
        }
        self.state.noting(self.workspace().fs().sync(target.folder))
    }

    /// What an entry looks like once it is settled.
    pub(super) fn as_settled(&self, entry: EntryIndex, observed: Observed) -> Result<Observed> {
        if self.journal.header.swap == SwapMethod::Exchange || self.record(entry).change.overwrites() {
            return Ok(observed);
        }
        let out = self.see(Name::new(self.slots_of(entry), &out_name(entry)))?;
        Ok((self.workspace().protocol.settled)(observed, out))
    }

    /// The state of the journal. One that is `journal.new` since its next name was lost is that of the next one where a name
    /// has come out of its place.
    pub(crate) fn evident_state(&self) -> Result<JournalState> {
        let state = self.journal_state;
        if state != JournalState::New || self.journal.header.swap == SwapMethod::Exchange {
            return Ok(state);
        }
        for entry in self.journal.entries.indices() {
            let out = out_name(entry);
            if self.workspace().stat(Name::new(self.slots_of(entry), &out))?.is_some() {
                return Ok(JournalState::Sealed);
            }
        }
        Ok(state)
    }

    /// Ends or reverses what a crash, or a failure, has left of a swap. Returns false if another program took the name of the
    /// target in that moment, or removed its folder: then what had come out is kept.
    pub(crate) fn settle(&self, entry: EntryIndex) -> Result<bool> {
        if self.journal.header.swap == SwapMethod::Exchange {
            return Ok(true);
        }
        let (slot, out, kept) = (slot_name(entry), out_name(entry), kept_name(entry, 0));
        let [slot, out, kept] = [&slot, &out, &kept].map(|name| Name::new(self.slots_of(entry), name));
        let parent = self.parents.get(self.record(entry).path.parent());
        let target = parent.map(|(_, parent)| Name::new(parent, self.record(entry).path.name()));
        let settle = || -> io::Result<bool> {
            let is_settled = match target {
                Some(target) => self.settle_names(slot, target, out)?,
                None => self.workspace().fs().stat(out)?.is_none(),
            };
            if !is_settled {
                self.workspace().move_own(out, kept)?;
            }
            Ok(is_settled)
        };
        settle().map_err(|e| Error::io("put back", self.path(entry), e))
    }

    fn settle_names(&self, slot: Name<'_>, target: Name<'_>, out: Name<'_>) -> io::Result<bool> {
        let fs = self.workspace().fs();
        if fs.stat(out)?.is_none() {
            return self.drop_second_name(slot, target, SwapDirection::Back).map(|()| true);
        }
        match self.give_name(out, target, SwapDirection::Back) {
            Err(e) if errno::is_taken(&e) => {}
            given => return given.map(|()| true),
        }
        let identity = |name| fs.stat(name).map(|stat| stat.map(|stat| stat.identity));
        let (at_slot, at_target) = (identity(slot)?, identity(target)?);
        if at_target.is_some() && at_target == identity(out)? {
            return self.drop_second_name(out, target, SwapDirection::Back).map(|()| true);
        }
        if at_slot.is_none() || at_slot == at_target {
            return self.end_exchange([slot, target, out], SwapDirection::Back).map(|()| true);
        }
        Ok(false)
    }

    /// The entries whose original goes back although it looks as if another program had removed the file.
    pub(crate) fn gaps(&self, cancel: &CancelToken) -> Result<Vec<EntryIndex>> {
        let mut gaps = Vec::new();
        if self.journal.header.swap == SwapMethod::Link {
            for entry in self.journal.entries.indices() {
                if self.is_gap(entry, &self.observe(entry, cancel)?)? {
                    gaps.push(entry);
                }
            }
        }
        Ok(gaps)
    }

    /// Returns whether a power loss may have taken the only name of what was staged, and left nothing at the target: the
    /// original goes back. It looks like a file that another program removed, but that is never lost by it.
    pub(crate) fn is_gap(&self, entry: EntryIndex, observed: &Observed) -> Result<bool> {
        let record = self.record(entry);
        // What is missing with its folder went with that.
        let has_folder = self.parents.contains_key(record.path.parent());
        if self.journal.header.swap != SwapMethod::Link
            || !self.is_recovery
            || !has_folder
            || !may_be_gap(record, observed)
        {
            return Ok(false);
        }
        Ok(self.journal.header.boot != self.workspace().host()?.boot)
    }
}
