//! Carries out the steps of a commit, from what is prepared to a report, and rolls everything back if one fails.

pub(in crate::engine) mod reapply;
pub(in crate::engine) mod verify;

use std::panic::{self, AssertUnwindSafe};
use std::thread::Builder;

use super::prepare::file_report::{GET_IT, KEEP_THEIRS};
use super::prepare::prepared::Prepared;
use super::stage::Staging;
use crate::check::CheckRun;
use crate::commit::step::{Barrier, CommitStep, OnFailure, Terms};
use crate::engine::history::concurrent_key;
use crate::engine::history::folders_before::GivenBack;
use crate::engine::history::stored_report::ReportSource;
use crate::engine::history::trash::{self, Trash};
use crate::engine::report::FileReport;
use crate::engine::rollback::walk::roll_back;
use crate::engine::store::barrier::sync_all;
use crate::engine::store::births;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::lock::{Locks, check_cancelled};
use crate::engine::store::parts::PartPlace;
use crate::engine::store::state::StateFolder;
use crate::engine::store::workspace::Workspace;
use crate::engine::{Phase as Progress, Run, Unobserved};
use crate::error::{Error, ErrorKind, NotOld, Outcome, Result};
use crate::fs::Handle;
use crate::identity::Timestamp;
use crate::index::{EntryIndex, FileIndex};
use crate::journal::{Guarantee, SwapMethod};
use crate::path::shown;

/// The number of entries from which on verifying them is worth a second thread.
const LOOK_TOGETHER: usize = 64;

/// A commit that succeeded.
#[derive(Debug)]
pub(crate) struct Committed {
    pub id: String,
    pub guarantee: Guarantee,
    pub warnings: Vec<String>,
    /// The report of each file.
    pub files: Vec<FileReport>,
    /// The check that passed.
    pub check: Option<CheckRun>,
}

/// Commits what is prepared. On failure everything is as it was, or the error says that recovery is required.
pub(crate) fn commit(
    (state, places): (&StateFolder, &[PartPlace]),
    mut prepared: Prepared,
    locks: Locks,
    durable: bool,
    source: ReportSource<'_>,
    run: Run<'_>,
) -> Result<Committed> {
    // The promise to other processes that lock depends on these: swaps happen only in folders that this process has
    // locked, and the target of each entry was read.
    assert!(prepared.parents.values().all(|(stat, _)| locks.holds(stat)), "the folder of each target is locked");
    assert_eq!(prepared.targets.len(), prepared.plan.entries.len(), "each entry has its target");
    // Before anything is staged: what is in the trash now may be deleted after this commit's barrier.
    let trash = trash::list(state)?;
    let stepwise = state.swap != SwapMethod::Exchange;
    // Likewise: the folders that they are about must durably be gone from `txn/`.
    let leaves_proof = state.leaves_proof()?;
    let outlived = if leaves_proof { births::outlived(state)? } else { Vec::new() };
    let overwrites = prepared.first_overwritten().is_some();
    if stepwise || overwrites || !places.is_empty() {
        // The contents of several file systems are not durable at one moment; and what is swapped before it is durable goes back by an exchange, or not at all.
        prepared.contended = None;
    }
    let contended = prepared.contended.is_some();
    debug_assert!(!contended || durable, "without power loss there is no sync to be quicker than");
    let terms = Terms {
        durable,
        checked: prepared.gate.is_some(),
        again: prepared.again,
        keyed: prepared.origin.key.is_some(),
        contended,
        stepwise,
        overwrites,
    };
    // A check may write anywhere: only a sync of the file system covers what it makes of the new files.
    let each = durable && !terms.checked && places.is_empty() && syncs_each(state, &prepared)?;
    if each {
        prepared.open_originals(&state.workspace)?;
    }
    let staging = Staging::begin((state, places), &prepared, &source)?;
    let id = staging.id().to_owned();
    let (read_at, begun) = (staging.read_at(&prepared), staging.born());
    let check = prepared.passed.take();
    let guarantee = if overwrites { Guarantee::InPlace } else { state.swap.guarantee() };
    let mut committed = Committed { id: id.clone(), guarantee, warnings: Vec::new(), files: Vec::new(), check };
    let given_back = GivenBack::default();
    let mut walk = CommitWalk {
        staging,
        prepared: &mut prepared,
        source,
        read_at,
        each,
        trash: &trash,
        run,
        given_back,
        committed: &mut committed,
    };
    let result = walk.phases(terms);
    let mut files = walk.into_files();
    tell_overwritten(&mut files, &prepared);
    // Others need not wait while the trash is emptied.
    drop((locks, prepared));
    result.map_err(|e| e.of_transaction(&id))?;
    committed.files = files;
    committed.warnings.extend(trash::after_commit(state, &trash, durable, begun));
    births::forget(state, &outlived);
    Ok(committed)
}

