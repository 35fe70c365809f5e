//! Finds the place of a hunk of a patch, and makes its changes there.

mod blocks;
mod choose;
mod line;
mod quote;
mod walk;

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};

use super::MatchKind;
use super::content::Content;
use super::locate::{Needle, OverlapRule};
use super::newline::{Ending, breaks, convert, segments};
use super::position::MARK;
use super::tolerant::frame::{self, FrameLines, LinePair};
use super::tolerant::indent::Indent;
use super::tolerant::{self, LADDER, Tolerated};
use crate::request::edit::{Hunk, HunkLine, Matching, Side};

/// The most places kept of a hunk that fits too many; with more, headers are not evaluated.
const KEPT: usize = 10_000;

/// The progress of the hunks of one section.
#[derive(Debug, Clone, Default)]
pub(super) struct SectionProgress {
    /// The lines added so far, minus those removed.
    added: isize,
    /// True if one of them was found elsewhere than it said.
    moved: bool,
    /// The place of the last one.
    last: Range<usize>,
    /// True if one was placed before its predecessor: from then on their order says nothing.
    is_unordered: bool,
    /// The lines removed so far.
    gone: Vec<Gone>,
    /// The places of inserted lines.
    new: Vec<Range<usize>>,
}

/// A line that was removed. The header of a later hunk may name it: a patch is made for the old file.
#[derive(Debug, Clone)]
struct Gone {
    /// Its former place, up to the end of its replacement.
    range: Range<usize>,
    line: Vec<u8>,
}

impl SectionProgress {
    /// Records the changes of a hunk.
    fn remember(&mut self, content: &Content<'_>, changes: &[(Range<usize>, Vec<u8>)]) {
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        let mut shift = 0_isize;
        for (range, text) in changes {
            let start = range.start.saturating_add_signed(shift);
            shift += text.len().cast_signed() - range.len().cast_signed();
            let was = content.bytes(range.clone());
            let mut at = range.start;
            for line in was.split_inclusive(|byte| *byte == b'\n') {
                // A line that one hunk inserts and another removes was never in the old file.
                let is_old = !self.new.iter().any(|new| new.contains(&at));
                at += line.len();
                if is_old && !tolerant::is_blank(line) {
                    let line = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
                    gone.push(Gone { range: start..start + text.len(), line });
                }
            }
            new.push(start..start + text.len());
        }
        let earlier = self.gone.iter_mut().map(|gone| &mut gone.range).chain(&mut self.new);
        for range in earlier {
            *range = moved(range.start, changes)..moved(range.end, changes);
        }
        self.gone.append(&mut gone);
        self.new.append(&mut new);
    }
}

/// The position of a place of the content after `changes`.
fn moved(at: usize, changes: &[(Range<usize>, Vec<u8>)]) -> usize {
    let before = changes.iter().take_while(|(range, _)| range.start < at);
    // For a place inside a replaced range, the end counts.
    before.fold(at, |moved, (range, text)| moved + text.len() - range.len().min(at - range.start))
}

/// The place of a hunk.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    range: Range<usize>,
    kind: MatchKind,
    indent: Indent,
    was_told: bool,
}

impl Placed {
    const fn exact(range: Range<usize>) -> Self {
        Self { range, kind: MatchKind::Exact, indent: Indent::Same, was_told: false }
    }
}

/// Why a hunk has no place.
#[derive(Debug, Clone)]
pub(super) enum Misplaced {
    /// Its old lines are not found.
    Nowhere,
    /// They are found, the first here, but not in the block that its headers name.
    NoHeader(Range<usize>),
    /// They are found, but not at the start or end of the file, where the hunk requires them.
    NotAtEdge(Range<usize>),
    /// They are found, but before the end of the previous hunk.
    OutOfOrder(Range<usize>),
    /// They are found in several places: the first few, and their number.
    Several(Vec<Range<usize>>, usize),
    /// It has no old lines, and nothing else tells its place.
    Bare,
    /// They are found in another indentation or spelling, and that of its new lines cannot be determined.
    Untold,
}

/// The result of a hunk.
#[derive(Debug, Clone)]
pub(super) struct HunkOutcome {
    /// Ranges of the content, ascending, and their replacements.
    pub(super) changes: Vec<(Range<usize>, Vec<u8>)>,
    pub(super) kind: MatchKind,
}

