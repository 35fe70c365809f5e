//! Applies edits in order, or says why one cannot be applied.

use std::cell::OnceCell;
use std::ops::Range;

use memchr::memchr;

use super::content::{Content, ContentChanges};
use super::diagnose;
use super::hunk::{self, Misplaced};
use super::inserted::{breaks_utf8, has_nul, needs_utf8};
use super::locate::places;
use super::newline::{Ending, breaks, convert};
use super::position::{self, BadPosition};
use super::{Applied, Edited, MatchKind, RefusedEdit};
use crate::error::{Detail, EncodingFault, ErrorKind, MismatchCause};
use crate::index::{EditIndex, IndexVec};
use crate::request::edit::{Anchor, Edit, Encoding, Hunk, Position, Side};
use index::AnchorIndex;

mod index;
mod matches;
mod no_match;
mod steps;

/// The most lines that an answer names for one edit.
const LINES: usize = 100;

/// The most places, in all edits together, whose old text is kept in order to tell which edit removed an anchor.
const KEPT_PLACES: usize = 1 << 20;

pub(super) fn edit(base: &[u8], edits: &[Edit]) -> Result<Edited, RefusedEdit> {
    if memchr(0, base).is_some() && !edits.is_empty() {
        return Err(not_text());
    }
    edit_text(base, None, edits)
}

/// The same for a base without a NUL byte. If it `is_utf8`, that is not computed.
pub(super) fn edit_text(base: &[u8], is_utf8: Option<bool>, edits: &[Edit]) -> Result<Edited, RefusedEdit> {
    if edits.is_empty() {
        return Ok(Edited { splices: super::splice::Splices::none(), applied: Vec::new() });
    }
    // A patch may insert into an empty file; a text anchor cannot be in one.
    let first = edits.iter().position(|edit| !edit.anchor.may_be_missing());
    if let Some(first) = first.filter(|first| base.is_empty() && !inserts(&edits[*first].anchor)) {
        return Err(refused(EditIndex(first), ErrorKind::EmptyFile, "Cannot edit empty file", Detail::None));
    }
    Editor::new(base, Content::new(base), is_utf8).apply_all(edits)
}

/// The same for an excerpt; a byte that occurs in no text stands for each part left out.
pub(super) fn edit_excerpt(
    base: &[u8],
    gaps: &[(usize, usize)],
    is_utf8: bool,
    edits: &[Edit],
) -> Result<Edited, RefusedEdit> {
    Editor::new(base, Content::with_gaps(base, gaps), Some(is_utf8)).apply_all(edits)
}

pub(super) fn not_text() -> RefusedEdit {
    let message =
        "the file has a NUL byte and is not text in UTF-8: name its encoding, or write its whole content instead";
    refused(EditIndex(0), ErrorKind::InvalidEncoding, message, Detail::Encoding(EncodingFault::NotNamed))
}

fn inserts(anchor: &Anchor) -> bool {
    match anchor {
        Anchor::Text { .. } => false,
        Anchor::Range { range, expected } => range.is_empty() && expected.is_empty(),
        Anchor::Span { .. } => true,
        Anchor::Hunk(hunk) => hunk.count(Side::Old) == 0,
    }
}

fn refused(edit: EditIndex, kind: ErrorKind, message: impl Into<String>, detail: Detail) -> RefusedEdit {
    RefusedEdit { edit, kind, message: message.into(), detail }
}

fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

struct Editor<'a, 'e> {
    base: &'a [u8],
    content: Content<'a>,
    /// Where the texts of many edits are.
    index: Option<AnchorIndex<'e>>,
    /// Whether the base is UTF-8, once computed.
    utf8: Option<bool>,
    /// The reverse of each edit that was applied; the oldest are dropped when there are too many places.
    back: IndexVec<EditIndex, Option<ContentChanges>>,
    kept_places: usize,
    /// The progress of the hunks of a patch.
    progress: hunk::SectionProgress,
}

