//! What is decided and read before anything is staged.

use std::collections::HashMap;
use std::ops::Index;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::charset::Charset;
use crate::check::CheckRun;
use crate::digest::Digest;
use crate::engine::report::Reverted;
use crate::engine::store::snapshot::{self, Snapshot};
use crate::engine::store::workspace::Workspace;
use crate::engine::transaction::check_gate::Gate;
use crate::errno;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{Handle, Metadata, Name, Stat};
use crate::index::{EntryIndex, IndexVec};
use crate::path::RelPath;
use crate::plan::{Entry, Plan, PlannedChange, SourceId};
use crate::request::edit::Edit;

/// A transaction that is decided and read, under locks, but not staged.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub plan: Plan,
    /// The files that new contents are made from.
    pub sources: Sources,
    /// The file at the target of each entry.
    pub targets: IndexVec<EntryIndex, Option<Arc<Snapshot>>>,
    /// The existing folders of the targets, by their path in the workspace.
    pub parents: HashMap<PathBuf, (Stat, Handle)>,
    /// The metadata of new folders that do not get what their parent gives them.
    pub folder_metadata: HashMap<RelPath, Metadata>,
    /// The modes of new folders for which one was asked.
    pub folder_modes: HashMap<RelPath, u32>,
    /// The time at which reading began.
    pub read_at: Instant,
    pub origin: TransactionOrigin,
    /// The checks that decide whether the new files stay.
    pub gate: Option<Gate>,
    /// The check that has passed already, in a view.
    pub passed: Option<CheckRun>,
    /// True if another program interfered with an earlier attempt.
    pub again: bool,
    /// The edits of the entries whose content is made again if another program is faster than a sync.
    pub contended: Option<HashMap<EntryIndex, ContendedEdits>>,
    /// True if every file is overwritten, since its file system can do nothing else that keeps the promise.
    pub overwrites_all: bool,
}

/// The edits of an entry, and the encoding that the request names for its file.
#[derive(Debug)]
pub(crate) struct ContendedEdits {
    pub edits: Vec<Edit>,
    pub encoding: Option<Charset>,
}

impl Prepared {
    /// Returns whether there is anything to commit. A revert without entries gives folders what they had.
    pub(crate) fn has_effect(&self) -> bool {
        !self.plan.is_empty() || !self.origin.reverts.is_empty()
    }

    /// The first of the entries whose target is overwritten, since no rename can replace it: all that follow are, too.
    pub(crate) fn first_overwritten(&self) -> Option<EntryIndex> {
        self.targets.position(|target| self.overwrites_all || is_mounted(target.as_ref()))
    }

    /// Returns whether the target of an entry is overwritten.
    pub(crate) fn is_overwritten(&self, entry: EntryIndex) -> bool {
        self.overwrites_all || is_mounted(self.targets[entry].as_ref())
    }

    /// The same on a file system that can only overwrite. Refuses what is more than a change of content or mode.
    pub(crate) fn overwriting_all(self) -> Result<Self> {
        Self { overwrites_all: true, ..self }.overwriting()
    }

    /// Puts files that are overwritten last, so that nothing of them is written before everything else has gone well, and closes
    /// them: no lease is given on a file that is open elsewhere. Refuses what only a rename could do.
    pub(crate) fn overwriting(mut self) -> Result<Self> {
        if self.first_overwritten().is_none() {
            return Ok(self);
        }
        let entries = std::mem::take(&mut self.plan.entries).into_iter();
        let targets = std::mem::take(&mut self.targets).into_iter();
        let all = self.overwrites_all;
        let is_last = |target: Option<&Arc<Snapshot>>| all || is_mounted(target);
        let (last, first): (Vec<_>, Vec<_>) = entries.zip(targets).partition(|(_, target)| is_last(target.as_ref()));
        for (entry, target) in &last {
            check_overwritable(entry, target.as_deref()).map_err(|error| error.asked_by(entry.asked_by))?;
        }
        let closed = |target: Arc<Snapshot>| Arc::new(Snapshot::clone(&target).closed());
        for source in self.sources.0.iter_mut().flatten().filter(|source| is_last(Some(&source.snapshot))) {
            source.snapshot = closed(Arc::clone(&source.snapshot));
        }
        let last = last.into_iter().map(|(entry, target)| (entry, target.map(closed)));
        let (entries, targets): (Vec<_>, Vec<_>) = first.into_iter().chain(last).unzip();
        (self.plan.entries, self.targets) = (entries.into(), targets.into());
        Ok(self)
    }

