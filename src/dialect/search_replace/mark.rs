//! Lines that look like those of a block but are invalid: what they start would not be applied.

use super::name;
use crate::dialect::fence::Fences;
use crate::dialect::{Format, excerpt, foreign, malformed};
use crate::error::Result;

const WORDS: [&str; 4] = ["SEARCH", "REPLACE", "ORIGINAL", "UPDATED"];

/// Refuses a line around the blocks that starts something which would not be applied.
pub(super) fn check_passed(lines: &[&[u8]], at: usize, fences: &Fences) -> Result<()> {
    if is_like_a_mark(lines[at]) {
        let expected = format!(
            "`<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, each at the start of a line and with 5 to 9 signs, not {}",
            excerpt(lines[at])
        );
        return Err(malformed(at + 1, 1, expected));
    }
    let next = lines.get(at + 1).copied().unwrap_or_default();
    foreign::check(Format::SearchReplace, lines[at], next, at + 1, fences)
}

/// Refuses an answer that ends with the name of a file, or with the first signs of a block: the rest was cut off.
pub(super) fn check_end(lines: &[&[u8]]) -> Result<()> {
    let Some(at) = lines.iter().rposition(|line| !line.trim_ascii().is_empty()) else { return Ok(()) };
    let last = lines[at];
    if last.iter().all(|byte| *byte == b'<') || name::is_alone(last) {
        return Err(malformed(at + 1, 1, format!("a block after {}: send the whole answer", excerpt(last))));
    }
    Ok(())
}

/// Returns whether a line resembles the first or the last one of a block but is not valid: other words, another number
/// of signs, something before or after it.
fn is_like_a_mark(line: &[u8]) -> bool {
    let line = without_front(line);
    let Some(sign) = line.first() else { return false };
    let signs = line.iter().take_while(|byte| *byte == sign).count();
    let text = without_blanks(&line[signs..]);
    let is_word = |word: &&str| {
        let rest = text.strip_prefix(word.as_bytes());
        rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
            || text.eq_ignore_ascii_case(word.as_bytes())
    };
    let is_known = signs >= 3 && WORDS.iter().any(is_word);
    match sign {
        b'<' | b'>' => is_known || signs >= 5,
        b'-' | b'+' => is_known,
        _ => false,
    }
}

/// A line without what can precede a mark: blanks of any kind, quotation marks of mail, a line number, and signs of
/// Markdown.
fn without_front(line: &[u8]) -> &[u8] {
    let mut rest = line;
    loop {
        rest = without_blanks(rest);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest = match rest {
            [b'>', b' ', tail @ ..] | [b'*' | b'`' | b'_', tail @ ..] => tail,
            _ if digits > 0 => match without_blanks(&rest[digits..]) {
                [b'|' | b':', tail @ ..] => tail,
                _ => return rest,
            },
            _ => return rest,
        };
    }
}

/// A text without blanks at its ends, including those beyond ASCII.
fn without_blanks(text: &[u8]) -> &[u8] {
    const BLANKS: [&[u8]; 3] = ["\u{a0}".as_bytes(), "\u{200b}".as_bytes(), "\u{feff}".as_bytes()];
    let mut rest = text.trim_ascii();
    while let Some(tail) = BLANKS.iter().find_map(|blank| rest.strip_prefix(*blank)) {
        rest = tail.trim_ascii();
    }
    rest
}
