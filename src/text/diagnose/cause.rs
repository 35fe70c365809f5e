//! Provable causes: with the difference folded away in both texts, the anchor is found.

use std::ops::{ControlFlow, Range};

use memchr::memmem;

use super::elision::elided;
use super::fold::{Folded, Folds};
use super::guess::nearest_place;
use super::nearest::{Region, back, forward, reach, regions};
use super::overlap;
use super::reading::{AnchorReading, readings};
use crate::error::MismatchCause;
use crate::text::locate::{Needle, OverlapRule};

/// The most regions in which a cause is searched.
const REGIONS: usize = 12;

/// The most readings whose nearest place is searched.
const SEARCHED: usize = 5;

/// The number of lines around a region that are searched as well.
const AROUND: usize = 2;

const ALL: Folds = Folds { escapes: true, ..SEEN };
pub(super) const SEEN: Folds = Folds { spaces: true, ..LOOK_ALIKES };
pub(super) const SPACES: Folds = Folds { spaces: true, ..Folds::NONE };
const LOOK_ALIKES: Folds = Folds { look_alikes: true, accents: true, ..Folds::NONE };
const QUOTES: Folds = Folds { quotes: true, ..SEEN };

/// The findings about an anchor.
pub(super) struct AnchorDiagnosis {
    /// The most similar lines, or the part of them that is nearest.
    pub(super) nearest: Range<usize>,
    /// The nearest place, if it is the only one that near.
    pub(super) guess: Option<Range<usize>>,
    pub(super) explained: Option<Explained>,
}

/// A text that differs from the anchor in a way that has a name.
pub(super) struct Explained {
    pub(super) cause: MismatchCause,
    pub(super) range: Range<usize>,
    /// True if no other place is known that differs in this way.
    pub(super) is_only: bool,
}

/// Searches the text that `anchor` meant. A truncated anchor is not explained.
pub(super) fn explain(state: &[u8], anchor: &[u8], is_whole: bool) -> AnchorDiagnosis {
    let readings = readings(anchor);
    if is_whole && let Some(explained) = readings.iter().find_map(|reading| exact(state, reading)) {
        return AnchorDiagnosis { nearest: explained.range.clone(), guess: None, explained: Some(explained) };
    }
    let mut texts = vec![anchor];
    texts.extend(readings.iter().map(|reading| &*reading.text));
    let places = texts.iter().take(SEARCHED).filter_map(|text| nearest_place(state, text));
    // Of readings that are as good, the first.
    let place = places.reduce(|best, other| if other.share > best.share { other } else { best });
    let mut regions = regions(state, &texts);
    if let Some(place) = &place {
        regions.insert(0, Region { range: place.range.clone(), similarity: place.share });
    }
    let explained = is_whole.then(|| {
        let as_it_is = || folded(state, &regions, anchor, SEEN, None);
        let as_read =
            || readings.iter().find_map(|reading| folded(state, &regions, &reading.text, SEEN, Some(reading.cause)));
        let escaped = || folded(state, &regions, anchor, ALL, None);
        let quoted = || folded(state, &regions, anchor, QUOTES, Some(MismatchCause::QuoteStyle));
        let elided = || texts.iter().find_map(|text| elided(state, text));
        as_it_is().or_else(as_read).or_else(escaped).or_else(quoted).or_else(elided)
    });
    let nearest = regions.first().map_or(0..0, |best| best.range.clone());
    let guess = place.filter(|place| is_whole && place.is_only).map(|place| place.range);
    AnchorDiagnosis { nearest, guess, explained: explained.flatten() }
}

