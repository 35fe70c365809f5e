//! Tests of labels, marks, and of what is decoded and encoded.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn charset(label: &str) -> Charset {
    label.parse().unwrap()
}

const LABELS: [&str; 13] = [
    "utf-16le",
    "utf-16be",
    "windows-1252",
    "windows-1251",
    "koi8-r",
    "macintosh",
    "x-user-defined",
    "shift_jis",
    "euc-jp",
    "euc-kr",
    "big5",
    "gbk",
    "gb18030",
];

#[test]
fn labels_name_encodings_or_are_refused() {
    assert_eq!(charset(" Latin1 ").name(), "windows-1252");
    assert_eq!(charset("UTF-16LE").name(), "UTF-16LE");
    assert_eq!(charset("utf-16").name(), "UTF-16");
    assert_eq!(charset("csISO2022JP").name(), "ISO-2022-JP");
    for label in ["", "klingon", "replacement", "iso-2022-kr"] {
        assert_eq!(label.parse::<Charset>(), Err(NotACharset::Unknown(label.to_owned())));
    }
}

#[test]
fn a_mark_decides_and_a_name_that_contradicts_it_is_refused() {
    let of = |bytes: &[u8], label: Option<&str>| {
        Charset::of(bytes, label.map(charset)).map(|found| found.map(Charset::name)).map_err(|_| "clash")
    };
    assert_eq!(of(b"abc", None), Ok(None));
    assert_eq!(of(b"\xef\xbb\xbfabc", None), Ok(None));
    assert_eq!(of(b"\xff\xfea\0", None), Ok(Some("UTF-16LE")));
    assert_eq!(of(b"\xfe\xff\0a", None), Ok(Some("UTF-16BE")));
    assert_eq!(of(b"abc", Some("utf-8")), Ok(None));
    assert_eq!(of(b"a\0", Some("utf-16")), Ok(Some("UTF-16LE")));
    assert_eq!(of(b"\xfe\xff\0a", Some("utf-16")), Ok(Some("UTF-16BE")));
    assert_eq!(of(b"abc", Some("koi8-r")), Ok(Some("KOI8-R")));
    for (bytes, label) in [
        (&b"\xff\xfea\0"[..], "utf-8"),
        (b"\xff\xfea\0", "utf-16be"),
        (b"\xfe\xff\0a", "utf-16le"),
        (b"\xfe\xff\0a", "windows-1252"),
        (b"\xef\xbb\xbfabc", "utf-16le"),
    ] {
        assert_eq!(of(bytes, Some(label)), Err("clash"), "{label}");
    }
}

#[test]
fn a_character_is_written_as_itself_or_refused() {
    assert_eq!(charset("windows-1252").encode("a€é"), Ok(b"a\x80\xe9".to_vec()));
    assert_eq!(charset("iso-8859-2").encode("ab€"), Err('€'));
    assert_eq!(charset("shift_jis").encode("日本"), Ok(b"\x93\xfa\x96\x7b".to_vec()));
    // Browsers write a backslash for the first, and a full-width sign for the second.
    assert_eq!(charset("shift_jis").encode("1¥"), Err('¥'));
    assert_eq!(charset("euc-jp").encode("1−"), Err('−'));
    assert_eq!(charset("utf-16be").encode("a😀"), Ok(b"\0a\xd8\x3d\xde\0".to_vec()));
    assert_eq!(charset("utf-16").encode_file("a"), Ok(b"\xff\xfea\0".to_vec()));
    assert_eq!(charset("utf-16be").encode_file("\u{feff}a"), Ok(b"\xfe\xff\0a".to_vec()));
    assert_eq!(charset("koi8-r").encode_file("a"), Ok(b"a".to_vec()));
}

#[test]
fn what_stands_for_two_characters_has_no_place_within() {
    let big5 = charset("big5");
    let decoded = big5.decode(b"a\x88\x62b");
    assert_eq!(decoded.text(), "a\u{ca}\u{304}b".as_bytes());
    assert_eq!(decoded.places(b"a\x88\x62b", [1, 3, 5, 6].into_iter()), [Some(1), None, Some(3), Some(4)]);
}

/// Bytes in which lead bytes, trail bytes and halves of surrogate pairs come up often.
fn odd_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        0x80_u8..=0xff,
        0x30_u8..=0x39,
        Just(b'\n'),
        Just(0x81_u8),
        Just(0x8f_u8),
        Just(0xd8_u8),
        Just(0xdc_u8),
        proptest::sample::select(&b"\x1b$(@BJ\x0e"[..]),
    ];
    vec(byte, 0..60)
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_as_the_standard_says(bytes in odd_bytes(), block in 2..20_usize) {
        for label in LABELS.into_iter().chain(["iso-2022-jp"]) {
            let charset = charset(label);
            let (expected, _) = charset.encoding.decode_without_bom_handling(&bytes);
            let decoded = charset.decode_in_blocks(&bytes, block);
            prop_assert_eq!(String::from_utf8_lossy(decoded.text()), &*expected, "{}", label);
        }
    }

    #[test]
    fn each_place_divides_the_bytes_as_it_divides_the_text(bytes in odd_bytes(), block in 2..20_usize) {
        for label in LABELS {
            let charset = charset(label);
            let decoded = charset.decode_in_blocks(&bytes, block);
            let text = decoded.text();
            let places = decoded.places(&bytes, 0..=text.len());
            prop_assert_eq!((places[0], places[text.len()]), (Some(0), Some(bytes.len())), "{}", label);
            for (at, place) in places.iter().enumerate() {
                let Some(place) = *place else { continue };
                prop_assert_eq!(charset.decode(&bytes[place..]).into_text(), &text[at..], "{} {}", label, at);
                // Each place by itself is the same as all in one walk.
                prop_assert_eq!(decoded.places(&bytes, std::iter::once(at)), [Some(place)]);
            }
        }
    }

    #[test]
    fn what_can_be_written_is_read_again(text in "\\PC{0,20}|[ -~éöß€яж日本語한국中文😀\u{feff}]{0,20}") {
        for label in LABELS.into_iter().chain(["iso-2022-jp"]) {
            let charset = charset(label);
            match charset.encode(&text) {
                Ok(bytes) => prop_assert_eq!(charset.decode(&bytes).into_text(), text.as_bytes(), "{}", label),
                Err(character) => prop_assert!(text.contains(character), "{}", label),
            }
        }
    }
}
