//! Journals that verify, and all kinds that do not.

use crate::index::EntryIndex;
use proptest::prelude::*;

use super::super::record::encode;
use super::super::{Owner, RecordedChange, RecordedPart, SwapMethod};
use super::*;
use crate::identity::{Identity, Timestamp};
use crate::path::RelPath;
use crate::plan::{Access, FileState, LINK_MODE};

fn identity(inode: u64) -> Identity {
    Identity { inode, born: Some(Timestamp::new(1_763_766_899, 123_456_789)) }
}

fn state(content: &[u8]) -> FileState {
    let attributes = (!content.starts_with(b"a")).then(|| Digest::of(b"attributes"));
    let access = Some(Access { user: 1, group: 2, attributes });
    FileState { digest: Digest::of(content), size: content.len() as u64, mode: 0o644, access }
}

/// The state of a symlink.
fn link(target: &[u8]) -> FileState {
    FileState { mode: LINK_MODE, ..state(target) }
}

fn journal(paths: &[&[u8]]) -> Journal {
    use std::os::unix::ffi::OsStrExt;
    let header = Header {
        version: SwapMethod::Exchange.version(),
        id: "20261121T231459.000001Z-0123456789abcdef".to_owned(),
        workspace: "0".repeat(32),
        folder: identity(1),
        boot: "boot".to_owned(),
        owner: Owner { program: "txedit".to_owned(), process: 1, user: 0, host: "host".to_owned() },
        reverts: Vec::new(),
        opened: Some("20260101T120000.000000Z-0123456789abcdef".into()),
        key: Some("a key".into()),
        request: Some(Digest::of(b"request")),
        swap: SwapMethod::Exchange,
        parts: Vec::new(),
        label: Some("a \"label\"\n".to_owned()),
        session: None,
        campaign: Some("a campaign".to_owned()),
    };
    let changes = [
        RecordedChange::Edit { before: state(b"a"), after: state(b"b"), staged: identity(2), original: identity(3) },
        RecordedChange::Create { after: state(b"c"), staged: Identity { inode: u64::MAX, born: None } },
        RecordedChange::Delete { before: state(b"d"), original: identity(4) },
        RecordedChange::Folder { staged: identity(5) },
        RecordedChange::FileToFolder { before: state(b"e"), staged: identity(6), original: identity(7) },
        RecordedChange::FolderToFile { after: state(b"f"), staged: identity(8), original: identity(9) },
        RecordedChange::RemoveFolder { original: identity(10) },
        RecordedChange::Edit { before: state(b"g"), after: link(b"a"), staged: identity(11), original: identity(12) },
    ];
    let entries = paths
        .iter()
        .zip(changes.into_iter().cycle())
        .map(|(path, change)| Record { path: RelPath::new(std::ffi::OsStr::from_bytes(path)).unwrap(), change });
    Journal { header, entries: entries.collect(), back_on_crash: false }
}

const PATHS: [&[u8]; 8] =
    [b"a", b"b/c", b"not \xff utf-8", "naïve".as_bytes(), b"quote\"and\\slash", b"d", b"e/f", b"h"];

#[test]
fn what_is_written_is_read() {
    let journal = journal(&PATHS);
    assert_eq!(scan(&encode(&journal)), Ok(journal));
}

