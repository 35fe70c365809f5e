//! The tables of classes and decisions, row by row as in journal-format.md.

use super::*;
use crate::identity::Timestamp;
use crate::path::RelPath;

const OLD: &[u8] = b"old";
const NEW: &[u8] = b"new";

fn identity(inode: u64) -> Identity {
    Identity { inode, born: None }
}

const ACCESS: Access = Access { user: 1, group: 2, attributes: None };

fn state(content: &[u8]) -> FileState {
    FileState { digest: Digest::of(content), size: content.len() as u64, mode: 0o644, access: Some(ACCESS) }
}

fn file(content: &[u8], inode: u64) -> Seen {
    Seen::File { digest: Digest::of(content), mode: 0o644, access: ACCESS, identity: identity(inode) }
}

fn record(change: RecordedChange) -> Record {
    Record { path: RelPath::new("a").unwrap(), change }
}

const STAGED: u64 = 7;
const ORIGINAL: u64 = 3;

fn edit_record() -> Record {
    let change = RecordedChange::Edit {
        before: state(OLD),
        after: state(NEW),
        staged: identity(STAGED),
        original: identity(ORIGINAL),
    };
    record(change)
}

fn check(record: &Record, rows: &[(Seen, Seen, Class)]) {
    for (row, (target, slot, class)) in rows.iter().enumerate() {
        let observed = Observed { target: *target, slot: *slot };
        assert_eq!(classify(record, &observed), *class, "row {row}: {observed:?}");
    }
}

#[test]
fn an_edit_is_classified_as_the_table_says() {
    let other = file(b"other", 9);
    check(
        &edit_record(),
        &[
            (file(OLD, ORIGINAL), file(NEW, STAGED), Class::Ready),
            (file(NEW, STAGED), file(OLD, ORIGINAL), Class::Done),
            (file(OLD, ORIGINAL), file(OLD, STAGED), Class::Torn),
            (file(NEW, 9), file(OLD, STAGED), Class::Torn),
            (file(NEW, 9), file(NEW, STAGED), Class::Same),
            (other, file(NEW, STAGED), Class::Before),
            (Seen::Missing, file(NEW, STAGED), Class::Before),
            (Seen::Other, file(NEW, STAGED), Class::Before),
            (other, file(OLD, ORIGINAL), Class::OnTop),
            (Seen::Missing, file(OLD, ORIGINAL), Class::OnTop),
            (file(OLD, 9), file(OLD, ORIGINAL), Class::PutBack),
            (file(NEW, STAGED), other, Class::Captured),
            (file(NEW, STAGED), Seen::Other, Class::Captured),
            (file(NEW, 9), other, Class::Unknown),
            (file(NEW, STAGED), Seen::Missing, Class::OriginalLost),
            (file(OLD, ORIGINAL), Seen::Missing, Class::Torn),
            (file(NEW, 9), Seen::Missing, Class::Unknown),
            (other, Seen::Missing, Class::Unknown),
            (file(b"other", ORIGINAL), Seen::Missing, Class::Torn),
            (Seen::Missing, Seen::Missing, Class::Unknown),
            (file(OLD, ORIGINAL), file(b"ne", STAGED), Class::Torn),
            (file(NEW, 9), file(b"ne", STAGED), Class::Torn),
            (file(OLD, ORIGINAL), other, Class::Unknown),
            (other, other, Class::Unknown),
        ],
    );
}

#[test]
fn a_create_is_classified_as_the_table_says() {
    let create = record(RecordedChange::Create { after: state(NEW), staged: identity(STAGED) });
    let other = file(b"other", 9);
    check(
        &create,
        &[
            (Seen::Missing, file(NEW, STAGED), Class::Ready),
            (file(NEW, STAGED), Seen::Missing, Class::Done),
            (file(NEW, 9), Seen::Missing, Class::Same),
            (file(NEW, 9), file(NEW, STAGED), Class::Same),
            (other, file(NEW, STAGED), Class::Before),
            (Seen::Other, file(NEW, STAGED), Class::Before),
            (file(b"other", STAGED), Seen::Missing, Class::OnTop),
            (other, Seen::Missing, Class::Unknown),
            (Seen::Missing, Seen::Missing, Class::Unknown),
            (Seen::Missing, file(b"n", STAGED), Class::Torn),
            (Seen::Missing, other, Class::Unknown),
        ],
    );
}

