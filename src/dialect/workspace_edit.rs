//! The `WorkspaceEdit` of the Language Server Protocol.
//!
//! Versions of documents are the editor's, not the file's: they are parsed and ignored. An annotation that asks for
//! confirmation counts as confirmed: whoever applies the edit wants it.

mod json;
mod uri;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::files::PatchFiles;
use super::json::JsonSource;
use super::{PatchOrigin, malformed};
use crate::error::{Error, Result};
use crate::request::edit::{Anchor, Edit, Encoding, Position};
use crate::request::{Change, FileRequest, IfExists, RenameTo};
use json::{DocumentChange, Raw, TextEdit, WorkspaceEdit};

/// Reads one, alone or as the `edit` of the parameters of `workspace/applyEdit`.
pub(super) fn read(json: &[u8]) -> Result<PatchFiles> {
    let source = JsonSource(json);
    let edit = WorkspaceEdit::parse(source)?;
    let encoding = edit.position_encoding.map_or(Ok(Encoding::Utf16), |name| match name.get() {
        "\"utf-16\"" => Ok(Encoding::Utf16),
        "\"utf-8\"" => Ok(Encoding::Utf8),
        "\"utf-32\"" => Ok(Encoding::Utf32),
        _ => Err(source.refuse(name, "a positionEncoding of utf-8, utf-16 or utf-32")),
    })?;
    let mut fates = Fates { list: Vec::new(), at: HashMap::new(), encoding };
    let annotations = edit.change_annotations.unwrap_or_default();
    let is_ordered = edit.document_changes.is_some();
    let changes: Vec<_> = if let Some(changes) = edit.document_changes {
        changes.into_iter().map(|part| (part, document_change(source, part))).collect()
    } else {
        let changes = edit.changes.unwrap_or_default().0.into_iter();
        changes.map(|(uri, part)| (part, edits_of_file(source, &uri, part))).collect()
    };
    for (index, (part, change)) in changes.into_iter().enumerate() {
        let taken = change.and_then(|change| {
            let unknown = change.annotations().into_iter().find(|id| !annotations.contains_key(*id));
            let taken = match (unknown, &change) {
                (Some(id), _) => Err(format!("an annotation {id:?} among the changeAnnotations")),
                // All places in a file refer to its original content, so there can be no second list of them.
                (_, DocumentChange::Edits { path, .. }) if !is_ordered && fates.at.contains_key(path) => {
                    Err(format!("each file once among the changes, not {} again", path.display()))
                }
                _ => fates.take(index, change).map_err(|what| format!("changes that fit each other: this one {what}")),
            };
            taken.map_err(|expected| source.refuse(part, expected))
        });
        taken.map_err(|error| of_change(error, index))?;
    }
    fates.finish()
}

/// One of the `documentChanges`.
fn document_change<'a>(source: JsonSource<'a>, part: &'a RawValue) -> Result<DocumentChange> {
    let raw: Raw = source.parse_part(part, "one of the documentChanges")?;
    raw.told().map_err(|expected| source.refuse(part, expected))
}

/// One of the `changes`.
fn edits_of_file<'a>(source: JsonSource<'a>, uri: &str, part: &'a RawValue) -> Result<DocumentChange> {
    let path = uri::path(uri).map_err(|expected| source.refuse(part, expected))?;
    Ok(DocumentChange::Edits { path, edits: source.parse_part(part, "the edits of a file")? })
}

/// Adds to an error the change that it is about.
fn of_change(error: Error, index: usize) -> Error {
    error.reworded(|message| format!("{message} (failedChange: {index})")).of_change(index)
}

/// The change of one file.
#[derive(Debug)]
struct LspFileChange {
    /// Its path before; `None` for one that is created.
    source: Option<PathBuf>,
    /// Its path afterwards; `None` for one that is deleted.
    target: Option<PathBuf>,
    if_exists: IfExists,
    /// The content of a file that is created.
    content: Vec<u8>,
    edits: Vec<Edit>,
    origin: PatchOrigin,
}

/// The file that a rename replaced would come back.
const RENAMED_ONTO: &str = "deletes or renames what was renamed onto its place: say at once what becomes of each file";

impl LspFileChange {
    fn is_moved(&self) -> bool {
        self.source.is_some() && self.source != self.target
    }

    /// Returns whether it takes the place of a file that may exist.
    fn replaces(&self) -> bool {
        self.is_moved() && self.if_exists == IfExists::Replace
    }
}

/// The fates of all files, as the changes are read one after the other.
struct Fates {
    list: Vec<LspFileChange>,
    /// The index of the fate of what is now at a path.
    at: HashMap<PathBuf, usize>,
    encoding: Encoding,
}

