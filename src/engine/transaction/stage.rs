//! Stages new contents in the slots of a transaction's folder, then its journal.

mod content;
mod file;
mod held;
pub(super) mod in_view;
mod link;
mod metadata;
mod new_folder;
mod overwriting;
mod texts;

use std::collections::{HashMap, VecDeque};

use super::prepare::prepared::Prepared;
use super::prepare::project;
use crate::cancel::CancelToken;
use crate::engine::history::id_order;
use crate::engine::history::stored_report::ReportSource;
use crate::engine::history::trash::Trash;
use crate::engine::store::folder::{TransactionFolder, owner};
use crate::engine::store::parts::{PartFolder, PartPlace, SlotFolders};
use crate::engine::store::snapshot;
use crate::engine::store::state::{Section, StateFolder};
use crate::error::{Error, Result};
use crate::fs::{Attributes, Handle, Metadata, Name};
use crate::identity::{Identity, Timestamp};
use crate::index::EntryIndex;
use crate::journal::record::{HAS_PARTS, OVERWRITES};
use crate::journal::{
    self, Header, Journal, JournalState, Owner, Record, SwapMethod, new_name, original_name, slot_name,
};
use crate::plan::{Entry, FileState, PlannedChange};
use file::StagedFile;

/// A transaction that is being staged. If it is dropped before the journal has its name, its slots are deleted.
#[derive(Debug)]
pub(crate) struct Staging<'a> {
    transaction: TransactionFolder<'a>,
    section: Handle,
    born: Timestamp,
    /// Slots that are filled but not named by a journal yet.
    unnamed: usize,
    /// Files that were staged ahead, by two threads, for later entries.
    ready: VecDeque<Result<StagedFile>>,
    /// Staged files and folders, open, if there are few enough to be synced one by one.
    files: Vec<Handle>,
    /// Entries whose original has a copy, or is overwritten, until the journal has its name, each with the folder of its slot:
    /// the last may not be recorded yet.
    copies: Vec<(EntryIndex, Handle)>,
    /// The attributes that every file made in a folder of slots inherits, by its part.
    handed_on: HashMap<Option<usize>, Attributes>,
    /// The journal as it was written last.
    journal: Option<Handle>,
    /// The staged files of a contended transaction, by their entries.
    open: HashMap<EntryIndex, Handle>,
    report: Option<Handle>,
}

