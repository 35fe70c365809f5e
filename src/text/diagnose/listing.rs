//! Line numbers in front of lines, as listings and searches print them.

/// `anchor` without the line numbers of a listing, if each of its lines has one and they count up.
///
/// Up to `blanks` blanks after a `:` or `|` belong to the listing. A search prints the path before each number.
pub(super) fn without_line_numbers(anchor: &[u8], blanks: usize) -> Option<Vec<u8>> {
    let whole = anchor.strip_suffix(b"\n");
    let mut bare = Vec::with_capacity(anchor.len());
    let mut previous: Option<u64> = None;
    let mut is_listing = false;
    for line in whole.unwrap_or(anchor).split(|byte| *byte == b'\n') {
        let (number, rest) = line_number(line, blanks)?;
        if previous.is_some_and(|previous| number != previous + 1) {
            return None;
        }
        if previous.is_some() {
            bare.push(b'\n');
        }
        previous = Some(number);
        // In a listing, an empty line may be just its number.
        is_listing |= rest.is_some();
        bare.extend_from_slice(rest.unwrap_or_default());
    }
    if whole.is_some() {
        bare.push(b'\n');
    }
    is_listing.then_some(bare)
}

/// The number at the start of a line, and the text after its separator, if there is one.
fn line_number(line: &[u8], blanks: usize) -> Option<(u64, Option<&[u8]>)> {
    let text = line.trim_ascii_start();
    let text = text.strip_prefix(b"L").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return after_path(text).and_then(|text| line_number(text, blanks)).filter(|(_, rest)| rest.is_some());
    }
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    let rest = &text[digits..];
    for separator in ["\t", "\u{2192}"] {
        if let Some(rest) = rest.strip_prefix(separator.as_bytes()) {
            return Some((number, Some(rest)));
        }
    }
    let unpadded = &rest[rest.iter().take_while(|byte| **byte == b' ').count()..];
    for (rest, separator) in [(rest, ":"), (rest, "-"), (unpadded, "|"), (unpadded, "\u{2502}")] {
        if let Some(rest) = rest.strip_prefix(separator.as_bytes()) {
            return Some((number, Some(&rest[rest.iter().take(blanks).take_while(|byte| **byte == b' ').count()..])));
        }
    }
    unpadded.is_empty().then_some((number, None))
}

/// What comes after the path of a file and a `:` or `-`, where a number follows.
fn after_path(text: &[u8]) -> Option<&[u8]> {
    let word = text.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let is_end = |at: &usize| matches!(text[*at], b':' | b'-') && text.get(at + 1).is_some_and(u8::is_ascii_digit);
    let end = (1..word).find(is_end)?;
    text[..end].iter().any(|byte| matches!(byte, b'.' | b'/')).then(|| &text[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_listings_and_searches_are_taken_away() {
        let bare = |text: &str| without_line_numbers(text.as_bytes(), 0).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(bare("src/a.rs:9:x\nsrc/a.rs:10: y").as_deref(), Some("x\n y"));
        assert_eq!(bare("src/a-1.rs-9-x\nsrc/a-1.rs-10-y"), None, "where the path ends is not certain");
        assert_eq!(bare("src/a.rs-9-x\nsrc/a.rs:10:y\n").as_deref(), Some("x\ny\n"));
        assert_eq!(bare("9:x\n10-y").as_deref(), Some("x\ny"));
        assert_eq!(bare("L9: x\nL10: y").as_deref(), Some(" x\n y"));
        assert_eq!(bare("9:x\n11:y"), None);
        assert_eq!(bare("std::x:9:x"), None);
    }
}
