//! A transaction's folder with its journal: the handle that commit, rollback and recovery share.
//!
//! `observe` classifies its entries, `swap` exchanges slots and targets, `leftovers` lists what stays.

mod leftovers;
mod mixture;
mod observe;
mod overwrite;
pub(in crate::engine) mod owner;
mod stepwise;
mod swap;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::barrier::{self, OneByOne};
use super::files::write_new_by;
use super::parts::{PartFolder, SlotFolders};
use super::removed_folders::Leaving;
use super::state::{Section, StateFolder};
use super::workspace::Workspace;
use crate::commit::protocol::PROTOCOL;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{Handle, Name, Rename};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::journal::{self, Journal, JournalState, Record, RecordedChange, SwapMethod, record};
use crate::path::shown;

pub(crate) use leftovers::{NAME_TAKEN, ONLY_COPY, OVERWRITTEN, UNCERTAIN};
pub(crate) use observe::{is_empty_folder, is_incomplete, see};
pub(crate) use stepwise::name_of_original;

/// A transaction in `txn/`, whose folder and target folders this process has locked.
#[derive(Debug)]
pub(crate) struct TransactionFolder<'a> {
    pub state: &'a StateFolder,
    /// The folders with its slots: `txn/<id>`, locked, and one on each other file system.
    pub slots: SlotFolders,
    pub journal: Journal,
    pub journal_state: JournalState,
    /// True if it was interrupted while contended: its edits may hold other contents than the journal says.
    pub uncertain: bool,
    /// The folders of the targets, by their path in the workspace; a missing one has no entry.
    pub parents: HashMap<PathBuf, (Identity, Handle)>,
    /// The paths of those that were found by name alone and may be another user's: what is in them must not be
    /// replaced unseen.
    pub strange: BTreeSet<PathBuf>,
    /// True if all of them were found by name: a recovery does not know which folders were opened before.
    pub is_recovery: bool,
    /// True if a person wants it rolled back, whatever another program has written.
    pub insisted: bool,
    /// Entries whose slot held, before a recovery touched anything, what a power loss left of the new content.
    pub incomplete: BTreeSet<EntryIndex>,
    /// Entries whose swap was reversed at once, and whose file could not be given the metadata that another program gave
    /// the new file in that moment: no later observation shows it.
    pub not_given: BTreeSet<EntryIndex>,
    /// The folders that it removes; computed once the journal is complete.
    pub leaving: OnceLock<Leaving>,
}

impl<'a> TransactionFolder<'a> {
    /// A transaction whose target folders this process opened.
    pub(crate) fn new(
        state: &'a StateFolder,
        slots: SlotFolders,
        journal: Journal,
        journal_state: JournalState,
        parents: HashMap<PathBuf, (Identity, Handle)>,
    ) -> Self {
        Self {
            state,
            slots,
            journal,
            journal_state,
            uncertain: journal_state == JournalState::Contended,
            parents,
            strange: BTreeSet::new(),
            is_recovery: false,
            insisted: false,
            incomplete: BTreeSet::new(),
            not_given: BTreeSet::new(),
            leaving: OnceLock::new(),
        }
    }
}

