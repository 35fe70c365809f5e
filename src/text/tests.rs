//! Compares the piece table with a reference that copies the content for each edit.

mod many;
mod marks;

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::edit;
use super::newline::Ending;
use crate::error::MismatchCause;
use crate::error::{Detail, ErrorKind};
use crate::request::edit::{Anchor, Count, Edit, Matching};

fn text(text: &str, with: &str, count: Count) -> Edit {
    Edit { anchor: Anchor::Text { text: text.into(), count, matching: Matching::Exact }, replacement: with.into() }
}

fn once(old: &str, new: &str) -> Edit {
    text(old, new, Count::Once)
}

fn at(range: Range<usize>, expected: &str, with: &str) -> Edit {
    Edit { anchor: Anchor::Range { range, expected: expected.into() }, replacement: with.into() }
}

fn applied(base: &str, edits: &[Edit]) -> String {
    let edited = edit(base.as_bytes(), edits).unwrap();
    String::from_utf8(edited.splices.apply(base.as_bytes())).unwrap()
}

fn refusal(base: &str, edits: &[Edit]) -> (usize, ErrorKind) {
    let refused = edit(base.as_bytes(), edits).unwrap_err();
    (refused.edit.0, refused.kind)
}

/// A token is a line break with its kind, or one byte: the definition that the search must agree with.
#[derive(Clone, Copy, PartialEq)]
enum Token {
    Break(Ending),
    Byte(u8),
}

fn tokens(text: &[u8]) -> Vec<(usize, Token)> {
    let mut list = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (len, token) = match &text[at..] {
            [b'\r', b'\n', ..] => (2, Token::Break(Ending::CrLf)),
            [b'\n', ..] => (1, Token::Break(Ending::Lf)),
            [byte, ..] => (1, Token::Byte(*byte)),
            [] => unreachable!("at is inside"),
        };
        list.push((at, token));
        at += len;
    }
    list
}

/// The end of the match at `at`, if there is one.
fn match_at(base: &[u8], at: usize, anchor: &[(usize, Token)]) -> Option<usize> {
    let mut end = at;
    for (_, token) in anchor {
        match token {
            Token::Byte(byte) => {
                if base.get(end) != Some(byte) {
                    return None;
                }
                end += 1;
            }
            Token::Break(_) => {
                let whole = end == 0 || base[end - 1] != b'\r';
                end += match base.get(end..)? {
                    [b'\r', b'\n', ..] => 2,
                    [b'\n', ..] if whole => 1,
                    _ => return None,
                };
            }
        }
    }
    Some(end)
}

fn all_matches(base: &[u8], anchor: &[u8], overlapping: bool) -> Vec<Range<usize>> {
    let anchor = tokens(anchor);
    let mut list: Vec<Range<usize>> = Vec::new();
    for at in 0..base.len() {
        if !overlapping && list.last().is_some_and(|last| at < last.end) {
            continue;
        }
        if let Some(end) = match_at(base, at, &anchor) {
            list.push(at..end);
        }
    }
    list
}

fn endings(text: &[u8]) -> Vec<(usize, Ending)> {
    let is_break = |(at, token): (usize, Token)| if let Token::Break(kind) = token { Some((at, kind)) } else { None };
    tokens(text).into_iter().filter_map(is_break).collect()
}

fn adapted(base: &[u8], range: &Range<usize>, replacement: &[u8]) -> Vec<u8> {
    let mut inside: Vec<Ending> = endings(&base[range.clone()]).into_iter().map(|e| e.1).collect();
    if inside.is_empty() {
        let all = endings(base);
        let feed = |e: &(usize, Ending)| if e.1 == Ending::CrLf { e.0 + 1 } else { e.0 };
        let next = all.iter().find(|e| feed(e) >= range.end);
        inside.extend(next.or(all.iter().rfind(|e| e.0 < range.start)).map(|e| e.1));
        inside.truncate(1);
        if inside.is_empty() {
            return replacement.to_vec();
        }
        inside = vec![inside[0]; endings(replacement).len().max(1)];
    }
    let mut text = Vec::new();
    let count = endings(replacement).len();
    let mut index = 0;
    for (_, token) in tokens(replacement) {
        match token {
            Token::Byte(byte) => text.push(byte),
            Token::Break(_) => {
                let kind = if count == inside.len() { inside[index] } else { inside[0] };
                text.extend_from_slice(if kind == Ending::Lf { b"\n" } else { b"\r\n" });
                index += 1;
            }
        }
    }
    text
}

