//! Files that are overwritten in place, since no rename can replace them: what one is found to be after a crash.

use super::{Class, Observed, Seen};
use crate::identity::Identity;
use crate::journal::RecordedChange;
use crate::plan::{FileState, LINK_MODE};

/// What an entry of an overwritten file records.
struct Recorded<'a> {
    before: &'a FileState,
    after: &'a FileState,
    original: &'a Identity,
}

/// What is at the target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overwritten {
    /// The old content, with its metadata.
    Nothing,
    /// The old content; another program changed the metadata.
    OtherMetadata,
    /// The old content or the new one, block by block; or the old content in the new mode.
    Partly,
    /// The new content.
    Whole,
    /// Another program's content, another file, or none.
    Theirs,
}

/// The class of an entry whose target is overwritten, by the target and the copy of it in the slot.
pub(super) fn class(change: &RecordedChange, observed: &Observed) -> Class {
    let RecordedChange::Overwrite { before, after, original, .. } = change else {
        unreachable!("only a file that is overwritten has this class")
    };
    let written = tell(&Recorded { before, after, original }, observed.target);
    match (written, is_copy(before, observed.slot)) {
        (Overwritten::Nothing, true) => Class::Ready,
        // The copy was durable before anything was written.
        (Overwritten::Nothing, false) => Class::Torn,
        (Overwritten::OtherMetadata, _) => Class::Before,
        (Overwritten::Whole, true) => Class::Done,
        (Overwritten::Partly, true) => Class::Partly,
        // Without the copy it cannot go back. Else it is not told whether another program wrote before us or after us.
        (Overwritten::Whole | Overwritten::Partly, false) | (Overwritten::Theirs, _) => Class::Theirs,
    }
}

/// The class in a transaction that is done: nothing is written any more.
#[must_use]
pub fn class_when_done(change: &RecordedChange, observed: &Observed) -> Class {
    match class(change, observed) {
        Class::Done => Class::Done,
        _ => Class::OnTop,
    }
}

/// Returns whether a slot holds the copy of the old content.
#[must_use]
pub fn is_copy(before: &FileState, slot: Seen) -> bool {
    matches!(slot, Seen::File { digest, mode, .. } if digest == before.digest && mode != LINK_MODE)
}

/// Returns whether what was seen may be the file that was recorded.
#[must_use]
pub fn fits(seen: Seen, recorded: &Identity) -> bool {
    seen.identity().is_some_and(|seen| recorded.fits(seen))
}

