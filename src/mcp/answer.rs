//! The answer of a tool: the same JSON as structured content and as text.

use std::path::PathBuf;

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use super::{bound, next_step};
use crate::engine::report::Report;
use crate::error::Error;
use crate::request::Request;
use crate::wire::failure::FailureJson;
use crate::wire::{self, Shape};

/// The answer to `error`, with the next steps in terms of tools.
pub(super) fn failure(error: &Error, request: Option<&Request>, shape: Shape) -> FailureJson {
    wire::failure(error, request, shape, next_step::words)
}

/// The answer of a call.
#[derive(Debug)]
pub(super) struct ToolAnswer {
    value: Value,
    text: String,
    /// The code of a failure.
    pub(super) code: Option<&'static str>,
    /// The transaction that was committed, or failed.
    pub(super) transaction: Option<String>,
    /// The changes for subscribers.
    pub(super) changes: ToolChanges,
}

/// The changes that a call made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolChanges {
    /// The transaction, if one was committed.
    pub(super) committed: Option<String>,
    /// The transaction that it reverted.
    pub(super) reverted: Option<String>,
    /// The files as they were named.
    pub(super) files: Vec<PathBuf>,
}

impl ToolChanges {
    /// The changes in a report.
    pub(super) fn of(report: &Report) -> Self {
        let files = report.files.iter().flat_map(|file| [Some(&file.path), file.extras.renamed_to.as_ref()]);
        Self {
            committed: report.transaction.clone(),
            reverted: None,
            files: files.flatten().map(|file| file.to_path_buf()).collect(),
        }
    }
}

impl ToolAnswer {
    /// The answer to a call that succeeded.
    pub(super) fn done(answer: &impl Serialize, changes: ToolChanges) -> Self {
        Self { code: None, transaction: changes.committed.clone(), changes, ..Self::new(answer) }
    }

    /// The answer to a call that failed.
    pub(super) fn failed(failure: &FailureJson) -> Self {
        Self::failed_as(failure, failure)
    }

    /// The answer to a call that failed, with more content than the failure.
    pub(super) fn failed_as(answer: &impl Serialize, failure: &FailureJson) -> Self {
        let transaction = failure.transaction_id.clone();
        Self { code: Some(failure.error_code), transaction, ..Self::new(answer) }
    }

    /// The answer to a call that failed with `error`.
    pub(super) fn error(error: &Error, request: Option<&Request>, shape: Shape) -> Self {
        Self::failed(&failure(error, request, shape))
    }

    fn new(answer: &impl Serialize) -> Self {
        // The wire types are strings, numbers and lists of them, so serialising cannot fail.
        let value = serde_json::to_value(answer).unwrap_or_default();
        let text = serde_json::to_string_pretty(answer).unwrap_or_default();
        Self { value, text, code: None, transaction: None, changes: ToolChanges::default() }
    }

    /// The result of the call, at most about `max_bytes` long.
    pub(super) fn into_result(mut self, max_bytes: usize) -> CallToolResult {
        if self.text.len() > max_bytes {
            self.text = bound::cut(&mut self.value, max_bytes, self.changes.committed.as_deref());
        }
        let mut result = match self.code {
            None => CallToolResult::success(vec![ContentBlock::text(self.text)]),
            Some(_) => CallToolResult::error(vec![ContentBlock::text(self.text)]),
        };
        result.structured_content = Some(self.value);
        result
    }
}
