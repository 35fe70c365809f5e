//! What a program did, as edits that can be staged.

use std::path::Path;

use super::EndedProgram;
use crate::engine::Engine;
use crate::engine::view::WorkspaceView;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::limits;
use crate::request::{Change, FileRequest, Mode, Request};
use crate::view::WrittenLayer;

impl Engine {
    /// The request with the new contents in it: an open transaction outlives the view. Its commit is a request like any other,
    /// which leaves read-only files alone.
    pub(super) fn in_memory(&self, ended: &EndedProgram<'_>) -> Result<Request> {
        let (request, view) = (&ended.request, &ended.view);
        let request = Request { takes_read_only: false, ..request.clone() };
        let (Some(layer), mut room) = (view.layer(), limits::REQUEST_BYTES) else { return Ok(request) };
        let mut files = Vec::new();
        for file in &request.files {
            let old_mode = match file.change {
                Change::Take { .. } => self.check_stageable(view, &file.path)?,
                _ => None,
            };
            files.push(in_memory(file, &layer, old_mode, &mut room)?);
        }
        Ok(Request { files, ..request })
    }

    /// Refuses a file with an owner, attributes or set-id bits that staging would not keep. Returns the mode of the file that
    /// it takes the place of.
    fn check_stageable(&self, view: &WorkspaceView<'_>, path: &Path) -> Result<Option<u32>> {
        let (workspace, seen) = (&self.workspace, &view.workspace);
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return Ok(None) };
        let folder = seen.open_beneath(&seen.root, parent)?;
        let now = seen.open_file(Name::new(&folder, name))?;
        let (stat, attributes) = (seen.stat_handle(&now)?, seen.attributes(&now)?);
        let below = workspace.find_folder(&workspace.root, parent)?;
        let old = match &below {
            Some(folder) => workspace.stat(Name::new(folder, name))?.filter(|stat| stat.kind == FileKind::File),
            None => None,
        };
        let is_kept = if let (Some(old), Some(folder)) = (&old, &below) {
            let file = workspace.open_file(Name::new(folder, name))?;
            let is_same = workspace.attributes(&file)?.extended == attributes.extended;
            is_same && (old.user, old.group) == (stat.user, stat.group) && old.mode & SET_ID == stat.mode & SET_ID
        } else {
            let given = seen.inherited(&folder, false)?;
            let is_same = given.attributes.extended == attributes.extended;
            is_same && (given.user, given.group) == (stat.user, stat.group) && stat.mode & SET_ID == 0
        };
        if is_kept {
            return Ok(old.map(|old| old.mode));
        }
        let message = format!(
            "{} has an owner, attributes or set-id bits of its own, which cannot be staged: commit it at once, without --stage",
            path.display()
        );
        Err(Error::new(ErrorKind::ValidationFailed, message).at(path))
    }
}

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

fn in_memory(
    file: &FileRequest,
    layer: &WrittenLayer<'_>,
    old_mode: Option<u32>,
    room: &mut u64,
) -> Result<FileRequest> {
    let Change::Take { held, if_exists } = &file.change else { return Ok(file.clone()) };
    let path = held.path().as_path();
    let io = |e| Error::io("read", path, e);
    let Some(now) = layer.look(path).map_err(io)? else { return Ok(file.clone()) };
    *room = room.checked_sub(now.size).ok_or_else(|| {
        let most = limits::REQUEST_BYTES >> 20;
        let message = format!("the program wrote more than {most} MiB, which cannot be staged: commit it at once");
        Error::new(ErrorKind::RequestTooLarge, message)
    })?;
    let content = layer.content(path, now.kind).map_err(io)?;
    let written = FileRequest::new(&*file.path, Change::Write { content, if_exists: *if_exists });
    // A mode that the program left as it was is not its change: whoever gives the file another one until the commit keeps it.
    let is_changed = old_mode.is_none_or(|old| old & 0o777 != now.mode & 0o777);
    Ok(if is_changed { written.mode(Mode::Bits(now.mode & 0o777)) } else { written })
}
