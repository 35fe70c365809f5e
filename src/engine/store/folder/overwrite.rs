//! Overwrites a file that no rename can replace, since something is mounted at its name.
//!
//! Architecture invariant: nothing is written into a target but through the handle through which it was just read, and nothing
//! before a durable copy of it is in the slot. Between the lease and the end of that handle the file is opened nowhere else: this
//! process would be the one that waits.

use super::mixture::{is_mixture, seen_of};
use super::{TransactionFolder, see};
use crate::cancel::{CancelToken, NEVER};
use crate::engine::store::files::write_all;
use crate::engine::store::snapshot;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Handle, Lease, Metadata, Name};
use crate::identity::{Identity, Timestamp};
use crate::index::EntryIndex;
use crate::journal::recover::overwritten::{fits, is_copy};
use crate::journal::recover::{Class, Observed, Seen};
use crate::journal::{RecordedChange, kept_name, new_name, slot_name};
use crate::limits;
use crate::plan::FileState;

impl TransactionFolder<'_> {
    /// Overwrites the target of an entry with what was staged for it, and verifies that.
    pub(super) fn overwrite(&self, entry: EntryIndex) -> Result<()> {
        let RecordedChange::Overwrite { before, after, original, .. } = &self.record(entry).change else {
            unreachable!("only a file that is overwritten has a copy")
        };
        // What was staged is read from the very files that this process has written.
        assert!(!self.is_recovery, "nothing is overwritten after a crash but by its old content");
        let path = self.path(entry);
        let (file, lease) = self.open_in_place(entry)?;
        if lease == Lease::Refused {
            let message = format!(
                "{} is open in another program, which could read half of the new content, or write into it: close it there, \
                 then try again",
                path.display()
            );
            return Err(Error::new(ErrorKind::ConcurrentModification, message).at(path));
        }
        // By this handle, under the lease: any earlier look proves nothing about what is overwritten.
        let is_old = match seen_of(self.workspace(), &file, &NEVER)? {
            Seen::File { digest, mode, access, identity } => {
                original.fits(&identity) && digest == before.digest && before.has_metadata(mode, Some(access))
            }
            _ => false,
        };
        if !is_old {
            return Err(snapshot::changed(&path, "changed since it was read"));
        }
        let new = new_name(entry);
        let new = Name::new(self.slots_of(entry), &new);
        if before.digest != after.digest {
            self.fill_in_place(&file, new, [before.size, after.size])?;
        }
        if before.mode != after.mode {
            self.give_in_place(&file, after.mode, None)?;
        }
        if !self.is_in_place(entry, &file, (original, after))? {
            return Err(snapshot::changed(&path, "was written while it was overwritten"));
        }
        Ok(())
    }

    /// Writes the old content of a file back that was overwritten, whole or in part. Returns false, and writes nothing, if
    /// another program's content is in it; but if `kept` has that whole, it counts as ours to overwrite.
    pub(crate) fn write_back(&self, entry: EntryIndex, kept: Option<Name<'_>>) -> Result<bool> {
        let RecordedChange::Overwrite { before, after, original, .. } = &self.record(entry).change else {
            unreachable!("only a file that is overwritten has a copy")
        };
        // A file that is half new must not stay so for the sake of somebody who has it open: here a refused lease is no reason
        // to stop.
        let (file, _) = self.open_in_place(entry)?;
        let target = self.seen_in_place(entry, &file, &NEVER)?;
        let slot = slot_name(entry);
        let slot = Name::new(self.slots_of(entry), &slot);
        let copy = self.see(slot)?;
        let is_ours = match self.class_of(entry, &Observed { target, slot: copy }) {
            Class::Ready | Class::Before => return Ok(true),
            Class::Done | Class::Partly => true,
            _ => match kept.filter(|_| fits(target, original) && is_copy(before, copy)) {
                Some(kept) => is_mixture(self.workspace(), &file, [kept, slot], &NEVER)?,
                None => false,
            },
        };
        if !is_ours {
            return Ok(false);
        }
        let now = self.workspace().stat_handle(&file)?;
        // Any other mode was given by another program. It comes first: what has the old content and the new mode would not be
        // told from a change by somebody else.
        let mode = if now.mode == after.mode { before.mode } else { now.mode };
        let of_copy = self.workspace().stat(slot)?.map(|stat| stat.modified);
        if mode != now.mode {
            self.give_in_place(&file, mode, None)?;
        }
        if !matches!(target, Seen::File { digest, .. } if digest == before.digest) {
            self.fill_in_place(&file, slot, [now.size, before.size])?;
        }
        if snapshot::digest(self.workspace(), &file, before.size, &NEVER)? != before.digest {
            return Ok(false);
        }
        self.give_in_place(&file, mode, of_copy)?;
        Ok(true)
    }

    /// Returns whether the path of an entry leads to what was written, as far as the handle through which that was done could
    /// not tell: where no number lasts a file that somebody else put in its place may have the same one.
    pub(crate) fn has_overwritten(&self, entry: EntryIndex) -> Result<bool> {
        if self.record(entry).change.original().is_none_or(|original| original.inode != 0) {
            return Ok(true);
        }
        Ok(self.classify(entry)? == Class::Done)
    }

    /// Gives a file that has its old content the time of the copy.
    pub(crate) fn give_back_time(&self, entry: EntryIndex) -> Result<()> {
        let (target, slot) = (self.target(entry)?, slot_name(entry));
        let time = |name| Ok::<_, Error>(self.workspace().stat(name)?.map(|stat| stat.modified));
        let (now, before) = (time(target)?, time(Name::new(self.slots_of(entry), &slot))?);
        if before.is_none() || now == before {
            return Ok(());
        }
        let file = self.workspace().open_file(target)?;
        let mode = self.workspace().stat_handle(&file)?.mode;
        self.give_in_place(&file, mode, before)
    }

    /// Keeps what another program wrote into a file that is overwritten, durably. What is kept already stays.
    pub(crate) fn keep_in_place(&self, entry: EntryIndex) -> Result<()> {
        let kept = kept_name(entry, 0);
        let hidden = format!(".{kept}");
        let [kept, hidden] = [&kept, &hidden].map(|name| Name::new(self.slots_of(entry), name));
        let workspace = self.workspace();
        if workspace.stat(kept)?.is_some() {
            return Ok(());
        }
        // A killed recovery may have left a part of it.
        workspace.fs().unlink(hidden).ok();
        let target = workspace.open_file(self.target(entry)?)?;
        let (copy, guard, _) = workspace.create(hidden, 0o600)?;
        self.copy_content(&target, &copy)?;
        workspace.sync(&copy)?;
        guard.disarm();
        workspace.move_own(hidden, kept).map_err(|e| Error::io("rename", hidden.path(), e))?;
        let synced = workspace.sync(self.slots_of(entry));
        self.state.noting(synced)
    }

    /// Makes the files that are overwritten durable: they may be on other file systems.
    pub(crate) fn sync_overwritten(&self) -> Result<()> {
        let overwritten = self.journal.entries.numbered().filter(|(_, record)| record.change.overwrites());
        for (entry, record) in overwritten {
            let Some((_, parent)) = self.parents.get(record.path.parent()) else { continue };
            let name = Name::new(parent, record.path.name());
            if self.workspace().stat(name)?.is_some_and(|stat| stat.kind == FileKind::File) {
                let file = self.workspace().open_file(name).map_err(|error| error.at(self.path(entry)))?;
                self.workspace().sync(&file)?;
            }
        }
        Ok(())
    }

    /// Removes what targets were overwritten with. What stays is removed with the folder.
    pub(crate) fn remove_new(&self) {
        for (entry, _) in self.journal.entries.numbered().filter(|(_, record)| record.change.overwrites()) {
            self.workspace().fs().unlink(Name::new(self.slots_of(entry), &new_name(entry))).ok();
        }
    }

    /// What is in a file that is overwritten.
    pub(super) fn seen_in_place(&self, entry: EntryIndex, file: &Handle, cancel: &CancelToken) -> Result<Seen> {
        let RecordedChange::Overwrite { before, after, .. } = &self.record(entry).change else {
            unreachable!("only a file that is overwritten has a copy")
        };
        let seen = seen_of(self.workspace(), file, cancel)?;
        let Seen::File { digest, identity, .. } = seen else { return Ok(seen) };
        if digest == before.digest || digest == after.digest {
            return Ok(seen);
        }
        let (slot, new) = (slot_name(entry), new_name(entry));
        let [slot, new] = [&slot, &new].map(|name| Name::new(self.slots_of(entry), name));
        let is_whole = |name, wanted: &FileState| {
            see(self.workspace(), name, cancel)
                .map(|seen| matches!(seen, Seen::File { digest, .. } if digest == wanted.digest))
        };
        let is_mixed = is_whole(slot, before)?
            && is_whole(new, after)?
            && is_mixture(self.workspace(), file, [slot, new], cancel)?;
        Ok(if is_mixed { Seen::Mixed(identity) } else { seen })
    }

    fn target(&self, entry: EntryIndex) -> Result<Name<'_>> {
        Ok(Name::new(self.parent(entry)?, self.record(entry).path.name()))
    }

    /// Opens a target to be overwritten, with a lease if there is one.
    fn open_in_place(&self, entry: EntryIndex) -> Result<(Handle, Lease)> {
        let path = self.path(entry);
        let opened = self.workspace().fs().open_to_write(self.target(entry)?);
        let file = opened.map_err(|e| match errno::of(&e) {
            Some(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ISDIR) => {
                snapshot::changed(&path, "appeared or vanished")
            }
            _ => Error::io("overwrite", &path, e),
        })?;
        let lease = self.workspace().fs().lease(&file).map_err(|e| Error::io("lease", &path, e))?;
        Ok((file, lease))
    }

    /// Fills a file with the content of another one: it has the first of the sizes now, and gets the second.
    fn fill_in_place(&self, file: &Handle, from: Name<'_>, [now, wanted]: [u64; 2]) -> Result<()> {
        let (fs, io) = (self.workspace().fs(), |verb| move |e| Error::io(verb, file.path(), e));
        // Found out before the first byte is lost.
        fs.reserve(file, now, wanted.saturating_sub(now)).map_err(io("find room for"))?;
        let from = self.workspace().open_file(from)?;
        self.copy_content(&from, file)?;
        if wanted < now {
            fs.set_size(file, wanted).map_err(io("cut off"))?;
        }
        Ok(())
    }

    fn copy_content(&self, from: &Handle, to: &Handle) -> Result<()> {
        let mut buffer = vec![0; limits::CHUNK_BYTES];
        let mut offset = 0;
        loop {
            // As much as there is room for: a part of a block that is written by itself would be torn by itself.
            let mut filled = 0;
            while filled < buffer.len() {
                match self.workspace().read_at(from, offset + filled as u64, &mut buffer[filled..])? {
                    0 => break,
                    read => filled += read,
                }
            }
            if filled == 0 {
                return Ok(());
            }
            write_all(self.workspace(), to, offset, &buffer[..filled])?;
            offset += filled as u64;
        }
    }

    /// Gives a file a mode and, if there is one, a time.
    fn give_in_place(&self, file: &Handle, mode: u32, modified: Option<Timestamp>) -> Result<()> {
        let stat = self.workspace().stat_handle(file)?;
        let attributes = self.workspace().attributes(file)?;
        let now = Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None };
        let wanted = Metadata { mode, modified, ..now.clone() };
        self.workspace().set_metadata(file, &now, &wanted)
    }

    /// Returns whether a file has what it was overwritten with, and still has its name.
    fn is_in_place(
        &self,
        entry: EntryIndex,
        file: &Handle,
        (original, after): (&Identity, &FileState),
    ) -> Result<bool> {
        let digest = snapshot::digest(self.workspace(), file, after.size, &NEVER)?;
        let (stat, there) = (self.workspace().stat_handle(file)?, self.workspace().stat(self.target(entry)?)?);
        // Without a number that lasts, that of the file that is held open lasts as long as it is held.
        let is_it =
            |identity: &Identity| if original.inode == 0 { *identity == stat.identity } else { identity == original };
        let is_there = there.is_some_and(|there| is_it(&there.identity));
        Ok(is_there && stat.mode == after.mode && digest == after.digest)
    }
}
