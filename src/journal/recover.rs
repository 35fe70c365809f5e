//! The recovery decision: a pure function of the records and the observed files.
//!
//! The two tables here are those of `journal-format.md`; each row has a counterexample that requires it.

mod adopt;
pub mod overwritten;
pub mod settled;
mod times;

use std::path::Path;

pub use adopt::adopted;
pub use times::{Ages, is_incomplete, is_told_by_time, is_young};

use super::{Header, JournalState, Record, RecordedChange};
use crate::digest::Digest;
use crate::identity::Identity;
use crate::plan::{Access, FileState, LINK_MODE};

/// The observed state of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seen {
    /// Nothing.
    Missing,
    /// A regular file, or a symlink itself.
    File {
        /// The digest of its content; of a symlink, of its target.
        digest: Digest,
        /// Its permission bits; of a symlink [`LINK_MODE`].
        mode: u32,
        /// Its owner and attributes.
        access: Access,
        /// Its inode.
        identity: Identity,
    },
    /// A file that is overwritten, and whose content is old, new or nothing, block by block.
    Mixed(Identity),
    /// A folder. If the transaction removes it: one that contains nothing but what is still to be moved out.
    Folder(Identity),
    /// A folder that the transaction removes, with anything else in it.
    Filled(Identity),
    /// Anything else.
    Other,
}

impl Seen {
    /// The inode, if it is a file, a symlink or a folder.
    #[must_use]
    pub const fn identity(&self) -> Option<&Identity> {
        match self {
            Self::File { identity, .. } | Self::Mixed(identity) | Self::Folder(identity) | Self::Filled(identity) => {
                Some(identity)
            }
            Self::Missing | Self::Other => None,
        }
    }
}

/// The observed target and slot of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Observed {
    /// The target.
    pub target: Seen,
    /// The slot.
    pub slot: Seen,
}

/// The progress of an entry, and whether another program interfered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Not swapped yet; can be.
    Ready,
    /// Swapped.
    Done,
    /// Another program wrote the new content, or removed what was to be deleted.
    Same,
    /// Not swapped; another program changed the old content.
    Before,
    /// Swapped, and then another program changed the new file.
    OnTop,
    /// Swapped, and then another program put a file with the old content in the place of the new one.
    PutBack,
    /// Swapped, and what came out was not the original.
    Captured,
    /// The new content is there, but the original is missing: counts as new, and cannot go back.
    OriginalLost,
    /// Overwritten in part.
    Partly,
    /// Of a file that is overwritten: another program's content, another file, or no copy of the old content.
    Theirs,
    /// The staged content is incomplete.
    Torn,
    /// None of these.
    Unknown,
}

impl Class {
    /// The word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Done => "done",
            Self::Same => "same",
            Self::Before => "before",
            Self::OnTop => "on top",
            Self::PutBack => "put back",
            Self::Captured => "captured",
            Self::OriginalLost => "original lost",
            Self::Partly => "overwritten in part",
            Self::Theirs => "another program's",
            Self::Torn => "torn",
            Self::Unknown => "unknown",
        }
    }
}

/// The decision about an interrupted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecoveryDecision {
    /// Swap what is ready: all-new.
    Forward,
    /// Roll back what is swapped: all-old.
    Back,
    /// Nothing was swapped: drop the transaction's folder.
    Drop,
    /// Touch nothing: a person must decide.
    Wait,
}

/// The class of an entry.
#[must_use]
pub fn classify(record: &Record, observed: &Observed) -> Class {
    let Observed { target, slot } = *observed;
    match &record.change {
        RecordedChange::Edit { before, after, staged, original } => {
            edit(&States::new(Some(before), Some(after)), [staged, original], target, slot)
        }
        change @ RecordedChange::Overwrite { .. } => overwritten::class(change, observed),
        RecordedChange::Create { after, staged } => create(&States::new(None, Some(after)), staged, target, slot),
        RecordedChange::Delete { before, .. } => delete(&States::new(Some(before), None), target, slot),
        RecordedChange::Folder { staged } => folder(staged, target, slot),
        RecordedChange::FileToFolder { before, staged, original } => {
            file_to_folder(&States::new(Some(before), None), [staged, original], target, slot)
        }
        RecordedChange::FolderToFile { after, staged, original } => {
            folder_to_file(&States::new(None, Some(after)), staged, original, target, slot)
        }
        RecordedChange::RemoveFolder { original } => remove_folder(original, target, slot),
    }
}

