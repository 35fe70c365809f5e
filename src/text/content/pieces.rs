//! The pieces of a content, in its order.
//!
//! They are in chunks, each with its length and its line feeds: a change of one place looks at the chunks, and moves the
//! pieces of one of them, however many there are.

use std::cell::Cell;
use std::ops::Range;

use super::Span;

/// The pieces in a chunk; one that has twice as many is divided.
const CHUNK: usize = 128;

/// A stretch of the content.
#[derive(Debug, Clone, Copy)]
struct ContentPiece {
    /// Its place in the source.
    from: usize,
    len: usize,
    /// The number of line feeds in it.
    feeds: usize,
}

/// A stretch of the content, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedPiece {
    /// Its place in the source.
    pub(super) from: usize,
    pub(super) len: usize,
    /// The number of line feeds in it.
    pub(super) feeds: usize,
    /// Its place in the content.
    pub(super) at: usize,
    /// The number of line feeds before it.
    pub(super) feeds_before: usize,
}

impl PlacedPiece {
    /// Its end in the content.
    pub(super) fn end(&self) -> usize {
        self.at + self.len
    }

    /// Its place in the source.
    pub(super) fn span(&self) -> Span {
        self.from..self.from + self.len
    }

    /// The place in the source of a range of the content, which must be in it.
    pub(super) fn part(&self, range: &Range<usize>) -> Span {
        self.from + (range.start - self.at)..self.from + (range.end - self.at)
    }
}

#[derive(Debug, Clone)]
struct Chunk {
    pieces: Vec<ContentPiece>,
    len: usize,
    feeds: usize,
    /// The end of its last piece of the base; 0 if it has none.
    base_end: usize,
}

/// Pieces in their order, none of them empty. Those of the base are in the order of the base.
#[derive(Debug, Clone, Default)]
pub(super) struct PieceList {
    chunks: Vec<Chunk>,
    len: usize,
    feeds: usize,
    base_len: usize,
    /// The chunk that was found last: the next one sought is often near.
    last: Cell<PiecePlace>,
}

impl PieceList {
    /// The whole base, with so many line feeds.
    pub(super) fn new(base_len: usize, feeds: usize) -> Self {
        let mut list = Self { base_len, ..Self::default() };
        let mut whole = NewPieces::default();
        whole.push(&(0..base_len), feeds);
        list.put(&PieceGap { index: 0, within: None, at: 0 }, &whole);
        list
    }

    /// The length of the content.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of its line feeds.
    pub(super) fn feeds(&self) -> usize {
        self.feeds
    }

