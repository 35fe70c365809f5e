//! Tests of edits in other encodings than UTF-8.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::request::edit::{Encoding, Hunk, HunkLine, Position};

fn charset(label: &str) -> Charset {
    label.parse().unwrap()
}

/// A text in UTF-16 with its mark.
fn utf16(text: &str) -> Vec<u8> {
    charset("utf-16le").encode_file(text).unwrap()
}

fn edited(base: &[u8], label: Option<&str>, edits: &[Edit]) -> Result<Vec<u8>, RefusedEdit> {
    edit(base, label.map(charset), edits).map(|edited| edited.splices.apply(base))
}

fn refusal(base: &[u8], label: Option<&str>, edits: &[Edit]) -> RefusedEdit {
    edited(base, label, edits).unwrap_err()
}

fn span(from: (usize, usize), to: (usize, usize), new: &str) -> Edit {
    let [start, end] = [from, to].map(|(line, character)| Position { line, character });
    Edit { anchor: Anchor::Span { start, end, encoding: Encoding::Utf32, strict: false }, replacement: new.into() }
}

#[test]
fn utf_16_is_known_by_its_mark() {
    let edits = [Edit::replace("größe\nmaß", "日本\n😀"), Edit::replace("😀", "x")];
    assert_eq!(edited(&utf16("a größe\r\nmaß b"), None, &edits).unwrap(), utf16("a 日本\r\nx b"));
    let big: Vec<u8> = utf16("one two").chunks_exact(2).flat_map(|unit| [unit[1], unit[0]]).collect();
    let after: Vec<u8> = utf16("one 2").chunks_exact(2).flat_map(|unit| [unit[1], unit[0]]).collect();
    assert_eq!(edited(&big, None, &[Edit::replace("two", "2")]).unwrap(), after);
}

#[test]
fn a_named_encoding_is_matched_and_written() {
    let edits = [Edit::replace("caf\u{e9}", "na\u{ef}f \u{20ac}")];
    assert_eq!(edited(b"a caf\xe9\r\n\xff", Some("latin1"), &edits).unwrap(), b"a na\xeff \x80\r\n\xff");
    assert_eq!(edited(b"\x93\xfa\x96\x7b\\", Some("sjis"), &[Edit::replace("本\\", "x")]).unwrap(), b"\x93\xfax");
    // Where nothing is decoded, nothing is different.
    assert_eq!(edited(b"a caf\xe9", Some("utf-8"), &[Edit::replace("a c", "b c")]).unwrap(), b"b caf\xe9");
}

#[test]
fn a_character_that_cannot_be_written_is_named_with_its_edit() {
    let edits = [Edit::replace("a", "b"), Edit::replace("c", "1 € 2"), Edit::replace("d", "…")];
    let error = refusal(b"a c d", Some("shift_jis"), &edits);
    assert_eq!((error.edit, error.kind), (EditIndex(1), ErrorKind::InvalidEncoding));
    assert_eq!(error.message, "U+20AC '€' cannot be written in Shift_JIS");
    assert!(matches!(error.detail, Detail::Encoding(EncodingFault::Unmappable('€'))));
    let line = |side, text: &str| HunkLine { side, text: text.into() };
    let hunk = Hunk { lines: vec![line(Side::Both, "a\n"), line(Side::New, "€\n")], ..Hunk::default() };
    let error = refusal(b"a\nb\n", Some("koi8-r"), &[Edit::replace("b", "b!"), hunk.into_edit()]);
    assert_eq!((error.edit, &*error.message), (EditIndex(1), "U+20AC '€' cannot be written in KOI8-R"));
    // If a later edit removes it, nothing has to be written.
    assert_eq!(edited(b"a", Some("koi8-r"), &[Edit::replace("a", "€"), Edit::replace("€", "b")]).unwrap(), b"b");
}

#[test]
fn a_character_that_stays_keeps_its_bytes() {
    // The first row of this standard has characters that are read and never written, at two bytes each.
    let base = b"one \x87\x90 two";
    let edits = [Edit::replace("one \u{2252} two", "1 \u{2252} two")];
    assert_eq!(edited(base, Some("shift_jis"), &edits).unwrap(), b"1 \x87\x90 two");
    // Three bytes of JIS X 0212, for which there is no encoder.
    let base = b"a \x8f\xb0\xa1 b";
    let edits = [Edit::replace("a \u{4e02} b", "a \u{4e02} c")];
    assert_eq!(edited(base, Some("euc-jp"), &edits).unwrap(), b"a \x8f\xb0\xa1 c");
}

