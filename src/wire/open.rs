//! The answers about open transactions.

use crate::wire::program::ProgramResult;
use serde::Serialize;

use super::file_result::FileResult;
use super::response::{MultiSuccess, success_multi, text};
use crate::engine::report;
use crate::request::Request;

/// The answer to edits that were staged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/plan.md")]
pub struct StagedJson {
    pub success: bool,
    pub dry_run: bool,
    /// The open transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// The time at which it expires if nothing more is staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// One for each file staged now, with the future hash and diff.
    pub file_results: Vec<FileResult>,
    /// Other open transactions that touch the same files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<OverlapJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The program that made the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramResult>,
}

/// A file that another open transaction touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/plan.md")]
pub struct OverlapJson {
    pub transaction_id: String,
    pub owner: String,
    pub path: String,
}

impl StagedJson {
    /// The answer after staging `request`.
    #[must_use]
    pub fn new(staged: &report::Staged, request: &Request) -> Self {
        let MultiSuccess { dry_run, mut file_results, warnings, program, .. } = success_multi(&staged.report, request);
        if !dry_run {
            // The diff of the whole transaction is what a preview shows.
            for file in &mut file_results {
                file.diff = None;
            }
        }
        let overlaps = staged.overlaps.iter().map(|overlap| OverlapJson {
            transaction_id: overlap.id.clone(),
            owner: overlap.owner.clone(),
            path: text(&overlap.path),
        });
        Self {
            success: true,
            dry_run,
            transaction_id: staged.id.clone(),
            expires_at: staged.expires.clone(),
            file_results,
            overlaps: overlaps.collect(),
            warnings,
            program,
        }
    }
}

/// The answer to a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/plan.md")]
pub struct PreviewJson {
    pub success: bool,
    pub transaction_id: String,
    pub expires_at: String,
    /// For the commit, which is refused if it would do anything else.
    pub plan_hash: String,
    /// The unified diff of all files.
    pub diff: String,
    /// One for each file, with the hashes before and after.
    pub file_results: Vec<FileResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl From<&report::Preview> for PreviewJson {
    fn from(preview: &report::Preview) -> Self {
        let MultiSuccess { mut file_results, warnings, .. } = success_multi(&preview.report, &Request::default());
        // One text contains all diffs.
        let diff = file_results.iter_mut().filter_map(|file| file.diff.take()).collect();
        Self {
            success: true,
            transaction_id: preview.id.clone(),
            expires_at: preview.expires.clone(),
            plan_hash: preview.plan_hash.to_hex(),
            diff,
            file_results,
            warnings,
        }
    }
}

/// The answer to a commit that a person has decided on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/mcp.md")]
pub struct ApprovedJson {
    #[serde(flatten)]
    pub commit: MultiSuccess,
    pub approval: ApprovalJson,
}

/// What a person left out or changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalJson {
    /// Whether all that was staged was committed as it was; absent if that is not known any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_staged: Option<bool>,
    /// Files that were staged, and of which nothing was committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Files of which something else was committed than what was staged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The open transaction that has what was not committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
}

/// An open transaction, as `status` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/plan.md")]
pub struct OpenTransactionJson {
    pub transaction_id: String,
    pub owner: String,
    pub opened_at: String,
    pub expires_at: String,
    pub expired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub file_results: Vec<FileResult>,
}

impl From<&report::OpenTransaction> for OpenTransactionJson {
    fn from(open: &report::OpenTransaction) -> Self {
        Self {
            transaction_id: open.id.clone(),
            owner: open.owner.clone(),
            opened_at: open.opened.clone(),
            expires_at: open.expires.clone(),
            expired: open.is_expired,
            label: open.label.clone(),
            file_results: open.files.iter().map(|(path, operation)| FileResult::of(path, operation)).collect(),
        }
    }
}
