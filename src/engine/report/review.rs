//! What is looked at before an open transaction is committed, and what is chosen of it.

use std::ops::Range;

use super::{Preview, Report};
use crate::digest::{Digest, Digester};
pub use crate::text::select::TakenRuns;

/// The effect that the commit of an open transaction would have, with the contents of its files.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Review {
    /// The effect.
    pub preview: Preview,
    /// One for each file of the report; `None` for one that was not asked for.
    pub files: Vec<Option<ReviewedFile>>,
}

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReviewedFile {
    /// The content before, of a symlink its target; `None` if there is no file.
    pub before: Option<Vec<u8>>,
    /// The content after.
    pub after: Option<Vec<u8>>,
    /// Where they differ, as byte ranges of both, in order: whole lines, any of which can be selected. `None` if the file can
    /// only be selected as a whole: it appears, goes or moves, or is no text.
    pub runs: Option<Vec<(Range<usize>, Range<usize>)>>,
    /// The permissions before; `None` if there is no file, or a symlink.
    pub mode_before: Option<u32>,
    /// The permissions after.
    pub mode_after: Option<u32>,
    /// True if its content is given whole, so that another one can be given instead: [`SelectedFile::Content`].
    pub is_written: bool,
}

/// What of an open transaction is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The hash of the plan that was looked at.
    pub plan_hash: Digest,
    /// One for each file of the review, in its order.
    pub files: Vec<SelectedFile>,
    /// True if what is not selected stays open, as a transaction of its own; else it is discarded with the commit.
    pub keeps_rest: bool,
}

impl Selection {
    /// Returns whether all of it is selected as it was proposed.
    pub(crate) fn is_all(&self) -> bool {
        self.files.iter().all(|file| *file == SelectedFile::Whole)
    }

    /// The digest of all that was decided on an open transaction, by which the same decision is recognised.
    pub(crate) fn fingerprint(&self, id: &str) -> Digest {
        let mut digester = Digester::new();
        let mut field = |bytes: &[u8]| {
            // Its length first, so that no field can be taken for a part of the next.
            digester.update(&(bytes.len() as u64).to_le_bytes());
            digester.update(bytes);
        };
        field(b"selection");
        field(id.as_bytes());
        field(self.plan_hash.to_hex().as_bytes());
        field(&[u8::from(self.keeps_rest)]);
        for file in &self.files {
            match file {
                SelectedFile::Whole => field(b"whole"),
                SelectedFile::Nothing => field(b"nothing"),
                SelectedFile::Content(content) => {
                    field(b"content");
                    field(content);
                }
                SelectedFile::Runs(taken) => {
                    field(b"runs");
                    field(&(taken.len() as u64).to_le_bytes());
                    for TakenRuns { runs, instead } in taken {
                        field(&(runs.start as u64).to_le_bytes());
                        field(&(runs.end as u64).to_le_bytes());
                        field(&[u8::from(instead.is_some())]);
                        field(instead.as_deref().unwrap_or_default());
                    }
                }
            }
        }
        digester.finish()
    }
}

/// What of a file is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedFile {
    /// All of it.
    Whole,
    /// Nothing of it.
    Nothing,
    /// Some of its lines, in order; its mode, where that changes, goes with them.
    Runs(Vec<TakenRuns>),
    /// Another content, of a file that is created or replaced by one; nothing of it is left for later.
    Content(Vec<u8>),
}

/// A commit of what was selected.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SelectedCommit {
    /// What was done.
    pub report: Report,
    /// The open transaction that what was not selected stays in.
    pub rest: Option<String>,
}