/// The places of an edit, and how they were found.
struct EditMatches {
    /// The places, each with its own replacement if that is not the replacement as written.
    matches: Vec<(Range<usize>, Option<Vec<u8>>)>,
    kind: MatchKind,
    /// True if line breaks must still be converted to those of the replaced text.
    converts: bool,
}

impl EditMatches {
    fn exact(ranges: Vec<Range<usize>>, converts: bool) -> Self {
        Self { matches: ranges.into_iter().map(|range| (range, None)).collect(), kind: MatchKind::Exact, converts }
    }
}

impl<'a, 'e> Editor<'a, 'e> {
    fn new(base: &'a [u8], content: Content<'a>, utf8: Option<bool>) -> Self {
        Self {
            base,
            content,
            index: None,
            utf8,
            back: IndexVec::default(),
            kept_places: 0,
            progress: hunk::SectionProgress::default(),
        }
    }

    fn apply_all(mut self, edits: &'e [Edit]) -> Result<Edited, RefusedEdit> {
        self.index = AnchorIndex::new(edits, &self.content);
        let mut applied = Vec::with_capacity(edits.len());
        for (index, edit) in edits.iter().enumerate() {
            applied.push(self.apply(EditIndex(index), edit)?);
        }
        Ok(Edited { splices: self.content.splices(), applied })
    }

    fn apply(&mut self, index: EditIndex, edit: &Edit) -> Result<Applied, RefusedEdit> {
        if has_nul(edit) {
            let message = "the new text has the character U+0000, with which the file would not be text, and could not be \
                           edited again: leave it out, or write the whole content";
            let detail = Detail::Encoding(EncodingFault::Nul);
            return Err(refused(index, ErrorKind::InvalidEncoding, message, detail));
        }
        if needs_utf8(edit) && !self.is_utf8() {
            let message = "the file is not UTF-8, so text beyond ASCII cannot be put into it: name its encoding, convert \
                           the file, or use ASCII only";
            let detail = Detail::Encoding(EncodingFault::NotNamed);
            return Err(refused(index, ErrorKind::InvalidEncoding, message, detail));
        }
        if breaks_utf8(edit) && !self.base.is_ascii() && self.is_utf8() {
            let message = "the file is UTF-8, and the new lines of the patch are not: send them in UTF-8";
            let detail = Detail::Encoding(EncodingFault::NotUtf8);
            return Err(refused(index, ErrorKind::InvalidEncoding, message, detail));
        }
        let found = match &edit.anchor {
            Anchor::Text { text, count, matching } => self.find(index, edit, text, *count, *matching)?,
            Anchor::Range { range, expected } => EditMatches::exact(vec![self.check(index, range, expected)?], false),
            Anchor::Span { start, end, encoding, strict } => {
                EditMatches::exact(vec![self.resolve(index, *start..*end, *encoding, *strict)?], true)
            }
            Anchor::Hunk(hunk) => self.place(index, edit, hunk)?,
        };
        // A hunk counts as one place, however many of its lines change.
        let is_hunk = matches!(edit.anchor, Anchor::Hunk(_));
        let told = if is_hunk { 1 } else { LINES };
        let lines = self.content.lines_at(found.matches.iter().take(told).map(|(range, _)| range.start));
        let changes = self.changes(&found, &edit.replacement);
        let replaced = if is_hunk { 1 } else { self.content.differing(&changes) };
        let back = self.content.replace(&changes);
        if let Some(index) = &mut self.index {
            index.update(&self.content, back.ranges());
        }
        self.remember(back);
        Ok(Applied { replaced, lines, match_kind: found.kind })
    }

    /// Returns whether the base is UTF-8.
    fn is_utf8(&mut self) -> bool {
        *self.utf8.get_or_insert_with(|| std::str::from_utf8(self.base).is_ok())
    }

    fn remember(&mut self, back: ContentChanges) {
        self.kept_places += back.len();
        self.back.push(Some(back));
        if self.kept_places > KEPT_PLACES {
            self.back.iter_mut().for_each(|back| *back = None);
            self.kept_places = 0;
        }
    }

