//! The answer of a replacement in a tree.

use serde::Serialize;

use super::response::{MultiSuccess, success_multi};
use crate::engine::report::Report;
use crate::replace::Replacements;
use crate::request::Request;

/// The replacements made, or planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/plan.md")]
pub struct Replaced {
    #[serde(flatten)]
    pub answer: MultiSuccess,
    pub total_matches: usize,
    pub files_searched: usize,
    pub binary_files_skipped: usize,
}

impl Replaced {
    /// The answer for the matches found and the changes made.
    #[must_use]
    pub fn new(report: &Report, found: &Replacements) -> Self {
        let mut answer = success_multi(report, &Request::default());
        for (file, (_, matches)) in answer.file_results.iter_mut().zip(&found.files) {
            // Each match is an edit of its own: they can be many, and all are alike.
            (file.edits, file.edits_applied) = (None, None);
            file.matches = Some(*matches);
        }
        answer.warnings.extend(found.warnings.iter().cloned());
        Self {
            answer,
            total_matches: found.matches(),
            files_searched: found.searched,
            binary_files_skipped: found.binary,
        }
    }
}
