//! Collects the files of a patch; edits of one file in several places of the patch become one entry.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{PatchOrigin, malformed};
use crate::digest::Digest;
use crate::error::Error;
use crate::request::edit::Edit;
use crate::request::{Change, FileRequest, IfExists, Mode, RenameTo};

/// The files collected so far.
#[derive(Debug, Default)]
pub(super) struct PatchFiles {
    pub(super) list: Vec<FileRequest>,
    /// For each file and edit, the change of the patch; empty if the format does not count changes.
    pub(super) origins: Vec<PatchOrigin>,
    by_path: HashMap<PathBuf, usize>,
}

/// A path as written in a patch.
pub(super) fn path(name: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name))
}

/// The error for a patch that lacks its last line break.
pub(super) fn cut_off(line: usize) -> Error {
    malformed(line, 1, "a line break at the end: without it the last line may have been cut off")
}

/// The destination of a moved file: never onto another one.
pub(super) fn rename_to(name: PathBuf) -> RenameTo {
    RenameTo { path: name.into(), if_exists: IfExists::Fail }
}

impl PatchFiles {
    /// Adds edits to a file, which may have some already.
    pub(super) fn edit(&mut self, path: PathBuf, edits: Vec<Edit>, mode: Option<Mode>) -> usize {
        if let Some(&index) = self.by_path.get(&path)
            && let FileRequest { change: Change::Edit { edits: there, rename: None }, mode: mode_there, .. } =
                &mut self.list[index]
        {
            there.extend(edits);
            *mode_there = mode.or(*mode_there);
            return index;
        }
        self.push(FileRequest { mode, ..FileRequest::new(path, Change::Edit { edits, rename: None }) })
    }

    /// Adds a new file.
    pub(super) fn create(&mut self, path: PathBuf, content: Vec<u8>, mode: Option<Mode>) -> usize {
        let change = Change::Write { content, if_exists: IfExists::Fail };
        self.push(FileRequest { mode, ..FileRequest::new(path, change) })
    }

    /// Adds a deleted file; with its content, if the patch has it.
    pub(super) fn delete(&mut self, path: PathBuf, content: Option<&[u8]>) -> usize {
        let expected_hash = content.map(Digest::of);
        self.push(FileRequest { expected_hash, ..FileRequest::new(path, Change::Delete) })
    }

    /// Adds any change of a file. Validation decides whether several changes of one file exclude each other.
    pub(super) fn push(&mut self, file: FileRequest) -> usize {
        self.by_path.insert(file.path.to_path_buf(), self.list.len());
        self.list.push(file);
        self.list.len() - 1
    }
}