/// The place of a reading that the content contains exactly.
fn exact(state: &[u8], reading: &AnchorReading) -> Option<Explained> {
    let mut first = None;
    let mut is_only = true;
    Needle::new(&reading.text).each_in_text(state, OverlapRule::Counted, |range| {
        is_only = first.is_none();
        first.get_or_insert(range);
        if is_only { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let starts_line = |range: &Range<usize>| range.start == 0 || state[range.start - 1] == b'\n';
    let range = first.filter(|range| !reading.starts_line || starts_line(range))?;
    Some(Explained { cause: reading.cause, range, is_only })
}

/// The text in or near one of the regions that equals the anchor when both are folded.
fn folded(
    state: &[u8],
    regions: &[Region],
    anchor: &[u8],
    folds: Folds,
    cause: Option<MismatchCause>,
) -> Option<Explained> {
    let needle = Folded::new(anchor, folds).bytes;
    if needle.is_empty() {
        return None;
    }
    let mut explained: Option<Explained> = None;
    for region in regions.iter().take(REGIONS) {
        let reach = reach(anchor);
        let start = back(state, region.range.start, AROUND, reach);
        let lines = start..forward(state, region.range.end, AROUND, reach);
        let window = &state[lines.clone()];
        let haystack = Folded::new(window, folds);
        for at in memmem::find_iter(&haystack.bytes, &needle) {
            let origin = haystack.origin(&(at..at + needle.len()));
            let Some(range) = with_edges(window, origin, anchor) else { continue };
            let range = lines.start + range.start..lines.start + range.end;
            let Some(cause) = cause.or_else(|| difference(anchor, &state[range.clone()])) else { continue };
            match &mut explained {
                None => explained = Some(Explained { cause, range, is_only: true }),
                Some(first) => first.is_only &= overlap(&first.range, &range),
            }
        }
    }
    explained
}

/// `range` extended by the white space that corresponds to the anchor's own at its edges.
///
/// `None` if the anchor has white space at an edge where the content continues with the same word.
pub(super) fn with_edges(text: &[u8], range: Range<usize>, anchor: &[u8]) -> Option<Range<usize>> {
    let leading = &anchor[..anchor.len() - anchor.trim_ascii_start().len()];
    let trailing = &anchor[anchor.trim_ascii_end().len()..];
    let Range { mut start, mut end } = range;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if !leading.is_empty() {
        if text[..start].last().is_some_and(is_word) && is_word(&text[start]) {
            return None;
        }
        start = blanks_before(text, start);
        if leading.contains(&b'\n') && text[..start].ends_with(b"\n") {
            start -= if text[..start].ends_with(b"\r\n") { 2 } else { 1 };
        }
    }
    if !trailing.is_empty() {
        if text.get(end).is_some_and(is_word) && is_word(&text[end - 1]) {
            return None;
        }
        end = blanks_after(text, end);
        if let Some(feed) = trailing.iter().rposition(|byte| *byte == b'\n') {
            end += if text[end..].starts_with(b"\r\n") { 2 } else { usize::from(text[end..].starts_with(b"\n")) };
            if feed + 1 < trailing.len() {
                end = blanks_after(text, end);
            }
        }
    }
    Some(start..end)
}

fn blanks_before(text: &[u8], at: usize) -> usize {
    at - text[..at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn blanks_after(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The single cause of the difference between two texts, if there is one.
pub(super) fn difference(anchor: &[u8], there: &[u8]) -> Option<MismatchCause> {
    let equal = |folds| Folded::new(anchor, folds).bytes == Folded::new(there, folds).bytes;
    if equal(Folds::default()) {
        None
    } else if equal(LOOK_ALIKES) {
        Some(MismatchCause::LookAlike)
    } else if equal(SPACES) {
        Some(if is_tabs_against_spaces(anchor, there) {
            MismatchCause::TabsAgainstSpaces
        } else {
            MismatchCause::WhiteSpace
        })
    } else if equal(SEEN) {
        Some(MismatchCause::LookAlike)
    } else {
        equal(ALL).then_some(MismatchCause::EscapedText)
    }
}

/// Returns whether white space is in the same places of both texts, and one has tabs wherever they differ.
fn is_tabs_against_spaces(a: &[u8], b: &[u8]) -> bool {
    let runs = |text| Folded::new(text, Folds::default()).bytes;
    let (a, b) = (runs(a), runs(b));
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let chunks = |text: &[u8]| -> Vec<Vec<u8>> {
        text.chunk_by(|x, y| is_blank(*x) == is_blank(*y)).map(<[u8]>::to_vec).collect()
    };
    let (a, b) = (chunks(&a), chunks(&b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            let blank = is_blank(a[0]) && is_blank(b[0]);
            a == b || (blank && a.contains(&b'\t') != b.contains(&b'\t'))
        })
}
