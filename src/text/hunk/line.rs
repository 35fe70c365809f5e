//! Where the block of a line ends, as far as the lines behind it tell that.

use std::ops::Range;

use memchr::memchr_iter;

use super::named;

/// A line of the file as it is, or as it was before the hunks in front.
#[derive(Debug, Clone, Default)]
pub(super) struct Line<'t> {
    /// Where it stands; of one that is gone, where it stood and where what took its place ends.
    pub(super) range: Range<usize>,
    pub(super) text: &'t [u8],
    /// Whether a hunk put it in.
    pub(super) is_new: bool,
    pub(super) is_gone: bool,
    /// The next line of the file as it was.
    pub(super) beneath: &'t [u8],
    /// Whether the next one with text, comments aside, is indented deeper.
    pub(super) is_over_deeper: bool,
}

/// Words that go on with a signature or a block.
const GOES_ON: [&[u8]; 14] = [
    b"where", b"throws", b"else", b"elif", b"elsif", b"elseif", b"except", b"catch", b"finally", b"rescue", b"ensure",
    b"when", b"then", b"do",
];

/// Words that end a block.
const ENDS: [&[u8]; 7] = [b"end", b"endfunction", b"endmodule", b"endcase", b"fi", b"done", b"esac"];

/// Words of a Makefile that are for what reads it first.
const CONDITIONS: [&[u8]; 5] = [b"ifdef", b"ifndef", b"ifeq", b"ifneq", b"endif"];

impl<'t> Line<'t> {
    pub(super) fn depth(&self) -> usize {
        self.text.len() - self.text.trim_ascii_start().len()
    }

    /// It without a comment at its end.
    fn code(&self) -> &'t [u8] {
        let mut text = named(self.text);
        let is_blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        for (at, _) in text.windows(2).enumerate().filter(|(_, pair)| pair[0].is_ascii_whitespace()) {
            let (code, rest) = (text[..at].trim_ascii_end(), &text[at + 1..]);
            // `a #b {` is a selector, and a sign between quotes begins no comment.
            let is_head = ends_in(code, b"{:([]");
            let is_paired = |sign: u8| memchr_iter(sign, code).count().is_multiple_of(2);
            let is_comment = rest.starts_with(b"//") || (rest[0] == b'#' && (is_head || is_blank(rest.get(1))));
            if is_comment && (is_head || (is_paired(b'"') && is_paired(b'\''))) {
                text = code;
                break;
            }
        }
        let begin = |text: &[u8]| text.windows(2).rposition(|pair| pair == b"/*");
        while let Some(at) = text.strip_suffix(b"*/").and_then(begin) {
            text = text[..at].trim_ascii_end();
        }
        text
    }

    fn opens(&self) -> bool {
        self.code().ends_with(b"{")
    }

    /// Whether it has a sign at its end, with what seems to be a comment or without.
    fn has_sign(&self, signs: &[u8]) -> bool {
        ends_in(self.code(), signs) || ends_in(named(self.text), signs)
    }

    /// Whether a sign tells that it leads a block.
    pub(super) fn is_head(&self) -> bool {
        self.has_sign(b"{([:")
    }

    fn first_word(&self) -> Option<&'t [u8]> {
        named(self.text).split(u8::is_ascii_whitespace).next()
    }

    /// Whether it is one of these words, or begins with one.
    fn begins_with(&self, words: &[&[u8]]) -> bool {
        let text = named(self.text);
        let len = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        words.contains(&&text[..len])
    }

    /// Whether it is a comment, or is for a preprocessor: both stand at any depth.
    pub(super) fn is_aside(&self) -> bool {
        let text = named(self.text);
        let starts = [&b"#"[..], b"//", b"/*", b"--"];
        starts.iter().any(|start| text.starts_with(start)) && !text.starts_with(b"---") || self.begins_with(&CONDITIONS)
    }

    /// Whether it says something of the line that follows, as a comment or a decorator does.
    fn is_of_next(&self) -> bool {
        named(self.text).starts_with(b"@") || self.is_aside()
    }

    /// As `# heading` or `[name]` its sign and how many there are: the lines of such a section are at its own depth. A
    /// heading may be underlined instead.
    pub(super) fn section(&self) -> Option<(u8, usize)> {
        let (text, beneath) = (named(self.text), named(self.beneath));
        let is_underlined = beneath.len() >= text.len().max(3) && beneath.iter().all(|byte| *byte == beneath[0]);
        match beneath.first() {
            Some(b'=') if is_underlined => return Some((b'#', 1)),
            Some(b'-') if is_underlined && beneath != b"---" => return Some((b'#', 2)),
            _ => {}
        }
        match text.first()? {
            b'#' => {
                let count = text.iter().take_while(|byte| **byte == b'#').count();
                (text.get(count) == Some(&b' ')).then_some((b'#', count))
            }
            b'[' => {
                let rest = text.rsplit(|byte| *byte == b']').next()?.trim_ascii_start();
                let is_name = rest.len() < text.len() && (rest.is_empty() || matches!(rest[0], b'#' | b';'));
                (is_name || self.code().ends_with(b"]")).then_some((b'[', 1))
            }
            _ => None,
        }
    }

    /// An item of a list.
    fn is_item(&self) -> bool {
        self.first_word() == Some(b"-")
    }

    /// Whether its block is what is indented deeper, as in Python, YAML or a Makefile.
    fn has_colon(&self) -> bool {
        let code = self.code();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./%$ \t".contains(byte);
        let name = code.windows(2).position(|pair| pair == b": ").map(|at| &code[..at]);
        let is_named = || self.is_over_deeper && name.is_some_and(|name| name.iter().all(is_name));
        let has_word = || self.first_word().is_some_and(|word| word.ends_with(b":"));
        !self.opens() && (self.has_sign(b":") || has_word() || is_named())
    }

    /// How many brackets it leaves open.
    fn brackets(&self) -> isize {
        let of = |byte: &u8| match byte {
            b'(' | b'[' => 1,
            b')' | b']' => -1,
            _ => 0,
        };
        self.code().iter().map(of).sum()
    }

    /// Whether the next line goes on with what it began.
    fn is_cut(&self) -> bool {
        let is_closing = named(self.text).first().is_some_and(|byte| b"}])".contains(byte));
        ends_in(self.code(), if is_closing { b"([\\" } else { b",([\\" })
    }
}

