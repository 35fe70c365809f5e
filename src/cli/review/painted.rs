//! Lines of a diff as a terminal may show them: in colour, and with nothing in them that a terminal would obey.

use std::fmt::Write as _;
use std::ops::Range;

use anstyle::{AnsiColor, Effects, Style};

use crate::cli::output::{GOOD, NOTE, count, styled};
use crate::limits;
use crate::path::is_escaped;

/// Lines that are removed.
const GONE: Style = AnsiColor::Red.on_default();

/// What a line is in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PaintedKind {
    Same,
    Gone,
    New,
}

impl PaintedKind {
    const fn sign(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Gone => '-',
            Self::New => '+',
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Same => Style::new(),
            Self::Gone => GONE,
            Self::New => GOOD,
        }
    }
}

/// Lines that are painted one after the other, up to a number.
#[derive(Debug, Default)]
pub(super) struct PaintedLines {
    text: String,
    lines: usize,
    /// True if every line ends as on other systems, so that this is no difference.
    pub(super) is_crlf: bool,
}

impl PaintedLines {
    /// Adds a line as it is.
    pub(super) fn heading(&mut self, heading: impl std::fmt::Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{heading}");
    }

    /// Adds the lines of a content; those places of it stand out.
    pub(super) fn lines(&mut self, kind: PaintedKind, content: &[u8], places: &[Range<usize>]) {
        let (mut start, mut places) = (0, places.iter().peekable());
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            let end = start + line.len();
            let mut own = Vec::new();
            while let Some(place) = places.next_if(|place| place.start < end) {
                own.push(place.start.max(start) - start..place.end.min(end) - start);
            }
            self.line(kind, line, &own);
            start = end;
        }
    }

    fn line(&mut self, kind: PaintedKind, line: &[u8], places: &[Range<usize>]) {
        self.lines += 1;
        if self.lines > limits::REVIEWED_LINES {
            return;
        }
        let body = line.strip_suffix(b"\n");
        let shown = body.unwrap_or(line);
        let shown = if self.is_crlf { shown.strip_suffix(b"\r").unwrap_or(shown) } else { shown };
        let style = kind.style();
        let _ = write!(self.text, "{}", styled(style, kind.sign()));
        let (mut at, mut room) = (0, limits::REVIEWED_CHARS);
        for place in places.iter().map(|place| place.start..place.end.min(shown.len())).filter(|it| !it.is_empty()) {
            self.piece(&shown[at..place.start], style, &mut room);
            self.piece(&shown[place.clone()], style.effects(Effects::INVERT), &mut room);
            at = place.end;
        }
        self.piece(&shown[at..], style, &mut room);
        self.text.push('\n');
        if body.is_none() {
            self.heading("\\ No newline at end of file");
        }
    }

    /// Adds a part of a line in a style. What a terminal would obey, and what is no text, is written as an escape, and looks
    /// like none of the text.
    fn piece(&mut self, bytes: &[u8], style: Style, room: &mut usize) {
        if bytes.is_empty() || *room == 0 {
            return;
        }
        let _ = write!(self.text, "{}", style.render());
        let escape = |text: &mut String, escaped: &dyn std::fmt::Display| {
            let _ = write!(text, "{}{}{escaped}", style.render_reset(), NOTE.render());
            let _ = write!(text, "{}{}", NOTE.render_reset(), style.render());
        };
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars().take(*room) {
                match c {
                    '\t' => self.text.push(c),
                    c if is_escaped(c) => escape(&mut self.text, &c.escape_default()),
                    c => self.text.push(c),
                }
            }
            *room = room.saturating_sub(chunk.valid().chars().count());
            for byte in chunk.invalid().iter().take(*room) {
                escape(&mut self.text, &format_args!("\\x{byte:02x}"));
            }
            *room = room.saturating_sub(chunk.invalid().len());
        }
        let _ = write!(self.text, "{}", style.render_reset());
        if *room == 0 {
            let _ = write!(self.text, "{}", styled(NOTE, "…"));
        }
    }

    /// The text, with the number of the lines that are not in it.
    pub(super) fn end(mut self) -> String {
        let left = self.lines.saturating_sub(limits::REVIEWED_LINES);
        if left > 0 {
            self.heading(styled(NOTE, format!("… {} not shown", count(left, "more line"))));
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(painted: PaintedLines) -> String {
        anstream::adapter::strip_str(&painted.end()).to_string()
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_as_an_escape() {
        let mut painted = PaintedLines::default();
        painted.lines(PaintedKind::New, b"\x1b]0;x\x07\ta\xffb\r\n\xe2\x80\xaec", &[]);
        let text = painted.end();
        assert_eq!(
            anstream::adapter::strip_str(&text).to_string(),
            "+\\u{1b}]0;x\\u{7}\ta\\xffb\\r\n+\\u{202e}c\n\\ No newline at end of file\n"
        );
        // The only escapes are those of colours.
        assert!(text.split('\x1b').skip(1).all(|rest| rest.starts_with('[') && rest.contains('m')), "{text:?}");
    }

    #[test]
    fn places_stand_out_and_common_ends_of_lines_do_not() {
        let mut painted = PaintedLines { is_crlf: true, ..PaintedLines::default() };
        painted.lines(PaintedKind::Gone, b"let a = 1;\r\nlet b;\r\n", &[4..5, 16..17]);
        let text = painted.end();
        assert!(text.contains("\x1b[7m") && text.contains("\x1b[31m"), "{text:?}");
        let words: Vec<&str> = text.split("\x1b[7m").skip(1).map(|rest| &rest[rest.find('m').unwrap() + 1..]).collect();
        assert!(words[0].starts_with("a\x1b") && words[1].starts_with("b\x1b"), "{words:?}");
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "-let a = 1;\n-let b;\n");
    }

    #[test]
    fn long_lines_and_many_are_cut_and_that_is_said() {
        let mut painted = PaintedLines::default();
        painted.lines(PaintedKind::Same, "é".repeat(3000).as_bytes(), &[]);
        let text = plain(painted);
        assert_eq!(text.lines().next().unwrap().chars().count(), limits::REVIEWED_CHARS + 2);
        let mut painted = PaintedLines::default();
        painted.lines(PaintedKind::New, &b"a\n".repeat(502), &[]);
        assert!(plain(painted).ends_with("+a\n… 2 more lines not shown\n"));
    }
}
