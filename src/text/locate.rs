//! Finds anchors.
//!
//! Bytes compare exactly, except that a line break of the anchor matches a whole line break of either kind.

use std::fmt::Write as _;
use std::ops::{ControlFlow, Range};

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr};

use super::content::Content;
use super::newline::segments;
use crate::error::{MatchPlace, MatchPlaces};

/// The most places shown of an anchor that was found too often.
const SHOWN: usize = 5;

/// The lines shown on either side of a place.
const CONTEXT: usize = 3;

/// The bytes searched on either side of a place for those lines.
const CONTEXT_BYTES: usize = 4 << 10;

/// The most bytes shown of a line.
const LINE_BYTES: usize = 200;

/// The most lines on either side that are added to make an anchor unique.
const EXTRA_LINES: usize = 8;

/// The most bytes on either side for those lines.
const EXTRA_BYTES: usize = 1 << 10;

/// The number of matches after which overlapping ones are no longer counted: a run of equal bytes would take time
/// quadratic in its length.
const OVERLAPPING: usize = 10_000;

/// Whether matches may share bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverlapRule {
    Counted,
    Skipped,
}

/// An anchor prepared for searching.
#[derive(Debug)]
pub(super) struct Needle<'n> {
    /// The texts between its line breaks.
    segments: Vec<&'n [u8]>,
    /// The index of the longest segment.
    pivot: usize,
    pivot_finder: Finder<'n>,
    /// Finds the whole anchor in a content without CRLF.
    lf_finder: Finder<'static>,
    /// The length of the longest match, with the byte before it.
    reach: usize,
}

impl<'n> Needle<'n> {
    /// Prepares an anchor, which must not be empty.
    pub(super) fn new(anchor: &'n [u8]) -> Self {
        let segments = segments(anchor);
        let breaks = segments.len() - 1;
        let pivot = (0..segments.len()).max_by_key(|&index| segments[index].len()).unwrap_or(0);
        let lf_form = segments.join(&b'\n');
        Self {
            pivot,
            pivot_finder: Finder::new(segments[pivot]),
            reach: lf_form.len() + breaks + 1,
            lf_finder: Finder::new(&lf_form).into_owned(),
            segments,
        }
    }

