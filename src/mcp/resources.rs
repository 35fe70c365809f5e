//! The resources: the log, the diffs of transactions, the format of the journal.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CompletionInfo, MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::diffs::{self, Diff, DiffUri, PIECE};
use super::roots::ServedRoot;
use super::shared::ServerState;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::history::Log;

/// The log.
pub(super) const TRANSACTIONS: &str = "txedit://transactions";

/// The diff of a transaction.
pub(super) const DIFF: &str = "txedit://transactions/{id}/diff";

/// The format of a journal.
pub(super) const JOURNAL_FORMAT: &str = "txedit://journal-format";

const FORMAT: &str = include_str!("../../journal-format.md");

/// The most transactions in the log.
const LISTED: usize = 100;

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
            .with_description(
                "The unified diff of everything that a transaction changed, or would change if it is open.",
            )
            .with_mime_type("text/x-diff"),
        ResourceTemplate::new(PIECE, "transaction-diff-piece")
            .with_title("Diff of a file, or a piece of a diff")
            .with_description(
                "The part about `file`, relative to the root; with `offset`, in bytes from 0, a piece: `_meta` has \
                 total_bytes, and next, the address of the next piece.",
            )
            .with_mime_type("text/x-diff"),
    ]
}

/// Reads a resource. Blocks.
pub(super) fn read(shared: &ServerState, uri: &str) -> std::result::Result<ReadResourceResult, ErrorData> {
    let (text, mime_type) = match uri {
        TRANSACTIONS => (log(shared)?, "application/json"),
        JOURNAL_FORMAT => (FORMAT.to_owned(), "text/markdown"),
        _ => match DiffUri::parse(uri) {
            Some(asked) => return diff(shared, uri, &asked),
            None => return Err(not_found(uri)),
        },
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(mime_type)]))
}

fn log(shared: &ServerState) -> std::result::Result<String, ErrorData> {
    let mut log = Vec::new();
    let roots = shared.present().map_err(|error| failed(&error))?;
    for ServedRoot { engine, .. } in roots.iter().map(|root| &**root) {
        let mut of_one = engine.log(LISTED, None).map_err(|error| failed(&error))?;
        if roots.len() > 1 {
            let files = of_one.iter_mut().flat_map(|logged| &mut logged.files);
            files.for_each(|(_, path)| *path = engine.root().join(&*path));
        }
        log.append(&mut of_one);
    }
    log.sort_by(|one, other| other.id.cmp(&one.id));
    log.truncate(LISTED);
    serde_json::to_string_pretty(&Log::from(&log[..])).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

/// The workspace that has a transaction; the first, if none has it.
fn root_of(shared: &ServerState, id: &str) -> Result<Arc<ServedRoot>> {
    let roots = shared.present()?;
    match &roots[..] {
        [first, _, ..] => Ok(Arc::clone(roots.iter().find(|it| it.engine.knows(id)).unwrap_or(first))),
        _ => shared.workspace.first(),
    }
}

fn diff(shared: &ServerState, uri: &str, asked: &DiffUri) -> std::result::Result<ReadResourceResult, ErrorData> {
    let read = root_of(shared, &asked.id).and_then(|root| asked.read(&root.engine, shared.options.max_answer_bytes));
    let Diff { text, piece } = read.map_err(|error| match error.kind() {
        ErrorKind::UnknownTransaction => not_found(uri),
        ErrorKind::FileNotFound | ErrorKind::TransactionExpired => diffs::not_found(uri, &error),
        _ => failed(&error),
    })?;
    let mut contents = ResourceContents::text(text, uri).with_mime_type("text/x-diff");
    if let Some(piece) = piece {
        let mut meta = MetaObject::default();
        meta.0.insert("total_bytes".to_owned(), piece.total_bytes.into());
        if let Some(next) = piece.next {
            meta.0.insert("next".to_owned(), next.into());
        }
        contents = contents.with_meta(meta);
    }
    Ok(ReadResourceResult::new(vec![contents]))
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
pub(super) fn complete(shared: &ServerState, start: &str) -> std::result::Result<CompletionInfo, ErrorData> {
    let roots = shared.present().map_err(|error| failed(&error))?;
    let logs = roots.iter().map(|workspace| workspace.engine.log(usize::MAX, None));
    let logs = logs.collect::<Result<Vec<_>>>().map_err(|error| failed(&error))?;
    let mut ids: Vec<String> =
        logs.into_iter().flatten().map(|logged| logged.id).filter(|id| id.starts_with(start)).collect();
    let total = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let has_more = ids.len() > CompletionInfo::MAX_VALUES;
    ids.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(ids, Some(total), has_more).map_err(|e| ErrorData::internal_error(e, None))
}
