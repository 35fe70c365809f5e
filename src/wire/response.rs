//! The answer to a request that succeeded, or would.

use std::path::Path;

use serde::Serialize;

use crate::check::CheckRun;
use crate::engine::report::{Guarantee, Operation, Report, Reverted};
use crate::path::{shown, spelled};
use crate::request::Request;
use crate::request::edit::{Anchor, Edit};
use crate::text::Applied;
use crate::wire::file_result::FileResult;
use crate::wire::program::ProgramResult;

/// The number of characters of an `old_string` that an answer repeats.
pub const OLD_STRING_CHARS: usize = 50;

/// The outcome where nothing that a request is about is there.
const NOTHING_TO_DO: &str = "nothing_to_do";

/// The tool whose answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `multi_edit`: one file, whose fields are at the top level.
    Single,
    /// `multi_edit_files`.
    Multi,
}

/// The answer for one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct FileSuccess {
    #[serde(flatten)]
    pub file: FileResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// The campaign that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// What a reader of it could count on meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<&'static str>,
    /// `nothing_to_do` if what it is about is not there, and the request allows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// The hash of the plan, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    /// The number of attempts, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<usize>,
    /// The check that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    /// True if it was committed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_applied: Option<bool>,
    /// If it was committed before: the transaction that reverted it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<String>,
}

/// One edit that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct EditSuccess {
    pub old_string: String,
    pub matched: bool,
    pub occurrences_replaced: usize,
    pub lines: Vec<usize>,
    pub match_kind: &'static str,
}

/// The answer for several files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct MultiSuccess {
    pub success: bool,
    pub dry_run: bool,
    /// The number of files that were changed in any way.
    pub files_edited: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// The campaign that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// What a reader of the files could count on meanwhile; absent where there is no transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<&'static str>,
    /// `nothing_to_do` if nothing that it is about is there, and the request allows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// The hash of the plan, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    pub file_results: Vec<FileResult>,
    pub summary: Summary,
    /// Warnings that belong to no single file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    /// The program that made the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramResult>,
    /// The number of attempts while other programs wrote its files, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<usize>,
    /// True if the same request was committed before, and nothing had to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_applied: Option<bool>,
    /// The transaction that reverted it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<String>,
    /// For a revert of one transaction: which, its author and its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For a revert of several: each of them, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reverts_each: Vec<RevertedJson>,
}

/// One of several transactions that another one reverts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct RevertedJson {
    pub transaction_id: String,
    pub owner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl From<&Reverted> for RevertedJson {
    fn from(reverted: &Reverted) -> Self {
        let Reverted { id, owner, label } = reverted.clone();
        Self { transaction_id: id, owner, label }
    }
}

/// A check that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct CheckResult {
    pub command: String,
    /// Its result: `passed`, `exit status: 1`.
    pub ended: String,
    pub milliseconds: u64,
    /// The end of what it printed.
    pub output: String,
    /// Where it ran: `tree`, `view` or `copy`.
    #[serde(rename = "in")]
    pub place: &'static str,
    /// In a view: the number of other files that it wrote, which were dropped, and the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_files: Vec<String>,
}

impl From<&CheckRun> for CheckResult {
    fn from(run: &CheckRun) -> Self {
        Self {
            command: run.command.clone(),
            ended: run.ended.verdict.words().to_owned(),
            milliseconds: u64::try_from(run.ended.took.as_millis()).unwrap_or(u64::MAX),
            output: run.ended.tail.clone(),
            place: run.place.word(),
            dropped: Some(run.dropped.count).filter(|count| *count > 0),
            dropped_files: run.dropped.paths.iter().map(|path| shown(path)).collect(),
        }
    }
}

/// The totals of an answer for several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct Summary {
    pub total_files: usize,
    pub files_succeeded: usize,
    pub files_failed: usize,
    pub total_edits: usize,
}

