//! Finds a text that is missing in its file in another file of the request.

use super::reader::TargetReader;
use crate::charset::readable;
use crate::error::MismatchCause;
use crate::error::{Detail, Error};
use crate::index::{FileIndex, IndexVec};
use crate::limits;
use crate::plan::build::TargetIds;
use crate::request::edit::Anchor;
use crate::request::{Change, Request};
use crate::text::diagnose;

/// The shortest anchor, in bytes, that is searched for in other files.
const TELLING: usize = 4;

/// The number of other files that are searched.
const LOOKED_AT: usize = 64;

/// Adds to the error of an anchor that was not found, for no known reason, the other file of the request that contains
/// it, if one of the first does.
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
    // A brace is in every file and tells nothing.
    if diagnosis.cause.is_some() || anchor.trim_ascii().len() < TELLING {
        return error;
    }
    let mut left = limits::LOOKED_AT_BYTES;
    let others = request.files.iter().zip(target_ids).enumerate();
    let others = others.filter(|(index, (entry, _))| *index != file && matches!(entry.change, Change::Edit { .. }));
    for (index, (entry, target_ids)) in others.take(LOOKED_AT) {
        let size = reader.size(target_ids.subject);
        let Some(rest) = left.checked_sub(size) else { continue };
        left = rest;
        // A file that cannot be read will have an error of its own.
        let Ok(bytes) = reader.read_again(target_ids.subject) else { continue };
        if diagnose::contains(&readable(&bytes, entry.encoding), &anchor) {
            let mut diagnosis = diagnosis.clone();
            diagnosis.cause = Some(MismatchCause::InOtherFile(index));
            diagnosis.nearest = None;
            let message = format!("old_string not found in the file{}", diagnosis.advice());
            return error.reworded(|_| message).detail(Detail::NoMatch(diagnosis));
        }
    }
    error
}
