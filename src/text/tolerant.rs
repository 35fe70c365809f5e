//! Matching that ignores white space and look-alikes, step by step, and nothing else.
//!
//! Each step searches a view of the content in which the difference is folded away, line by line, and maps the matches
//! back to whole ranges of the content. Similarity plays no part.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use memchr::memmem;

use super::MatchKind;
use super::diagnose::fold::{Folded, Folds};
use super::locate::OverlapRule;
use super::newline::{breaks, segments};

pub(super) mod frame;
pub(super) mod indent;

use frame::{FrameLines, LinePair};
use indent::{Indent, leading};

/// The steps in their order. Each ignores the differences of the earlier ones as well.
pub(super) const LADDER: [MatchKind; 3] = [MatchKind::TrailingSpace, MatchKind::Indentation, MatchKind::LookAlikes];

/// The most overlapping matches counted: a run of equal bytes would take time quadratic in its length.
const OVERLAPPING: usize = 10_000;

const LOOK_ALIKES: Folds = Folds { look_alikes: true, ..Folds::NONE };

/// A place that an anchor matches at some step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tolerated {
    pub(super) range: Range<usize>,
    /// How the anchor's indentation becomes that of the place.
    pub(super) indent: Indent,
    /// True if the range starts with the indentation of a line.
    pub(super) starts_line: bool,
}

/// All places that `anchor` matches at the step `kind`, in ascending order.
pub(super) fn find(text: &[u8], anchor: &[u8], kind: MatchKind, overlap: OverlapRule) -> Vec<Tolerated> {
    let mut found = Vec::new();
    let needle = FoldedNeedle::new(anchor, kind);
    if needle.bytes.trim_ascii().is_empty() {
        return found;
    }
    let view = FoldedView::new(text, kind);
    let finder = memmem::Finder::new(&needle.bytes);
    let mut from = 0;
    while let Some(at) = finder.find(&view.bytes[from..]).map(|at| from + at) {
        let settled = needle.settle(&view, at);
        let overlapping = settled.is_none() || (overlap == OverlapRule::Counted && found.len() < OVERLAPPING);
        from = at + if overlapping { 1 } else { needle.bytes.len() };
        found.extend(settled);
    }
    found
}

/// The places of an anchor that begins with an empty line, whatever their indentation.
pub(super) fn where_its_first_line_is_one(text: &[u8], anchor: &[u8]) -> Vec<Range<usize>> {
    let needle = FoldedNeedle::new(anchor, MatchKind::LookAlikes);
    let view = FoldedView::new(text, needle.kind);
    let finder = memmem::Finder::new(&needle.bytes);
    let (mut found, mut from) = (Vec::new(), 0);
    // They may overlap: the empty line at the end of one is the first of the next.
    while let Some(at) = finder.find(&view.bytes[from..]).map(|at| from + at) {
        let line = view.line_of(at);
        if view.lines[line].1 == at {
            found.push(view.lines[line].0..view.lines[line + needle.segments.len() - 1].0);
        }
        from = at + if found.len() < OVERLAPPING { 1 } else { needle.bytes.len() };
    }
    found
}

/// The replacement fitted to a place that has `there` for `anchor`; `None` if it cannot be determined in which
/// indentation or spelling it is written.
pub(super) fn fit(
    place: &Tolerated,
    kind: MatchKind,
    anchor: &[u8],
    there: &[u8],
    replacement: &[u8],
) -> Option<Vec<u8>> {
    let pairs = segments(anchor).into_iter().zip(segments(there));
    let mut old: Vec<LinePair<'_>> = pairs.map(|(anchor, file)| LinePair { anchor, file }).collect();
    let mut new = segments(replacement);
    // After the last line break of both there is nothing to compare.
    let ends_line = anchor.ends_with(b"\n") && replacement.ends_with(b"\n");
    if ends_line {
        old.pop();
        new.pop();
    }
    // Blanks at the end of the anchor are at the end of their line.
    let ends_line = ends_line || old.last().is_some_and(|pair| has_tail(pair.anchor));
    // Text that starts in the middle of a line has the indentation that is there.
    let lines = FrameLines { old: &old, new: &new, context: &[], starts_line: place.starts_line, ends_line };
    let lines = frame::fit(kind, &place.indent, &lines)?;
    let mut fitted = Vec::with_capacity(replacement.len());
    let mut endings = breaks(replacement).map(|(_, ending)| ending.bytes());
    for line in lines {
        fitted.extend_from_slice(&line);
        fitted.extend_from_slice(endings.next().unwrap_or_default());
    }
    Some(fitted)
}