/// The class of an entry of a contended transaction. For an edit only the staged inode counts: its content was written
/// again after the journal, and swapped before it was durable.
#[must_use]
pub fn classify_contended(record: &Record, observed: &Observed) -> Class {
    let RecordedChange::Edit { staged, .. } = &record.change else { return classify(record, observed) };
    match (observed.target, observed.slot) {
        (_, slot) if is(slot, staged) => match classify(record, observed) {
            class @ (Class::Ready | Class::Before | Class::Same) => class,
            _ => Class::Torn,
        },
        (target, slot @ Seen::File { .. }) if is(target, staged) => {
            let is_old = States::new(record.change.before(), None).tell(slot) == PlaceState::Old;
            if is_old { Class::Done } else { Class::Captured }
        }
        _ => classify(record, observed),
    }
}

/// The class of an entry during a rollback after a check. What was in the way of an entry was moved to kept content, not into the
/// slot: so the original at the target and an empty slot mean that the entry was put back. New content in any other file
/// than the staged one is the check's, and goes aside.
#[must_use]
pub fn classify_checked(record: &Record, observed: &Observed) -> Class {
    let Observed { target, slot } = *observed;
    let old = match &record.change {
        RecordedChange::Edit { before, .. } | RecordedChange::FileToFolder { before, .. } => Some(before),
        RecordedChange::FolderToFile { .. } => None,
        _ => return classify(record, observed),
    };
    let is_old = match old {
        Some(before) => States::new(Some(before), None).tell(target) == PlaceState::Old,
        None => matches!(target, Seen::Folder(_)),
    };
    let is_it =
        record.change.original().is_some_and(|original| is(target, original)) || is_original_back(record, target);
    if slot != Seen::Missing || !is_it {
        // A formatter that changes nothing saves the new content in another file, which is the check's.
        let is_saved_anew = record.change.staged().is_some_and(|staged| !is(target, staged));
        return match classify(record, observed) {
            Class::Done if is_saved_anew => Class::OnTop,
            // By the check: it goes aside like anything else that the check wrote.
            Class::PutBack => Class::OnTop,
            class => class,
        };
    }
    if is_old { Class::Ready } else { Class::Before }
}

fn edit(states: &States<'_>, [staged, original]: [&Identity; 2], target: Seen, slot: Seen) -> Class {
    match (states.tell(target), states.tell(slot)) {
        // Even if what is left happens to equal the old content: an empty file, for one.
        (_, PlaceState::Old | PlaceState::Other) if is(slot, staged) => Class::Torn,
        (PlaceState::Old, PlaceState::New) => Class::Ready,
        (PlaceState::New, PlaceState::Old) => Class::Done,
        (PlaceState::New, PlaceState::New) => Class::Same,
        (PlaceState::Other | PlaceState::Missing, PlaceState::New) => Class::Before,
        (PlaceState::Old, PlaceState::Old) => Class::PutBack,
        (_, PlaceState::Old) => Class::OnTop,
        (PlaceState::New, PlaceState::Missing) if is(target, staged) => Class::OriginalLost,
        (PlaceState::Old, PlaceState::Missing) => Class::Torn,
        (_, PlaceState::Missing) if is(target, original) => Class::Torn,
        (PlaceState::New, PlaceState::Other) if is(target, staged) => Class::Captured,
        // If the slot is missing, another program removed it, and what is at the target does not tell whether it was
        // swapped.
        (_, PlaceState::Missing | PlaceState::Other) => Class::Unknown,
    }
}

