//! The `WorkspaceEdit` of the Language Server Protocol.
//!
//! Versions of documents are the editor's, not the file's: they are read and say nothing. An annotation that asks for
//! confirmation has it: whoever applies the edit wants it.

mod json;
mod uri;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::files::Files;
use super::{Format, Origin, malformed};
use crate::error::{Error, ErrorKind, Result};
use crate::request::edit::{Anchor, Edit, Encoding, Position};
use crate::request::{Change, FileRequest, IfExists, RenameTo};
use json::{DocumentChange, TextEdit, WorkspaceEdit};

/// Whether this looks like one.
pub(super) fn detect(json: &[u8]) -> Option<Format> {
    let value: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(json).ok()?;
    let bare = value.get("edit").and_then(|edit| edit.as_object()).unwrap_or(&value);
    (bare.contains_key("changes") || bare.contains_key("documentChanges")).then_some(Format::WorkspaceEdit)
}

/// Reads one, by itself or as the `edit` of the parameters of `workspace/applyEdit`.
pub(super) fn read(json: &[u8]) -> Result<Files> {
    let edit = WorkspaceEdit::parse(json)?;
    let encoding = match edit.position_encoding.as_deref() {
        None | Some("utf-16") => Encoding::Utf16,
        Some("utf-8") => Encoding::Utf8,
        Some("utf-32") => Encoding::Utf32,
        Some(_) => return Err(malformed(1, 1, "a positionEncoding of utf-8, utf-16 or utf-32")),
    };
    let mut fates = Fates { list: Vec::new(), at: HashMap::new(), encoding };
    let annotations = edit.change_annotations.unwrap_or_default();
    let check = |id: Option<&String>| match id.filter(|id| !annotations.contains_key(*id)) {
        Some(id) => Err(malformed(1, 1, format!("an annotation {id:?} among the changeAnnotations"))),
        None => Ok(()),
    };
    if let Some(changes) = edit.document_changes {
        for (index, change) in changes.into_iter().enumerate() {
            check(change.annotation())?;
            if let DocumentChange::Edits { edits, .. } = &change {
                edits.iter().try_for_each(|edit| check(edit.annotation_id.as_ref()))?;
            }
            fates.take(index, change)?;
        }
    } else {
        for (index, (uri, edits)) in edit.changes.unwrap_or_default().into_iter().enumerate() {
            edits.iter().try_for_each(|edit| check(edit.annotation_id.as_ref()))?;
            fates.take(index, DocumentChange::Edits { path: uri::path(&uri)?, edits })?;
        }
    }
    fates.finish()
}

/// What becomes of one file.
#[derive(Debug)]
struct Fate {
    /// Where it is before; `None` for one that is created.
    source: Option<PathBuf>,
    /// Where it is afterwards; `None` for one that is deleted.
    target: Option<PathBuf>,
    if_exists: IfExists,
    /// The content of a file that is created.
    content: Vec<u8>,
    edits: Vec<Edit>,
    origin: Origin,
}

/// What becomes of all files, as the changes are read one after the other.
struct Fates {
    list: Vec<Fate>,
    /// The fate of what is at a path by now.
    at: HashMap<PathBuf, usize>,
    encoding: Encoding,
}