    /// The entries whose original is not open, though no lease needs it closed.
    pub(crate) fn closed_originals(&self) -> impl Iterator<Item = EntryIndex> {
        let closed = self.targets.numbered().filter(|(_, target)| target.as_ref().is_some_and(|it| it.is_closed()));
        closed.map(|(entry, _)| entry).filter(|entry| !self.is_overwritten(*entry))
    }

    /// Opens the originals that are closed: of many files that were read, of which few change, none was kept open.
    pub(crate) fn open_originals(&mut self, workspace: &Workspace) -> Result<()> {
        let closed: Vec<EntryIndex> = self.closed_originals().collect();
        for index in closed {
            let (entry, Some(snapshot)) = (&self.plan.entries[index], &mut self.targets[index]) else { continue };
            let (_, folder) = &self.parents[entry.path.parent()];
            let name = Name::new(folder, entry.path.name());
            let changed = |how| Err(snapshot::changed(&name.path(), how).asked_by(entry.asked_by));
            let file = match workspace.fs().open_file(name) {
                Ok(file) => file,
                Err(e) if errno::is_missing(&e) => return changed("was removed meanwhile"),
                Err(e) => return Err(Error::io("open", name.path(), e).asked_by(entry.asked_by)),
            };
            if !snapshot.is_same(&workspace.stat_handle(&file)?, false) {
                return changed("changed since it was read");
            }
            Arc::make_mut(snapshot).file = Some(file);
        }
        Ok(())
    }

    /// The bytes that history will hold.
    pub(crate) fn bytes_before(&self) -> u64 {
        self.targets.iter().flatten().map(|snapshot| snapshot.stat.size).sum()
    }
}

/// Verifies that overwriting a file is all that an entry needs.
fn check_overwritable(entry: &Entry, target: Option<&Snapshot>) -> Result<()> {
    let path = entry.path.as_path();
    let is_content =
        matches!(&entry.change, PlannedChange::Edit(before, new) if !before.is_link() && !new.state.is_link());
    match target.filter(|_| is_content) {
        Some(target) => snapshot::check_overwritable(path, &target.stat, &target.attributes()),
        None if target.is_some_and(|target| target.stat.mount_root) => {
            Err(snapshot::mount_point(path, "of which only the content and the mode can change"))
        }
        None => {
            let message = format!(
                "{} is on a file system that can neither exchange two names nor give one only where it is free: nothing but \
                 the content and the mode of a file that is there can change on it",
                path.display()
            );
            Err(Error::new(ErrorKind::UnsupportedFileSystem, message).at(path).with_next([NextStep::Doctor]))
        }
    }
}

fn is_mounted(target: Option<&Arc<Snapshot>>) -> bool {
    target.is_some_and(|target| target.stat.mount_root)
}

/// The optional fields of a journal's header.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransactionOrigin {
    /// The transactions that it reverts, newest first.
    pub reverts: Vec<String>,
    /// The id that it had while it was open.
    pub opened: Option<String>,
    /// The caller's idempotency key, by which a retry is recognised.
    pub key: Option<String>,
    /// True if a transaction with the same key that was undone does not count.
    pub again: bool,
    /// The fingerprint of the request, by which a repetition is recognised.
    pub request: Option<Digest>,
    /// A text for the log.
    pub label: Option<String>,
    /// The campaign that it is a part of.
    pub campaign: Option<String>,
}

impl TransactionOrigin {
    /// That of a transaction that reverts others.
    pub(crate) fn reverting(others: &[Reverted]) -> Self {
        Self { reverts: others.iter().map(|reverted| reverted.id.clone()).collect(), ..Self::default() }
    }
}

/// A file that new content is made from.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub folder: Handle,
    /// Its path; the last name is its name in the folder.
    pub path: RelPath,
    pub snapshot: Arc<Snapshot>,
    /// Its content, if there was room to keep it.
    pub bytes: Option<Box<[u8]>>,
    /// Whether it is taken away as it is copied.
    pub is_used_up: bool,
}

impl SourceFile {
    pub(crate) fn name(&self) -> Name<'_> {
        Name::new(&self.folder, self.path.name())
    }
}

/// The files that new contents are made from, by the numbers that a plan gives them.
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

    /// Returns the file that had that number before.
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
