//! What the target `recovery_decision` does with bytes. `tests/it/proof/fuzz_twins.rs` does the same with bytes of its own.

use txedit::Digest;
use txedit::journal::{JournalState, Record, RecordedChange};
use txedit::testing::internals::identity::Identity;
use txedit::testing::internals::journal::recover::{Class, Observed, RecoveryDecision, Seen, classify, decide, is_new};
use txedit::testing::internals::path::RelPath;
use txedit::testing::internals::plan::{Access, FileState};

/// Hands out the bytes of a fuzzer, zeros when they are used up.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn below(&mut self, limit: u8) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first % limit
    }
}

const STAGED: Identity = Identity { inode: 1, born: None };
const ORIGINAL: Identity = Identity { inode: 2, born: None };

fn state(content: u8) -> FileState {
    // Contents 0 and 1 are old and new; of old there is one with another mode.
    let access = Some(Access { user: 1, group: 1, attributes: None });
    FileState { digest: Digest::of(&[content % 3]), size: 1, mode: if content == 3 { 0o755 } else { 0o644 }, access }
}

fn seen(bytes: &mut Bytes<'_>) -> Seen {
    let identity = Identity { inode: u64::from(bytes.below(4)), born: None };
    match bytes.below(10) {
        0 | 1 => Seen::Missing,
        2 => Seen::Other,
        3 => Seen::Folder(identity),
        4 => Seen::Filled(identity),
        5 => Seen::Mixed(identity),
        other => {
            let FileState { digest, mode, access, .. } = state(other - 6);
            let access = access.expect("this version tells it");
            // Now and then it belongs to somebody else by now.
            let access = Access { user: access.user + u32::from(bytes.below(4) == 3), ..access };
            Seen::File { digest, mode, access, identity }
        }
    }
}

fn record(bytes: &mut Bytes<'_>) -> Record {
    let before = state(0);
    // A change of content, or of the mode alone.
    let after = state(if bytes.below(4) == 0 { 3 } else { 1 });
    let change = match bytes.below(8) {
        0 => RecordedChange::Edit { before, after, staged: STAGED, original: ORIGINAL },
        1 => RecordedChange::Create { after, staged: STAGED },
        2 => RecordedChange::Delete { before, original: ORIGINAL },
        3 => RecordedChange::FileToFolder { before, staged: STAGED, original: ORIGINAL },
        4 => RecordedChange::FolderToFile { after, staged: STAGED, original: ORIGINAL },
        5 => RecordedChange::RemoveFolder { original: ORIGINAL },
        6 => RecordedChange::Overwrite { before, after, staged: STAGED, original: ORIGINAL },
        _ => RecordedChange::Folder { staged: STAGED },
    };
    Record { path: RelPath::new("a").expect("a path"), change }
}

/// The recovery decision keeps what the document promises of it, whatever is found.
pub(crate) fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let state = JournalState::ALL[usize::from(bytes.below(7))];
    let back_on_crash = bytes.below(2) == 1;
    let count = bytes.below(6);
    let mut classes = Vec::new();
    for _ in 0..count {
        let record = record(&mut bytes);
        let observed = Observed { target: seen(&mut bytes), slot: seen(&mut bytes) };
        let class = classify(&record, &observed);
        check_class(&record, &observed, class);
        classes.push(class);
    }
    let decision = decide(state, back_on_crash, &classes);
    let any = |wanted: &[Class]| classes.iter().any(|class| wanted.contains(class));
    let evidence = any(&[Class::Done, Class::Partly, Class::Captured, Class::OnTop, Class::OriginalLost]);
    let done = state == JournalState::Done;
    assert!(
        done || !any(&[Class::Theirs]) || decision == RecoveryDecision::Wait,
        "decided about what may be somebody's"
    );
    match decision {
        RecoveryDecision::Forward => {
            assert!(!state.is_undo() && (done || evidence && !back_on_crash), "forward without evidence");
            assert!(state != JournalState::Check, "forward although a check had not passed");
            assert!(state != JournalState::Contended, "forward to contents that are not known to be durable");
            assert!(!any(&[Class::Before, Class::Torn]), "forward over what speaks against it");
            assert!(done || !any(&[Class::Captured, Class::Unknown]), "forward over what is not known");
        }
        RecoveryDecision::Drop => {
            let is_early = matches!(state, JournalState::New | JournalState::Sealed);
            assert!(is_early && !evidence, "dropped with something swapped");
        }
        RecoveryDecision::Back => {
            let evidence = evidence || any(&[Class::PutBack]);
            assert!(state != JournalState::New || evidence, "back, and a mark, although nothing was swapped");
            let must =
                state.is_undo() || matches!(state, JournalState::Check | JournalState::Contended) || back_on_crash;
            assert!(must || !any(&[Class::OnTop]), "back over a change");
        }
        RecoveryDecision::Wait => assert!(any(&[Class::OnTop, Class::Theirs]), "a person is asked for nothing"),
    }
    // The order of the entries means nothing.
    classes.reverse();
    assert_eq!(decide(state, back_on_crash, &classes), decision);
}