fn tell(recorded: &Recorded<'_>, target: Seen) -> Overwritten {
    let Recorded { before, after, original } = *recorded;
    let (digest, mode, access) = match target {
        Seen::Mixed(identity) if original.fits(&identity) => return Overwritten::Partly,
        Seen::File { digest, mode, access, identity } if original.fits(&identity) && mode != LINK_MODE => {
            (digest, mode, access)
        }
        _ => return Overwritten::Theirs,
    };
    // Where only the mode changes, both contents are the same.
    let (changes_mode, has_new_mode) = (before.mode != after.mode, mode == after.mode);
    match (digest == before.digest, digest == after.digest) {
        (true, _) if before.has_metadata(mode, Some(access)) => Overwritten::Nothing,
        (true, true) if changes_mode && has_new_mode => Overwritten::Whole,
        // The mode reached the disk before the content did.
        (true, false) if changes_mode && has_new_mode => Overwritten::Partly,
        (true, _) => Overwritten::OtherMetadata,
        (false, true) => Overwritten::Whole,
        (false, false) => Overwritten::Theirs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::journal::JournalState;
    use crate::journal::recover::{RecoveryDecision, decide};
    use crate::plan::Access;

    const ACCESS: Access = Access { user: 1, group: 2, attributes: None };
    const COPY: u64 = 7;
    const ORIGINAL: u64 = 3;

    fn identity(inode: u64) -> Identity {
        Identity { inode, born: None }
    }

    fn state(content: &[u8], mode: u32) -> FileState {
        FileState { digest: Digest::of(content), size: content.len() as u64, mode, access: Some(ACCESS) }
    }

    fn file(content: &[u8], mode: u32, inode: u64) -> Seen {
        Seen::File { digest: Digest::of(content), mode, access: ACCESS, identity: identity(inode) }
    }

    fn change(before: FileState, after: FileState) -> RecordedChange {
        RecordedChange::Overwrite { before, after, staged: identity(COPY), original: identity(ORIGINAL) }
    }

    fn check(change: &RecordedChange, rows: &[(Seen, Seen, Class)]) {
        for (row, (target, slot, expected)) in rows.iter().enumerate() {
            let observed = Observed { target: *target, slot: *slot };
            assert_eq!(class(change, &observed), *expected, "row {row}: {observed:?}");
            let when_done = if *expected == Class::Done { Class::Done } else { Class::OnTop };
            assert_eq!(class_when_done(change, &observed), when_done, "row {row}: {observed:?}");
        }
    }

    #[test]
    fn an_overwritten_file_is_classified_as_the_table_says() {
        let copy = file(b"old", 0o644, COPY);
        let torn = file(b"ol", 0o600, COPY);
        let here = |content: &[u8]| file(content, 0o644, ORIGINAL);
        let mixed = |inode| Seen::Mixed(identity(inode));
        check(
            &change(state(b"old", 0o644), state(b"new", 0o644)),
            &[
                (here(b"old"), copy, Class::Ready),
                (here(b"old"), torn, Class::Torn),
                (here(b"old"), Seen::Missing, Class::Torn),
                (file(b"old", 0o600, ORIGINAL), copy, Class::Before),
                (here(b"new"), copy, Class::Done),
                // The mode is another program's, and stays.
                (file(b"new", 0o600, ORIGINAL), copy, Class::Done),
                (mixed(ORIGINAL), copy, Class::Partly),
                (here(b"new"), torn, Class::Theirs),
                (mixed(ORIGINAL), Seen::Missing, Class::Theirs),
                (here(b"theirs"), copy, Class::Theirs),
                // It is not mounted any more, or another file is.
                (Seen::Missing, copy, Class::Theirs),
                (Seen::Folder(identity(ORIGINAL)), copy, Class::Theirs),
                (file(b"old", 0o644, 9), copy, Class::Theirs),
                (file(b"new", 0o644, 9), copy, Class::Theirs),
                (mixed(9), copy, Class::Theirs),
            ],
        );
    }

    #[test]
    fn a_mode_is_classified_by_itself() {
        let copy = file(b"old", 0o644, COPY);
        check(
            &change(state(b"old", 0o644), state(b"old", 0o600)),
            &[
                (file(b"old", 0o644, ORIGINAL), copy, Class::Ready),
                (file(b"old", 0o600, ORIGINAL), copy, Class::Done),
                (file(b"old", 0o755, ORIGINAL), copy, Class::Before),
            ],
        );
        check(
            &change(state(b"old", 0o644), state(b"new", 0o600)),
            &[
                (file(b"new", 0o644, ORIGINAL), copy, Class::Done),
                (file(b"old", 0o600, ORIGINAL), copy, Class::Partly),
                (file(b"old", 0o755, ORIGINAL), copy, Class::Before),
            ],
        );
    }

    #[test]
    fn what_may_be_another_programs_waits_for_a_person_unless_it_is_done() {
        for state in JournalState::ALL {
            let decided = decide(state, true, &[Class::Ready, Class::Theirs]);
            assert_eq!(decided == RecoveryDecision::Wait, state != JournalState::Done, "{state:?}");
            let back = decide(state, true, &[Class::Done, Class::Partly]);
            assert_eq!(back == RecoveryDecision::Back, state != JournalState::Done, "{state:?}");
        }
        assert_eq!(decide(JournalState::Done, true, &[Class::Done, Class::OnTop]), RecoveryDecision::Forward);
    }
}
