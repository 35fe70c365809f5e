//! Provable causes: with the difference folded away in both texts, the anchor is found.

use std::ops::{ControlFlow, Range};

use memchr::memmem;

use super::fold::{Folded, Folds};
use super::nearest::{Region, back, forward, reach, regions};
use super::overlap;
use crate::error::MismatchCause;
use crate::text::locate::{Needle, OverlapRule};

/// The most regions in which a cause is searched.
const REGIONS: usize = 12;

/// The number of lines around a region that are searched as well.
const AROUND: usize = 2;

const ALL: Folds = Folds { spaces: true, look_alikes: true, escapes: true };
const SEEN: Folds = Folds { spaces: true, look_alikes: true, escapes: false };
const SPACES: Folds = Folds { spaces: true, look_alikes: false, escapes: false };
const LOOK_ALIKES: Folds = Folds { spaces: false, look_alikes: true, escapes: false };

/// The findings about an anchor.
pub(super) struct AnchorDiagnosis {
    /// The most similar lines.
    pub(super) nearest: Range<usize>,
    /// Their similarity, or that of a part of them if they are long.
    pub(super) similarity: f64,
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
    let bare = without_line_numbers(anchor, 1);
    let plain = unescaped(anchor);
    let as_written = || {
        // The start of a line tells whether a blank after the number belongs to the listing or to the line.
        let starts_line = |found: &Explained| found.range.start == 0 || state[found.range.start - 1] == b'\n';
        let bare_of = |blanks| exact(state, &without_line_numbers(anchor, blanks)?, MismatchCause::LineNumbers);
        let of_listing = bare_of(0).filter(starts_line).or_else(|| bare_of(1));
        of_listing.or_else(|| exact(state, plain.as_deref()?, MismatchCause::EscapedText))
    };
    if let Some(explained) = is_whole.then(as_written).flatten() {
        return AnchorDiagnosis { nearest: explained.range.clone(), similarity: 1.0, explained: Some(explained) };
    }
    let mut readings = vec![anchor];
    readings.extend(bare.as_deref());
    readings.extend(plain.as_deref());
    let regions = regions(state, &readings);
    let (nearest, similarity) = regions.first().map_or((0..0, 0.0), |best| (best.range.clone(), best.similarity));
    let explained = is_whole.then(|| {
        let as_it_is = folded(state, &regions, anchor, SEEN, None);
        let as_it_is =
            as_it_is.or_else(|| folded(state, &regions, bare.as_deref()?, SEEN, Some(MismatchCause::LineNumbers)));
        as_it_is.or_else(|| folded(state, &regions, anchor, ALL, None))
    });
    AnchorDiagnosis { nearest, similarity, explained: explained.flatten() }
}

/// A reading of the anchor that the content contains exactly.
fn exact(state: &[u8], reading: &[u8], cause: MismatchCause) -> Option<Explained> {
    let mut first = None;
    let mut is_only = true;
    if !reading.trim_ascii().is_empty() {
        Needle::new(reading).each_in_text(state, OverlapRule::Counted, |range| {
            is_only = first.is_none();
            first.get_or_insert(range);
            if is_only { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    first.map(|range| Explained { cause, range, is_only })
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
fn with_edges(text: &[u8], range: Range<usize>, anchor: &[u8]) -> Option<Range<usize>> {
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

/// `anchor` without the line numbers of a listing, if each of its lines has one and they count up.
///
/// Up to `blanks` blanks after a `:` or `|` belong to the listing.
fn without_line_numbers(anchor: &[u8], blanks: usize) -> Option<Vec<u8>> {
    let whole = anchor.strip_suffix(b"\n");
    let mut bare = Vec::with_capacity(anchor.len());
    let mut previous: Option<u64> = None;
    let mut is_listing = false;
    for line in whole.unwrap_or(anchor).split(|byte| *byte == b'\n') {
        let (number, rest) = line_number(line, blanks)?;
        if previous.is_some_and(|previous| number != previous + 1) {
            return None;
        }
        if previous.is_some() {
            bare.push(b'\n');
        }
        previous = Some(number);
        // In a listing, an empty line may be just its number.
        is_listing |= rest.is_some();
        bare.extend_from_slice(rest.unwrap_or_default());
    }
    if whole.is_some() {
        bare.push(b'\n');
    }
    is_listing.then_some(bare)
}

/// The number at the start of a line, and the text after its separator, if there is one.
fn line_number(line: &[u8], blanks: usize) -> Option<(u64, Option<&[u8]>)> {
    let text = line.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    let rest = &text[digits..];
    for separator in ["\t", "\u{2192}"] {
        if let Some(rest) = rest.strip_prefix(separator.as_bytes()) {
            return Some((number, Some(rest)));
        }
    }
    let unpadded = &rest[rest.iter().take_while(|byte| **byte == b' ').count()..];
    for (rest, separator) in [(rest, ":"), (unpadded, "|"), (unpadded, "\u{2502}")] {
        if let Some(rest) = rest.strip_prefix(separator.as_bytes()) {
            return Some((number, Some(&rest[rest.iter().take(blanks).take_while(|byte| **byte == b' ').count()..])));
        }
    }
    unpadded.is_empty().then_some((number, None))
}

/// `anchor` with its escapes resolved, if it has any.
fn unescaped(anchor: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(anchor.len());
    let mut rest = anchor;
    while let [first, tail @ ..] = rest {
        let resolved = match (first, tail.first()) {
            (b'\\', Some(b'n')) => b'\n',
            (b'\\', Some(b't')) => b'\t',
            (b'\\', Some(b'r')) => b'\r',
            (b'\\', Some(other @ (b'"' | b'\'' | b'\\'))) => *other,
            _ => {
                plain.push(*first);
                rest = tail;
                continue;
            }
        };
        plain.push(resolved);
        rest = &tail[1..];
    }
    (plain.len() != anchor.len()).then_some(plain)
}