#[test]
fn malformed_bytes_stay_and_match_nothing() {
    let base = [utf16("one "), vec![0x00, 0xd8], utf16("two")[2..].to_vec(), vec![b'!']].concat();
    let after = [utf16("1 "), vec![0x00, 0xd8], utf16("2")[2..].to_vec(), vec![b'!']].concat();
    let edits = [Edit::replace("one", "1"), Edit::replace("two", "2")];
    assert_eq!(edited(&base, None, &edits).unwrap(), after);
    for text in ["one \u{fffd}two", "one two"] {
        assert_eq!(refusal(&base, None, &[Edit::replace(text, "x")]).kind, ErrorKind::MatchNotFound, "{text}");
    }
    let error = refusal(&base, None, &[Edit::replace("one", "1"), span((0, 0), (0, 4), "")]);
    assert_eq!((error.edit, error.kind), (EditIndex(1), ErrorKind::InvalidEncoding), "{}", error.message);
    assert!(error.message.contains("no character of UTF-16LE"), "{}", error.message);
    let bytes = Edit { anchor: Anchor::Range { range: 7..8, expected: vec![MALFORMED] }, replacement: Vec::new() };
    assert!(refusal(&base, None, &[bytes]).message.contains("not in UTF-8"));
}

#[test]
fn new_text_is_not_joined_with_malformed_bytes() {
    // The last byte is the first of a character that is not there.
    let error = refusal(b"ab\x93", Some("shift_jis"), &[span((0, 3), (0, 3), "c")]);
    assert_eq!(error.kind, ErrorKind::InvalidEncoding);
    assert!(error.message.contains("read differently"), "{}", error.message);
    assert_eq!(edited(b"ab\x93", Some("shift_jis"), &[span((0, 3), (0, 3), " ")]).unwrap(), b"ab\x93 ");
}

#[test]
fn a_mark_that_says_the_encoding_stays() {
    let gone = [Edit::replace("\u{feff}one", "one")];
    assert!(refusal(&utf16("one"), None, &gone).message.contains("read differently"));
    assert_eq!(edited(&utf16("one"), Some("utf-16le"), &gone).unwrap(), utf16("one")[2..]);
    let error = refusal(b"abc", Some("latin1"), &[Edit::replace("ab", "\u{ff}\u{fe}")]);
    assert!(error.message.contains("read differently"), "{}", error.message);
    let error = refusal(&utf16("one"), Some("utf-8"), &[Edit::replace("one", "1")]);
    assert!(
        error.message.contains("mark of UTF-16LE") && error.message.contains("said to be UTF-8"),
        "{}",
        error.message
    );
    assert!(matches!(error.detail, Detail::Encoding(EncodingFault::Contradicted)));
}

#[test]
fn an_edit_does_not_divide_what_is_written_as_one() {
    let base = b"a\x88\x62b";
    let error = refusal(base, Some("big5"), &[Edit::replace("\u{304}b", "c")]);
    assert!(error.message.contains("writes as one"), "{}", error.message);
    assert_eq!(edited(base, Some("big5"), &[Edit::replace("\u{ca}\u{304}b", "c")]).unwrap(), b"ac");
}

#[test]
fn what_is_no_text_is_refused_and_told_what_to_send() {
    let error = refusal(b"o\0n\0e\0", None, &[Edit::replace("one", "1")]);
    assert!(matches!(error.detail, Detail::Encoding(EncodingFault::NotNamed)));
    assert_eq!(edited(b"o\0n\0e\0", Some("utf-16le"), &[Edit::replace("one", "1")]).unwrap(), b"1\0");
    let error = refusal(&utf16("a\0b"), None, &[Edit::replace("b", "c")]);
    assert!(error.message.contains("U+0000"), "{}", error.message);
    let error = refusal(b"caf\xe9", None, &[Edit::replace("caf", "\u{e9}")]);
    assert!(matches!(error.detail, Detail::Encoding(EncodingFault::NotNamed)));
}

#[test]
fn a_whole_content_is_encoded() {
    let of = |text: &[u8], label| {
        content(text, Some(charset(label))).map(Cow::into_owned).map_err(|error| error.to_string())
    };
    assert_eq!(of("é".as_bytes(), "latin1"), Ok(b"\xe9".to_vec()));
    assert_eq!(of(b"a", "utf-16"), Ok(b"\xff\xfea\0".to_vec()));
    assert_eq!(of("é".as_bytes(), "utf-8"), Ok("é".into()));
    assert_eq!(of("€".as_bytes(), "koi8-r"), Err("U+20AC '€' cannot be written in KOI8-R".to_owned()));
    assert!(of(b"\xe9", "latin1").unwrap_err().contains("not in UTF-8"));
    assert!(of("\u{ff}\u{fe}".as_bytes(), "latin1").is_err());
}

/// Texts of an encoding, and characters that it has.
const SAMPLES: [(&str, &[char]); 11] = [
    ("utf-16le", &['a', ' ', '\n', 'é', '日', '😀', '\u{a0a}']),
    ("utf-16be", &['a', ' ', '\n', 'é', '日', '😀', '\u{a0a}']),
    ("windows-1252", &['a', ' ', '\n', 'é', '€', '\\']),
    ("koi8-r", &['a', ' ', '\n', 'ж', 'я', '\\']),
    ("shift_jis", &['a', ' ', '\n', '日', '表', 'ﾊ', '\\']),
    ("euc-jp", &['a', ' ', '\n', '日', '表', 'ﾊ', '\\']),
    ("euc-kr", &['a', ' ', '\n', '한', '국', '\\']),
    ("big5", &['a', ' ', '\n', '中', '許', '\\']),
    ("gbk", &['a', ' ', '\n', '中', '国', '\\']),
    ("gb18030", &['a', '0', '\n', '中', '😀', 'é']),
    ("x-user-defined", &['a', ' ', '\n', '\u{f780}', '\u{f7ff}']),
];