/// Finds the place of `hunk`, and updates `progress`.
pub(super) fn apply(
    content: &Content<'_>,
    hunk: &Hunk,
    progress: &mut SectionProgress,
) -> Result<HunkOutcome, Misplaced> {
    if !hunk.continues {
        *progress = SectionProgress::default();
    }
    let mut shorter = None;
    let placed = place(content, hunk, progress).or_else(|misplaced| {
        let without = without_loose_tail(hunk).ok_or_else(|| misplaced.clone())?;
        match misplaced {
            Misplaced::Nowhere | Misplaced::NotAtEdge(_) | Misplaced::NoHeader(_) => {
                place(content, shorter.insert(without), progress)
            }
            _ => Err(misplaced),
        }
    })?;
    let hunk = shorter.as_ref().unwrap_or(hunk);
    let changes = changes(content, hunk, &placed).ok_or(Misplaced::Untold)?;
    progress.added += hunk.count(Side::New).cast_signed() - hunk.count(Side::Old).cast_signed();
    progress.moved |= !placed.was_told;
    let grown: usize = changes.iter().map(|(_, text)| text.len()).sum();
    let shrunk: usize = changes.iter().map(|(range, _)| range.len()).sum();
    progress.is_unordered |= placed.range.start < progress.last.start;
    progress.last = placed.range.start..placed.range.end + grown - shrunk;
    // Only a hunk without a line number has headers.
    if hunk.line.is_none() {
        progress.remember(content, &changes);
    }
    Ok(HunkOutcome { changes, kind: placed.kind })
}

/// The hunk without the trailing empty lines that may not be part of it.
fn without_loose_tail(hunk: &Hunk) -> Option<Hunk> {
    let rest = hunk.lines.len().checked_sub(hunk.loose_tail).filter(|_| hunk.loose_tail > 0)?;
    Some(Hunk { lines: hunk.lines[..rest].to_vec(), loose_tail: 0, ..hunk.clone() })
}

fn place(content: &Content<'_>, hunk: &Hunk, progress: &SectionProgress) -> Result<Placed, Misplaced> {
    let (old, start) = (hunk.old(), start_of(content, hunk));
    if old.is_empty() {
        let is_end_named = hunk.at_end && !hunk.at_start && hunk.headers.is_empty();
        let goes_there = content.len() == start || is_end_named;
        let range = content.len()..content.len();
        let placed = Placed { range, kind: MatchKind::Exact, indent: Indent::Same, was_told: true };
        return goes_there.then_some(placed).ok_or(Misplaced::Bare);
    }
    let sought = SoughtHunk { content, hunk, old: &old, progress, start };
    if let Some(placed) = sought.where_it_says() {
        return Ok(Placed { was_told: true, ..placed });
    }
    if hunk.only_there {
        return Err(Misplaced::Nowhere);
    }
    let mut found: Vec<Placed> = sought.anywhere().into_iter().map(Placed::exact).collect();
    for &kind in sought.ladder() {
        if sought.is_enough(&found) {
            break;
        }
        let mut more = sought.tolerantly(kind, start..content.len());
        // A place found again is the one of an earlier step.
        more.retain(|place| !found.iter().any(|it| overlap(&it.range, &place.range)));
        found.append(&mut more);
    }
    if found.is_empty() {
        return Err(sought.not_at_edge().map_or(Misplaced::Nowhere, Misplaced::NotAtEdge));
    }
    found.sort_by_key(|place| place.range.start);
    sought.choose(found)
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The old lines as they would be at the end of a file without a last line break: one more place. An empty last line
/// cannot be at such an end.
fn without_last_break<'o>(hunk: &Hunk, old: &'o [u8]) -> Option<&'o [u8]> {
    let bare = old.strip_suffix(b"\n").filter(|_| hunk.loose_end)?;
    let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
    (!bare.is_empty() && !bare.ends_with(b"\n")).then_some(bare)
}

/// A hunk whose place is searched.
struct SoughtHunk<'a> {
    content: &'a Content<'a>,
    hunk: &'a Hunk,
    old: &'a [u8],
    progress: &'a SectionProgress,
    /// The start of the text.
    start: usize,
}