#[test]
fn a_journal_cut_short_anywhere_is_torn() {
    let bytes = encode(&journal(&PATHS));
    for length in 0..bytes.len() {
        assert!(matches!(scan(&bytes[..length]), Err(Corrupt::Torn { .. })), "{length}");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let bytes = encode(&journal(&PATHS));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            assert!(scan(&bytes).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn anything_after_the_seal_is_refused() {
    let mut bytes = encode(&journal(&PATHS));
    bytes.extend_from_slice(b"\n");
    assert!(scan(&bytes).is_err());
}

#[test]
fn another_version_is_named_as_one() {
    assert_eq!(scan(&chained(&[r#"{"txedit":7,"whatever":[]}"#])), Err(Corrupt::Version(7)));
}

/// Lines with valid digests.
fn chained(lines: &[&str]) -> Vec<u8> {
    let mut chain = Chain::default();
    lines.iter().flat_map(|line| format!("{} {line}\n", chain.next(line.as_bytes())).into_bytes()).collect()
}

/// A journal of one entry, whose line was changed together with its digests.
fn crafted(from: &str, to: &str) -> Result<Journal, Corrupt> {
    let text = String::from_utf8(encode(&journal(&PATHS[..1]))).unwrap();
    assert!(text.contains(from), "{from} is in {text}");
    let text = text.replace(from, to);
    let lines: Vec<&str> = text.lines().map(|line| &line[65..]).collect();
    scan(&chained(&lines))
}

#[test]
fn a_crafted_entry_is_refused() {
    assert!(crafted("\"path\":\"a\"", "\"path\":\"a\"").is_ok(), "the crafting itself is sound");
    let states = [".txedit/id", "x/.TXEDIT/y", ".git/txedit/id", "x/.GIT/TXEDIT"];
    for path in states.into_iter().chain(["/etc/passwd", "..", "a/../b", "", "a//b", "a/", "./a", "a\\u0000b"]) {
        let crafted = crafted("\"path\":\"a\"", &format!("\"path\":\"{path}\""));
        assert!(matches!(crafted, Err(Corrupt::Unexpected { line: 2, .. })), "{path}: {crafted:?}");
    }
    for (from, to) in [
        ("\"slot\":\"000000\"", "\"slot\":\"000001\""),
        ("\"slot\":\"000000\"", "\"slot\":\"../../x\""),
        ("\"kind\":\"edit\"", "\"kind\":\"create\""),
        ("\"kind\":\"edit\"", "\"kind\":\"edit\",\"kind\":\"edit\""),
        ("\"kind\":\"edit\"", "\"kind\":\"edit\",\"more\":1"),
        ("\"path\":\"a\"", "\"path\":\"a\",\"path_hex\":\"61\""),
        ("\"path\":\"a\"", "\"path_hex\":\"6\""),
        ("\"path\":\"a\"", "\"path_hex\":\"2E\""),
        ("\"inode\":2", "\"inode\":-2"),
        ("\"inode\":2", "\"inode\":18446744073709551616"),
        ("\"inode\":2", "\"inode\":2.0"),
        ("\"mode\":\"0644\"", "\"mode\":\"644\""),
        ("\"mode\":\"0644\"", "\"mode\":\"+644\""),
        ("\"sealed\":1", "\"sealed\":2"),
        ("20261121T231459.000001Z-", "../../../../../../etc/x"),
    ] {
        assert!(crafted(from, to).is_err(), "{from} -> {to}");
    }
}

#[test]
fn other_file_systems_are_named_in_order_and_in_their_version() {
    let part = |path: &str| RecordedPart { path: RelPath::new(path).unwrap(), folder: identity(1), state: "x".into() };
    let of = |version, parts: &[&str]| {
        let mut journal = journal(&PATHS);
        journal.header.version = version;
        journal.header.parts = parts.iter().map(|path| part(path)).collect();
        scan(&encode(&journal)).map(|read| read == journal)
    };
    // In the order of their bytes, in which a slash comes before a letter, and a dash before it.
    assert_eq!(of(HAS_PARTS, &["m", "m-n", "m/n"]), Ok(true));
    for (version, parts) in
        [(HAS_PARTS, &[] as &[&str]), (3, &["m"]), (HAS_PARTS, &["n", "m"]), (HAS_PARTS, &["m", "m"])]
    {
        assert!(of(version, parts).is_err(), "{version}, {parts:?}");
    }
}

#[test]
fn the_same_path_twice_is_refused() {
    let mut journal = journal(&PATHS[..2]);
    journal.entries[EntryIndex(1)].path = journal.entries[EntryIndex(0)].path.clone();
    assert!(matches!(scan(&encode(&journal)), Err(Corrupt::Unexpected { line: 3, .. })));
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(scan(&bytes).is_err());
    }

    #[test]
    fn any_chained_lines_are_answered(lines in prop::collection::vec("[ -~]{0,80}", 0..6)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        prop_assert!(scan(&chained(&lines)).is_err());
    }
}

/// A reader that returns only a few bytes at a time, and fails where it is told to.
struct Drops<'a> {
    rest: &'a [u8],
    size: usize,
    fails: bool,
}

impl io::Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() && self.fails {
            return Err(io::Error::other("the disk"));
        }
        let size = self.size.min(buffer.len()).min(self.rest.len());
        let (now, later) = self.rest.split_at(size);
        buffer[..size].copy_from_slice(now);
        self.rest = later;
        Ok(size)
    }
}

#[test]
fn however_its_bytes_come_it_is_the_same_journal() {
    let journal = journal(&PATHS);
    let bytes = encode(&journal);
    for size in 1..200 {
        for room in [1, 64, 300] {
            let drops = Drops { rest: &bytes, size, fails: false };
            assert_eq!(read(io::BufReader::with_capacity(room, drops)).unwrap(), journal, "{size} {room}");
        }
    }
}

#[test]
fn a_read_error_is_not_corruption() {
    let bytes = encode(&journal(&PATHS));
    for length in 0..=bytes.len() {
        let drops = Drops { rest: &bytes[..length], size: 40, fails: true };
        let error = read(io::BufReader::new(drops)).unwrap_err();
        assert!(matches!(error, UnreadableJournal::Io(_)), "{length}: {error}");
    }
}

#[test]
fn a_line_without_an_end_is_not_read_to_its_end() {
    let endless = io::BufReader::new(io::Read::take(io::repeat(b'x'), 1 << 40));
    let error = read(endless).unwrap_err();
    assert!(matches!(error, UnreadableJournal::Corrupt(Corrupt::NoLine { line: 1, .. })), "{error}");
}
