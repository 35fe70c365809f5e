//! A content with every line break as a line feed, and its places mapped back to the content.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

/// A content with its CRLFs as line feeds.
pub(super) struct LfContent<'c> {
    pub(super) text: Cow<'c, [u8]>,
    /// The places in the text, ascending, of line feeds whose carriage return is left out.
    shortened: Vec<usize>,
}

impl<'c> LfContent<'c> {
    /// The content as it is.
    pub(super) const fn as_they_are(content: &'c [u8]) -> Self {
        Self { text: Cow::Borrowed(content), shortened: Vec::new() }
    }

    /// The content with line feeds only.
    pub(super) fn of(content: &'c [u8]) -> Self {
        let mut returns = memmem::find_iter(content, b"\r\n").peekable();
        if returns.peek().is_none() {
            return Self::as_they_are(content);
        }
        let (mut text, mut shortened, mut from) = (Vec::with_capacity(content.len()), Vec::new(), 0);
        for at in returns {
            text.extend_from_slice(&content[from..at]);
            shortened.push(text.len());
            from = at + 1;
        }
        text.extend_from_slice(&content[from..]);
        Self { text: Cow::Owned(text), shortened }
    }

    /// The range of the content for a range of the text; a line break is always whole.
    pub(super) fn range(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| at + self.shortened.partition_point(|feed| *feed < at);
        place(range.start)..place(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_the_text_is_one_of_the_content() {
        let content = b"a\r\n\r\nb\rc\nd\r\n";
        let lines = LfContent::of(content);
        assert_eq!(*lines.text, *b"a\n\nb\rc\nd\n");
        let there = |range: Range<usize>| &content[lines.range(&range)];
        assert_eq!(there(0..1), b"a");
        assert_eq!(there(0..2), b"a\r\n");
        assert_eq!(there(1..3), b"\r\n\r\n");
        assert_eq!(there(2..2), b"");
        assert_eq!(there(3..7), b"b\rc\n");
        assert_eq!(there(0..9), content);
    }
}
