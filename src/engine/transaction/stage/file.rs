//! Stages new files and copies of originals: makes them, fills them, and sets their metadata.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use super::content::Filling;
use super::metadata::current;
use super::{Staging, missing_parent};
use crate::cancel::CancelToken;
use crate::engine::store::files::write_all;
use crate::engine::store::snapshot::Snapshot;
use crate::engine::transaction::prepare::prepared::{Prepared, SourceFile};
use crate::error::{Error, Result};
use crate::fs::{Attributes, Handle, Metadata, Name, SlotGuard};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::{original_name, slot_name};
use crate::plan::{Access, Entry, FileState, New, NewContent, PlannedChange};
use crate::text::splice::Splices;

/// The number of files that two threads stage together.
const TOGETHER: usize = 512;

/// The number of them that a thread takes at once: whichever is faster takes more.
const AT_ONCE: usize = 16;

/// A staged file, which is deleted when this is dropped.
#[derive(Debug)]
pub(super) struct StagedFile {
    /// The file, open, if it is to be synced by itself.
    pub(super) file: Option<Handle>,
    pub(super) guard: SlotGuard,
    pub(super) identity: Identity,
    pub(super) access: Access,
    /// What the folder passed on to it; `None` if it tells nothing about that.
    pub(super) handed_on: Option<Attributes>,
}

