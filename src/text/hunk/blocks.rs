//! The blocks that the headers of hunks name.

use std::collections::HashMap;
use std::ops::Range;

use super::quote::Quote;
use super::{Gone, named};
use crate::text::tolerant::is_blank;

/// Of more lines that equal a header nothing is told: each costs a look at what follows it.
const MEANT: usize = 100;

/// A line of the file as it is, or as it was before the hunks in front.
#[derive(Debug, Clone)]
struct Line<'t> {
    /// Where it stands; of one that is gone, where it stood and where what took its place ends.
    range: Range<usize>,
    text: &'t [u8],
    /// Whether a hunk put it in.
    is_new: bool,
    is_gone: bool,
}

impl<'t> Line<'t> {
    fn depth(&self) -> usize {
        self.text.len() - self.text.trim_ascii_start().len()
    }

    fn opens(&self) -> bool {
        self.text.trim_ascii_end().ends_with(b"{")
    }

    fn first_word(&self) -> Option<&'t [u8]> {
        named(self.text).split(u8::is_ascii_whitespace).next()
    }

    /// Whether it is a comment, or is for a preprocessor: both stand at any depth.
    fn is_aside(&self) -> bool {
        let text = named(self.text);
        let starts = [&b"#"[..], b"//", b"/*", b"--"];
        starts.iter().any(|start| text.starts_with(start)) && !text.starts_with(b"---")
    }

    /// Whether it says something of the line that follows, as a comment or a decorator does.
    fn is_of_next(&self) -> bool {
        named(self.text).starts_with(b"@") || self.is_aside()
    }

    /// As `# heading` or `[name]` its sign and how many there are: the lines of such a section are at its own depth.
    fn section(&self) -> Option<(u8, usize)> {
        let text = named(self.text);
        match text.first()? {
            b'#' => {
                let count = text.iter().take_while(|byte| **byte == b'#').count();
                (text.get(count) == Some(&b' ')).then_some((b'#', count))
            }
            b'[' => text.ends_with(b"]").then_some((b'[', 1)),
            _ => None,
        }
    }

    /// Whether it goes on with what the line in front of it, no deeper than the header, began.
    fn goes_on(&self, before: &Line<'_>) -> bool {
        let text = named(self.text);
        let word = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let is_cut = matches!(named(before.text).last(), Some(b',' | b'(' | b'[' | b'\\'));
        is_cut || text.starts_with(b":") || GOES_ON.contains(&&text[..word])
    }

    /// Whether another block of the header's kind begins with it.
    fn leads_like(&self, header: &Line<'_>, before: &Line<'_>) -> bool {
        if let Some((sign, count)) = header.section() {
            return self.section().is_some_and(|(own, more)| own == sign && more <= count);
        }
        let text = named(self.text);
        match text.first() {
            Some(b'}') => self.opens(),
            Some(b')' | b']') | None => false,
            Some(_) if self.first_word() == header.first_word() => true,
            Some(b'-') => false,
            Some(_) => matches!(text.last(), Some(b'{' | b'(' | b'[' | b':')) && !self.goes_on(before),
        }
    }
}

/// Words that go on with a signature or a block.
const GOES_ON: [&[u8]; 11] =
    [b"where", b"throws", b"else", b"elif", b"elsif", b"elseif", b"except", b"catch", b"finally", b"rescue", b"ensure"];

/// A text, and what hunks did to it.
pub(super) struct Blocks<'t>(Vec<Line<'t>>);

/// Where a block ends, as far as that can be told.
struct End {
    /// Where the next line begins that leads another block of the kind.
    lead: usize,
    /// The same for places, of which one may begin with that line.
    at: usize,
    /// Where lines seem to be in a string, one of which would lead another block if they are not.
    untold: Vec<Range<usize>>,
}

impl End {
    fn holds(&self, start: usize, at: usize) -> bool {
        start < at && !self.untold.iter().any(|untold| untold.contains(&start))
    }
}

/// Where headers lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Led {
    /// Not to this place: there are not as many such lines in front of it.
    Away,
    /// From these lines, the nearest in front of the place and of each other, the last header first.
    To(Vec<usize>),
    /// The same, but another block begins behind the line of that index.
    Beyond(Vec<usize>, usize),
}

impl<'t> Blocks<'t> {
    /// Those of `text`, which stands at `start`.
    pub(super) fn new(text: &'t [u8], start: usize, gone: &'t [Gone], new: &[Range<usize>]) -> Self {
        let mut lines: Vec<Line<'t>> = Vec::new();
        lines.extend(gone.iter().map(|gone| Line {
            range: gone.range.clone(),
            text: &gone.line,
            is_new: false,
            is_gone: true,
        }));
        let mut new = new.to_vec();
        new.sort_by_key(|range| range.start);
        let mut new = new.into_iter().peekable();
        let (mut at, mut new_until) = (start, 0);
        for text in text.split(|byte| *byte == b'\n') {
            while let Some(range) = new.next_if(|range| range.start <= at) {
                new_until = new_until.max(range.end);
            }
            lines.push(Line { range: at..at + text.len(), text, is_new: at < new_until, is_gone: false });
            at += text.len() + 1;
        }
        // Of the lines at one place those that are gone come first.
        lines.sort_by_key(|line| line.range.start);
        Self(lines)
    }

