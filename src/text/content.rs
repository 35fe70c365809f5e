//! A content under edit: a piece table over the base and the bytes that edits added.
//!
//! Bytes are never moved: an edit costs its search and a look at some of the pieces, whatever the size of the file.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use memchr::{memchr, memchr_iter, memmem, memrchr};

use super::newline::Ending;
use super::position::MARK;
use super::splice::{Splice, Splices};
use pieces::{NewPieces, PieceList, PlacedPiece};

mod pieces;

/// Pieces of at least this size are searched in place; shorter ones are gathered first.
const LARGE: usize = 64 << 10;

/// The number of gathered bytes searched at once; it fits the second-level cache.
const WINDOW: usize = 512 << 10;

/// The bytes per entry of a line index.
const BLOCK: usize = 16 << 10;

/// Up to this many bytes are counted without the index.
const DIRECT: usize = 2 * BLOCK;

/// A range of the source: the base, then one byte that occurs nowhere, then the added bytes.
type Span = Range<usize>;

/// Ranges of the content, ascending and disjoint, and the spans that replace them.
#[derive(Debug, Default)]
pub(super) struct ContentChanges {
    /// Each range, and the end of its spans in `spans`.
    list: Vec<(Range<usize>, usize)>,
    spans: Vec<Span>,
}

impl ContentChanges {
    /// Adds a range, which must be after all before it.
    pub(super) fn push(&mut self, range: Range<usize>, span: Option<Span>) {
        self.spans.extend(span);
        self.list.push((range, self.spans.len()));
    }

    /// The number of ranges.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The ranges.
    pub(super) fn ranges(&self) -> impl ExactSizeIterator<Item = &Range<usize>> {
        self.list.iter().map(|(range, _)| range)
    }

    fn iter(&self) -> impl Iterator<Item = (&Range<usize>, &[Span])> {
        let mut start = 0;
        self.list.iter().map(move |(range, end)| (range, &self.spans[std::mem::replace(&mut start, *end)..*end]))
    }
}

/// The number of line feeds before each block.
#[derive(Debug, Clone, Default)]
struct LineIndex(Vec<usize>);

impl LineIndex {
    /// Adds the complete blocks of `text` that were not counted yet.
    fn extend(&mut self, text: &[u8]) {
        if self.0.is_empty() {
            // A text this short is always counted directly.
            if text.len() <= DIRECT {
                return;
            }
            self.0.push(0);
        }
        while let Some(block) = text.get((self.0.len() - 1) * BLOCK..self.0.len() * BLOCK) {
            self.0.push(self.0[self.0.len() - 1] + count_feeds(block));
        }
    }

    fn count(&self, text: &[u8], range: Range<usize>) -> usize {
        if range.len() <= DIRECT {
            return count_feeds(&text[range]);
        }
        self.before(text, range.end) - self.before(text, range.start)
    }

    fn before(&self, text: &[u8], at: usize) -> usize {
        let block = at / BLOCK;
        self.0[block] + count_feeds(&text[block * BLOCK..at])
    }

    /// The place of a line feed in a range, counted from 0 there.
    fn find(&self, text: &[u8], range: Range<usize>, number: usize) -> Option<usize> {
        if range.len() <= DIRECT {
            return memchr_iter(b'\n', &text[range.clone()]).nth(number).map(|at| range.start + at);
        }
        let sought = self.before(text, range.start) + number;
        // The last block with no more before it.
        let start = (self.0.partition_point(|before| *before <= sought) - 1) * BLOCK;
        let number = sought - self.0[start / BLOCK];
        memchr_iter(b'\n', &text[start..range.end]).nth(number).map(|at| start + at)
    }
}

fn count_feeds(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}

/// A content under edit.
#[derive(Debug, Clone)]
pub(super) struct Content<'a> {
    base: &'a [u8],
    added: Vec<u8>,
    base_lines: LineIndex,
    added_lines: LineIndex,
    pieces: PieceList,
    has_crlf: bool,
    has_return: bool,
    /// The places in the base where something was left out, each with the number of its line feeds.
    gaps: &'a [(usize, usize)],
}

