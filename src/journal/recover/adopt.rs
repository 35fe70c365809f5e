//! Adapts the record of a journal that a person vouches for, in a folder other than where it was written.

use super::{Observed, PlaceState, Seen, States, is};
use crate::identity::Identity;
use crate::journal::{Record, RecordedChange};

/// An identity for a file found neither at the target nor in the slot.
const NOWHERE: Identity = Identity { inode: 0, born: None };

/// The record with the inodes found here: in a copy all of them differ, and content, mode and owner show what was
/// staged and what is the original. An inode recorded with its birth time and found here is the same file.
#[must_use]
pub fn adopted(record: &Record, observed: &Observed) -> Record {
    let Observed { target, slot } = *observed;
    let here = |recorded: Identity, found: Option<Seen>| {
        let is_it = recorded.born.is_some() && (is(target, &recorded) || is(slot, &recorded));
        if is_it { recorded } else { found.and_then(identity).unwrap_or(NOWHERE) }
    };
    // An old backup restored in place puts the old content into the staged inode, so content counts first.
    let staged_here = |recorded: Identity, found: Option<Seen>| match found.and_then(identity) {
        Some(found) if !(recorded.born.is_some() && is(slot, &recorded)) => found,
        _ => here(recorded, found),
    };
    let states = States::new(record.change.before(), record.change.after());
    let (at_target, in_slot) = (states.tell(target), states.tell(slot));
    // If the target is unchanged, the slot holds what was staged, though a power loss may have torn it.
    let in_slot_alone = match (at_target, in_slot) {
        (_, PlaceState::New) => true,
        (at_target, PlaceState::Other) => {
            at_target == if states.old.is_some() { PlaceState::Old } else { PlaceState::Missing }
        }
        _ => false,
    };
    let new_file = if in_slot_alone { Some(slot) } else { Some(target).filter(|_| at_target == PlaceState::New) };
    let old_file = if in_slot_alone { Some(target) } else { Some(slot).filter(|_| in_slot != PlaceState::Missing) };
    let first_folder = |one: Seen, other: Seen| [one, other].into_iter().find(|seen| is_folder(*seen));
    let change = match record.change {
        RecordedChange::Edit { before, after, staged, original } => {
            let original = match old_file.filter(|seen| states.tell(*seen) == PlaceState::Old).and_then(identity) {
                Some(found) => found,
                None => here(original, old_file),
            };
            let staged = staged_here(staged, new_file);
            RecordedChange::Edit { before, after, staged, original }
        }
        RecordedChange::Overwrite { before, after, staged, original } => {
            // What was recorded without a number has none that lasts here either.
            let here = |recorded: Identity, found| match recorded.inode {
                0 => identity(found).map_or(recorded, Identity::without_number),
                _ => here(recorded, Some(found)),
            };
            let (staged, original) = (here(staged, slot), here(original, target));
            RecordedChange::Overwrite { before, after, staged, original }
        }
        RecordedChange::Create { after, staged } => {
            RecordedChange::Create { after, staged: staged_here(staged, new_file) }
        }
        RecordedChange::Delete { before, original } => {
            let found = if in_slot == PlaceState::Missing { target } else { slot };
            RecordedChange::Delete { before, original: here(original, Some(found)) }
        }
        RecordedChange::Folder { staged } => {
            RecordedChange::Folder { staged: here(staged, first_folder(slot, target)) }
        }
        RecordedChange::FileToFolder { before, staged, original } => {
            let found = if is_folder(slot) { target } else { slot };
            let (staged, original) = (here(staged, first_folder(slot, target)), here(original, Some(found)));
            RecordedChange::FileToFolder { before, staged, original }
        }
        RecordedChange::FolderToFile { after, staged, original } => {
            let found = if is_folder(slot) { target } else { slot };
            let (staged, original) = (here(staged, Some(found)), here(original, first_folder(slot, target)));
            RecordedChange::FolderToFile { after, staged, original }
        }
        RecordedChange::RemoveFolder { original } => {
            RecordedChange::RemoveFolder { original: here(original, first_folder(slot, target)) }
        }
    };
    Record { path: record.path.clone(), change }
}

const fn is_folder(seen: Seen) -> bool {
    matches!(seen, Seen::Folder(_) | Seen::Filled(_))
}