/// The expected result of one edit: the new content with the lines of its places, or the kind of the refusal.
fn reference(base: &[u8], edit: &Edit) -> Result<(Vec<u8>, Vec<usize>), ErrorKind> {
    let found = match &edit.anchor {
        Anchor::Text { text, count, .. } => {
            let found = all_matches(base, text, *count == Count::Once);
            match (count, found.len()) {
                (_, 0) => return Err(ErrorKind::MatchNotFound),
                (Count::Once, 2..) => return Err(ErrorKind::AmbiguousMatch),
                (Count::Exactly(wanted), found) if found != *wanted => return Err(ErrorKind::MatchCountMismatch),
                _ => found,
            }
        }
        Anchor::Range { range, expected } => match base.get(range.clone()) {
            Some(there) if there == expected => vec![range.clone()],
            _ => return Err(ErrorKind::MatchNotFound),
        },
        Anchor::Span { .. } | Anchor::Hunk(_) => unreachable!("they are tested by themselves"),
    };
    let mut new = Vec::new();
    let mut at = 0;
    for range in &found {
        new.extend_from_slice(&base[at..range.start]);
        match edit.anchor {
            Anchor::Text { .. } => new.extend(adapted(base, range, &edit.replacement)),
            _ => new.extend_from_slice(&edit.replacement),
        }
        at = range.end;
    }
    new.extend_from_slice(&base[at..]);
    let line = |range: &Range<usize>| 1 + memchr::memchr_iter(b'\n', &base[..range.start]).count();
    Ok((new, found.iter().take(100).map(line).collect()))
}

fn bytes(len: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    vec(select(vec!["a", "b", "\n", "\r\n", "\r"]), len).prop_map(|parts| parts.concat().into_bytes())
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let count = prop_oneof![4 => Just(Count::All), 1 => Just(Count::Once), 1 => (1..4usize).prop_map(Count::Exactly)];
    let text = (bytes(1..4), count, bytes(0..4)).prop_map(|(text, count, replacement)| Edit {
        anchor: Anchor::Text { text, count, matching: Matching::Exact },
        replacement,
    });
    let range = (0..30usize, 0..4usize, bytes(0..4)).prop_map(|(start, len, replacement)| Edit {
        anchor: Anchor::Range { range: start..start + len, expected: Vec::new() },
        replacement,
    });
    vec(prop_oneof![3 => text, 1 => range], 1..8)
}

