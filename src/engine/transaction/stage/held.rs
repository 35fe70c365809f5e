//! Stages files that are given away.

use super::Staging;
use super::content::Filling;
use super::file::StagedFile;
use crate::cancel::CancelToken;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::snapshot;
use crate::engine::store::workspace::Workspace;
use crate::engine::transaction::prepare::prepared::{Prepared, SourceFile};
use crate::error::{Error, Result};
use crate::fs::{Handle, Metadata};
use crate::limits;
use crate::plan::Entry;
use crate::text::splice::Splices;

impl Staging<'_> {
    /// Copies a file into its slot inside the system, shared where the file system can. It is not moved: a slot that is
    /// older than the folder that it is in tells a recovery that finds no journal of an original.
    pub(super) fn stage_held(
        &self,
        name: &str,
        planned: &Entry,
        source: &SourceFile,
        metadata: &Metadata,
        (prepared, cancel): (&Prepared, &CancelToken),
    ) -> Result<StagedFile> {
        let workspace = self.transaction.workspace();
        let (splices, digest) = (&Splices::none(), source.snapshot.digest);
        self.fill(name, planned, metadata, prepared, |slot| {
            if source.is_used_up {
                return use_up(workspace, source, slot, cancel);
            }
            Filling { workspace, slot, source, splices, digest, read_at: self.read_at(prepared), cancel }.fill()
        })
    }
}

/// Copies a file while it is taken away.
fn use_up(workspace: &Workspace, source: &SourceFile, slot: &Handle, cancel: &CancelToken) -> Result<()> {
    let (name, snapshot) = (source.name(), &source.snapshot);
    let path = name.path();
    let io = |verb: &'static str| {
        let path = path.clone();
        move |e| Error::io(verb, path, e)
    };
    let file = workspace.open_file(name)?;
    let stat = workspace.stat_handle(&file)?;
    if (stat.identity, stat.size) != (snapshot.stat.identity, snapshot.stat.size) {
        return Err(snapshot::changed(&path, "changed since it was read"));
    }
    // The name goes first: a file with holes is seen by nobody, whatever happens. If it has others, or had, it stays whole:
    // they are copied as well, perhaps at this moment, or are somebody else's.
    let is_alone = snapshot.stat.links == 1 && stat.links == 1;
    workspace.fs().unlink(name).map_err(io("take away"))?;
    let (mut at, size) = (0, snapshot.stat.size);
    while at < size {
        check_cancelled(cancel)?;
        let length = (size - at).min(limits::CANCEL_EVERY_BYTES as u64);
        let copied = workspace.fs().copy_range(&file, at, slot, at, length).map_err(io("copy"))?;
        if copied == 0 {
            return Err(snapshot::changed(&path, "became shorter since it was read"));
        }
        // A file of one piece is freed as it is closed.
        if copied < size && is_alone {
            // Where that cannot be done, the copy takes room of its own until then.
            let _ = workspace.fs().free_range(&file, at, copied);
        }
        at += copied;
    }
    // Its times prove nothing: it was written a moment ago.
    if snapshot::digest(workspace, slot, size, cancel)? == snapshot.digest {
        return Ok(());
    }
    Err(snapshot::changed(&path, "changed since it was read"))
}
