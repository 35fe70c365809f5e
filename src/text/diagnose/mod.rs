//! Explains why an anchor was not found, and what is there instead.
//!
//! Nothing found here is ever applied: it explains a failure. The work is bounded: at most a few scans of the content.

mod align;
mod approximate;
mod cause;
mod characters;
mod elision;
pub(super) mod fold;
mod guess;
mod listing;
mod markup;
mod nearest;
mod reading;
mod similar;
#[cfg(test)]
mod tests;

use std::ops::{ControlFlow, Range};

use memchr::{memchr_iter, memrchr};

use align::TextEnds;

use super::diff;
use super::locate::{Needle, OverlapRule, numbered};
use super::position::MARK;
use crate::error::{Diagnosis, MismatchCause};

/// The most lines of a snippet.
const SNIPPET_LINES: usize = 15;

/// Below this similarity a region differs in too much to list characters.
const CLOSE: f64 = 0.6;

/// The number of lines shown around a region, if there is room.
const AROUND: usize = 2;

/// The most bytes of a suggestion: a longer one is not worth reading.
const SUGGESTION_BYTES: usize = 4 << 10;

/// The most bytes of a suggestion with lines that were left out.
const SPAN_BYTES: usize = 8 << 10;

/// The most bytes of a diff from an anchor to a region.
const DIFF_BYTES: usize = 8 << 10;

/// The most bytes of an anchor that are compared with the content; only the beginning of a longer one is compared.
const COMPARED: usize = 16 << 10;

/// Returns whether `base` contains `anchor`; line breaks of either kind are alike.
#[must_use]
pub fn contains(base: &[u8], anchor: &[u8]) -> bool {
    !anchor.is_empty() && Needle::new(anchor).is_in_text(base)
}

/// Explains why `anchor`, which must be missing, is not in `state`. `replacement` is the new text of the edit.
pub(super) fn diagnose(state: &[u8], anchor: &[u8], replacement: &[u8]) -> Diagnosis {
    let compared = beginning(anchor);
    let found = cause::explain(state, compared, anchor.len() == compared.len());
    let guess = found.guess.as_ref().and_then(|range| suggestion(state, range, SUGGESTION_BYTES));
    if let Some(at) = applied_at(state, replacement)
        && is_applied(state, anchor, replacement, &at, &found)
    {
        let mut diagnosis = describe(state, &at, compared, TextEnds::Free);
        diagnosis.cause = Some(MismatchCause::AlreadyApplied);
        return diagnosis;
    }
    let Some(explained) = found.explained else {
        let mut diagnosis = describe(state, &found.nearest, compared, TextEnds::Free);
        diagnosis.nearest = guess;
        return diagnosis;
    };
    let mut diagnosis = describe(state, &explained.range, compared, TextEnds::Fixed);
    let is_span = matches!(explained.cause, MismatchCause::Elided | MismatchCause::LinesLeftOut);
    let longest = if is_span { SPAN_BYTES } else { SUGGESTION_BYTES };
    diagnosis.cause = Some(explained.cause);
    diagnosis.suggestion = explained.is_only.then(|| suggestion(state, &explained.range, longest)).flatten();
    diagnosis
}

/// Says what is at `range` of `state` instead of `expected`.
pub(super) fn at_range(state: &[u8], range: &Range<usize>, expected: &[u8]) -> Diagnosis {
    let start = range.start.min(state.len());
    let range = start..range.end.clamp(start, state.len());
    let there = beginning(&state[range.clone()]);
    let expected = beginning(expected);
    let mut diagnosis = describe(state, &(start..start + there.len()), expected, TextEnds::Fixed);
    diagnosis.diff = diff::unified(expected, there, "expected", "file", DIFF_BYTES);
    diagnosis.cause = cause::difference(expected, there);
    diagnosis
}

/// The part of a text that is compared: whole lines, if there are any.
fn beginning(text: &[u8]) -> &[u8] {
    let cut = &text[..text.len().min(COMPARED)];
    if cut.len() == text.len() { text } else { &cut[..memrchr(b'\n', cut).map_or(cut.len(), |feed| feed + 1)] }
}