    /// The place where a hunk of a patch changes the content.
    fn place(&mut self, index: EditIndex, edit: &Edit, hunk: &Hunk) -> Result<EditMatches, RefusedEdit> {
        let misplaced = match hunk::apply(&self.content, hunk, &mut self.progress) {
            Ok(hunk::HunkOutcome { changes, kind }) => {
                let matches = changes.into_iter().map(|(range, text)| (range, Some(text))).collect();
                return Ok(EditMatches { matches, kind, converts: false });
            }
            Err(misplaced) => misplaced,
        };
        let missing = |message: &str| {
            let mut diagnosis =
                diagnose::diagnose(&self.content.bytes(0..self.content.len()), &hunk.old(), &edit.replacement);
            if let Some(taker) = self.taker(&hunk.old()) {
                diagnosis.cause = Some(MismatchCause::ConsumedByEdit(taker.0));
                diagnosis.suggestion = None;
                diagnosis.nearest = None;
            }
            let message = format!("{message}{}", diagnosis.advice());
            refused(index, ErrorKind::MatchNotFound, message, Detail::NoMatch(Box::new(diagnosis)))
        };
        Err(match misplaced {
            Misplaced::Nowhere => missing("the lines of the patch were not found in the file"),
            Misplaced::NoHeader(range) => {
                let message = format!(
                    "the lines of the patch stand at line {}, but not in the block that its @@ names: copy the line that \
                     the block begins with as it stands, and look at what is in the block",
                    self.content.line_at(range.start)
                );
                let detail = Detail::Matches(places(&self.content, &[range], 1));
                refused(index, ErrorKind::MatchNotFound, message, detail)
            }
            Misplaced::NotAtEdge(range) => {
                let message = format!(
                    "the lines of the patch stand at line {}, but without lines of context on both sides it belongs to \
                     the start or end of the file: add lines of context",
                    self.content.line_at(range.start)
                );
                let detail = Detail::Matches(places(&self.content, &[range], 1));
                refused(index, ErrorKind::MatchNotFound, message, detail)
            }
            Misplaced::OutOfOrder(range) => {
                let message = format!(
                    "the lines of the patch stand at line {}, in front of where the hunk before ends: put the hunks in \
                     the order of their lines, with no line in two of them",
                    self.content.line_at(range.start)
                );
                let detail = Detail::Matches(places(&self.content, &[range], 1));
                refused(index, ErrorKind::MatchNotFound, message, detail)
            }
            Misplaced::Several(ranges, total) => {
                let message = format!(
                    "the lines of the patch were found {}, and nothing says which are meant: add lines of context",
                    times(total)
                );
                refused(
                    index,
                    ErrorKind::AmbiguousMatch,
                    message,
                    Detail::Matches(places(&self.content, &ranges, total)),
                )
            }
            Misplaced::Bare => {
                let message = "the patch adds lines without a line of context, so nothing says where: add lines of \
                               context";
                refused(index, ErrorKind::AmbiguousMatch, message, Detail::None)
            }
            Misplaced::Untold => self.untold(index, &hunk.old(), &edit.replacement),
        })
    }

    /// The byte offset of a position; beyond the end of its line only if it need not be `strict`.
    fn offset(&self, at: Position, encoding: Encoding, is_end: bool, strict: bool) -> Result<usize, BadPosition> {
        let content = &self.content;
        if content.may_have_return() {
            // Each may end a line, and they are not counted: the lines are walked through.
            let text = content.bytes(0..content.len());
            let found = position::offset(&text, at, encoding, is_end && !strict)?;
            return if strict { position::verify(&text, found, at, encoding) } else { Ok(found) };
        }
        let start = if at.line == 0 { Some(content.text_start(false)) } else { content.line_start(at.line) };
        let Some(start) = start else {
            return if is_end && !strict { Ok(content.len()) } else { Err(BadPosition::Line(content.lines())) };
        };
        let end = content.next_break(start).map_or(content.len(), |(feed, _)| feed);
        position::in_line(&content.bytes(start..end), at.character, encoding, strict).map(|at| start + at)
    }