#[test]
fn a_delete_is_classified_as_the_table_says() {
    let delete = record(RecordedChange::Delete { before: state(OLD), original: identity(ORIGINAL) });
    let other = file(b"other", 9);
    check(
        &delete,
        &[
            (file(OLD, ORIGINAL), Seen::Missing, Class::Ready),
            (Seen::Missing, file(OLD, ORIGINAL), Class::Done),
            (Seen::Missing, Seen::Missing, Class::Same),
            (other, Seen::Missing, Class::Before),
            (other, file(OLD, ORIGINAL), Class::OnTop),
            (file(OLD, 9), file(OLD, ORIGINAL), Class::PutBack),
            (Seen::Missing, other, Class::Captured),
            (other, other, Class::Unknown),
        ],
    );
}

#[test]
fn a_folder_is_classified_as_the_table_says() {
    let folder = record(RecordedChange::Folder { staged: identity(STAGED) });
    let ours = Seen::Folder(identity(STAGED));
    let foreign = Seen::Folder(identity(9));
    check(
        &folder,
        &[
            (Seen::Missing, ours, Class::Ready),
            (ours, Seen::Missing, Class::Done),
            (foreign, ours, Class::Same),
            (foreign, Seen::Missing, Class::Same),
            (file(b"x", 9), ours, Class::Before),
            (Seen::Missing, Seen::Missing, Class::Unknown),
        ],
    );
}

#[test]
fn a_file_that_becomes_a_folder_is_classified_as_the_table_says() {
    let change =
        RecordedChange::FileToFolder { before: state(OLD), staged: identity(STAGED), original: identity(ORIGINAL) };
    let ours = Seen::Folder(identity(STAGED));
    let foreign = Seen::Folder(identity(9));
    let other = file(b"other", 9);
    check(
        &record(change),
        &[
            (file(OLD, ORIGINAL), ours, Class::Ready),
            (ours, file(OLD, ORIGINAL), Class::Done),
            (ours, other, Class::Captured),
            (ours, foreign, Class::Captured),
            (ours, Seen::Missing, Class::OriginalLost),
            (other, ours, Class::Before),
            (foreign, ours, Class::Before),
            (Seen::Missing, ours, Class::Before),
            (Seen::Missing, file(OLD, ORIGINAL), Class::OnTop),
            (foreign, file(OLD, ORIGINAL), Class::OnTop),
            (other, file(OLD, ORIGINAL), Class::OnTop),
            (file(OLD, ORIGINAL), Seen::Missing, Class::Torn),
            (Seen::Missing, Seen::Missing, Class::Unknown),
            (file(OLD, ORIGINAL), foreign, Class::Unknown),
            (other, other, Class::Unknown),
        ],
    );
}

#[test]
fn a_folder_that_becomes_a_file_is_classified_as_the_table_says() {
    let change =
        RecordedChange::FolderToFile { after: state(NEW), staged: identity(STAGED), original: identity(ORIGINAL) };
    let (old, filled) = (Seen::Folder(identity(ORIGINAL)), Seen::Filled(identity(ORIGINAL)));
    let foreign = Seen::Folder(identity(9));
    let other = file(b"other", 9);
    check(
        &record(change),
        &[
            (old, file(b"ne", STAGED), Class::Torn),
            (old, file(NEW, STAGED), Class::Ready),
            (file(NEW, STAGED), old, Class::Done),
            (file(NEW, STAGED), filled, Class::Captured),
            (file(NEW, STAGED), foreign, Class::Captured),
            (file(NEW, STAGED), other, Class::Captured),
            (file(NEW, 9), file(NEW, STAGED), Class::Same),
            (filled, file(NEW, STAGED), Class::Before),
            (foreign, file(NEW, STAGED), Class::Before),
            (Seen::Missing, file(NEW, STAGED), Class::Before),
            (Seen::Missing, old, Class::OnTop),
            (other, old, Class::OnTop),
            (file(b"other", STAGED), old, Class::OnTop),
            (file(NEW, STAGED), Seen::Missing, Class::OriginalLost),
            (old, Seen::Missing, Class::Torn),
            (file(NEW, 9), Seen::Missing, Class::Unknown),
            (file(NEW, 9), filled, Class::Unknown),
            (other, filled, Class::Unknown),
        ],
    );
}