    /// The number of pieces.
    pub(super) fn count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.pieces.len()).sum()
    }

    /// All pieces.
    pub(super) fn iter(&self) -> impl Iterator<Item = PlacedPiece> {
        PiecePlace::default().pieces(&self.chunks)
    }

    /// The pieces from the one that contains the byte at `at`.
    pub(super) fn from(&self, at: usize) -> impl Iterator<Item = PlacedPiece> {
        let start = self.chunk(|_, end, _| end <= at).beyond(&self.chunks, |end| end <= at);
        start.pieces(&self.chunks)
    }

    /// The piece that contains a line feed, counted from 1.
    pub(super) fn with_feed(&self, number: usize) -> Option<PlacedPiece> {
        self.after(|_, _, feeds| feeds < number).find(|piece| piece.feeds_before + piece.feeds >= number)
    }

    /// The place in the content of a byte of the source; `None` if it is not there any more.
    pub(super) fn place_of(&self, source: usize) -> Option<usize> {
        let is_base = source < self.base_len;
        let mut pieces = self.after(|chunk, _, _| is_base && chunk.base_end <= source);
        let later = |piece: &PlacedPiece| is_base && piece.from < self.base_len && piece.from > source;
        let piece = pieces.find(|piece| piece.span().contains(&source) || later(piece))?;
        piece.span().contains(&source).then(|| piece.at + (source - piece.from))
    }

    /// The pieces after the chunks at the start that `is_before` says yes to.
    fn after(&self, is_before: impl Fn(&Chunk, usize, usize) -> bool) -> impl Iterator<Item = PlacedPiece> {
        self.chunk(is_before).pieces(&self.chunks)
    }

    /// The first chunk that `is_before` says no to. It receives the end of each, and the number of line feeds up to there. What
    /// it says yes to comes first, but for chunks without a piece of the base.
    fn chunk(&self, is_before: impl Fn(&Chunk, usize, usize) -> bool) -> PiecePlace {
        let last = self.last.get();
        let before = last.chunk.checked_sub(1).and_then(|before| self.chunks.get(before));
        let goes_on = before.is_some_and(|chunk| chunk.base_end > 0 && is_before(chunk, last.at, last.feeds));
        let mut place = if goes_on { last } else { PiecePlace::default() };
        while let Some(chunk) = self.chunks.get(place.chunk)
            && is_before(chunk, place.at + chunk.len, place.feeds + chunk.feeds)
        {
            (place.at, place.feeds) = (place.at + chunk.len, place.feeds + chunk.feeds);
            place.chunk += 1;
        }
        // Changes begin at a place that was found like this: what is in front of the last one stays as it is.
        self.last.set(place);
        place
    }

    /// Takes out the pieces in a range of the content and those that touch it; of a range in several chunks, all of these.
    pub(super) fn take(&mut self, range: &Range<usize>) -> TakenPieces {
        // A chunk that ends where the range starts is meant: its last piece may go on there.
        let start = self.chunk(|_, end, _| end < range.start);
        let PiecePlace { chunk: index, at, .. } = start;
        let taken = match self.chunks.get(index) {
            Some(chunk) if range.end <= at + chunk.len => {
                let PiecePlace { piece: first, at, feeds, .. } = start.beyond(&self.chunks, |end| end < range.start);
                let pieces = placed(chunk.pieces[first..].iter(), at, feeds);
                let pieces: Vec<_> = pieces.take_while(|piece| piece.at <= range.end).collect();
                self.chunks[index].drain(first..first + pieces.len());
                TakenPieces { pieces, gap: PieceGap { index, within: Some(first), at } }
            }
            _ => {
                let (mut stop, mut end) = (index, at);
                while let Some(chunk) = self.chunks.get(stop)
                    && end < range.end
                {
                    end += chunk.len;
                    stop += 1;
                }
                let pieces = start.pieces(&self.chunks[..stop]).collect();
                self.chunks.drain(index..stop);
                TakenPieces { pieces, gap: PieceGap { index, within: None, at } }
            }
        };
        self.len -= taken.pieces.iter().map(|piece| piece.len).sum::<usize>();
        self.feeds -= taken.pieces.iter().map(|piece| piece.feeds).sum::<usize>();
        taken
    }

    /// Puts `pieces` where others were taken out.
    pub(super) fn put(&mut self, gap: &PieceGap, pieces: &NewPieces) {
        let list = &pieces.list[..];
        self.len += pieces.len;
        self.feeds += list.iter().map(|piece| piece.feeds).sum::<usize>();
        let Some(within) = gap.within else { return self.divide(gap.index..gap.index, list) };
        let chunk = &mut self.chunks[gap.index];
        chunk.insert(within, list, self.base_len);
        if !(1..2 * CHUNK).contains(&chunk.pieces.len()) {
            let pieces = std::mem::take(&mut chunk.pieces);
            self.divide(gap.index..gap.index + 1, &pieces);
        }
    }

    /// Replaces chunks by those of `pieces`.
    fn divide(&mut self, chunks: Range<usize>, pieces: &[ContentPiece]) {
        let size = if pieces.len() < 2 * CHUNK { pieces.len().max(1) } else { CHUNK };
        let divided = pieces.chunks(size).map(|pieces| {
            let mut chunk = Chunk { pieces: Vec::new(), len: 0, feeds: 0, base_end: 0 };
            chunk.insert(0, pieces, self.base_len);
            chunk
        });
        let divided: Vec<_> = divided.collect();
        self.chunks.splice(chunks, divided);
    }
}

