//! Edits a large content without loading it into memory.
//!
//! One pass over it finds the places of anchors. The excerpt is what surrounds those places, far enough that no edit
//! sees beyond it: the edits are made on it as if it were everything, and the splices are then moved to their places.
//!
//! An anchor is searched in the result of the edits before it. A match there either was in the content from the start,
//! and then the pass found it; or it contains or touches text that one of those edits inserted, and then it is no
//! further from a place that the pass found than all anchors together are long. So both are in the excerpt. Parts that
//! are adjacent in the excerpt but not in the content are separated by a byte that occurs in no text.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use memchr::memchr;

use super::locate::{Needle, OverlapRule};
use super::splice::{Splice, Splices};
use super::{Edited, RefusedEdit, apply};
use crate::request::edit::{Anchor, Edit, Matching};

/// The additional bytes around each place: for the lines that an answer shows, and for the usual line break there.
const AROUND: usize = 8 << 10;

/// The most bytes of an excerpt; a content that needs more is loaded whole.
const MOST: usize = 16 << 20;

/// The number of anchors up to which each is searched by itself, which is quicker than one pass for all.
const FEW: usize = 3;

/// The byte that separates parts that are not adjacent. A content that contains it is no text, and is refused.
const APART: u8 = 0;

/// A pass over a content for a list of edits.
#[derive(Debug)]
pub struct Survey<'e> {
    edits: &'e [Edit],
    needles: Vec<Needle<'e>>,
    /// All pivots at once, if there are many.
    pivots: Option<AhoCorasick>,
    /// The length of the longest match.
    reach: usize,
    /// The length of all anchors together: nothing further from a place can be touched.
    touched: usize,
    /// The bytes around a place that are in the excerpt.
    margin: usize,
    /// The last `reach` bytes fed, and room for the next ones.
    window: Vec<u8>,
    fed: usize,
    /// Disjoint and ascending.
    islands: Vec<Island>,
    has_nul: bool,
    utf8: Option<Utf8>,
}

/// A stretch of the content that is in the excerpt.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Island {
    range: Range<usize>,
    /// The end of the last place in it.
    last: usize,
}

/// The parts of a content that edits can change, with their surroundings.
#[derive(Debug)]
pub struct Excerpt {
    /// The stretches, separated.
    base: Vec<u8>,
    /// The place of each stretch in the content and in the base.
    stretches: Vec<(Range<usize>, usize)>,
    /// The places in the base where something was left out, each with the number of its line feeds.
    gaps: Vec<(usize, usize)>,
    has_nul: bool,
    is_utf8: bool,
}

impl<'e> Survey<'e> {
    /// The pass for `edits` of a content of `size` bytes; `None` if they need more than an excerpt.
    #[must_use]
    pub fn new(edits: &'e [Edit], size: u64) -> Option<Self> {
        // What surrounds so many places may be everything.
        let is_dense = edits.len() as u64 * AROUND as u64 >= size && size <= MOST as u64;
        if is_dense { None } else { Self::with(edits, AROUND) }
    }

    fn with(edits: &'e [Edit], around: usize) -> Option<Self> {
        let mut needles = Vec::with_capacity(edits.len());
        for edit in edits {
            match &edit.anchor {
                Anchor::Text { text, matching: Matching::Exact, .. } if !text.is_empty() && !text.contains(&APART) => {
                    needles.push(Needle::new(text));
                }
                _ => return None,
            }
        }
        if needles.iter().any(|needle| needle.pivot().is_empty()) {
            return None;
        }
        let pivots = if needles.len() > FEW {
            let all = needles.iter().map(Needle::pivot);
            Some(AhoCorasickBuilder::new().match_kind(MatchKind::LeftmostFirst).build(all).ok()?)
        } else {
            None
        };
        let touched = needles.iter().map(Needle::reach).sum();
        let needs_utf8 = edits.iter().any(|edit| !edit.replacement.is_ascii());
        Some(Self {
            edits,
            pivots,
            reach: needles.iter().map(Needle::reach).max()?,
            needles,
            touched,
            margin: touched + around,
            window: Vec::new(),
            fed: 0,
            islands: Vec::new(),
            has_nul: false,
            utf8: needs_utf8.then(Utf8::default),
        })
    }

