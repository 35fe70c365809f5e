//! The shape of a `WorkspaceEdit`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::uri;
use crate::dialect::json::JsonSource;
use crate::error::Result;
use crate::request::IfExists;

/// A whole workspace edit, with its changes still unparsed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkspaceEdit<'a> {
    #[serde(borrow)]
    pub(super) changes: Option<LspChanges<'a>>,
    #[serde(borrow)]
    pub(super) document_changes: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) change_annotations: Option<BTreeMap<String, &'a RawValue>>,
    /// In the protocol it is negotiated, and not part of the edit; here it can be given with it.
    #[serde(borrow)]
    pub(super) position_encoding: Option<&'a RawValue>,
}

/// Files with their edits, in the order in which they are written, so that they can be counted.
#[derive(Debug, Default)]
pub(super) struct LspChanges<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for LspChanges<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = LspChanges<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of addresses with their edits")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(LspChanges(list))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A position in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct LspPosition {
    pub(super) line: usize,
    pub(super) character: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct LspRange {
    pub(super) start: LspPosition,
    pub(super) end: LspPosition,
}

/// One replacement. A snippet, which has no `newText`, is refused.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextEdit {
    pub(super) range: LspRange,
    pub(super) new_text: String,
    pub(super) annotation_id: Option<String>,
}

/// The behaviour if a file exists.
#[derive(Debug, Default, Deserialize)]
pub(super) struct LspOptions {
    #[serde(default)]
    overwrite: bool,
}

impl LspOptions {
    /// `ignoreIfExists` is ignored: skipping an edit silently would be wrong, so an existing file is reported.
    pub(super) fn if_exists(&self) -> IfExists {
        if self.overwrite { IfExists::Replace } else { IfExists::Fail }
    }
}

/// One of the `documentChanges`.
#[derive(Debug)]
pub(super) enum DocumentChange {
    Edits { path: PathBuf, edits: Vec<TextEdit> },
    Create { path: PathBuf, options: LspOptions, annotation: Option<String> },
    Rename { from: PathBuf, to: PathBuf, options: LspOptions, annotation: Option<String> },
    Delete { path: PathBuf, annotation: Option<String> },
}

impl DocumentChange {
    /// The annotations that it names.
    pub(super) fn annotations(&self) -> Vec<&str> {
        let all: Vec<&Option<String>> = match self {
            Self::Edits { edits, .. } => edits.iter().map(|edit| &edit.annotation_id).collect(),
            Self::Create { annotation, .. } | Self::Rename { annotation, .. } | Self::Delete { annotation, .. } => {
                vec![annotation]
            }
        };
        all.into_iter().filter_map(Option::as_deref).collect()
    }
}

/// The same before its kind is known: one flat object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Raw {
    kind: Option<String>,
    text_document: Option<Document>,
    edits: Option<Vec<TextEdit>>,
    uri: Option<String>,
    old_uri: Option<String>,
    new_uri: Option<String>,
    options: Option<LspOptions>,
    annotation_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Document {
    uri: String,
}

impl Raw {
    /// The change by its kind; the error says what was expected.
    pub(super) fn told(self) -> Result<DocumentChange, String> {
        let path = |uri: Option<String>, field: &str| uri::path(&uri.ok_or_else(|| format!("`{field}`"))?);
        let (options, annotation) = (self.options.unwrap_or_default(), self.annotation_id);
        match self.kind.as_deref() {
            None => {
                let document = self.text_document.map(|document| document.uri);
                let edits = self.edits.ok_or("`edits`, or a `kind`")?;
                Ok(DocumentChange::Edits { path: path(document, "textDocument")?, edits })
            }
            Some("create") => Ok(DocumentChange::Create { path: path(self.uri, "uri")?, options, annotation }),
            Some("delete") => Ok(DocumentChange::Delete { path: path(self.uri, "uri")?, annotation }),
            Some("rename") => {
                let (from, to) = (path(self.old_uri, "oldUri")?, path(self.new_uri, "newUri")?);
                Ok(DocumentChange::Rename { from, to, options, annotation })
            }
            Some(other) => Err(format!("a kind that is one of create, rename and delete, not {other:?}")),
        }
    }
}

/// The parameters of `workspace/applyEdit`, or the edit itself.
#[derive(Debug, Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    edit: Option<&'a RawValue>,
}

impl<'a> WorkspaceEdit<'a> {
    pub(super) fn parse(source: JsonSource<'a>) -> Result<Self> {
        let params: Params<'a> = source.parse("a WorkspaceEdit")?;
        match params.edit {
            Some(edit) => source.parse_part(edit, "a WorkspaceEdit"),
            None => source.parse("a WorkspaceEdit"),
        }
    }
}
