//! The answer to a request that failed: which edit, why, and the state of the files now.

mod context;
mod status;

use std::path::Path;

use serde::Serialize;

use super::hints::{StepWords, recovery_hint, recovery_hint_of};
use super::response::{Shape, text};
use crate::error::{Correction, Detail, Error, NextStep, Outcome};
use crate::request::{FileRequest, Request};
use context::context;
use status::{edit_status, file_statuses, rollback};

pub use context::{ChangedSince, ChangerJson, CharDifference, FailureContext, MatchLocation};
pub use status::{EditStatus, FileOutcome, FileStatus, Rollback, RollbackDetail, RollbackState};

/// The answer of any command or tool that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct FailureJson {
    pub success: bool,
    pub error_code: &'static str,
    pub error: String,
    pub message: String,
    pub retryable: bool,
    pub recovery_hint: String,
    /// 0, or absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits_applied: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_file_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_edit_index: Option<usize>,
    /// For an LSP `WorkspaceEdit`: the change that failed, from 0. The name is LSP's.
    #[serde(rename = "failedChange", skip_serializing_if = "Option::is_none")]
    pub failed_change: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<FailureContext>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edit_status: Vec<EditStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_statuses: Vec<FileStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Rollback>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptContentJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_restored: Vec<NotRestored>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FindingEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    pub outcome: &'static str,
    /// The number of attempts, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// Further information, such as a recovery that came first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl FailureJson {
    /// The same with absolute paths, which every program takes.
    #[must_use]
    pub fn in_root(mut self, root: &Path) -> Self {
        let absolute = |path: &mut String| *path = text(&root.join(&*path));
        self.file_path.iter_mut().for_each(absolute);
        self.file_statuses.iter_mut().for_each(|file| absolute(&mut file.file_path));
        self.not_restored.iter_mut().for_each(|file| absolute(&mut file.path));
        self.kept.iter_mut().for_each(|file| absolute(&mut file.path));
        self.conflicts.iter_mut().for_each(absolute);
        let changed = self.context.iter_mut().flat_map(|context| &mut context.conflicts);
        changed.for_each(|conflict| absolute(&mut conflict.path));
        self
    }
}

/// A content that a rollback kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct KeptContentJson {
    pub path: String,
    pub kept_path: String,
    pub reason: String,
}

/// A file that could not be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct NotRestored {
    pub path: String,
    pub reason: String,
}

/// One finding of a validation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct FindingEntry {
    pub code: &'static str,
    pub message: String,
    pub path: Vec<String>,
    /// Where a file is not there: the one that may be meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    pub recovery_hint: &'static str,
}

/// The answer for `error`, with the next steps in the `words` of the front-end. `request` is `None` if none could be
/// read.
#[must_use]
pub fn failure(error: &Error, request: Option<&Request>, shape: Shape, words: StepWords) -> FailureJson {
    let files = request.map_or(&[][..], |request| &request.files);
    let file = failed_file(error, files);
    let asked = file.and_then(|index| files.get(index));
    let named = asked.or_else(|| files.first().filter(|_| shape == Shape::Single));
    let file_path = named.map(|file| text(&file.path)).or_else(|| error.path().map(text));
    let statuses = file_statuses(error, files, file);
    let may_be_changed = matches!(error.outcome(), Outcome::RecoveryRequired | Outcome::PartlyRolledBack);
    let not_restored = error.not_old().iter().filter(|left| left.on_top);
    FailureJson {
        success: false,
        error_code: error.kind().code(),
        error: sentence(error, files, file),
        message: message(error, shape).to_owned(),
        // The request may have been carried out in part: sending it again could do it twice.
        // What was staged does not fit the file any better later.
        retryable: error.kind().is_retryable() && !may_be_changed && !matches!(error.details(), Detail::Diverged(_)),
        recovery_hint: recovery_hint(error, request, words),
        edits_applied: (!may_be_changed).then_some(0),
        file_path,
        failed_file_index: file.filter(|_| shape == Shape::Multi),
        failed_edit_index: error.edit(),
        failed_change: error.change(),
        context: context(error.details()),
        edit_status: asked.zip(error.edit()).map_or_else(Vec::new, |(file, edit)| edit_status(file, edit)),
        // Without a request nothing can be said about its files, except that none was touched.
        rollback: (shape == Shape::Multi && (request.is_some() || error.outcome() == Outcome::Unchanged))
            .then(|| rollback(&statuses)),
        file_statuses: if shape == Shape::Multi { statuses } else { Vec::new() },
        kept: error.kept().iter().map(KeptContentJson::from).collect(),
        not_restored: not_restored
            .map(|left| NotRestored { path: text(&left.path), reason: left.reason.clone() })
            .collect(),
        errors: findings(error, shape),
        conflicts: conflicts(error.details()),
        outcome: error.outcome().as_str(),
        attempts: (error.attempts() > 1).then_some(error.attempts()),
        transaction_id: error.transaction().map(str::to_owned),
        warnings: error.warnings().to_vec(),
    }
}

