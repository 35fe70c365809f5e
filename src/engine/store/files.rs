//! The engine's own files: written whole or not at all.

use std::io;

use super::snapshot;
use super::workspace::Workspace;
use crate::cancel::NEVER;
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::{FileKind, Handle, Name, Rename};
use crate::limits;

/// Writes a file whose name must be free, and returns it open.
pub(crate) fn write_new(workspace: &Workspace, name: Name<'_>, content: &[u8]) -> Result<Handle> {
    make(workspace, name, |file| write_all(workspace, file, 0, content))
}

/// Like [`write_new`], for a content that `write` writes piece by piece and that is never in memory as a whole.
pub(crate) fn write_new_by(
    workspace: &Workspace,
    name: Name<'_>,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<Handle> {
    make(workspace, name, |file| {
        let mut appending = Appending { workspace, file, offset: 0, buffer: Vec::new(), failed: None };
        let written = write(&mut appending);
        appending.finish()?;
        written.map_err(|e| Error::io("write", name.path(), e))
    })
}

/// Makes a file, and deletes it again where it cannot be filled.
fn make(workspace: &Workspace, name: Name<'_>, write: impl FnOnce(&Handle) -> Result<()>) -> Result<Handle> {
    let (file, guard, _) = workspace.create(name, 0o600)?;
    write(&file)?;
    guard.disarm();
    Ok(file)
}

/// A file that is written in chunks.
struct Appending<'a> {
    workspace: &'a Workspace,
    file: &'a Handle,
    offset: u64,
    buffer: Vec<u8>,
    failed: Option<Error>,
}

impl Appending<'_> {
    /// Flushes the rest; returns the first failure, whatever the writer made of it.
    fn finish(mut self) -> Result<()> {
        if self.failed.is_none() {
            self.write_out();
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn write_out(&mut self) {
        self.failed = write_all(self.workspace, self.file, self.offset, &self.buffer).err();
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
    }
}

impl io::Write for Appending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= limits::CHUNK_BYTES {
            self.write_out();
        }
        match self.failed {
            // Not the failure itself: the standard library retries some kinds.
            Some(_) => Err(io::Error::other("see what `finish` answers")),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is read in chunks.
pub(crate) struct Reading<'a> {
    workspace: &'a Workspace,
    file: &'a Handle,
    offset: u64,
    failed: Option<Error>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(workspace: &'a Workspace, file: &'a Handle) -> Self {
        Self { workspace, file, offset: 0, failed: None }
    }

    /// The file system's error, if there was one, instead of the `error` that a reader made of it.
    pub(crate) fn failure(self, error: io::Error) -> Error {
        self.failed.unwrap_or_else(|| Error::io("read", self.file.path(), error))
    }
}

impl io::Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.workspace.fs().read_at(self.file, self.offset, buffer) {
            Ok(read) => {
                self.offset += read as u64;
                Ok(read)
            }
            Err(e) => {
                self.failed = Some(Error::io("read", self.file.path(), e));
                // Not the failure itself, as above: a reader would retry some kinds.
                Err(io::Error::other("see what `failure` answers"))
            }
        }
    }
}

/// Writes all of `content` at `offset`.
pub(crate) fn write_all(workspace: &Workspace, file: &Handle, mut offset: u64, mut content: &[u8]) -> Result<()> {
    while !content.is_empty() {
        let written = workspace.write_at(file, offset, content)?;
        if written == 0 {
            return Err(Error::io("write", file.path(), Errno::NOSPC.into()));
        }
        offset += written as u64;
        content = &content[written..];
    }
    Ok(())
}

/// A file written whole under a hidden name, which still has to get its own name.
#[derive(Debug)]
pub(crate) struct Fresh<'a> {
    folder: &'a Handle,
    name: &'a str,
    hidden: String,
    file: Handle,
}

impl<'a> Fresh<'a> {
    /// Writes the content under a hidden name.
    pub(crate) fn write(workspace: &Workspace, folder: &'a Handle, name: &'a str, content: &[u8]) -> Result<Self> {
        let hidden = format!(".{name}-{}", super::id::random_hex(8));
        let file = write_new(workspace, Name::new(folder, &hidden), content)?;
        Ok(Self { folder, name, hidden, file })
    }

    /// Deletes the file again.
    pub(crate) fn discard(self, workspace: &Workspace) {
        workspace.fs().unlink(Name::new(self.folder, &self.hidden)).ok();
    }

