//! Reads stretches of a file that come one after the other: many small ones by one call.

use std::ops::Range;

use super::lock::check_cancelled;
use super::snapshot;
use super::workspace::Workspace;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::fs::Handle;
use crate::limits;

/// A part of a file that was read, and in which more than one stretch may be.
#[derive(Debug)]
pub(crate) struct ReadWindow<'a> {
    workspace: &'a Workspace,
    file: &'a Handle,
    end: usize,
    cancel: &'a CancelToken,
    /// Where in the file it starts.
    start: usize,
    bytes: Vec<u8>,
}

impl<'a> ReadWindow<'a> {
    /// Reads nothing yet of a file, of which no more than this is to be read.
    pub(crate) fn new(workspace: &'a Workspace, file: &'a Handle, end: usize, cancel: &'a CancelToken) -> Self {
        Self { workspace, file, end, cancel, start: 0, bytes: Vec::new() }
    }

    /// Passes on a stretch, which must exist, piece by piece.
    pub(crate) fn each(&mut self, range: Range<usize>, mut look: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            if !(self.start..self.start + self.bytes.len()).contains(&at) {
                self.read(at)?;
            }
            let there = &self.bytes[at - self.start..];
            let piece = &there[..there.len().min(range.end - at)];
            look(piece)?;
            at += piece.len();
        }
        Ok(())
    }

    /// Reads on from a place in the file.
    fn read(&mut self, at: usize) -> Result<()> {
        check_cancelled(self.cancel)?;
        self.start = at;
        self.bytes.resize(limits::CHUNK_BYTES.min(self.end.saturating_sub(at)), 0);
        let read = match self.bytes.len() {
            0 => 0,
            _ => self.workspace.read_at(self.file, at as u64, &mut self.bytes)?,
        };
        self.bytes.truncate(read);
        if read == 0 {
            return Err(snapshot::changed(self.file.path(), "became shorter since it was read"));
        }
        Ok(())
    }
}
