//! The answer of a tool: the same JSON as structured content and as text.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use super::{bound, next_step, terse};
use crate::engine::report::Report;
use crate::error::Error;
use crate::request::Request;
use crate::wire::failure::FailureJson;
use crate::wire::{self, Shape, VersionedAnswer};

/// The answer to `error`, with the next steps in terms of tools.
pub(super) fn failure(error: &Error, request: Option<&Request>, shape: Shape) -> FailureJson {
    wire::failure(error, request, shape, next_step::words)
}

/// The answer of a call.
#[derive(Debug)]
pub(super) struct ToolAnswer {
    value: Value,
    /// True if the contents of its files are blocks of their own in the text: in JSON each quote and line break in them
    /// would be escaped, which takes a fifth more tokens.
    has_contents: bool,
    /// The code of a failure.
    pub(super) code: Option<&'static str>,
    /// The transaction that was committed, or failed.
    pub(super) transaction: Option<String>,
    /// The changes that it made.
    pub(super) changes: ToolChanges,
    /// The open transaction that the answer is about.
    open: Option<String>,
}

/// The changes that a call made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolChanges {
    /// The transaction, if one was committed.
    pub(super) committed: Option<String>,
}

impl ToolChanges {
    /// The changes in a report.
    pub(super) fn of(report: &Report) -> Self {
        Self { committed: report.transaction.clone() }
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
        let value = serde_json::to_value(VersionedAnswer::new(answer)).unwrap_or_default();
        Self { value, has_contents: false, code: None, transaction: None, changes: ToolChanges::default(), open: None }
    }

    /// The same without what an agent seldom needs, unless all was asked for.
    pub(super) fn terse_unless(mut self, verbose: bool) -> Self {
        if !verbose {
            terse::shorten(&mut self.value);
        }
        self
    }

    /// The same about an open transaction, whose diff is a resource.
    pub(super) fn about_open(self, id: Option<&str>) -> Self {
        Self { open: id.map(str::to_owned), ..self }
    }

    /// The answer to a call that read files: their contents are text as it stands.
    pub(super) fn contents(answer: &impl Serialize) -> Self {
        Self { has_contents: true, ..Self::done(answer, ToolChanges::default()) }
    }

    /// The result of the call, at most about `max_bytes` long.
    pub(super) fn into_result(mut self, max_bytes: usize) -> CallToolResult {
        // Without line breaks and indentation, each of which is a token.
        let mut text = self.value.to_string();
        let mut contents = Vec::new();
        if text.len() > max_bytes {
            let id = self.changes.committed.as_deref().or(self.open.as_deref());
            text = bound::cut(&mut self.value, max_bytes, id);
        } else if self.has_contents {
            let mut header = self.value.clone();
            contents = take_contents(&mut header);
            text = header.to_string();
        }
        let blocks = std::iter::once(text).chain(contents).map(ContentBlock::text).collect();
        let mut result = match self.code {
            None => CallToolResult::success(blocks),
            Some(_) => CallToolResult::error(blocks),
        };
        result.structured_content = Some(self.value);
        result
    }
}

/// Takes the content of each file out of an answer; in its place stands the number of the block that has it, from 0. The
/// answer itself is block 0.
fn take_contents(answer: &mut Value) -> Vec<String> {
    let mut contents = Vec::new();
    let files = answer.get_mut("files").and_then(Value::as_array_mut).into_iter().flatten();
    for file in files.filter_map(Value::as_object_mut) {
        if let Some(Value::String(content)) = file.remove("content") {
            contents.push(content);
            file.insert("content_block".to_owned(), contents.len().into());
        }
    }
    contents
}