    /// Gives the file its name, replacing the file there, and makes that durable. Its content must be durable
    /// already, so that a power loss leaves the old file or the new one. On failure the old one stays.
    pub(crate) fn put_in_place(self, workspace: &Workspace) -> Result<()> {
        let (fresh, name) = (Name::new(self.folder, &self.hidden), Name::new(self.folder, self.name));
        let failed = |e| Error::io("rename", name.path(), e);
        let sync = || workspace.sync(self.folder);
        match workspace.move_own(fresh, name) {
            Err(e) if errno::is_taken(&e) => {}
            other => return other.map_err(failed).and_then(|()| sync()),
        }
        match workspace.fs().rename(fresh, name, Rename::Exchange) {
            Err(e) if errno::is_unsupported(&e) => return self.replace_stepwise(workspace),
            exchanged => exchanged.map_err(failed)?,
        }
        let synced = sync();
        if synced.is_err() {
            workspace.fs().rename(fresh, name, Rename::Exchange).map_err(failed)?;
        }
        // The new file has its name whether the old one goes or not: what is left of it goes with the folder.
        workspace.fs().unlink(fresh).ok();
        synced
    }
}

impl Fresh<'_> {
    /// The same where two names cannot be exchanged: the old file gets a second name first, by which it can come back.
    fn replace_stepwise(self, workspace: &Workspace) -> Result<()> {
        let old = format!("{}.old", self.hidden);
        let [fresh, name, old] = [&self.hidden, self.name, &old].map(|name| Name::new(self.folder, name));
        let failed = |e| Error::io("replace", name.path(), e);
        let has_second = workspace.fs().link(name, old).is_ok();
        workspace.fs().rename(fresh, name, Rename::Replace).map_err(failed)?;
        let synced = workspace.sync(self.folder);
        if synced.is_err() && has_second {
            return workspace.fs().rename(old, name, Rename::Replace).map_err(failed).and(synced);
        }
        workspace.fs().unlink(old).ok();
        synced
    }
}

/// Puts a file in place whole and durably, replacing the file there.
pub(crate) fn replace(workspace: &Workspace, folder: &Handle, name: &str, content: &[u8]) -> Result<()> {
    let fresh = Fresh::write(workspace, folder, name, content)?;
    workspace.sync(&fresh.file)?;
    fresh.put_in_place(workspace)
}

/// Makes a file on which nothing rests, whole but without a sync: a power cut may leave it empty, or without its name.
pub(crate) fn make_unsynced(workspace: &Workspace, folder: &Handle, name: &str, content: &[u8]) -> Result<()> {
    let fresh = Fresh::write(workspace, folder, name, content)?;
    let [hidden, named] = [&fresh.hidden, name].map(|name| Name::new(folder, name));
    let made = workspace.move_own(hidden, named).map_err(|e| Error::io("rename", named.path(), e));
    made.inspect_err(|_| fresh.discard(workspace))
}

/// Reads a file of a few bytes; `None` where it is missing.
pub(crate) fn read_small(workspace: &Workspace, name: Name<'_>) -> Result<Option<String>> {
    let file = match workspace.fs().open_file(name) {
        Ok(file) => file,
        Err(e) if errno::is_missing(&e) => return Ok(None),
        Err(e) => return Err(Error::io("open", name.path(), e)),
    };
    let mut buffer = [0; 256];
    let mut length = 0;
    // A read may be short of the line that such a file has.
    while length < buffer.len() && !buffer[..length].ends_with(b"\n") {
        match workspace.read_at(&file, length as u64, &mut buffer[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(Some(String::from_utf8_lossy(&buffer[..length]).into_owned()))
}

/// The content of a regular file that starts with `beginning` and is not too large; `None` if there is none, or it
/// cannot be opened.
pub(crate) fn read_file(workspace: &Workspace, name: Name<'_>, beginning: &[u8], most: u64) -> Result<Option<Vec<u8>>> {
    let path = name.path();
    let file = match workspace.fs().open_file(name) {
        Ok(file) => file,
        Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::LOOP | Errno::ACCESS | Errno::NXIO)) => {
            return Ok(None);
        }
        Err(e) => return Err(Error::io("open", &path, e)),
    };
    let stat = workspace.stat_handle(&file)?;
    if stat.kind != FileKind::File || stat.size > most {
        return Ok(None);
    }
    let found = snapshot::read_whole(workspace, &file, stat.size.min(beginning.len() as u64), &NEVER)?;
    if found != beginning {
        return Ok(None);
    }
    snapshot::read_whole(workspace, &file, stat.size, &NEVER).map(Some)
}