impl Fates {
    /// Applies the next change; the error says what is wrong with it.
    fn take(&mut self, index: usize, change: DocumentChange) -> Result<(), String> {
        match change {
            DocumentChange::Edits { path, edits } => {
                let edits = in_order(edits, self.encoding)?;
                let fate = self.of(&path, index);
                if fate.source.is_none() {
                    let made = crate::text::edit(&fate.content, &edits).map_err(|refused| refused.message)?;
                    fate.content = made.splices.apply(&fate.content);
                } else {
                    fate.origin.edits.resize(fate.edits.len() + edits.len(), index);
                    fate.edits.extend(edits);
                }
            }
            DocumentChange::Create { path, options, .. } => {
                if self.at.contains_key(&path) {
                    return Err("creates a file that another change made or edits".into());
                }
                self.at.insert(path.clone(), self.list.len());
                let origin = PatchOrigin { file: index, edits: Vec::new() };
                let (content, edits) = (Vec::new(), Vec::new());
                let if_exists = options.if_exists();
                self.list.push(LspFileChange { source: None, target: Some(path), if_exists, content, edits, origin });
            }
            DocumentChange::Rename { from, to, options, .. } => {
                let if_exists = options.if_exists();
                let fate = self.of(&from, index);
                if fate.replaces() {
                    return Err(RENAMED_ONTO.into());
                }
                fate.target = Some(to.clone());
                fate.if_exists = if_exists;
                if let Some(fate) = self.at.remove(&from)
                    && self.at.insert(to, fate).is_some()
                {
                    return Err("renames a file onto one that another change made or edits".into());
                }
            }
            DocumentChange::Delete { path, .. } => {
                let fate = self.of(&path, index);
                if fate.is_moved() {
                    return Err(RENAMED_ONTO.into());
                }
                fate.target = None;
                if !fate.edits.is_empty() || fate.source.is_none() {
                    return Err("deletes a file that another change made or edits".into());
                }
                self.at.remove(&path);
            }
        }
        Ok(())
    }

    /// The fate of the file that is now at a path.
    fn of(&mut self, path: &Path, index: usize) -> &mut LspFileChange {
        let at = *self.at.entry(path.to_owned()).or_insert_with(|| {
            self.list.push(LspFileChange {
                source: Some(path.to_owned()),
                target: Some(path.to_owned()),
                if_exists: IfExists::Fail,
                content: Vec::new(),
                edits: Vec::new(),
                origin: PatchOrigin { file: index, edits: Vec::new() },
            });
            self.list.len() - 1
        });
        &mut self.list[at]
    }

    fn finish(self) -> Result<PatchFiles> {
        let mut files = PatchFiles::default();
        for LspFileChange { source, target, if_exists, content, edits, origin } in self.list {
            let rename = |to: PathBuf| RenameTo { path: to.into(), if_exists };
            let (path, change) = match (source, target) {
                (None, Some(path)) => (path, Change::Write { content, if_exists }),
                (Some(path), None) => (path, Change::Delete),
                (Some(path), Some(to)) if path != to && edits.is_empty() => (path, Change::Rename(rename(to))),
                (Some(path), Some(to)) if path != to => (path, Change::Edit { edits, rename: Some(rename(to)) }),
                (Some(path), Some(_)) if !edits.is_empty() => (path, Change::Edit { edits, rename: None }),
                // No change at all: a document without an edit, a name changed and changed back.
                _ => continue,
            };
            files.push(FileRequest::new(path, change));
            files.origins.push(origin);
        }
        if files.list.is_empty() {
            return Err(malformed(1, 1, "a change in `changes` or `documentChanges`"));
        }
        Ok(files)
    }
}

/// The edits of a document, which all refer to its original content, from its end to its start: so none moves the place
/// of a later one.
fn in_order(edits: Vec<TextEdit>, encoding: Encoding) -> Result<Vec<Edit>, &'static str> {
    let mut edits = edits;
    if edits.iter().any(|edit| edit.range.start > edit.range.end) {
        return Err("has an edit that ends before it starts");
    }
    // At one place insertions come first, in their order, then a replacement; here in reverse.
    edits.reverse();
    edits.sort_by_key(|edit| Reverse((edit.range.start, edit.range.end)));
    let overlaps = |pair: &[TextEdit]| pair[1].range.end > pair[0].range.start;
    if edits.windows(2).any(overlaps) {
        return Err("has edits that overlap");
    }
    let edit = |edit: TextEdit| {
        let position = |at: json::LspPosition| Position { line: at.line, character: at.character };
        let (start, end) = (position(edit.range.start), position(edit.range.end));
        Edit { anchor: Anchor::Span { start, end, encoding, strict: false }, replacement: edit.new_text.into_bytes() }
    };
    Ok(edits.into_iter().map(edit).collect())
}
