//! Finds a text that is missing in its file in another file of the request.

use super::reader::TargetReader;
use crate::error::MismatchCause;
use crate::error::{Detail, Error};
use crate::index::{FileIndex, IndexVec};
use crate::limits;
use crate::plan::build::TargetIds;
use crate::request::edit::Anchor;
use crate::request::{Change, Request};
use crate::text::diagnose;

/// Bytes of an anchor that is looked for in other files.
const TELLING: usize = 4;

/// Other files in which it is looked for.
const LOOKED_AT: usize = 64;

/// Where an anchor was not found and nothing tells why: the file of the request in which it stands, if there is one
/// among the first that are searched.
pub(crate) fn elsewhere(
    request: &Request,
    target_ids: &IndexVec<FileIndex, TargetIds>,
    reader: &mut TargetReader<'_>,
    error: Error,
) -> Error {
    let (Detail::NoMatch(diagnosis), Some(file), Some(edit)) = (error.details(), error.file(), error.edit()) else {
        return error;
    };
    let anchor = match request.files[file].edits().get(edit).map(|edit| &edit.anchor) {
        Some(Anchor::Text { text, .. }) => text.clone(),
        Some(Anchor::Hunk(hunk)) => hunk.old(),
        _ => return error,
    };
    // A brace stands in every file, and says nothing.
    if diagnosis.cause.is_some() || anchor.trim_ascii().len() < TELLING {
        return error;
    }
    let mut left = limits::LOOKED_AT_BYTES;
    let others = request.files.iter().zip(target_ids).enumerate();
    let others = others.filter(|(index, (entry, _))| *index != file && matches!(entry.change, Change::Edit { .. }));
    for (index, (_, target_ids)) in others.take(LOOKED_AT) {
        let size = reader.size(target_ids.subject);
        let Some(rest) = left.checked_sub(size) else { continue };
        left = rest;
        // What cannot be read has an error of its own to come.
        let Ok(bytes) = reader.read_again(target_ids.subject) else { continue };
        if diagnose::contains(&bytes, &anchor) {
            let mut diagnosis = diagnosis.clone();
            diagnosis.cause = Some(MismatchCause::InOtherFile(index));
            let message = format!("old_string not found in the file{}", diagnosis.advice());
            return error.reworded(|_| message).detail(Detail::NoMatch(diagnosis));
        }
    }
    error
}
