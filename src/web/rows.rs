//! The rows in which the changes of a file are shown. They are numbered, so that any piece of them can be made by itself.

use std::ops::Range;

use serde::Serialize;

use super::words::{self, Parts};
use crate::path::is_escaped;

/// The lines that are shown around a change.
const CONTEXT: usize = 3;

/// The least lines that are left out between two changes.
const LEAST_GAP: usize = 4;

/// The most characters of a line that are shown, unless all of it is asked for.
const LINE_CHARS: usize = 1_000;

/// The most characters of a line that are shown at all.
const WHOLE_LINE_CHARS: usize = 200_000;

/// The most lines on a side of a change whose lines are compared word by word.
const PAIRED: usize = 400;

/// The two ways in which changes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffView {
    /// What goes above what comes.
    Unified,
    /// What goes to the left of what comes.
    Split,
}

/// A row: a line, or one on each side.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct DiffRow {
    kind: RowKind,
    /// The number of the change that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<usize>,
    /// True in the first row of a change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    first: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Line>,
    /// Of a line that stays, only its number: it reads as the old one.
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Line>,
    /// The lines that are left out here.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RowKind {
    Same,
    Changed,
    Gap,
}

/// A line on one side.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Line {
    number: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    text: Parts,
    /// The characters that are left out at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<usize>,
    /// True for a last line without a line break.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unended: bool,
}

/// A content and where its lines start.
#[derive(Debug)]
struct Lines {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Lines {
    fn new(bytes: Vec<u8>) -> Self {
        let after_feeds = memchr::memchr_iter(b'\n', &bytes).map(|at| at + 1);
        let starts = std::iter::once(0).chain(after_feeds).filter(|start| *start < bytes.len()).collect();
        Self { bytes, starts }
    }

    /// The lines of a range of bytes that begins and ends with lines.
    fn of(&self, bytes: &Range<usize>) -> Range<usize> {
        let line = |at: usize| self.starts.partition_point(|start| *start < at);
        line(bytes.start)..line(bytes.end)
    }

    fn line(&self, line: usize) -> &[u8] {
        let end = self.starts.get(line + 1).copied().unwrap_or(self.bytes.len());
        &self.bytes[self.starts[line]..end]
    }

    /// Returns whether every line ends in a carriage return: then none of them is worth showing.
    fn have_returns(&self) -> bool {
        memchr::memchr_iter(b'\n', &self.bytes).all(|at| at > 0 && self.bytes[at - 1] == b'\r')
    }
}

/// A part of the rows: lines that are left out, that stay, or that change.
#[derive(Debug, Clone)]
enum RowPart {
    Gap(usize),
    /// The first of them on both sides, and how many they are.
    Same(usize, usize, usize),
    Change(usize, Range<usize>, Range<usize>),
}

impl RowPart {
    fn rows(&self, view: DiffView) -> usize {
        match self {
            Self::Gap(_) => 1,
            Self::Same(_, _, count) => *count,
            Self::Change(_, old, new) if view == DiffView::Split => old.len().max(new.len()),
            Self::Change(_, old, new) => old.len() + new.len(),
        }
    }
}

/// Both contents of a file, and the rows that show how they differ.
#[derive(Debug)]
pub(super) struct ChangedLines {
    old: Lines,
    new: Lines,
    parts: Vec<RowPart>,
    /// For each part, the rows before it.
    before: [Vec<usize>; 2],
    has_returns: bool,
    /// The lines that come, and that go.
    pub(super) counts: (usize, usize),
}

impl ChangedLines {
    /// The rows of two contents that differ in these ranges of bytes.
    pub(super) fn new(old: Vec<u8>, new: Vec<u8>, runs: &[(Range<usize>, Range<usize>)]) -> Self {
        let (old, new) = (Lines::new(old), Lines::new(new));
        let runs: Vec<_> = runs.iter().map(|(before, after)| (old.of(before), new.of(after))).collect();
        let parts = parts(&runs, old.starts.len());
        let before = [DiffView::Unified, DiffView::Split].map(|view| {
            let rows = parts.iter().scan(0, |rows, part| {
                let before = *rows;
                *rows += part.rows(view);
                Some(before)
            });
            rows.collect()
        });
        let has_returns = old.have_returns() && new.have_returns();
        let counts = runs.iter().fold((0, 0), |(come, go), (old, new)| (come + new.len(), go + old.len()));
        Self { old, new, parts, before, has_returns, counts }
    }

    /// The number of rows.
    pub(super) fn rows(&self, view: DiffView) -> usize {
        let last = self.parts.last().map_or(0, |part| part.rows(view));
        self.before[view as usize].last().copied().unwrap_or_default() + last
    }

    /// The first row of a change.
    pub(super) fn row_of(&self, run: usize, view: DiffView) -> Option<usize> {
        let part = self.parts.iter().position(|part| matches!(part, RowPart::Change(this, ..) if *this == run))?;
        Some(self.before[view as usize][part])
    }

    /// The rows from one on, so many of them as there are up to `count`; with long lines as a whole, if that is asked.
    pub(super) fn piece(&self, view: DiffView, from: usize, count: usize, is_whole: bool) -> Vec<DiffRow> {
        let before = &self.before[view as usize];
        let first = before.partition_point(|rows| *rows <= from).saturating_sub(1);
        let mut rows = Vec::with_capacity(count.min(self.rows(view)));
        let chars = if is_whole { WHOLE_LINE_CHARS } else { LINE_CHARS };
        for (part, start) in self.parts.iter().zip(before).skip(first) {
            let skipped = from.saturating_sub(*start);
            let wanted = skipped..part.rows(view).min(skipped + count - rows.len());
            rows.extend(wanted.map(|row| self.row(part, row, view, chars)));
            if rows.len() >= count {
                break;
            }
        }
        rows
    }

