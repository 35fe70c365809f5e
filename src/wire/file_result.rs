//! A file of a transaction, as every answer tells of it.

use std::path::Path;

use serde::Serialize;

use super::response::{EditSuccess, edit_success, text};
use crate::engine::report::{FileReport, InterruptedFile, ShownFile};
use crate::journal::Guarantee;
use crate::journal::recover::Class;
use crate::request::FileRequest;

/// A file that a transaction changes, has changed or would change. A field is there where its command knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct FileResult {
    pub file_path: String,
    /// What is done to it: `edit`, `create`, `replace`, `delete`, `rename`, `mode`, `folder`, `remove_folder`, or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Its class in the recovery table. Absent if it was not examined: its transaction is running, or must not be acted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// What it leads to, if it is a symlink now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symlink_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits_applied: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<EditSuccess>>,
    /// The number of places where a text was replaced in a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<usize>,
    /// The number of lines that were added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<usize>,
    /// The number of lines that were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<usize>,
    /// What a reader of this file could count on, where that is less than of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<&'static str>,
    /// Absent if there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_before: Option<String>,
    /// Absent if the file is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_after: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// True if staged edits were moved to a content that another program had changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebased: Option<bool>,
    /// That program's changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_diff: Option<String>,
    /// True if it was left out, since no file is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<bool>,
    /// If it was committed before: true if the file is still as it was left. `hash_after` is its current hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<bool>,
}

impl FileResult {
    /// A file of a report, and what was asked of it.
    pub(super) fn new(file: &FileReport, asked: Option<&FileRequest>, dry_run: bool) -> Self {
        let mut warnings = file.extras.warnings.clone();
        let final_content = file.extras.content.as_deref().map(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            if matches!(text, std::borrow::Cow::Owned(_)) {
                let inexact = "final_content is not the exact file: bytes that are not UTF-8 appear as U+FFFD";
                warnings.push(inexact.to_owned());
            }
            text.into_owned()
        });
        let asked = asked.map_or(&[][..], FileRequest::edits);
        let edits = file.edits.iter().enumerate().map(|(index, applied)| edit_success(applied, asked.get(index)));
        Self {
            success: Some(true),
            renamed_to: file.extras.renamed_to.as_deref().map(text),
            symlink_to: file.extras.symlink_to.as_deref().map(text),
            edits_applied: Some(file.edits_that_changed()),
            dry_run: Some(dry_run),
            message: dry_run.then_some("DRY RUN - No changes made to file"),
            edits: Some(edits.collect()),
            guarantee: file.extras.guarantee.map(Guarantee::as_str),
            hash_before: file.hash_before.map(|digest| digest.to_hex()),
            hash_after: file.hash_after.map(|digest| digest.to_hex()),
            warnings,
            backup_path: file.extras.backup.as_deref().map(text),
            final_content,
            diff: file.extras.diff.clone(),
            rebased: file.extras.rebased.is_some().then_some(true),
            foreign_diff: file.extras.rebased.clone(),
            skipped: file.extras.skipped.then_some(true),
            in_place: file.extras.in_place,
            ..Self::of(&file.path, file.operation.as_str())
        }
    }

    /// A file of which no more is known than what is done to it.
    pub(super) fn of(path: &Path, operation: &str) -> Self {
        Self { file_path: text(path), operation: Some(operation.to_owned()), ..Self::default() }
    }
}

impl From<&ShownFile> for FileResult {
    fn from(file: &ShownFile) -> Self {
        Self {
            added: file.lines.map(|(added, _)| added),
            removed: file.lines.map(|(_, removed)| removed),
            diff: Some(file.diff.clone()).filter(|diff| !diff.is_empty()),
            ..Self::of(&file.path, &file.kind)
        }
    }
}

impl From<&InterruptedFile> for FileResult {
    fn from(file: &InterruptedFile) -> Self {
        let (operation, class) = (file.operation.map(str::to_owned), file.class.map(Class::as_str));
        Self { file_path: text(&file.path), operation, class, ..Self::default() }
    }
}
