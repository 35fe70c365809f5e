//! The status of each edit and each file after a failure.

use serde::Serialize;

use crate::error::{Detail, Error, Finding, Outcome};
use crate::request::FileRequest;
use crate::wire::response::{old_string, text};

/// The failed edit, or one after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct EditStatus {
    pub edit_index: usize,
    /// `failed` or `skipped`.
    pub status: &'static str,
    pub old_string: String,
}

/// One file of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct FileStatus {
    pub file_path: String,
    pub status: FileOutcome,
}

/// The status of a file of a request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    /// It made the request fail.
    Failed,
    /// It has its old content again.
    RolledBack,
    /// It was read, and not touched.
    Unchanged,
    /// Another program changed or removed it after the swap: it does not have its old content.
    NotRestored,
    /// The request failed before it was read.
    Skipped,
    /// It is old or new; recovery will decide.
    Unknown,
}

/// The result of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct Rollback {
    pub files_rolled_back: usize,
    pub files_failed_rollback: usize,
    pub details: Vec<RollbackDetail>,
}

/// The result of a rollback for one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct RollbackDetail {
    pub file_path: String,
    pub status: RollbackState,
}

/// The state in which the rollback left one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RollbackState {
    /// The old content is back.
    Restored,
    /// It is not known to be back.
    Failed,
}

pub(super) fn edit_status(file: &FileRequest, failed: usize) -> Vec<EditStatus> {
    let edits = file.edits().iter().enumerate().skip(failed);
    edits
        .map(|(edit_index, edit)| EditStatus {
            edit_index,
            status: if edit_index == failed { "failed" } else { "skipped" },
            old_string: old_string(edit),
        })
        .collect()
}

pub(super) fn file_statuses(error: &Error, files: &[FileRequest], failed: Option<usize>) -> Vec<FileStatus> {
    let left =
        |index: usize, on_top| error.not_old().iter().any(|left| left.file == Some(index) && left.on_top == on_top);
    let state = |index: usize| match (error.outcome(), failed) {
        _ if left(index, true) => FileOutcome::NotRestored,
        // The error does not tell the progress of each file.
        (Outcome::RecoveryRequired, _) => FileOutcome::Unknown,
        (_, Some(failed)) if index == failed => FileOutcome::Failed,
        // The content there is another program's, and was there before the swap.
        (Outcome::RolledBack | Outcome::PartlyRolledBack, _) if left(index, false) => FileOutcome::Unchanged,
        (Outcome::RolledBack | Outcome::PartlyRolledBack, _) => FileOutcome::RolledBack,
        (Outcome::Unchanged, Some(failed)) if index > failed => FileOutcome::Skipped,
        (Outcome::Unchanged, _) if has_finding(error.details(), index) => FileOutcome::Failed,
        (Outcome::Unchanged, _) => FileOutcome::Unchanged,
    };
    let files = files.iter().enumerate();
    files.map(|(index, file)| FileStatus { file_path: text(&file.path), status: state(index) }).collect()
}

fn has_finding(detail: &Detail, file: usize) -> bool {
    let Detail::Findings(findings) = detail else { return false };
    let is_there = |finding: &Finding| {
        finding.path.first().is_some_and(|name| name == "files")
            && finding.path.get(1).and_then(|index| index.parse().ok()) == Some(file)
    };
    findings.iter().any(is_there)
}

pub(super) fn rollback(statuses: &[FileStatus]) -> Rollback {
    let details: Vec<_> = statuses
        .iter()
        .filter_map(|file| {
            let status = match file.status {
                FileOutcome::RolledBack => RollbackState::Restored,
                FileOutcome::Unknown | FileOutcome::NotRestored => RollbackState::Failed,
                FileOutcome::Failed | FileOutcome::Unchanged | FileOutcome::Skipped => return None,
            };
            Some(RollbackDetail { file_path: file.file_path.clone(), status })
        })
        .collect();
    let count = |state| details.iter().filter(|detail| detail.status == state).count();
    Rollback {
        files_rolled_back: count(RollbackState::Restored),
        files_failed_rollback: count(RollbackState::Failed),
        details,
    }
}
