//! The answers of `edit_file` and `read_files`, which are not transactions of several files; and the reader of text
//! files for tools that show them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::hints::recovery_hint_of;
use super::response::{CheckResult, several, text};
use crate::charset::{Charset, MALFORMED};
use crate::digest::Digest;
use crate::engine::report::Report;
use crate::engine::{Engine, Run};
use crate::error::{ErrorKind, Finding};
use crate::request::validate::{Findings, PathRule, check_path};

/// The answer of `edit_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/mcp.md")]
pub struct EditFileSuccess {
    pub success: bool,
    pub path: String,
    pub occurrences_replaced: usize,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_after: Option<String>,
    /// The number of attempts, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<usize>,
    /// The check that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The answer of `edit_file` for a report of one file with one edit. `None` only for a report without a file.
#[must_use]
pub fn success_edit_file(report: &Report) -> Option<EditFileSuccess> {
    let file = report.files.first()?;
    let replaced = file.edits.iter().map(|edit| edit.replaced).sum();
    let message = match replaced {
        0 => "No changes made (old_string and new_string identical)".to_owned(),
        1 => "Replaced 1 occurrence".to_owned(),
        _ => format!("Replaced {replaced} occurrences"),
    };
    Some(EditFileSuccess {
        success: true,
        path: text(&file.path),
        occurrences_replaced: replaced,
        message,
        transaction_id: report.transaction.clone(),
        hash_after: file.hash_after.map(|digest| digest.to_hex()),
        attempts: several(report.attempts),
        check: report.check.as_deref().map(CheckResult::from),
        warnings: report.warnings.iter().chain(&file.extras.warnings).cloned().collect(),
    })
}

/// The answer of `read_files`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/mcp.md")]
pub struct ReadFilesSuccess {
    pub success: bool,
    pub files: Vec<ReadFile>,
    /// Files that could not be read, or do not fit the answer; they are no error for the rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedFile>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/mcp.md")]
pub struct ReadFile {
    pub file_path: String,
    pub hash: String,
    pub lines: usize,
    pub bytes: usize,
    /// The encoding that it was decoded from, if that is another than UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// The number of malformed sequences in the file, each U+FFFD in `content`, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<usize>,
    /// The lines in `content`, if only some were asked for; hash, lines and bytes are those of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// `None` if it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// A file that was not read, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/mcp.md")]
pub struct SkippedFile {
    pub file_path: String,
    pub error_code: &'static str,
    pub reason: String,
    pub recovery_hint: &'static str,
}

impl SkippedFile {
    /// The file with this name, and the reason for which it was not read.
    #[must_use]
    pub fn new(named: &str, code: ErrorKind, reason: String) -> Self {
        let recovery_hint = match code {
            // Only to be shown at once: it can be edited nevertheless.
            ErrorKind::FileTooLarge => "Read it in pieces (start_line, end_line), or leave it out.",
            ErrorKind::InvalidEncoding => "Leave it out, since it is not text.",
            code => recovery_hint_of(code),
        };
        Self { file_path: named.to_owned(), error_code: code.code(), reason, recovery_hint }
    }

    /// The same with another hint.
    #[must_use]
    pub fn hinting(self, recovery_hint: &'static str) -> Self {
        Self { recovery_hint, ..self }
    }
}

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// Relative to the root, without symlinks.
    pub path: PathBuf,
    /// The digest of the content.
    pub digest: Digest,
    /// The content, decoded.
    pub text: String,
    /// The number of its bytes.
    pub bytes: usize,
    /// The encoding that it was decoded from, if that is another than UTF-8.
    pub encoding: Option<Charset>,
    /// The number of malformed sequences in it, each U+FFFD in the text; only if it was decoded.
    pub malformed: usize,
}

/// Reads a file of at most `max_bytes`, whose path, absolute or relative to the root, is in the request at `place`. It is
/// in the encoding that is named, or else UTF-8, or UTF-16 with its mark. A file that is missing, outside the root, too
/// large or not text is skipped with its reason.
pub fn text_file(
    engine: &Engine,
    named: &str,
    place: &[String],
    (max_bytes, encoding): (u64, Option<Charset>),
    run: Run<'_>,
) -> Result<TextFile, SkippedFile> {
    let skipped = |code: ErrorKind, reason: String| SkippedFile::new(named, code, reason);
    if run.cancel.is_cancelled() {
        return Err(skipped(ErrorKind::Cancelled, "cancelled".to_owned()));
    }
    let mut findings = Findings::new();
    check_path(Path::new(named), PathRule::AbsoluteOrRelative, || place.to_vec(), &mut findings);
    if let Some(Finding { kind, message, .. }) = findings.as_slice().first() {
        return Err(skipped(*kind, message.clone()));
    }
    let content = engine.read(Path::new(named), max_bytes);
    let content = content.map_err(|error| skipped(error.kind(), error.message().to_owned()))?;
    let (path, digest, bytes) = (content.path, content.digest, content.bytes.len());
    let charset = Charset::of(&content.bytes, encoding);
    let charset = charset.map_err(|clash| {
        skipped(ErrorKind::InvalidEncoding, clash.to_string())
            .hinting("Send no `encoding` for it: its byte-order mark says it.")
    })?;
    let Some(charset) = charset else {
        let text = as_text(content.bytes).ok_or_else(|| {
            skipped(ErrorKind::InvalidEncoding, "it is not a text in UTF-8".to_owned()).hinting(
                "If it is text, send its `encoding`, like \"windows-1252\" or \"utf-16le\"; else leave it out.",
            )
        })?;
        return Ok(TextFile { path, digest, text, bytes, encoding: None, malformed: 0 });
    };
    let text = charset.decode(&content.bytes).into_text();
    let malformed = memchr::memchr_iter(MALFORMED, &text).count();
    if memchr::memchr(0, &text).is_some() {
        return Err(skipped(
            ErrorKind::InvalidEncoding,
            format!("not a text in {charset}: it has the character U+0000"),
        ));
    }
    let text = String::from_utf8(text).unwrap_or_else(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
    Ok(TextFile { path, digest, text, bytes, encoding: Some(charset), malformed })
}

/// The content as text; a NUL byte means that it is not text.
fn as_text(bytes: Vec<u8>) -> Option<String> {
    if memchr::memchr(0, &bytes).is_some() {
        return None;
    }
    String::from_utf8(bytes).ok()
}
