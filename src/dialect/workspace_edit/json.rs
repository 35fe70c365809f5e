//! The shape of a `WorkspaceEdit`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::uri;
use crate::dialect::malformed;
use crate::error::Result;
use crate::request::IfExists;

/// The whole of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkspaceEdit {
    pub(super) changes: Option<BTreeMap<String, Vec<TextEdit>>>,
    #[serde(default, deserialize_with = "document_changes")]
    pub(super) document_changes: Option<Vec<DocumentChange>>,
    pub(super) change_annotations: Option<BTreeMap<String, Value>>,
    /// Agreed on in the protocol, not part of the edit there: here it can stand beside it.
    pub(super) position_encoding: Option<String>,
}

/// A place in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) character: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Range {
    pub(super) start: Position,
    pub(super) end: Position,
}

/// One replacement. A snippet, which has no `newText`, is none.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextEdit {
    pub(super) range: Range,
    pub(super) new_text: String,
    pub(super) annotation_id: Option<String>,
}

/// What to do where a file is there.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Options {
    #[serde(default)]
    overwrite: bool,
}

impl Options {
    /// `ignoreIfExists` is not heeded: an edit that is not done is no edit, and a file that is there is named.
    pub(super) fn if_exists(&self) -> IfExists {
        if self.overwrite { IfExists::Replace } else { IfExists::Fail }
    }
}

/// One of the `documentChanges`.
#[derive(Debug)]
pub(super) enum DocumentChange {
    Edits { path: PathBuf, edits: Vec<TextEdit> },
    Create { path: PathBuf, options: Options, annotation: Option<String> },
    Rename { from: PathBuf, to: PathBuf, options: Options, annotation: Option<String> },
    Delete { path: PathBuf, annotation: Option<String> },
}

impl DocumentChange {
    pub(super) fn annotation(&self) -> Option<&String> {
        match self {
            Self::Edits { .. } => None,
            Self::Create { annotation, .. } | Self::Rename { annotation, .. } | Self::Delete { annotation, .. } => {
                annotation.as_ref()
            }
        }
    }
}

/// The same before its kind is told: one flat object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    kind: Option<String>,
    text_document: Option<Document>,
    edits: Option<Vec<TextEdit>>,
    uri: Option<String>,
    old_uri: Option<String>,
    new_uri: Option<String>,
    options: Option<Options>,
    annotation_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Document {
    uri: String,
}

fn document_changes<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<DocumentChange>>, D::Error> {
    let changes = Option::<Vec<Raw>>::deserialize(deserializer)?;
    let told = |(index, raw): (usize, Raw)| {
        told(raw).map_err(|what| serde::de::Error::custom(format!("documentChanges[{index}]: {what}")))
    };
    changes.map(|changes| changes.into_iter().enumerate().map(told).collect()).transpose()
}

fn told(raw: Raw) -> Result<DocumentChange, String> {
    let path = |uri: Option<String>, field: &str| {
        let uri = uri.ok_or_else(|| format!("`{field}` is missing"))?;
        uri::path(&uri).map_err(|error| error.to_string())
    };
    let (options, annotation) = (raw.options.unwrap_or_default(), raw.annotation_id);
    match raw.kind.as_deref() {
        None => {
            let document = raw.text_document.map(|document| document.uri);
            let edits = raw.edits.ok_or("`edits` is missing")?;
            Ok(DocumentChange::Edits { path: path(document, "textDocument")?, edits })
        }
        Some("create") => Ok(DocumentChange::Create { path: path(raw.uri, "uri")?, options, annotation }),
        Some("delete") => Ok(DocumentChange::Delete { path: path(raw.uri, "uri")?, annotation }),
        Some("rename") => {
            let (from, to) = (path(raw.old_uri, "oldUri")?, path(raw.new_uri, "newUri")?);
            Ok(DocumentChange::Rename { from, to, options, annotation })
        }
        Some(other) => Err(format!("the kind {other:?} is none of create, rename and delete")),
    }
}

/// The parameters of `workspace/applyEdit`.
#[derive(Debug, Deserialize)]
struct Params {
    edit: WorkspaceEdit,
}

impl WorkspaceEdit {
    pub(super) fn parse(json: &[u8]) -> Result<Self> {
        let fault =
            |error: serde_json::Error| malformed(error.line(), error.column(), format!("a WorkspaceEdit: {error}"));
        let keys: BTreeMap<String, &RawValue> = serde_json::from_slice(json).map_err(fault)?;
        if keys.contains_key("edit") {
            return serde_json::from_slice(json).map(|Params { edit }| edit).map_err(fault);
        }
        serde_json::from_slice(json).map_err(fault)
    }
}
