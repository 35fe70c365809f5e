//! Determines the format of a patch by its content.

#[cfg(feature = "cli")]
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Format, envelope, search_replace, unified, without_mark};

/// The format of a patch, by its content; `None` if it cannot be determined, as for a request of our own.
#[must_use]
pub fn detect(patch: &[u8]) -> Option<Format> {
    let patch = without_mark(patch);
    let start = patch.trim_ascii_start();
    if matches!(start.first(), Some(b'{' | b'[')) {
        match Members::of(start) {
            Some(members) if members.are_of_a_workspace_edit() => return Some(Format::WorkspaceEdit),
            Some(Members { files: Present(true), .. }) => return None,
            _ => {}
        }
        if let Some(format) = report(start) {
            return Some(format);
        }
        if serde_json::from_slice::<IgnoredAny>(start).is_ok() {
            return None;
        }
    }
    let mut lines = patch.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).peekable();
    let is_diff = |line: &[u8]| line.starts_with(b"diff --git ") || line.starts_with(b"--- ");
    if lines.peek().is_some_and(|first| unified::is_commit(first)) && lines.clone().any(is_diff) {
        return Some(Format::Unified);
    }
    while let Some(line) = lines.next() {
        if line.trim_ascii() == b"*** Begin Patch" || envelope::is_section(line) {
            return Some(Format::Envelope);
        }
        if search_replace::is_head(line) {
            return Some(Format::SearchReplace);
        }
        let next = lines.peek().copied().unwrap_or_default();
        if line.starts_with(b"diff --git ") || (line.starts_with(b"--- ") && next.starts_with(b"+++ ")) {
            return Some(Format::Unified);
        }
    }
    None
}

/// Returns whether text that is no patch may be a plan: something that has members of one, or is not complete. What is
/// wrong with it is told by whoever parses it.
#[cfg(feature = "cli")]
pub(crate) fn may_be_plan(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(start).into_iter::<BTreeMap<String, &RawValue>>();
    match values.next() {
        None => true,
        _ if !start.starts_with(b"{") => false,
        // Also of what is sent instead of a plan by mistake.
        Some(Ok(members)) => {
            members.is_empty() || ["files", "edits", "file_path"].iter().any(|name| members.contains_key(*name))
        }
        Some(Err(_)) => true,
    }
}

/// The members that distinguish the kinds of JSON, collected in one pass over a request that may be long.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(default)]
    files: Present,
    #[serde(default)]
    changes: Present,
    #[serde(default, rename = "documentChanges")]
    document_changes: Present,
    #[serde(borrow)]
    edit: Option<&'a RawValue>,
}

/// Whether a member is present, with any value.
#[derive(Clone, Copy, Default)]
struct Present(bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(true))
    }
}

impl<'a> Members<'a> {
    /// Those of an object; serde would accept an array as well.
    fn of(json: &'a [u8]) -> Option<Self> {
        json.starts_with(b"{").then(|| serde_json::from_slice(json).ok()).flatten()
    }

    /// Returns whether they belong to a workspace edit, alone or as the `edit` of the parameters of
    /// `workspace/applyEdit`.
    fn are_of_a_workspace_edit(&self) -> bool {
        let inner = self.edit.and_then(|edit| Self::of(edit.get().as_bytes()));
        let Self { changes, document_changes, .. } = inner.as_ref().unwrap_or(self);
        changes.0 || document_changes.0
    }
}

/// The members that distinguish the objects of reports.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportMembers {
    #[serde(default)]
    text: Present,
    #[serde(default)]
    range: Present,
    #[serde(default)]
    file: Present,
    /// Of cargo.
    #[serde(default)]
    reason: Present,
    /// Of rustc by itself.
    #[serde(default)]
    rendered: Present,
    #[serde(default)]
    spans: Present,
    /// Of eslint.
    #[serde(default)]
    file_path: Present,
    #[serde(default)]
    messages: Present,
    /// Of ruff.
    #[serde(default)]
    filename: Present,
    #[serde(default)]
    fix: Present,
}

/// The format of a report of a tool, by its first object: of an array, or of one object per line.
fn report(json: &[u8]) -> Option<Format> {
    // Nothing was found; which of the tools has found nothing makes no difference.
    if json.trim_ascii() == b"[]" {
        return Some(Format::AstGrep);
    }
    let first = json.strip_prefix(b"[").unwrap_or(json);
    let first = serde_json::Deserializer::from_slice(first).into_iter::<&RawValue>().next()?.ok()?;
    // serde would accept an array as well.
    let first = Some(first.get()).filter(|value| value.starts_with('{'))?;
    let has: ReportMembers = serde_json::from_str(first).ok()?;
    match has {
        _ if has.text.0 && has.range.0 && has.file.0 => Some(Format::AstGrep),
        _ if has.file_path.0 && has.messages.0 => Some(Format::Eslint),
        _ if has.filename.0 && has.fix.0 => Some(Format::Ruff),
        _ if !json.starts_with(b"{") => None,
        _ if has.reason.0 || (has.rendered.0 && has.spans.0) => Some(Format::Rustc),
        _ => None,
    }
}
