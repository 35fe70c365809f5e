//! Finds the regions of a content that an anchor may have meant.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use super::fold::line_key;
use super::similar::ratio;

/// The most places kept for a line of the anchor.
const PLACES_OF_A_LINE: usize = 12;

/// The most lines of the anchor that are searched.
const LINES: usize = 256;

/// The number of rarest lines of the anchor around which regions are built.
const RAREST: usize = 4;

/// The number of words of the anchor that are searched if lines do not help.
const WORDS: usize = 6;

/// The most places examined for each word.
const PLACES_OF_A_WORD: usize = 200;

/// The most regions that are compared with the anchor.
const COMPARED: usize = 24;

/// The number of places compared if neither lines nor words help.
const SAMPLES: usize = 200;

/// If no region is more similar than this, the search goes on.
const GOOD: f64 = 0.6;

/// The length from which a line is too long to be shown whole.
const LONG_LINE: usize = 400;

/// A region of whole lines, or a part of a long one, and its similarity to the anchor.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) range: Range<usize>,
    pub(super) similarity: f64,
}

/// The regions of `state` most similar to one of `anchors`, the best first; at least one.
///
/// `anchors` are readings of one anchor: as it is, without line numbers, without escapes.
pub(super) fn regions(state: &[u8], anchors: &[&[u8]]) -> Vec<Region> {
    let mut regions = compare(state, anchors, by_lines(state, anchors));
    if regions.first().is_none_or(|best| best.similarity < GOOD) {
        regions.extend(compare(state, anchors, by_words(state, anchors)));
    }
    if regions.is_empty() {
        regions = compare(state, anchors, samples(state, anchors[0]));
    }
    regions.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.range.start.cmp(&b.range.start)));
    regions.dedup_by_key(|region| region.range.start);
    if let Some(best) = regions.first_mut() {
        fit(state, anchors[0], best);
    }
    regions
}

/// A place where a region may start, and the index of the reading of the anchor that led there.
type Start = (usize, usize);

fn compare(state: &[u8], anchors: &[&[u8]], starts: Vec<Start>) -> Vec<Region> {
    let compare = |(start, reading): Start| {
        let range = start..forward(state, start, line_count(anchors[reading]), reach(anchors[reading]));
        let similarity = ratio(anchors[reading], &state[range.clone()]);
        Region { range, similarity }
    };
    starts.into_iter().map(compare).collect()
}

/// Adjusts a region: one line more or less may fit better.
fn fit(state: &[u8], anchor: &[u8], region: &mut Region) {
    let lines = line_count(anchor);
    let start = region.range.start;
    region.similarity = ratio(anchor, &state[region.range.clone()]);
    for count in [lines + 1, lines + 2, lines.saturating_sub(1), lines.saturating_sub(2)] {
        let range = start..forward(state, start, count.max(1), reach(anchor));
        let similarity = ratio(anchor, &state[range.clone()]);
        if similarity > region.similarity + 0.01 {
            *region = Region { range, similarity };
        }
    }
    if lines == 1 && region.range.len() > 2 * anchor.len() {
        narrow(state, anchor, region);
    }
}

/// Starts found by common lines, the rarest first.
fn by_lines(state: &[u8], anchors: &[&[u8]]) -> Vec<Start> {
    let mut wanted: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
    for (reading, anchor) in anchors.iter().enumerate() {
        for (index, line) in anchor.split(|byte| *byte == b'\n').enumerate().take(LINES) {
            if let Some(key) = line_key(line) {
                wanted.entry(key).or_default().push((reading, index));
            }
        }
    }
    let found = look_up(state, &wanted);
    let mut rarest: Vec<_> = found.into_iter().collect();
    rarest.sort_by_key(|(key, (count, places))| (*count, places[0], *key));
    let mut starts = Vec::new();
    for (key, (_, places)) in rarest.iter().take(RAREST) {
        for (reading, index) in &wanted[key] {
            starts.extend(places.iter().map(|place| (back(state, *place, *index, reach(anchors[*reading])), *reading)));
        }
    }
    unique(starts)
}

/// The number of occurrences and the first places of each key that occurs.
fn look_up(state: &[u8], wanted: &HashMap<u64, Vec<(usize, usize)>>) -> HashMap<u64, (usize, Vec<usize>)> {
    let mut found: HashMap<u64, (usize, Vec<usize>)> = HashMap::new();
    if wanted.is_empty() {
        return found;
    }
    // Most lines are not wanted: a few bits of the key tell that without a look-up in the map.
    let mut sieve = [false; 4096];
    let bits = |key: u64| usize::from(u16::try_from(key >> 52).unwrap_or(0));
    for key in wanted.keys() {
        sieve[bits(*key)] = true;
    }
    let mut at = 0;
    while at < state.len() {
        let end = memchr(b'\n', &state[at..]).map_or(state.len(), |feed| at + feed);
        if let Some(key) = line_key(&state[at..end])
            && sieve[bits(key)]
            && wanted.contains_key(&key)
        {
            let (count, places) = found.entry(key).or_default();
            *count += 1;
            if places.len() < PLACES_OF_A_LINE {
                places.push(at);
            }
        }
        at = end + 1;
    }
    found
}

