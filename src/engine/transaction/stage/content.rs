//! Fills a slot with a source's content and its splices. A source that was not kept in memory is read again, and must
//! be unchanged.

use std::ops::Range;
use std::path::Path;

use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::engine::store::files::write_all;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::read_window::ReadWindow;
use crate::engine::store::snapshot::{self, read_whole};
use crate::engine::store::workspace::Workspace;
use crate::engine::transaction::prepare::prepared::SourceFile;
use crate::error::{Error, Result};
use crate::fs::Handle;
use crate::identity::Timestamp;
use crate::journal::recover::is_young;
use crate::limits;
use crate::text::splice::{Piece, Splices};

/// Between two changes it is quicker to read and write a shorter stretch with what is around it than to copy it by a call of
/// its own.
const SHORT: usize = 64 << 10;

/// A slot to be filled.
pub(super) struct Filling<'a> {
    pub workspace: &'a Workspace,
    pub slot: &'a Handle,
    pub source: &'a SourceFile,
    pub splices: &'a Splices,
    /// The digest of the result.
    pub digest: Digest,
    /// The time at which reading began, by the file system's clock.
    pub read_at: Timestamp,
    pub cancel: &'a CancelToken,
}

impl Filling<'_> {
    pub(super) fn fill(&self) -> Result<()> {
        if let Some(bytes) = &self.source.bytes {
            return self.write(bytes);
        }
        let name = self.source.name();
        let path = name.path();
        let file = self.workspace.open_file(name)?;
        let size = self.source.snapshot.stat.size;
        if self.splices.is_empty() || size > limits::WHOLE_BYTES {
            let written = self.copy(&file, &path, size)?;
            return self.check(&file, &path, || {
                Ok(snapshot::digest(self.workspace, self.slot, written, self.cancel)? == self.digest)
            });
        }
        let bytes = read_whole(self.workspace, &file, size, self.cancel)?;
        self.check(&file, &path, || Ok(Digest::of(&bytes) == self.source.snapshot.digest))?;
        self.write(&bytes)
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        let mut offset = 0;
        self.splices.in_chunks(bytes, limits::CHUNK_BYTES, |chunk| {
            write_all(self.workspace, self.slot, offset, chunk)?;
            offset += chunk.len() as u64;
            Ok(())
        })
    }

    /// Copies long unchanged stretches inside the kernel, shared where possible, and writes the others together; returns the
    /// number of bytes.
    fn copy(&self, from: &Handle, path: &Path, size: u64) -> Result<u64> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut window = ReadWindow::new(self.workspace, from, size, self.cancel);
        let mut out = SlotWriter { filling: self, bytes: Vec::new(), written: 0 };
        for piece in self.splices.pieces(size) {
            match piece {
                Piece::New(bytes) => out.add(bytes)?,
                Piece::Old(range) if range.len() < SHORT && !self.splices.is_empty() => {
                    window.each(range, |bytes| out.add(bytes))?;
                }
                Piece::Old(range) => {
                    out.write()?;
                    out.written += self.copy_range((from, path), range, out.written)?;
                }
            }
        }
        out.write()?;
        Ok(out.written)
    }

    fn copy_range(&self, (from, path): (&Handle, &Path), range: Range<usize>, mut to: u64) -> Result<u64> {
        let (mut at, end) = (range.start as u64, range.end as u64);
        while at < end {
            check_cancelled(self.cancel)?;
            let length = (end - at).min(limits::CANCEL_EVERY_BYTES as u64);
            let copied = self.workspace.fs().copy_range(from, at, self.slot, to, length);
            match copied.map_err(|e| Error::io("copy", path, e))? {
                0 => return Err(snapshot::changed(path, "became shorter since it was read")),
                copied => (at, to) = (at + copied, to + copied),
            }
        }
        Ok(range.len() as u64)
    }

    /// Fails if the source changed since the plan was made. If its times prove nothing, `bytes` decides.
    fn check(&self, file: &Handle, path: &Path, bytes: impl FnOnce() -> Result<bool>) -> Result<()> {
        let now = self.workspace.stat_handle(file)?;
        let before = &self.source.snapshot;
        if before.is_same(&now, false) && (!is_young(before.stat.modified, self.read_at) || bytes()?) {
            return Ok(());
        }
        Err(snapshot::changed(path, "changed since it was read"))
    }
}

/// The beginning of a slot: what is written, and small pieces that are written together.
struct SlotWriter<'a> {
    filling: &'a Filling<'a>,
    /// What follows `written`.
    bytes: Vec<u8>,
    written: u64,
}

impl SlotWriter<'_> {
    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() < limits::CHUNK_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<()> {
        write_all(self.filling.workspace, self.filling.slot, self.written, &self.bytes)?;
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }
}