impl SoughtHunk<'_> {
    /// The ways of matching after the exact one.
    fn ladder(&self) -> &'static [MatchKind] {
        if self.hunk.matching == Matching::Tolerant { &LADDER } else { &[] }
    }

    /// Returns whether the search ends at this step: an exact place is no better than a later step's in the block that
    /// a header names, or after the previous hunk.
    fn is_enough(&self, found: &[Placed]) -> bool {
        let is_told = self.hunk.line.is_some();
        let in_order = || is_told || found.iter().any(|place| self.in_order(&place.range));
        found.len() >= KEPT || (!found.is_empty() && self.hunk.headers.is_empty() && in_order())
    }

    fn in_order(&self, range: &Range<usize>) -> bool {
        range.start >= self.progress.last.end
    }

    /// The place that the hunk names, if its old lines are there and the previous hunks were where they said.
    fn where_it_says(&self) -> Option<Placed> {
        let line = self.hunk.line.filter(|_| !self.progress.moved)?;
        let line = line.saturating_sub(1).checked_add_signed(self.progress.added)?;
        let start = self.content.line_start(line)?.max(self.start);
        // Each line break may have a byte more than in the patch.
        let most = self.old.len() + self.hunk.lines.len();
        let window = self.content.bytes(start..self.content.len().min(start + most));
        let mut found = None;
        Needle::new(self.old).each_in_text(&window, OverlapRule::Counted, |range| {
            found = Some(range);
            ControlFlow::Break(())
        });
        let exact = found.filter(|range| range.start == 0).map(|range| Placed::exact(start..start + range.end));
        let is_there = |place: &Placed| place.range.start == start && self.fits(&place.range);
        let exact = exact.filter(is_there);
        let end = || {
            let end = self.content.line_start(line + self.hunk.count(Side::Old));
            end.unwrap_or(self.content.len()).max(start)
        };
        let tolerant = || self.ladder().iter().flat_map(|kind| self.tolerantly(*kind, start..end())).find(is_there);
        exact.or_else(tolerant).filter(|_| start >= self.progress.last.end)
    }

    /// The places at a step of the ladder.
    fn tolerantly(&self, kind: MatchKind, within: Range<usize>) -> Vec<Placed> {
        let text = self.content.bytes(within.clone());
        let mut found = tolerant::find(&text, self.old, kind, OverlapRule::Counted);
        if let Some(bare) = without_last_break(self.hunk, self.old).filter(|_| within.end == self.content.len()) {
            let mut last = tolerant::find(&text, bare, kind, OverlapRule::Counted);
            // All these ways of matching ignore white space at the end of a line.
            last.retain(|place| text[place.range.end..].iter().all(|byte| matches!(byte, b' ' | b'\t')));
            for place in &mut last {
                place.range.end = text.len();
            }
            found.append(&mut last);
        }
        let place = |Tolerated { range, indent, .. }| {
            let range = range.start + within.start..range.end + within.start;
            Placed { range, kind, indent, was_told: false }
        };
        found.into_iter().map(place).filter(|place| self.fits(&place.range)).collect()
    }

    fn anywhere(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut look = |needle: &[u8]| {
            Needle::new(needle).each_in(self.content, OverlapRule::Counted, |range| {
                if self.fits(&range) {
                    found.push(range);
                }
                if found.len() < KEPT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        };
        look(self.old);
        if let Some(bare) = without_last_break(self.hunk, self.old) {
            Needle::new(bare).each_in(self.content, OverlapRule::Counted, |range| {
                if range.end == self.content.len() && self.fits(&range) {
                    found.push(range);
                }
                ControlFlow::Continue(())
            });
        }
        found
    }

    /// The place of the old lines if only the required start or end of the file excludes it.
    fn not_at_edge(&self) -> Option<Range<usize>> {
        let free = Hunk { at_start: false, at_end: false, ..self.hunk.clone() };
        SoughtHunk { hunk: &free, ..*self }.anywhere().into_iter().next()
    }

    /// Returns whether the old lines may be at `range`, apart from their text.
    fn fits(&self, range: &Range<usize>) -> bool {
        let len = self.content.len();
        let is_line = range.start == self.start || *self.content.bytes(range.start - 1..range.start) == *b"\n";
        // Old lines without a line break must end the file; in a file without a last line break, lines with one may end
        // it as well.
        let ends = range.end == len || (range.end > 0 && *self.content.bytes(range.end - 1..range.end) == *b"\n");
        is_line
            && ends
            // Text that an earlier hunk inserted is not part of the old file.
            && !self.progress.new.iter().any(|new| overlap(new, range))
            && (!self.hunk.at_start || range.start == self.start)
            && (!self.hunk.at_end || range.end == len)
            && (self.hunk.loose_end || self.is_spelled_alike(range))
    }

    /// Returns whether the line breaks are those of the file, or else of one kind, so that the file's can be used.
    fn is_spelled_alike(&self, range: &Range<usize>) -> bool {
        if *self.content.bytes(range.clone()) == *self.old {
            return true;
        }
        let mut endings = self.hunk.lines.iter().flat_map(|line| breaks(&line.text).map(|(_, ending)| ending));
        let first = endings.next();
        endings.all(|ending| Some(ending) == first)
    }
}

/// A line as a header names it: without the byte-order mark, which is not part of the first line.
fn named(line: &[u8]) -> &[u8] {
    line.strip_prefix(MARK).unwrap_or(line).trim_ascii()
}

/// The new lines of a hunk, fitted to a place that has `there` for its old lines.
fn fitted(hunk: &Hunk, placed: &Placed, there: &[u8]) -> Option<VecDeque<Vec<u8>>> {
    let (mut old, mut context, mut new) = (Vec::new(), Vec::new(), Vec::new());
    let mut file = segments(there).into_iter();
    for HunkLine { side, text } in &hunk.lines {
        let line = segments(text)[0];
        // A context line that is written once for both sides does not show how the new lines are written.
        let is_written = *side != Side::Both || hunk.repeats_context;
        let there = if *side == Side::New { None } else { Some(file.next()?) };
        if let Some(file) = there {
            if is_written { &mut old } else { &mut context }.push(LinePair { anchor: line, file });
        }
        if *side != Side::Old && is_written {
            new.push((*side, line));
        }
    }
    let lines: Vec<&[u8]> = new.iter().map(|(_, line)| *line).collect();
    let lines = FrameLines { old: &old, new: &lines, context: &context, starts_line: true, ends_line: true };
    let fitted = frame::fit(placed.kind, &placed.indent, &lines)?;
    let only_new = fitted.into_iter().zip(new).filter(|(_, (side, _))| *side == Side::New);
    Some(only_new.map(|(line, _)| line).collect())
}

/// The changes of a placed hunk: lines that stay keep every byte. `None` if the form of the new lines there cannot be
/// determined.
fn changes(content: &Content<'_>, hunk: &Hunk, placed: &Placed) -> Option<Vec<(Range<usize>, Vec<u8>)>> {
    let text = content.bytes(placed.range.clone());
    let mut fitted = if placed.kind == MatchKind::Exact { None } else { Some(fitted(hunk, placed, &text)?) };
    let as_written = placed.kind == MatchKind::Exact && *text == *hunk.old();
    let mut there = text.split_inclusive(|byte| *byte == b'\n');
    let usual = || {
        let near = breaks(&text).next().map(|(_, ending)| ending);
        near.or_else(|| content.previous_break(placed.range.start)).or_else(|| content.next_break(0).map(|b| b.1))
    };
    // A patch that is applied as written may change line breaks.
    let usual = if as_written && !hunk.loose_end { None } else { usual() };
    let mut list: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    let mut at = placed.range.start;
    let mut is_open = false;
    for HunkLine { side, text } in &hunk.lines {
        if *side == Side::Both {
            at += there.next()?.len();
            is_open = false;
            continue;
        }
        if !is_open {
            list.push((at..at, Vec::new()));
            is_open = true;
        }
        let (range, with) = list.last_mut()?;
        if *side == Side::Old {
            at += there.next()?.len();
            range.end = at;
        } else {
            let line = match &mut fitted {
                Some(fitted) => {
                    let ending = breaks(text).next().map_or(&b""[..], |(_, ending)| ending.bytes());
                    [fitted.pop_front()?.as_slice(), ending].concat()
                }
                None => text.clone(),
            };
            with.extend_from_slice(&convert(&line, &[], usual));
        }
    }
    if hunk.loose_end {
        keep_end(content, start_of(content, hunk), &mut list, usual.unwrap_or(Ending::Lf));
    }
    Some(list)
}

/// The start of the text for a hunk.
fn start_of(content: &Content<'_>, hunk: &Hunk) -> usize {
    content.text_start(hunk.lines.iter().any(|line| line.text.starts_with(MARK)))
}

/// Keeps a file without a last line break without one, whatever the format says.
fn keep_end(content: &Content<'_>, start: usize, list: &mut [(Range<usize>, Vec<u8>)], ending: Ending) {
    let len = content.len();
    let Some((range, with)) = list.last_mut() else { return };
    let has_break = len == start || *content.bytes(len - 1..len) == *b"\n";
    if range.end != len || has_break || with.is_empty() {
        return;
    }
    let broken = with.strip_suffix(b"\n").map(|w| w.strip_suffix(b"\r").unwrap_or(w).len());
    with.truncate(broken.unwrap_or(with.len()));
    if range.start == len {
        with.splice(0..0, ending.bytes().iter().copied());
    }
}

#[cfg(test)]
mod tests;
