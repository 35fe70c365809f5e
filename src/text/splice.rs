//! Replacements of byte ranges, validated on construction.

use std::ops::Range;

/// A byte range of a content, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The range in the old content.
    pub range: Range<usize>,
    /// The new bytes.
    pub with: Vec<u8>,
}

/// Splices of one content: sorted, disjoint and not adjacent, each with an effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splices {
    list: Vec<Splice>,
}

/// Why a list of splices is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSplices {
    /// A range that ends before it starts, or beyond the content.
    #[error("the range {0:?} is not in the content")]
    OutOfBounds(Range<usize>),
    /// A range that starts before the previous one ends.
    #[error("the range {0:?} overlaps the one before it, or comes before it")]
    Unsorted(Range<usize>),
}

/// A stretch of the new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Unchanged: a range of the old content, never empty.
    Old(Range<usize>),
    /// New bytes, never empty.
    New(&'a [u8]),
}

impl Splices {
    /// No splices.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Validates that `splices` are sorted, disjoint and inside `old`; joins adjacent ones and drops those without
    /// effect.
    pub fn new(old: &[u8], mut splices: Vec<Splice>) -> Result<Self, BadSplices> {
        let mut end = 0;
        for Splice { range, .. } in &splices {
            if range.start > range.end || range.end > old.len() {
                return Err(BadSplices::OutOfBounds(range.clone()));
            }
            if range.start < end {
                return Err(BadSplices::Unsorted(range.clone()));
            }
            end = range.end;
        }
        let changes = |splice: &Splice| old[splice.range.clone()] != splice.with[..];
        splices.retain(changes);
        splices.dedup_by(|next, last| {
            let touches = last.range.end == next.range.start;
            if touches {
                last.range.end = next.range.end;
                last.with.append(&mut next.with);
            }
            touches
        });
        // Two with an effect may have none together: an `a` removed before an `a` inserted.
        splices.retain(changes);
        splices.shrink_to_fit();
        Ok(Self::apart(splices))
    }

    /// Valid splices of a part of a content, at their places in the whole.
    pub(super) fn moved(list: Vec<Splice>) -> Self {
        Self::apart(list)
    }

    fn apart(list: Vec<Splice>) -> Self {
        assert!(
            list.is_sorted_by(|a, b| a.range.end < b.range.start),
            "splices are sorted, and bytes that stay are between them"
        );
        Self { list }
    }

    /// Returns whether the new content equals the old one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The splices in ascending order.
    pub fn iter(&self) -> std::slice::Iter<'_, Splice> {
        self.list.iter()
    }

    /// The length of the new content.
    #[must_use]
    pub fn new_len(&self, old_len: usize) -> usize {
        self.list.iter().fold(old_len, |len, s| len - s.range.len() + s.with.len())
    }

    /// The new content in order, as stretches of the old one and new bytes; `old_len` is the old content's length.
    ///
    /// This is how a large file is staged: old stretches are copied from file to file, or shared.
    ///
    /// # Panics
    ///
    /// If the old content is shorter than the one that the splices were made for.
    pub fn pieces(&self, old_len: usize) -> impl Iterator<Item = Piece<'_>> {
        let mut at = 0;
        let changed = self.list.iter().flat_map(move |splice| {
            let before = Piece::Old(at..splice.range.start);
            at = splice.range.end;
            [before, Piece::New(&splice.with)]
        });
        let end = self.list.last().map_or(0, |s| s.range.end);
        // Else the new content would be cut short, and nobody would notice.
        assert!(end <= old_len, "splices are applied to the content that they were checked with");
        let rest = end..old_len;
        changed.chain(std::iter::once(Piece::Old(rest))).filter(|piece| match piece {
            Piece::Old(range) => !range.is_empty(),
            Piece::New(bytes) => !bytes.is_empty(),
        })
    }

    /// Passes the new content to `sink` in chunks of this many bytes, the last one shorter, so that many small pieces
    /// are not hashed and written one by one.
    ///
    /// # Panics
    ///
    /// If `chunk` is 0, or as [`pieces`](Self::pieces).
    pub fn in_chunks<E>(
        &self,
        old: &[u8],
        chunk: usize,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(chunk > 0, "a chunk has room for a byte");
        let mut gathered = Vec::with_capacity(self.new_len(old.len()).min(chunk));
        for piece in self.pieces(old.len()) {
            let mut bytes = match piece {
                Piece::Old(range) => &old[range],
                Piece::New(bytes) => bytes,
            };
            while gathered.len() + bytes.len() >= chunk {
                let (now, later) = bytes.split_at(chunk - gathered.len());
                if gathered.is_empty() {
                    sink(now)?;
                } else {
                    gathered.extend_from_slice(now);
                    sink(&gathered)?;
                    gathered.clear();
                }
                bytes = later;
            }
            gathered.extend_from_slice(bytes);
        }
        if gathered.is_empty() { Ok(()) } else { sink(&gathered) }
    }

    /// The whole new content.
    ///
    /// # Panics
    ///
    /// If the old content is shorter than the one that the splices were made for.
    #[must_use]
    pub fn apply(&self, old: &[u8]) -> Vec<u8> {
        let mut new = Vec::with_capacity(self.new_len(old.len()));
        for piece in self.pieces(old.len()) {
            match piece {
                Piece::Old(range) => new.extend_from_slice(&old[range]),
                Piece::New(bytes) => new.extend_from_slice(bytes),
            }
        }
        assert_eq!(new.len(), self.new_len(old.len()), "the pieces are the new content");
        new
    }
}

