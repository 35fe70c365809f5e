//! Gives an original the mode, owner and attributes that another program gave the new file.
//!
//! Otherwise a `chmod 600` during a failing check would end with the mode from before the check.

use crate::digest::Digest;
use crate::engine::store::folder::TransactionFolder;
use crate::errno;
use crate::error::{Error, Result};
use crate::fs::{FileKind, Metadata, Name};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::{RecordedChange, slot_name};
use crate::plan::FileState;

/// The place of an edit's new file; the file that goes back is in the other place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewFileAt<'a> {
    Target,
    /// In the slot again; the given file went back to the target.
    Slot(&'a Returned),
}

/// The file that is about to go back to an entry's target.
#[derive(Debug, Clone)]
pub(crate) struct Returned {
    /// Its identity: any other file at the target afterwards has metadata of its own.
    identity: Option<Identity>,
    /// The metadata of a file that an edit puts back. If it changes afterwards, another program changed it.
    pub given: Option<Metadata>,
}

/// The metadata that the original of an edit was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    /// None: no program has changed the new file.
    AsStaged,
    /// The metadata of the new file when it was examined.
    Over(FileState),
    /// It cannot be given what the new file has.
    Not,
}

impl TransactionFolder<'_> {
    /// Gives the file that goes back, the original or what came out in its place, the changes that another program made
    /// to mode, owner and attributes of the new file since it was staged, or since the hand-over `before`.
    pub(crate) fn hand_over(&self, entry: EntryIndex, place: NewFileAt<'_>, before: Handed) -> Result<Handed> {
        let record = self.record(entry);
        let RecordedChange::Edit { before: old, after, staged, .. } = &record.change else {
            return Ok(Handed::AsStaged);
        };
        let (old, after) = match &before {
            // The original was given the same before.
            Handed::Over(given) => (given, given),
            Handed::AsStaged | Handed::Not => (old, after),
        };
        let slot = slot_name(entry);
        let slot = Name::new(self.slots_of(entry), &slot);
        let target = Name::new(self.parent(entry)?, record.path.name());
        let (new, returning) = match place {
            NewFileAt::Target => (target, slot),
            NewFileAt::Slot(_) => (slot, target),
        };
        let io = |verb: &'static str| move |e| Error::io(verb, self.path(entry), e);
        // A file that another program put in its place has metadata of its own.
        let stat = self.workspace().fs().stat(new).map_err(io("look at"))?;
        let Some(stat) = stat.filter(|stat| stat.kind == FileKind::File && stat.identity == *staged) else {
            return Ok(before);
        };
        let there = self.workspace().fs().stat(returning).map_err(io("look at"))?;
        if let NewFileAt::Slot(went_back) = place
            && there.as_ref().is_none_or(|there| Some(there.identity) != went_back.identity)
        {
            return Ok(before);
        }
        // A symlink that goes back has no permissions that it could be given.
        if there.is_some_and(|there| there.kind == FileKind::Symlink) {
            return Ok(before);
        }
        let found = self.metadata(new).map_err(io("read the attributes of"))?;
        if after.has_metadata(stat.mode, Some(found.access())) {
            return Ok(before);
        }
        let now = self.metadata(returning).map_err(io("read the attributes of"))?;
        let Some(mut wanted) = wanted([old, after], &found, &now) else { return Ok(Handed::Not) };
        if let NewFileAt::Slot(Returned { given: Some(given), .. }) = place {
            wanted = but_newer(wanted, given, &now);
        }
        let given = FileState { mode: found.mode, access: Some(found.access()), ..*after };
        match self.give(returning, &now, &wanted) {
            Ok(()) => Ok(Handed::Over(given)),
            // A later attempt may succeed.
            Err(e) if errno::is_passing(&e) => Err(io("set the mode, owner and attributes of")(e)),
            Err(_) => Ok(Handed::Not),
        }
    }

    /// The content of a slot that is about to go back to the target.
    pub(crate) fn returning(&self, entry: EntryIndex) -> Result<Returned> {
        let slot = slot_name(entry);
        let stat = self.workspace().fs().stat(Name::new(self.slots_of(entry), &slot));
        let stat = stat.map_err(|e| Error::io("look at", self.path(entry), e))?;
        Ok(Returned { identity: stat.map(|stat| stat.identity), given: self.slot_metadata(entry)? })
    }

    /// The metadata of the file in the slot that an edit is about to put back; `None` if there is none.
    fn slot_metadata(&self, entry: EntryIndex) -> Result<Option<Metadata>> {
        let slot = slot_name(entry);
        let slot = Name::new(self.slots_of(entry), &slot);
        let io = |verb: &'static str| move |e| Error::io(verb, self.path(entry), e);
        let stat = self.workspace().fs().stat(slot).map_err(io("look at"))?;
        let is_edit = matches!(self.record(entry).change, RecordedChange::Edit { .. });
        if !is_edit || stat.is_none_or(|stat| stat.kind != FileKind::File) {
            return Ok(None);
        }
        self.metadata(slot).map(Some).map_err(io("read the attributes of"))
    }

    /// Gives the target the changes that another program made to mode, owner and attributes of the file in the slot
    /// since they were `before`. Returns false if it cannot be given them.
    pub(crate) fn hand_on(&self, entry: EntryIndex, before: &Metadata) -> Result<bool> {
        let Some(found) = self.slot_metadata(entry)? else { return Ok(true) };
        let is_alike = |one: &Metadata, other: &Metadata| (one.mode, one.access()) == (other.mode, other.access());
        if is_alike(&found, before) {
            return Ok(true);
        }
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let Ok(now) = self.metadata(target) else { return Ok(false) };
        let state =
            |it: &Metadata| FileState { digest: Digest::of(b""), size: 0, mode: it.mode, access: Some(it.access()) };
        let given = state(before);
        let Some(wanted) = wanted([&given, &given], &found, &now) else { return Ok(false) };
        Ok(self.give(target, &now, &wanted).is_ok())
    }

    fn give(&self, name: Name<'_>, now: &Metadata, wanted: &Metadata) -> std::io::Result<()> {
        let file = self.workspace().fs().open_file(name)?;
        if wanted.attributes.flags != now.attributes.flags {
            self.workspace().fs().set_flags(&file, wanted.attributes.flags)?;
        }
        self.workspace().fs().set_metadata(&file, now, wanted)?;
        // Durable before the file gets its name: once it has, no recovery examines its metadata again.
        self.workspace().fs().sync(&file)
    }

    fn metadata(&self, name: Name<'_>) -> std::io::Result<Metadata> {
        let file = self.workspace().fs().open_file(name)?;
        let stat = self.workspace().fs().stat_handle(&file)?;
        let attributes = self.workspace().fs().attributes(&file)?;
        Ok(Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None })
    }
}