impl<'a> Content<'a> {
    /// The base, unedited.
    pub(super) fn new(base: &'a [u8]) -> Self {
        Self::with_gaps(base, &[])
    }

    /// A base with parts left out: `gaps` has the place of each and its line feeds, which count for the lines after it.
    pub(super) fn with_gaps(base: &'a [u8], gaps: &'a [(usize, usize)]) -> Self {
        let mut content = Self {
            base,
            added: Vec::new(),
            base_lines: LineIndex::default(),
            added_lines: LineIndex::default(),
            pieces: PieceList::default(),
            has_crlf: false,
            has_return: memchr(b'\r', base).is_some(),
            gaps,
        };
        content.has_crlf = content.has_return && memmem::find(base, b"\r\n").is_some();
        content.base_lines.extend(base);
        content.added_lines.extend(&[]);
        content.pieces = PieceList::new(base.len(), content.count_feeds(0..base.len()));
        content
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The start of the text for a patch or an anchor: after the byte-order mark, which is not part of the first line,
    /// unless the anchor itself `has_mark`.
    pub(super) fn text_start(&self, has_mark: bool) -> usize {
        let is_there = !has_mark && self.len() >= MARK.len() && *self.bytes(0..MARK.len()) == *MARK;
        if is_there { MARK.len() } else { 0 }
    }

    /// Returns whether it may contain a CRLF; `false` is certain.
    pub(super) fn may_have_crlf(&self) -> bool {
        self.has_crlf
    }

    /// Returns whether it may contain a carriage return; `false` is certain.
    pub(super) fn may_have_return(&self) -> bool {
        self.has_return
    }

    /// The number of its lines.
    pub(super) fn lines(&self) -> usize {
        1 + self.pieces.feeds()
    }

    /// Stores `bytes` for a later change and returns their span.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Option<Span> {
        self.has_return = self.has_return || memchr(b'\r', bytes).is_some();
        let from = self.base.len() + 1 + self.added.len();
        self.added.extend_from_slice(bytes);
        self.added_lines.extend(&self.added);
        (!bytes.is_empty()).then_some(from..from + bytes.len())
    }

    /// The number of `changes` whose new bytes differ from the old ones.
    pub(super) fn differing(&self, changes: &ContentChanges) -> usize {
        let differs = |(range, spans): (&Range<usize>, &[Span])| {
            let there = self.bytes(range.clone());
            let len: usize = spans.iter().map(ExactSizeIterator::len).sum();
            len != there.len() || spans.iter().flat_map(|span| self.source(span.clone())).ne(there.iter())
        };
        changes.iter().filter(|change| differs(*change)).count()
    }

    /// Makes `changes`, and returns their reverse.
    pub(super) fn replace(&mut self, changes: &ContentChanges) -> ContentChanges {
        let mut back = ContentChanges::default();
        let mut ranges = changes.ranges();
        let Some(first) = ranges.next() else { return back };
        let last = ranges.last().unwrap_or(first);
        let old = self.pieces.take(&(first.start..last.end));
        let mut walk = PieceWalk { content: self, pieces: &old.pieces, index: 0, skip: 0, feeds: 0 };
        let mut new = NewPieces::default();
        let mut done = 0;
        for (range, spans) in changes.iter() {
            // The walk does not go back: of a change that overlaps the one before, nothing would be replaced.
            assert!(done <= range.start && range.start <= range.end, "changes come in order and do not overlap");
            done = range.end;
            walk.until(range.start, |span, feeds| new.push(&span, feeds));
            let start = old.gap.at + new.len;
            walk.until(range.end, |span, _| back.spans.push(span));
            for span in spans {
                new.push(span, self.count_feeds(span.clone()));
            }
            back.list.push((start..old.gap.at + new.len, back.spans.len()));
        }
        walk.until(usize::MAX, |span, feeds| new.push(&span, feeds));
        self.pieces.put(&old.gap, &new);
        // A CRLF can also arise where two halves meet.
        self.has_crlf = self.has_crlf
            || back.ranges().any(|range| {
                let around = range.start.saturating_sub(1)..self.len().min(range.end + 1);
                memmem::find(&self.bytes(around), b"\r\n").is_some()
            });
        back
    }

