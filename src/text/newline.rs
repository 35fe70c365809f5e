//! Line breaks: LF and CRLF. A lone carriage return is not a line break.
//!
//! A replacement takes the line ending of the text that it replaces, whatever its own. The engine cannot tell a caller
//! who wants other line endings from one who does not know the file's, and the second is far more frequent. To change
//! line endings, write the whole content, or use a range edit, whose replacement is used as written.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

/// A kind of line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Lf,
    CrLf,
}

impl Ending {
    pub(super) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// The line breaks of `text` in order, each with its range.
pub(super) fn breaks(text: &[u8]) -> impl Iterator<Item = (Range<usize>, Ending)> {
    memchr_iter(b'\n', text).map(|at| {
        if at > 0 && text[at - 1] == b'\r' { (at - 1..at + 1, Ending::CrLf) } else { (at..at + 1, Ending::Lf) }
    })
}

/// `replacement` with the line endings of the text in `range` of `text`, or else those of its line, or of the line
/// before.
pub(crate) fn in_place_of<'r>(text: &[u8], range: &Range<usize>, replacement: &'r [u8]) -> Cow<'r, [u8]> {
    if memchr(b'\n', replacement).is_none() {
        return Cow::Borrowed(replacement);
    }
    let ending = |feed: usize| if feed > 0 && text[feed - 1] == b'\r' { Ending::CrLf } else { Ending::Lf };
    let replaced: Vec<Ending> = breaks(&text[range.clone()]).map(|(_, ending)| ending).collect();
    let behind = || memchr(b'\n', &text[range.end..]).map(|feed| range.end + feed);
    let nearby = || behind().or_else(|| memrchr(b'\n', &text[..range.start])).map(ending);
    convert(replacement, &replaced, if replaced.is_empty() { nearby() } else { None })
}

/// The texts between the line breaks of `text`: one more than there are breaks.
pub(super) fn segments(text: &[u8]) -> Vec<&[u8]> {
    let mut list = Vec::new();
    let mut from = 0;
    for (range, _) in breaks(text) {
        list.push(&text[from..range.start]);
        from = range.end;
    }
    list.push(&text[from..]);
    list
}

/// `replacement` with the line endings of the text it replaces.
///
/// `replaced` has the endings in that text. Several kinds are kept break by break if the replacement has as many, else
/// the first decides. Without any, `nearby` is the usual ending there, if there is one.
pub(super) fn convert<'a>(replacement: &'a [u8], replaced: &[Ending], nearby: Option<Ending>) -> Cow<'a, [u8]> {
    let Some(usual) = replaced.first().copied().or(nearby) else { return Cow::Borrowed(replacement) };
    let count = memchr_iter(b'\n', replacement).count();
    let wanted = |index: usize| if count == replaced.len() { replaced[index] } else { usual };
    if breaks(replacement).enumerate().all(|(index, (_, ending))| ending == wanted(index)) {
        return Cow::Borrowed(replacement);
    }
    let mut text = Vec::with_capacity(replacement.len() + count);
    for (index, segment) in segments(replacement).into_iter().enumerate() {
        if index > 0 {
            text.extend_from_slice(wanted(index - 1).bytes());
        }
        text.extend_from_slice(segment);
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ending::{CrLf, Lf};

    #[test]
    fn a_lone_carriage_return_is_no_break() {
        assert_eq!(segments(b"a\rb\r\r\nc\n"), [&b"a\rb\r"[..], b"c", b""]);
        assert_eq!(breaks(b"a\rb\r\nc\n").map(|b| b.1).collect::<Vec<_>>(), [CrLf, Lf]);
    }

    #[test]
    fn replacements_follow_the_text_they_replace() {
        assert_eq!(*convert(b"x\ny\n", &[CrLf], None), *b"x\r\ny\r\n");
        assert_eq!(*convert(b"x\r\ny", &[Lf], None), *b"x\ny");
        assert_eq!(*convert(b"x\ny\n", &[Lf, CrLf], None), *b"x\ny\r\n", "as many breaks: one by one");
        assert_eq!(*convert(b"x\ny\n\n", &[CrLf, Lf], None), *b"x\r\ny\r\n\r\n", "else the first");
        assert_eq!(*convert(b"x\ny", &[], Some(CrLf)), *b"x\r\ny");
        assert_eq!(*convert(b"x\r\ny\n", &[], None), *b"x\r\ny\n", "nothing to follow: as written");
    }
}
