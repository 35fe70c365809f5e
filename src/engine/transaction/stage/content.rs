//! Fills a slot with a source's content and its splices. A source that was not kept in memory is read again, and must
//! be unchanged.

use std::path::Path;

use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::engine::store::files::write_all;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::snapshot::{self, read_whole};
use crate::engine::store::workspace::Workspace;
use crate::engine::transaction::prepare::prepared::SourceFile;
use crate::error::{Error, Result};
use crate::fs::Handle;
use crate::identity::Timestamp;
use crate::journal::recover::is_young;
use crate::limits;
use crate::text::splice::{Piece, Splices};

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

    /// Copies unchanged ranges inside the kernel, shared where possible; returns the number of bytes.
    fn copy(&self, from: &Handle, path: &Path, size: u64) -> Result<u64> {
        let mut written = 0;
        for piece in self.splices.pieces(usize::try_from(size).unwrap_or(usize::MAX)) {
            match piece {
                Piece::New(bytes) => {
                    write_all(self.workspace, self.slot, written, bytes)?;
                    written += bytes.len() as u64;
                }
                Piece::Old(range) => {
                    let (mut at, end) = (range.start as u64, range.end as u64);
                    while at < end {
                        check_cancelled(self.cancel)?;
                        let length = (end - at).min(limits::CANCEL_EVERY_BYTES as u64);
                        let copied = self.workspace.fs().copy_range(from, at, self.slot, written, length);
                        match copied.map_err(|e| Error::io("copy", path, e))? {
                            0 => return Err(snapshot::changed(path, "became shorter since it was read")),
                            copied => (at, written) = (at + copied, written + copied),
                        }
                    }
                }
            }
        }
        Ok(written)
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
