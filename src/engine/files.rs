//! The engine's own files, beside those that it edits: written whole or not at all.

use std::io;

use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Fs, Handle, Name, Rename};
use crate::limits;

/// Writes a file unless it is there.
pub(super) fn write_once(fs: &dyn Fs, name: Name<'_>, content: &[u8]) -> Result<()> {
    match write_new(fs, name, content) {
        Err(e) if e.kind() == ErrorKind::FileExists => Ok(()),
        other => other.map(drop),
    }
}

/// Writes a file whose name must be free, and answers it open.
pub(super) fn write_new(fs: &dyn Fs, name: Name<'_>, content: &[u8]) -> Result<Handle> {
    make(fs, name, |file| write_all(fs, file, 0, content))
}

/// The same of a content that `write` spells out and that is never in memory as a whole.
pub(super) fn write_new_by(
    fs: &dyn Fs,
    name: Name<'_>,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<Handle> {
    make(fs, name, |file| {
        let mut appending = Appending { fs, file, offset: 0, buffer: Vec::new(), failed: None };
        let written = write(&mut appending);
        appending.finish()?;
        written.map_err(|e| Error::io("write", name.path(), e))
    })
}

/// Makes a file, and deletes it again where it cannot be filled.
fn make(fs: &dyn Fs, name: Name<'_>, write: impl FnOnce(&Handle) -> Result<()>) -> Result<Handle> {
    let (file, guard, _) = fs.create(name, 0o600).map_err(|e| Error::io("create", name.path(), e))?;
    write(&file)?;
    guard.disarm();
    Ok(file)
}

/// A file that is written in chunks.
struct Appending<'a> {
    fs: &'a dyn Fs,
    file: &'a Handle,
    offset: u64,
    buffer: Vec<u8>,
    failed: Option<Error>,
}

impl Appending<'_> {
    /// Writes what is left; answers the first failure, whatever the writer made of it.
    fn finish(mut self) -> Result<()> {
        if self.failed.is_none() {
            self.write_out();
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn write_out(&mut self) {
        self.failed = write_all(self.fs, self.file, self.offset, &self.buffer).err();
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
            // Not the failure itself: of some kinds the standard library would try again.
            Some(_) => Err(io::Error::other("see what `finish` answers")),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is read in chunks.
pub(super) struct Reading<'a> {
    fs: &'a dyn Fs,
    file: &'a Handle,
    offset: u64,
    failed: Option<Error>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(fs: &'a dyn Fs, file: &'a Handle) -> Self {
        Self { fs, file, offset: 0, failed: None }
    }

    /// What `error`, which came of reading, was.
    pub(super) fn failure(self, error: io::Error) -> Error {
        self.failed.unwrap_or_else(|| Error::io("read", self.file.path(), error))
    }
}

impl io::Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.fs.read_at(self.file, self.offset, buffer) {
            Ok(read) => {
                self.offset += read as u64;
                Ok(read)
            }
            Err(e) => {
                self.failed = Some(Error::io("read", self.file.path(), e));
                // As above: who reads would try some again.
                Err(io::Error::other("see what `failure` answers"))
            }
        }
    }
}

/// Writes all of `content` at `offset`.
pub(super) fn write_all(fs: &dyn Fs, file: &Handle, mut offset: u64, mut content: &[u8]) -> Result<()> {
    while !content.is_empty() {
        let written = fs.write_at(file, offset, content).map_err(|e| Error::io("write", file.path(), e))?;
        if written == 0 {
            return Err(Error::io("write", file.path(), Errno::NOSPC.into()));
        }
        offset += written as u64;
        content = &content[written..];
    }
    Ok(())
}

/// Puts a file in place whole, over what stands there.
pub(super) fn replace(fs: &dyn Fs, folder: &Handle, name: &str, content: &[u8]) -> Result<()> {
    let fresh = format!(".{name}-{}", super::id::random_hex(8));
    let fresh = Name::new(folder, &fresh);
    let name = Name::new(folder, name);
    write_new(fs, fresh, content)?;
    let failed = |e| Error::io("rename", name.path(), e);
    match fs.rename(fresh, name, Rename::NoReplace) {
        Err(e) if errno::is_taken(&e) => {
            fs.rename(fresh, name, Rename::Exchange).map_err(failed)?;
            fs.unlink(fresh).map_err(|e| Error::io("remove", fresh.path(), e))
        }
        other => other.map_err(failed),
    }
}

/// Reads a file of a few bytes; `None` where it is missing.
pub(super) fn read_small(fs: &dyn Fs, name: Name<'_>) -> Result<Option<String>> {
    let file = match fs.open_file(name) {
        Ok(file) => file,
        Err(e) if errno::is_missing(&e) => return Ok(None),
        Err(e) => return Err(Error::io("open", name.path(), e)),
    };
    let mut buffer = [0; 256];
    let read = fs.read_at(&file, 0, &mut buffer).map_err(|e| Error::io("read", name.path(), e))?;
    Ok(Some(String::from_utf8_lossy(&buffer[..read]).into_owned()))
}
