//! Rolls back every entry that was swapped, at run time and in a recovery.

use std::collections::HashMap;

use super::TakenBack;
use super::panic_guard::Sheltered;
use crate::commit::step::UndoStep;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::state::Section;
use crate::engine::{Observer as _, Phase as Progress, Run};
use crate::error::{Error, KeptContent, Result};
use crate::index::EntryIndex;
use crate::journal::RecordedChange;
use crate::path::RelPath;

/// The result of a rollback.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    pub kept: Vec<KeptContent>,
    /// The entries whose target does not have its old content, in order.
    pub odd: Vec<Odd>,
}

/// An entry whose target does not have its old content.
#[derive(Debug)]
pub(crate) struct Odd {
    pub entry: EntryIndex,
    /// True if another program changed the new content.
    pub on_top: bool,
    pub reason: &'static str,
}

/// Rolls a transaction back, at run time and in a recovery. On failure the folder stays for a recovery. A panic of the
/// observer is delayed until the end.
pub(crate) fn undo(transaction: &mut TransactionFolder<'_>, durable: bool, run: Run<'_>) -> Result<Undone> {
    let observer = Sheltered::new(run.observer);
    let undone = WayBack::default().walk(transaction, durable, &observer);
    observer.let_out();
    undone
}

/// The progress of a rollback, and the problems that it met.
#[derive(Debug, Default)]
struct WayBack {
    /// Entries of which something is kept or stays, with the reason.
    conflicts: HashMap<EntryIndex, &'static str>,
    undone: Undone,
    /// Entries that could not be rolled back. Those above or beneath one wait for the recovery with it: a folder that
    /// is still missing must not be made again for its contents, and one that is still full must not be set aside.
    failed: Vec<RelPath>,
    first_error: Option<Error>,
    is_rewritten: bool,
}

impl WayBack {
    fn walk(
        mut self,
        transaction: &mut TransactionFolder<'_>,
        durable: bool,
        observer: &Sheltered<'_>,
    ) -> Result<Undone> {
        let total = transaction.journal.entries.len();
        for step in (transaction.workspace().protocol.undo)(total, transaction.mark, durable) {
            match step {
                UndoStep::Mark(mark) => transaction.set_mark(mark)?,
                UndoStep::VerifyMark => transaction.verify_mark()?,
                UndoStep::FindFolder(entry) | UndoStep::TakeBack(entry)
                    if self.must_wait(&transaction.record(entry).path) => {}
                UndoStep::SyncFolder => transaction.sync_folder()?,
                UndoStep::FindFolder(entry) => {
                    if let Err(error) = transaction.find_folder(entry) {
                        self.first_error = self.first_error.or(Some(error));
                    }
                }
                UndoStep::TakeBack(entry) => {
                    observer.progress(Progress::Undo, total - entry.0 - 1, total);
                    let taken_back = transaction.take_back(entry);
                    self.note(transaction, entry, taken_back);
                }
                UndoStep::Sync => {
                    self.look_again(transaction);
                    transaction.sync_everything()?;
                }
                // The trash is verified against the rewritten journal. If writing it fails, more than necessary goes to
                // kept/.
                UndoStep::WriteJournal => {
                    self.is_rewritten = !transaction.uncertain && transaction.rewrite_journal().is_ok();
                }
                UndoStep::ReplaceJournal if self.is_rewritten => drop(transaction.replace_journal()),
                UndoStep::ReplaceJournal => {}
                UndoStep::Drop => {
                    if let Some(error) = self.first_error.take() {
                        return Err(error);
                    }
                    self.look_again(transaction);
                    self.undone.kept = drop_folder(transaction, &self.conflicts, durable)?;
                }
            }
        }
        self.undone.odd.reverse();
        Ok(self.undone)
    }

    /// Verifies once more the entries that are not old: another program may have removed what it had put in the place
    /// of a new file, so that nothing is there, as before. An entry that cannot be observed stays in the report.
    fn look_again(&mut self, transaction: &TransactionFolder<'_>) {
        for at in (0..self.undone.odd.len()).rev() {
            let entry = self.undone.odd[at].entry;
            if transaction.is_created_and_gone(entry).unwrap_or(false) {
                self.undone.odd.remove(at);
                self.conflicts.remove(&entry);
            }
        }
    }

    fn must_wait(&self, path: &RelPath) -> bool {
        self.failed.iter().any(|failed| path.touches(failed))
    }

    fn note(&mut self, transaction: &TransactionFolder<'_>, entry: EntryIndex, taken_back: Result<TakenBack>) {
        const THEIRS: &str = "another program changed it meanwhile";
        match taken_back {
            Ok(TakenBack::Old) => {}
            Ok(TakenBack::Theirs) => self.undone.odd.push(Odd { entry, on_top: false, reason: THEIRS }),
            Ok(TakenBack::Aside(why)) => {
                self.conflicts.insert(entry, why);
                self.gone_aside(transaction, entry);
            }
            Ok(TakenBack::Left(reason)) => {
                self.undone.odd.push(Odd { entry, on_top: true, reason });
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
        self.undone.odd.retain(|odd| stays(odd.entry));
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
        transaction.move_to(Section::Kept)?;
        if durable {
            transaction.sync_everything()?;
        }
    }
    Ok(kept)
}
