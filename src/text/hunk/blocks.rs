//! The blocks that the headers of hunks name.

use std::ops::Range;

use super::quote::Quote;
use super::{Gone, named};
use crate::text::tolerant::is_blank;

/// More lines that a header may mean tell nothing.
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

    fn is_label(&self) -> bool {
        let text = named(self.text);
        let word = text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        word > 0 && text[word..].starts_with(b":") && matches!(text.get(word + 1), None | Some(b' '))
    }

    /// Whether it looks as if a block began with it, as one does with `header`.
    fn leads_like(&self, header: &Line<'_>) -> bool {
        let text = named(self.text);
        match text.first() {
            Some(b'{') => true,
            Some(b'}') => self.opens(),
            Some(b')' | b']') | None => false,
            Some(_) => {
                matches!(text.last(), Some(b'{' | b'(' | b'[' | b':')) || self.first_word() == header.first_word()
            }
        }
    }
}

/// A text, and what hunks did to it.
pub(super) struct Blocks<'t>(Vec<Line<'t>>);

/// Where a block ends, as far as that can be told.
struct End {
    /// Behind the start of the next line that is no deeper than the header and no part of the block: a hunk may begin
    /// with that line.
    at: usize,
    /// The next that leads another block: up to it, what is deeper may still be part of this one.
    next: usize,
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

    /// Those of `starts` that the headers lead to: those in the header's own block, or where there is none, those behind
    /// it.
    pub(super) fn beneath(&self, headers: &[Vec<u8>], starts: &[usize]) -> Vec<usize> {
        let (last, outer) = headers.split_last().expect("only asked with headers");
        let mut from = 0;
        for header in outer {
            // Of an outer header the first one counts; the last must then be told apart by what follows.
            match self.0[from..].iter().position(|line| named(line.text) == named(header)) {
                Some(found) => from += found + 1,
                None => return Vec::new(),
            }
        }
        let is_named = |index: &usize| named(self.0[*index].text) == named(last);
        let meant: Vec<usize> = (from..self.0.len()).filter(is_named).take(MEANT).collect();
        let (mut inside, mut behind) = (Vec::new(), Vec::new());
        for index in &meant {
            // The header itself may be the hunk's first line.
            let after = self.0[*index].range.start;
            behind.extend(starts.iter().copied().filter(|start| *start >= after));
            let end = self.end_of(*index);
            let depth = self.0[*index].depth();
            let is_inside = |start: &usize| {
                (after..end.at).contains(start) || (after..end.next).contains(start) && self.depth_at(*start) > depth
            };
            inside.extend(starts.iter().copied().filter(is_inside));
        }
        let mut beneath = if inside.is_empty() || meant.len() == MEANT { behind } else { inside };
        beneath.sort_unstable();
        beneath.dedup();
        beneath
    }

    /// How deep the first line from `start` on is that is not blank.
    fn depth_at(&self, start: usize) -> usize {
        let index = self.0.partition_point(|line| line.range.start < start);
        self.0[index..].iter().find(|line| !is_blank(line.text)).map_or(0, Line::depth)
    }

    /// Where the block of a header ends, in the file as it was: at the next line that is indented no deeper, or where
    /// there are braces, at the one that closes it.
    fn end_of(&self, index: usize) -> End {
        let header = &self.0[index];
        let mut quote = Quote::default();
        quote.read(header.text);
        let mut open = usize::from(header.opens());
        let mut end = None;
        for line in self.0[index + 1..].iter().filter(|line| !line.is_new && !is_blank(line.text)) {
            let is_quoted = quote.is_open();
            if is_quoted || !line.is_aside() {
                quote.read(line.text);
            }
            if is_quoted || line.depth() > header.depth() {
                continue;
            }
            if line.is_aside() && !header.is_aside() || line.is_label() && !header.is_label() {
                continue;
            }
            let first = named(line.text)[0];
            if first == b'}' {
                open = open.saturating_sub(1);
            }
            if open == 0 && !matches!(first, b'{' | b'(' | b')' | b']') {
                end = end.or(Some(line.range.start + usize::from(!line.is_gone)));
            }
            if let Some(at) = end {
                if line.leads_like(header) {
                    return End { at, next: line.range.start };
                }
            } else if line.opens() {
                open += 1;
            }
        }
        End { at: end.unwrap_or(usize::MAX), next: usize::MAX }
    }
}
