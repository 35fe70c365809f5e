//! What each fuzz target does with bytes; `tests/it/fuzz_twins.rs` does the same with bytes of its own.

#![allow(dead_code, reason = "each target is a program of its own, with one of these")]
#![allow(clippy::allow_attributes, reason = "where all of these are used, nothing is dead")]

use txedit::digest::Digest;
use txedit::identity::Identity;
use txedit::journal::record::{Chain, encode};
use txedit::journal::recover::{Class, Decision, Observed, Seen, classify, decide, is_new};
use txedit::journal::{Change, Mark, Record, scan};
use txedit::path::RelPath;
use txedit::plan::FileState;
use txedit::request::edit::{Anchor, Count, Edit, Matching};
use txedit::request::validate::PathRule;
use txedit::text;
use txedit::wire::request;

/// The journal scanner answers to any bytes, and accepts only what it would write itself. The bytes are tried as they
/// are, and as lines to which somebody computed the digests.
pub(crate) fn journal_scan(data: &[u8]) {
    let mut chain = Chain::default();
    let lines = data.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line));
    let chained: Vec<u8> =
        lines.flat_map(|line| [format!("{} ", chain.next(line)).as_bytes(), line, b"\n"].concat()).collect();
    for bytes in [data, &chained] {
        match scan(bytes) {
            Ok(journal) => assert_eq!(encode(&journal), bytes, "a journal has one spelling"),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}

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
    FileState { digest: Digest::of(&[content % 3]), size: 1, mode: if content == 3 { 0o755 } else { 0o644 } }
}

fn seen(bytes: &mut Bytes<'_>) -> Seen {
    let identity = Identity { inode: u64::from(bytes.below(4)), born: None };
    match bytes.below(8) {
        0 | 1 => Seen::Missing,
        2 => Seen::Other,
        3 => Seen::Folder(identity),
        other => {
            let FileState { digest, mode, .. } = state(other - 4);
            Seen::File { digest, mode, identity }
        }
    }
}

fn record(bytes: &mut Bytes<'_>) -> Record {
    let before = state(0);
    // A change of content, or of the mode alone.
    let after = state(if bytes.below(4) == 0 { 3 } else { 1 });
    let change = match bytes.below(4) {
        0 => Change::Edit { before, after, staged: STAGED, original: ORIGINAL },
        1 => Change::Create { after, staged: STAGED },
        2 => Change::Delete { before, original: ORIGINAL },
        _ => Change::Folder { staged: STAGED },
    };
    Record { path: RelPath::new("a").expect("a path"), change }
}

/// The recovery decision keeps what the document promises of it, whatever is found.
pub(crate) fn recovery_decision(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mark = Mark::ALL[usize::from(bytes.below(5))];
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
    let decision = decide(mark, back_on_crash, &classes);
    let any = |wanted: &[Class]| classes.iter().any(|class| wanted.contains(class));
    let evidence = any(&[Class::Done, Class::Captured, Class::OnTop]);
    let done = mark == Mark::Done;
    match decision {
        Decision::Forward => {
            assert!(!mark.is_undo() && (done || evidence && !back_on_crash), "forward without evidence");
            assert!(mark != Mark::Check, "forward although a check had not passed");
            assert!(!any(&[Class::Before, Class::Torn]), "forward over what speaks against it");
            assert!(done || !any(&[Class::Captured, Class::Unknown]), "forward over what is not known");
        }
        Decision::Drop => assert!(mark == Mark::Sealed && !evidence, "dropped with something swapped"),
        Decision::Back => {
            let must = mark.is_undo() || mark == Mark::Check || back_on_crash;
            assert!(must || !any(&[Class::OnTop]), "back over a change");
        }
        Decision::Wait => assert!(any(&[Class::OnTop]), "a person is asked for nothing"),
    }
    // The order of the entries means nothing.
    classes.reverse();
    assert_eq!(decide(mark, back_on_crash, &classes), decision);
}

/// Whether this is the entry's new content, in whatever file.
fn has_new(record: &Record, seen: Seen) -> bool {
    match (seen, record.change.staged()) {
        (Seen::File { digest, mode, .. }, Some(staged)) => {
            is_new(record, Seen::File { digest, mode, identity: *staged })
        }
        _ => is_new(record, seen),
    }
}

