//! Opens the files that a request gives away, and reads each once.

use std::ffi::OsStr;
use std::sync::Arc;

use super::prepared::SourceFile;
use super::reader::TargetReader;
use crate::engine::store::snapshot::{self, ReadMode};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::index::FileIndex;
use crate::limits;
use crate::plan::{FileState, SourceId};
use crate::request::HeldFile;

/// What an overlay writes beside the files of its upper layer, for itself.
const OF_OVERLAY: [&str; 2] = ["user.overlay.", "trusted.overlay."];

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// A file that is given away, as it was read.
pub(super) struct TakenFile {
    pub id: SourceId,
    pub state: FileState,
    /// Its content, for an answer, where that wants it and it is not too large.
    pub shown: Option<Vec<u8>>,
}

/// Returns whether an attribute is one that an overlay keeps for itself, and begins so.
fn is_of_overlay(name: &OsStr, begin: &str) -> bool {
    let is_it = |prefix: &str| {
        let rest = name.as_encoded_bytes().strip_prefix(prefix.as_bytes());
        rest.is_some_and(|rest| rest.starts_with(begin.as_bytes()))
    };
    OF_OVERLAY.iter().any(|prefix| is_it(prefix))
}

impl TargetReader<'_> {
    /// Reads a file that is given away, in pieces. It gets the number behind those of the targets.
    pub(super) fn take(&mut self, held: &HeldFile, file: FileIndex, shows: bool) -> Result<TakenFile> {
        let workspace = self.workspace();
        let path = held.folder().join(held.path().as_path());
        let io = |verb: &'static str| {
            let path = path.clone();
            move |e| Error::io(verb, path, e)
        };
        let folder = workspace.fs().open_folder(held.folder()).map_err(io("open the folder of"))?;
        let folder = workspace.fs().open_beneath(&folder, held.path().parent()).map_err(io("open the folder of"))?;
        let name = Name::new(&folder, held.path().name());
        let refuse = |kind, why: &str| Err(Error::new(kind, format!("{} {why}", path.display())).at(&path));
        let Some(stat) = workspace.stat(name)? else { return refuse(ErrorKind::FileNotFound, "is not there") };
        if stat.kind != FileKind::File {
            return refuse(ErrorKind::NotARegularFile, "is not a regular file");
        }
        if stat.mode & SET_ID != 0 && !self.allows_set_id() {
            let why = "would let whoever runs it act as its owner or group: only whoever starts txedit can allow it";
            return refuse(ErrorKind::ValidationFailed, why);
        }
        let is_shown = shows && stat.size <= limits::DECODED_FILE_BYTES;
        let mode = if is_shown { ReadMode::Whole } else { ReadMode::Nothing };
        let (mut snapshot, bytes) = snapshot::read(workspace, name, &Arc::new(stat), mode, self.cancel())?;
        if snapshot.attributes().extended.iter().any(|(name, _)| is_of_overlay(name, "metacopy")) {
            // Its content is still in the lower layer.
            return refuse(
                ErrorKind::NotARegularFile,
                "has no content of its own (mount the overlay with metacopy=off)",
            );
        }
        snapshot.leave_out(|name| is_of_overlay(name, ""));
        let state = snapshot.state();
        let id = self.behind_targets(file);
        let path = held.path().clone();
        self.insert(
            id,
            SourceFile { folder, path, snapshot: Arc::new(snapshot), bytes: None, is_used_up: held.is_used_up() },
        );
        Ok(TakenFile { id, state, shown: is_shown.then_some(bytes) })
    }
}
