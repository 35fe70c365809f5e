//! Rolls back every entry that was swapped, at run time and in recovery alike.

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
    /// The entries at whose target the old content is not, in their order.
    pub odd: Vec<Odd>,
}

/// An entry at whose target the old content is not.
#[derive(Debug)]
pub(crate) struct Odd {
    pub entry: EntryIndex,
    /// True if another program came on top of the new content.
    pub on_top: bool,
    pub reason: &'static str,
}

/// Takes back a transaction, at run time and in recovery alike. On failure the folder stays for a recovery. A panic of the
/// observer waits until it is through.
pub(crate) fn undo(transaction: &mut TransactionFolder<'_>, durable: bool, run: Run<'_>) -> Result<Undone> {
    let observer = Sheltered::new(run.observer);
    let undone = WayBack::default().walk(transaction, durable, &observer);
    observer.let_out();
    undone
}

/// The progress of a rollback, and what it came upon.
#[derive(Debug, Default)]
struct WayBack {
    /// Entries of which something is kept or stays, and why.
    conflicts: HashMap<EntryIndex, &'static str>,
    undone: Undone,
    /// Entries that could not be taken back. What is above or beneath one waits for the recovery with it: a folder that
    /// stays gone is not to be made again for what was in it, and one that is still full is not to be put aside.
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
                // What is verified in the trash rests on it. Where it fails, more than needed goes to kept/.
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

    /// Verifies the entries that are not old once more: another program may have removed by now what it had put in the
    /// place of a new file, so that nothing is there, as before. An entry that cannot be observed stays named.
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
            // The others can still be put back; the folder stays for those that cannot.
            Err(error) => {
                self.failed.push(transaction.record(entry).path.clone());
                self.first_error = self.first_error.take().or(Some(error));
            }
        }
    }

    /// Forgets the entries in a new folder that went aside with it when a file took its place again: the folder tells of
    /// them.
    fn gone_aside(&mut self, transaction: &TransactionFolder<'_>, folder: EntryIndex) {
        let RecordedChange::FileToFolder { .. } = transaction.record(folder).change else { return };
        let path = &transaction.record(folder).path;
        let stays = |entry: EntryIndex| entry == folder || !transaction.record(entry).path.touches(path);
        self.undone.odd.retain(|odd| stays(odd.entry));
        self.conflicts.retain(|entry, _| stays(*entry));
    }
}

/// Moves the folder to the trash; to `kept/`, durably, where it holds what is not ours to delete.
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
