//! The characters that differ between an anchor and the text there; a diff of lines would only show that something
//! differs.

use std::ops::Range;

use super::align::{AlignedStep, TextEnds, align};
use crate::error::Difference;

/// The most differences that are listed.
const SHOWN: usize = 10;

/// The most characters shown of a difference, on either side.
const CHARS: usize = 40;

/// The most equal characters between two differences that are reported as one.
const CLOSE: usize = 2;

/// An anchor compared with a text, or with the part of it that is most like the anchor.
pub(super) struct Comparison {
    /// The part, in bytes.
    pub(super) part: Range<usize>,
    pub(super) differences: Vec<Difference>,
}

/// The first few differences of `anchor` and `text`, whose first line is `line`; `None` if the texts are too long.
pub(super) fn compare(anchor: &[u8], text: &[u8], line: usize, ends: TextEnds) -> Option<Comparison> {
    let (old, new) = (characters(anchor), characters(text));
    let starts: Vec<usize> = new.iter().map(|(start, _)| *start).chain([text.len()]).collect();
    let old: Vec<&[u8]> = old.into_iter().map(|(_, character)| character).collect();
    let new: Vec<&[u8]> = new.into_iter().map(|(_, character)| character).collect();
    // What both begin and end with need not be aligned.
    let (head, tail) = if ends == TextEnds::Fixed { common_ends(&old, &new) } else { (0, 0) };
    let aligned = align(&old[head..old.len() - tail], &new[head..new.len() - tail], ends)?;
    let (start, end) = (aligned.start + head, aligned.end + head);
    let feeds = |at: usize| new[..at].iter().filter(|character| **character == b"\n").count();
    let difference = |(anchor, file): (Range<usize>, Range<usize>)| {
        let (anchor, there) = (&old[anchor], &new[file.clone()]);
        let (mut one, mut other) = (shown(anchor, "\\"), shown(there, "\\"));
        if one == other {
            // A backslash and an `n` would look like a line break.
            (one, other) = (shown(anchor, "\\\\"), shown(there, "\\\\"));
        }
        Difference { line: line + feeds(file.start), anchor: one, file: other }
    };
    let differences = runs(&aligned.steps, head, start).into_iter().take(SHOWN).map(difference).collect();
    let (start, end) = if ends == TextEnds::Fixed { (0, new.len()) } else { (start, end) };
    Some(Comparison { part: starts[start]..starts[end], differences })
}

/// The number of characters that both lists begin with, and of those that both end with.
fn common_ends(old: &[&[u8]], new: &[&[u8]]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    (head, tail)
}

/// The runs of steps that differ, as ranges of both texts; those that are close are one.
fn runs(steps: &[AlignedStep], mut old: usize, mut new: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let mut runs: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for step in steps {
        let next_old = old + usize::from(*step != AlignedStep::OnlyInText);
        let next_new = new + usize::from(*step != AlignedStep::OnlyInAnchor);
        if *step != AlignedStep::Equal {
            match runs.last_mut() {
                Some((last, there)) if old - last.end <= CLOSE && new - there.end <= CLOSE => {
                    (last.end, there.end) = (next_old, next_new);
                }
                _ => runs.push((old..next_old, new..next_new)),
            }
        }
        (old, new) = (next_old, next_new);
    }
    runs
}

/// The characters of a text, each with its start; each byte that is part of none counts as one, a line break of either
/// kind as a line feed.
fn characters(text: &[u8]) -> Vec<(usize, &[u8])> {
    let mut list: Vec<(usize, &[u8])> = Vec::with_capacity(text.len());
    let mut start = 0;
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            match list.last_mut() {
                Some((_, before)) if c == '\n' && *before == b"\r" => *before = b"\n",
                _ => list.push((start + at, &valid.as_bytes()[at..at + c.len_utf8()])),
            }
        }
        start += valid.len();
        list.extend(chunk.invalid().chunks(1).enumerate().map(|(at, byte)| (start + at, byte)));
        start += chunk.invalid().len();
    }
    list
}

/// Characters as a reader sees them apart: invisible ones escaped, and each backslash as `backslash`.
fn shown(characters: &[&[u8]], backslash: &str) -> String {
    let mut text = String::new();
    for character in characters.iter().take(CHARS) {
        match std::str::from_utf8(character) {
            // Quotes and backslashes are most readable unescaped.
            Ok("\\") => text.push_str(backslash),
            Ok(c @ ("\"" | "'")) => text.push_str(c),
            Ok(c) => text.extend(c.chars().flat_map(char::escape_default)),
            Err(_) => text.extend(character.iter().map(|byte| format!("\\x{byte:02x}"))),
        }
    }
    if characters.len() > CHARS {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(anchor: &[u8], region: &[u8]) -> Vec<(usize, String, String)> {
        let found = compare(anchor, region, 5, TextEnds::Free).map(|found| found.differences);
        found.unwrap_or_default().into_iter().map(|it| (it.line, it.anchor, it.file)).collect()
    }

    fn one(line: usize, anchor: &str, file: &str) -> (usize, String, String) {
        (line, anchor.into(), file.into())
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(list(b"    a\n    b", b"\ta\r\n    b\r\n"), [one(5, "    ", "\\t")]);
        assert_eq!(list(b"a\nsay(\"x\")", "a\nsay(“x”)\n".as_bytes()), [one(6, "\"x\"", "\\u{201c}x\\u{201d}")]);
        assert_eq!(list(b"a b", "a\u{a0}b".as_bytes()), [one(5, " ", "\\u{a0}")]);
        assert_eq!(list(b"caf\xe9s", b"caf\xe8s"), [one(5, "\\xe9", "\\xe8")]);
    }

    #[test]
    fn an_anchor_may_be_a_part_of_a_line() {
        assert_eq!(list(b"lista = 1", b"  let list = 1;\n"), [one(5, "a", "")]);
        assert_eq!(list(b"x", b"y x z\n"), []);
        assert_eq!(compare(b"lists", b"a\r\nb list c", 1, TextEnds::Free).unwrap().part, 5..9);
    }

    #[test]
    fn what_looks_the_same_is_told_apart() {
        assert_eq!(list(b"a\\nb", b"a\nb"), [one(5, "\\\\n", "\\n")]);
        assert_eq!(list(b"a\\tb", b"a\tb"), [one(5, "\\\\t", "\\t")]);
        assert_eq!(list(b"say(\\\"hello\\\")", b"say(\"hello\")"), [one(5, "\\", ""), one(5, "\\", "")]);
    }

    #[test]
    fn long_texts_are_compared_where_they_differ() {
        let long = "some words\n".repeat(1000);
        let found =
            compare(format!("{long}a{long}").as_bytes(), format!("{long}b{long}").as_bytes(), 1, TextEnds::Fixed);
        let differences = found.unwrap().differences;
        assert_eq!((differences[0].line, &*differences[0].anchor, &*differences[0].file), (1001, "a", "b"));
    }

    #[test]
    fn there_are_not_too_many_and_none_too_long() {
        let anchor = "a long word\n".repeat(30);
        let found = list(anchor.as_bytes(), anchor.replace('w', "W").as_bytes());
        assert_eq!((found.len(), &found[9]), (10, &one(14, "w", "W")));
        let found = list(format!("a{}b", "x".repeat(100)).as_bytes(), b"ab");
        assert_eq!(found, [one(5, &format!("{}…", "x".repeat(40)), "")]);
        assert_eq!(list(&[b'a'; 5000], &[b'b'; 5000]), []);
    }
}