    /// Takes the next bytes of the content.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.has_nul |= memchr(APART, chunk).is_some();
        if let Some(utf8) = &mut self.utf8 {
            utf8.feed(chunk);
        }
        let at = self.fed - self.window.len();
        self.window.extend_from_slice(chunk);
        self.fed += chunk.len();
        let (margin, islands) = (self.margin, &mut self.islands);
        let mut found = Vec::new();
        match &self.pivots {
            // Pivots that overlap another one are within its margin.
            Some(pivots) => found.extend(pivots.find_iter(&self.window).map(|hit| at + hit.start()..at + hit.end())),
            None => {
                for needle in &self.needles {
                    needle.each_in_text(&self.window, OverlapRule::Skipped, |range| {
                        found.push(at + range.start..at + range.end);
                        std::ops::ControlFlow::Continue(())
                    });
                }
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        for range in found {
            add(islands, range, margin);
        }
        let done = self.window.len().saturating_sub(self.reach);
        self.window.drain(..done);
    }

    /// The parts that the edits can touch, read again by `read`; `None` if they are too large. `feeds` counts the line
    /// feeds of a range.
    pub fn excerpt<E>(
        mut self,
        mut read: impl FnMut(Range<usize>) -> Result<Vec<u8>, E>,
        mut feeds: impl FnMut(Range<usize>) -> Result<usize, E>,
    ) -> Result<Option<Excerpt>, E> {
        let size = self.fed;
        for island in &mut self.islands {
            island.range.end = island.range.end.min(size);
        }
        if self.islands.iter().map(|island| island.range.len()).sum::<usize>() > MOST {
            return Ok(None);
        }
        let breaks = self.edits.iter().any(|edit| memchr(b'\n', &edit.replacement).is_some());
        let is_utf8 = self.utf8.take().is_none_or(Utf8::finish);
        let mut excerpt =
            Excerpt { base: Vec::new(), stretches: Vec::new(), gaps: Vec::new(), has_nul: self.has_nul, is_utf8 };
        let mut end = 0;
        for island in std::mem::take(&mut self.islands) {
            let bytes = read(island.range.clone())?;
            if breaks && bytes.len() < size && !self.shows_a_break(&island, &bytes, size) {
                return Ok(None);
            }
            if island.range.start > end {
                excerpt.gaps.push((excerpt.base.len(), feeds(end..island.range.start)?));
                excerpt.base.push(APART);
            }
            excerpt.stretches.push((island.range.clone(), excerpt.base.len()));
            excerpt.base.extend_from_slice(&bytes);
            end = island.range.end;
        }
        if end < size {
            excerpt.base.push(APART);
        }
        Ok(Some(excerpt))
    }
}

impl Survey<'_> {
    /// Returns whether an island contains the line break that decides the line ending at its places, out of reach of
    /// any edit: the next one, or the last one of the content.
    fn shows_a_break(&self, island: &Island, bytes: &[u8], size: usize) -> bool {
        let after = bytes.get(island.last + self.touched - island.range.start..).unwrap_or_default();
        // Of a line feed in front of which the content was cut off, nothing tells whether it ends a CRLF.
        let cut = usize::from(island.range.start > 0);
        let before = bytes.get(cut..(self.margin - self.touched).min(bytes.len())).unwrap_or_default();
        memchr(b'\n', after).is_some() || island.range.end == size && memchr(b'\n', before).is_some()
    }
}

/// Adds a place and its surroundings to the islands before it.
fn add(islands: &mut Vec<Island>, place: Range<usize>, margin: usize) {
    let range = place.start.saturating_sub(margin)..place.end + margin;
    let mut added = Island { range, last: place.end };
    // Bytes fed twice can give one match more, slightly before the last place.
    while let Some(before) = islands.pop_if(|before| before.range.end >= added.range.start) {
        added.range = before.range.start.min(added.range.start)..before.range.end.max(added.range.end);
        added.last = before.last.max(added.last);
    }
    islands.push(added);
}

impl Excerpt {
    /// Applies `edits`, the same as those of the survey. If an anchor is not found, only the whole content tells why.
    pub fn edit(&self, edits: &[Edit]) -> Result<Edited, RefusedEdit> {
        if self.has_nul {
            return Err(apply::not_text());
        }
        let Edited { splices, applied } = apply::edit_excerpt(&self.base, &self.gaps, self.is_utf8, edits)?;
        let moved = splices.iter().map(|splice| {
            let index = self.stretches.partition_point(|(_, at)| *at <= splice.range.start) - 1;
            let (stretch, at) = &self.stretches[index];
            let start = stretch.start + (splice.range.start - at);
            Splice { range: start..start + splice.range.len(), with: splice.with.clone() }
        });
        Ok(Edited { splices: Splices::moved(moved.collect()), applied })
    }
}

/// Checks whether the bytes fed are UTF-8.
#[derive(Debug, Default)]
struct Utf8 {
    /// The start of a character whose end is still to come.
    begun: Vec<u8>,
    broken: bool,
}

impl Utf8 {
    fn feed(&mut self, mut chunk: &[u8]) {
        while !self.begun.is_empty() && !self.broken && !chunk.is_empty() {
            self.begun.push(chunk[0]);
            chunk = &chunk[1..];
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) => self.broken = error.error_len().is_some(),
            }
        }
        if let Err(error) = std::str::from_utf8(chunk) {
            match error.error_len() {
                Some(_) => self.broken = true,
                None => self.begun = chunk[error.valid_up_to()..].to_vec(),
            }
        }
    }

    fn finish(self) -> bool {
        !self.broken && self.begun.is_empty()
    }
}

#[cfg(test)]
mod tests;
