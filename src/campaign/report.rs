//! What is reported of an attempt: one line in `reports/`.

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// How an attempt ended; of several in one round the last one here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AttemptOutcome {
    /// It was begun, where there was a report already, or ended without an answer. Without a report after it, it may have
    /// come to any end.
    Begun,
    /// It failed; see `error_code`.
    Failed,
    /// There was nothing to undo.
    NotDone,
    /// Nothing that the change is about is there.
    NothingToDo,
    /// A transaction is committed.
    Done,
    /// The transaction is undone.
    Undone,
}

impl AttemptOutcome {
    /// The word in reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Failed => "failed",
            Self::NotDone => "not_done",
            Self::NothingToDo => "nothing_to_do",
            Self::Done => "done",
            Self::Undone => "undone",
        }
    }
}

/// One attempt in one workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Attempt {
    /// The number of the workspace, from 0.
    pub(crate) workspace: usize,
    /// The name of the workspace.
    pub(crate) name: String,
    /// Odd where the change was to be made, even where it was to be undone. Only what was reported for the highest round
    /// of a workspace counts.
    pub(crate) round: u32,
    pub(crate) outcome: AttemptOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transaction_id: Option<String>,
    #[serde(default)]
    pub(crate) files_edited: usize,
    /// True if an earlier attempt had committed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) already_applied: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The file that the error is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file_path: Option<String>,
    /// What is true of the files after a failure: the `outcome` of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<String>,
    /// True if the same may succeed later without a change.
    #[serde(default)]
    pub(crate) retryable: bool,
    /// RFC 3339.
    pub(crate) started: String,
    pub(crate) seconds: f64,
    /// The machine and the process that reported it.
    pub(crate) worker: String,
}

impl Attempt {
    /// The line without its line feed.
    pub(crate) fn line(&self) -> Result<String> {
        super::json(self)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.outcome == AttemptOutcome::Failed || self.error_code.is_some()
    }
}
