//! The output of `ast-grep --json`: matches with their replacements, as an array or one object per line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

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

/// Detects such an output.
pub(super) fn detect(json: &[u8]) -> Option<super::Format> {
    let mut first =
        serde_json::Deserializer::from_slice(json.strip_prefix(b"[").unwrap_or(json)).into_iter::<AstGrepMatch>();
    let is_match = matches!(first.next(), Some(Ok(_)));
    (is_match || json.trim_ascii() == b"[]").then_some(super::Format::AstGrep)
}

/// A replacement: its place, the old text, the new text, and the part of the output that contains it.
type AstGrepReplacement<'a> = (Offsets, Vec<u8>, String, &'a RawValue);

/// Reads the matches. Those without a replacement are skipped.
pub(super) fn read(json: &[u8]) -> Result<PatchFiles> {
    let source = JsonSource(json);
    let mut by_file: BTreeMap<String, Vec<AstGrepReplacement<'_>>> = BTreeMap::new();
    for part in matches(source)? {
        let found: AstGrepMatch = source.parse_part(part, MATCH)?;
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
        by_file.entry(found.file).or_default().push((at, expected.to_vec(), replacement, part));
    }
    let mut files = PatchFiles::default();
    for (file, mut places) in by_file {
        places.sort_by_key(|(at, ..)| (at.start, at.end));
        if let Some(pair) = places.windows(2).find(|pair| pair[1].0.start < pair[0].0.end) {
            let expected = format!("replacements that do not overlap, as they do in {file} at {}", pair[1].0.start);
            return Err(source.refuse(pair[1].3, expected));
        }
        let mut grown = 0isize;
        let edits = places.into_iter().map(|(at, expected, replacement, _)| {
            // Each place is counted in the content after the previous edits.
            let moved = |offset: usize| offset.saturating_add_signed(grown);
            let range = moved(at.start)..moved(at.end);
            grown += replacement.len().cast_signed() - expected.len().cast_signed();
            Edit { anchor: Anchor::Range { range, expected }, replacement: replacement.into_bytes() }
        });
        let edits = edits.collect();
        files.edit(file.into(), edits, None);
    }
    if files.list.is_empty() {
        return Err(malformed(1, 1, "matches with a `replacement`: run ast-grep with --rewrite, or a rule with `fix`"));
    }
    Ok(files)
}

fn matches(source: JsonSource<'_>) -> Result<Vec<&RawValue>> {
    if source.0.trim_ascii_start().starts_with(b"[") {
        return source.parse(MATCH);
    }
    let list = serde_json::Deserializer::from_slice(source.0).into_iter().collect::<Result<_, _>>();
    list.map_err(|error| source.fault(source.0, &error, MATCH))
}