impl Chunk {
    /// Takes pieces out; until others are put there, only their sums are right.
    fn drain(&mut self, pieces: Range<usize>) {
        for piece in self.pieces.drain(pieces) {
            self.len -= piece.len;
            self.feeds -= piece.feeds;
        }
    }

    /// Puts pieces in front of the one with this index.
    fn insert(&mut self, index: usize, pieces: &[ContentPiece], base_len: usize) {
        self.pieces.splice(index..index, pieces.iter().copied());
        self.len += pieces.iter().map(|piece| piece.len).sum::<usize>();
        self.feeds += pieces.iter().map(|piece| piece.feeds).sum::<usize>();
        let last_of_base = self.pieces.iter().rev().find(|piece| piece.from < base_len);
        self.base_end = last_of_base.map_or(0, |piece| piece.from + piece.len);
    }
}

/// A place between pieces.
#[derive(Debug, Clone, Copy, Default)]
struct PiecePlace {
    /// The index of the chunk, and of the piece in it.
    chunk: usize,
    piece: usize,
    /// The place in the content, and the number of line feeds before it.
    at: usize,
    feeds: usize,
}

impl PiecePlace {
    /// The place after the next pieces of this chunk that `is_before` says yes to, by the end of each.
    fn beyond(mut self, chunks: &[Chunk], is_before: impl Fn(usize) -> bool) -> Self {
        let pieces = chunks.get(self.chunk).map_or(&[][..], |chunk| &chunk.pieces[self.piece..]);
        for piece in pieces {
            if !is_before(self.at + piece.len) {
                break;
            }
            (self.at, self.feeds) = (self.at + piece.len, self.feeds + piece.feeds);
            self.piece += 1;
        }
        self
    }

    /// The pieces from here on.
    fn pieces(self, chunks: &[Chunk]) -> impl Iterator<Item = PlacedPiece> {
        let mut rest = chunks.get(self.chunk..).unwrap_or_default().iter();
        let first = rest.next().map_or(&[][..], |chunk| &chunk.pieces[self.piece..]);
        placed(first.iter().chain(rest.flat_map(|chunk| &chunk.pieces)), self.at, self.feeds)
    }
}

/// The pieces, the first of which starts at `at` and has `feeds` line feeds before it.
fn placed<'p>(
    pieces: impl Iterator<Item = &'p ContentPiece>,
    at: usize,
    feeds: usize,
) -> impl Iterator<Item = PlacedPiece> {
    pieces.scan((at, feeds), |(at, feeds_before), piece| {
        let &ContentPiece { from, len, feeds } = piece;
        let placed = PlacedPiece { from, len, feeds, at: *at, feeds_before: *feeds_before };
        *at += len;
        *feeds_before += feeds;
        Some(placed)
    })
}

/// Pieces that were taken out of a list.
#[derive(Debug)]
pub(super) struct TakenPieces {
    pub(super) pieces: Vec<PlacedPiece>,
    pub(super) gap: PieceGap,
}

/// Where pieces were taken out.
#[derive(Debug)]
pub(super) struct PieceGap {
    /// The index of the chunk it is in, or of the one behind it.
    index: usize,
    /// The index of the piece behind it, if it is in a chunk.
    within: Option<usize>,
    /// Its place in the content.
    pub(super) at: usize,
}

/// Pieces to put into a list.
#[derive(Debug, Default)]
pub(super) struct NewPieces {
    list: Vec<ContentPiece>,
    /// The length of all.
    pub(super) len: usize,
}

impl NewPieces {
    /// Adds the piece at `span`, which may continue the last one.
    pub(super) fn push(&mut self, span: &Span, feeds: usize) {
        if span.is_empty() {
            return;
        }
        self.len += span.len();
        match self.list.last_mut() {
            Some(last) if last.from + last.len == span.start => {
                last.len += span.len();
                last.feeds += feeds;
            }
            _ => self.list.push(ContentPiece { from: span.start, len: span.len(), feeds }),
        }
    }
}
