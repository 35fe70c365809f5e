//! The messages of rustc and clippy, with cargo around them or without: one JSON object per line.
//!
//! A message has the lines that rustc has read, so a place is verified with all of its lines, not only where it changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::files::PatchFiles;
use super::fixes::{FixPart, ToolFix, are_alternatives, compatible};
use super::json::JsonSource;
use super::{FixChoice, malformed};
use crate::error::Result;
use crate::request::edit::{Anchor, Edit};

/// The expectation named in errors.
const MESSAGE: &str = "a message of rustc or cargo";

/// A line of the output of cargo; other kinds than `compiler-message` have no message.
#[derive(Debug, Deserialize)]
struct CargoLine<'a> {
    reason: Option<String>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    manifest_path: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    #[serde(default)]
    children: Vec<Advice>,
}

#[derive(Debug, Deserialize)]
struct Advice {
    spans: Vec<RustcSpan>,
}

#[derive(Debug, Deserialize)]
struct RustcSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    text: Vec<SourceLine>,
    suggested_replacement: Option<String>,
    suggestion_applicability: Option<String>,
}

/// A line of a place, without its line break, and the part of it that belongs to the place: characters, from 1.
#[derive(Debug, Deserialize)]
struct SourceLine {
    text: String,
    highlight_start: usize,
    highlight_end: usize,
}

/// The whole lines around a place, as rustc has read them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenLines {
    /// The byte at which they start.
    start: usize,
    text: Vec<u8>,
}

