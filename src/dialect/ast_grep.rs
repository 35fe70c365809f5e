//! The output of `ast-grep --json`: matches with their replacements, as an array or one object per line.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::files::PatchFiles;
use super::json::JsonSource;
use super::malformed;
use crate::error::Result;
use crate::request::edit::{Anchor, Edit};

/// The expectation named in errors.
const MATCH: &str = "the output of ast-grep --json";

/// The fields of a match that are used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AstGrepMatch {
    text: String,
    range: AstGrepRange,
    file: String,
    replacement: Option<String>,
    /// The rule that found it, unless it was a pattern on the command line.
    rule_id: Option<String>,
    replacement_offsets: Option<Offsets>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AstGrepRange {
    byte_offset: Offsets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Offsets {
    start: usize,
    end: usize,
}

/// A replacement: its place, the old text, the new text.
type AstGrepReplacement = (Offsets, Vec<u8>, String);

/// Reads the matches. Those without a replacement are skipped.
pub(super) fn read(json: &[u8]) -> Result<PatchFiles> {
    let source = JsonSource(json);
    let mut by_file: BTreeMap<String, Vec<AstGrepReplacement>> = BTreeMap::new();
    let parts = source.parse_list(MATCH)?;
    let mut is_search = !parts.is_empty();
    for part in parts {
        let found: AstGrepMatch = source.parse_part(part, MATCH)?;
        // What a rule without a fix finds has nothing to apply; a search without a replacement is not a rewrite at all.
        is_search &= found.rule_id.is_none();
        let Some(replacement) = found.replacement else { continue };
        let Offsets { start, end } = found.range.byte_offset;
        let at = found.replacement_offsets.unwrap_or(found.range.byte_offset);
        // Only the text of the match is known, and unknown text is never replaced.
        let inside =
            (at.start >= start && at.start <= at.end && at.end <= end).then(|| at.start - start..at.end - start);
        let expected =
            inside.and_then(|inside| found.text.as_bytes().get(inside)).filter(|_| end - start == found.text.len());
        let expected = expected.ok_or_else(|| {
            let place = format!("{} at {}..{}", found.file, at.start, at.end);
            let expected = format!("replacements inside the text of their matches, not {place}: let ast-grep apply it");
            source.refuse(part, expected)
        })?;
        by_file.entry(found.file).or_default().push((at, expected.to_vec(), replacement));
    }
    let mut files = PatchFiles::default();
    for (file, mut places) in by_file {
        // As ast-grep itself: of nested matches the outer one, which comes first; the inner one is part of its text.
        places.sort_by_key(|(at, ..)| at.start);
        let mut end = 0;
        places.retain(|(at, ..)| {
            let is_free = at.start >= end;
            end = if is_free { at.end } else { end };
            is_free
        });
        let mut grown = 0isize;
        let edits = places.into_iter().map(|(at, expected, replacement)| {
            // Each place is counted in the content after the previous edits.
            let moved = |offset: usize| offset.saturating_add_signed(grown);
            let range = moved(at.start)..moved(at.end);
            grown += replacement.len().cast_signed() - expected.len().cast_signed();
            Edit { anchor: Anchor::Range { range, expected }, replacement: replacement.into_bytes() }
        });
        let edits = edits.collect();
        files.edit(file.into(), edits, None);
    }
    if files.list.is_empty() && is_search {
        return Err(malformed(1, 1, "matches with a `replacement`: run ast-grep with --rewrite, or a rule with `fix`"));
    }
    Ok(files)
}