    /// The byte range between two positions given by line and character.
    fn resolve(
        &self,
        index: EditIndex,
        span: Range<Position>,
        encoding: Encoding,
        strict: bool,
    ) -> Result<Range<usize>, RefusedEdit> {
        let of = |at, is_end| {
            self.offset(at, encoding, is_end, strict).map_err(|bad| {
                let Position { line, character } = at;
                let message = match bad {
                    BadPosition::Line(lines) => format!(
                        "the position {line}:{character} is not in the file, which has {lines} lines there: \
                         make the edit again for the current file"
                    ),
                    BadPosition::Column => format!(
                        "the position {line}:{character} is beyond the end of its line: \
                         make the edit again for the current file"
                    ),
                    BadPosition::Inside => format!(
                        "the position {line}:{character} is in the middle of a character: \
                         check the position encoding, and make the edit again"
                    ),
                };
                refused(index, ErrorKind::MatchNotFound, message, Detail::None)
            })
        };
        let range = of(span.start, false)?..of(span.end, true)?;
        if range.start > range.end {
            let message = "the edit ends before it starts: make it again for the current file";
            return Err(refused(index, ErrorKind::MatchNotFound, message, Detail::None));
        }
        Ok(range)
    }

    /// Verifies that `expected` is at `range`.
    fn check(&self, index: EditIndex, range: &Range<usize>, expected: &[u8]) -> Result<Range<usize>, RefusedEdit> {
        let len = self.content.len();
        let message = if range.start > range.end || range.end > len {
            format!(
                "the range {}..{} is not in the file, which has {len} bytes there: read the file again and make the edit again",
                range.start, range.end
            )
        } else if *self.content.bytes(range.clone()) == *expected {
            return Ok(range.clone());
        } else {
            let line = self.content.line_at(range.start);
            format!(
                "the text expected at line {line} (bytes {}..{}) is not there: \
                 read the file again and make the edit again",
                range.start, range.end
            )
        };
        let diagnosis = diagnose::at_range(&self.content.bytes(0..len), range, expected);
        Err(refused(index, ErrorKind::MatchNotFound, message, Detail::NoMatch(Box::new(diagnosis))))
    }

    /// Each match, and the replacement with the line endings of that place.
    fn changes(&mut self, found: &EditMatches, replacement: &[u8]) -> ContentChanges {
        let mut changes = ContentChanges::default();
        let mut nearby = Nearby::default();
        for (range, fitted) in &found.matches {
            let text = fitted.as_deref().unwrap_or(replacement);
            let span = if found.converts && memchr(b'\n', text).is_some() {
                let endings: Vec<Ending> = breaks(&self.content.bytes(range.clone())).map(|b| b.1).collect();
                let usual = if endings.is_empty() { nearby.of(&self.content, range) } else { None };
                let text = convert(text, &endings, usual);
                self.content.add(&text)
            } else {
                self.content.add(text)
            };
            changes.push(range.clone(), span);
        }
        changes
    }
}

/// Finds the usual line ending near a match, in one pass for many matches.
#[derive(Default)]
struct Nearby {
    /// The result of the last search for a line break: where it started, and what it found.
    next: Option<(usize, Option<(usize, Ending)>)>,
    /// The last line break of the content.
    last: OnceCell<Option<Ending>>,
}

impl Nearby {
    /// The line ending for a match at `range`; ranges must come in ascending order.
    fn of(&mut self, content: &Content<'_>, range: &Range<usize>) -> Option<Ending> {
        let known = self.next.filter(|(_, found)| found.is_none_or(|(feed, _)| feed >= range.end));
        let (_, found) = known.unwrap_or_else(|| (range.end, content.next_break(range.end)));
        self.next = Some((range.end, found));
        match found {
            Some((_, ending)) => Some(ending),
            // There is none after this match, so the one before it is the last of the content, for every match.
            None => *self.last.get_or_init(|| content.previous_break(range.start)),
        }
    }
}
