//! Finds the blocks that the headers of hunks name.

use std::collections::HashMap;
use std::ops::Range;

use super::line::FileLine;
use super::quote::Quote;
use super::walk::BlockWalk;
use super::{Gone, named};
use crate::text::tolerant::is_blank;

/// The most lines equal to a header; with more, no block is determined: each needs a search of the lines after it.
const MEANT: usize = 100;

/// The sign of a comment, which is also that of a heading.
const COMMENT: (u8, usize) = (b'#', 1);

/// The lines of a text, with the changes that hunks made to it.
pub(super) struct Blocks<'t>(Vec<FileLine<'t>>);

/// The end of a block, as far as it can be determined.
struct BlockEnd {
    /// The start of the next line that begins another block of the kind.
    lead: usize,
    /// The end for places whose first line stays: one may begin with that line.
    at: usize,
    /// The end for places whose first line is removed: comments before the next block belong to that block.
    border: usize,
    /// Ranges that seem to be in a string; if they are not, one of their lines begins another block.
    untold: Vec<Range<usize>>,
}

/// The thing that is searched in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockPart {
    /// A place whose first line stays, or that has none.
    Staying,
    /// A place whose first line is removed.
    Going,
    /// A header of a nested block.
    Header,
}

impl BlockEnd {
    fn holds(&self, start: usize, sought: BlockPart) -> bool {
        let end = match sought {
            BlockPart::Staying => self.at,
            BlockPart::Going => self.border,
            BlockPart::Header => self.lead,
        };
        start < end && !self.untold.iter().any(|untold| untold.contains(&start))
    }
}

/// The relation of headers to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Led {
    /// They do not lead to it: there are not enough such lines before it.
    Away,
    /// They lead to it from these lines, the nearest before the place and before each other, the last header first.
    To(Vec<usize>),
    /// The same, but another block begins after the line of that index.
    Beyond(Vec<usize>, usize),
}

impl<'t> Blocks<'t> {
    /// The lines of `text`, which starts at `start`.
    pub(super) fn new(text: &'t [u8], start: usize, gone: &'t [Gone], new: &[Range<usize>]) -> Self {
        let mut lines: Vec<FileLine<'t>> = Vec::new();
        let line = |range, text, is_new, is_gone| FileLine { range, text, is_new, is_gone, ..FileLine::default() };
        lines.extend(gone.iter().map(|gone| line(gone.range.clone(), &gone.line, false, true)));
        let mut new = new.to_vec();
        new.sort_by_key(|range| range.start);
        let mut new = new.into_iter().peekable();
        let (mut at, mut new_until) = (start, 0);
        for text in text.split(|byte| *byte == b'\n') {
            while let Some(range) = new.next_if(|range| range.start <= at) {
                new_until = new_until.max(range.end);
            }
            lines.push(line(at..at + text.len(), text, at < new_until, false));
            at += text.len() + 1;
        }
        // Of the lines at one place, removed ones come first.
        lines.sort_by_key(|line| line.range.start);
        let (mut beneath, mut depth) = (&b""[..], 0);
        for line in lines.iter_mut().rev().filter(|line| !line.is_new) {
            line.beneath = beneath;
            line.is_over_deeper = depth > line.depth();
            beneath = line.text;
            if !is_blank(line.text) && !line.is_aside() {
                depth = line.depth();
            }
        }
        Self(lines)
    }

    /// The relation of the headers to each place in `starts`. A place belongs to the nearest line before it that equals
    /// the last header, and that line to the nearest before it that equals the next outer header. `None` if there are
    /// too many such lines.
    pub(super) fn led(&self, headers: &[Vec<u8>], starts: &[usize], sought: BlockPart) -> Option<Vec<Led>> {
        let equal = |header: &Vec<u8>| -> Vec<usize> {
            (0..self.0.len()).filter(|index| named(self.0[*index].text) == named(header)).collect()
        };
        let equal: Vec<Vec<usize>> = headers.iter().map(equal).collect();
        let mut ends: HashMap<usize, BlockEnd> = HashMap::new();
        starts.iter().map(|start| self.led_to((*start, sought), &equal, &mut ends)).collect()
    }