/// The pieces of a file: characters of a sample by their index, or any bytes.
fn pieces() -> impl Strategy<Value = Vec<Result<usize, Vec<u8>>>> {
    let piece = prop_oneof![8 => (0..7_usize).prop_map(Ok), 1 => vec(0x80_u8..=0xff, 1..4).prop_map(Err)];
    vec(piece, 1..40)
}

proptest! {
    /// An edit is either refused, or the text becomes what it becomes in UTF-8 and no other byte changes.
    #[test]
    fn the_text_is_edited_and_no_other_byte(
        sample in 0..SAMPLES.len(), pieces in pieces(), from in 0..40_usize, length in 0..5_usize,
        new in vec(0..7_usize, 0..4), is_marked in any::<bool>(),
    ) {
        let (label, characters) = SAMPLES[sample];
        let charset = charset(label);
        let character = |index: &usize| characters[index % characters.len()];
        let mut base = if is_marked { charset.encode_file("").unwrap() } else { Vec::new() };
        for piece in &pieces {
            match piece {
                Ok(index) => base.extend(charset.encode(&character(index).to_string()).unwrap()),
                Err(bytes) => base.extend(bytes),
            }
        }
        let file = FileText::read(&base, Some(charset));
        prop_assume!(file.is_ok() && !base.is_empty());
        let file = file.unwrap();
        prop_assume!(!file.text().contains(&0));
        let new: String = new.iter().map(character).collect();
        // By its place, so that the text of the place need not be unique.
        let lines: Vec<&[u8]> = file.text().split(|byte| *byte == b'\n').collect();
        let line = from % lines.len();
        let count = String::from_utf8_lossy(lines[line]).chars().count();
        let start = from % (count + 1);
        let edits = [span((line, start), (line, (start + length).min(count)), &new)];
        let in_text = edit_decoded(file.text(), &edits).unwrap().splices;
        match edit(&base, Some(charset), &edits) {
            Ok(done) => {
                let after = charset.decode(&done.splices.apply(&base)).into_text();
                prop_assert_eq!(after, in_text.apply(file.text()), "{}", label);
                let ends = in_text.iter().flat_map(|splice| [splice.range.start, splice.range.end]);
                let ends = charset.decode(&base).places(&base, ends);
                for splice in &done.splices {
                    let is_within = ends[0].unwrap() <= splice.range.start && splice.range.end <= ends[1].unwrap();
                    prop_assert!(is_within, "{}: {:?} {:?}", label, splice, ends);
                }
            }
            Err(refused) => {
                prop_assert_eq!(refused.kind, ErrorKind::InvalidEncoding);
                // Of well-formed text, nothing is refused.
                prop_assert!(pieces.iter().any(Result::is_err), "{}: {}", label, refused.message);
            }
        }
    }
    /// The same, where escape sequences say what the bytes after them mean.
    #[test]
    fn text_with_escape_sequences_is_edited_and_no_other_byte(
        old in "[ab\n日本語¥あ]{0,12}", from in 0..13_usize, length in 0..5_usize, new in "[ab日本¥あ]{0,4}",
        tail in prop_oneof![Just(""), Just("x\u{1b}$@\u{46}\u{7c}\u{1b}(Jx\u{1b}(B"), Just("\u{ff}")],
    ) {
        let charset = charset("iso-2022-jp");
        let base = [charset.encode(&old).unwrap(), tail.chars().map(|c| u8::try_from(c).unwrap()).collect()].concat();
        let file = FileText::read(&base, Some(charset)).unwrap();
        let lines: Vec<&str> = old.split('\n').collect();
        let line = from % lines.len();
        let count = lines[line].chars().count();
        let start = from % (count + 1);
        let edits = [span((line, start), (line, (start + length).min(count)), &new)];
        prop_assume!(!base.is_empty());
        let in_text = edit_decoded(file.text(), &edits).unwrap().splices;
        let done = edit(&base, Some(charset), &edits).unwrap().splices;
        let after = done.apply(&base);
        prop_assert_eq!(charset.decode(&after).into_text(), in_text.apply(file.text()), "{:?} {:?}", base, after);
        prop_assert!(after.ends_with(&base[base.len() - tail.chars().count()..]));
        let ends = in_text.iter().flat_map(|splice| [splice.range.start, splice.range.end]);
        let ends = charset.decode(&base).places(&base, ends);
        for splice in &done {
            let is_within = ends[0].unwrap() <= splice.range.start && splice.range.end <= ends[1].unwrap();
            prop_assert!(is_within, "{:?} {:?}", splice, ends);
        }
    }
}