#[test]
fn an_entry_put_back_after_a_check_is_classified_as_the_table_says() {
    let folder =
        RecordedChange::FolderToFile { after: state(NEW), staged: identity(STAGED), original: identity(ORIGINAL) };
    let (edit, folder) = (edit_record(), record(folder));
    let class = |record, target, slot| classify_checked(record, &Observed { target, slot });
    assert_eq!(class(&edit, file(OLD, ORIGINAL), Seen::Missing), Class::Ready);
    assert_eq!(class(&edit, file(b"other", ORIGINAL), Seen::Missing), Class::Before);
    assert_eq!(class(&edit, file(OLD, 9), Seen::Missing), Class::Torn);
    assert_eq!(class(&edit, file(OLD, ORIGINAL), file(b"ne", STAGED)), Class::Torn);
    assert_eq!(class(&folder, Seen::Folder(identity(ORIGINAL)), Seen::Missing), Class::Ready);
    assert_eq!(class(&folder, Seen::Filled(identity(ORIGINAL)), Seen::Missing), Class::Before);
    assert_eq!(class(&folder, file(NEW, STAGED), Seen::Missing), Class::OriginalLost);
}

#[test]
fn a_folder_that_is_back_is_the_original() {
    let change =
        RecordedChange::FolderToFile { after: state(NEW), staged: identity(STAGED), original: identity(ORIGINAL) };
    assert!(is_original(&record(change), Seen::Folder(identity(ORIGINAL))));
    assert!(!is_original(&record(change), Seen::Folder(identity(9))));
    assert!(!is_original(&record(change), file(NEW, STAGED)));
}

#[test]
fn a_removed_folder_is_classified_as_the_table_says() {
    let remove = record(RecordedChange::RemoveFolder { original: identity(ORIGINAL) });
    let (old, filled) = (Seen::Folder(identity(ORIGINAL)), Seen::Filled(identity(ORIGINAL)));
    let foreign = Seen::Folder(identity(9));
    check(
        &remove,
        &[
            (old, Seen::Missing, Class::Ready),
            (Seen::Missing, old, Class::Done),
            (Seen::Missing, Seen::Missing, Class::Same),
            (filled, Seen::Missing, Class::Before),
            (foreign, Seen::Missing, Class::Before),
            (foreign, old, Class::OnTop),
            (Seen::Missing, filled, Class::Captured),
            (Seen::Missing, foreign, Class::Captured),
            (foreign, filled, Class::Unknown),
        ],
    );
}

#[test]
fn the_slot_of_a_folder_entry_is_unlinked_only_if_it_is_ours() {
    let folder = |inode| Seen::Folder(identity(inode));
    let to_folder =
        RecordedChange::FileToFolder { before: state(OLD), staged: identity(STAGED), original: identity(ORIGINAL) };
    let to_file =
        RecordedChange::FolderToFile { after: state(NEW), staged: identity(STAGED), original: identity(ORIGINAL) };
    let remove = RecordedChange::RemoveFolder { original: identity(ORIGINAL) };
    for (change, state, seen, may) in [
        (to_folder, JournalState::Done, file(OLD, 9), true),
        (to_folder, JournalState::Done, folder(STAGED), false),
        (to_folder, JournalState::Undo, folder(STAGED), true),
        (to_folder, JournalState::Undo, file(OLD, ORIGINAL), false),
        (to_file, JournalState::Done, folder(ORIGINAL), true),
        (to_file, JournalState::Done, folder(9), false),
        (to_file, JournalState::Done, file(NEW, STAGED), false),
        (to_file, JournalState::Undo, file(NEW, STAGED), true),
        (to_file, JournalState::Undo, folder(ORIGINAL), false),
        (remove, JournalState::Done, folder(ORIGINAL), true),
        (remove, JournalState::Done, Seen::Filled(identity(ORIGINAL)), false),
        (remove, JournalState::Undo, folder(ORIGINAL), false),
    ] {
        assert_eq!(may_go(&record(change), state, seen), may, "{change:?} {state:?} {seen:?}");
    }
}

#[test]
fn an_original_with_another_mode_owner_or_attributes_is_not_the_original() {
    let with = |content, inode, mode, access| Seen::File {
        digest: Digest::of(content),
        mode,
        access,
        identity: identity(inode),
    };
    let of_others = [
        (0o600, ACCESS),
        (0o644, Access { user: 9, ..ACCESS }),
        (0o644, Access { group: 9, ..ACCESS }),
        (0o644, Access { attributes: Some(Digest::of(b"theirs")), ..ACCESS }),
    ];
    let delete = record(RecordedChange::Delete { before: state(OLD), original: identity(ORIGINAL) });
    for (mode, access) in of_others {
        let changed = with(OLD, ORIGINAL, mode, access);
        check(
            &edit_record(),
            &[
                (changed, file(NEW, STAGED), Class::Before),
                (file(NEW, STAGED), changed, Class::Captured),
                (file(NEW, 9), changed, Class::Unknown),
                // New content is recognised by its digest alone: a change of its metadata is lost with it.
                (with(NEW, STAGED, mode, access), file(OLD, ORIGINAL), Class::Done),
            ],
        );
        check(&delete, &[(changed, Seen::Missing, Class::Before), (Seen::Missing, changed, Class::Captured)]);
    }
}

