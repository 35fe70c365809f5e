//! The answers of the commands about transactions, each as one JSON object.

use serde::Serialize;

use super::failure::KeptContentJson;
use super::file_result::FileResult;
use super::hints::{StepWords, with_steps};
use super::open::OpenTransactionJson;
use super::response::{CheckResult, text};
use crate::engine::report::{self, InterruptedFile};
use crate::path::shown;

/// The answer of a command without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoneJson {
    /// Always true.
    pub success: bool,
    /// Further information, such as an interrupted transaction that was recovered first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl DoneJson {
    /// The same with further information.
    #[must_use]
    pub const fn warning_of(warnings: Vec<String>) -> Self {
        Self { success: true, warnings }
    }
}

impl Default for DoneJson {
    fn default() -> Self {
        Self::warning_of(Vec::new())
    }
}

/// A committed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct LoggedJson {
    pub transaction_id: String,
    pub time: String,
    pub owner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The session of its caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The campaign that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
    /// The transactions that it reverts, newest first, if they are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reverts_each: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted_by: Option<String>,
    /// The open transaction that was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    pub file_results: Vec<FileResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The reason for which only its id is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl From<&report::Logged> for LoggedJson {
    fn from(logged: &report::Logged) -> Self {
        let (reverts, reverts_each) = match &logged.reverts[..] {
            [] => (None, Vec::new()),
            [one] => (Some(one.clone()), Vec::new()),
            several => (None, several.to_vec()),
        };
        Self {
            transaction_id: logged.id.clone(),
            time: logged.time.clone(),
            owner: logged.owner.clone(),
            label: logged.label.clone(),
            session: logged.session.clone(),
            campaign: logged.campaign.clone(),
            reverts,
            reverts_each,
            reverted_by: logged.reverted_by.clone(),
            opened: logged.opened.clone(),
            check: logged.check.as_ref().map(CheckResult::from),
            file_results: logged.files.iter().map(|(operation, path)| FileResult::of(path, operation)).collect(),
            warnings: logged.warnings.clone(),
            unreadable: logged.unreadable.clone(),
        }
    }
}

/// The answer of `log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct Log {
    pub success: bool,
    pub transactions: Vec<LoggedJson>,
    /// Those that are open, oldest first, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenTransactionJson>,
}

impl Log {
    /// The answer with the open transactions as well.
    #[must_use]
    pub fn with_open(logged: &[report::Logged], open: &[report::OpenTransaction]) -> Self {
        let open = open.iter().map(OpenTransactionJson::from).collect();
        Self { success: true, transactions: logged.iter().map(LoggedJson::from).collect(), open }
    }
}

impl From<&[report::Logged]> for Log {
    fn from(logged: &[report::Logged]) -> Self {
        Self::with_open(logged, &[])
    }
}

/// The answer of `show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct Show {
    pub success: bool,
    pub transaction_id: String,
    pub time: String,
    pub owner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The campaign that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reverts_each: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    pub file_results: Vec<FileResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl From<&report::Shown> for Show {
    fn from(shown: &report::Shown) -> Self {
        let LoggedJson {
            transaction_id,
            time,
            owner,
            label,
            session,
            campaign,
            reverts,
            reverts_each,
            reverted_by,
            opened,
            check,
            file_results: _,
            warnings,
            unreadable: _,
        } = LoggedJson::from(&shown.logged);
        Self {
            success: true,
            transaction_id,
            time,
            owner,
            label,
            session,
            campaign,
            reverts,
            reverts_each,
            reverted_by,
            opened,
            check,
            file_results: shown.files.iter().map(FileResult::from).collect(),
            warnings,
        }
    }
}

fn classified(files: &[InterruptedFile]) -> Vec<FileResult> {
    files.iter().map(FileResult::from).collect()
}

/// An interrupted or running transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct InterruptedJson {
    pub transaction_id: String,
    pub running: bool,
    pub owner: String,
    pub file_results: Vec<FileResult>,
    pub action: String,
    pub reason: String,
}

/// The answer of `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct StatusJson {
    pub success: bool,
    /// True if the state folder was not looked at, so that nothing is known of interrupted transactions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_ignored: bool,
    pub interrupted: Vec<InterruptedJson>,
    pub open: Vec<OpenTransactionJson>,
    pub kept: Vec<KeptJson>,
    /// Unreadable transactions in history, which a person must discard.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A transaction in history that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct UnreadableJson {
    pub transaction_id: String,
    pub reason: String,
}

