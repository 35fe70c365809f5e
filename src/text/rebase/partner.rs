//! Finds the lines of a content whose partner in a changed version of it is certain.
//!
//! A diff shows one longest common subsequence of two contents, often one of several. A line has a certain partner if it is
//! matched, and matched with the same line, in every one of them.
//!
//! The lengths are computed by the bit-parallel algorithm of Hyyrö (2004), 64 cells at once: a row is a vector in which
//! the zeros among the first n bits are the length of the longest common subsequence with the first n lines.

use std::collections::HashMap;
use std::ops::Range;

/// The most words of rows that are computed: contents of 130,000 lines that have no line alone.
const WORDS: usize = 1 << 28;

/// The most cells that are looked at for the lines asked for, and the most pairs of equal lines.
const CELLS: usize = 1 << 28;

type LineKind = usize;

/// The line numbers in `current` of lines of `base`, each `None` where it is not certain; `None` if the contents are too
/// large to be sure of anything.
pub(super) fn certain(base: &[u8], current: &[u8], lines: &[usize]) -> Option<Vec<Option<usize>>> {
    let mut tokens = HashMap::new();
    let mut of = |content| tokens_of(content, &mut tokens);
    let (old, new) = (of(base), of(current));
    let (above, below) = anchored_ends(&old, &new, tokens.len());
    let middle = Middle { old: &old[above..old.len() - below], new: &new[above..new.len() - below] };
    let inside = above..old.len() - below;
    let mut wanted: Vec<usize> = lines.iter().filter(|line| inside.contains(line)).map(|line| line - above).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let partners = middle.partners(&wanted)?;
    let partner = |&line: &usize| match inside.contains(&line) {
        true => partners[&(line - above)].map(|there| there + above),
        false if line < above => Some(line),
        false => Some(new.len() - (old.len() - line)),
    };
    Some(lines.iter().map(partner).collect())
}

fn tokens_of<'a>(content: &'a [u8], tokens: &mut HashMap<&'a [u8], LineKind>) -> Vec<LineKind> {
    let lines = content.split_inclusive(|&byte| byte == b'\n');
    lines
        .map(|line| {
            let next = tokens.len();
            *tokens.entry(line).or_insert(next)
        })
        .collect()
}

/// The number of lines at the start, and at the end, that are the same in both, the innermost of each being the only one
/// of its kind: it has no other partner, and so neither have those outside of it.
fn anchored_ends(old: &[LineKind], new: &[LineKind], tokens: usize) -> (usize, usize) {
    let mut times = vec![[0_usize; 2]; tokens];
    for (side, lines) in [old, new].into_iter().enumerate() {
        for &line in lines {
            times[line][side] += 1;
        }
    }
    let end = |pairs: &mut dyn Iterator<Item = (&LineKind, &LineKind)>| {
        let shared = pairs.take_while(|(old, new)| old == new).map(|(token, _)| times[*token] == [1, 1]);
        shared.enumerate().filter(|(_, is_alone)| *is_alone).last().map_or(0, |(at, _)| at + 1)
    };
    let above = end(&mut old.iter().zip(new));
    let below = end(&mut old[above..].iter().rev().zip(new[above..].iter().rev()));
    (above, below)
}

/// Two contents without the ends that are certain.
struct Middle<'a> {
    old: &'a [LineKind],
    new: &'a [LineKind],
}

impl Middle<'_> {
    /// The certain partners of these lines, which are in ascending order.
    fn partners(&self, wanted: &[usize]) -> Option<HashMap<usize, Option<usize>>> {
        let words = self.new.len().div_ceil(64);
        if self.old.len().checked_mul(words)? > WORDS || wanted.len().checked_mul(self.new.len())? > CELLS {
            return None;
        }
        if wanted.is_empty() {
            return Some(HashMap::new());
        }
        // Each row costs the places of its line: too many where most lines are the same.
        let mut times: HashMap<LineKind, usize> = HashMap::new();
        for line in self.new {
            *times.entry(*line).or_default() += 1;
        }
        if self.old.iter().filter_map(|line| times.get(line)).sum::<usize>() > CELLS {
            return None;
        }
        let last = self.old.len() - 1;
        // The rows above each line, and those below it, seen from the other end.
        let above = rows(self.old.iter(), self.new.iter(), wanted.iter().copied());
        let from_below = wanted.iter().rev().map(|line| last - line);
        let mut below = rows(self.old.iter().rev(), self.new.iter().rev(), from_below);
        below.reverse();
        let partners = wanted
            .iter()
            .zip(above.iter().zip(&below))
            .map(|(&line, (above, below))| (line, self.partner(line, above, below)));
        Some(partners.collect())
    }

    /// The only line with which a line is matched, if it is in every longest common subsequence.
    fn partner(&self, line: usize, above: &[u64], below: &[u64]) -> Option<usize> {
        let (before, after) = (lengths(above, self.new.len()), lengths(below, self.new.len()));
        let after = |place: usize| after[self.new.len() - place];
        let without = (0..=self.new.len()).map(|place| before[place] + after(place)).max()?;
        let is_match = |&place: &usize| self.new[place] == self.old[line];
        let with = |place: usize| before[place] + 1 + after(place + 1);
        let longest = (0..self.new.len()).filter(is_match).map(with).max()?;
        let mut best = (0..self.new.len()).filter(is_match).filter(|&place| with(place) == longest);
        let partner = best.next()?;
        (longest > without && best.next().is_none()).then_some(partner)
    }
}