impl Staging<'_> {
    /// The staged file of an entry; where that is faster, the files of the next entries are staged with it.
    pub(super) fn stage_file(
        &mut self,
        entry: EntryIndex,
        new: &New,
        prepared: &Prepared,
        cancel: &CancelToken,
    ) -> Result<(Identity, FileState)> {
        if self.ready.is_empty() {
            self.ready = self.stage_some(entry, prepared, cancel);
        }
        let Some(staged) = self.ready.pop_front() else { unreachable!("it was just staged") };
        let StagedFile { file, guard, identity, access, handed_on } = staged?;
        // From here on `unnamed` covers it: a guard for each of many files takes too much memory.
        guard.disarm();
        if let Some(file) = file.as_ref().filter(|_| prepared.contended.is_some()) {
            self.open.insert(entry, file.clone());
        }
        self.files.extend(file);
        if let Some(handed_on) = handed_on {
            let part = self.transaction.slots.part_of(&prepared.plan.entries[entry].path);
            self.handed_on.insert(part, handed_on);
        }
        Ok((identity, FileState { access: Some(access), ..new.state }))
    }

    /// Stages the files of a few entries from `entry` on, half of them in another thread.
    fn stage_some(&self, entry: EntryIndex, prepared: &Prepared, cancel: &CancelToken) -> VecDeque<Result<StagedFile>> {
        let entries = &prepared.plan.entries;
        let one = |entry: EntryIndex| match &entries[entry].change {
            PlannedChange::Edit(_, new) | PlannedChange::Create(new) | PlannedChange::FolderToFile(new) => {
                self.stage_one(entry, &slot_name(entry), new, prepared, cancel)
            }
            _ => unreachable!("only files are staged together"),
        };
        let is_file = |entry: &&Entry| {
            matches!(entry.change, PlannedChange::Edit(..) | PlannedChange::Create(_) | PlannedChange::FolderToFile(_))
        };
        let overwritten = prepared.first_overwritten().map_or(TOGETHER, |first| first.0.saturating_sub(entry.0));
        let count = entries.starting_at(entry).iter().take(TOGETHER.min(overwritten)).take_while(is_file).count();
        // The first file tells what the folder passes on.
        let part = self.transaction.slots.part_of(&entries[entry].path);
        if !self.handed_on.contains_key(&part) || count < TOGETHER / 4 || !self.transaction.workspace().is_parallel() {
            return VecDeque::from([one(entry)]);
        }
        let (next, end) = (AtomicUsize::new(entry.0), entry.0 + count);
        let stage = || {
            let taken =
                std::iter::repeat_with(|| next.fetch_add(AT_ONCE, Ordering::Relaxed)).take_while(|at| *at < end);
            let entries = taken.flat_map(|at| at..end.min(at + AT_ONCE));
            entries.map(|entry| (entry, one(EntryIndex(entry)))).collect::<Vec<_>>()
        };
        let mut staged = std::thread::scope(|scope| {
            // If no thread can be started, this one stages all of them.
            let others = Builder::new().spawn_scoped(scope, stage);
            let mut staged = stage();
            if let Ok(others) = others {
                staged.extend(others.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            staged
        });
        staged.sort_unstable_by_key(|(entry, _)| *entry);
        staged.into_iter().map(|(_, staged)| staged).collect()
    }

    /// Stages the new file of an entry under a name in the transaction's folder.
    pub(super) fn stage_one(
        &self,
        entry: EntryIndex,
        name: &str,
        new: &New,
        prepared: &Prepared,
        cancel: &CancelToken,
    ) -> Result<StagedFile> {
        let (workspace, planned) = (self.transaction.workspace(), &prepared.plan.entries[entry]);
        let metadata = self.metadata(planned, new, prepared)?;
        if new.state.is_link() {
            return self.stage_link(entry, planned, new, &metadata, prepared);
        }
        if let NewContent::Held(source) = &new.content {
            return self.stage_held(name, planned, &prepared.sources[*source], &metadata, (prepared, cancel));
        }
        self.fill(name, planned, &metadata, prepared, |file| match &new.content {
            NewContent::Held(_) => unreachable!("it is staged above"),
            NewContent::Bytes(bytes) => write_all(workspace, file, 0, bytes),
            NewContent::Spliced(source, splices) => {
                let (source, digest) = (&prepared.sources[*source], new.state.digest);
                Filling { workspace, slot: file, source, splices, digest, read_at: self.read_at(prepared), cancel }
                    .fill()
            }
        })
    }

    /// Copies an original that has other names, through which its inode could be written while history holds it. A symlink
    /// is never written.
    pub(super) fn copy_original(
        &mut self,
        entry: EntryIndex,
        planned: &Entry,
        prepared: &Prepared,
        cancel: &CancelToken,
    ) -> Result<()> {
        let Some(snapshot) = prepared.targets[entry].as_ref().filter(|it| it.stat.links > 1 && !it.is_link()) else {
            return Ok(());
        };
        if prepared.is_overwritten(entry) {
            // Of that there is a copy in any case.
            return Ok(());
        }
        let copy = self.stage_copy(&original_name(entry), planned, snapshot, prepared, cancel)?;
        copy.guard.disarm();
        self.copies.push((entry, self.transaction.slots.of(&planned.path).clone()));
        self.files.extend(copy.file);
        Ok(())
    }

    /// Makes a copy of an original, with its metadata and time.
    pub(super) fn stage_copy(
        &self,
        name: &str,
        planned: &Entry,
        snapshot: &Arc<Snapshot>,
        prepared: &Prepared,
        cancel: &CancelToken,
    ) -> Result<StagedFile> {
        let workspace = self.transaction.workspace();
        let (_, folder) = self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
        let (folder, path) = (folder.clone(), planned.path.clone());
        let source = SourceFile { folder, path, snapshot: Arc::clone(snapshot), bytes: None, is_used_up: false };
        let stat = &snapshot.stat;
        let (mode, user, group, attributes) = (stat.mode, stat.user, stat.group, snapshot.attributes());
        let metadata = Metadata { mode, user, group, attributes, modified: Some(stat.modified) };
        let (source, splices, digest) = (&source, &Splices::none(), snapshot.digest);
        self.fill(name, planned, &metadata, prepared, |file| {
            Filling { workspace, slot: file, source, splices, digest, read_at: self.read_at(prepared), cancel }.fill()
        })
    }

    /// Makes a new file in the transaction's folder, with its content and metadata.
    pub(super) fn fill(
        &self,
        name: &str,
        planned: &Entry,
        metadata: &Metadata,
        prepared: &Prepared,
        write: impl FnOnce(&Handle) -> Result<()>,
    ) -> Result<StagedFile> {
        let workspace = self.transaction.workspace();
        let slots = &self.transaction.slots;
        let name = Name::new(slots.of(&planned.path), name);
        let root = self.transaction.workspace().root.path();
        let io = |verb: &'static str| move |e| Error::io(verb, root.join(planned.path.as_path()), e);
        // Set-id bits are set only after the owner.
        let (file, guard, stat) = workspace.fs().create(name, metadata.mode & 0o777).map_err(io("stage"))?;
        let handed_on = match self.handed_on.get(&slots.part_of(&planned.path)) {
            Some(handed_on) => handed_on.clone(),
            None => workspace.fs().attributes(&file).map_err(io("read the attributes of staged"))?,
        };
        if handed_on.flags != metadata.attributes.flags {
            workspace.fs().set_flags(&file, metadata.attributes.flags).map_err(io("set the flags of staged"))?;
        }
        write(&file)?;
        let now = current(&stat, handed_on);
        workspace.fs().set_metadata(&file, &now, metadata).map_err(io("set owner, mode and attributes of staged"))?;
        let mut access = metadata.access();
        if access.attributes.is_some() {
            // Changing the mode changes the ACL.
            access.attributes = workspace.fs().attributes(&file).map_err(io("read the attributes of staged"))?.digest();
        }
        let is_kept = prepared.plan.entries.len() <= workspace.protocol.sync_each_up_to || prepared.contended.is_some();
        Ok(StagedFile {
            file: is_kept.then_some(file),
            guard,
            identity: stat.identity,
            access,
            handed_on: Some(now.attributes),
        })
    }
}
