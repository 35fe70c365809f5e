//! Readings of an anchor: what it says without the escapes, numbers, marks and wrappings that were copied or added.
//!
//! A reading proves nothing by itself. Its cause is proved where the content has the reading, and not the anchor.

use super::listing::without_line_numbers;
use super::markup::{unescaped_html, unmarked, unquoted, unwrapped};
use crate::error::MismatchCause;

/// The most readings of one anchor.
const READINGS: usize = 24;

/// What an anchor says if it was damaged in one way.
pub(super) struct AnchorReading {
    pub(super) text: Vec<u8>,
    pub(super) cause: MismatchCause,
    /// True if it can only be meant at the start of a line.
    pub(super) starts_line: bool,
}

/// All readings of an anchor that differ from it. What was wrapped or quoted may be damaged inside as well.
pub(super) fn readings(anchor: &[u8]) -> Vec<AnchorReading> {
    let mut list = simple(anchor);
    let wrapped = unwrapped(anchor).map(|text| (text, MismatchCause::Wrapped));
    let quoted = unquoted(anchor).map(|text| (text, MismatchCause::Quoted));
    for (text, cause) in wrapped.into_iter().chain(quoted) {
        let inner = simple(&text);
        list.push(AnchorReading { text, cause, starts_line: false });
        list.extend(inner);
    }
    list.retain(|reading| !reading.text.trim_ascii().is_empty());
    list.truncate(READINGS);
    list
}

fn simple(anchor: &[u8]) -> Vec<AnchorReading> {
    let mut list = Vec::new();
    let mut push = |text: Option<Vec<u8>>, cause, starts_line| {
        list.extend(text.map(|text| AnchorReading { text, cause, starts_line }));
    };
    // The start of a line tells whether a blank after the number belongs to the listing or to the line.
    push(without_line_numbers(anchor, 0), MismatchCause::LineNumbers, true);
    push(without_line_numbers(anchor, 1), MismatchCause::LineNumbers, false);
    for text in unmarked(anchor) {
        push(Some(text), MismatchCause::DiffMarkers, false);
    }
    push(unescaped_html(anchor), MismatchCause::HtmlEntities, false);
    push(unescaped(anchor, Escapes::Unicode), MismatchCause::EscapedText, false);
    push(unescaped(anchor, Escapes::All), MismatchCause::EscapedText, false);
    push(unescaped(anchor, Escapes::Backslashes), MismatchCause::EscapedText, false);
    list
}

/// The escapes that are resolved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// Those of JSON, and of most languages.
    All,
    /// Only characters by number: text in which backslashes are meant has no others.
    Unicode,
    /// Only doubled backslashes.
    Backslashes,
}

/// `anchor` with its escapes resolved, if it has any.
fn unescaped(anchor: &[u8], escapes: Escapes) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(anchor.len());
    let mut rest = anchor;
    while let Some(first) = rest.first() {
        if let Some((c, len)) = by_number(rest).filter(|_| escapes != Escapes::Backslashes) {
            plain.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[len..];
            continue;
        }
        let resolved = match (rest.get(..2), escapes) {
            (Some(b"\\n"), Escapes::All) => Some(b'\n'),
            (Some(b"\\t"), Escapes::All) => Some(b'\t'),
            (Some(b"\\r"), Escapes::All) => Some(b'\r'),
            (Some([b'\\', other @ (b'"' | b'\'' | b'/')]), Escapes::All) => Some(*other),
            (Some(b"\\\\"), Escapes::All | Escapes::Backslashes) => Some(b'\\'),
            _ => None,
        };
        plain.push(resolved.unwrap_or(*first));
        rest = &rest[1 + usize::from(resolved.is_some())..];
    }
    (plain.len() != anchor.len()).then_some(plain)
}

/// The character that an escape at the start of `text` names by its number, and the length of the escape: `\u003c`,
/// `\ud83d\ude00`, `\u{3c}`, `\x3c`.
fn by_number(text: &[u8]) -> Option<(char, usize)> {
    let digits = |range: std::ops::Range<usize>| {
        let digits = std::str::from_utf8(text.get(range)?).ok()?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    };
    match text {
        [b'\\', b'u', b'{', rest @ ..] => {
            let len = rest.iter().take(7).position(|byte| *byte == b'}').filter(|len| *len > 0)?;
            Some((char::from_u32(digits(3..3 + len)?)?, 4 + len))
        }
        [b'\\', b'u', ..] => {
            let unit = digits(2..6)?;
            let low = || text[6..].starts_with(b"\\u").then(|| digits(8..12))?;
            match (unit, low()) {
                (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) => {
                    Some((char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + low - 0xDC00)?, 12))
                }
                _ => Some((char::from_u32(unit)?, 6)),
            }
        }
        [b'\\', b'x', ..] => Some((char::from_u32(digits(2..4)?)?, 4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        let all = |text: &str| unescaped(text.as_bytes(), Escapes::All).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(all(r#"a\n\t\"b\\"#).as_deref(), Some("a\n\t\"b\\"));
        assert_eq!(all(r"\u003ca\u003e \u{e9} \x41 \ud83d\ude00").as_deref(), Some("<a> é A 😀"));
        assert_eq!(all("plain"), None);
        assert_eq!(all(r"\uZZZZ \u{} \u{1234567} \x4").as_deref(), None);
        assert_eq!(unescaped(br"\n\u003c", Escapes::Unicode).as_deref(), Some(&b"\\n<"[..]));
    }
}
