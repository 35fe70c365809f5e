//! Edits files that are too large to be edited in memory.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr_iter;

use crate::cancel::CancelToken;
use crate::charset::Charset;
use crate::digest::{Digest, Digester};
use crate::engine::store::read_window::ReadWindow;
use crate::engine::store::snapshot::{self, ReadMode, Snapshot, read_whole};
use crate::engine::store::workspace::Workspace;
use crate::error::{ErrorKind, Result};
use crate::fs::{Handle, Name, Stat};
use crate::plan::build::Base;
use crate::request::edit::Edit;
use crate::text::excerpt::{Excerpt, Survey};
use crate::text::splice::{Piece, Splices};
use crate::text::{self, Edited, RefusedEdit};

/// The parts of a file that the edits can touch; the rest is read whenever it is needed.
#[derive(Debug)]
pub(crate) struct Large<'a> {
    workspace: &'a Workspace,
    file: Handle,
    size: u64,
    excerpt: Excerpt,
    cancel: &'a CancelToken,
}

/// The bytes that a byte-order mark may have.
const MARK_BYTES: usize = 3;

/// Reads a file as far as `edits` need it; without [`Large`], they need all of it. `None` if that is known before it is
/// read.
pub(crate) fn read<'a>(
    workspace: &'a Workspace,
    name: Name<'_>,
    stat: &Arc<Stat>,
    (edits, encoding): (&[Edit], Option<Charset>),
    cancel: &'a CancelToken,
) -> Result<Option<(Snapshot, Option<Large<'a>>)>> {
    let is_decoded = encoding.is_some_and(|encoding| !encoding.is_utf8());
    let Some(mut survey) = Survey::new(edits, stat.size).filter(|_| !is_decoded) else { return Ok(None) };
    let mut first = Vec::new();
    let wanted = ReadMode::Pieces(&mut |piece| {
        if first.len() < MARK_BYTES {
            first.extend(piece.iter().take(MARK_BYTES - first.len()));
        }
        survey.feed(piece);
    });
    let (snapshot, _) = snapshot::read(workspace, name, stat, wanted, cancel)?;
    if Charset::of(&first, encoding) != Ok(None) {
        return Ok(Some((snapshot, None)));
    }
    let Some(file) = snapshot.file.clone() else { unreachable!("it was just read") };
    // No more than each range: what lies between two is not read twice.
    let each = |range: Range<usize>, look: &mut dyn FnMut(&[u8])| {
        ReadWindow::new(workspace, &file, range.end, cancel).each(range, |bytes| {
            look(bytes);
            Ok(())
        })
    };
    let read = |range: Range<usize>| {
        let mut bytes = Vec::with_capacity(range.len());
        each(range, &mut |some| bytes.extend_from_slice(some)).map(|()| bytes)
    };
    let feeds = |range: Range<usize>| {
        let mut feeds = 0;
        each(range, &mut |some| feeds += memchr_iter(b'\n', some).count()).map(|()| feeds)
    };
    let excerpt = survey.excerpt(read, feeds)?;
    let large = excerpt.map(|excerpt| Large { workspace, file, size: stat.size, excerpt, cancel });
    Ok(Some((snapshot, large)))
}

impl Base for Large<'_> {
    fn size(&self) -> usize {
        usize::try_from(self.size).unwrap_or(usize::MAX)
    }

    fn edit(&self, edits: &[Edit], encoding: Option<Charset>) -> Result<Result<Edited, RefusedEdit>> {
        assert!(encoding.is_none_or(Charset::is_utf8), "what is decoded is decoded as a whole");
        match self.excerpt.edit(edits) {
            // The error says what is there instead, for which the whole file is needed.
            Err(refused) if refused.kind == ErrorKind::MatchNotFound => {
                Ok(text::edit(&read_whole(self.workspace, &self.file, self.size, self.cancel)?, edits))
            }
            result => Ok(result),
        }
    }

    fn spliced(&self, splices: &Splices) -> Result<Digest> {
        let mut digester = Digester::new();
        let mut window = ReadWindow::new(self.workspace, &self.file, self.size(), self.cancel);
        for piece in splices.pieces(self.size()) {
            match piece {
                Piece::Old(range) => window.each(range, |bytes| {
                    digester.update(bytes);
                    Ok(())
                })?,
                Piece::New(bytes) => digester.update(bytes),
            }
        }
        Ok(digester.finish())
    }
}