    fn row(&self, part: &RowPart, row: usize, view: DiffView, chars: usize) -> DiffRow {
        let blank = DiffRow { kind: RowKind::Same, run: None, first: false, old: None, new: None, hidden: None };
        let number = |line: usize| Line { number: line + 1, text: Vec::new(), cut: None, unended: false };
        match part {
            RowPart::Gap(hidden) => DiffRow { kind: RowKind::Gap, hidden: Some(*hidden), ..blank },
            RowPart::Same(old, new, _) => {
                DiffRow { old: Some(self.old_line(old + row, chars)), new: Some(number(new + row)), ..blank }
            }
            RowPart::Change(run, old, new) => {
                let changed = DiffRow { kind: RowKind::Changed, run: Some(*run), first: row == 0, ..blank };
                let (left, right) = match view {
                    DiffView::Split => {
                        (Some(row).filter(|row| *row < old.len()), Some(row).filter(|row| *row < new.len()))
                    }
                    DiffView::Unified if row < old.len() => (Some(row), None),
                    DiffView::Unified => (None, Some(row - old.len())),
                };
                let words = |at: usize| self.words(old, new, at, chars);
                let old_line = |at: usize| with(self.old_line(old.start + at, chars), words(at).map(|(old, _)| old));
                let new_line = |at: usize| with(self.new_line(new.start + at, chars), words(at).map(|(_, new)| new));
                DiffRow { old: left.map(old_line), new: right.map(new_line), ..changed }
            }
        }
    }

    /// The words in which the lines at a place of a change differ.
    fn words(&self, old: &Range<usize>, new: &Range<usize>, at: usize, chars: usize) -> Option<(Parts, Parts)> {
        let is_paired = at < old.len() && at < new.len() && old.len().max(new.len()) <= PAIRED;
        let text = |line: Line| line.text.concat();
        let pair = is_paired.then(|| (self.old_line(old.start + at, chars), self.new_line(new.start + at, chars)));
        pair.and_then(|(old, new)| words::differ(&text(old), &text(new)))
    }

    fn old_line(&self, line: usize, chars: usize) -> Line {
        self.shown(line, self.old.line(line), chars)
    }

    fn new_line(&self, line: usize, chars: usize) -> Line {
        self.shown(line, self.new.line(line), chars)
    }

    /// A line as text; characters that are not seen, or change what is, are escaped.
    fn shown(&self, line: usize, bytes: &[u8], chars: usize) -> Line {
        let ended = bytes.strip_suffix(b"\n");
        let body = ended.unwrap_or(bytes);
        let body = if self.has_returns { body.strip_suffix(b"\r").unwrap_or(body) } else { body };
        // A character has four bytes at most, and no more are decoded than are shown.
        let decoded = String::from_utf8_lossy(&body[..body.len().min(chars * 4 + 4)]);
        let end = decoded.char_indices().nth(chars).map_or(decoded.len(), |(at, _)| at);
        let cut = (end < decoded.len()).then(|| String::from_utf8_lossy(body).chars().count() - chars);
        let mut text = String::with_capacity(end);
        for c in decoded[..end].chars() {
            if is_unseen(c) { text.extend(c.escape_default()) } else { text.push(c) }
        }
        Line { number: line + 1, text: vec![text], cut, unended: ended.is_none() }
    }
}

fn with(line: Line, words: Option<Parts>) -> Line {
    match words {
        Some(text) => Line { text, ..line },
        None => line,
    }
}

/// Returns whether a character is escaped in a line: it is not seen, or shows the line otherwise than it is.
fn is_unseen(c: char) -> bool {
    c != '\t' && is_escaped(c) || matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// The changes with the lines around them; `count` is the number of old lines.
fn parts(runs: &[(Range<usize>, Range<usize>)], count: usize) -> Vec<RowPart> {
    let mut parts = Vec::with_capacity(runs.len() * 3 + 1);
    let (mut old_at, mut new_at) = (0, 0);
    for (run, (old, new)) in runs.iter().enumerate() {
        let between = old.start - old_at;
        let after = if run == 0 { 0 } else { CONTEXT };
        same(&mut parts, (old_at, new_at), between, after, CONTEXT);
        parts.push(RowPart::Change(run, old.clone(), new.clone()));
        (old_at, new_at) = (old.end, new.end);
    }
    if !runs.is_empty() {
        same(&mut parts, (old_at, new_at), count - old_at, CONTEXT, 0);
    }
    parts
}

/// Lines that stay: the first and the last of them, and a gap between.
fn same(parts: &mut Vec<RowPart>, (old, new): (usize, usize), count: usize, first: usize, last: usize) {
    let mut push = |from: usize, count: usize| {
        if count > 0 {
            parts.push(RowPart::Same(old + from, new + from, count));
        }
    };
    // A gap of few lines says less than they do.
    if count < first + last + LEAST_GAP {
        push(0, count);
        return;
    }
    push(0, first);
    parts.push(RowPart::Gap(count - first - last));
    if last > 0 {
        parts.push(RowPart::Same(old + count - last, new + count - last, last));
    }
}

#[cfg(test)]
mod tests;
