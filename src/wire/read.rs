//! The answers of the tools that are no transactions of several files: `edit_file` and `read_files`.

use serde::Serialize;

use super::response::text;
use crate::engine::report::Report;

/// The answer of `edit_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the wire's, explained in the README")]
pub struct EditFileSuccess {
    pub success: bool,
    pub path: String,
    pub occurrences_replaced: usize,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_after: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The answer of `edit_file` for a report of one file with one edit. `None` only for a report of no file.
#[must_use]
pub fn success_edit_file(report: &Report, identical: bool) -> Option<EditFileSuccess> {
    let file = report.files.first()?;
    let replaced = if identical { 0 } else { file.edits.iter().map(|edit| edit.replaced).sum() };
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
        warnings: report.warnings.iter().chain(&file.warnings).cloned().collect(),
    })
}

/// The answer of `read_files`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the wire's, explained in the README")]
pub struct ReadFilesSuccess {
    pub success: bool,
    pub files: Vec<ReadFile>,
    /// Those that could not be read, or do not fit the answer; never an error for the rest.
    pub skipped: Vec<SkippedFile>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the wire's, explained in the README")]
pub struct ReadFile {
    pub file_path: String,
    pub hash: String,
    pub lines: usize,
    pub bytes: usize,
    pub content: String,
}

/// A file that was not read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the wire's, explained in the README")]
pub struct SkippedFile {
    pub file_path: String,
    pub error_code: &'static str,
    pub reason: String,
    pub recovery_hint: &'static str,
}