/// The `wanted` metadata, except those that are `now` other than they were when the file went back: another program
/// changed them since.
fn but_newer(wanted: Metadata, given: &Metadata, now: &Metadata) -> Metadata {
    let mut wanted = wanted;
    if now.mode != given.mode {
        wanted.mode = now.mode;
    }
    if (now.user, now.group) != (given.user, given.group) {
        (wanted.user, wanted.group) = (now.user, now.group);
    }
    if now.attributes.digest() != given.attributes.digest() {
        wanted.attributes = now.attributes.clone();
    }
    wanted
}

/// The metadata that the original is to get: its own, with what is changed in the new file since it was staged. `None`
/// if the journal does not tell what was changed.
fn wanted([before, after]: [&FileState; 2], found: &Metadata, now: &Metadata) -> Option<Metadata> {
    let mut wanted = now.clone();
    if found.mode != after.mode {
        wanted.mode = found.mode;
    }
    let (Some(old), Some(new)) = (before.access, after.access) else { return Some(wanted) };
    if found.user != new.user {
        wanted.user = found.user;
    }
    if found.group != new.group {
        wanted.group = found.group;
    }
    let attributes = found.attributes.digest();
    if attributes != new.attributes && attributes != now.attributes.digest() {
        // Unless the original and the new file had the same attributes, the digests do not tell which were changed.
        if old.attributes != new.attributes || now.attributes.digest() != old.attributes {
            return None;
        }
        wanted.attributes = found.attributes.clone();
    }
    Some(wanted)
}
