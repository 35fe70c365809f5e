//! Validates a request lexically, before any file is accessed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use super::edit::{Anchor, Count};
use super::{Change, FileRequest, Mode, Request};
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::limits;
use crate::path::bounds::lead_into_state;

/// All findings of one layer of validation, collected before any of them is reported.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    list: Vec<Finding>,
    unlisted: usize,
}

impl Findings {
    /// No findings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one. `path` is the place in the request, as [`at_file`] and [`at_edit`] build it.
    pub fn push(&mut self, kind: ErrorKind, path: Vec<String>, message: impl Into<String>) {
        if self.list.len() < limits::FINDINGS {
            self.list.push(Finding { kind, message: message.into(), path, did_you_mean: None });
        } else {
            self.unlisted += 1;
        }
    }

    /// Returns whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The findings so far.
    #[must_use]
    pub fn as_slice(&self) -> &[Finding] {
        &self.list
    }

    /// Ends the layer: all findings as one error, if there are any.
    pub fn finish(self) -> Result<()> {
        if self.list.is_empty() { Ok(()) } else { Err(self.into_error()) }
    }

    /// All findings as one error; there must be at least one.
    #[must_use]
    pub fn into_error(mut self) -> Error {
        if self.unlisted > 0 {
            let message = format!("{} more findings are not listed", self.unlisted);
            self.list.push(Finding {
                kind: ErrorKind::ValidationFailed,
                message,
                path: Vec::new(),
                did_you_mean: None,
            });
        }
        Error::findings(self.list)
    }
}

/// The place of a file entry, or with `field` of a field in it: `["files", "1", "file_path"]`.
#[must_use]
pub fn at_file(file: usize, field: Option<&str>) -> Vec<String> {
    let mut path = vec!["files".to_owned(), file.to_string()];
    path.extend(field.map(str::to_owned));
    path
}

/// The place of an edit, or with `field` of a field in it: `["files", "1", "edits", "0", "old_string"]`.
#[must_use]
pub fn at_edit(file: usize, edit: usize, field: Option<&str>) -> Vec<String> {
    let mut path = at_file(file, Some("edits"));
    path.push(edit.to_string());
    path.extend(field.map(str::to_owned));
    path
}

/// The kinds of path that a front-end accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRule {
    /// Only absolute ones: the caller's current folder need not be ours.
    Absolute,
    /// Both; relative ones are relative to the root.
    AbsoluteOrRelative,
    /// Absolute ones that a search has found: none is from an answer, where a byte can be written as text.
    Found,
}

/// Layers 1 and 2 for a request that was not read from JSON. No file is accessed.
pub fn check(request: &Request, rule: PathRule) -> Result<()> {
    let mut findings = Findings::new();
    check_size(request.files.len(), &mut findings);
    check_about(request, &mut findings);
    for (index, file) in request.files.iter().enumerate() {
        check_file(index, file, &mut findings);
    }
    findings.finish()?;
    check_paths(request, rule)
}

/// Validates what a request says of itself, beside its files.
pub fn check_about(request: &Request, findings: &mut Findings) {
    check_label(request.label.as_deref(), findings);
    check_campaign(request.campaign.as_deref(), findings);
    if let Some(key) = &request.idempotency_key {
        check_key(key, findings);
    }
}

fn check_file(index: usize, file: &FileRequest, findings: &mut Findings) {
    if let Change::Edit { edits, .. } | Change::Copy { edits, .. } = &file.change {
        let texts = edits.iter().map(|edit| match &edit.anchor {
            Anchor::Text { text, .. } => Some(text.as_slice()),
            // These name any place, and the same text may occur in several.
            Anchor::Range { .. } | Anchor::Span { .. } | Anchor::Hunk(_) => None,
        });
        if !(edits.is_empty() && matches!(file.change, Change::Copy { .. })) {
            check_anchors(index, texts, findings);
        }
        for (edit, _) in edits
            .iter()
            .enumerate()
            .filter(|(_, edit)| matches!(edit.anchor, Anchor::Text { count: Count::Exactly(0), .. }))
        {
            check_expected_matches(at_edit(index, edit, Some("expected_matches")), 0, findings);
        }
    }
    if file.is_of_folder() {
        check_folder(index, file, findings);
    }
    if matches!(file.change, Change::Take { .. }) && (file.encoding.is_some() || file.mode.is_some()) {
        let message = "a file that is given away has its own mode, and no encoding: leave them out";
        findings.push(ErrorKind::ValidationFailed, at_file(index, None), message);
    }
    if let Change::Symlink { target, .. } = &file.change {
        check_symlink(index, file, target, findings);
    }
    if file.mode.is_some_and(|mode| matches!(mode, Mode::Bits(bits) if bits > MODE_MAX)) {
        findings.push(ErrorKind::ValidationFailed, at_file(index, Some("mode")), "the mode is above 7777");
    }
}