    fn count_feeds(&self, span: Span) -> usize {
        match span.start.checked_sub(self.base.len() + 1) {
            Some(start) => self.added_lines.count(&self.added, start..start + span.len()),
            None => self.base_lines.count(self.base, span.clone()) + self.left_out(span),
        }
    }

    fn left_out(&self, span: Span) -> usize {
        let before = |at: usize| self.gaps.partition_point(|(gap, _)| *gap < at);
        self.gaps[before(span.start)..before(span.end)].iter().map(|(_, feeds)| feeds).sum()
    }

    fn source(&self, span: Span) -> &[u8] {
        match span.start.checked_sub(self.base.len() + 1) {
            Some(start) => &self.added[start..start + span.len()],
            None => &self.base[span],
        }
    }

    /// The bytes of a piece.
    fn piece(&self, piece: &PlacedPiece) -> &[u8] {
        self.source(piece.span())
    }

    /// The place in the source of the byte at `at`, which must be inside.
    pub(super) fn source_of(&self, at: usize) -> usize {
        self.pieces.from(at).next().map_or(usize::MAX, |piece| piece.part(&(at..at)).start)
    }

    /// The place of a byte of the source; `None` if it is not in the content any more.
    pub(super) fn place_of(&self, source: usize) -> Option<usize> {
        self.pieces.place_of(source)
    }