/// One line as a step sees it.
fn shown(line: &[u8], kind: MatchKind) -> Cow<'_, [u8]> {
    match kind {
        MatchKind::Exact => line.into(),
        MatchKind::TrailingSpace => trim_end(line).into(),
        MatchKind::Indentation => trim_end(&line[leading(line)..]).into(),
        MatchKind::LookAlikes if line.is_ascii() => trim_end(&line[leading(line)..]).into(),
        MatchKind::LookAlikes => {
            let folded = Folded::new(line, LOOK_ALIKES).bytes;
            trim_end(&folded[leading(&folded)..]).to_vec().into()
        }
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    let blanks = line.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[..line.len() - blanks]
}

/// Returns whether there are blanks after its text.
fn has_tail(line: &[u8]) -> bool {
    !is_blank(line) && trim_end(line).len() < line.len()
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// The content as a step sees it: the lines, joined by line feeds.
struct FoldedView<'t> {
    text: &'t [u8],
    kind: MatchKind,
    bytes: Vec<u8>,
    /// The start of each line: in the content, and in the view.
    lines: Vec<(usize, usize)>,
    /// The last line that was folded: a long one can have many matches.
    folded: RefCell<Option<(usize, Rc<Folded>)>>,
}

impl<'t> FoldedView<'t> {
    fn new(text: &'t [u8], kind: MatchKind) -> Self {
        let mut view =
            Self { text, kind, bytes: Vec::with_capacity(text.len()), lines: Vec::new(), folded: RefCell::default() };
        let mut at = 0;
        for line in text.split(|byte| *byte == b'\n') {
            if at > 0 {
                view.bytes.push(b'\n');
            }
            view.lines.push((at, view.bytes.len()));
            at += line.len() + 1;
            // Only a carriage return before a line feed is part of the line break.
            let line = if at <= text.len() { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
            view.bytes.extend_from_slice(&shown(line, kind));
        }
        view
    }

    fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|(_, start)| *start <= at) - 1
    }

    fn folded(&self, index: usize, raw: &[u8]) -> Rc<Folded> {
        let mut last = self.folded.borrow_mut();
        match &*last {
            Some((line, folded)) if *line == index => Rc::clone(folded),
            _ => Rc::clone(&last.insert((index, Rc::new(Folded::new(raw, LOOK_ALIKES)))).1),
        }
    }

    fn line(&self, index: usize) -> ViewLine<'t> {
        let start = self.lines[index].0;
        let raw = match self.lines.get(index + 1) {
            Some((next, _)) => {
                let raw = &self.text[start..next - 1];
                raw.strip_suffix(b"\r").unwrap_or(raw)
            }
            None => &self.text[start..],
        };
        let folded = (self.kind == MatchKind::LookAlikes).then(|| self.folded(index, raw));
        let seen: &[u8] = folded.as_ref().map_or(raw, |folded| &folded.bytes);
        let lead = if self.kind == MatchKind::TrailingSpace { 0 } else { leading(seen) };
        ViewLine { start, raw, folded, lead }
    }
}

/// A line of the content, from which columns of the view are mapped back.
struct ViewLine<'t> {
    /// Its start in the content.
    start: usize,
    /// Without its line break.
    raw: &'t [u8],
    folded: Option<Rc<Folded>>,
    /// The length of its beginning that the view leaves out.
    lead: usize,
}

impl ViewLine<'_> {
    fn seen(&self) -> &[u8] {
        self.folded.as_ref().map_or(self.raw, |folded| &folded.bytes)
    }

    /// The length of the part in the view.
    fn len(&self) -> usize {
        trim_end(&self.seen()[self.lead..]).len()
    }

    /// The place in the content of a column, as the start of a range; `None` in the middle of a character.
    fn start_at(&self, column: usize) -> Option<usize> {
        self.start_of(self.lead + column)
    }

    /// The same for a place in the line with its indentation.
    fn start_of(&self, at: usize) -> Option<usize> {
        Some(self.start + self.folded.as_ref().map_or(Some(at), |folded| folded.start_at(at))?)
    }

    /// The same for a column as the end of a range.
    fn end_at(&self, column: usize) -> Option<usize> {
        let at = self.lead + column;
        Some(self.start + self.folded.as_ref().map_or(Some(at), |folded| folded.end_at(at))?)
    }

    fn end(&self) -> usize {
        self.start + self.raw.len()
    }
}

/// An anchor as a step sees it.
struct FoldedNeedle {
    kind: MatchKind,
    bytes: Vec<u8>,
    /// The texts between its line breaks, with look-alikes folded if the step does so.
    segments: Vec<Vec<u8>>,
    /// True if white space at its end was left out: the line must end there.
    ends_line: bool,
}

