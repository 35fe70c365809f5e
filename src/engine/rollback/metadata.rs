//! Gives an original the mode, owner and attributes that another program gave the new file.
//!
//! Else a `chmod 600` during a check that fails would end with the mode from before it.

use crate::digest::Digest;
use crate::engine::store::folder::TransactionFolder;
use crate::errno;
use crate::error::{Error, Result};
use crate::fs::{FileKind, Metadata, Name};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::{RecordedChange, slot_name};
use crate::plan::FileState;

/// Where the new file of an edit is; what goes back is in the other place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewFileAt<'a> {
    Target,
    /// In its slot again; this went back to the target.
    Slot(&'a Returned),
}

/// The file that is about to go back to the target of an entry.
#[derive(Debug, Clone)]
pub(crate) struct Returned {
    /// Any other file that stands at the target afterwards has a mode of its own.
    identity: Option<Identity>,
    /// What a file wears that an edit puts back. What it wears otherwise afterwards, somebody gave it there.
    pub worn: Option<Metadata>,
}

/// The metadata that the original of an edit was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    /// Nothing: nobody has changed the new file.
    AsStaged,
    /// What the new file wore when it was looked at.
    Over(FileState),
    /// It cannot be given what the new file wears.
    Not,
}

impl TransactionFolder<'_> {
    /// Gives to what goes back, the original or what came out in its place, what somebody changed of mode, owner and
    /// attributes of the new file, since that was staged, or since it was handed over `before`.
    pub(crate) fn hand_over(&self, entry: EntryIndex, place: NewFileAt<'_>, before: Handed) -> Result<Handed> {
        let record = self.record(entry);
        let RecordedChange::Edit { before: old, after, staged, .. } = &record.change else {
            return Ok(Handed::AsStaged);
        };
        let (old, after) = match &before {
            // The original was given the same.
            Handed::Over(worn) => (worn, worn),
            Handed::AsStaged | Handed::Not => (old, after),
        };
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let target = Name::new(self.parent(entry)?, record.path.name());
        let (new, returning) = match place {
            NewFileAt::Target => (target, slot),
            NewFileAt::Slot(_) => (slot, target),
        };
        let io = |verb: &'static str| move |e| Error::io(verb, self.path(entry), e);
        // What somebody put in its place has a mode of its own.
        let stat = self.workspace().fs().stat(new).map_err(io("look at"))?;
        let Some(stat) = stat.filter(|stat| stat.kind == FileKind::File && stat.identity == *staged) else {
            return Ok(before);
        };
        let there = self.workspace().fs().stat(returning).map_err(io("look at"))?;
        if let NewFileAt::Slot(went_back) = place
            && there.is_none_or(|there| Some(there.identity) != went_back.identity)
        {
            return Ok(before);
        }
        let found = self.metadata(new).map_err(io("read the attributes of"))?;
        if after.is_dressed_as(stat.mode, Some(found.access())) {
            return Ok(before);
        }
        let now = self.metadata(returning).map_err(io("read the attributes of"))?;
        let Some(mut wanted) = wanted([old, after], &found, &now) else { return Ok(Handed::Not) };
        if let NewFileAt::Slot(Returned { worn: Some(worn), .. }) = place {
            wanted = but_newer(wanted, worn, &now);
        }
        let worn = FileState { mode: found.mode, access: Some(found.access()), ..*after };
        match self.wear(returning, &now, &wanted) {
            Ok(()) => Ok(Handed::Over(worn)),
            // A later try may well give it.
            Err(e) if errno::is_passing(&e) => Err(io("set the mode, owner and attributes of")(e)),
            Err(_) => Ok(Handed::Not),
        }
    }

    /// The content of a slot before it goes back to the target.
    pub(crate) fn returning(&self, entry: EntryIndex) -> Result<Returned> {
        let slot = slot_name(entry);
        let stat = self.workspace().fs().stat(Name::new(&self.folder, &slot));
        let stat = stat.map_err(|e| Error::io("look at", self.path(entry), e))?;
        Ok(Returned { identity: stat.map(|stat| stat.identity), worn: self.worn_in_slot(entry)? })
    }

    /// What the content of a slot wears that an edit is about to put back; `None` where there is none.
    fn worn_in_slot(&self, entry: EntryIndex) -> Result<Option<Metadata>> {
        let slot = slot_name(entry);
        let slot = Name::new(&self.folder, &slot);
        let io = |verb: &'static str| move |e| Error::io(verb, self.path(entry), e);
        let stat = self.workspace().fs().stat(slot).map_err(io("look at"))?;
        let is_edit = matches!(self.record(entry).change, RecordedChange::Edit { .. });
        if !is_edit || stat.is_none_or(|stat| stat.kind != FileKind::File) {
            return Ok(None);
        }
        self.metadata(slot).map(Some).map_err(io("read the attributes of"))
    }

    /// Gives to the target what somebody changed of mode, owner and attributes of what is in the slot, since it wore
    /// `before`; `false` where it cannot be given that.
    pub(crate) fn hand_on(&self, entry: EntryIndex, before: &Metadata) -> Result<bool> {
        let Some(found) = self.worn_in_slot(entry)? else { return Ok(true) };
        let is_alike = |one: &Metadata, other: &Metadata| (one.mode, one.access()) == (other.mode, other.access());
        if is_alike(&found, before) {
            return Ok(true);
        }
        let target = Name::new(self.parent(entry)?, self.record(entry).path.name());
        let Ok(now) = self.metadata(target) else { return Ok(false) };
        let state =
            |it: &Metadata| FileState { digest: Digest::of(b""), size: 0, mode: it.mode, access: Some(it.access()) };
        let worn = state(before);
        let Some(wanted) = wanted([&worn, &worn], &found, &now) else { return Ok(false) };
        Ok(self.wear(target, &now, &wanted).is_ok())
    }

    fn wear(&self, name: Name<'_>, now: &Metadata, wanted: &Metadata) -> std::io::Result<()> {
        let file = self.workspace().fs().open_file(name)?;
        if wanted.attributes.flags != now.attributes.flags {
            self.workspace().fs().set_flags(&file, wanted.attributes.flags)?;
        }
        self.workspace().fs().set_metadata(&file, now, wanted)?;
        // It must be there before its name is: what has its name again nobody looks at any more.
        self.workspace().fs().sync(&file)
    }

    fn metadata(&self, name: Name<'_>) -> std::io::Result<Metadata> {
        let file = self.workspace().fs().open_file(name)?;
        let stat = self.workspace().fs().stat_handle(&file)?;
        let attributes = self.workspace().fs().attributes(&file)?;
        Ok(Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None })
    }
}

/// What is `wanted`, but for what is `now` other than what was `worn` when it went back: somebody changed that since.
fn but_newer(wanted: Metadata, worn: &Metadata, now: &Metadata) -> Metadata {
    let mut wanted = wanted;
    if now.mode != worn.mode {
        wanted.mode = now.mode;
    }
    if (now.user, now.group) != (worn.user, worn.group) {
        (wanted.user, wanted.group) = (now.user, now.group);
    }
    if now.attributes.digest() != worn.attributes.digest() {
        wanted.attributes = now.attributes.clone();
    }
    wanted
}

/// What the original is to wear: what it does, with what is not as the new file was staged. `None` where the journal does
/// not tell what that was.
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
        // Both had the same, or there is no telling which of them were changed.
        if old.attributes != new.attributes || now.attributes.digest() != old.attributes {
            return None;
        }
        wanted.attributes = found.attributes.clone();
    }
    Some(wanted)
}
