//! What a program did, as edits that can be staged.

use super::EndedProgram;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::request::{Change, FileRequest, Mode, Request};
use crate::view::WrittenLayer;

impl EndedProgram<'_> {
    /// The request with the new contents in it: an open transaction outlives the view.
    pub(super) fn in_memory(&self) -> Result<Request> {
        let (Some(layer), mut room) = (self.view.layer(), limits::REQUEST_BYTES) else {
            return Ok(self.request.clone());
        };
        let files = self.request.files.iter().map(|file| in_memory(file, &layer, &mut room)).collect::<Result<_>>()?;
        Ok(Request { files, ..self.request.clone() })
    }
}

fn in_memory(file: &FileRequest, layer: &WrittenLayer<'_>, room: &mut u64) -> Result<FileRequest> {
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
    Ok(written.mode(Mode::Bits(now.mode & 0o777)))
}