    /// The longest text between two of its line breaks.
    pub(super) fn pivot(&self) -> &'n [u8] {
        self.segments[self.pivot]
    }

    /// The length of the longest match, with the byte before it.
    pub(super) fn reach(&self) -> usize {
        self.reach
    }

    /// Passes each match in `content` to `each`, in ascending order.
    pub(super) fn each_in(
        &self,
        content: &Content<'_>,
        overlap: OverlapRule,
        mut each: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) {
        let mut progress = SearchProgress { overlap, next: 0, found: 0 };
        content.windows(self.reach, |at, window| {
            self.each_in_window(window, at, content.may_have_crlf(), &mut progress, &mut each)
        });
    }

    /// Passes each match in `text` to `each`, in ascending order.
    pub(super) fn each_in_text(
        &self,
        text: &[u8],
        overlap: OverlapRule,
        mut each: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) {
        let has_crlf = self.segments.len() > 1 && memchr::memmem::find(text, b"\r\n").is_some();
        let mut progress = SearchProgress { overlap, next: 0, found: 0 };
        let _ = self.each_in_window(text, 0, has_crlf, &mut progress, &mut each);
    }

    /// Returns whether a match is in `range` of `content`, or touches it.
    pub(super) fn is_around(&self, content: &Content<'_>, range: &Range<usize>) -> bool {
        let around = range.start.saturating_sub(self.reach)..content.len().min(range.end + self.reach);
        self.is_in_text(&content.bytes(around))
    }

    /// Returns whether `text` contains a match.
    pub(super) fn is_in_text(&self, text: &[u8]) -> bool {
        let mut is_there = false;
        self.each_in_text(text, OverlapRule::Skipped, |_| {
            is_there = true;
            ControlFlow::Break(())
        });
        is_there
    }

    fn each_in_window(
        &self,
        window: &[u8],
        at: usize,
        may_have_crlf: bool,
        progress: &mut SearchProgress,
        each: &mut impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.segments.len() == 1 || !may_have_crlf {
            let len = self.lf_finder.needle().len();
            let mut from = progress.next.saturating_sub(at).min(window.len());
            while let Some(found) = self.lf_finder.find(&window[from..]) {
                let start = at + from + found;
                progress.accept(&(start..start + len));
                each(start..start + len)?;
                from = progress.next - at;
            }
            return ControlFlow::Continue(());
        }
        let mut from = 0;
        while let Some(found) = self.next_pivot(&window[from..]) {
            let pivot = from + found;
            from = pivot + usize::from(!self.segments[self.pivot].is_empty());
            let Some(range) = self.around_pivot(window, pivot) else { continue };
            // A line feed at the very start may be half of a line break: the window before contains it whole.
            if range.start == 0 && at > 0 {
                continue;
            }
            let range = at + range.start..at + range.end;
            if range.start >= progress.next {
                progress.accept(&range);
                each(range)?;
            }
            if from > window.len() {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// The next place of the pivot; if there are only line breaks, the end of the next one.
    fn next_pivot(&self, text: &[u8]) -> Option<usize> {
        if self.segments[self.pivot].is_empty() {
            return memchr(b'\n', text).map(|feed| feed + 1);
        }
        self.pivot_finder.find(text)
    }

    /// The match whose pivot starts at `pivot`, if there is one.
    fn around_pivot(&self, window: &[u8], pivot: usize) -> Option<Range<usize>> {
        let (before, after) = if self.segments[self.pivot].is_empty() {
            // The line break that ends here is the first one.
            (&self.segments[..1], &self.segments[2..])
        } else {
            (&self.segments[..self.pivot], &self.segments[self.pivot + 1..])
        };
        let mut start = pivot;
        for segment in before.iter().rev() {
            start = start.checked_sub(1)?;
            if window[start] != b'\n' {
                return None;
            }
            start -= usize::from(start > 0 && window[start - 1] == b'\r');
            start = window[..start].ends_with(segment).then(|| start - segment.len())?;
        }
        let mut end = pivot + self.segments[self.pivot].len();
        for segment in after {
            // The line break must be whole: the line feed of a CRLF is not enough.
            match window.get(end..)? {
                [b'\r', b'\n', ..] => end += 2,
                [b'\n', ..] if end == 0 || window[end - 1] != b'\r' => end += 1,
                _ => return None,
            }
            end = window[end..].starts_with(segment).then(|| end + segment.len())?;
        }
        Some(start..end)
    }
}

/// The progress of a search.
struct SearchProgress {
    overlap: OverlapRule,
    /// The first place where the next match may start.
    next: usize,
    found: usize,
}

impl SearchProgress {
    fn accept(&mut self, range: &Range<usize>) {
        self.found += 1;
        let overlapping = self.overlap == OverlapRule::Counted && self.found < OVERLAPPING;
        self.next = if overlapping { range.start + 1 } else { range.end };
    }
}

/// The first few of `total` matches, as an answer shows them.
pub(super) fn places(content: &Content<'_>, matches: &[Range<usize>], total: usize) -> MatchPlaces {
    let surroundings: Vec<Surroundings> = if matches.len() == total && total > 1 {
        matches.iter().map(|range| Surroundings::of(content, range)).collect()
    } else {
        Vec::new()
    };
    let shown = matches.iter().take(SHOWN).enumerate();
    let shown = shown.map(|(index, range)| place(content, range.start, unique(content, range, index, &surroundings)));
    MatchPlaces { total, shown: shown.collect() }
}

/// The text around a match, with line feeds only.
struct Surroundings {
    before: Vec<u8>,
    /// True if the text before the match starts at the start of the content.
    from_start: bool,
    after: Vec<u8>,
    to_end: bool,
}

impl Surroundings {
    fn of(content: &Content<'_>, range: &Range<usize>) -> Self {
        let (from, to) = (range.start.saturating_sub(EXTRA_BYTES), content.len().min(range.end + EXTRA_BYTES));
        Self {
            before: segments(&content.bytes(from..range.start)).join(&b'\n'),
            from_start: from == 0,
            after: segments(&content.bytes(range.end..to)).join(&b'\n'),
            to_end: to == content.len(),
        }
    }

    /// The possible starts of an extension: the anchor itself, its line, the line before that …
    fn starts(&self) -> Vec<usize> {
        let mut starts = vec![self.before.len()];
        starts.extend(memchr_iter(b'\n', &self.before).rev().map(|feed| feed + 1));
        starts.extend(self.from_start.then_some(0));
        starts.dedup();
        starts.truncate(EXTRA_LINES + 1);
        starts
    }

    /// The possible ends of an extension.
    fn ends(&self) -> Vec<usize> {
        let mut ends = vec![0];
        ends.extend(memchr_iter(b'\n', &self.after));
        ends.extend(self.to_end.then_some(self.after.len()));
        // A text that ends with a carriage return also fits the first half of a line break.
        ends.retain(|&end| end == 0 || self.after[end - 1] != b'\r');
        ends.dedup();
        ends.truncate(EXTRA_LINES + 1);
        ends
    }
}

/// The shortest extension of a match by whole lines that fits none of the others.
fn unique(content: &Content<'_>, range: &Range<usize>, index: usize, all: &[Surroundings]) -> Option<String> {
    let own = all.get(index)?;
    let (starts, ends) = (own.starts(), own.ends());
    let mut ways: Vec<(usize, usize)> =
        (0..starts.len()).flat_map(|above| (0..ends.len()).map(move |below| (above, below))).collect();
    ways.sort_by_key(|(above, below)| (above + below, *below));
    let (before, after) = ways.iter().find_map(|&(above, below)| {
        let (before, after) = (&own.before[starts[above]..], &own.after[..ends[below]]);
        let fits = |other: &Surroundings| other.before.ends_with(before) && other.after.starts_with(after);
        (!all.iter().enumerate().any(|(at, other)| at != index && fits(other))).then_some((before, after))
    })?;
    let anchor = segments(&content.bytes(range.clone())).join(&b'\n');
    let text = String::from_utf8([before, &anchor, after].concat()).ok()?;
    // A carriage return at the end of a line would be read as a part of the line feed behind it.
    let text = if text.contains("\r\n") { text.replace('\n', "\r\n") } else { text };
    Some(text).filter(|text| text.len() <= 2 * EXTRA_BYTES)
}

fn place(content: &Content<'_>, at: usize, unique: Option<String>) -> MatchPlace {
    let line = content.line_at(at);
    let from = at.saturating_sub(CONTEXT_BYTES);
    let window = content.bytes(from..content.len().min(at + CONTEXT_BYTES));
    // If a line starts too far away, only the part before the place is shown.
    let cut = (at - from).saturating_sub(if from > 0 { LINE_BYTES / 3 } else { at });
    let mut start = memrchr(b'\n', &window[..at - from]).map_or(cut, |feed| feed + 1);
    let mut first = line;
    while first + CONTEXT > line && start > 0 && window[start - 1] == b'\n' {
        start = memrchr(b'\n', &window[..start - 1]).map_or(0, |feed| feed + 1);
        first -= 1;
    }
    MatchPlace { line, snippet: numbered(&window[start..], first, line - first + 1 + CONTEXT), unique }
}

/// Up to `count` lines of `text` with their numbers; very long ones are cut.
pub(super) fn numbered(text: &[u8], first: usize, count: usize) -> String {
    let mut shown = String::new();
    let mut rest = text;
    for line in (first..).take(count) {
        if rest.is_empty() {
            break;
        }
        let feed = memchr(b'\n', rest);
        let bytes = &rest[..feed.unwrap_or(rest.len())];
        rest = feed.map_or(&[], |feed| &rest[feed + 1..]);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        // Writing to a string does not fail.
        let _ = writeln!(shown, "{line:>6} | {}", cut(bytes));
    }
    shown
}

fn cut(line: &[u8]) -> String {
    if line.len() <= LINE_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    // Not in the middle of a character.
    let end = (LINE_BYTES - 3..=LINE_BYTES).rev().find(|&end| line[end] & 0xC0 != 0x80).unwrap_or(LINE_BYTES);
    format!("{}…", String::from_utf8_lossy(&line[..end]))
}

#[cfg(test)]
mod tests;
