//! Explains why an anchor was not found, and what is there instead.
//!
//! Nothing found here is ever applied: it explains a failure. The work is bounded: at most a few scans of the content.

mod cause;
mod characters;
pub(super) mod fold;
mod nearest;
mod similar;
#[cfg(test)]
mod tests;

use std::ops::{ControlFlow, Range};

use memchr::{memchr_iter, memrchr};

use super::diff;
use super::locate::{Needle, OverlapRule, numbered};
use crate::error::{Diagnosis, MismatchCause};

/// The most lines of a snippet.
const SNIPPET_LINES: usize = 15;

/// Below this similarity a region differs in too much to list characters.
const CLOSE: f64 = 0.6;

/// The number of lines shown around a region, if there is room.
const AROUND: usize = 2;

/// The most bytes of a suggestion: a longer one is not worth reading.
const SUGGESTION_BYTES: usize = 4 << 10;

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
    let applied = applied_at(state, replacement);
    if let Some(at) = applied
        && found.explained.as_ref().map_or(applied_is_telling(state, replacement), |e| overlap(&e.range, &at))
    {
        let mut diagnosis = describe(state, &lines_of(state, &at), compared);
        diagnosis.cause = Some(MismatchCause::AlreadyApplied);
        return diagnosis;
    }
    let Some(explained) = found.explained else {
        let mut diagnosis = describe(state, &found.nearest, compared);
        diagnosis.similarity = found.similarity;
        return diagnosis;
    };
    let mut diagnosis = describe(state, &lines_of(state, &explained.range), compared);
    diagnosis.cause = Some(explained.cause);
    diagnosis.suggestion = explained.is_only.then(|| suggestion(state, &explained.range)).flatten();
    diagnosis
}

/// Says what is at `range` of `state` instead of `expected`.
pub(super) fn at_range(state: &[u8], range: &Range<usize>, expected: &[u8]) -> Diagnosis {
    let start = range.start.min(state.len());
    let range = start..range.end.clamp(start, state.len());
    let there = beginning(&state[range.clone()]);
    let expected = beginning(expected);
    let lines = lines_of(state, &(start..start + there.len()));
    let mut diagnosis = describe(state, &lines, expected);
    diagnosis.similarity = similar::ratio(expected, there);
    diagnosis.diff = diff::unified(expected, there, "expected", "file", DIFF_BYTES);
    diagnosis.differences = characters::differences(expected, there, diagnosis.line);
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

/// The text at `range`, if it would be found once as an anchor.
fn suggestion(state: &[u8], range: &Range<usize>) -> Option<String> {
    let text = &state[range.clone()];
    if text.is_empty() || text.len() > SUGGESTION_BYTES {
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

/// Compares a region of whole lines with the anchor.
fn describe(state: &[u8], region: &Range<usize>, anchor: &[u8]) -> Diagnosis {
    let text = &state[region.clone()];
    let line = 1 + memchr_iter(b'\n', &state[..region.start]).count();
    let lines = memchr_iter(b'\n', text).count() + usize::from(!text.ends_with(b"\n"));
    let around = AROUND.min(SNIPPET_LINES.saturating_sub(lines) / 2);
    let start = nearest::back(state, region.start, around, nearest::reach(anchor));
    let above = memchr_iter(b'\n', &state[start..region.start]).count();
    // A line break missing only at the end of the anchor is no difference.
    let ends = text.ends_with(b"\n") && !anchor.ends_with(b"\n");
    let text_as_anchor = if ends { text.strip_suffix(b"\n").unwrap_or(text) } else { text };
    let text_as_anchor =
        if ends { text_as_anchor.strip_suffix(b"\r").unwrap_or(text_as_anchor) } else { text_as_anchor };
    let similarity = similar::ratio(anchor, beginning(text));
    let differences =
        if similarity < CLOSE { Vec::new() } else { characters::differences(anchor, beginning(text), line) };
    Diagnosis {
        snippet: numbered(&state[start..], line - above, (above + lines + around).min(SNIPPET_LINES)),
        line,
        similarity,
        differences,
        diff: diff::unified(anchor, beginning(text_as_anchor), "old_string", "file", DIFF_BYTES),
        cause: None,
        suggestion: None,
    }
}