/// The rows before each of these lines of `old`, which are in ascending order.
fn rows<'a>(
    old: impl Iterator<Item = &'a LineKind>,
    new: impl Iterator<Item = &'a LineKind>,
    wanted: impl Iterator<Item = usize>,
) -> Vec<Vec<u64>> {
    let mut places: HashMap<LineKind, Vec<usize>> = HashMap::new();
    let mut count = 0;
    for &token in new {
        places.entry(token).or_default().push(count);
        count += 1;
    }
    let mut row = vec![u64::MAX; count.div_ceil(64)];
    let mut matches = vec![0; row.len()];
    let mut wanted = wanted.peekable();
    let mut saved = Vec::new();
    for (line, token) in old.enumerate() {
        if wanted.next_if_eq(&line).is_some() {
            saved.push(row.clone());
        }
        // A line that is nowhere leaves the row as it is.
        let Some(places) = places.get(token).filter(|_| wanted.peek().is_some()) else { continue };
        for place in places {
            matches[place / 64] |= 1 << (place % 64);
        }
        advance(&mut row, &matches);
        for place in places {
            matches[place / 64] = 0;
        }
    }
    saved
}

/// The next row.
fn advance(row: &mut [u64], matches: &[u64]) {
    let mut carry = false;
    for (word, matched) in row.iter_mut().zip(matches) {
        let (sum, over) = word.overflowing_add(*word & matched);
        let (sum, again) = sum.overflowing_add(u64::from(carry));
        carry = over || again;
        *word = sum | (*word & !matched);
    }
}

/// The lengths for the first 0 to `count` lines.
fn lengths(row: &[u64], count: usize) -> Vec<u32> {
    let mut length = 0;
    let mut lengths = vec![0];
    for place in 0..count {
        length += u32::from(row[place / 64] >> (place % 64) & 1 == 0);
        lengths.push(length);
    }
    lengths
}

/// The bytes of the lines of a content, in order.
pub(super) fn line_ranges(content: &[u8]) -> Vec<Range<usize>> {
    let mut at = 0;
    let lines = content.split_inclusive(|&byte| byte == b'\n');
    lines
        .map(|line| {
            at += line.len();
            at - line.len()..at
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All longest common subsequences, by trying every way.
    fn all_ways(old: &[u8], new: &[u8]) -> Vec<Vec<(usize, usize)>> {
        fn walk(
            old: &[u8],
            new: &[u8],
            at: (usize, usize),
            way: &mut Vec<(usize, usize)>,
            ways: &mut Vec<Vec<(usize, usize)>>,
        ) {
            ways.push(way.clone());
            for i in at.0..old.len() {
                for j in at.1..new.len() {
                    if old[i] == new[j] {
                        way.push((i, j));
                        walk(old, new, (i + 1, j + 1), way, ways);
                        way.pop();
                    }
                }
            }
        }
        let mut ways = Vec::new();
        walk(old, new, (0, 0), &mut Vec::new(), &mut ways);
        let longest = ways.iter().map(Vec::len).max().unwrap();
        ways.retain(|way| way.len() == longest);
        ways
    }

    fn text(lines: &[u8]) -> Vec<u8> {
        lines.iter().flat_map(|line| [b'a' + line, b'\n']).collect()
    }

    proptest! {
        #[test]
        fn a_partner_is_certain_if_it_is_the_same_in_every_way(
            old in proptest::collection::vec(0..4_u8, 0..8), new in proptest::collection::vec(0..4_u8, 0..8),
        ) {
            let ways = all_ways(&old, &new);
            let expected = |line: usize| {
                let mut partners: Vec<_> =
                    ways.iter().map(|way| way.iter().find(|(i, _)| *i == line).map(|(_, j)| *j)).collect();
                partners.dedup();
                if partners.len() == 1 { partners[0] } else { None }
            };
            let lines: Vec<usize> = (0..old.len()).collect();
            let expected: Vec<_> = lines.iter().map(|line| expected(*line)).collect();
            prop_assert_eq!(certain(&text(&old), &text(&new), &lines).unwrap(), expected);
        }
    }

    #[test]
    fn rows_of_many_words_carry_over() {
        let old: Vec<u8> = (0..300).map(|at| u8::from(at == 150)).collect();
        let mut new = old.clone();
        new.remove(10);
        let partners = certain(&text(&old), &text(&new), &[9, 149, 150, 151, 299]).unwrap();
        assert_eq!(partners, [None, None, Some(149), Some(150), Some(298)]);
    }
}