const fn only_looks(step: &CommitStep) -> bool {
    matches!(step, CommitStep::VerifyTarget(_) | CommitStep::VerifySwapAgain(_))
}

/// Says of each file that was overwritten that it was.
fn tell_overwritten(files: &mut [FileReport], prepared: &Prepared) {
    let Some(first) = prepared.first_overwritten() else { return };
    for entry in prepared.plan.entries.starting_at(first) {
        let is_it = |file: &&mut FileReport| file.path.as_path() == entry.path.as_path();
        let file = match entry.asked_by {
            Some(FileIndex(file)) => files.get_mut(file),
            None => files.iter_mut().find(is_it),
        };
        if let Some(file) = file {
            file.extras.guarantee = Some(Guarantee::InPlace);
            for warning in &mut file.extras.warnings {
                // It was planned before the file system was tried out.
                *warning = warning.replace(KEEP_THEIRS, GET_IT);
            }
        }
    }
}

/// Returns whether syncing each file is quicker here than syncing the file system.
fn syncs_each(state: &StateFolder, prepared: &Prepared) -> Result<bool> {
    if state.fresh || prepared.plan.entries.len() > state.workspace.protocol.sync_each_up_to {
        return Ok(false);
    }
    let system = state.file_system()?;
    Ok(system.sync_each && system.syncs_whole)
}

pub(crate) struct CommitWalk<'a> {
    staging: Staging<'a>,
    pub prepared: &'a mut Prepared,
    pub source: ReportSource<'a>,
    read_at: Timestamp,
    /// True if each file is synced, not the file system.
    each: bool,
    trash: &'a Trash,
    pub run: Run<'a>,
    /// What was given back behind the commit.
    given_back: GivenBack,
    /// The result, filled while the steps are performed.
    pub committed: &'a mut Committed,
}

impl<'a> CommitWalk<'a> {
    /// The reports of the files; the rest is dropped.
    fn into_files(self) -> Vec<FileReport> {
        self.source.files
    }

