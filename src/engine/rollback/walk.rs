//! Rolls back every entry that was swapped, at run time and in a recovery.

use std::collections::HashMap;
use std::path::PathBuf;

use super::panic_guard::Sheltered;
use super::{EntryRollback, NOT_EMPTY};
use crate::commit::step::RollbackStep;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::state::Section;
use crate::engine::{Observer as _, Phase as Progress, Run};
use crate::error::{Error, KeptContent, Result};
use crate::index::EntryIndex;
use crate::journal::{RecordedChange, SwapMethod};
use crate::path::RelPath;

/// The result of a rollback.
#[derive(Debug, Default)]
pub(crate) struct RollbackResult {
    pub kept: Vec<KeptContent>,
    /// The entries whose target does not have its old content, in order.
    pub not_old: Vec<NotOldEntry>,
    /// The new files that a check, or another program, moved away with their folder.
    pub moved: Vec<PathBuf>,
}

/// An entry whose target does not have its old content.
#[derive(Debug)]
pub(crate) struct NotOldEntry {
    pub entry: EntryIndex,
    /// True if another program changed the new content.
    pub on_top: bool,
    pub reason: &'static str,
}

/// Rolls a transaction back, at run time and in a recovery. On failure the folder stays for a recovery. A panic of the
/// observer is delayed until the end.
pub(crate) fn roll_back(
    transaction: &mut TransactionFolder<'_>,
    durable: bool,
    run: Run<'_>,
) -> Result<RollbackResult> {
    let observer = Sheltered::new(run.observer);
    let result = RollbackWalk::default().walk(transaction, durable, &observer);
    observer.let_out();
    result
}

/// The progress of a rollback, and the problems that it met.
#[derive(Debug, Default)]
struct RollbackWalk {
    /// Entries of which something is kept or stays, with the reason.
    conflicts: HashMap<EntryIndex, &'static str>,
    result: RollbackResult,
    /// Entries that could not be rolled back. Those above or beneath one wait for the recovery with it: a folder that
    /// is still missing must not be made again for its contents, and one that is still full must not be set aside.
    failed: Vec<RelPath>,
    first_error: Option<Error>,
    is_rewritten: bool,
}

impl RollbackWalk {
    fn walk(
        mut self,
        transaction: &mut TransactionFolder<'_>,
        durable: bool,
        observer: &Sheltered<'_>,
    ) -> Result<RollbackResult> {
        let total = transaction.journal.entries.len();
        for step in (transaction.workspace().protocol.rollback)(total, transaction.journal_state, durable) {
            match step {
                RollbackStep::SetState(journal_state) => transaction.set_state(journal_state)?,
                RollbackStep::VerifyState => transaction.verify_state()?,
                RollbackStep::FindFolder(entry)
                | RollbackStep::RollBack(entry)
                | RollbackStep::RollBackInside(entry)
                    if self.must_wait(&transaction.record(entry).path) => {}
                RollbackStep::SyncFolder => transaction.sync_folder()?,
                RollbackStep::FindFolder(entry) => self.find_folder(transaction, entry),
                RollbackStep::RollBack(entry) => {
                    observer.progress(Progress::Rollback, total - entry.0 - 1, total);
                    let opened = match transaction.journal.header.swap {
                        SwapMethod::Exchange => Ok(()),
                        SwapMethod::Rename | SwapMethod::Link => transaction.open_again(entry),
                    };
                    let rolled_back = opened.and_then(|()| transaction.roll_back(entry));
                    self.note(transaction, entry, rolled_back);
                }
                RollbackStep::RollBackInside(entry) => self.roll_back_inside(transaction, entry),
                RollbackStep::Sync => {
                    self.verify_not_old(transaction);
                    transaction.sync_everything()?;
                }
                // The trash is verified against the rewritten journal. If writing it fails, more than necessary goes to
                // kept/.
                RollbackStep::RewriteJournal => {
                    self.is_rewritten = !transaction.uncertain && transaction.rewrite_journal().is_ok();
                }
                RollbackStep::ReplaceJournal if self.is_rewritten => drop(transaction.replace_journal()),
                RollbackStep::ReplaceJournal => {}
                RollbackStep::Drop => {
                    if let Some(error) = self.first_error.take() {
                        return Err(error);
                    }
                    self.verify_not_old(transaction);
                    self.result.kept = drop_folder(transaction, &self.conflicts, durable)?;
                }
            }
        }
        self.result.not_old.reverse();
        Ok(self.result)
    }

