//! Which of several workspaces a call is about: the one that has the files and the transactions that it names.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::roots::ServedRoot;
use crate::dialect::{Format, Patch};
use crate::error::{Correction, Error, ErrorKind, NextStep, Result};
use crate::path::shown;
use crate::request::validate::Findings;
use crate::wire::tools::Arguments;

/// The fields that name files.
const PATHS: [&str; 8] = ["file_path", "path", "paths", "files", "rename_to", "copy_from", "backup", "include"];

/// The fields that name transactions.
const IDS: [&str; 2] = ["transaction_id", "since"];

/// The field that has a patch.
const PATCH: &str = "patch";

/// What a call names, and the number of the workspace that has it.
struct CallSubject {
    field: String,
    what: String,
    place: usize,
}

/// The workspace of a call. One that names nothing absolute, and no transaction, is about the first. Blocks.
pub(super) fn workspace<'w>(workspaces: &'w [Arc<ServedRoot>], arguments: &mut Arguments) -> Result<&'w ServedRoot> {
    let first = workspaces.first().ok_or_else(|| Error::new(ErrorKind::UnknownError, "the root is not known yet"))?;
    if workspaces.len() < 2 {
        return Ok(first);
    }
    let mut named = Vec::new();
    for (field, value) in arguments.iter() {
        if IDS.contains(&field.as_str()) {
            named.extend(of_id(workspaces, field, value));
        } else if field == PATCH {
            of_patch(workspaces, value, arguments.get("format"), &mut named);
        } else {
            collect(workspaces, field, value, &mut named);
        }
    }
    let Some(one) = named.first() else { return Ok(first) };
    if let Some(other) = named.iter().find(|other| other.place != one.place) {
        return Err(over_two(workspaces, one, other));
    }
    let workspace = &workspaces[one.place];
    start_at_root(workspace.engine.root(), arguments);
    Ok(workspace)
}

/// Collects the absolute paths in a patch. One that cannot be read is refused by the tool.
fn of_patch(workspaces: &[Arc<ServedRoot>], value: &Value, format: Option<&Value>, named: &mut Vec<CallSubject>) {
    let format = format.and_then(Value::as_str).and_then(Format::named);
    let Some(Ok(patch)) = value.as_str().map(|text| Patch::read(text.as_bytes(), format, None)) else { return };
    for file in &patch.request.files {
        let Some(text) = file.path.to_str() else { continue };
        let place = of_path(workspaces, text);
        named.extend(place.map(|place| CallSubject { field: PATCH.to_owned(), what: text.to_owned(), place }));
    }
}

fn of_id(workspaces: &[Arc<ServedRoot>], field: &str, value: &Value) -> Option<CallSubject> {
    let id = value.as_str()?;
    let place = workspaces.iter().position(|workspace| workspace.engine.knows(id))?;
    Some(CallSubject { field: field.to_owned(), what: id.to_owned(), place })
}

/// Collects the absolute paths in a value.
fn collect(workspaces: &[Arc<ServedRoot>], field: &str, value: &Value, named: &mut Vec<CallSubject>) {
    match value {
        Value::Array(entries) => entries.iter().for_each(|entry| collect(workspaces, field, entry, named)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| collect(workspaces, name, value, named)),
        Value::String(text) if PATHS.contains(&field) => match serde_json::from_str::<Value>(text) {
            // Several clients send a list as a text.
            Ok(value @ (Value::Array(_) | Value::Object(_))) => collect(workspaces, field, &value, named),
            _ => named.extend(of_path(workspaces, text).map(|place| CallSubject {
                field: field.to_owned(),
                what: text.clone(),
                place,
            })),
        },
        _ => {}
    }
}

/// The innermost workspace that has a path.
fn of_path(workspaces: &[Arc<ServedRoot>], text: &str) -> Option<usize> {
    let path = Path::new(text);
    let has = workspaces.iter().enumerate().filter(|(_, workspace)| {
        path.starts_with(workspace.engine.root()) || workspace.named.as_ref().is_some_and(|root| path.starts_with(root))
    });
    has.max_by_key(|(_, workspace)| workspace.engine.root().components().count()).map(|(place, _)| place)
}

/// Lets the globs of a search, which are relative to the root, start there.
fn start_at_root(root: &Path, arguments: &mut Arguments) {
    let globs = ["include", "exclude"].map(|name| arguments.get_mut(name).map(Value::take).map(|globs| (name, globs)));
    for (name, mut globs) in globs.into_iter().flatten() {
        for glob in globs.as_array_mut().into_iter().flatten() {
            let inner =
                glob.as_str().and_then(|glob| Path::new(glob).strip_prefix(root).ok()?.to_str().map(str::to_owned));
            if let Some(inner) = inner {
                *glob = inner.into();
            }
        }
        arguments.insert(name.to_owned(), globs);
    }
}

fn over_two(workspaces: &[Arc<ServedRoot>], first: &CallSubject, other: &CallSubject) -> Error {
    let root = |named: &CallSubject| shown(workspaces[named.place].engine.root());
    let message = format!(
        "{} is in the workspace {}, and {} in {}: a transaction has files of one workspace; send one call for each",
        first.what,
        root(first),
        other.what,
        root(other)
    );
    let mut findings = Findings::new();
    findings.push(ErrorKind::OutsideRoot, vec![other.field.clone()], message);
    findings.into_error().with_next([NextStep::Correct(Correction::OneCallEach)])
}
