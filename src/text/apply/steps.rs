//! The places of an anchor at one step of tolerance.

use std::ops::Range;

use super::{Editor, refused};
use crate::error::{Detail, ErrorKind};
use crate::index::EditIndex;
use crate::text::MatchKind;
use crate::text::RefusedEdit;
use crate::text::locate::{OverlapRule, places};
use crate::text::newline::segments;
use crate::text::position;
use crate::text::tolerant::{self, Tolerated};

impl Editor<'_, '_> {
    /// The places that an anchor matches at a step.
    pub(super) fn tolerated(&self, text: &[u8], kind: MatchKind, overlap: OverlapRule) -> Vec<Tolerated> {
        let start = self.content.text_start(text.starts_with(position::MARK));
        let mut places = tolerant::find(&self.content.bytes(start..self.content.len()), text, kind, overlap);
        for place in &mut places {
            place.range = place.range.start + start..place.range.end + start;
        }
        places
    }

    /// The other places of an anchor that begins with a line break. It may begin at the end of a line or with an empty
    /// line. If a step found one kind, these are the places of the other: nothing tells which is meant.
    pub(super) fn where_its_first_line_is_one(&self, text: &[u8], places: &[Tolerated]) -> Vec<Range<usize>> {
        if places.iter().all(|place| place.starts_line) || !tolerant::is_blank(segments(text)[0]) {
            return Vec::new();
        }
        let start = self.content.text_start(text.starts_with(position::MARK));
        let alike = tolerant::where_its_first_line_is_one(&self.content.bytes(start..self.content.len()), text);
        let alike = alike.into_iter().map(|range| range.start + start..range.end + start);
        alike.filter(|range| places.iter().all(|place| place.range.start != range.start)).collect()
    }

    /// Refuses an anchor that begins with an empty line: that may be the end of a line, or a line of its own.
    pub(super) fn untold_where(&self, index: EditIndex, ranges: &[Range<usize>]) -> RefusedEdit {
        let message = "old_string begins with an empty line, and may be meant at any of these places: put the line above \
                       that in front of it, or leave the empty line out";
        let detail = Detail::Matches(places(&self.content, ranges, ranges.len()));
        refused(index, ErrorKind::AmbiguousMatch, message, detail)
    }
}