    fn find_folder(&mut self, transaction: &mut TransactionFolder<'_>, entry: EntryIndex) {
        match transaction.find_folder(entry) {
            Ok(moved) => self.result.moved.extend(moved),
            Err(error) => self.first_error = self.first_error.take().or(Some(error)),
        }
    }

    /// Rolls back once more what is in a new folder that is not empty, and then the folder. Only once: a program that
    /// moves the folder yet again could as well do so after the rollback.
    fn roll_back_inside(&mut self, transaction: &mut TransactionFolder<'_>, folder: EntryIndex) {
        if self.conflicts.get(&folder) != Some(&NOT_EMPTY) {
            return;
        }
        let path = transaction.record(folder).path.clone();
        let entries = EntryIndex::first(transaction.journal.entries.len()).rev();
        // The folder itself is the last.
        for entry in entries.filter(|entry| *entry >= folder) {
            if transaction.record(entry).path.as_path().starts_with(path.as_path()) {
                self.result.not_old.retain(|it| it.entry != entry);
                self.conflicts.remove(&entry);
                self.find_folder(transaction, entry);
                let rolled_back = transaction.roll_back(entry);
                self.note(transaction, entry, rolled_back);
            }
        }
    }

    /// Verifies once more the entries that are not old: another program may have removed what it had put in the place
    /// of a new file, so that nothing is there, as before. An entry that cannot be observed stays in the report.
    fn verify_not_old(&mut self, transaction: &TransactionFolder<'_>) {
        for at in (0..self.result.not_old.len()).rev() {
            let entry = self.result.not_old[at].entry;
            if transaction.is_created_and_gone(entry).unwrap_or(false) {
                self.result.not_old.remove(at);
                self.conflicts.remove(&entry);
            }
        }
    }

    fn must_wait(&self, path: &RelPath) -> bool {
        self.failed.iter().any(|failed| path.touches(failed))
    }

    fn note(&mut self, transaction: &TransactionFolder<'_>, entry: EntryIndex, rolled_back: Result<EntryRollback>) {
        const THEIRS: &str = "another program changed it meanwhile";
        match rolled_back {
            Ok(EntryRollback::Old) => {}
            Ok(EntryRollback::Theirs) => self.result.not_old.push(NotOldEntry { entry, on_top: false, reason: THEIRS }),
            Ok(EntryRollback::Aside(why)) => {
                self.conflicts.insert(entry, why);
                self.gone_aside(transaction, entry);
            }
            Ok(EntryRollback::Left(reason)) => {
                self.result.not_old.push(NotOldEntry { entry, on_top: true, reason });
                self.conflicts.insert(entry, reason);
            }
            // The other entries can still be rolled back; the folder stays for this one.
            Err(error) => {
                self.failed.push(transaction.record(entry).path.clone());
                self.first_error = self.first_error.take().or(Some(error));
            }
        }
    }

    /// Forgets the entries in a new folder that was set aside when a file took its place again: the folder stands for
    /// them.
    fn gone_aside(&mut self, transaction: &TransactionFolder<'_>, folder: EntryIndex) {
        let RecordedChange::FileToFolder { .. } = transaction.record(folder).change else { return };
        let path = &transaction.record(folder).path;
        let stays = |entry: EntryIndex| entry == folder || !transaction.record(entry).path.touches(path);
        self.result.not_old.retain(|it| stays(it.entry));
        self.conflicts.retain(|entry, _| stays(*entry));
    }
}

/// Moves the folder to the trash; or to `kept/`, durably, if it holds what is not ours to delete.
pub(crate) fn drop_folder(
    transaction: &TransactionFolder<'_>,
    conflicts: &HashMap<EntryIndex, &'static str>,
    durable: bool,
) -> Result<Vec<KeptContent>> {
    let kept = transaction.foreign_slots(conflicts)?;
    if kept.is_empty() {
        transaction.move_to(Section::Trash)?;
    } else {
        transaction.note_originals(conflicts)?;
        transaction.move_to(Section::Kept)?;
        if durable {
            transaction.sync_everything()?;
        }
    }
    Ok(kept)
}