impl Fates {
    fn take(&mut self, index: usize, change: DocumentChange) -> Result<()> {
        match change {
            DocumentChange::Edits { path, edits } => {
                let edits = in_order(edits, self.encoding).map_err(|what| malformed_change(index, what))?;
                let fate = self.of(&path, index);
                if fate.source.is_none() {
                    let made = crate::text::edit(&fate.content, &edits);
                    let made = made.map_err(|refused| malformed_change(index, refused.message))?;
                    fate.content = made.splices.apply(&fate.content);
                } else {
                    fate.origin.edits.resize(fate.edits.len() + edits.len(), index);
                    fate.edits.extend(edits);
                }
            }
            DocumentChange::Create { path, options, .. } => {
                if self.at.contains_key(&path) {
                    return Err(malformed_change(index, "creates a file that another change made or edits"));
                }
                self.at.insert(path.clone(), self.list.len());
                let origin = Origin { file: index, edits: Vec::new() };
                let (content, edits) = (Vec::new(), Vec::new());
                let if_exists = options.if_exists();
                self.list.push(Fate { source: None, target: Some(path), if_exists, content, edits, origin });
            }
            DocumentChange::Rename { from, to, options, .. } => {
                let if_exists = options.if_exists();
                let fate = self.of(&from, index);
                fate.target = Some(to.clone());
                fate.if_exists = if_exists;
                if let Some(fate) = self.at.remove(&from)
                    && self.at.insert(to, fate).is_some()
                {
                    return Err(malformed_change(index, "renames a file onto one that another change made or edits"));
                }
            }
            DocumentChange::Delete { path, .. } => {
                let fate = self.of(&path, index);
                fate.target = None;
                if !fate.edits.is_empty() || fate.source.is_none() {
                    return Err(malformed_change(index, "deletes a file that another change made or edits"));
                }
                self.at.remove(&path);
            }
        }
        Ok(())
    }

    /// The fate of the file that is at a path by now.
    fn of(&mut self, path: &Path, index: usize) -> &mut Fate {
        let at = *self.at.entry(path.to_owned()).or_insert_with(|| {
            self.list.push(Fate {
                source: Some(path.to_owned()),
                target: Some(path.to_owned()),
                if_exists: IfExists::Fail,
                content: Vec::new(),
                edits: Vec::new(),
                origin: Origin { file: index, edits: Vec::new() },
            });
            self.list.len() - 1
        });
        &mut self.list[at]
    }

    fn finish(self) -> Result<Files> {
        let mut files = Files::default();
        for Fate { source, target, if_exists, content, edits, origin } in self.list {
            let rename = |to: PathBuf| RenameTo { path: to, if_exists };
            let (path, change) = match (source, target) {
                (None, Some(path)) => (path, Change::Write { content, if_exists }),
                (Some(path), None) => (path, Change::Delete),
                (Some(path), Some(to)) if path != to && edits.is_empty() => (path, Change::Rename(rename(to))),
                (Some(path), Some(to)) if path != to => (path, Change::Edit { edits, rename: Some(rename(to)) }),
                (Some(path), Some(_)) if !edits.is_empty() => (path, Change::Edit { edits, rename: None }),
                // Nothing at all: a document without an edit, a name changed there and back.
                _ => continue,
            };
            files.push(FileRequest { path, expected_hash: None, change, mode: None });
            files.origins.push(origin);
        }
        if files.list.is_empty() {
            return Err(malformed(1, 1, "a change in `changes` or `documentChanges`"));
        }
        Ok(files)
    }
}

fn malformed_change(index: usize, what: impl std::fmt::Display) -> Error {
    let message = format!(
        "the patch is malformed at line 1, column 1: expected changes that fit each other; change {index} {what} (failedChange: {index})"
    );
    Error::new(ErrorKind::PatchParseFailed, message)
}

/// The edits of a document, which all count in what it was before, from its end to its start: so none moves the place
/// of one that is still to come.
fn in_order(edits: Vec<TextEdit>, encoding: Encoding) -> Result<Vec<Edit>, &'static str> {
    let mut edits = edits;
    if edits.iter().any(|edit| edit.range.start > edit.range.end) {
        return Err("has an edit that ends before it starts");
    }
    // Of those at one place insertions come first, in their order, then a replacement; here all of it backwards.
    edits.reverse();
    edits.sort_by_key(|edit| Reverse((edit.range.start, edit.range.end)));
    let overlaps = |pair: &[TextEdit]| pair[1].range.end > pair[0].range.start;
    if edits.windows(2).any(overlaps) {
        return Err("has edits that overlap");
    }
    let edit = |edit: TextEdit| {
        let position = |at: json::Position| Position { line: at.line, character: at.character };
        let (start, end) = (position(edit.range.start), position(edit.range.end));
        Edit { anchor: Anchor::Span { start, end, encoding }, replacement: edit.new_text.into_bytes() }
    };
    Ok(edits.into_iter().map(edit).collect())
}