/// The answer of `multi_edit`. `None` only for a report without a file.
#[must_use]
pub fn success_single(report: &Report, request: &Request) -> Option<FileSuccess> {
    let mut file = FileResult::new(report.files.first()?, request.files.first(), report.dry_run);
    // There is but one, and the caller has named it.
    file.operation = None;
    file.warnings.splice(0..0, report.warnings.iter().cloned());
    Some(FileSuccess {
        file,
        transaction_id: report.transaction.clone(),
        campaign: report.campaign.clone(),
        guarantee: report.guarantee.map(Guarantee::as_str),
        outcome: report.nothing_to_do.then_some(NOTHING_TO_DO),
        plan_hash: report.plan_hash.map(|hash| hash.to_hex()),
        attempts: several(report.attempts),
        check: report.check.as_deref().map(CheckResult::from),
        already_applied: report.already_applied.then_some(true),
        undone_by: report.undone_by.clone(),
    })
}

/// The answer of `multi_edit_files`.
#[must_use]
pub fn success_multi(report: &Report, request: &Request) -> MultiSuccess {
    let files = report.files.iter().enumerate();
    let file_results: Vec<_> =
        files.map(|(index, file)| FileResult::new(file, request.files.get(index), report.dry_run)).collect();
    let total_files = file_results.len();
    let (reverted, reverts_each) = match &report.reverts[..] {
        [] => (None, Vec::new()),
        [one] => (Some(one), Vec::new()),
        several => (None, several.iter().map(RevertedJson::from).collect()),
    };
    MultiSuccess {
        success: true,
        dry_run: report.dry_run,
        files_edited: report.files.iter().filter(|file| file.operation != Operation::None).count(),
        transaction_id: report.transaction.clone(),
        campaign: report.campaign.clone(),
        guarantee: report.guarantee.map(Guarantee::as_str),
        outcome: report.nothing_to_do.then_some(NOTHING_TO_DO),
        plan_hash: report.plan_hash.map(|hash| hash.to_hex()),
        summary: Summary {
            total_files,
            // A file that fails makes the whole request fail.
            files_succeeded: total_files,
            files_failed: 0,
            total_edits: file_results.iter().filter_map(|file| file.edits_applied).sum(),
        },
        file_results,
        warnings: report.warnings.clone(),
        check: report.check.as_deref().map(CheckResult::from),
        program: report.program.as_deref().map(ProgramResult::from),
        attempts: several(report.attempts),
        already_applied: report.already_applied.then_some(true),
        undone_by: report.undone_by.clone(),
        reverts: reverted.map(|reverted| reverted.id.clone()),
        owner: reverted.map(|reverted| reverted.owner.clone()),
        label: reverted.and_then(|reverted| reverted.label.clone()),
        reverts_each,
    }
}

/// The number of attempts, if it is worth reporting.
pub(super) fn several(attempts: usize) -> Option<usize> {
    (attempts > 1).then_some(attempts)
}

pub(super) fn edit_success(applied: &Applied, asked: Option<&Edit>) -> EditSuccess {
    EditSuccess {
        old_string: asked.map(old_string).unwrap_or_default(),
        // One that replaces a text by itself has matched as well.
        matched: !applied.lines.is_empty() || !asked.is_some_and(|edit| edit.anchor.may_be_missing()),
        occurrences_replaced: applied.replaced,
        lines: applied.lines.clone(),
        match_kind: applied.match_kind.as_str(),
    }
}

/// The anchor of an edit, cut to [`OLD_STRING_CHARS`].
pub(super) fn old_string(edit: &Edit) -> String {
    let old;
    let bytes = match &edit.anchor {
        Anchor::Text { text: bytes, .. } | Anchor::Range { expected: bytes, .. } => bytes,
        Anchor::Span { start, end, .. } => {
            return format!("{}:{} to {}:{}", start.line, start.character, end.line, end.character);
        }
        Anchor::Hunk(hunk) => {
            old = hunk.old();
            &old
        }
    };
    // A character has at most four bytes, so no more are needed.
    let start = &bytes[..bytes.len().min(OLD_STRING_CHARS * 4)];
    String::from_utf8_lossy(start).chars().take(OLD_STRING_CHARS).collect()
}

/// A path as JSON can represent it, as [`spelled`].
pub(crate) fn text(path: &Path) -> String {
    spelled(path)
}

#[cfg(test)]
mod tests;