impl FoldedNeedle {
    fn new(anchor: &[u8], kind: MatchKind) -> Self {
        let fold = |segment: &[u8]| match kind {
            MatchKind::LookAlikes => Folded::new(segment, LOOK_ALIKES).bytes,
            _ => segment.to_vec(),
        };
        let segments: Vec<Vec<u8>> = segments(anchor).into_iter().map(fold).collect();
        let last = &segments[segments.len() - 1];
        let ends_line = has_tail(last);
        let shown = segments.iter().enumerate().map(|(index, segment)| {
            // The indentation of a line that is not part of the anchor is not trailing white space.
            let is_lead = index > 0 && index + 1 == segments.len() && is_blank(segment);
            if is_lead && kind == MatchKind::TrailingSpace {
                segment.clone()
            } else {
                shown(segment, kind).into_owned()
            }
        });
        let bytes = shown.collect::<Vec<_>>().join(&b'\n');
        Self { kind, bytes, segments, ends_line }
    }

    /// The range in the content of the match at `at` of the view, if it is valid.
    fn settle(&self, view: &FoldedView<'_>, at: usize) -> Option<Tolerated> {
        let first = view.line_of(at);
        let last = first + self.segments.len() - 1;
        let (head, end_line) = (view.line(first), view.line(last));
        let column = at - view.lines[first].1;
        let (start, indent, starts_line) = self.start(view, &head, first, column)?;
        let end_column = at + self.bytes.len() - view.lines[last].1;
        let tail = &self.segments[self.segments.len() - 1];
        let end = if self.segments.len() > 1 && tail.is_empty() {
            end_line.start
        } else if self.segments.len() > 1 && is_blank(tail) && self.kind != MatchKind::TrailingSpace {
            let lead = indent.apply(tail)?;
            end_line.raw.starts_with(&lead).then(|| end_line.start + lead.len())?
        } else if self.ends_line {
            (end_column == end_line.len()).then(|| end_line.end())?
        } else {
            end_line.end_at(end_column)?
        };
        (start <= end).then_some(Tolerated { range: start..end, indent, starts_line })
    }

    /// The start of the match in the content, its shift, and whether that is at the start of a line.
    fn start(
        &self,
        view: &FoldedView<'_>,
        line: &ViewLine<'_>,
        first: usize,
        column: usize,
    ) -> Option<(usize, Indent, bool)> {
        let head = &self.segments[0];
        if self.segments.len() > 1 && is_blank(head) {
            // The anchor starts with the end of a line.
            let indent = self.indent(view, first, 1)?;
            return if is_blank(line.raw) {
                Some((line.start, indent, true))
            } else if head.is_empty() {
                Some((line.end(), indent, false))
            } else {
                // A blank line is not the end of another, unless that ends in exactly these blanks.
                line.raw.ends_with(head).then(|| (line.end() - head.len(), indent, false))
            };
        }
        if self.kind == MatchKind::TrailingSpace {
            // A start inside the indentation means that the indentation differs: the next step compares it.
            let is_indented = column > 0 && is_blank(&line.raw[..column]);
            return (!is_indented).then(|| line.start_at(column))?.map(|start| (start, Indent::Same, column == 0));
        }
        if column == 0
            && let Some(indent) = self.indent(view, first, 0)
        {
            return Some((line.start, indent, true));
        }
        // In the middle of a line nothing is shifted: the white space before it must match exactly.
        let lead = &head[..leading(head)];
        let there = line.lead + column;
        let is_there = line.seen()[..there].ends_with(lead);
        let is_same = self.indent(view, first, 1)? == Indent::Same;
        (is_there && is_same).then(|| line.start_of(there - lead.len()))?.map(|start| (start, Indent::Same, false))
    }

    /// The shift of the anchor's lines after the first `skipped` ones, if it is the same for all.
    fn indent(&self, view: &FoldedView<'_>, first: usize, skipped: usize) -> Option<Indent> {
        if self.kind == MatchKind::TrailingSpace {
            return Some(Indent::Same);
        }
        let lines = self.segments.iter().enumerate().skip(skipped).filter(|(_, segment)| !is_blank(segment));
        let lines: Vec<_> = lines.map(|(index, segment)| (segment, view.line(first + index))).collect();
        let pairs = lines.iter().map(|(segment, line)| (&segment[..leading(segment)], &line.seen()[..line.lead]));
        Indent::between(&pairs.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod damage;
#[cfg(test)]
mod tests;
