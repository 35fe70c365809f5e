//! The answer of a replacement in a tree.

use serde::Serialize;

use super::response::{CheckResult, text};
use crate::engine::report::Report;
use crate::replace::Replacements;

/// The replacements made, or planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/plan.md")]
pub struct Replaced {
    pub success: bool,
    pub dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    pub files_changed: usize,
    pub total_matches: usize,
    pub files: Vec<ReplacedFile>,
    pub files_searched: usize,
    pub binary_files_skipped: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/plan.md")]
pub struct ReplacedFile {
    pub file_path: String,
    pub matches: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_after: Option<String>,
    /// With a dry run only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl Replaced {
    /// The answer for the matches found and the changes made.
    #[must_use]
    pub fn new(report: &Report, found: &Replacements) -> Self {
        let files = found.files.iter().enumerate().map(|(index, (path, matches))| {
            let file = report.files.get(index);
            ReplacedFile {
                file_path: text(path),
                matches: *matches,
                hash_after: file.and_then(|file| file.hash_after).map(|digest| digest.to_hex()),
                diff: file.and_then(|file| file.extras.diff.clone()),
            }
        });
        let of_files = report
            .files
            .iter()
            .flat_map(|file| file.extras.warnings.iter().map(|warning| format!("{}: {warning}", text(&file.path))));
        Self {
            success: true,
            dry_run: report.dry_run,
            transaction_id: report.transaction.clone(),
            files_changed: found.files.len(),
            total_matches: found.matches(),
            files: files.collect(),
            files_searched: found.searched,
            binary_files_skipped: found.binary,
            check: report.check.as_deref().map(CheckResult::from),
            warnings: report.warnings.iter().cloned().chain(of_files).chain(found.warnings.iter().cloned()).collect(),
        }
    }
}
