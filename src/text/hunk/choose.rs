//! Chooses among several places of a hunk: by its headers, and by the order of hunks.

use std::ops::Range;

use super::blocks::{self, Blocks, Led};
use super::{KEPT, Misplaced, Placed, SoughtHunk};
use crate::request::edit::Side;

impl SoughtHunk<'_> {
    /// The single place that headers and order leave; `found` must not be empty.
    pub(super) fn choose(&self, mut found: Vec<Placed>) -> Result<Placed, Misplaced> {
        let total = found.len();
        let first = found[0].range.clone();
        let has_headers = total < KEPT && !self.hunk.headers.is_empty();
        let beyond = if has_headers { self.keep_led(&mut found)? } else { Vec::new() };
        let is_told = self.hunk.line.is_some();
        // Order does not outweigh different ways of matching.
        let is_alike = has_headers || found.iter().all(|place| place.kind == found[0].kind);
        if is_told || (!self.progress.is_unordered && is_alike) {
            let behind = found.iter().filter(|place| self.in_order(&place.range)).count();
            // Headers lead to no place before the previous hunk: the line that they name may occur again further on.
            if is_told || behind == 1 || (behind == 0 && found.len() < total) {
                found.retain(|place| self.in_order(&place.range));
            }
        }
        if found.is_empty() {
            return Err(Misplaced::OutOfOrder(first));
        }
        let mut ranges: Vec<Range<usize>> = found.iter().map(|place| place.range.clone()).collect();
        ranges.extend(
            beyond.into_iter().filter(|range| found.iter().all(|it| self.in_order(&it.range) <= self.in_order(range))),
        );
        if ranges.len() > 1 {
            ranges.sort_by_key(|range| range.start);
            return Err(Misplaced::Several(ranges.clone(), ranges.len()));
        }
        found.pop().ok_or(Misplaced::OutOfOrder(first))
    }

    /// Keeps the places that the headers lead to. Returns those that they may lead to as well, if the block of a line
    /// that equals a header may end elsewhere than it seems: a guess must not make the other place the only one.
    fn keep_led(&self, found: &mut Vec<Placed>) -> Result<Vec<Range<usize>>, Misplaced> {
        let starts: Vec<usize> = found.iter().map(|place| place.range.start).collect();
        let text = self.content.bytes(self.start..self.content.len());
        let blocks = Blocks::new(&text, self.start, &self.progress.gone, &self.progress.new);
        let first = self.hunk.lines.first().map(|line| line.side);
        let sought = if first == Some(Side::Old) { blocks::BlockPart::Going } else { blocks::BlockPart::Staying };
        let Some(led) = blocks.led(&self.hunk.headers, &starts, sought) else {
            let ranges: Vec<_> = found.iter().map(|place| place.range.clone()).collect();
            return Err(Misplaced::Several(ranges.clone(), ranges.len()));
        };
        let mut beyond = Vec::new();
        let mut chains = Vec::new();
        let mut kept = Vec::new();
        for (place, led) in found.iter().zip(led) {
            match led {
                Led::Away => {}
                Led::To(chain) => {
                    chains.push(chain);
                    kept.push(place.clone());
                }
                Led::Beyond(chain, index) => beyond.push((place.range.clone(), chain[index], index)),
            }
        }
        if kept.is_empty() {
            return Err(Misplaced::NoHeader(found[0].range.clone()));
        }
        *found = kept;
        beyond.retain(|(_, line, index)| chains.iter().any(|chain| chain[*index] != *line));
        Ok(beyond.into_iter().map(|(range, ..)| range).collect())
    }
}