#[test]
fn a_symlink_is_told_from_a_file_with_its_target_as_the_content() {
    let link = |target: &[u8]| FileState { mode: LINK_MODE, ..state(target) };
    let link_at = |target: &[u8], inode| {
        let Seen::File { digest, access, identity, .. } = file(target, inode) else { unreachable!() };
        Seen::File { digest, mode: LINK_MODE, access, identity }
    };
    let (staged, original) = (identity(STAGED), identity(ORIGINAL));
    let retarget = RecordedChange::Edit { before: link(OLD), after: link(NEW), staged, original };
    check(
        &record(retarget),
        &[
            (link_at(OLD, ORIGINAL), link_at(NEW, STAGED), Class::Ready),
            (link_at(NEW, STAGED), link_at(OLD, ORIGINAL), Class::Done),
            (file(OLD, ORIGINAL), link_at(NEW, STAGED), Class::Before),
            (link_at(NEW, STAGED), file(OLD, ORIGINAL), Class::Captured),
            (file(NEW, 9), link_at(OLD, ORIGINAL), Class::OnTop),
            (link_at(b"other", 9), link_at(NEW, STAGED), Class::Before),
        ],
    );
    // A file becomes a symlink that leads where its content says, and the reverse.
    for (before, after, old, new) in [
        (state(OLD), link(OLD), file(OLD, ORIGINAL), link_at(OLD, STAGED)),
        (link(OLD), state(OLD), link_at(OLD, ORIGINAL), file(OLD, STAGED)),
    ] {
        let change = RecordedChange::Edit { before, after, staged, original };
        check(&record(change), &[(old, new, Class::Ready), (new, old, Class::Done)]);
        assert!(is_new(&record(change), new) && !is_new(&record(change), old));
        assert!(may_go(&record(change), JournalState::Done, old) && !may_go(&record(change), JournalState::Done, new));
    }
    let create = record(RecordedChange::Create { after: link(NEW), staged });
    check(
        &create,
        &[
            (Seen::Missing, link_at(NEW, STAGED), Class::Ready),
            (link_at(NEW, STAGED), Seen::Missing, Class::Done),
            (link_at(NEW, 9), Seen::Missing, Class::Same),
            (file(NEW, 9), link_at(NEW, STAGED), Class::Before),
        ],
    );
    let delete = record(RecordedChange::Delete { before: link(OLD), original });
    check(
        &delete,
        &[
            (link_at(OLD, ORIGINAL), Seen::Missing, Class::Ready),
            (Seen::Missing, link_at(OLD, ORIGINAL), Class::Done),
            (file(OLD, ORIGINAL), Seen::Missing, Class::Before),
            (Seen::Missing, file(OLD, ORIGINAL), Class::Captured),
        ],
    );
}

#[test]
fn a_journal_of_version_1_tells_no_owner() {
    let old = FileState { access: None, ..state(OLD) };
    let change =
        RecordedChange::Edit { before: old, after: state(NEW), staged: identity(STAGED), original: identity(ORIGINAL) };
    let with = |mode| {
        let access = Access { user: 9, ..ACCESS };
        Seen::File { digest: Digest::of(OLD), mode, access, identity: identity(ORIGINAL) }
    };
    let rows = [(file(NEW, STAGED), with(0o644), Class::Done), (file(NEW, STAGED), with(0o600), Class::Captured)];
    check(&record(change), &rows);
}

#[test]
fn a_change_of_mode_alone_is_told_by_the_mode() {
    let mut after = state(OLD);
    after.mode = 0o755;
    let change =
        RecordedChange::Edit { before: state(OLD), after, staged: identity(STAGED), original: identity(ORIGINAL) };
    let record = record(change);
    let with = |mode| Seen::File { digest: Digest::of(OLD), mode, access: ACCESS, identity: identity(1) };
    check(
        &record,
        &[
            (with(0o644), with(0o755), Class::Ready),
            (with(0o755), with(0o644), Class::Done),
            (with(0o600), with(0o644), Class::OnTop),
        ],
    );
}

