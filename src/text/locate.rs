//! Finds anchors.
//!
//! Bytes compare exactly, except that a line break of the anchor matches a whole line break of either kind.

use std::cell::OnceCell;
use std::ops::{ControlFlow, Range};

use memchr::memchr;
use memchr::memmem::Finder;

use super::content::Content;
use super::newline::segments;

mod places;

pub(super) use places::{numbered, places, places_near};

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
    /// Made when it is first needed, as is the other: where an index has the places, neither is.
    pivot_finder: OnceCell<Finder<'n>>,
    /// Finds the whole anchor in a content without CRLF.
    lf_finder: OnceCell<Finder<'static>>,
    /// The length of the longest match, with the byte before it.
    reach: usize,
}

impl<'n> Needle<'n> {
    /// Prepares an anchor, which must not be empty.
    pub(super) fn new(anchor: &'n [u8]) -> Self {
        let segments = segments(anchor);
        let breaks = segments.len() - 1;
        let pivot = (0..segments.len()).max_by_key(|&index| segments[index].len()).unwrap_or(0);
        // Each of its line breaks may have two bytes.
        let reach = segments.iter().map(|segment| segment.len()).sum::<usize>() + 2 * breaks + 1;
        Self { segments, pivot, pivot_finder: OnceCell::new(), lf_finder: OnceCell::new(), reach }
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

    /// The same, if the longest text between two of its line breaks is at some of `pivots` only, which ascend.
    pub(super) fn each_around(
        &self,
        content: &Content<'_>,
        pivots: &[usize],
        overlap: OverlapRule,
        mut each: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) {
        let mut progress = SearchProgress { overlap, next: 0, found: 0 };
        for &pivot in pivots {
            let at = pivot.saturating_sub(self.reach);
            let window = content.bytes(at..content.len().min(pivot + self.reach));
            let is_there = window[pivot - at..].starts_with(self.pivot());
            let found = if is_there { self.around_pivot(&window, pivot - at) } else { None };
            let Some(range) = found.map(|range| at + range.start..at + range.end) else { continue };
            if range.start >= progress.next {
                progress.accept(&range);
                if each(range).is_break() {
                    return;
                }
            }
        }
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
            let finder = self.lf_finder();
            let len = finder.needle().len();
            let mut from = progress.next.saturating_sub(at).min(window.len());
            while let Some(found) = finder.find(&window[from..]) {
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
        self.pivot_finder.get_or_init(|| Finder::new(self.pivot())).find(text)
    }

    fn lf_finder(&self) -> &Finder<'static> {
        self.lf_finder.get_or_init(|| Finder::new(&self.segments.join(&b'\n')).into_owned())
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

#[cfg(test)]
mod tests;
