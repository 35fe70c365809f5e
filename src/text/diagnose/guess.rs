//! The place that an anchor differs least from, white space apart, if no other comes near. It is a guess, and named so.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use super::approximate::ApproximatePattern;
use super::cause::{SPACES, with_edges};
use super::fold::Folded;

/// The fewest bytes, white space apart, of an anchor that is searched for.
const TELLING: usize = 6;

/// The most steps of 64 bytes that a search takes.
const STEPS: usize = 32 << 20;

/// The least share of the anchor that must be there.
const SHARE: f64 = 0.6;

/// Another place must differ in more than this, and by a share of the anchor.
const MARGIN: usize = 2;
const MARGIN_SHARE: usize = 10;

/// The most ends of near places that are compared: with more of them, none is the only one.
const ENDS: usize = 8 << 10;

/// The bytes at an end of the anchor that must be there for it to be certain where the place ends.
const EDGE: usize = 3;

/// The most bytes up to the end of a line that are added where it is not.
const LINE: usize = 160;

/// The nearest place, and its share of the anchor.
pub(super) struct NearestPlace {
    pub(super) range: Range<usize>,
    pub(super) share: f64,
    /// True if no other place comes near.
    pub(super) is_only: bool,
}

/// The place of `state` that differs least from `anchor`; `None` if none is like it, or the search would take too long.
pub(super) fn nearest_place(state: &[u8], anchor: &[u8]) -> Option<NearestPlace> {
    let needle = Folded::new(anchor, SPACES).bytes;
    if needle.len() < TELLING || needle.len().div_ceil(64).checked_mul(state.len())? > STEPS {
        return None;
    }
    let text = || state.iter().copied().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    #[expect(clippy::cast_precision_loss, reason = "the anchor is short")]
    let most = (needle.len() as f64 * (1.0 - SHARE)) as usize;
    let ends = ends(&needle, text(), most);
    let &(end, at, distance) = ends.iter().min_by_key(|(_, _, distance)| *distance)?;
    let margin = margin(&needle, distance);
    let is_other = |(_, other, far): &(usize, usize, usize)| {
        other.abs_diff(at) >= needle.len().div_ceil(2) && *far < distance + margin
    };
    let start = start(&needle, state, end, distance)?;
    let range = whole_at_edges(state, start..end, anchor, &needle);
    #[expect(clippy::cast_precision_loss, reason = "the anchor is short")]
    let share = 1.0 - distance as f64 / needle.len() as f64;
    let range = with_edges(state, range.clone(), anchor).unwrap_or(range);
    Some(NearestPlace { range, share, is_only: !ends.iter().any(is_other) })
}

/// The bytes by which other places must differ more than one that differs in `distance`.
fn margin(needle: &[u8], distance: usize) -> usize {
    MARGIN.max(distance.min(needle.len() / MARGIN_SHARE))
}

/// The ends of the parts that differ least from the anchor, in at most `most` bytes, and of those that come near: in the
/// content, without its white space, and how much they differ.
fn ends(needle: &[u8], text: impl Iterator<Item = (usize, u8)>, most: usize) -> Vec<(usize, usize, usize)> {
    let (mut ends, mut count, mut least) = (Vec::new(), 0, most + 1);
    ApproximatePattern::new(needle.iter()).distances(text, false, |at, distance| {
        count += 1;
        let is_nearer = distance < least;
        if is_nearer {
            least = distance;
            ends.retain(|(_, _, other)| *other < least + margin(needle, least));
        }
        let is_near = distance <= most && distance < least + margin(needle, least);
        if is_nearer || (is_near && ends.len() < ENDS) {
            ends.push((at + 1, count, distance));
        }
    });
    ends
}

/// The start of the part that ends at `end` and differs in `distance` bytes.
fn start(needle: &[u8], state: &[u8], end: usize, distance: usize) -> Option<usize> {
    let reversed: Vec<u8> = needle.iter().rev().copied().collect();
    let text = state[..end].iter().copied().enumerate().rev().filter(|(_, byte)| !byte.is_ascii_whitespace());
    let mut start = None;
    let text = text.take(needle.len() + distance);
    ApproximatePattern::new(reversed.iter()).distances(text, true, |at, found| {
        if found == distance && start.is_none() {
            start = Some(at);
        }
    });
    start
}

/// `range` up to the end of the line where the anchor's own end is not there: where it ends then is not known. What is
/// like it in further lines is so by chance.
fn whole_at_edges(state: &[u8], range: Range<usize>, anchor: &[u8], needle: &[u8]) -> Range<usize> {
    let bare = Folded::new(&state[range.clone()], SPACES).bytes;
    let edge = EDGE.min(needle.len());
    let breaks = memchr_iter(b'\n', anchor.trim_ascii()).count();
    let mut extra = memchr_iter(b'\n', &state[range.clone()]).count().saturating_sub(breaks);
    let Range { mut start, mut end } = range;
    if !bare.ends_with(&needle[needle.len() - edge..]) {
        while let Some(feed) = memrchr(b'\n', &state[start..end]).filter(|_| extra > 0) {
            end = start + state[start..start + feed].trim_ascii_end().len();
            extra -= 1;
        }
        let line = memchr(b'\n', &state[end..]).map_or(state.len(), |feed| end + feed);
        let line = line - state[end..line].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
        end = if line - end <= LINE { line } else { end };
    }
    if !bare.starts_with(&needle[..edge]) {
        while let Some(feed) = memchr(b'\n', &state[start..end]).filter(|_| extra > 0) {
            start = end - state[start + feed..end].trim_ascii_start().len();
            extra -= 1;
        }
        let line = memrchr(b'\n', &state[..start]).map_or(0, |feed| feed + 1);
        let line = line + state[line..start].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        start = if start - line <= LINE { line } else { start };
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
fn first(limit: usize) {
    let total = limit + 10;
    print(total);
}

fn second(limit: usize) {
    let other = limit * 20;
    print(other);
}
";

    fn place(anchor: &str) -> Option<(&'static str, bool)> {
        nearest_place(FILE.as_bytes(), anchor.as_bytes()).map(|found| (&FILE[found.range], found.is_only))
    }

    #[test]
    fn the_nearest_place_has_the_extent_of_the_anchor() {
        assert_eq!(place("total = limit + 11;"), Some(("total = limit + 10;", true)));
        assert_eq!(
            place("  let total = limits + 11;\n  print("),
            Some(("    let total = limit + 10;\n    print(", true))
        );
        assert_eq!(place("let other = limit * 20; // twice"), Some(("let other = limit * 20;", true)));
        assert_eq!(place("let sum = limit + 10;"), Some(("let total = limit + 10;", true)));
    }

    #[test]
    fn another_place_that_is_as_near_is_told() {
        assert_eq!(place("fn third(limit: usize) {").map(|found| found.1), Some(false));
        assert_eq!(place("nothing like it at all"), None);
        assert_eq!(place("a"), None);
    }
}
