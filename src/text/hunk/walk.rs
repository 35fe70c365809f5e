//! Finds the end of a header's block, as far as the lines after it tell.

use super::line::{FileLine, ends_in};
use super::named;

/// Walks from a header to the end of its block: to the next line that is indented no deeper and begins another one,
/// while no brace is open and the head is complete.
#[derive(Debug, Clone)]
pub(super) struct BlockWalk<'l, 't> {
    /// The header, or the line that it describes.
    header: &'l FileLine<'t>,
    depth: usize,
    section: Option<(u8, usize)>,
    is_of_next: bool,
    has_colon: bool,
    /// The number of open brackets of the header.
    brackets: isize,
    /// The number of open braces of the header.
    open: usize,
    /// The number of open braces of deeper lines.
    deeper: usize,
    /// True if all of them are closed again, or a word has ended the block.
    is_closed: bool,
    before: &'l FileLine<'t>,
}

impl<'l, 't> BlockWalk<'l, 't> {
    pub(super) fn new(header: &'l FileLine<'t>, section: Option<(u8, usize)>) -> Self {
        let is_of_next = header.is_of_next() && section.is_none();
        let (depth, before) = (header.depth(), header);
        let (has_colon, brackets, open, deeper, is_closed) = (false, 0, 0, 0, false);
        let mut walk =
            Self { header, depth, section, is_of_next, has_colon, brackets, open, deeper, is_closed, before };
        walk.turn_to(header);
        walk
    }

    fn turn_to(&mut self, header: &'l FileLine<'t>) {
        self.header = header;
        if self.section.is_none() {
            self.has_colon = header.has_colon();
            self.brackets = header.brackets();
            self.open = header.braces().0;
        }
    }

    /// Returns whether braces determine the end of the block.
    pub(super) fn has_braces(&self) -> bool {
        self.open > 0 || self.is_closed
    }

    /// Moves on to a line that is not blank. Returns whether the block ends before it.
    pub(super) fn ends_at(&mut self, line: &'l FileLine<'t>) -> bool {
        if self.section.is_some() {
            return line.depth() <= self.depth && self.is_led(line, line);
        }
        if line.is_aside() && !self.is_ended_by(line) {
            return false;
        }
        let before = std::mem::replace(&mut self.before, line);
        if line.depth() > self.depth {
            self.is_of_next = false;
            if self.ends_head(line) && line.opens() {
                self.open += line.braces().0;
            } else {
                self.pass_deeper(line);
            }
            return false;
        }
        if self.is_of_next {
            if !line.is_of_next() {
                self.is_of_next = false;
                self.turn_to(line);
            }
            return false;
        }
        if self.goes_on_with_head(line) {
            return false;
        }
        self.deeper = 0;
        let (open, closed) = line.braces();
        self.close(closed);
        let is_block = || self.header.is_over_deeper || std::ptr::eq(before, self.header);
        if self.is_ended_by(line) && (line.names_end_of(self.header) || is_block()) {
            self.is_closed = true;
            return false;
        }
        if self.open == 0 && self.is_led(line, before) {
            return true;
        }
        self.ends_head(line);
        self.open += open;
        false
    }

    /// Returns whether a word or a tag ends the block.
    fn is_ended_by(&self, line: &FileLine<'_>) -> bool {
        self.open == 0 && line.depth() == self.depth && line.ends_word_of(self.header)
    }

    fn close(&mut self, braces: usize) {
        if self.open > 0 {
            self.open = self.open.saturating_sub(braces);
            self.is_closed |= self.open == 0;
        }
    }

    /// A deeper line may close the header's brace: alone, or after the last content.
    fn pass_deeper(&mut self, line: &FileLine<'_>) {
        let (open, closed) = line.braces();
        let of_header = closed.saturating_sub(self.deeper);
        self.deeper = self.deeper.saturating_sub(closed) + open;
        self.close(of_header);
    }

    /// Returns whether a line that closes a brace of the header continues it: `}) => {`, while a bracket is open.
    fn goes_on_with_head(&mut self, line: &FileLine<'_>) -> bool {
        let text = named(line.text);
        let goes_on = self.brackets > 0 && text.starts_with(b"}") && line.opens();
        let is_last = self.brackets + line.brackets() <= 0;
        if goes_on && (is_last || text.starts_with(b"}:")) {
            self.brackets += line.brackets();
            return true;
        }
        false
    }

    /// Returns whether this line closes the brackets that the header opened: its last sign counts as the header's.
    fn ends_head(&mut self, line: &FileLine<'_>) -> bool {
        if self.brackets <= 0 {
            return false;
        }
        self.brackets += line.brackets();
        self.has_colon |= self.brackets <= 0 && line.has_sign(b":") && !self.has_braces();
        self.brackets <= 0
    }

    /// Returns whether the next line continues `before`, which is part of the head; a deeper one is a continuation
    /// itself.
    fn is_cut(&self, before: &FileLine<'_>) -> bool {
        before.depth() <= self.depth && before.is_cut()
    }

    /// Returns whether `before`, the line before a lone brace, may be part of the head.
    fn is_of_head(&self, before: &FileLine<'_>) -> bool {
        let is_header = std::ptr::eq(before, self.header);
        is_header || before.depth() > self.depth || before.goes_on() || matches!(named(before.text)[0], b':' | b')')
    }

    /// Returns whether a line that is indented no deeper begins another block, while no brace is open.
    fn is_led(&self, line: &FileLine<'_>, before: &FileLine<'_>) -> bool {
        if let Some((sign, count)) = self.section {
            return line.section().is_some_and(|(own, more)| own == sign && more <= count);
        }
        let is_out = line.depth() < self.depth;
        let goes_on = || line.goes_on();
        let text = named(line.text);
        let Some(&first) = text.first() else { return false };
        match first {
            b'}' if line.opens() => true,
            b'}' | b')' | b']' => is_out,
            // A lone brace begins another block if that of the header is closed.
            b'{' if self.is_closed => !before.goes_on(),
            _ if self.is_closed => is_out || !goes_on(),
            _ if self.has_colon => {
                let is_item = line.is_item() && !self.header.is_item();
                let is_string = text.starts_with(b"'''") || text.starts_with(b"\"\"\"");
                let goes_on_from = self.is_cut(before) && !ends_in(before.code(), b",");
                !goes_on_from && (is_out || !(is_item || is_string || goes_on()))
            }
            _ if is_out => !line.is_label(before),
            _ if line.first_word() == self.header.first_word() => true,
            b'{' => !self.is_of_head(before),
            b'-' | b':' => false,
            b'[' if line.section().is_some() => true,
            _ if text.starts_with(b"</") || line.ends_word_of(self.header) => false,
            _ => {
                let is_led = line.is_head() || (line.is_over_deeper && self.header.is_over_deeper);
                is_led && !self.is_cut(before) && !goes_on()
            }
        }
    }
}