/// Whether this is the entry's new content, in whatever file.
fn has_new(record: &Record, seen: Seen) -> bool {
    match (seen, record.change.staged()) {
        (Seen::File { digest, mode, access, .. }, Some(staged)) => {
            is_new(record, Seen::File { digest, mode, access, identity: *staged })
        }
        _ => is_new(record, seen),
    }
}

/// What each class says of the two contents, so that nothing is overwritten or deleted on a wrong one.
fn check_class(record: &Record, observed: &Observed, class: Class) {
    let (target, slot) = (has_new(record, observed.target), has_new(record, observed.slot));
    let missing = |seen: Seen| matches!(seen, Seen::Missing);
    match (&record.change, class) {
        (RecordedChange::Edit { .. }, Class::Ready) => assert!(slot && !target && !missing(observed.target)),
        (RecordedChange::Edit { .. }, Class::Done) => assert!(target && !slot && !missing(observed.slot)),
        (RecordedChange::Edit { .. }, Class::Captured | Class::OriginalLost) => assert!(target && !slot),
        (RecordedChange::Edit { .. }, Class::Same) => assert!(target && slot),
        (RecordedChange::Edit { .. } | RecordedChange::Create { .. }, Class::Before) => assert!(slot && !target),
        (RecordedChange::Create { .. } | RecordedChange::Folder { .. }, Class::Ready) => {
            assert!(slot && missing(observed.target));
        }
        (RecordedChange::Create { .. }, Class::Done) => assert!(target && missing(observed.slot)),
        (RecordedChange::Folder { .. }, Class::Done) => assert!(target),
        (RecordedChange::Delete { .. }, Class::Ready) => assert!(missing(observed.slot) && !missing(observed.target)),
        (RecordedChange::Delete { .. }, Class::Done | Class::Captured) => assert!(missing(observed.target)),
        // Nothing is written back but over what is ours, from a copy that is there.
        (RecordedChange::Overwrite { .. }, Class::Done | Class::Partly) => {
            assert!(slot && observed.target.identity() == Some(&ORIGINAL));
        }
        (RecordedChange::Overwrite { .. }, Class::Ready) => assert!(slot),
        _ => check_class_of_folders(record, observed, class, (target, slot)),
    }
}

fn check_class_of_folders(record: &Record, observed: &Observed, class: Class, (target, slot): (bool, bool)) {
    let old = Seen::Folder(ORIGINAL);
    match (&record.change, class) {
        (RecordedChange::FileToFolder { .. }, Class::Ready | Class::Before) => assert!(slot && !target),
        (RecordedChange::FileToFolder { .. }, Class::Done | Class::OriginalLost)
        | (RecordedChange::FolderToFile { .. }, Class::Captured | Class::OriginalLost) => assert!(target && !slot),
        (RecordedChange::FileToFolder { .. }, Class::Captured) => assert!(target),
        (RecordedChange::FolderToFile { .. }, Class::Ready) => assert!(slot && observed.target == old),
        (RecordedChange::FolderToFile { .. }, Class::Done) => assert!(target && observed.slot == old),
        (RecordedChange::RemoveFolder { .. }, Class::Ready) => assert!(observed.target == old),
        (RecordedChange::RemoveFolder { .. }, Class::Done) => assert!(observed.slot == old),
        (RecordedChange::RemoveFolder { .. }, Class::Captured) => assert!(observed.target == Seen::Missing),
        _ => {}
    }
}
