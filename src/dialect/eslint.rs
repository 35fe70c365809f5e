//! The output of `eslint --format json`.
//!
//! It has the whole text of each file with a finding, so that only a file that has this very text is changed.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::files::{self, PatchFiles};
use super::fixes::{FixPart, ToolFix, compatible};
use super::json::JsonSource;
use crate::digest::Digest;
use crate::error::Result;
use crate::request::edit::{Anchor, Edit};
use crate::request::{Change, FileRequest};

/// The expectation named in errors.
const RESULT: &str = "a result of eslint --format json";

/// The mark in front of a text, which its ranges do not count.
const MARK: char = '\u{FEFF}';

/// The findings of one file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EslintResult {
    file_path: String,
    messages: Vec<EslintMessage>,
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EslintMessage {
    fix: Option<EslintFix>,
}

/// A replacement, in UTF-16 code units; -1 is the start of the mark.
#[derive(Debug, Deserialize)]
struct EslintFix {
    range: [i64; 2],
    text: String,
}

/// Reads the results. Suggestions, of which one would be chosen, are ignored.
pub(super) fn read(json: &[u8]) -> Result<PatchFiles> {
    let source = JsonSource(json);
    let mut found = PatchFiles::default();
    for part in source.parse_list(RESULT)? {
        let EslintResult { file_path, messages, source: text } = source.parse_part(part, RESULT)?;
        let fixes: Vec<EslintFix> = messages.into_iter().filter_map(|message| message.fix).collect();
        if fixes.is_empty() {
            continue;
        }
        // With --fix and --fix-dry-run eslint prints what became of the text, and not what it was.
        let text = text.ok_or_else(|| {
            source.refuse(part, format!("the `source` of {file_path}: run eslint without --fix and --fix-dry-run"))
        })?;
        let edits = edits(&text, fixes).ok_or_else(|| {
            source.refuse(part, format!("ranges of the `source` of {file_path}, in UTF-16 code units"))
        })?;
        let change = Change::Edit { edits, rename: None };
        let file = FileRequest::new(files::path(file_path.as_bytes()), change);
        found.push(file.expect(Digest::of(text.as_bytes())));
    }
    Ok(found)
}

/// The edits of a text, from its end to its start, so that none moves the place of a later one. `None` if a range is not
/// in the text.
fn edits(text: &str, fixes: Vec<EslintFix>) -> Option<Vec<Edit>> {
    let fix = |fix: EslintFix| {
        let at = fix.range[0]..fix.range[1];
        ToolFix { parts: vec![FixPart { file: String::new(), at, replacement: fix.text }], alone: false }
    };
    let parts = compatible(fixes.into_iter().map(fix).collect());
    let bytes = bytes_of(text, parts.iter().flat_map(|part| [part.at.start, part.at.end]));
    let edit = |part: FixPart<i64>| {
        let range = *bytes.get(&part.at.start)?..*bytes.get(&part.at.end)?;
        let expected = text.as_bytes().get(range.clone())?.to_vec();
        Some(Edit { anchor: Anchor::Range { range, expected }, replacement: part.replacement.into_bytes() })
    };
    parts.into_iter().rev().map(edit).collect()
}

/// The bytes at positions of a text; those that are not in it, or within a character, are left out.
fn bytes_of(text: &str, positions: impl Iterator<Item = i64>) -> BTreeMap<i64, usize> {
    let mut wanted: Vec<i64> = positions.collect();
    wanted.sort_unstable();
    let mut wanted = wanted.into_iter().peekable();
    let mut found = BTreeMap::new();
    let mut units = if text.starts_with(MARK) { -1 } else { 0 };
    for (at, width) in text.char_indices().map(|(at, c)| (at, c.len_utf16())).chain([(text.len(), 0)]) {
        while let Some(position) = wanted.next_if(|position| *position <= units) {
            if position == units {
                found.insert(position, at);
            }
        }
        units += i64::try_from(width).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_utf_16_code_units_after_the_mark() {
        let of = |text: &str, at: i64| bytes_of(text, [at].into_iter()).get(&at).copied();
        assert_eq!((of("𝒳é", 0), of("𝒳é", 2), of("𝒳é", 3)), (Some(0), Some(4), Some(6)));
        assert_eq!((of("𝒳é", 1), of("𝒳é", 4), of("𝒳é", -1)), (None, None, None), "in a character, or outside");
        assert_eq!((of("\u{FEFF}é", -1), of("\u{FEFF}é", 0), of("\u{FEFF}é", 1)), (Some(0), Some(3), Some(5)));
    }
}