/// The file entry that failed: by the index in the error, or else by its path.
fn failed_file(error: &Error, files: &[FileRequest]) -> Option<usize> {
    let by_path = || files.iter().position(|file| Some(&*file.path) == error.path());
    let only = || (files.len() == 1 && error.edit().is_some()).then_some(0);
    error.file().or_else(by_path).or_else(only)
}

/// The error message with the place before it: "Edit 2 of 5 in file 1 of 3 failed: …".
fn sentence(error: &Error, files: &[FileRequest], file: Option<usize>) -> String {
    let total = file.and_then(|index| files.get(index)).map_or(0, |file| file.edits().len());
    let message = error.message();
    match (error.edit(), file) {
        (Some(edit), Some(file)) if files.len() > 1 => {
            format!("Edit {} of {total} in file {} of {} failed: {message}", edit + 1, file + 1, files.len())
        }
        (Some(edit), Some(_)) if total > 0 => format!("Edit {} of {total} failed: {message}", edit + 1),
        (Some(edit), _) => format!("Edit {} failed: {message}", edit + 1),
        (None, _) => message.to_owned(),
    }
}

fn message(error: &Error, shape: Shape) -> &'static str {
    if matches!(error.details(), Detail::PartlyDone) {
        return "Operation failed after a part of it was done: the error says which. No file was changed.";
    }
    match (error.outcome(), shape) {
        (Outcome::Unchanged | Outcome::RolledBack, _) if error.is_after_recovery() => {
            "Operation failed. No changes applied by this request; `warnings` says what came before it."
        }
        (Outcome::Unchanged | Outcome::RolledBack, Shape::Single) => {
            "Operation failed. No changes applied - file unchanged."
        }
        (Outcome::Unchanged | Outcome::RolledBack, Shape::Multi) => {
            "Operation failed. No changes applied - all files unchanged."
        }
        (Outcome::PartlyRolledBack, Shape::Single) => {
            "Operation failed. The file could not be put back: another program changed it meanwhile."
        }
        (Outcome::PartlyRolledBack, Shape::Multi) => {
            "Operation failed. All files unchanged but those in `not_restored`: another program changed them meanwhile."
        }
        (Outcome::RecoveryRequired, Shape::Single) => {
            "Operation failed. The file may be old or new until a recovery has run."
        }
        (Outcome::RecoveryRequired, Shape::Multi) => {
            "Operation failed. Some files may be old and some new until a recovery has run."
        }
    }
}

impl From<&crate::error::KeptContent> for KeptContentJson {
    fn from(kept: &crate::error::KeptContent) -> Self {
        Self { path: text(&kept.path), kept_path: text(&kept.kept_path), reason: kept.reason.clone() }
    }
}

fn findings(error: &Error, shape: Shape) -> Vec<FindingEntry> {
    let Detail::Findings(findings) = error.details() else { return Vec::new() };
    let is_over_two = matches!(error.next_steps(), [NextStep::Correct(Correction::OneCallEach)]);
    findings
        .iter()
        .map(|finding| FindingEntry {
            code: finding.kind.code(),
            message: finding.message.clone(),
            path: place(&finding.path, shape).to_vec(),
            did_you_mean: finding.did_you_mean.as_deref().map(text),
            recovery_hint: match finding.did_you_mean {
                Some(_) => "Send the path in `did_you_mean`, if that is the file.",
                None if is_over_two => "Send one call for each workspace.",
                None => recovery_hint_of(finding.kind),
            },
        })
        .collect()
}

/// The place in what the caller sent: for one file the fields are at the top level.
fn place(path: &[String], shape: Shape) -> &[String] {
    match path {
        [files, index, rest @ ..] if shape == Shape::Single && files == "files" && index == "0" => rest,
        _ => path,
    }
}

fn conflicts(detail: &Detail) -> Vec<String> {
    let Detail::Conflicts(conflicts) = detail else { return Vec::new() };
    conflicts.iter().map(|conflict| text(&conflict.path)).collect()
}

#[cfg(test)]
mod tests;