impl<'a> IntoIterator for &'a Splices {
    type Item = &'a Splice;
    type IntoIter = std::slice::Iter<'a, Splice>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splice(range: Range<usize>, with: &str) -> Splice {
        Splice { range, with: with.into() }
    }

    #[test]
    fn adjacent_splices_are_joined_and_those_without_effect_dropped() {
        let splices =
            Splices::new(b"abcdef", vec![splice(0..1, "x"), splice(1..2, "y"), splice(3..4, "d"), splice(6..6, "!")]);
        let splices = splices.unwrap();
        assert_eq!(splices.iter().cloned().collect::<Vec<_>>(), [splice(0..2, "xy"), splice(6..6, "!")]);
        assert_eq!(splices.apply(b"abcdef"), b"xycdef!");
        assert_eq!(splices.new_len(6), 7);
        let pieces: Vec<_> = splices.pieces(6).collect();
        assert_eq!(pieces, [Piece::New(b"xy"), Piece::Old(2..6), Piece::New(b"!")]);
        for size in 1..9 {
            let mut chunks = Vec::new();
            let sink = |chunk: &[u8]| {
                chunks.push(chunk.to_vec());
                Ok::<_, ()>(())
            };
            splices.in_chunks(b"abcdef", size, sink).unwrap();
            assert_eq!(chunks, b"xycdef!".chunks(size).map(<[u8]>::to_vec).collect::<Vec<_>>(), "{size}");
        }
    }

    #[test]
    fn splices_that_cancel_each_other_are_dropped() {
        let splices = Splices::new(b"aa", vec![splice(0..1, ""), splice(1..1, "a")]).unwrap();
        assert!(splices.is_empty());
        assert_eq!(splices.pieces(2).collect::<Vec<_>>(), [Piece::Old(0..2)]);
        assert_eq!(Splices::none().pieces(0).count(), 0);
    }

    #[test]
    #[should_panic(expected = "the content that they were checked with")]
    fn splices_are_not_applied_to_a_shorter_content() {
        let splices = Splices::new(b"abc", vec![splice(2..3, "x")]).unwrap();
        let _ = splices.pieces(2);
    }

    #[test]
    fn bad_lists_are_refused() {
        let unsorted = Splices::new(b"abc", vec![splice(1..3, "x"), splice(2..3, "y")]);
        assert_eq!(unsorted, Err(BadSplices::Unsorted(2..3)));
        assert_eq!(Splices::new(b"abc", vec![splice(2..4, "x")]), Err(BadSplices::OutOfBounds(2..4)));
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let reversed = splice(2..1, "x");
        assert!(Splices::new(b"abc", vec![reversed]).is_err());
    }
}
