//! Converts positions by line and character, as editors count them, to bytes.

use memchr::memchr;

use crate::request::edit::{Encoding, Position};

/// The byte-order mark: not a character of the text that an editor shows.
pub(crate) const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why a position is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadPosition {
    /// The text has only this many lines.
    Line(usize),
    /// It is in the middle of a character.
    Inside,
    /// It is beyond the end of its line.
    Column,
}

/// The byte offset of `position`. An end beyond the last line means the end of the text.
pub(crate) fn offset(text: &[u8], position: Position, encoding: Encoding, is_end: bool) -> Result<usize, BadPosition> {
    let mut start = if text.starts_with(MARK) { MARK.len() } else { 0 };
    for line in 0..position.line {
        match next_line(&text[start..]) {
            Some(len) => start += len,
            None if is_end => return Ok(text.len()),
            None => return Err(BadPosition::Line(line + 1)),
        }
    }
    let line = &text[start..];
    let line = &line[..line.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(line.len())];
    in_line(line, position.character, encoding, false).map(|at| start + at)
}

/// The byte offset of a character in a line without its break. If it is beyond the end, that is the end, or an error where it
/// must be `exact`.
pub(crate) fn in_line(line: &[u8], character: usize, encoding: Encoding, exact: bool) -> Result<usize, BadPosition> {
    let at = within(line, character, encoding).ok_or(BadPosition::Inside)?;
    debug_assert!(at <= line.len(), "a position is in its line, its break excluded");
    // A line has one character more in front of each of its places, except for the first.
    let is_beyond = exact && character > 0 && within(line, character - 1, encoding) == Some(at);
    if is_beyond { Err(BadPosition::Column) } else { Ok(at) }
}

/// Refuses a position that is beyond the end of the line in which `offset` found it.
pub(crate) fn verify(text: &[u8], found: usize, position: Position, encoding: Encoding) -> Result<usize, BadPosition> {
    let before = Position { character: position.character.saturating_sub(1), ..position };
    let is_beyond = position.character > 0 && offset(text, before, encoding, false) == Ok(found);
    if is_beyond { Err(BadPosition::Column) } else { Ok(found) }
}

/// The length of the first line with its break; `None` if it is the last.
fn next_line(text: &[u8]) -> Option<usize> {
    // Most texts have no lone carriage return, and most lines are short.
    let feed = memchr(b'\n', text);
    let end = memchr(b'\r', &text[..feed.unwrap_or(text.len())]);
    match (end, feed) {
        (Some(end), Some(feed)) if end + 1 == feed => Some(feed + 1),
        (Some(end), _) => Some(end + 1),
        (None, Some(feed)) => Some(feed + 1),
        (None, None) => None,
    }
}

/// The byte at which a character of a line starts; the line's end if there are fewer.
fn within(line: &[u8], character: usize, encoding: Encoding) -> Option<usize> {
    if encoding == Encoding::Utf8 || line.is_ascii() {
        let at = character.min(line.len());
        // Refuses a byte that continues a character.
        return (at == line.len() || line[at] & 0xC0 != 0x80).then_some(at);
    }
    let mut left = character;
    for chunk in line.utf8_chunks() {
        let start = chunk.valid().as_ptr().addr() - line.as_ptr().addr();
        for (at, c) in chunk.valid().char_indices() {
            if left == 0 {
                return Some(start + at);
            }
            let units = if encoding == Encoding::Utf16 { c.len_utf16() } else { 1 };
            left = left.checked_sub(units)?;
        }
        // Each invalid sequence shows as one replacement character.
        if left == 0 {
            return Some(start + chunk.valid().len());
        }
        left -= usize::from(!chunk.invalid().is_empty());
    }
    Some(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, line: usize, character: usize, encoding: Encoding) -> Result<usize, BadPosition> {
        offset(text.as_bytes(), Position { line, character }, encoding, false)
    }

    #[test]
    fn characters_are_counted_in_the_encoding_asked_for() {
        let text = "é𝒳x\n";
        assert_eq!(at(text, 0, 1, Encoding::Utf16), Ok(2));
        assert_eq!(at(text, 0, 3, Encoding::Utf16), Ok(6));
        assert_eq!(at(text, 0, 2, Encoding::Utf16), Err(BadPosition::Inside), "half of a surrogate pair");
        assert_eq!(at(text, 0, 2, Encoding::Utf32), Ok(6));
        assert_eq!(at(text, 0, 6, Encoding::Utf8), Ok(6));
        assert_eq!(at(text, 0, 1, Encoding::Utf8), Err(BadPosition::Inside));
        assert_eq!(at(text, 0, 99, Encoding::Utf16), Ok(7), "beyond the end of the line its end is meant");
    }

    #[test]
    fn a_position_beyond_its_line_is_told_from_its_end() {
        let verified = |line, character| {
            let text = "é𝒳x\nb";
            let position = Position { line, character };
            at(text, line, character, Encoding::Utf16)
                .and_then(|at| verify(text.as_bytes(), at, position, Encoding::Utf16))
        };
        assert_eq!((verified(0, 3), verified(0, 4), verified(0, 5)), (Ok(6), Ok(7), Err(BadPosition::Column)));
        assert_eq!((verified(1, 0), verified(1, 1), verified(1, 2)), (Ok(8), Ok(9), Err(BadPosition::Column)));
    }

    #[test]
    fn all_three_line_breaks_end_lines() {
        let text = "a\r\nb\rc\nd";
        assert_eq!(at(text, 1, 0, Encoding::Utf16), Ok(3));
        assert_eq!(at(text, 2, 0, Encoding::Utf16), Ok(5));
        assert_eq!(at(text, 3, 1, Encoding::Utf16), Ok(8));
        assert_eq!(at(text, 0, 9, Encoding::Utf16), Ok(1));
        assert_eq!(at(text, 4, 0, Encoding::Utf16), Err(BadPosition::Line(4)));
        let end = Position { line: usize::MAX, character: 0 };
        assert_eq!(offset(text.as_bytes(), end, Encoding::Utf16, true), Ok(8));
        assert_eq!(at("a\n", 1, 0, Encoding::Utf16), Ok(2));
    }
}