    /// The bytes of a range, which must be inside.
    pub(super) fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let mut pieces = self.pieces.from(range.start);
        let Some(first) = pieces.next() else { return Cow::Borrowed(&[]) };
        if range.end <= first.end() {
            return Cow::Borrowed(self.source(first.part(&range)));
        }
        let mut bytes = Vec::with_capacity(range.len());
        bytes.extend_from_slice(self.source(first.part(&(range.start..first.end()))));
        for piece in pieces.take_while(|piece| piece.at < range.end) {
            bytes.extend_from_slice(self.source(piece.part(&(piece.at..range.end.min(piece.end())))));
        }
        Cow::Owned(bytes)
    }

    /// The line of the byte at `at`, from 1.
    pub(super) fn line_at(&self, at: usize) -> usize {
        match self.pieces.from(at).next() {
            Some(piece) => 1 + piece.feeds_before + self.count_feeds(piece.part(&(piece.at..at))),
            None => 1 + self.pieces.feeds(),
        }
    }

    /// The same for ascending places: each count continues from the one before.
    pub(super) fn lines_at(&self, places: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut last: Option<(PlacedPiece, usize, usize)> = None;
        let line = |at| match last {
            Some((piece, before, line)) if at < piece.end() => {
                let line = line + self.count_feeds(piece.part(&(before..at)));
                last = Some((piece, at, line));
                line
            }
            _ => {
                let line = self.line_at(at);
                last = self.pieces.from(at).next().map(|piece| (piece, at, line));
                line
            }
        };
        places.map(line).collect()
    }

    /// The start of the line `index`, from 0; `None` if there are fewer.
    pub(super) fn line_start(&self, index: usize) -> Option<usize> {
        if index == 0 {
            return Some(0);
        }
        let piece = self.pieces.with_feed(index)?;
        let number = index - piece.feeds_before - 1;
        let span = piece.span();
        let feed = match span.start.checked_sub(self.base.len() + 1) {
            Some(start) => self.added_lines.find(&self.added, start..start + span.len(), number)? - start,
            None => self.base_lines.find(self.base, span.clone(), number)? - span.start,
        };
        Some(piece.at + feed + 1)
    }

    /// The first line feed from `from` on, and the kind of its line break.
    pub(super) fn next_break(&self, from: usize) -> Option<(usize, Ending)> {
        let at = self.pieces.from(from).find_map(|piece| {
            let skip = from.saturating_sub(piece.at);
            memchr(b'\n', &self.piece(&piece)[skip..]).map(|found| piece.at + skip + found)
        })?;
        Some((at, self.ending_at(at)))
    }

    /// The kind of the last line break before `until`.
    pub(super) fn previous_break(&self, until: usize) -> Option<Ending> {
        let before: Vec<_> = self.pieces.iter().take_while(|piece| piece.at < until).collect();
        let at = before.iter().rev().find_map(|piece| {
            let len = piece.len.min(until - piece.at);
            memrchr(b'\n', &self.piece(piece)[..len]).map(|found| piece.at + found)
        })?;
        Some(self.ending_at(at))
    }

    fn ending_at(&self, feed: usize) -> Ending {
        if feed > 0 && *self.bytes(feed - 1..feed) == *b"\r" { Ending::CrLf } else { Ending::Lf }
    }

    /// Passes the content to `look` in overlapping windows, ascending, so that each range of up to `reach` bytes is
    /// whole in at least one of them. A window comes with its start.
    pub(super) fn windows(&self, reach: usize, mut look: impl FnMut(usize, &[u8]) -> ControlFlow<()>) {
        let _ = self.try_windows(reach, &mut look);
    }

    fn try_windows(&self, reach: usize, look: &mut impl FnMut(usize, &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let large = LARGE.max(2 * reach);
        let window = WINDOW.max(4 * reach);
        let mut gathered = Vec::new();
        let mut at = 0;
        let is_whole = self.pieces.count() <= 1;
        for placed in self.pieces.iter() {
            let piece = self.piece(&placed);
            if piece.len() >= large || is_whole {
                if !gathered.is_empty() {
                    gathered.extend_from_slice(&piece[..reach]);
                    look(at, &gathered)?;
                }
                look(placed.at, piece)?;
                let tail = piece.len().saturating_sub(reach);
                gathered.clear();
                gathered.extend_from_slice(&piece[tail..]);
                at = placed.at + tail;
                continue;
            }
            gathered.extend_from_slice(piece);
            if gathered.len() >= window {
                look(at, &gathered)?;
                let done = gathered.len() - reach;
                gathered.drain(..done);
                at += done;
            }
        }
        // After a single piece only its tail is left, which was searched already.
        if is_whole { ControlFlow::Continue(()) } else { look(at, &gathered) }
    }

    /// The whole content as splices of the base.
    pub(super) fn splices(&self) -> Splices {
        let mut list = Vec::with_capacity(self.pieces.count() + 1);
        let mut old = 0;
        let mut with = Vec::new();
        for piece in self.pieces.iter() {
            if piece.from > self.base.len() {
                with.extend_from_slice(self.piece(&piece));
                continue;
            }
            list.push(Splice { range: old..piece.from, with: std::mem::take(&mut with) });
            old = piece.from + piece.len;
        }
        list.push(Splice { range: old..self.base.len(), with });
        Splices::new(self.base, list).expect("pieces of the base are never reordered, nor is one used twice")
    }
}

/// A position in a list of pieces that only moves forward.
struct PieceWalk<'p> {
    content: &'p Content<'p>,
    pieces: &'p [PlacedPiece],
    index: usize,
    /// The bytes of the piece that were passed, and their line feeds.
    skip: usize,
    feeds: usize,
}

impl PieceWalk<'_> {
    /// Moves forward to `end` in the content; `each` receives the spans on the way, and their line feeds.
    fn until(&mut self, end: usize, mut each: impl FnMut(Span, usize)) {
        while let Some(piece) = self.pieces.get(self.index) {
            let stop = end.saturating_sub(piece.at).min(piece.len);
            if stop <= self.skip {
                break;
            }
            let span = piece.from + self.skip..piece.from + stop;
            // What is left of a piece has what is left of its line feeds: only what is before a change is counted.
            let is_rest = stop == piece.len;
            let feeds = if is_rest { piece.feeds - self.feeds } else { self.content.count_feeds(span.clone()) };
            each(span, feeds);
            (self.skip, self.feeds) = if is_rest { (0, 0) } else { (stop, self.feeds + feeds) };
            self.index += usize::from(is_rest);
        }
    }
}