    fn led_to(
        &self,
        (start, mut sought): (usize, BlockPart),
        equal: &[Vec<usize>],
        ends: &mut HashMap<usize, BlockEnd>,
    ) -> Option<Led> {
        let (mut chain, mut beyond) = (Vec::new(), None);
        // The header itself may be the hunk's first line.
        let (mut inner, mut until) = (start, self.0.partition_point(|line| line.range.start <= start));
        for lines in equal.iter().rev() {
            let lines = &lines[..lines.partition_point(|index| *index < until)];
            let Some(&nearest) = lines.last() else {
                return Some(Led::Away);
            };
            let (index, holds) = self.holding((lines, nearest), (inner, sought), ends)?;
            if !holds {
                beyond = Some(chain.len());
            }
            chain.push(index);
            (inner, until, sought) = (self.0[index].range.start, index, BlockPart::Header);
        }
        Some(match beyond {
            Some(index) => Led::Beyond(chain, index),
            None => Led::To(chain),
        })
    }

    /// Among lines that equal a header, the nearest whose block contains `start`: the last one, or one that is less
    /// indented than all after it, as an outer brace is; if none does, the `nearest`. Also returns whether it contains
    /// it. `None` if there are too many to tell.
    fn holding(
        &self,
        (lines, nearest): (&[usize], usize),
        (start, sought): (usize, BlockPart),
        ends: &mut HashMap<usize, BlockEnd>,
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
            if end.holds(start, sought) {
                return Some((index, true));
            }
        }
        Some((nearest, false))
    }

    /// Returns whether a line that looks like a heading is a comment above the head of a block.
    fn is_comment_of_head(&self, index: usize) -> bool {
        let mut beneath = self.0[index..].iter().skip_while(|line| line.section() == Some(COMMENT));
        self.0[index].section() == Some(COMMENT) && beneath.next().is_some_and(FileLine::is_head)
    }

    /// The end of the block of a header in the old file. It is read with and without strings: other text may look like
    /// a string.
    fn end_of(&self, index: usize) -> BlockEnd {
        let header = &self.0[index];
        let mut end = BlockEnd { lead: usize::MAX, at: usize::MAX, border: usize::MAX, untold: Vec::new() };
        let section = header.section().filter(|_| !self.is_comment_of_head(index));
        let mut quote = if section.is_some() { Quote::in_prose() } else { Quote::in_code() };
        quote.read(header.text);
        let (mut walk, mut doubt) = (BlockWalk::new(header, section), None);
        let (mut bare, mut aside) = (walk.clone(), None);
        let mut comment = section.filter(|section| *section == COMMENT).map(|_| index);
        for (at, line) in self.0.iter().enumerate().skip(index + 1) {
            if line.is_new || is_blank(line.text) {
                continue;
            }
            // A comment of several lines counts as one.
            if comment.is_some_and(|last| last + 1 == at) && line.section() == header.section() {
                comment = Some(at);
                continue;
            }
            let sign = quote.sign();
            if sign.is_some() || !line.is_aside() {
                quote.read(line.text);
            }
            // A place may begin with this line; if the line says nothing about its block, the place is still in the
            // block.
            let behind = line.range.start + usize::from(!line.is_gone && named(line.text) != b"{");
            if bare.ends_at(line) {
                doubt = doubt.or(Some(behind));
            }
            if sign.is_none() && walk.ends_at(line) {
                end.lead = line.range.start;
                end.at = behind;
                end.border = aside.unwrap_or(end.lead);
                break;
            }
            let is_aside = line.is_aside() && section.is_none() && line.depth() <= header.depth();
            aside = aside.or(Some(line.range.start)).filter(|_| is_aside);
            // Braces count more than a string that ends within a line.
            let is_string = |sign: Vec<u8>| !walk.has_braces() || named(line.text).starts_with(&sign);
            if quote.sign().is_none() && sign.is_some_and(is_string) {
                end.untold.extend(doubt.take().map(|from| from..line.range.start));
                bare = walk.clone();
            }
        }
        // An unterminated string is not one.
        end.untold.extend(doubt.map(|from| from..usize::MAX));
        end
    }
}