#[test]
fn only_an_unswapped_staged_file_from_before_a_power_loss_is_incomplete() {
    let record = edit_record();
    let (early, late) = (Timestamp::new(5, 0), Timestamp::new(5, 1));
    let torn = Ages { same_boot: false, touched: early, sealed: late };
    let coarse = Ages { touched: late, ..torn };
    assert!(is_incomplete(&record, file(b"", STAGED), coarse), "nobody wrote anything into it");
    assert!(!is_incomplete(&record, file(b"ne", STAGED), coarse), "somebody may have");
    assert!(is_incomplete(&record, file(b"", STAGED), torn));
    assert!(is_incomplete(&record, file(OLD, STAGED), torn), "an empty file was edited");
    assert!(!is_incomplete(&record, file(NEW, STAGED), torn), "it is whole");
    assert!(!is_incomplete(&record, file(b"", 9), torn), "it is somebody else's");
    assert!(!is_incomplete(&record, Seen::Folder(identity(STAGED)), torn));
    assert!(!is_incomplete(&record, file(b"", STAGED), Ages { same_boot: true, ..torn }), "a kill tears nothing");
    assert!(!is_incomplete(&record, file(b"", STAGED), Ages { sealed: early, ..coarse }), "it was swapped");
}

#[test]
fn a_recovery_is_decided_as_the_table_says() {
    use Class::*;
    let rows: &[(JournalState, bool, &[Class], RecoveryDecision)] = &[
        (JournalState::Undo, false, &[Done, Done], RecoveryDecision::Back),
        (JournalState::Undo, false, &[], RecoveryDecision::Back),
        (JournalState::Contended, false, &[Done, Done], RecoveryDecision::Back),
        (JournalState::Contended, false, &[Ready], RecoveryDecision::Back),
        (JournalState::Sealed, true, &[Done, Done], RecoveryDecision::Back),
        (JournalState::Done, true, &[Done, Done], RecoveryDecision::Forward),
        (JournalState::Sealed, false, &[Ready, Ready], RecoveryDecision::Drop),
        (JournalState::Sealed, false, &[Ready, Before], RecoveryDecision::Drop),
        (JournalState::Sealed, false, &[Torn, Unknown, Same], RecoveryDecision::Drop),
        (JournalState::Sealed, false, &[Torn, Unknown, OriginalLost], RecoveryDecision::Back),
        (JournalState::Sealed, false, &[OriginalLost, Ready], RecoveryDecision::Forward),
        (JournalState::Sealed, false, &[Done, Ready], RecoveryDecision::Forward),
        (JournalState::Sealed, false, &[Done, Same, OriginalLost], RecoveryDecision::Forward),
        (JournalState::Sealed, false, &[OnTop, Ready], RecoveryDecision::Forward),
        (JournalState::Sealed, false, &[PutBack, Ready], RecoveryDecision::Back),
        (JournalState::Sealed, false, &[PutBack, Done], RecoveryDecision::Back),
        (JournalState::Sealed, false, &[PutBack, OnTop], RecoveryDecision::Wait),
        (JournalState::Done, false, &[PutBack, Done], RecoveryDecision::Forward),
        (JournalState::Sealed, false, &[Captured, Ready], RecoveryDecision::Back),
        (JournalState::Sealed, false, &[Done, Before], RecoveryDecision::Back),
        (JournalState::Sealed, false, &[Done, Torn], RecoveryDecision::Back),
        (JournalState::Sealed, false, &[Done, Unknown], RecoveryDecision::Back),
        (JournalState::Sealed, false, &[OnTop, Before], RecoveryDecision::Wait),
        (JournalState::Sealed, false, &[OnTop, Captured], RecoveryDecision::Wait),
        (JournalState::Done, false, &[Ready, Ready], RecoveryDecision::Forward),
        (JournalState::Done, false, &[Done, Captured, Unknown], RecoveryDecision::Forward),
        (JournalState::Done, false, &[Done, Before], RecoveryDecision::Back),
        (JournalState::Done, false, &[OnTop, Torn], RecoveryDecision::Wait),
    ];
    for (row, (state, back_on_crash, classes, decision)) in rows.iter().enumerate() {
        assert_eq!(decide(*state, *back_on_crash, classes), *decision, "row {row}");
    }
}