impl UnreadableJson {
    fn new(one: &report::Unreadable, words: StepWords) -> Self {
        Self { transaction_id: one.id.clone(), reason: with_steps(&one.reason, &one.next_steps, words) }
    }
}

impl StatusJson {
    /// The answer for a status, with the next steps in the `words` of the front-end.
    #[must_use]
    pub fn new(status: &report::Status, words: StepWords) -> Self {
        let interrupted = |interrupted: &report::Interrupted| InterruptedJson {
            transaction_id: interrupted.id.clone(),
            running: interrupted.running,
            owner: interrupted.owner.clone(),
            file_results: classified(&interrupted.files),
            action: interrupted.action.as_str().to_owned(),
            reason: with_steps(&interrupted.reason(), &interrupted.next_steps, words),
        };
        Self {
            success: true,
            is_ignored: status.is_ignored,
            interrupted: status.interrupted.iter().map(interrupted).collect(),
            open: status.open.iter().map(OpenTransactionJson::from).collect(),
            kept: status.kept.iter().map(KeptJson::from).collect(),
            unreadable: status.unreadable.iter().map(|one| UnreadableJson::new(one, words)).collect(),
            warnings: status.warnings.clone(),
        }
    }
}

/// The recovery, done or planned, of one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct RecoveredJson {
    pub transaction_id: String,
    pub action: String,
    pub required: bool,
    pub reason: String,
    pub file_results: Vec<FileResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptContentJson>,
}

/// The answer of `recover`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct Recovery {
    pub success: bool,
    pub recovered: Vec<RecoveredJson>,
}

impl Recovery {
    /// The answer for a recovery, with the next steps in the `words` of the front-end.
    #[must_use]
    pub fn new(recovered: &[report::Recovered], words: StepWords) -> Self {
        let entry = |recovered: &report::Recovered| RecoveredJson {
            transaction_id: recovered.id.clone(),
            action: recovered.action.as_str().to_owned(),
            required: recovered.required,
            reason: with_steps(&recovered.reason(), &recovered.next_steps, words),
            file_results: classified(&recovered.files),
            kept: recovered.kept.iter().map(KeptContentJson::from).collect(),
        };
        Self { success: true, recovered: recovered.iter().map(entry).collect() }
    }
}

/// The contents kept for one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct KeptJson {
    pub transaction_id: String,
    pub folder: String,
    pub contents: Vec<KeptContentJson>,
}

impl From<&report::Kept> for KeptJson {
    fn from(kept: &report::Kept) -> Self {
        let contents = kept.contents.iter().map(KeptContentJson::from).collect();
        Self { transaction_id: kept.id.clone(), folder: text(&kept.folder), contents }
    }
}

/// The answer of `kept list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct KeptList {
    pub success: bool,
    pub kept: Vec<KeptJson>,
}

impl From<&[report::Kept]> for KeptList {
    fn from(kept: &[report::Kept]) -> Self {
        Self { success: true, kept: kept.iter().map(KeptJson::from).collect() }
    }
}

/// The answer of `history prune`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct PrunedJson {
    pub success: bool,
    /// The ids of the deleted transactions.
    pub pruned: Vec<String>,
    pub bytes: u64,
    /// The ids of those that were left because another program wrote into their originals.
    pub left: Vec<String>,
    /// The ids of those that could not be deleted yet: their contents are still in the trash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_trash: Vec<String>,
}

impl From<&report::Pruned> for PrunedJson {
    fn from(pruned: &report::Pruned) -> Self {
        let report::Pruned { ids, bytes, left, in_trash } = pruned.clone();
        Self { success: true, pruned: ids, bytes, left, in_trash }
    }
}

/// The answer of `history move`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct MovedJson {
    pub success: bool,
    /// Where the state folder was.
    pub from: String,
    /// Where it is.
    pub to: String,
    /// What was interrupted, and recovered first; how the next command finds the state folder, if that changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl From<&report::StateMove> for MovedJson {
    fn from(moved: &report::StateMove) -> Self {
        Self { success: true, from: shown(&moved.from), to: shown(&moved.to), warnings: moved.warnings.clone() }
    }
}

/// The answer of `show --format git`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are those of the report")]
pub struct PatchJson {
    pub success: bool,
    pub transaction_id: String,
    /// Bytes that are not UTF-8 become U+FFFD; the plain output has every byte.
    pub patch: String,
}

impl PatchJson {
    /// The answer for a patch.
    #[must_use]
    pub fn new(id: &str, patch: &[u8]) -> Self {
        Self { success: true, transaction_id: id.into(), patch: String::from_utf8_lossy(patch).into_owned() }
    }
}

#[cfg(test)]
mod tests;
