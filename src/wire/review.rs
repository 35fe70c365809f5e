//! The answer to a review in which somebody decided on each change.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::response::{MultiSuccess, success_multi, text};
use crate::engine::report::Report;
use crate::request::Request;

/// What was committed of what was reviewed, and what became of the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ReviewedJson {
    /// What was committed. Without a transaction nothing was.
    #[serde(flatten)]
    pub(crate) answer: MultiSuccess,
    /// Each file that was reviewed.
    pub(crate) reviewed: Vec<DecidedJson>,
    /// What became of what is not taken: `open`, `discarded`, or `none` if there is none.
    pub(crate) rest: &'static str,
    /// The open transaction that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open_transaction_id: Option<String>,
}

/// A file that was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DecidedJson {
    pub(crate) file_path: String,
    /// How much of it is taken: `all`, `some` or `nothing`.
    pub(crate) taken: &'static str,
    /// The number of its changes; absent if they were not shown one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes_taken: Option<usize>,
}

impl DecidedJson {
    /// A file, with the number of its changes that are taken, and of all.
    pub(crate) fn new(path: &Path, taken: &'static str, counts: Option<(usize, usize)>) -> Self {
        let (changes_taken, changes) = counts.unzip();
        Self { file_path: text(path), taken, changes, changes_taken }
    }
}

impl ReviewedJson {
    /// The answer for a report of what was committed.
    pub(crate) fn new(report: &Report, reviewed: Vec<DecidedJson>, rest: &'static str, open: Option<String>) -> Self {
        let answer = success_multi(report, &Request::default());
        Self { answer, reviewed, rest, open_transaction_id: open }
    }
}