impl SeenLines {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Reads the messages.
pub(super) fn read(json: &[u8], choice: FixChoice) -> Result<PatchFiles> {
    let source = JsonSource(json);
    let mut proposed = Vec::new();
    let mut seen: BTreeMap<String, Vec<SeenLines>> = BTreeMap::new();
    for part in source.parse_lines(MESSAGE)? {
        let line: CargoLine<'_> = source.parse_part(part, MESSAGE)?;
        let (message, base) = match (line.reason.as_deref(), line.message) {
            (Some("compiler-message"), Some(message)) => (message, line.manifest_path),
            (Some(_), _) => continue,
            (None, _) => (part, None),
        };
        let base = base.as_deref().and_then(Path::parent);
        let diagnostic: Diagnostic = source.parse_part(message, MESSAGE)?;
        for advice in diagnostic.children {
            let spans = advice.spans.into_iter().filter(|span| chosen(span, choice));
            let mut parts = Vec::new();
            for span in spans {
                let file = file_of(&span.file_name, base);
                let lines = span.lines().ok_or_else(|| {
                    let place = format!("{} at {}..{}", span.file_name, span.byte_start, span.byte_end);
                    source
                        .refuse(part, format!("the lines around each suggestion, not {place}: let cargo fix apply it"))
                })?;
                seen.entry(file.clone()).or_default().push(lines);
                let at = span.byte_start..span.byte_end;
                parts.push(FixPart { file, at, replacement: span.suggested_replacement.unwrap_or_default() });
            }
            if !parts.is_empty() && !are_alternatives(&parts) {
                proposed.push(ToolFix { parts, alone: false });
            }
        }
    }
    let mut by_file: BTreeMap<String, Vec<FixPart<usize>>> = BTreeMap::new();
    for part in compatible(proposed) {
        by_file.entry(part.file.clone()).or_default().push(part);
    }
    let mut files = PatchFiles::default();
    for (file, parts) in by_file {
        let lines = seen.remove(&file).unwrap_or_default();
        let edits = edits(&parts, lines).ok_or_else(|| {
            malformed(1, 1, format!("messages about one and the same {file}, not about two versions: run cargo again"))
        })?;
        files.edit(file.into(), edits, None);
    }
    Ok(files)
}

/// Returns whether a span has a replacement that may be applied without being read. One with placeholders is no code.
fn chosen(span: &RustcSpan, choice: FixChoice) -> bool {
    let is_safe = match span.suggestion_applicability.as_deref() {
        Some("MachineApplicable") => true,
        Some("MaybeIncorrect") => choice == FixChoice::Unsafe,
        _ => false,
    };
    span.suggested_replacement.is_some() && is_safe
}

/// The path of a file. Cargo starts rustc in the folder of the workspace, and names that of the package: what both have
/// in common is counted once.
fn file_of(name: &str, package: Option<&Path>) -> String {
    let (name, Some(package)) = (Path::new(name), package) else { return name.to_owned() };
    if name.is_absolute() {
        return name.display().to_string();
    }
    let mut ancestors: Vec<&Path> = package.ancestors().collect();
    ancestors.reverse();
    let workspace = ancestors.into_iter().find(|folder| {
        package.strip_prefix(folder).is_ok_and(|inside| !inside.as_os_str().is_empty() && name.starts_with(inside))
    });
    workspace.unwrap_or(package).join(name).display().to_string()
}

impl RustcSpan {
    /// The whole lines of the place; `None` if the message does not have all of them.
    fn lines(&self) -> Option<SeenLines> {
        let first = self.text.first()?;
        let last = self.text.last()?;
        let highlighted: usize =
            self.text.iter().map(|line| line.bytes().map(|bytes| bytes.len())).sum::<Option<_>>()?;
        let breaks = self.text.len() - 1;
        // Lines come without their breaks, whose length tells which they are; of both kinds, it does not.
        let left = self.byte_end.checked_sub(self.byte_start)?.checked_sub(highlighted)?;
        let line_break = match left {
            left if left == breaks => "\n",
            left if left == 2 * breaks => "\r\n",
            _ => return None,
        };
        let texts: Vec<&str> = self.text.iter().map(|line| line.text.as_str()).collect();
        let start = self.byte_start.checked_sub(first.bytes()?.start)?;
        debug_assert!(last.bytes()?.end <= last.text.len(), "a highlight is in its line");
        Some(SeenLines { start, text: texts.join(line_break).into_bytes() })
    }
}

impl SourceLine {
    /// The highlighted bytes of the line.
    fn bytes(&self) -> Option<Range<usize>> {
        let at = |character: usize| {
            let mut ends = self.text.char_indices().map(|(at, _)| at).chain([self.text.len()]);
            ends.nth(character.checked_sub(1)?)
        };
        let (start, end) = (at(self.highlight_start)?, at(self.highlight_end)?);
        (start <= end).then_some(start..end)
    }
}

/// The edits of a file, from its end to its start, so that none moves the place of a later one. `seen` has the lines of
/// all parts; parts in the same lines become one edit, which verifies those lines. `None` if the messages disagree about
/// a line.
fn edits(parts: &[FixPart<usize>], mut seen: Vec<SeenLines>) -> Option<Vec<Edit>> {
    seen.retain(|lines| parts.iter().any(|part| lines.start <= part.at.start && part.at.end <= lines.end()));
    seen.sort_by_key(|lines| (lines.start, lines.end()));
    let mut regions: Vec<SeenLines> = Vec::new();
    for lines in seen {
        match regions.last_mut() {
            Some(before) if lines.start <= before.end() => {
                let known = (before.end() - lines.start).min(lines.text.len());
                if before.text[lines.start - before.start..][..known] != lines.text[..known] {
                    return None;
                }
                before.text.extend_from_slice(&lines.text[known..]);
            }
            _ => regions.push(lines),
        }
    }
    let edit = |lines: SeenLines| {
        let mut replacement = lines.text.clone();
        let inside = parts.iter().filter(|part| lines.start <= part.at.start && part.at.end <= lines.end());
        for part in inside.rev() {
            let range = part.at.start - lines.start..part.at.end - lines.start;
            replacement.splice(range, part.replacement.bytes());
        }
        Edit { anchor: Anchor::Range { range: lines.start..lines.end(), expected: lines.text }, replacement }
    };
    Some(regions.into_iter().rev().map(edit).collect())
}