/// Applies one edit after the other; a refused edit is checked, and left out.
fn check_against_reference(base: &[u8], list: Vec<Edit>) -> Result<(), TestCaseError> {
    let mut state = base.to_vec();
    let mut states = Vec::new();
    let mut edits: Vec<Edit> = Vec::new();
    for mut next in list {
        if let Anchor::Range { range, expected } = &mut next.anchor {
            // Most ranges should be valid; one that is out of bounds stays.
            if let Some(there) = state.get(range.clone()) {
                *expected = there.to_vec();
            }
        }
        edits.push(next.clone());
        if base.is_empty() {
            continue;
        }
        let result = edit(base, &edits);
        match reference(&state, &next) {
            Ok((new, lines)) => {
                let edited = result.map_err(|refused| TestCaseError::fail(format!("{refused:?}")))?;
                // Not prop_assert_eq: it would print hundreds of kilobytes.
                prop_assert!(edited.splices.apply(base) == new, "the new content differs");
                prop_assert_eq!(&edited.applied[edits.len() - 1].lines, &lines);
                states.push(std::mem::replace(&mut state, new));
            }
            Err(kind) => {
                let refused = result.expect_err("the reference refuses");
                prop_assert_eq!((refused.edit.0, refused.kind), (edits.len() - 1, kind), "{}", refused.message);
                if let (Anchor::Text { text, .. }, Detail::NoMatch(diagnosis)) = (&next.anchor, &refused.detail) {
                    let taker = states.iter().rposition(|state| !all_matches(state, text, false).is_empty());
                    let named =
                        if let Some(MismatchCause::ConsumedByEdit(edit)) = diagnosis.cause { Some(edit) } else { None };
                    prop_assert_eq!(named, taker);
                }
                edits.pop();
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn edits_equal_the_reference(base in bytes(0..30), list in edits()) {
        check_against_reference(&base, list)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn edits_of_large_pieces_equal_the_reference(
        parts in vec(bytes(0..6), 2..5), fill in 30_000..400_000usize, list in edits(),
    ) {
        // Few places to match, far apart: pieces that are searched in place, and matches across their ends.
        let base = parts.join(&vec![b'.'; fill][..]);
        check_against_reference(&base, list)?;
    }
}

#[test]
fn edits_apply_in_order_each_on_the_result_before() {
    assert_eq!(applied("one two", &[once("one", "two x"), text("two", "2", Count::All)]), "2 x 2");
    assert_eq!(applied("abc", &[at(0..0, "", "x"), at(1..2, "a", "")]), "xbc");
    let edited = edit(b"ab", &[once("a", "x"), once("x", "a")]).unwrap();
    assert!(edited.splices.is_empty(), "two edits that cancel each other change nothing");
}

#[test]
fn once_counts_matches_that_overlap() {
    assert_eq!(refusal("aaa", &[once("aa", "b")]), (0, ErrorKind::AmbiguousMatch));
    assert_eq!(applied("aaa", &[text("aa", "b", Count::Exactly(1))]), "ba");
    assert_eq!(refusal("aXa", &[once("X", "x"), once("a", "b")]), (1, ErrorKind::AmbiguousMatch));
}

#[test]
fn counts_must_be_met() {
    assert_eq!(applied("a.a.a", &[text("a", "b", Count::Exactly(3))]), "b.b.b");
    assert_eq!(refusal("a.a.a", &[text("a", "b", Count::Exactly(2))]), (0, ErrorKind::MatchCountMismatch));
    assert_eq!(refusal("a", &[text("b", "c", Count::Exactly(2))]), (0, ErrorKind::MatchNotFound));
    assert_eq!(refusal("a", &[text("b", "c", Count::All)]), (0, ErrorKind::MatchNotFound));
}

#[test]
fn places_are_shown_with_lines_around_them() {
    let base: String = (1..=40).map(|n| if n % 5 == 0 { "same\n".into() } else { format!("line {n}\n") }).collect();
    let refused = edit(base.as_bytes(), &[once("same", "x")]).unwrap_err();
    assert!(refused.message.starts_with("old_string found 8 times, expected 1"), "{}", refused.message);
    let Detail::Matches(places) = refused.detail else { panic!("{:?}", refused.detail) };
    assert_eq!((places.total, places.shown.len()), (8, 8));
    assert_eq!(places.shown[1].line, 10);
    let lines: Vec<_> = places.shown[1].snippet.lines().map(str::trim).collect();
    let expected =
        ["7 | line 7", "8 | line 8", "9 | line 9", "10 | same", "11 | line 11", "12 | line 12", "13 | line 13"];
    assert_eq!(lines, expected);
}

#[test]
fn as_many_places_are_shown_as_there_is_room_for_and_the_nearest_first() {
    let base = format!("{}same\n", "same\nother\n".repeat(200));
    let lines = |count| {
        let anchor = Anchor::Text { text: b"same".to_vec(), count, matching: Matching::Exact };
        let refused = edit(base.as_bytes(), &[Edit { anchor, replacement: b"x".to_vec() }]).unwrap_err();
        let Detail::Matches(places) = refused.detail else { panic!("{:?}", refused.detail) };
        assert_eq!(places.total, 201);
        places.shown.iter().map(|place| place.line).collect::<Vec<_>>()
    };
    let first = lines(Count::Once);
    assert!(first.len() > 30 && first.starts_with(&[1, 3, 5]), "{first:?}");
    let near = lines(Count::OnceNear(200));
    assert!(near.len() > 30 && near.starts_with(&[199, 201, 197, 203]), "{near:?}");
}

#[test]
fn line_breaks_match_either_kind_and_stay_as_they_are() {
    assert_eq!(applied("a\r\nb\r\nc\n", &[once("a\nb\n", "x\ny\n")]), "x\r\ny\r\nc\n");
    assert_eq!(applied("a\nb\n", &[once("a\r\nb", "x\r\ny\r\nz")]), "x\ny\nz\n");
    assert_eq!(applied("a\r\nb\nc", &[once("a\nb\nc", "1\n2\n3")]), "1\r\n2\n3");
    assert_eq!(applied("x\r\ny", &[once("y", "1\n2")]), "x\r\n1\r\n2", "no break after it: the one before");
    assert_eq!(applied("\r\na", &[once("\n", "-")]), "-a", "a CRLF is one line break");
    assert_eq!(applied("a\rb", &[once("a\rb", "c")]), "c");
    assert_eq!(applied("a\r\nb", &[at(1..3, "\r\n", "\n")]), "a\nb", "a range edit is used as written");
}

#[test]
fn half_a_line_break_is_none_where_windows_meet() {
    // The second window starts with the line feed of a CRLF: it is as long as the anchor may reach.
    let base = [&".".repeat(100_000), "\r\nxyzzQ", &".".repeat(100_000)].concat();
    let edits = [once("Q", "q"), once("\nxy", "\nXY")];
    assert_eq!(applied(&base, &edits), base.replace('Q', "q").replace("xy", "XY"));
}

#[test]
fn lines_are_counted_in_long_replacements_too() {
    let long: String = (1..=20_000).flat_map(|n| [n.to_string(), "\n".into()]).collect();
    let edits = [once("a", &long), once("\n15000\n", "\n-\n"), once("b", "c"), once("20000", "x")];
    let edited = edit(b"a\nb\n", &edits).unwrap();
    let lines: Vec<_> = edited.applied.iter().map(|applied| applied.lines[0]).collect();
    assert_eq!(lines, [1, 14_999, 20_002, 20_000]);
}

#[test]
fn more_places_than_are_kept_for_an_explanation_are_edited_all_the_same() {
    let base = "a.".repeat((1 << 20) + 1);
    assert_eq!(applied(&base, &[text("a", "b", Count::All)]), base.replace('a', "b"));
    let refused = edit(base.as_bytes(), &[text("a", "b", Count::All), once("a", "c")]).unwrap_err();
    let Detail::NoMatch(diagnosis) = refused.detail else { panic!("{:?}", refused.detail) };
    assert_eq!((refused.kind, diagnosis.cause), (ErrorKind::MatchNotFound, None));
}

#[test]
fn encodings_are_respected() {
    assert_eq!(refusal("a\0b", &[once("a", "b")]), (0, ErrorKind::InvalidEncoding));
    let latin1 = b"caf\xE9 x y";
    assert_eq!(edit(latin1, &[once("x", "z")]).unwrap().splices.apply(latin1), b"caf\xE9 z y");
    let refused = edit(latin1, &[once("x", "z"), once("y", "é")]).unwrap_err();
    assert_eq!((refused.edit.0, refused.kind), (1, ErrorKind::InvalidEncoding));
    assert_eq!(applied("\u{FEFF}a", &[once("a", "é")]), "\u{FEFF}é");
}

#[test]
fn an_empty_file_has_nothing_to_edit() {
    let refused = edit(b"", &[once("a", "b")]).unwrap_err();
    assert_eq!((refused.kind, &refused.message[..]), (ErrorKind::EmptyFile, "Cannot edit empty file"));
    assert_eq!(applied("", &[at(0..0, "", "a")]), "a", "a patch can insert");
}

#[test]
fn ranges_must_hold_what_is_expected() {
    assert_eq!(refusal("abc", &[at(0..2, "ax", "y")]), (0, ErrorKind::MatchNotFound));
    let refused = edit(b"abc", &[at(2..4, "cd", "y")]).unwrap_err();
    assert!(refused.message.contains("2..4 is not in the file, which has 3 bytes"), "{}", refused.message);
}

#[test]
fn the_edit_that_took_an_anchor_away_is_named() {
    let list = [once("foo", "bar"), once("2", "3"), once("bar", "baz"), once("let bar = 1", "x")];
    let refused = edit(b"let foo = 1;\nlet b = 2;\n", &list).unwrap_err();
    let Detail::NoMatch(diagnosis) = refused.detail else { panic!("{:?}", refused.detail) };
    assert_eq!((refused.edit.0, diagnosis.cause), (3, Some(MismatchCause::ConsumedByEdit(2))));
}
