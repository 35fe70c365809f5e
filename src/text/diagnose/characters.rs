//! The characters that differ between an anchor and the most similar lines; a diff of lines would only show that
//! something differs.

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

use super::similar::line_feeds;
use crate::error::Difference;

/// The most differences that are listed.
const SHOWN: usize = 10;

/// The most characters shown of a difference, on either side.
const CHARS: usize = 40;

/// The most bytes, of both texts together, that are compared.
const COMPARED: usize = 8 << 10;

/// The most equal characters between two differences that are reported as one.
const CLOSE: u32 = 2;

/// The first few differences of `anchor` and `region`, whose first line is `line`; none if the texts are too long.
///
/// An anchor may start and end inside a line: text of the region before its start and after its end is no difference.
pub(super) fn differences(anchor: &[u8], region: &[u8], line: usize) -> Vec<Difference> {
    if anchor.len() + region.len() > COMPARED {
        return Vec::new();
    }
    let (anchor, region) = (line_feeds(anchor), line_feeds(region));
    let (old, new) = (characters(&anchor), characters(&region));
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let hunks: Vec<Hunk> = Diff::compute(Algorithm::Myers, &input).hunks().collect();
    let is_around =
        |hunk: &Hunk| hunk.before.is_empty() && (hunk.after.start == 0 || hunk.after.end as usize == new.len());
    let hunks: Vec<Hunk> = hunks.into_iter().filter(|hunk| !is_around(hunk)).collect();
    let close = |a: &Hunk, b: &Hunk| b.after.start - a.after.end <= CLOSE && b.before.start - a.before.end <= CLOSE;
    let one = |hunks: &[Hunk]| {
        let [first, .., last] = &[&hunks[0], &hunks[hunks.len() - 1]];
        let feeds = new[..first.after.start as usize].iter().filter(|character| **character == b"\n").count();
        Difference {
            line: line + feeds,
            anchor: shown(&old[first.before.start as usize..last.before.end as usize]),
            file: shown(&new[first.after.start as usize..last.after.end as usize]),
        }
    };
    hunks.chunk_by(close).take(SHOWN).map(one).collect()
}

/// The characters of a text; each byte that is part of none counts as one.
fn characters(text: &[u8]) -> Vec<&[u8]> {
    let mut list = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        list.extend(valid.char_indices().map(|(at, c)| &valid.as_bytes()[at..at + c.len_utf8()]));
        list.extend(chunk.invalid().chunks(1));
    }
    list
}

fn shown(characters: &[&[u8]]) -> String {
    let mut text = String::new();
    for character in characters.iter().take(CHARS) {
        match std::str::from_utf8(character) {
            // Quotes and backslashes are most readable unescaped.
            Ok(c @ ("\"" | "'" | "\\")) => text.push_str(c),
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
        differences(anchor, region, 5).into_iter().map(|it| (it.line, it.anchor, it.file)).collect()
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