    /// Where the headers lead to, of the places that start there. A place belongs to the line in front of it that equals
    /// the last header, and that line to the one in front that equals the header outside of it. `None` where there are too
    /// many such lines.
    pub(super) fn led(&self, headers: &[Vec<u8>], starts: &[usize]) -> Option<Vec<Led>> {
        let equal = |header: &Vec<u8>| -> Vec<usize> {
            (0..self.0.len()).filter(|index| named(self.0[*index].text) == named(header)).collect()
        };
        let equal: Vec<Vec<usize>> = headers.iter().map(equal).collect();
        let mut ends: HashMap<usize, End> = HashMap::new();
        starts.iter().map(|start| self.led_to(*start, &equal, &mut ends)).collect()
    }

    fn led_to(&self, start: usize, equal: &[Vec<usize>], ends: &mut HashMap<usize, End>) -> Option<Led> {
        let (mut chain, mut beyond) = (Vec::new(), None);
        // The header itself may be the hunk's first line.
        let (mut inner, mut until) = (start, self.0.partition_point(|line| line.range.start <= start));
        for lines in equal.iter().rev() {
            let lines = &lines[..lines.partition_point(|index| *index < until)];
            let Some(&nearest) = lines.last() else {
                return Some(Led::Away);
            };
            let (index, holds) = self.holding((lines, nearest), inner, chain.is_empty(), ends)?;
            if !holds {
                beyond = Some(chain.len());
            }
            chain.push(index);
            (inner, until) = (self.0[index].range.start, index);
        }
        Some(match beyond {
            Some(index) => Led::Beyond(chain, index),
            None => Led::To(chain),
        })
    }

    /// Of lines that equal a header the nearest whose block holds `start`: the last one, or one that is less indented than
    /// all behind it, as an outer brace is; where none does, the `nearest`. Answers whether it holds it, and `None` where there
    /// are too many to tell.
    fn holding(
        &self,
        (lines, nearest): (&[usize], usize),
        start: usize,
        is_place: bool,
        ends: &mut HashMap<usize, End>,
    ) -> Option<(usize, bool)> {
        let mut depth = usize::MAX;
        for &index in lines.iter().rev() {
            if self.0[index].depth() >= depth {
                continue;
            }
            depth = self.0[index].depth();
            if ends.len() == MEANT && !ends.contains_key(&index) {
                return None;
            }
            let end = ends.entry(index).or_insert_with(|| self.end_of(index));
            if end.holds(start, if is_place { end.at } else { end.lead }) {
                return Some((index, true));
            }
        }
        Some((nearest, false))
    }

    /// Where the block of a header ends, in the file as it was: at the next line that is indented no deeper and leads
    /// another. Not in braces that are open, in what seems to be a string, and with what the header is about.
    fn end_of(&self, index: usize) -> End {
        let mut header = &self.0[index];
        let mut end = End { lead: usize::MAX, at: usize::MAX, untold: Vec::new() };
        let mut is_of_next = header.is_of_next() && header.section().is_none();
        let (mut quote, mut doubt) = (Quote::default(), None);
        quote.read(header.text);
        let (mut open, mut is_closed, mut before) = (usize::from(header.opens()), false, header);
        let mut comment = header.section().filter(|(sign, _)| *sign == b'#').map(|_| index);
        for (at, line) in self.0.iter().enumerate().skip(index + 1) {
            if line.is_new || is_blank(line.text) {
                continue;
            }
            // A comment of several lines is one.
            if comment.is_some_and(|last| last + 1 == at) && line.section() == self.0[index].section() {
                comment = Some(at);
                continue;
            }
            let is_quoted = quote.is_open();
            if is_quoted || !line.is_aside() {
                quote.read(line.text);
            }
            if !quote.is_open() {
                end.untold.extend(doubt.take().map(|from| from..line.range.start));
            }
            let is_aside = line.is_aside() && header.section().is_none();
            if line.depth() > self.0[index].depth() || is_aside && !is_quoted {
                before = line;
                is_of_next &= is_aside;
                continue;
            }
            if is_quoted {
                if open == 0 && line.leads_like(header, line) {
                    doubt = doubt.or(Some(line.range.start + 1));
                }
                continue;
            }
            if is_of_next {
                if !line.is_of_next() {
                    (is_of_next, header, open) = (false, line, usize::from(line.opens()));
                }
                before = line;
                continue;
            }
            let first = named(line.text)[0];
            if first == b'}' && open > 0 {
                open -= 1;
                is_closed |= open == 0;
            }
            // A brace alone begins another block where that of the header is closed.
            let is_lead = match first {
                b'{' if header.section().is_none() => is_closed && !before.goes_on(header),
                _ => line.leads_like(header, before),
            };
            if open == 0 && is_lead {
                end.lead = line.range.start;
                // One that is gone is no line of a hunk.
                end.at = line.range.start + usize::from(!line.is_gone);
                return end;
            }
            open += usize::from(line.opens());
            before = line;
        }
        // A string that does not end is none.
        end.untold.extend(doubt.map(|from| from..usize::MAX));
        end
    }
}
