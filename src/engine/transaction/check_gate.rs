//! The check gate: a program decides, with the new files in place, whether they stay.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::execute::CommitWalk;
use crate::check::{Check, CheckCall, CheckRun, Checker, Ended, Verdict};
use crate::engine::Engine;
use crate::engine::history::stored_report::Rewritten;
use crate::engine::store::snapshot;
use crate::engine::{Phase, Run};
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::fs::Name;
use crate::index::EntryIndex;
use crate::journal::RecordedChange;
use crate::journal::recover::Seen;
use crate::view::View;

/// The checks that decide on a commit, and the checker that runs them.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    /// The checks in the order in which they run; at least one.
    pub checks: Vec<Check>,
    pub checker: Arc<dyn Checker>,
}

impl Engine {
    /// The checks of a commit, if there are any: this engine's, then the one that a call names.
    pub(crate) fn gate(&self, named: Option<&Check>) -> Result<Option<Gate>> {
        self.check_allowed(named)?;
        let checks: Vec<Check> = self.check.iter().chain(named).cloned().collect();
        Ok((!checks.is_empty()).then(|| Gate { checks, checker: Arc::clone(&self.checker) }))
    }

    /// Refuses a check that a call names unless checks are allowed.
    pub(crate) fn check_allowed(&self, named: Option<&Check>) -> Result<()> {
        let Some(named) = named.filter(|_| !self.allows_checks) else { return Ok(()) };
        let message = format!(
            "the request names a check, `{}`, which is a command; this engine runs none unless `allowing_checks` says so",
            named.shown()
        );
        Err(Error::new(ErrorKind::ChecksNotAllowed, message))
    }

    /// Returns whether a commit is checked, by this engine or by a check of its own.
    pub(crate) fn is_checked(&self, named: Option<&Check>) -> bool {
        self.check.is_some() || named.is_some()
    }
}

impl CommitWalk<'_> {
    /// Runs the checks in sequence; it is an error if one does not pass.
    pub(crate) fn check(&mut self) -> Result<()> {
        let Some(gate) = self.prepared.gate.clone() else { unreachable!("only a commit with a gate has this step") };
        for check in &gate.checks {
            self.run_check(check, &*gate.checker)?;
        }
        // The stored report says so, too: a later undo takes what the check left for what the transaction left.
        self.source.rewritten = self.rewritten()?;
        for rewritten in &self.source.rewritten {
            rewritten.tell(&mut self.source.files);
        }
        // These are no contents: an undo compares them itself.
        for there in self.in_removed_places()? {
            there.warn(&mut self.source.files);
        }
        Ok(())
    }

    fn run_check(&mut self, check: &Check, checker: &dyn Checker) -> Result<()> {
        let transaction = self.transaction();
        self.run.observer.progress(Phase::Check, 0, 1);
        let output = |bytes: &[u8]| self.run.observer.check_output(bytes);
        let folder = transaction.folder();
        let held = transaction.workspace().fs().descriptor(folder).map_err(|e| Error::io("share", folder.path(), e))?;
        let ended = checker.run(&CheckCall {
            check,
            folder: &transaction.workspace().fs().path_to(&transaction.workspace().root),
            transaction: Some(&transaction.journal.header.id),
            view: None,
            held: held.as_ref().map(AsFd::as_fd),
            cancel: self.run.cancel,
            output: &output,
        });
        let run = CheckRun::new(check.shown(), ended.unwrap_or_else(|error| not_run(&error)));
        if run.ended.verdict != Verdict::Passed {
            return Err(refused(run));
        }
        self.committed.check = Some(run);
        Ok(())
    }

    /// Another program may have written into an original through a handle from before the swap.
    pub(crate) fn verify_swap_again(&self, entry: EntryIndex) -> Result<()> {
        if self.holds_original(entry)? {
            return Ok(());
        }
        let when = if self.prepared.gate.is_some() { "during the check" } else { "after it was swapped" };
        Err(snapshot::changed(&self.transaction().path(entry), &format!("was written in its old place {when}")))
    }

    /// What the check put in the places of removed folders. One that was made, and is gone, ends the commit.
    fn in_removed_places(&self) -> Result<Vec<Rewritten>> {
        let transaction = self.transaction();
        let mut there = Vec::new();
        for (entry, record) in transaction.journal.entries.numbered() {
            let RecordedChange::RemoveFolder { .. } = record.change else { continue };
            let name = Name::new(transaction.parent(entry)?, record.path.name());
            if transaction.workspace().stat(name)?.is_some() {
                let asked_by = self.prepared.plan.entries[entry].asked_by;
                there.push(Rewritten { path: record.path.clone(), asked_by, now: None });
            }
        }
        Ok(there)
    }

    fn rewritten(&self) -> Result<Vec<Rewritten>> {
        let transaction = self.transaction();
        let mut rewritten = Vec::new();
        for (entry, record) in transaction.journal.entries.numbered() {
            let after = match &record.change {
                RecordedChange::Edit { after, .. }
                | RecordedChange::Overwrite { after, .. }
                | RecordedChange::Create { after, .. }
                | RecordedChange::FolderToFile { after, .. } => Some((after.digest, after.mode)),
                RecordedChange::Delete { .. } | RecordedChange::FileToFolder { .. } => None,
                RecordedChange::Folder { .. } | RecordedChange::RemoveFolder { .. } => continue,
            };
            let seen = transaction.see(Name::new(transaction.parent(entry)?, record.path.name()))?;
            let now = match seen {
                Seen::File { digest, mode, .. } => Some((digest, mode)),
                _ => None,
            };
            if now != after {
                let asked_by = self.prepared.plan.entries[entry].asked_by;
                rewritten.push(Rewritten { path: record.path.clone(), asked_by, now });
            }
        }
        Ok(rewritten)
    }
}

/// Runs a check in a view, which is locked as long as anybody has the open folder.
pub(super) fn run_in_view(
    check: &Check,
    checker: &dyn Checker,
    (view, held): (&View, Option<BorrowedFd<'_>>),
    run: Run<'_>,
) -> Ended {
    let output = |bytes: &[u8]| run.observer.check_output(bytes);
    let (folder, transaction) = (view.folder(), None);
    let call = CheckCall { check, folder, transaction, view: Some(view), held, cancel: run.cancel, output: &output };
    checker.run(&call).unwrap_or_else(|error| not_run(&error))
}

/// A check that could not be run did not pass.
fn not_run(error: &io::Error) -> Ended {
    Ended::new(Verdict::Failed(format!("could not be run: {error}")))
}

/// The error of a check that did not pass.
pub(super) fn refused(run: CheckRun) -> Error {
    let CheckRun { command, ended, .. } = &run;
    let kind = if ended.verdict == Verdict::Cancelled { ErrorKind::Cancelled } else { ErrorKind::CheckFailed };
    let message = format!("the check `{command}`: {}", ended.verdict.words());
    Error::new(kind, message).detail(Detail::Check(Box::new(run)))
}