fn create(states: &States<'_>, staged: &Identity, target: Seen, slot: Seen) -> Class {
    match (states.tell(target), states.tell(slot)) {
        (PlaceState::Missing, PlaceState::New) => Class::Ready,
        (PlaceState::New, PlaceState::New) => Class::Same,
        (_, PlaceState::New) => Class::Before,
        (PlaceState::New, PlaceState::Missing) if is(target, staged) => Class::Done,
        (PlaceState::New, PlaceState::Missing) => Class::Same,
        (_, PlaceState::Missing) if is(target, staged) => Class::OnTop,
        (_, PlaceState::Missing) => Class::Unknown,
        _ if is(slot, staged) => Class::Torn,
        _ => Class::Unknown,
    }
}

fn delete(states: &States<'_>, target: Seen, slot: Seen) -> Class {
    match (states.tell(target), states.tell(slot)) {
        (PlaceState::Old, PlaceState::Missing) => Class::Ready,
        (PlaceState::Missing, PlaceState::Old) => Class::Done,
        (PlaceState::Missing, PlaceState::Missing) => Class::Same,
        (_, PlaceState::Missing) => Class::Before,
        (PlaceState::Old, PlaceState::Old) => Class::PutBack,
        (_, PlaceState::Old) => Class::OnTop,
        (PlaceState::Missing, _) => Class::Captured,
        _ => Class::Unknown,
    }
}

fn folder(staged: &Identity, target: Seen, slot: Seen) -> Class {
    if is(target, staged) {
        return Class::Done;
    }
    match (target, is(slot, staged)) {
        (Seen::Missing, true) => Class::Ready,
        // A folder that another program made serves as well as ours.
        (Seen::Folder(_), _) => Class::Same,
        (_, true) => Class::Before,
        (_, false) => Class::Unknown,
    }
}

fn file_to_folder(states: &States<'_>, [staged, original]: [&Identity; 2], target: Seen, slot: Seen) -> Class {
    let is_new = |seen: Seen| seen == Seen::Folder(*staged);
    match (states.tell(target), states.tell(slot)) {
        (_, PlaceState::Old) if is_new(target) => Class::Done,
        (_, PlaceState::Missing) if is_new(target) => Class::OriginalLost,
        _ if is_new(target) => Class::Captured,
        (PlaceState::Old, _) if is_new(slot) => Class::Ready,
        _ if is_new(slot) => Class::Before,
        (_, PlaceState::Old) => Class::OnTop,
        (PlaceState::Old, PlaceState::Missing) => Class::Torn,
        (_, PlaceState::Missing) if is(target, original) => Class::Torn,
        _ => Class::Unknown,
    }
}

fn folder_to_file(states: &States<'_>, staged: &Identity, original: &Identity, target: Seen, slot: Seen) -> Class {
    let is_old = |seen: Seen| seen == Seen::Folder(*original);
    match (states.tell(target), states.tell(slot)) {
        (_, PlaceState::Other) if is(slot, staged) => Class::Torn,
        (_, PlaceState::New) if is_old(target) => Class::Ready,
        (PlaceState::New, PlaceState::New) => Class::Same,
        (_, PlaceState::New) => Class::Before,
        (PlaceState::New, _) if is_old(slot) => Class::Done,
        _ if is_old(slot) => Class::OnTop,
        (PlaceState::New, PlaceState::Missing) if is(target, staged) => Class::OriginalLost,
        (_, PlaceState::Missing) if is(target, original) => Class::Torn,
        (PlaceState::New, _) if is(target, staged) => Class::Captured,
        _ => Class::Unknown,
    }
}

fn remove_folder(original: &Identity, target: Seen, slot: Seen) -> Class {
    let is_old = |seen: Seen| seen == Seen::Folder(*original);
    match (target, slot) {
        (_, Seen::Missing) if is_old(target) => Class::Ready,
        (Seen::Missing, Seen::Missing) => Class::Same,
        (_, Seen::Missing) => Class::Before,
        (Seen::Missing, _) if is_old(slot) => Class::Done,
        _ if is_old(slot) => Class::OnTop,
        (Seen::Missing, _) => Class::Captured,
        _ => Class::Unknown,
    }
}