impl<'a> TransactionFolder<'a> {
    pub(crate) fn workspace(&self) -> &'a Workspace {
        &self.state.workspace
    }

    pub(crate) fn record(&self, entry: EntryIndex) -> &Record {
        &self.journal.entries[entry]
    }

    /// `txn/<id>`.
    pub(crate) const fn folder(&self) -> &Handle {
        self.slots.own()
    }

    /// The folder with the slot of an entry, which is on the file system of its target.
    pub(crate) fn slots_of(&self, entry: EntryIndex) -> &Handle {
        self.slots.of(&self.record(entry).path)
    }

    pub(crate) fn path(&self, entry: EntryIndex) -> PathBuf {
        self.workspace().root.path().join(self.record(entry).path.as_path())
    }

    /// The folder of the entry's target.
    pub(crate) fn parent(&self, entry: EntryIndex) -> Result<&Handle> {
        let path = &self.record(entry).path;
        self.parents.get(path.parent()).map(|(_, folder)| folder).ok_or_else(|| {
            let message = format!("the folder of {path} is gone");
            Error::new(ErrorKind::ConcurrentModification, message).at(path.as_path())
        })
    }

    /// Renames the journal, whose name is the transaction's state.
    pub(crate) fn set_state(&mut self, journal_state: JournalState) -> Result<()> {
        // Where a test breaks the protocol, the fate of the files is to show it, not this assertion.
        let is_broken = !std::ptr::eq(self.workspace().protocol, &raw const PROTOCOL);
        assert!(
            is_broken || may_become(self.journal_state, journal_state),
            "no journal goes from {:?} to {journal_state:?}",
            self.journal_state
        );
        let from = Name::new(self.folder(), self.journal_state.file_name());
        let to = Name::new(self.folder(), journal_state.file_name());
        self.workspace().move_own(from, to).map_err(|e| Error::io("rename", from.path(), e))?;
        self.journal_state = journal_state;
        Ok(())
    }

    /// Verifies that the journal has the name of its state.
    pub(crate) fn verify_state(&self) -> Result<()> {
        let name = Name::new(self.folder(), self.journal_state.file_name());
        if self.workspace().stat(name)?.is_some() {
            return Ok(());
        }
        let message = format!("the journal does not have its name {}", name.path().display());
        Err(Error::new(ErrorKind::RecoveryRequired, message).at(name.path()))
    }

    /// Writes the whole journal, sealed, under its first name.
    pub(crate) fn write_journal(&self) -> Result<Handle> {
        self.write_journal_as(JournalState::New.file_name())
    }

    /// Writes the journal again under its hidden name, with its present entries.
    pub(crate) fn rewrite_journal(&self) -> Result<Handle> {
        // A failed attempt may have left one.
        self.workspace().fs().unlink(Name::new(self.folder(), journal::HIDDEN_NAME)).ok();
        self.write_journal_as(journal::HIDDEN_NAME)
    }

    fn write_journal_as(&self, name: &str) -> Result<Handle> {
        write_new_by(self.workspace(), Name::new(self.folder(), name), |to| record::write(&self.journal, to))
    }

    /// Replaces a copied journal that a person vouched for by one that is written for this place.
    pub(crate) fn write_adopted(&self) -> Result<()> {
        self.rewrite_journal()?;
        self.sync_everything()?;
        self.exchange_journal()
    }

    /// Puts the rewritten journal, whose bytes are durable already, in the place of the first.
    pub(crate) fn replace_journal(&self) -> Result<()> {
        assert_eq!(self.journal_state, JournalState::Contended, "only what is contended changes after its swaps");
        self.exchange_journal()
    }

    fn exchange_journal(&self) -> Result<()> {
        let written = Name::new(self.folder(), journal::HIDDEN_NAME);
        let named = Name::new(self.folder(), self.journal_state.file_name());
        let mut changes = self.journal.entries.iter().map(|record| &record.change);
        if self.journal.header.swap != SwapMethod::Exchange || changes.all(RecordedChange::overwrites) {
            return self.workspace().rename(written, named, Rename::Replace);
        }
        self.workspace().rename(written, named, Rename::Exchange)?;
        self.workspace().unlink(written)
    }

    /// Makes the names in the transaction's folder durable.
    pub(crate) fn sync_folder(&self) -> Result<()> {
        let synced = self.workspace().sync(self.folder());
        self.state.noting(synced)
    }

    /// A barrier: everything that a recovery depends on, and that a report mentions, is durable after it.
    pub(crate) fn sync_everything(&self) -> Result<()> {
        for (index, part) in self.slots.parts.iter().enumerate() {
            let synced = self.sync_part(index, part);
            self.state.noting(synced)?;
        }
        barrier::pass(self.state, &self.workspace().root, |each| {
            each.with_content(self.folder())?;
            self.sync_targets(each, None)?;
            each.sections(self.state)
        })?;
        let synced = self.sync_overwritten();
        self.state.noting(synced)
    }

    fn sync_part(&self, index: usize, part: &PartFolder) -> Result<()> {
        let state = &part.place.state;
        barrier::pass(state, &state.workspace.root, |each| {
            each.with_content(&part.folder)?;
            self.sync_targets(each, Some(index))?;
            each.sections(state)
        })
    }

    /// Syncs the targets whose slots are in a part, or in the transaction's own folder, one by one, with the way to them.
    fn sync_targets(&self, each: OneByOne<'_>, part: Option<usize>) -> Result<()> {
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        for record in self.journal.entries.iter().filter(|record| self.slots.part_of(&record.path) == part) {
            folders.extend(record.path.parent().ancestors());
            if let Some((_, parent)) = self.parents.get(record.path.parent()) {
                each.name(Name::new(parent, record.path.name()))?;
            }
        }
        for path in folders {
            match self.parents.get(path) {
                Some((_, folder)) => each.handle(folder)?,
                None => each.folder(&self.workspace().root, path)?,
            }
        }
        Ok(())
    }

    /// The error of a rollback or a recovery. If no name in the state folder leads to the transaction's folder any more,
    /// no command finds it, and the error says so: there the originals are.
    pub(crate) fn displaced(&self, error: Error) -> Error {
        let id = &self.journal.header.id;
        let home = &self.state.home;
        let path = |section: Section| home.own_name().join(section.name()).join(id);
        let Ok(held) = self.workspace().stat_handle(self.folder()) else { return error };
        // Where that cannot be found out, the error stays as it is.
        let is_there =
            |section: &Section| self.leads_from(&home.folder, &path(*section), &held.identity).unwrap_or(true);
        if Section::ALL.iter().any(is_there) {
            return error;
        }
        let place = home.folder.path().join(path(Section::Transactions));
        let moved = format!("another program moved its folder away from {}, or removed it", shown(&place));
        let error = error.reworded(|message| format!("{message}; {moved}"));
        error.with_next([NextStep::MoveBack { id: id.clone(), place }])
    }

    /// Moves the transaction's folder to another section.
    pub(crate) fn move_to(&self, section: Section) -> Result<()> {
        self.move_from(&self.state.need_section(Section::Transactions)?, section)
    }

    /// Moves the transaction's folder out of the open section in which it is.
    pub(crate) fn move_from(&self, from: &Handle, to: Section) -> Result<()> {
        // Nothing is overwritten any more.
        self.remove_new();
        self.state.move_from(from, &self.journal.header.id, to)
    }
}

/// Returns whether a journal may go from the first state to the second. Nothing leads away from an undo, or a recovery
/// could go forward again.
const fn may_become(from: JournalState, to: JournalState) -> bool {
    matches!(
        (from, to),
        (JournalState::New, JournalState::Sealed | JournalState::Contended | JournalState::Undo)
            | (
                JournalState::Sealed,
                JournalState::Contended | JournalState::Check | JournalState::Done | JournalState::Undo
            )
            | (JournalState::Contended, JournalState::Done)
            | (JournalState::Check, JournalState::Done | JournalState::CheckUndo)
            | (JournalState::Done, JournalState::Undo)
    )
}
