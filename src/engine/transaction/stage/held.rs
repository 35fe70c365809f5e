//! Stages files that are given away.

use super::Staging;
use super::content::Filling;
use super::file::StagedFile;
use crate::cancel::CancelToken;
use crate::engine::transaction::prepare::prepared::{Prepared, SourceFile};
use crate::error::Result;
use crate::fs::Metadata;
use crate::index::EntryIndex;
use crate::journal::slot_name;
use crate::plan::Entry;
use crate::text::splice::Splices;

impl Staging<'_> {
    /// Copies a file into its slot inside the system, shared where the file system can. It is not moved: a slot that is
    /// older than the folder that it is in tells a recovery that finds no journal of an original.
    pub(super) fn stage_held(
        &self,
        entry: EntryIndex,
        planned: &Entry,
        source: &SourceFile,
        metadata: &Metadata,
        (prepared, cancel): (&Prepared, &CancelToken),
    ) -> Result<StagedFile> {
        let workspace = self.transaction.workspace();
        let (splices, digest) = (&Splices::none(), source.snapshot.digest);
        self.fill(&slot_name(entry), planned, metadata, prepared, |file| {
            Filling { workspace, slot: file, source, splices, digest, read_at: self.read_at(prepared), cancel }.fill()
        })
    }
}