fn ends_in(text: &[u8], signs: &[u8]) -> bool {
    text.last().is_some_and(|last| signs.contains(last))
}

/// Goes from a header to where its block ends: at the next line that is indented no deeper and leads another. Not in
/// braces that are open, and with what the header is about.
#[derive(Debug, Clone)]
pub(super) struct Walk<'l, 't> {
    /// The header, or what it is about.
    header: &'l Line<'t>,
    depth: usize,
    section: Option<(u8, usize)>,
    is_of_next: bool,
    has_colon: bool,
    /// How many brackets of the header are open.
    brackets: isize,
    /// How many braces are.
    open: usize,
    /// Whether all that were are closed again.
    is_closed: bool,
    before: &'l Line<'t>,
}

impl<'l, 't> Walk<'l, 't> {
    pub(super) fn new(header: &'l Line<'t>, section: Option<(u8, usize)>) -> Self {
        let is_of_next = header.is_of_next() && section.is_none();
        let (depth, before) = (header.depth(), header);
        let (has_colon, brackets, open, is_closed) = (false, 0, 0, false);
        let mut walk = Self { header, depth, section, is_of_next, has_colon, brackets, open, is_closed, before };
        walk.turn_to(header);
        walk
    }

    fn turn_to(&mut self, header: &'l Line<'t>) {
        self.header = header;
        if self.section.is_none() {
            self.has_colon = header.has_colon();
            self.brackets = header.brackets();
            self.open = usize::from(header.opens());
        }
    }

    /// Whether braces tell where the block ends.
    pub(super) fn has_braces(&self) -> bool {
        self.open > 0 || self.is_closed
    }

    /// Goes on to a line that is not blank. Answers whether the block ends in front of it.
    pub(super) fn ends_at(&mut self, line: &'l Line<'t>) -> bool {
        if self.section.is_some() {
            return line.depth() <= self.depth && self.is_led(line, line);
        }
        if line.is_aside() {
            return false;
        }
        let before = std::mem::replace(&mut self.before, line);
        if line.depth() > self.depth {
            self.is_of_next = false;
            self.open += usize::from(self.ends_head(line) && line.opens());
            return false;
        }
        if self.is_of_next {
            if !line.is_of_next() {
                self.is_of_next = false;
                self.turn_to(line);
            }
            return false;
        }
        if named(line.text).starts_with(b"}") && self.open > 0 {
            self.open -= 1;
            self.is_closed |= self.open == 0;
        }
        if self.open == 0 && self.is_led(line, before) {
            return true;
        }
        self.ends_head(line);
        self.open += usize::from(line.opens());
        false
    }

    /// Whether the brackets that the header opened are closed with this line: what it ends in counts as the header's.
    fn ends_head(&mut self, line: &Line<'_>) -> bool {
        if self.brackets <= 0 {
            return false;
        }
        self.brackets += line.brackets();
        self.has_colon |= self.brackets <= 0 && line.has_sign(b":") && !self.has_braces();
        self.brackets <= 0
    }

    /// Whether another block begins with a line that is indented no deeper, where no brace is open.
    fn is_led(&self, line: &Line<'_>, before: &Line<'_>) -> bool {
        if let Some((sign, count)) = self.section {
            return line.section().is_some_and(|(own, more)| own == sign && more <= count);
        }
        let is_out = line.depth() < self.depth;
        let goes_on = || line.begins_with(&GOES_ON);
        let text = named(line.text);
        match text.first() {
            Some(b'}') if line.opens() => true,
            Some(b'}' | b')' | b']') => is_out && (self.is_closed || self.has_colon),
            // A brace alone begins another block where that of the header is closed.
            Some(b'{') if self.is_closed => !before.begins_with(&GOES_ON),
            Some(b'{') => is_out && self.has_colon,
            Some(_) if self.is_closed => is_out || !goes_on(),
            Some(_) if self.has_colon => {
                let is_item = line.is_item() && !self.header.is_item();
                let is_string = text.starts_with(b"'''") || text.starts_with(b"\"\"\"");
                let goes_on_from = before.is_cut() && !ends_in(before.code(), b",");
                !goes_on_from && (is_out || !(is_item || is_string || goes_on()))
            }
            Some(_) if line.first_word() == self.header.first_word() => true,
            None | Some(b'-' | b':') => false,
            Some(_) if text.starts_with(b"</") || line.begins_with(&ENDS) => false,
            Some(_) => {
                let is_led = line.is_head() || (line.is_over_deeper && self.header.is_over_deeper);
                is_led && !before.is_cut() && !goes_on()
            }
        }
    }
}