/// What each class says of the two contents, so that nothing is overwritten or deleted on a wrong one.
fn check_class(record: &Record, observed: &Observed, class: Class) {
    let (target, slot) = (has_new(record, observed.target), has_new(record, observed.slot));
    let missing = |seen: Seen| matches!(seen, Seen::Missing);
    match (&record.change, class) {
        (Change::Edit { .. }, Class::Ready) => assert!(slot && !target && !missing(observed.target)),
        (Change::Edit { .. }, Class::Done) => assert!(target && !slot && !missing(observed.slot)),
        (Change::Edit { .. }, Class::Captured | Class::OriginalLost) => assert!(target && !slot),
        (Change::Edit { .. }, Class::Same) => assert!(target && slot),
        (Change::Edit { .. } | Change::Create { .. }, Class::Before) => assert!(slot && !target),
        (Change::Create { .. } | Change::Folder { .. }, Class::Ready) => assert!(slot && missing(observed.target)),
        (Change::Create { .. }, Class::Done) => assert!(target && missing(observed.slot)),
        (Change::Folder { .. }, Class::Done) => assert!(target),
        (Change::Delete { .. }, Class::Ready) => assert!(missing(observed.slot) && !missing(observed.target)),
        (Change::Delete { .. }, Class::Done | Class::Captured) => assert!(missing(observed.target)),
        _ => {}
    }
}

/// The request parser answers to any bytes; what it accepts, it writes and accepts again.
pub(crate) fn request_parse(data: &[u8]) {
    let parsed = match request::parse(data) {
        Ok(parsed) => parsed,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    let text = serde_json::to_vec(&parsed).expect("a request is JSON");
    let again = request::parse(&text).expect("what was written is read");
    assert_eq!(again, parsed);
    for rule in [PathRule::Absolute, PathRule::AbsoluteOrRelative] {
        match parsed.clone().into_request(rule) {
            Ok(request) => assert_eq!(Some(request.files.len()), parsed.files.as_ref().map(Vec::len)),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}

/// The matcher does what the simplest search and replacement would do. Pieces of the data, between bytes 0xFE: the
/// content, then an old and a new text for each edit, the first byte of the old one saying how often it must be there.
pub(crate) fn matcher(data: &[u8]) {
    let mut pieces = data.split(|byte| *byte == 0xFE);
    let base = pieces.next().unwrap_or_default();
    let mut edits = Vec::new();
    while let (Some([how, text @ ..]), Some(new)) = (pieces.next(), pieces.next()) {
        let count = match how % 3 {
            0 => Count::Once,
            1 => Count::All,
            _ => Count::Exactly(usize::from(how / 3 % 4) + 1),
        };
        edits.push(Edit {
            anchor: Anchor::Text { text: text.to_vec(), count, matching: Matching::Exact },
            replacement: new.to_vec(),
        });
    }
    let edited = text::edit(base, &edits);
    if let Err(why) = &edited {
        assert!(why.edit < edits.len() && !why.message.is_empty());
    }
    let result = edited.ok().map(|edited| {
        let result = edited.splices.apply(base);
        assert_eq!(result.len(), edited.splices.new_len(base.len()));
        assert_eq!(edited.applied.len(), edits.len());
        result
    });
    // Line breaks of two kinds, and what is not text, have rules of their own.
    let plain = |bytes: &[u8]| bytes.is_ascii() && !bytes.iter().any(|byte| matches!(byte, 0 | b'\r'));
    let plain = plain(base)
        && edits.iter().all(|Edit { anchor, replacement }| {
            plain(replacement) && matches!(anchor, Anchor::Text { text, .. } if plain(text))
        });
    if plain && !edits.is_empty() {
        assert_eq!(result, simplest(base, &edits));
    }
}

fn simplest(base: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut content = base.to_vec();
    if content.is_empty() {
        return None;
    }
    for edit in edits {
        let Anchor::Text { text, count, .. } = &edit.anchor else { return None };
        if text.is_empty() {
            return None;
        }
        let all = content.windows(text.len()).filter(|window| window == text).count();
        let mut result = Vec::new();
        let (mut at, mut replaced) = (0, 0);
        while at < content.len() {
            if content[at..].starts_with(text) {
                result.extend_from_slice(&edit.replacement);
                at += text.len();
                replaced += 1;
            } else {
                result.push(content[at]);
                at += 1;
            }
        }
        let fits = match count {
            // Counted with overlaps: whoever wants one place must be sure which.
            Count::Once => all == 1,
            Count::Exactly(wanted) => replaced == *wanted,
            Count::All => replaced > 0,
        };
        if !fits {
            return None;
        }
        content = result;
    }
    Some(content)
}
