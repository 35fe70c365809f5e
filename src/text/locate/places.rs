//! The places of an anchor that was found too often, each with the shortest text that is found only there.

use std::fmt::Write as _;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use crate::error::{MatchPlace, MatchPlaces};
use crate::text::content::Content;
use crate::text::newline::segments;
use crate::text::position::MARK;

/// The most places shown of an anchor that was found too often.
const SHOWN: usize = 60;

/// The most bytes of all places shown, as far as there are more than [`FEW`].
const SHOWN_BYTES: usize = 12 << 10;

/// Up to so many places are shown with all lines around them.
const FEW: usize = 10;

/// The lines shown on either side of a place, and of one of many.
const CONTEXT: usize = 3;
const CONTEXT_OF_MANY: usize = 1;

/// The bytes searched on either side of a place for those lines.
const CONTEXT_BYTES: usize = 4 << 10;

/// The most bytes shown of a line.
const LINE_BYTES: usize = 200;

/// The most lines on either side that are added to make an anchor unique.
pub(super) const EXTRA_LINES: usize = 12;

/// The most bytes on either side for those lines.
const EXTRA_BYTES: usize = 2 << 10;

/// The first of `total` matches, as many as an answer has room for.
pub(in crate::text) fn places(content: &Content<'_>, matches: &[Range<usize>], total: usize) -> MatchPlaces {
    places_near(content, matches, total, None)
}

/// The same with the matches nearest to a line, from 1, instead of the first.
pub(in crate::text) fn places_near(
    content: &Content<'_>,
    matches: &[Range<usize>],
    total: usize,
    near_line: Option<usize>,
) -> MatchPlaces {
    let surroundings: Vec<Surroundings> = if matches.len() == total && total > 1 {
        matches.iter().map(|range| Surroundings::of(content, range)).collect()
    } else {
        Vec::new()
    };
    let mut order: Vec<usize> = (0..matches.len()).collect();
    if let Some(line) = near_line {
        let lines = content.lines_at(matches.iter().map(|range| range.start));
        order.sort_by_key(|index| lines[*index].abs_diff(line));
    }
    let around = if matches.len() > FEW { CONTEXT_OF_MANY } else { CONTEXT };
    let mut shown: Vec<MatchPlace> = Vec::new();
    let mut bytes = 0;
    for index in order.into_iter().take(SHOWN) {
        let range = &matches[index];
        let next = place(content, range.start, around, unique(content, range, index, &surroundings));
        bytes += next.snippet.len() + next.unique.as_ref().map_or(0, String::len);
        if shown.len() >= FEW && bytes > SHOWN_BYTES {
            break;
        }
        shown.push(next);
    }
    MatchPlaces { total, shown }
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
        let from = range.start.saturating_sub(EXTRA_BYTES);
        // The mark is no part of the text: who replaces it with a text that has none removes it.
        let is_marked = from < MARK.len() && *content.bytes(0..content.len().min(MARK.len())) == *MARK;
        let start = if is_marked { MARK.len().min(range.start) } else { 0 };
        let (from, to) = (from.max(start), content.len().min(range.end + EXTRA_BYTES));
        Self {
            before: segments(&content.bytes(from..range.start)).join(&b'\n'),
            from_start: from == start,
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

fn place(content: &Content<'_>, at: usize, around: usize, unique: Option<String>) -> MatchPlace {
    let line = content.line_at(at);
    let from = at.saturating_sub(CONTEXT_BYTES);
    let window = content.bytes(from..content.len().min(at + CONTEXT_BYTES));
    // If a line starts too far away, only the part before the place is shown.
    let cut = (at - from).saturating_sub(if from > 0 { LINE_BYTES / 3 } else { at });
    let mut start = memrchr(b'\n', &window[..at - from]).map_or(cut, |feed| feed + 1);
    let mut first = line;
    while first + around > line && start > 0 && window[start - 1] == b'\n' {
        start = memrchr(b'\n', &window[..start - 1]).map_or(0, |feed| feed + 1);
        first -= 1;
    }
    MatchPlace { line, snippet: numbered(&window[start..], first, line - first + 1 + around), unique }
}

/// Up to `count` lines of `text` with their numbers; very long ones are cut.
pub(in crate::text) fn numbered(text: &[u8], first: usize, count: usize) -> String {
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