/// The decision for a journal that verifies and was born here: the first row that fits.
#[must_use]
pub fn decide(state: JournalState, back_on_crash: bool, classes: &[Class]) -> RecoveryDecision {
    let any = |wanted: &[Class]| classes.iter().any(|class| wanted.contains(class));
    let done = state == JournalState::Done;
    // Nothing is known to be ours: only a person can tell.
    if !done && any(&[Class::Theirs]) {
        return RecoveryDecision::Wait;
    }
    // Evidence proves that the first barrier was passed: everything staged was durable before anything was swapped.
    let evidence =
        any(&[Class::Done, Class::Partly, Class::Captured, Class::OnTop, Class::PutBack, Class::OriginalLost]);
    if state == JournalState::New && !evidence {
        return RecoveryDecision::Drop;
    }
    // A check that did not finish has not passed, whatever the seal says about a crash; and of a contended transaction
    // no new content is known to be durable.
    if state.is_undo() || matches!(state, JournalState::Check | JournalState::Contended) || (back_on_crash && !done) {
        return RecoveryDecision::Back;
    }
    if !done && !evidence {
        return RecoveryDecision::Drop;
    }
    let against =
        any(&[Class::Before, Class::Torn]) || (!done && any(&[Class::Captured, Class::PutBack, Class::Unknown]));
    match (against, any(&[Class::OnTop])) {
        (false, _) => RecoveryDecision::Forward,
        (true, false) => RecoveryDecision::Back,
        (true, true) => RecoveryDecision::Wait,
    }
}

/// Returns whether this is the entry's new content in the very file that was staged: the only file that may ever be
/// deleted. Another program's file with the same bytes may have another owner, mode or attributes.
#[must_use]
pub fn is_new(record: &Record, seen: Seen) -> bool {
    let is_staged = is_staged(record, seen);
    match &record.change {
        RecordedChange::Folder { .. } => is_staged,
        RecordedChange::FileToFolder { .. } => is_staged && matches!(seen, Seen::Folder(_)),
        // The copy, which nobody else has seen.
        RecordedChange::Overwrite { before, .. } => is_staged && overwritten::is_copy(before, seen),
        change => is_staged && States::new(change.before(), change.after()).tell(seen) == PlaceState::New,
    }
}

/// Returns whether this is the unchanged original: a file by inode, content and metadata, a folder by its inode.
#[must_use]
pub fn is_original(record: &Record, seen: Seen) -> bool {
    record.change.original().is_some_and(|original| is(seen, original))
        && (record.change.folder_before().is_some()
            || States::new(record.change.before(), None).tell(seen) == PlaceState::Old)
}

/// Returns whether this is the original as it was, wherever it has been meanwhile: an overlay gives a file or a folder another
/// birth time when it copies it up, and the first one again if a power loss takes the copy, but not another number.
#[must_use]
pub fn is_original_back(record: &Record, seen: Seen) -> bool {
    let has_number = record.change.original().is_some_and(|original| has_number_of(seen, original));
    let is_old = match seen {
        Seen::Folder(_) | Seen::Filled(_) => record.change.folder_before().is_some(),
        _ => States::new(record.change.before(), None).tell(seen) == PlaceState::Old,
    };
    is_original(record, seen) || has_number && is_old
}

/// Returns whether nothing verifies that an entry was not swapped: neither is its original, changed or not, at the
/// target, nor what was staged in the slot. A create and a folder had no original: with an empty slot, what is at the
/// target may be what was swapped, as another program has saved it since.
#[must_use]
pub fn is_in_doubt(record: &Record, observed: &Observed) -> bool {
    let Observed { target, slot } = *observed;
    let Some(original) = record.change.original() else { return slot == Seen::Missing && target != Seen::Missing };
    let states = States::new(record.change.before(), None);
    let is_old = is(target, original) || states.tell(target) == PlaceState::Old || is_original_back(record, target);
    let is_unswapped = match record.change.staged() {
        Some(staged) => is(slot, staged),
        // Of a delete, the original in the slot, changed or not, proves that it was swapped.
        None => target != Seen::Missing && !is(slot, original),
    };
    !is_old && !is_unswapped
}