/// A folder has no content; and one that goes has no mode.
fn check_folder(index: usize, file: &FileRequest, findings: &mut Findings) {
    let is_removed = matches!(file.change, Change::RemoveFolder);
    for (field, given) in [
        ("expected_hash", file.expected_hash.is_some()),
        ("encoding", file.encoding.is_some()),
        ("mode", file.mode.is_some_and(|mode| is_removed || !matches!(mode, Mode::Bits(_)))),
    ] {
        if given {
            let what = if is_removed { "a folder that is removed" } else { "a folder" };
            let message = format!("`{field}` does not go with {what}: leave it out");
            findings.push(ErrorKind::ValidationFailed, at_file(index, Some(field)), message);
        }
    }
}

/// Validates the target of a symlink, which is only bytes; and a symlink has neither a mode nor an encoding.
fn check_symlink(index: usize, file: &FileRequest, target: &[u8], findings: &mut Findings) {
    check_target(index, target, findings);
    for (field, given) in [("encoding", file.encoding.is_some()), ("mode", file.mode.is_some())] {
        if given {
            let message = format!("`{field}` does not go with a symlink: leave it out");
            findings.push(ErrorKind::ValidationFailed, at_file(index, Some(field)), message);
        }
    }
}

/// Validates the target of a symlink.
pub fn check_target(index: usize, target: &[u8], findings: &mut Findings) {
    let message = if target.is_empty() {
        "`symlink_to` is empty: name what the symlink leads to".to_owned()
    } else if target.contains(&0) {
        "`symlink_to` has a NUL byte, which no path can have".to_owned()
    } else if target.len() > limits::PATH_BYTES {
        format!("`symlink_to` is too long: {} bytes at most", limits::PATH_BYTES)
    } else if std::str::from_utf8(target).is_ok() && has_escaped_byte(target) {
        format!(
            "`symlink_to` {} has what answers write for a byte that is not UTF-8, and no request can have such a byte: make \
             the symlink yourself",
            shown(Path::new(OsStr::from_bytes(target)))
        )
    } else {
        return;
    };
    findings.push(ErrorKind::ValidationFailed, at_file(index, Some("symlink_to")), message);
}

/// The largest mode: permission bits, setuid, setgid and sticky.
pub const MODE_MAX: u32 = 0o7777;

/// Validates the number of file entries.
pub fn check_size(files: usize, findings: &mut Findings) {
    let place = || vec!["files".to_owned()];
    if files == 0 {
        findings.push(ErrorKind::ValidationFailed, place(), "`files` is empty: name at least one file");
    } else if files > limits::FILES {
        let message = format!("{files} files are more than the {} that one request may name", limits::FILES);
        findings.push(ErrorKind::RequestTooLarge, place(), message);
    }
}

/// Validates the length of the label.
pub fn check_label(label: Option<&str>, findings: &mut Findings) {
    if label.is_some_and(|label| label.len() > limits::LABEL_BYTES) {
        let message = format!("the label is longer than {} bytes", limits::LABEL_BYTES);
        findings.push(ErrorKind::ValidationFailed, vec!["label".to_owned()], message);
    }
}

/// Validates the name of a campaign.
pub fn check_campaign(campaign: Option<&str>, findings: &mut Findings) {
    if campaign.is_some_and(|name| !is_name(name)) {
        let message =
            format!("the name of a campaign has 1 to {} bytes and no control characters", limits::SESSION_BYTES);
        findings.push(ErrorKind::ValidationFailed, vec!["campaign".to_owned()], message);
    }
}

/// Returns whether this can be the name of a session, or of a campaign.
pub fn is_name(name: &str) -> bool {
    (1..=limits::SESSION_BYTES).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// Validates an idempotency key; returns whether it is valid.
pub fn check_key(key: &str, findings: &mut Findings) -> bool {
    let is_key = (1..=limits::LABEL_BYTES).contains(&key.len());
    if !is_key {
        let message = format!("`idempotency_key` takes 1 to {} bytes", limits::LABEL_BYTES);
        findings.push(ErrorKind::ValidationFailed, vec!["idempotency_key".to_owned()], message);
    }
    is_key
}

/// Validates the number of matches that an edit expects.
pub fn check_expected_matches(place: Vec<String>, expected: usize, findings: &mut Findings) {
    if expected == 0 {
        let message = "`expected_matches` is 0: an edit replaces at least one match";
        findings.push(ErrorKind::ValidationFailed, place, message);
    }
}

/// Validates the anchors of one file: there are some, not too many, none is empty, none occurs twice. `None` is an edit
/// without a text to compare.
pub fn check_anchors<'a>(
    file: usize,
    anchors: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
    findings: &mut Findings,
) {
    let total = anchors.len();
    if total == 0 {
        findings.push(ErrorKind::EmptyEdits, at_file(file, Some("edits")), "`edits` is empty: give at least one edit");
    }
    if total > limits::EDITS {
        let message = format!("{total} edits are more than the {} that one file may have", limits::EDITS);
        findings.push(ErrorKind::RequestTooLarge, at_file(file, Some("edits")), message);
        return;
    }
    let mut seen = HashMap::new();
    for (index, anchor) in anchors.enumerate() {
        let Some(anchor) = anchor else { continue };
        let place = || at_edit(file, index, Some("old_string"));
        let number = index + 1;
        if anchor.is_empty() {
            let message = format!("Edit {number} of {total} has an empty old_string");
            findings.push(ErrorKind::EmptyOldString, place(), message);
        } else if let Some(first) = seen.get(anchor) {
            let message = format!("Edit {number} of {total} has the same old_string as edit {first}");
            findings.push(ErrorKind::DuplicateOldString, place(), message);
        } else if total > 1 {
            seen.insert(anchor, number);
        }
    }
}