/// The first place of the replacement.
fn applied_at(state: &[u8], replacement: &[u8]) -> Option<Range<usize>> {
    let mut at = None;
    if !replacement.trim_ascii().is_empty() {
        Needle::new(replacement).each_in_text(state, OverlapRule::Skipped, |range| {
            at = Some(range);
            ControlFlow::Break(())
        });
    }
    at
}

/// Returns whether the edit seems to be applied already, since its replacement is at `at`.
fn is_applied(
    state: &[u8],
    anchor: &[u8],
    replacement: &[u8],
    at: &Range<usize>,
    found: &cause::AnchorDiagnosis,
) -> bool {
    if let Some(explained) = &found.explained {
        // A replacement that is a part of the old text is there before the edit, too.
        return at.start <= explained.range.start && explained.range.end <= at.end;
    }
    // Where the old text seems to be elsewhere, the replacement is there for another reason.
    let is_elsewhere = found.guess.as_ref().is_some_and(|guess| !overlap(guess, at));
    !is_elsewhere && applied_is_telling(state, replacement) && !contains(anchor, replacement)
}

/// Returns whether finding `replacement` in `state` means anything: a brace would be in most files.
fn applied_is_telling(state: &[u8], replacement: &[u8]) -> bool {
    let significant = replacement.iter().filter(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80).count();
    let mut total = 0;
    if (1..3).contains(&significant) {
        Needle::new(replacement).each_in_text(state, OverlapRule::Skipped, |_| {
            total += 1;
            if total > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    significant >= 3 || total == 1
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The text at `range`, if it would be found once as an anchor and is not longer than `longest`. The byte-order mark is no
/// part of it: who replaces it with a text that has none would remove it.
fn suggestion(state: &[u8], range: &Range<usize>, longest: usize) -> Option<String> {
    let text = &state[range.clone()];
    let text = if range.start == 0 { text.strip_prefix(MARK).unwrap_or(text) } else { text };
    if text.trim_ascii().is_empty() || text.len() > longest {
        return None;
    }
    let mut total = 0;
    Needle::new(text).each_in_text(state, OverlapRule::Counted, |_| {
        total += 1;
        if total > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if total == 1 { String::from_utf8(text.to_vec()).ok() } else { None }
}

/// The whole lines that `range` touches; of long lines, the part around it.
fn lines_of(state: &[u8], range: &Range<usize>) -> Range<usize> {
    let reach = nearest::reach(&state[range.clone()]);
    let start = nearest::back(state, range.start, 0, reach);
    // A range that ends with a line break does not touch the line after it.
    let ends = range.end > range.start && state[range.end - 1] == b'\n';
    start..if ends { range.end } else { nearest::forward(state, range.end, 1, reach) }
}

/// Compares an anchor with a range: with the whole of it, or, with free ends, with the part of its lines that is most
/// like the anchor.
fn describe(state: &[u8], range: &Range<usize>, anchor: &[u8], ends: TextEnds) -> Diagnosis {
    let region = lines_of(state, range);
    let line_at = |at: usize| 1 + memchr_iter(b'\n', &state[..at]).count();
    let (from, to) = if ends == TextEnds::Free { (region.start, region.end) } else { (range.start, range.end) };
    let text = beginning(&state[from..to]);
    let compared = characters::compare(anchor, text, line_at(from), ends);
    // Of a text that is too long to be aligned, the lines that were found.
    let compared = compared.or_else(|| characters::compare(anchor, text, line_at(from), TextEnds::Fixed));
    let (part, differences) = compared.map_or((0..text.len(), Vec::new()), |found| (found.part, found.differences));
    let part = &text[part];
    let line = line_at(region.start);
    let lines = line_at(region.end) - line + usize::from(!state[..region.end].ends_with(b"\n"));
    let around = AROUND.min(SNIPPET_LINES.saturating_sub(lines) / 2);
    let start = nearest::back(state, region.start, around, nearest::reach(anchor));
    let above = memchr_iter(b'\n', &state[start..region.start]).count();
    let similarity = similar::ratio(anchor, part);
    Diagnosis {
        snippet: numbered(&state[start..], line - above, (above + lines + around).min(SNIPPET_LINES)),
        line,
        similarity,
        differences: if similarity < CLOSE { Vec::new() } else { differences },
        diff: diff::unified(anchor, part, "old_string", "file", DIFF_BYTES),
        cause: None,
        suggestion: None,
        nearest: None,
    }
}
