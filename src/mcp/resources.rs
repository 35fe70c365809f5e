//! The resources: the log, the diff of a transaction, the format of the journal.

use rmcp::ErrorData;
use rmcp::model::{CompletionInfo, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::shared::ServerState;
use crate::error::{Error, ErrorKind};
use crate::wire::history::Log;

/// The log.
pub(super) const TRANSACTIONS: &str = "txedit://transactions";

/// The diff of a transaction.
pub(super) const DIFF: &str = "txedit://transactions/{id}/diff";

/// The format of a journal.
const JOURNAL_FORMAT: &str = "txedit://journal-format";

const FORMAT: &str = include_str!("../../journal-format.md");

/// The most transactions in the log.
const LISTED: usize = 100;

/// The diff of the transaction `id`.
pub(super) fn diff_uri(id: &str) -> String {
    DIFF.replace("{id}", id)
}

/// The id in the address of a diff.
fn diff_id(uri: &str) -> Option<&str> {
    let (start, end) = DIFF.split_once("{id}")?;
    uri.strip_prefix(start)?.strip_suffix(end).filter(|id| !id.is_empty() && !id.contains('/'))
}

pub(super) fn list() -> Vec<Resource> {
    vec![
        Resource::new(TRANSACTIONS, "transactions")
            .with_title("Committed transactions")
            .with_description("The newest transactions of this workspace: ids, times, files, what undid what.")
            .with_mime_type("application/json"),
        Resource::new(JOURNAL_FORMAT, "journal-format")
            .with_title("Journal format")
            .with_description("How a transaction's journal is written, to read one by hand in an emergency.")
            .with_mime_type("text/markdown"),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(DIFF, "transaction-diff")
            .with_title("Diff of a transaction")
            .with_description("The unified diff of everything that a transaction changed.")
            .with_mime_type("text/x-diff"),
    ]
}

/// Reads a resource. Blocks.
pub(super) fn read(shared: &ServerState, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (text, mime_type) = match uri {
        TRANSACTIONS => (log(shared)?, "application/json"),
        JOURNAL_FORMAT => (FORMAT.to_owned(), "text/markdown"),
        _ => match diff_id(uri) {
            Some(id) => (diff(shared, id)?, "text/x-diff"),
            None => return Err(not_found(uri)),
        },
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(mime_type)]))
}

fn log(shared: &ServerState) -> Result<String, ErrorData> {
    let log = shared.engine().and_then(|engine| engine.log(LISTED, None)).map_err(|error| failed(&error))?;
    serde_json::to_string_pretty(&Log::from(&log[..])).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

fn diff(shared: &ServerState, id: &str) -> Result<String, ErrorData> {
    let shown = shared.engine().and_then(|engine| engine.show(id)).map_err(|error| match error.kind() {
        ErrorKind::UnknownTransaction => not_found(&diff_uri(id)),
        _ => failed(&error),
    })?;
    Ok(shown.files.into_iter().map(|file| file.diff).collect())
}

fn not_found(uri: &str) -> ErrorData {
    let message = format!("there is no resource {uri}; {TRANSACTIONS} lists the ids for {DIFF}");
    ErrorData::resource_not_found(message, Some(serde_json::json!({ "uri": uri })))
}

pub(super) fn failed(error: &Error) -> ErrorData {
    ErrorData::internal_error(
        error.message().to_owned(),
        Some(serde_json::json!({ "error_code": error.kind().code() })),
    )
}

/// The ids that begin with `start`, for `txedit://transactions/{id}/diff`. Blocks.
pub(super) fn complete(shared: &ServerState, start: &str) -> Result<CompletionInfo, ErrorData> {
    let log = shared.engine().and_then(|engine| engine.log(usize::MAX, None)).map_err(|error| failed(&error))?;
    let mut ids: Vec<String> = log.into_iter().map(|logged| logged.id).filter(|id| id.starts_with(start)).collect();
    let total = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let has_more = ids.len() > CompletionInfo::MAX_VALUES;
    ids.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(ids, Some(total), has_more).map_err(|e| ErrorData::internal_error(e, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_in_its_own_address_only() {
        assert_eq!(diff_id(&diff_uri("t1")), Some("t1"));
        for uri in ["txedit://transactions//diff", "txedit://transactions/a/b/diff", "txedit://transactions/t1"] {
            assert_eq!(diff_id(uri), None, "{uri}");
        }
    }
}
