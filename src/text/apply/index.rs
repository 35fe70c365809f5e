//! The places of many texts, found in one pass over the content, and kept up to date by each change of it.
//!
//! Of each text the longest line is looked for. Where it begins is kept as a place in the source, which no change
//! elsewhere moves. Wherever it is now, either it was there from the start, and the first pass found it; or it contains
//! or touches what a change put there, and what is around each change is searched after it.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;

use crate::request::edit::{Anchor, Edit};
use crate::text::content::Content;
use crate::text::locate::Needle;

/// Fewer texts are quicker searched one by one.
const MANY: usize = 128;

/// So is a content of less than so many bytes.
const LARGE: usize = 128 << 10;

/// The most bytes of a text that are looked for.
const LONGEST: usize = 64;

/// The most places that are kept of one text: one that is in more is searched in the whole content.
const PLACES: usize = 256;

/// Where many texts are in a content.
#[derive(Debug)]
pub(super) struct AnchorIndex<'e> {
    finder: AhoCorasick,
    /// The number of each text.
    numbers: HashMap<&'e [u8], usize>,
    /// By number, the places of a text in the source, in no order; `None` if there are too many. It need not be there
    /// any more.
    places: Vec<Option<Vec<usize>>>,
}

impl<'e> AnchorIndex<'e> {
    /// The places of the texts of `edits` in `content`; `None` if it is quicker to search for each by itself.
    pub(super) fn new(edits: &'e [Edit], content: &Content<'_>) -> Option<Self> {
        if edits.len() < MANY || content.len() < LARGE {
            return None;
        }
        let mut numbers = HashMap::new();
        let mut texts = Vec::new();
        for edit in edits {
            let Anchor::Text { text, .. } = &edit.anchor else { continue };
            let sought = sought(&Needle::new(text));
            if !sought.is_empty() && !numbers.contains_key(sought) {
                numbers.insert(sought, texts.len());
                texts.push(sought);
            }
        }
        if texts.len() < MANY {
            return None;
        }
        let places = vec![Some(Vec::new()); texts.len()];
        let mut index = Self { finder: AhoCorasick::new(&texts).ok()?, numbers, places };
        index.look(content, &(0..content.len()));
        Some(index)
    }

    /// Brings the places up to date after a change of these ranges of the content.
    pub(super) fn update<'r>(
        &mut self,
        content: &Content<'_>,
        changed: impl ExactSizeIterator<Item = &'r Range<usize>>,
    ) {
        if changed.len() * 2 * LONGEST < content.len() {
            return changed.for_each(|changed| self.look(content, changed));
        }
        // Of so many one pass over everything takes less.
        for places in &mut self.places {
            *places = Some(Vec::new());
        }
        self.look(content, &(0..content.len()));
    }

    /// Adds the places that contain bytes of `changed`, or touch both sides of where something was removed.
    fn look(&mut self, content: &Content<'_>, changed: &Range<usize>) {
        let start = changed.start.saturating_sub(LONGEST);
        let around = content.bytes(start..content.len().min(changed.end + LONGEST));
        for found in self.finder.find_overlapping_iter(&*around) {
            let place = start + found.start()..start + found.end();
            let list = &mut self.places[found.pattern().as_usize()];
            if let Some(places) = list.as_mut().filter(|_| place.start < changed.end && place.end > changed.start) {
                places.push(content.source_of(place.start));
                if places.len() > PLACES {
                    *list = None;
                }
            }
        }
    }

    /// Where the longest line of `needle` may be in `content`, ascending: all its places are among them. `None` if that
    /// is not known.
    pub(super) fn places(&self, needle: &Needle<'_>, content: &Content<'_>) -> Option<Vec<usize>> {
        let places = self.places[*self.numbers.get(sought(needle))?].as_ref()?;
        let mut places: Vec<_> = places.iter().filter_map(|source| content.place_of(*source)).collect();
        places.sort_unstable();
        places.dedup();
        Some(places)
    }
}

/// What is looked for of an anchor; empty if it has only line breaks.
fn sought<'n>(needle: &Needle<'n>) -> &'n [u8] {
    let pivot = needle.pivot();
    &pivot[..pivot.len().min(LONGEST)]
}