impl<'a> Staging<'a> {
    /// Makes and locks the transaction's folder.
    pub(crate) fn begin(
        (state, places): (&'a StateFolder, &[PartPlace]),
        prepared: &Prepared,
        source: &ReportSource<'_>,
    ) -> Result<Self> {
        let section = state.need_section(Section::Transactions)?;
        let (id, folder, stat) = owner::make_folder(&state.workspace, &section, &|| id_order::next_id(state))?;
        project::leave(&state.workspace, &folder)?;
        let make = |place: &PartPlace| PartFolder::make(place, &id, &state.owner());
        let parts = places.iter().map(make).collect::<Result<Vec<_>>>()?;
        for part in &parts {
            project::leave(&state.workspace, &part.folder)?;
        }
        let host = state.workspace.host()?;
        let header = Header {
            version: version(state.swap, prepared, &parts),
            id,
            workspace: state.workspace_id().to_owned(),
            folder: state.recorded(stat.identity)?,
            boot: host.boot,
            owner: Owner {
                program: source.program.to_owned(),
                process: host.process,
                user: host.user,
                host: host.name,
            },
            reverts: prepared.origin.reverts.clone(),
            opened: prepared.origin.opened.clone(),
            key: prepared.origin.key.clone(),
            request: prepared.origin.request,
            swap: state.swap,
            parts: parts.iter().map(PartFolder::to_record).collect::<Result<_>>()?,
            label: prepared.origin.label.clone(),
            session: source.session.map(str::to_owned),
            campaign: prepared.origin.campaign.clone(),
        };
        let entries = Vec::with_capacity(prepared.plan.entries.len()).into();
        // A name that was moved step by step is not made new after a crash: what was staged may have lost its only name.
        let is_stepwise = header.swap != SwapMethod::Exchange;
        // A file that is overwritten in part has its old content in a copy, and may have lost its new one.
        let overwrites = prepared.first_overwritten().is_some();
        let back_on_crash = prepared.gate.is_some() || prepared.contended.is_some() || is_stepwise || overwrites;
        let journal = Journal { header, entries, back_on_crash };
        let parents = prepared.parents.iter();
        let parents = parents.map(|(path, (stat, folder))| (path.clone(), (stat.identity, folder.clone()))).collect();
        let born = stat.modified;
        Ok(Self {
            transaction: TransactionFolder::new(
                state,
                SlotFolders::new(folder, parts),
                journal,
                JournalState::New,
                parents,
            ),
            section,
            born,
            unnamed: 0,
            ready: VecDeque::new(),
            files: Vec::new(),
            copies: Vec::new(),
            handed_on: HashMap::new(),
            journal: None,
            open: HashMap::new(),
            report: None,
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.transaction.journal.header.id
    }

    /// The time at which reading began, by the file system's clock.
    pub(crate) fn read_at(&self, prepared: &Prepared) -> Timestamp {
        snapshot::earlier(self.born, prepared.read_at.elapsed())
    }

    /// The time at which it began to write, by the file system's clock.
    pub(crate) const fn born(&self) -> Timestamp {
        self.born
    }

    pub(crate) fn transaction(&self) -> &TransactionFolder<'a> {
        &self.transaction
    }

    pub(crate) fn transaction_mut(&mut self) -> &mut TransactionFolder<'a> {
        &mut self.transaction
    }

    pub(crate) fn files(&self) -> &[Handle] {
        &self.files
    }

    /// The staged file of an entry of a contended transaction.
    pub(crate) fn open(&self, entry: EntryIndex) -> Option<Handle> {
        self.open.get(&entry).cloned()
    }

    pub(crate) fn journal(&self) -> Option<&Handle> {
        self.journal.as_ref()
    }

    pub(crate) fn report(&self) -> Option<&Handle> {
        self.report.as_ref()
    }

    /// Moves the committed transaction to history.
    pub(crate) fn archive(&self) -> Result<()> {
        self.transaction.move_from(&self.section, Section::History)
    }

    /// The sections in which names changed.
    pub(crate) fn sections(&self, trash: &Trash) -> Vec<Handle> {
        trash.folder().into_iter().chain([&self.section]).cloned().collect()
    }

    /// Fills the slot of the next entry, and records what was staged.
    pub(crate) fn stage(&mut self, entry: EntryIndex, prepared: &Prepared, cancel: &CancelToken) -> Result<()> {
        assert_eq!(
            entry,
            self.transaction.journal.entries.next_index(),
            "entries are staged in order, each in a slot of its own"
        );
        let planned = &prepared.plan.entries[entry];
        let original = prepared.targets[entry].as_ref();
        let original = || original.unwrap_or_else(|| unreachable!("what is edited or deleted was read"));
        // A journal of version 1, which this may undo, does not have all of it.
        let read = |before: &FileState| FileState { access: original().state().access, ..*before };
        let named = |error: Error| error.asked_by(planned.asked_by);
        self.copy_original(entry, planned, prepared, cancel).map_err(named)?;
        let change = match &planned.change {
            PlannedChange::Folder => {
                journal::RecordedChange::Folder { staged: self.stage_folder(entry, planned, prepared).map_err(named)? }
            }
            PlannedChange::FileToFolder(before) => journal::RecordedChange::FileToFolder {
                before: read(before),
                staged: self.stage_folder(entry, planned, prepared).map_err(named)?,
                original: original().stat.identity,
            },
            PlannedChange::FolderToFile(new) => {
                let (staged, after) = self.stage_file(entry, new, prepared, cancel).map_err(named)?;
                journal::RecordedChange::FolderToFile { after, staged, original: self.leaving(planned, prepared)? }
            }
            PlannedChange::RemoveFolder => {
                journal::RecordedChange::RemoveFolder { original: self.leaving(planned, prepared)? }
            }
            PlannedChange::Delete(before) => {
                journal::RecordedChange::Delete { before: read(before), original: original().stat.identity }
            }
            PlannedChange::Create(new) => {
                let (staged, after) = self.stage_file(entry, new, prepared, cancel).map_err(named)?;
                journal::RecordedChange::Create { after, staged }
            }
            PlannedChange::Edit(before, new) if prepared.is_overwritten(entry) => {
                let (staged, after) = self.stage_overwriting(entry, new, prepared, cancel).map_err(named)?;
                let (before, original) = (read(before), &original().stat);
                let (staged, original) = self.overwritten(staged, original);
                journal::RecordedChange::Overwrite { before, after, staged, original }
            }
            PlannedChange::Edit(before, new) => {
                let (staged, after) = self.stage_file(entry, new, prepared, cancel).map_err(named)?;
                journal::RecordedChange::Edit {
                    before: read(before),
                    after,
                    staged,
                    original: original().stat.identity,
                }
            }
        };
        self.transaction.journal.entries.push(Record { path: planned.path.clone(), change });
        self.unnamed = self.transaction.journal.entries.len();
        Ok(())
    }

    /// The identity of a folder that goes, by which a recovery knows it.
    fn leaving(&self, planned: &Entry, prepared: &Prepared) -> Result<Identity> {
        let folder = prepared.parents.get(planned.path.as_path());
        let (stat, folder) = folder.unwrap_or_else(|| unreachable!("a folder that goes was looked into"));
        let workspace = self.transaction.workspace();
        if workspace.file_system(folder)?.keeps_numbers {
            return Ok(stat.identity);
        }
        // An overlay gives it another birth time once something in it is changed: that is to happen now. It is given the
        // mode that it has; where that is not allowed, only this process will know it again.
        let (mode, user, group) = (stat.mode, stat.user, stat.group);
        let as_it_is = Metadata { mode, user, group, attributes: Attributes::default(), modified: None };
        let as_if_not = Metadata { mode: !mode, ..as_it_is.clone() };
        workspace.fs().set_metadata(folder, &as_if_not, &as_it_is).ok();
        Ok(workspace.stat_handle(folder)?.identity)
    }

    /// Moves the folder to the trash, since nothing was swapped. If even that fails it stays, and the next command
    /// drops it because it has no owner.
    pub(crate) fn forget(&mut self) {
        if self.unnamed > 0 || self.transaction.journal.entries.is_empty() {
            self.delete_unnamed();
            for part in &self.transaction.slots.parts {
                // One that stays is swept by a later commit.
                part.remove(self.id()).ok();
            }
        }
        drop(self.transaction.move_to(Section::Trash));
    }

    /// Frees the disk space of the slots at once. What cannot be deleted now is deleted with the folder.
    fn delete_unnamed(&mut self) {
        self.ready.clear();
        for (entry, folder) in std::mem::take(&mut self.copies) {
            for name in [original_name(entry), new_name(entry)] {
                self.transaction.workspace().fs().unlink(Name::new(&folder, &name)).ok();
            }
        }
        for entry in EntryIndex::first(std::mem::take(&mut self.unnamed)) {
            let change = &self.transaction.record(entry).change;
            if change.after().is_some() {
                self.transaction
                    .workspace()
                    .fs()
                    .unlink(Name::new(self.transaction.slots_of(entry), &slot_name(entry)))
                    .ok();
            }
        }
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        self.delete_unnamed();
    }
}

/// The version of the journal.
fn version(swap: SwapMethod, prepared: &Prepared, parts: &[PartFolder]) -> u64 {
    match (parts.is_empty(), prepared.first_overwritten()) {
        (false, _) => HAS_PARTS,
        (true, Some(_)) => OVERWRITES,
        (true, None) => swap.version(),
    }
}

/// The folder at the target of an entry that removes it.
fn missing_parent(planned: &Entry) -> Error {
    snapshot::changed(planned.path.as_path(), "lost its folder")
}