    fn phases(&mut self, terms: Terms) -> Result<()> {
        for phase in (self.transaction().workspace().protocol.commit)(self.prepared.plan.entries.len(), terms) {
            let steps = || self.perform_all(&phase.steps).err();
            let failed = panic::catch_unwind(AssertUnwindSafe(steps)).unwrap_or_else(|panic| {
                self.settle(phase.on_failure, terms.durable);
                panic::resume_unwind(panic)
            });
            match (failed, phase.on_failure) {
                (None, _) => {}
                (Some(error), OnFailure::Forget) => {
                    self.staging.forget();
                    return Err(error.outcome_is(Outcome::Unchanged));
                }
                (Some(error), OnFailure::RollBack) => return Err(self.roll_back(error, terms.durable)),
                (Some(error), OnFailure::Leave) => {
                    return Err(self.transaction().displaced(error.outcome_is(Outcome::RecoveryRequired)));
                }
                (Some(error), OnFailure::Warn) => {
                    let error = self.transaction().displaced(error);
                    self.committed.warnings.push(format!(
                        "committed, but {}; as soon as it can be done, the next command does it",
                        error.message()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Cleans up if an observer or a checker panics: both are other people's code.
    fn settle(&mut self, on_failure: OnFailure, durable: bool) {
        match on_failure {
            OnFailure::Forget => self.staging.forget(),
            OnFailure::RollBack => {
                let run = Run { observer: &Unobserved, ..self.run };
                // What cannot be rolled back now waits in the folder for a recovery, as after a crash.
                roll_back(self.staging.transaction_mut(), durable, run).ok();
            }
            OnFailure::Leave | OnFailure::Warn => {}
        }
    }

    /// Performs steps in their order; many that only look, by two threads.
    fn perform_all(&mut self, steps: &[CommitStep]) -> Result<()> {
        let is_parallel = steps.len() >= LOOK_TOGETHER && self.transaction().workspace().is_parallel();
        let mut rest = steps;
        while let Some((step, others)) = rest.split_first() {
            // All of them are taken at once, or there are few: they are not counted again for each.
            let looks = rest.iter().take_while(|step| is_parallel && only_looks(step)).count();
            rest = if looks >= LOOK_TOGETHER {
                self.look_together(&rest[..looks])?;
                &rest[looks..]
            } else {
                self.perform(*step)?;
                others
            };
        }
        Ok(())
    }

    /// Verifies entries, half of them in another thread. Of several failures, that of the first entry counts.
    fn look_together(&self, steps: &[CommitStep]) -> Result<()> {
        let look = |steps: &[CommitStep]| steps.iter().try_for_each(|step| self.look(*step));
        let (first, second) = steps.split_at(steps.len() / 2);
        std::thread::scope(|scope| match Builder::new().spawn_scoped(scope, || look(second)) {
            Ok(others) => {
                look(first)?;
                others.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
            }
            // If no thread could be started, it is done here.
            Err(_) => look(steps),
        })
    }

    /// Performs a step that changes nothing.
    fn look(&self, step: CommitStep) -> Result<()> {
        match step {
            CommitStep::VerifyTarget(entry) => {
                check_cancelled(self.run.cancel)?;
                self.verify_target(entry)
            }
            CommitStep::VerifySwapAgain(entry) => self.verify_swap_again(entry).map_err(|e| self.name_edit(e, entry)),
            _ => unreachable!("every other step changes something"),
        }
    }

    fn perform(&mut self, step: CommitStep) -> Result<()> {
        let total = self.prepared.plan.entries.len();
        match step {
            CommitStep::Stage(entry) => {
                check_cancelled(self.run.cancel)?;
                self.run.observer.progress(Progress::Stage, entry.0, total);
                self.staging.stage(entry, self.prepared, self.run.cancel)
            }
            CommitStep::WriteJournal => {
                let slots = self.transaction().journal.entries.len();
                assert_eq!(slots, total, "the journal names a slot for each entry of the plan");
                self.staging.write_journal()
            }
            CommitStep::SealParts => self.staging.seal_parts(),
            CommitStep::SyncParts => self.staging.sync_parts(),
            CommitStep::RewriteJournal => self.staging.rewrite_journal(),
            CommitStep::LookForKey => concurrent_key::refuse_another(self.transaction(), self.prepared.origin.again),
            CommitStep::Barrier(Barrier::First | Barrier::Contents) => self.barrier_of_contents(),
            CommitStep::Barrier(Barrier::Checked | Barrier::Moves | Barrier::Second) => self.later_barrier(),
            CommitStep::VerifyTarget(_) | CommitStep::VerifySwapAgain(_) => self.look(step),
            CommitStep::Swap(entry) => {
                self.run.observer.progress(Progress::Swap, entry.0, total);
                self.transaction().swap(entry).map_err(|e| self.name_edit(e, entry))
            }
            CommitStep::VerifySwapByStat(entry) => {
                self.verify_swap_by_stat(entry).map_err(|e| self.name_edit(e, entry))
            }
            CommitStep::VerifySwap(entry) => self.verify_swap(entry).map_err(|e| self.name_edit(e, entry)),
            CommitStep::Contend(entry) => {
                self.run.observer.progress(Progress::Swap, entry.0, total);
                self.contend(entry).map_err(|e| self.name_edit(e, entry))
            }
            CommitStep::ReplaceJournal => self.transaction().replace_journal(),
            CommitStep::Check => self.check(),
            CommitStep::WriteReport => {
                let check = self.committed.check.as_ref();
                self.staging.write_report(|to| {
                    self.source.write(&self.prepared.plan, self.prepared.origin.label.as_deref(), check, to)
                })
            }
            CommitStep::VerifyFolders => self.verify_folders(),
            CommitStep::SetState(journal_state) => self.staging.transaction_mut().set_state(journal_state),
            CommitStep::SyncFolder => self.transaction().sync_folder(),
            CommitStep::GiveBack => {
                self.given_back = self.transaction().give_back();
                self.committed.warnings.append(&mut self.given_back.warnings);
                Ok(())
            }
            CommitStep::SyncGivenBack => sync_all(self.transaction().workspace(), self.given_back.folders.values()),
            CommitStep::Archive => self.staging.archive(),
        }
    }

    pub(crate) fn transaction(&self) -> &TransactionFolder<'a> {
        self.staging.transaction()
    }

    fn name_edit(&self, error: Error, entry: EntryIndex) -> Error {
        error.asked_by(self.prepared.plan.entries[entry].asked_by)
    }

    /// Makes everything staged, the originals and all names up to the root durable.
    fn barrier_of_contents(&self) -> Result<()> {
        let transaction = self.transaction();
        let workspace = transaction.workspace();
        if !self.each {
            return transaction.sync_everything();
        }
        // They are synced by themselves, with what they are overwritten by.
        transaction.sync_overwritten()?;
        assert!(self.prepared.closed_originals().next().is_none(), "what is not open is not synced");
        let originals = self.prepared.targets.iter().flatten().filter_map(|snapshot| snapshot.file.as_ref());
        let files = self.staging.files().iter().chain(originals);
        if transaction.state.file_system()?.orders {
            return sync_in_order(workspace, files.chain(self.staging.report()), self.staging.journal());
        }
        let sections = self.staging.sections(self.trash);
        // The process that made the state folder may have been killed between naming its id and syncing that name.
        let folders = [transaction.folder(), &transaction.state.folder];
        let texts = self.staging.journal().into_iter().chain(self.staging.report());
        let all = files.chain(texts).chain(folders).chain(&sections);
        if self.prepared.again { sync_together(workspace, all) } else { sync_all(workspace, all) }
    }

    /// Makes every swapped name, and the names in the transaction's folder, durable.
    fn later_barrier(&self) -> Result<()> {
        let transaction = self.transaction();
        let workspace = transaction.workspace();
        if !self.each {
            return transaction.sync_everything();
        }
        transaction.sync_overwritten()?;
        let report = self.staging.report().into_iter();
        if transaction.state.file_system()?.orders {
            return sync_in_order(workspace, report, Some(transaction.folder()));
        }
        let folders = transaction.parents.values().map(|(_, folder)| folder).chain([transaction.folder()]);
        sync_all(workspace, report.chain(folders))
    }

    /// Rolls back what was swapped, and adds the state of the files to the error.
    fn roll_back(&mut self, error: Error, durable: bool) -> Error {
        let transaction = self.staging.transaction_mut();
        match roll_back(transaction, durable, self.run) {
            Ok(result) => {
                let not_old = result.not_old.iter().map(|it| NotOld {
                    path: self.transaction().path(it.entry),
                    file: self.prepared.plan.entries[it.entry].asked_by.map(|file| file.0),
                    on_top: it.on_top,
                    reason: it.reason.to_owned(),
                });
                let not_old: Vec<NotOld> = not_old.collect();
                // Their content stands, but whoever reads "unchanged" takes the file for what it was.
                let is_theirs = |it: &&NotOld| !it.on_top && error.path() != Some(&*it.path);
                let told = |it: &NotOld| format!("{} has what another program wrote meanwhile", shown(&it.path));
                let moved = result.moved.iter().map(|path| {
                    format!("{} has the new content: its folder was moved there with it, and it stays", shown(path))
                });
                let warnings = not_old.iter().filter(is_theirs).map(told).chain(moved).collect();
                error.warning_of(warnings).rolled_back_but(not_old).keeping(result.kept)
            }
            Err(second) => {
                let message = format!("{}; and the rollback failed: {}", error.message(), second.message());
                let mut worse = Error::new(ErrorKind::RecoveryRequired, message).outcome_is(Outcome::RecoveryRequired);
                worse = transaction.displaced(worse);
                if let Some(path) = error.path() {
                    worse = worse.at(path);
                }
                if let Some(file) = error.file() {
                    worse = worse.in_file(FileIndex(file));
                }
                worse
            }
        }
    }
}

/// Makes files durable, and everything that was changed before `last` was, on a file system that orders: the contents are
/// written first, so that one sync, of what was changed last, does for all of them.
fn sync_in_order<'h>(
    workspace: &Workspace,
    files: impl Iterator<Item = &'h Handle>,
    last: Option<&Handle>,
) -> Result<()> {
    for file in files {
        workspace.write_out(file)?;
    }
    last.map_or(Ok(()), |last| workspace.sync(last))
}

/// Syncs each of these once, in a thread of its own: while another program keeps writing, the time until the last sync
/// counts.
fn sync_together<'h>(workspace: &Workspace, handles: impl Iterator<Item = &'h Handle>) -> Result<()> {
    if !workspace.is_parallel() {
        return sync_all(workspace, handles);
    }
    std::thread::scope(|scope| {
        let sync = |handle: &'h Handle| sync_all(workspace, std::iter::once(handle));
        let begin = |handle| match Builder::new().spawn_scoped(scope, move || sync(handle)) {
            Ok(thread) => Ok(thread),
            // If no thread can be started, it is done here.
            Err(_) => Err(sync(handle)),
        };
        let threads: Vec<_> = handles.map(begin).collect();
        let ends = threads.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)),
            Err(done) => done,
        });
        // All of them must have ended: a failed sync is reported only once.
        ends.collect::<Vec<_>>().into_iter().collect()
    })
}