/// Layer 2: validates every path of `request` lexically. No file is accessed.
pub fn check_paths(request: &Request, rule: PathRule) -> Result<()> {
    let mut findings = Findings::new();
    for (index, file) in request.files.iter().enumerate() {
        check_path(&file.path, rule, || at_file(index, Some("file_path")), &mut findings);
        if let Change::Edit { rename: Some(to), .. } | Change::Rename(to) = &file.change {
            check_path(&to.path, rule, || at_file(index, Some("rename_to")), &mut findings);
        }
        if let Change::Copy { from, .. } = &file.change {
            check_path(from, rule, || at_file(index, Some("copy_from")), &mut findings);
        }
    }
    findings.finish()
}

/// Validates one path lexically; `place` tells where the request has it.
pub fn check_path(path: &Path, rule: PathRule, place: impl Fn() -> Vec<String>, findings: &mut Findings) {
    let mut found = |kind, message: String| findings.push(kind, place(), message);
    let shown = || shown(path);
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() {
        return found(ErrorKind::ValidationFailed, "the path is empty".to_owned());
    }
    if bytes.contains(&0) {
        return found(ErrorKind::ValidationFailed, format!("the path {} has a NUL byte", shown()));
    }
    if bytes.len() > 1 && (bytes.ends_with(b"/") || bytes.ends_with(b"/.")) {
        let message = format!("the path {} names a folder: name a file in it", shown());
        return found(ErrorKind::ValidationFailed, message);
    }
    let names = || bytes.split(|byte| *byte == b'/');
    if bytes.len() > limits::PATH_BYTES || names().any(|name| name.len() > limits::NAME_BYTES) {
        let message = format!(
            "the path {} is too long: {} bytes at most, {} for each name in it",
            shown(),
            limits::PATH_BYTES,
            limits::NAME_BYTES
        );
        return found(ErrorKind::ValidationFailed, message);
    }
    if rule != PathRule::Found && path.to_str().is_some() && has_escaped_byte(bytes) {
        let message = format!(
            "the path {} has what answers write for a byte that is not UTF-8, and no request can have such a byte: name the \
             file by its bytes on the command line; if its name has this very text, rename it first",
            shown()
        );
        return found(ErrorKind::ValidationFailed, message);
    }
    // Reports both errors at once: fixing only one would just reveal the other.
    if names().any(|name| name == b"..") {
        found(ErrorKind::PathTraversal, format!("the path {} has a `..` segment", shown()));
    }
    if rule != PathRule::AbsoluteOrRelative && !path.is_absolute() {
        found(ErrorKind::RelativePath, format!("the path {} is relative; only absolute paths are taken here", shown()));
    }
    if lead_into_state(names()) {
        found(ErrorKind::OutsideRoot, format!("the path {} leads into a state folder, which is txedit's own", shown()));
    }
    if path.components().all(|part| matches!(part, Component::RootDir | Component::CurDir)) {
        found(ErrorKind::ValidationFailed, format!("the path {} names no file", shown()));
    }
}

/// True if a path has a byte that is not ASCII as answers write it: `\xff`.
fn has_escaped_byte(path: &[u8]) -> bool {
    let is_escape = |part: &[u8]| matches!(part, [b'\\', b'x', b'8' | b'9' | b'a'..=b'f', b'0'..=b'9' | b'a'..=b'f']);
    path.windows(4).any(is_escape)
}

/// The path for a message; it is shortened, since a hostile one must not fill the answer.
fn shown(path: &Path) -> Cow<'_, str> {
    const CHARS: usize = 200;
    let text = path.to_string_lossy();
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text,
    }
}

#[cfg(test)]
mod tests;
