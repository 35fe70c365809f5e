//! The output of `ast-grep --json`: matches with their replacements, as an array or one object a line.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::files::Files;
use super::malformed;
use crate::error::Result;
use crate::request::edit::{Anchor, Edit};

/// One match, as far as it is of use.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Match {
    text: String,
    range: Range,
    file: String,
    replacement: Option<String>,
    replacement_offsets: Option<Offsets>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    byte_offset: Offsets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Offsets {
    start: usize,
    end: usize,
}

/// Whether this looks like such an output.
pub(super) fn detect(json: &[u8]) -> Option<super::Format> {
    let mut first = serde_json::Deserializer::from_slice(json.strip_prefix(b"[").unwrap_or(json)).into_iter::<Match>();
    let is_match = matches!(first.next(), Some(Ok(_)));
    (is_match || json.trim_ascii() == b"[]").then_some(super::Format::AstGrep)
}

/// Reads the matches. Those without a replacement are passed over.
pub(super) fn read(json: &[u8]) -> Result<Files> {
    let mut by_file: BTreeMap<String, Vec<(Offsets, Vec<u8>, String)>> = BTreeMap::new();
    for found in matches(json)? {
        let Some(replacement) = found.replacement else { continue };
        let Offsets { start, end } = found.range.byte_offset;
        let at = found.replacement_offsets.unwrap_or(found.range.byte_offset);
        // Only the text of the match is known, and nothing is replaced that is not known.
        let inside =
            (at.start >= start && at.start <= at.end && at.end <= end).then(|| at.start - start..at.end - start);
        let expected =
            inside.and_then(|inside| found.text.as_bytes().get(inside)).filter(|_| end - start == found.text.len());
        let expected = expected.ok_or_else(|| {
            let place = format!("{} at {}..{}", found.file, at.start, at.end);
            malformed(
                1,
                1,
                format!("replacements inside the text of their matches, not {place}: let ast-grep apply it"),
            )
        })?;
        by_file.entry(found.file).or_default().push((at, expected.to_vec(), replacement));
    }
    let mut files = Files::default();
    for (file, mut places) in by_file {
        places.sort_by_key(|(at, ..)| (at.start, at.end));
        if let Some(pair) = places.windows(2).find(|pair| pair[1].0.start < pair[0].0.end) {
            let expected = format!("replacements that do not overlap, as they do in {file} at {}", pair[1].0.start);
            return Err(malformed(1, 1, expected));
        }
        let mut grown = 0isize;
        let edits = places.into_iter().map(|(at, expected, replacement)| {
            // Each place is counted in what the edits before left.
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

fn matches(json: &[u8]) -> Result<Vec<Match>> {
    let fault = |error: serde_json::Error| {
        malformed(error.line(), error.column(), format!("the output of ast-grep --json: {error}"))
    };
    if json.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(json).map_err(fault);
    }
    serde_json::Deserializer::from_slice(json).into_iter().collect::<Result<_, _>>().map_err(fault)
}