/// Starts found by common words; a rare word counts more than a frequent one.
fn by_words(state: &[u8], anchors: &[&[u8]]) -> Vec<Start> {
    let mut votes: HashMap<Start, f64> = HashMap::new();
    for (reading, anchor) in anchors.iter().enumerate() {
        // Votes for each place of a word; returns whether there is one.
        let vote = |(word, line): &(&[u8], usize), votes: &mut HashMap<Start, f64>| {
            let (places, weight) = places_of(state, word);
            for place in &places {
                *votes.entry((back(state, *place, *line, reach(anchor)), reading)).or_default() += weight;
            }
            !places.is_empty()
        };
        for word in words(anchor).iter().take(WORDS) {
            let (text, line) = *word;
            if !vote(word, &mut votes) && text.len() >= 6 {
                // If one letter is wrong, half of the word is right.
                let (head, tail) = text.split_at(text.len() / 2);
                vote(&(head, line), &mut votes);
                vote(&(tail, line), &mut votes);
            }
        }
    }
    let mut starts: Vec<_> = votes.into_iter().collect();
    starts.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    unique(starts.into_iter().map(|(start, _)| start).collect())
}

/// The words of a text, each with its line from 0, the longest first.
fn words(text: &[u8]) -> Vec<(&[u8], usize)> {
    let mut words = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let split = line.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80));
        words.extend(split.filter(|word| word.len() >= 3).map(|word| (word, index)));
    }
    words.sort_by_key(|(word, index)| (std::cmp::Reverse(word.len()), *word, *index));
    words.dedup_by_key(|(word, _)| *word);
    words
}

/// The places of a word, up to a limit, and the weight of each.
fn places_of(state: &[u8], word: &[u8]) -> (Vec<usize>, f64) {
    let places: Vec<usize> = Finder::new(word).find_iter(state).take(PLACES_OF_A_WORD).collect();
    #[expect(clippy::cast_precision_loss, reason = "both are small")]
    let weight = word.len() as f64 / places.len() as f64;
    (places, weight)
}

/// Lines taken evenly from the whole content.
fn samples(state: &[u8], anchor: &[u8]) -> Vec<Start> {
    let step = (state.len() / SAMPLES).max(1);
    let starts = (0..state.len().max(1)).step_by(step).map(|at| (back(state, at, 0, reach(anchor)), 0));
    let mut starts: Vec<Start> = starts.collect();
    starts.dedup();
    starts
}

/// The first few, without duplicates.
fn unique(starts: Vec<Start>) -> Vec<Start> {
    let mut list = Vec::new();
    for start in starts {
        if list.len() < COMPARED && !list.contains(&start) {
            list.push(start);
        }
    }
    list
}

fn line_count(anchor: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', anchor).count() + usize::from(!anchor.ends_with(b"\n"))
}

/// Narrows a region to a part of a line that is more similar to a short anchor; of a very long line only that part is
/// shown.
fn narrow(state: &[u8], anchor: &[u8], region: &mut Region) {
    let width = anchor.len() + anchor.len() / 4 + 1;
    let Range { start, end } = region.range;
    for from in (start..end).step_by(anchor.len() / 4 + 1) {
        let part = from..end.min(from + width);
        let similarity = ratio(anchor, &state[part.clone()]);
        if similarity > region.similarity {
            region.similarity = similarity;
            if end - start > LONG_LINE {
                region.range = part;
            }
        }
    }
}

/// The length after which a line is cut: some files are one line of megabytes.
pub(super) fn reach(anchor: &[u8]) -> usize {
    anchor.len() + 512
}

/// The start of the line that is `lines` before the one at `at`, or of the first; in a long line, a place in it.
pub(super) fn back(state: &[u8], at: usize, lines: usize, reach: usize) -> usize {
    let start_of = |at: usize| {
        let from = at.saturating_sub(reach);
        memrchr(b'\n', &state[from..at]).map_or(from, |feed| from + feed + 1)
    };
    let mut start = start_of(at);
    for _ in 0..lines {
        if start == 0 || state[start - 1] != b'\n' {
            break;
        }
        start = start_of(start - 1);
    }
    start
}

/// The end of the `lines`th line from `at` on, or of the last, after its line break; in long lines, a place in them.
pub(super) fn forward(state: &[u8], at: usize, lines: usize, reach: usize) -> usize {
    let state = &state[..state.len().min(at + 3 * reach)];
    (0..lines).fold(at, |at, _| memchr(b'\n', &state[at..]).map_or(state.len(), |feed| at + feed + 1))
}