const fn identity(seen: Seen) -> Option<Identity> {
    match seen {
        Seen::File { identity, .. } | Seen::Mixed(identity) | Seen::Folder(identity) | Seen::Filled(identity) => {
            Some(identity)
        }
        Seen::Missing | Seen::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::identity::Timestamp;
    use crate::journal::recover::{Class, classify};
    use crate::path::RelPath;
    use crate::plan::{Access, FileState};

    const ACCESS: Access = Access { user: 0, group: 0, attributes: None };

    fn inode(inode: u64) -> Identity {
        Identity { inode, born: Some(Timestamp::new(1, 0)) }
    }

    fn state(content: &str) -> FileState {
        FileState { digest: Digest::of(content.as_bytes()), size: 3, mode: 0o644, access: Some(ACCESS) }
    }

    fn file(content: &str, identity: Identity) -> Seen {
        Seen::File { digest: Digest::of(content.as_bytes()), mode: 0o644, access: ACCESS, identity }
    }

    fn class(change: RecordedChange, target: Seen, slot: Seen) -> Class {
        let record = Record { path: RelPath::new("f").unwrap(), change };
        let observed = Observed { target, slot };
        classify(&adopted(&record, &observed), &observed)
    }

    /// Two inodes of a copy, which no journal records.
    const HERE: [u64; 2] = [101, 102];

    #[test]
    fn what_was_staged_is_told_by_its_content() {
        let [a, b] = HERE.map(inode);
        let (before, after, staged, original) = (state("old"), state("new"), inode(1), inode(2));
        let edit = RecordedChange::Edit { before, after, staged, original };
        for (target, slot, expected) in [
            ("old", "new", Class::Ready),
            ("new", "old", Class::Done),
            ("theirs", "new", Class::Before),
            ("theirs", "old", Class::OnTop),
            ("new", "theirs", Class::Captured),
            ("old", "ne", Class::Torn),
            ("theirs", "other", Class::Unknown),
        ] {
            assert_eq!(class(edit, file(target, a), file(slot, b)), expected, "edit {target} {slot}");
        }
        let create = RecordedChange::Create { after, staged };
        assert_eq!(class(create, Seen::Missing, file("new", b)), Class::Ready);
        assert_eq!(class(create, Seen::Missing, file("ne", b)), Class::Torn);
        assert_eq!(class(create, file("new", a), Seen::Missing), Class::Done);
        assert_eq!(class(create, file("theirs", a), Seen::Missing), Class::Unknown);
        let folder = RecordedChange::Folder { staged };
        assert_eq!(class(folder, Seen::Missing, Seen::Folder(b)), Class::Ready);
        assert_eq!(class(folder, Seen::Folder(a), Seen::Missing), Class::Done);
        assert_eq!(class(folder, Seen::Folder(a), Seen::Folder(b)), Class::Same);
    }

    #[test]
    fn a_file_that_is_overwritten_is_the_one_at_its_path() {
        let [a, b] = HERE.map(inode);
        let (before, after) = (state("old"), state("new"));
        let overwrite = |staged, original| RecordedChange::Overwrite { before, after, staged, original };
        let unnumbered = inode(0);
        let unborn = Identity { born: None, ..unnumbered };
        for (staged, original) in [(inode(1), inode(2)), (unnumbered, unnumbered), (unborn, unborn)] {
            let change = overwrite(staged, original);
            for (target, expected) in [
                (file("old", a), Class::Ready),
                (file("new", a), Class::Done),
                (Seen::Mixed(a), Class::Partly),
                (file("theirs", a), Class::Theirs),
                (Seen::Missing, Class::Theirs),
            ] {
                assert_eq!(class(change, target, file("old", b)), expected, "{change:?} {target:?}");
            }
            assert_eq!(class(change, file("new", a), file("ol", b)), Class::Theirs, "without a copy it cannot go back");
        }
        let adopt = |change| {
            let record = Record { path: RelPath::new("f").unwrap(), change };
            adopted(&record, &Observed { target: file("new", a), slot: file("old", b) }).change
        };
        assert_eq!(adopt(overwrite(inode(1), inode(2))), overwrite(b, a));
        // None of its numbers lasts here either, but a birth time may.
        assert_eq!(adopt(overwrite(unborn, unborn)), overwrite(unnumbered, unnumbered));
        // The file itself was not copied, and is mounted where it was.
        assert_eq!(adopt(overwrite(inode(1), a)), overwrite(b, a));
    }

    #[test]
    fn an_inode_that_got_an_old_content_back_in_place_is_not_what_was_staged() {
        let (before, after, staged, original) = (state("old"), state("new"), inode(1), inode(2));
        let edit = RecordedChange::Edit { before, after, staged, original };
        assert_eq!(class(edit, file("old", staged), file("new", inode(101))), Class::Ready);
        assert_eq!(class(edit, file("old", staged), file("ne", inode(101))), Class::Torn);
        // The same after it was rolled back.
        let done = Record { path: RelPath::new("f").unwrap(), change: edit };
        let observed = Observed { target: file("new", original), slot: file("old", inode(101)) };
        let adopted = adopted(&done, &observed);
        assert_eq!(classify(&adopted, &observed), Class::Done);
        assert_eq!(adopted.change.original(), Some(&inode(101)));
        // What a power loss left of the staged inode is torn, even if it happens to equal the old content.
        assert_eq!(class(edit, file("new", inode(101)), file("old", staged)), Class::Torn);
    }

    #[test]
    fn an_inode_that_is_here_with_its_birth_time_is_the_very_one() {
        let (before, after, staged, original) = (state("old"), state("new"), inode(1), inode(2));
        // Only the state folder was restored: the target has the staged inode, but another program's content.
        let create = RecordedChange::Create { after, staged };
        assert_eq!(class(create, file("theirs", staged), Seen::Missing), Class::OnTop);
        // Without a birth time an equal number is chance.
        let number = Identity { inode: HERE[1], born: None };
        let edit = RecordedChange::Edit { before, after, staged: number, original };
        assert_eq!(class(edit, file("new", inode(HERE[0])), file("old", number)), Class::Done);
    }
}
