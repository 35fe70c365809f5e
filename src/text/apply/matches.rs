//! The places of an edit whose anchor is a text, as many as the edit says.

use std::ops::{ControlFlow, Range};

use super::{EditMatches, Editor, refused, times};
use crate::error::{Detail, ErrorKind};
use crate::index::EditIndex;
use crate::request::edit::{Count, Edit, Matching};
use crate::text::locate::{Needle, OverlapRule, places, places_near};
use crate::text::tolerant::{self, LADDER, Tolerated};
use crate::text::{MatchKind, RefusedEdit};

/// The most matches kept if there are too many: a few are shown, and compared with the others.
const REMEMBERED: usize = 500;

impl Editor<'_, '_> {
    /// The matches of a text, if their number is the required one.
    pub(super) fn find(
        &self,
        index: EditIndex,
        edit: &Edit,
        text: &[u8],
        count: Count,
        matching: Matching,
    ) -> Result<EditMatches, RefusedEdit> {
        let overlap = if count.is_once() { OverlapRule::Counted } else { OverlapRule::Skipped };
        let remembered = match count {
            Count::Once | Count::OnceNear(_) | Count::AtMostOnce => REMEMBERED,
            Count::Exactly(wanted) => wanted.max(REMEMBERED),
            Count::All | Count::Any => usize::MAX,
        };
        let mut matches = Vec::new();
        let mut total = 0;
        // An empty text matches everywhere; validation refuses it with a better message.
        if !text.is_empty() {
            self.each_match(text, overlap, |range| {
                total += 1;
                if matches.len() < remembered {
                    matches.push(range);
                }
            });
        }
        if total > 0 {
            if count.is_once() && total > 1 {
                return Err(self.several(index, &matches, total, count.near_line(), || self.apart(text)));
            }
            self.check_count(index, count, &matches, total)?;
            return Ok(EditMatches::exact(matches, true));
        }
        let ladder: &[MatchKind] = if matching == Matching::Tolerant { &LADDER } else { &[] };
        for &kind in ladder {
            let places = self.tolerated(text, kind, overlap);
            if !places.is_empty() {
                let mut ranges: Vec<_> = places.iter().map(|place| place.range.clone()).collect();
                ranges.extend(self.where_its_first_line_is_one(text, &places));
                if ranges.len() > places.len() {
                    return Err(self.untold_where(index, &ranges));
                }
                if count.is_once() && ranges.len() > 1 {
                    let total = ranges.len();
                    return Err(self.several(index, &ranges, total, count.near_line(), || {
                        let apart = self.tolerated(text, kind, OverlapRule::Skipped);
                        let total = apart.len();
                        (apart.into_iter().map(|place| place.range).collect(), total)
                    }));
                }
                self.check_count(index, count, &ranges, ranges.len())?;
                let fit = |place: &Tolerated| {
                    let there = self.content.bytes(place.range.clone());
                    tolerant::fit(place, kind, text, &there, &edit.replacement)
                };
                let fitted: Option<Vec<_>> = places.iter().map(fit).collect();
                let fitted = fitted.ok_or_else(|| self.untold(index, text, &edit.replacement))?;
                let matches = ranges.into_iter().zip(fitted.into_iter().map(Some)).collect();
                return Ok(EditMatches { matches, kind, converts: true });
            }
        }
        if count.may_be_none() && !text.is_empty() {
            return Ok(EditMatches::exact(Vec::new(), true));
        }
        Err(self.not_found(index, edit, text))
    }

    /// The first matches that do not overlap an earlier one, and their number: these are the ones that `replace_all`
    /// replaces and `expected_matches` counts.
    fn apart(&self, text: &[u8]) -> (Vec<Range<usize>>, usize) {
        let (mut matches, mut total) = (Vec::new(), 0);
        self.each_match(text, OverlapRule::Skipped, |range| {
            total += 1;
            if matches.len() < REMEMBERED {
                matches.push(range);
            }
        });
        (matches, total)
    }

    /// The refusal for several matches instead of one, some of which may overlap. It names numbers that another request
    /// can use.
    fn several(
        &self,
        index: EditIndex,
        matches: &[Range<usize>],
        total: usize,
        near_line: Option<usize>,
        apart: impl FnOnce() -> (Vec<Range<usize>>, usize),
    ) -> RefusedEdit {
        let (alone, number) = apart();
        let overlap = number != total;
        let (mut shown, how) = match number {
            1 => (places_near(&self.content, matches, total, near_line), ", one over the other"),
            _ if overlap => (places_near(&self.content, &alone, number, near_line), ""),
            _ => (places_near(&self.content, matches, total, near_line), ""),
        };
        if overlap && number > 1 {
            // The matches left out may have the same surroundings.
            shown.shown.iter_mut().for_each(|place| place.unique = None);
        }
        // Overlapping matches count as one for `replace_all`.
        let advice = if number == 1 {
            "add text around it"
        } else {
            "add lines around it until it is unique, or replace all of them"
        };
        let message = format!("old_string found {}{how}, expected 1: {advice}", times(shown.total));
        refused(index, ErrorKind::AmbiguousMatch, message, Detail::Matches(shown))
    }

    fn check_count(
        &self,
        index: EditIndex,
        count: Count,
        matches: &[Range<usize>],
        total: usize,
    ) -> Result<(), RefusedEdit> {
        let shown = || Detail::Matches(places(&self.content, matches, total));
        match count {
            Count::Exactly(wanted) if wanted != total => {
                let message = format!(
                    "old_string found {}, expected {wanted}: look at each place, then correct expected_matches or old_string",
                    times(total)
                );
                Err(refused(index, ErrorKind::MatchCountMismatch, message, shown()))
            }
            _ => Ok(()),
        }
    }

    /// Passes each match of a text to `each`, in ascending order.
    fn each_match(&self, text: &[u8], overlap: OverlapRule, mut each: impl FnMut(Range<usize>)) {
        let needle = Needle::new(text);
        let each = |range| {
            each(range);
            ControlFlow::Continue(())
        };
        match self.index.as_ref().and_then(|index| index.places(&needle, &self.content)) {
            Some(pivots) => needle.each_around(&self.content, &pivots, overlap, each),
            None => needle.each_in(&self.content, overlap, each),
        }
    }
}
