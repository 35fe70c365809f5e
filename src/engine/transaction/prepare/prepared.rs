//! A prepared transaction: what was decided and read before anything is staged.

use std::collections::HashMap;
use std::ops::Index;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::digest::Digest;
use crate::engine::store::snapshot::Snapshot;
use crate::engine::transaction::check_gate::Gate;
use crate::fs::{Handle, Metadata, Name, Stat};
use crate::path::RelPath;
use crate::plan::{Plan, SourceId};
use crate::request::edit::Edit;

/// A transaction that is decided and read, under locks, but not yet staged.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub plan: Plan,
    /// The files from which new contents are made.
    pub sources: Sources,
    /// The file at the target of each entry.
    pub targets: Vec<Option<Arc<Snapshot>>>,
    /// The existing folders of the targets, by their path in the workspace.
    pub parents: HashMap<PathBuf, (Stat, Handle)>,
    /// The metadata of new folders that do not get those that their parent gives.
    pub dresses: HashMap<RelPath, Metadata>,
    /// The time when reading began.
    pub read_at: Instant,
    pub marks: JournalMarks,
    /// The checks that decide whether the new files stay.
    pub gate: Option<Gate>,
    /// True if another program interfered with an earlier attempt.
    pub again: bool,
    /// The entries whose content is made again while another program is faster than a sync, with their edits.
    pub contended: Option<HashMap<usize, Vec<Edit>>>,
}

impl Prepared {
    /// The size of the originals in history.
    pub(crate) fn bytes_before(&self) -> u64 {
        self.targets.iter().flatten().map(|snapshot| snapshot.stat.size).sum()
    }
}

/// The fields of a journal's header about its transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct JournalMarks {
    /// The transaction that it reverts.
    pub reverts: Option<String>,
    /// The open transaction that it was.
    pub opened: Option<String>,
    /// The caller's idempotency key, which identifies a retry.
    pub key: Option<String>,
    /// The fingerprint of the request, which identifies a repetition.
    pub request: Option<Digest>,
    /// A text for the log.
    pub label: Option<String>,
}

/// A file from which new content is made.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub folder: Handle,
    /// Its last name is the name in the folder.
    pub path: RelPath,
    pub snapshot: Arc<Snapshot>,
    /// Its content, if there was room to keep it.
    pub bytes: Option<Box<[u8]>>,
}

impl SourceFile {
    pub(crate) fn name(&self) -> Name<'_> {
        Name::new(&self.folder, self.path.name())
    }
}

/// The files from which new contents are made, by their numbers in the plan.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Option<SourceFile>>);

impl Sources {
    pub(crate) fn with_room_for(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    pub(crate) fn get(&self, id: SourceId) -> Option<&SourceFile> {
        self.0.get(id.0)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: SourceId) -> Option<&mut SourceFile> {
        self.0.get_mut(id.0)?.as_mut()
    }

    /// Returns the file with that number before.
    pub(crate) fn insert(&mut self, id: SourceId, source: SourceFile) -> Option<SourceFile> {
        if self.0.len() <= id.0 {
            self.0.resize_with(id.0 + 1, || None);
        }
        self.0[id.0].replace(source)
    }

    pub(crate) fn remove(&mut self, id: SourceId) -> Option<SourceFile> {
        self.0.get_mut(id.0)?.take()
    }
}

impl Index<SourceId> for Sources {
    type Output = SourceFile;

    fn index(&self, id: SourceId) -> &SourceFile {
        self.get(id).unwrap_or_else(|| unreachable!("a plan is made from what was read"))
    }
}