/// Returns whether the original of an entry is gone: its old state is neither at the target nor in the slot, which is
/// empty.
#[must_use]
pub fn is_original_gone(record: &Record, observed: &Observed) -> bool {
    record.change.original().is_some() && observed.slot == Seen::Missing && is_in_doubt(record, observed)
}

/// Returns whether the slot of a transaction in the trash may be unlinked. If it was pruned, the slot must hold the
/// original, a file by its digest, an empty folder by its inode; if it was rolled back, what was staged, unchanged.
#[must_use]
pub fn may_go(record: &Record, state: JournalState, seen: Seen) -> bool {
    match (state, seen) {
        (JournalState::Done, Seen::File { digest, mode, .. }) => record
            .change
            .before()
            .is_some_and(|before| before.digest == digest && before.is_link() == (mode == LINK_MODE)),
        (JournalState::Done, Seen::Folder(folder)) => record.change.folder_before() == Some(&folder),
        (JournalState::Done, _) => false,
        _ => is_new(record, seen),
    }
}

/// Returns whether this is the inode; without birth times, by its number alone.
#[must_use]
pub fn is(seen: Seen, identity: &Identity) -> bool {
    match seen {
        Seen::File { identity: seen, .. } | Seen::Mixed(seen) | Seen::Folder(seen) | Seen::Filled(seen) => {
            seen == *identity
        }
        Seen::Missing | Seen::Other => false,
    }
}

/// Returns whether this is what was staged for an entry; of what is overwritten, as far as its file system tells one file from
/// another.
fn is_staged(record: &Record, seen: Seen) -> bool {
    let is_it = if record.change.overwrites() { overwritten::fits } else { is };
    record.change.staged().is_some_and(|staged| is_it(seen, staged))
}

/// Returns whether the inode has this number, whenever it was born.
fn has_number_of(seen: Seen, identity: &Identity) -> bool {
    seen.identity().is_some_and(|seen| seen.inode == identity.inode)
}

/// Returns whether a journal's own folder, `id`, is the one in which it was written: by inode and birth time; without
/// birth times by inode and boot.
#[must_use]
pub fn is_born_here(header: &Header, id: &str, folder: &Identity, boot: &str) -> bool {
    let same_boot = header.folder.born.is_some() || header.boot == boot;
    header.id == id && header.folder.is_record_of(folder) && same_boot
}

/// Returns whether one of the paths is the other, or beneath it.
#[must_use]
pub fn touches(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceState {
    Old,
    New,
    Other,
    Missing,
}

/// The states of an entry, by which a file is recognised.
struct States<'a> {
    old: Option<&'a FileState>,
    new: Option<&'a FileState>,
    /// True if only mode, owner or attributes differ, so that the digest alone proves nothing.
    by_metadata: bool,
}

impl<'a> States<'a> {
    fn new(old: Option<&'a FileState>, new: Option<&'a FileState>) -> Self {
        let by_metadata = old.zip(new).is_some_and(|(old, new)| old.digest == new.digest);
        Self { old, new, by_metadata }
    }

    fn tell(&self, seen: Seen) -> PlaceState {
        let (digest, mode, access) = match seen {
            Seen::Missing => return PlaceState::Missing,
            Seen::Mixed(_) | Seen::Folder(_) | Seen::Filled(_) | Seen::Other => return PlaceState::Other,
            Seen::File { digest, mode, access, .. } => (digest, mode, access),
        };
        let is_alike = |state: &FileState| state.has_metadata(mode, Some(access));
        // A file with the target of a symlink as its content is something else.
        let is_of_kind = |state: &FileState| state.is_link() == (mode == LINK_MODE);
        // The original must be exactly as it was read: otherwise a permission revoked meanwhile would be deleted
        // together with it.
        if self.old.is_some_and(|old| old.digest == digest && is_alike(old)) {
            PlaceState::Old
        } else if self
            .new
            .is_some_and(|new| new.digest == digest && is_of_kind(new) && (!self.by_metadata || is_alike(new)))
        {
            PlaceState::New
        } else {
            PlaceState::Other
        }
    }
}

#[cfg(test)]
mod tests;
