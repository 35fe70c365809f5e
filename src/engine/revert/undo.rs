//! Undo: a transaction of its own reverts a committed one, and can be undone as well.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Instant;

use super::conflicts::advised;
use super::paths::{RevertPaths, RevertedPaths, refuse_filled};
use super::reports::folder_report;
use super::reversal::Reversal;
use super::since::RevertWhat;
use crate::engine::history::folders_before::changed_folders;
use crate::engine::history::path_history::PathHistory;
use crate::engine::history::untrusted::{self, Wanting};
use crate::engine::history::{self, HistoryEntry, Loaded, whole_history};
use crate::engine::recovery::{self, InFront};
use crate::engine::report::Report;
use crate::engine::store::lock::Locks;
use crate::engine::store::state::StateLookup;
use crate::engine::transaction::prepare::lock_targets::{LockedTargets, Parents};
use crate::engine::transaction::prepare::prepared::{Prepared, TransactionOrigin};
use crate::engine::transaction::retry::telling;
use crate::engine::transaction::{Ready, Transaction};
use crate::engine::{Engine, Run, UndoOptions};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::journal::Journal;
use crate::journal::reverse::{conflict, reverse};

fn nothing_to_undo() -> Error {
    Error::new(ErrorKind::UnknownTransaction, "there is no transaction to undo").with_next([NextStep::Log])
}

/// The error of an undo. One that is only tried recovers nothing first: what is interrupted may need no decision.
fn undecided(error: Error, options: &UndoOptions) -> Error {
    if !options.dry_run {
        return error;
    }
    let steps: Vec<_> = error.next_steps().to_vec();
    error.next_instead(steps.into_iter().filter(|step| !matches!(step, NextStep::Decide { .. })))
}

impl Engine {
    /// Restores exactly what was before a transaction, by a transaction of its own. Without an id: the newest that is
    /// neither undone nor an undo itself. On failure the error's outcome tells the state of the files: `Unchanged` and
    /// `RolledBack` both mean that all of them are as they were.
    pub fn undo(&self, id: Option<&str>, dry_run: bool, run: Run<'_>) -> Result<Report> {
        self.undo_with(id, &UndoOptions { dry_run, ..UndoOptions::default() }, run)
    }

    /// Like [`undo`](Self::undo), with options.
    pub fn undo_with(&self, id: Option<&str>, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        match id {
            Some(id) => {
                let mut found = self.found()?;
                let warnings = self.recover_for(&found, Some(id), &[], options, run)?;
                self.revert_with_retries(&mut found, RevertWhat::One(id), options, warnings, run)
            }
            None => self.undo_newest(&[&|_, _| true], nothing_to_undo, options, run),
        }
    }

    /// Undoes the newest transaction that is wanted, by its id and the program that committed it. The conditions are
    /// tried in order; the first that finds one decides. If none does, the error is `nothing`.
    pub fn undo_newest(
        &self,
        wanted: &[&Wanting<'_>],
        nothing: impl FnOnce() -> Error,
        options: &UndoOptions,
        run: Run<'_>,
    ) -> Result<Report> {
        let mut found = self.found()?;
        let warnings = self.recover_for(&found, None, wanted, options, run)?;
        for is_wanted in wanted {
            match self.newest_not_undone(&found, is_wanted) {
                Ok(Some(id)) => {
                    return self.revert_with_retries(&mut found, RevertWhat::One(&id), options, warnings, run);
                }
                Ok(None) => {}
                Err(error) => return Err(undecided(error, options).warning_of(warnings)),
            }
        }
        Err(nothing().warning_of(warnings))
    }

    /// Reverts an undo: the transaction's changes are there again. Without an id: the newest undo that is not reverted.
    /// `id` may be the transaction or its undo. On failure the error's outcome tells the state of the files, as of
    /// [`undo`](Self::undo).
    pub fn redo(&self, id: Option<&str>, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        let mut found = self.found()?;
        let warnings = self.recover_for(&found, id, &[&|_, _| true], options, run)?;
        match self.undo_of(&found, id) {
            Ok(undo) => self.revert_with_retries(&mut found, RevertWhat::One(&undo), options, warnings, run),
            Err(error) => Err(undecided(error, options).warning_of(warnings)),
        }
    }

    /// Recovers before an undo. Without an id, a transaction that could not be recovered may be the newest itself,
    /// which is an error if it is wanted.
    pub(super) fn recover_for(
        &self,
        found: &StateLookup,
        id: Option<&str>,
        wanted: &[&Wanting<'_>],
        options: &UndoOptions,
        run: Run<'_>,
    ) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        if options.dry_run {
            return Ok(warnings);
        }
        if id.is_some() {
            self.recover_own(found, &mut warnings, run)?;
            return Ok(warnings);
        }
        let Some(error) = self.try_to_recover(found, &mut warnings, run)? else { return Ok(warnings) };
        let is_another = |id: &str| !wanted.iter().any(|is_wanted| is_wanted(id, ""));
        if error.transaction().is_some_and(is_another) {
            warnings.push(recovery::not_recovered(&error));
            return Ok(warnings);
        }
        let message = format!(
            "an interrupted transaction could not be recovered, and may be the newest: recover it, or name the transaction \
             that is meant: {}",
            error.message()
        );
        let steps = match error.next_steps() {
            [] => vec![NextStep::Recover { id: error.transaction().map(str::to_owned) }],
            steps => steps.to_vec(),
        };
        let refused = Error::new(ErrorKind::RecoveryRequired, message).with_next(steps).with_next([NextStep::Log]);
        let refused = refused.warning_of(warnings);
        Err(InFront::of(Some(&error)).in_front_of(refused))
    }

    /// Retries if another program wrote meanwhile and other lines may differ (`rebase`), or if it put something into a
    /// folder that was to go, which then stays. All else that it wrote is a conflict, and would be one again.
    pub(super) fn revert_with_retries(
        &self,
        found: &mut StateLookup,
        what: RevertWhat<'_>,
        options: &UndoOptions,
        mut warnings: Vec<String>,
        run: Run<'_>,
    ) -> Result<Report> {
        let going = RefCell::default();
        let attempt = |attempt| {
            let reverting = self.revert(found, what, options, (attempt > 1, &going), &mut warnings, run)?;
            reverting.by_plan(options.plan_hash)
        };
        let is_of_folder = |error: &Error| {
            let path = error.path().map(|path| path.strip_prefix(self.root()).unwrap_or(path));
            path.is_some_and(|path| going.borrow().contains(path))
        };
        // By a plan that was shown nothing else is done, however often it is tried.
        let may = |error: &Error| options.plan_hash.is_none() && (options.rebase || is_of_folder(error));
        let report = self.try_again(options.check.as_ref(), attempt, may, run);
        telling(report.map_err(|error| undecided(error, options)), warnings)
    }

    fn revert<'a>(
        &'a self,
        found: &mut StateLookup,
        what: RevertWhat<'_>,
        options: &UndoOptions,
        (again, going): (bool, &RefCell<BTreeSet<PathBuf>>),
        warnings: &mut Vec<String>,
        run: Run<'a>,
    ) -> Result<Transaction<'a>> {
        let (state, to_revert) = self.to_revert(found, what)?;
        let reversal = Reversal::of(&to_revert.parts);
        let mut made = self.made_folders(&reversal, &state)?;
        let targets = RevertPaths::of(&reversal.entries, &made.going);
        let (mut places, parents, locks) = self.revert_places(&targets, options, found, warnings, run)?;
        let read_at = Instant::now();
        let pasts = PathHistory::each(self, &state, &to_revert.parts);
        made.leave_filled(&reversal.entries, &mut places);
        let present = self.present(&reversal, &pasts, (&places, &parents), options.rebase, run)?;
        refuse_filled(&reversal.entries, &places)?;
        let plan = reverse(&reversal.entries, &present.targets)
            .map_err(|error| self.explain_conflicts(error, &reversal, &pasts, &present.stuck, run))
            .map_err(|error| advised(error, options.rebase, &reversal, &present))?;
        let in_the_way = made.in_the_way();
        // Otherwise the folder that stays is a warning: the files count more.
        if plan.is_empty() && !in_the_way.is_empty() {
            return Err(conflict(in_the_way));
        }
        going.replace(std::mem::take(&mut made.going));
        for (entry, place) in places.numbered() {
            self.check_restorable(place, &present.targets[entry], &parents)?;
        }
        let sources = self.sources(&reversal, &present, &parents, run)?;
        let targets = plan.entries.iter().map(|entry| present.snapshots.get(&entry.path).cloned().flatten()).collect();
        let mut files = self.undo_reports(&reversal, &present.targets, options.dry_run, run)?;
        let changed = changed_folders(&state, &to_revert.parts);
        files.extend(changed.iter().filter(|(_, changed)| changed.is_ok()).map(|(path, _)| folder_report(path)));
        // Several may cancel out: then nothing is committed, and nothing reverted.
        let is_nothing = plan.is_empty() && to_revert.parts.len() > 1 && changed.is_empty();
        let reverts = if is_nothing { Vec::new() } else { reversal.reverted() };
        let folder_metadata = self.folder_metadata(&reversal)?;
        let mut warnings = to_revert.warnings(&self.workspace)?;
        warnings.extend(made.warnings(self.root()));
        warnings.extend(self.there_again(&reversal, &present.targets, &folder_metadata)?);
        drop(present);
        let prepared = Prepared {
            plan,
            sources,
            targets,
            parents,
            folder_metadata,
            folder_modes: HashMap::new(),
            read_at,
            origin: TransactionOrigin::reverting(&reverts),
            gate: self.gate(options.check.as_ref())?,
            passed: None,
            again,
            contended: None,
            overwrites_all: false,
        }
        .overwriting()?;
        let Some(locks) = locks else {
            self.check_possible(&prepared, found)?;
            let patch = self.patch_if_wanted(&prepared, &files, run)?;
            let (dry_run, plan_hash) = (true, Some(prepared.plan.hash()));
            let report = Report { dry_run, files, warnings, plan_hash, reverts, patch, ..Report::default() };
            return Ok(Transaction::done(self, report, run));
        };
        let ready = Ready { prepared, locks, found: found.clone() };
        Ok(Transaction::new(self, ready, Report { files, warnings, reverts, ..Report::default() }, run))
    }

    /// The paths of a revert and their folders, locked unless it is only tried.
    fn revert_places(
        &self,
        targets: &RevertPaths<'_>,
        options: &UndoOptions,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<(RevertedPaths, Parents, Option<Locks>)> {
        if options.dry_run {
            let (places, parents) = self.resolve_unlocked(targets, found, warnings)?;
            return Ok((places.into(), parents, None));
        }
        let LockedTargets { places, parents, locks } = self.lock_targets(targets, found, warnings, run)?;
        Ok((places.into(), parents, Some(locks)))
    }

    /// The transaction that [`undo_newest`](Self::undo_newest) would undo, if nothing is interrupted.
    #[cfg(feature = "mcp")]
    pub(crate) fn newest_to_undo(&self, is_wanted: &Wanting<'_>) -> Result<Option<String>> {
        self.newest_not_undone(&self.found()?, is_wanted)
    }

    /// The newest transaction that is neither undone nor an undo itself, and is wanted by its id and the program that
    /// committed it.
    fn newest_not_undone(&self, found: &StateLookup, is_wanted: &Wanting<'_>) -> Result<Option<String>> {
        let Some(state) = found.trusted(&self.workspace)? else { return Ok(None) };
        let undone = history::reverted(state)?;
        let newest = whole_history(state)?.rev().find_map(|entry| match entry {
            Ok(HistoryEntry::Ours(Loaded { journal: Journal { header, .. }, .. })) => {
                let is_open = header.reverts.is_empty() && !undone.contains_key(&header.id);
                (is_open && is_wanted(&header.id, &header.owner.program)).then_some(Ok(header.id))
            }
            Ok(HistoryEntry::Untrusted(untrusted)) => {
                untrusted::is_wanted(&untrusted, is_wanted).then(|| Err(untrusted.may_be_newest()))
            }
            Err(error) => Some(Err(error)),
        });
        let newest = newest.transpose()?;
        untrusted::refuse_newer(state, newest.as_deref(), is_wanted)?;
        Ok(newest)
    }

    /// The undo that a redo reverts.
    fn undo_of(&self, found: &StateLookup, id: Option<&str>) -> Result<String> {
        let nothing = |what: &str| {
            let message = format!("{what}; there is nothing to redo");
            Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::Log])
        };
        let state = found.trusted(&self.workspace)?.ok_or_else(|| nothing("nothing was committed here"))?;
        let reverts = history::reverts(state)?;
        let undone = history::reverted(state)?;
        // An undo reverts a transaction that is not an undo; a redo reverts an undo.
        let targets = |id: &str| reverts.iter().find(|(it, _)| it == id).map_or(&[][..], |(_, reverts)| reverts);
        let is_undo = |id: &str| match targets(id) {
            [] => false,
            [undone] => targets(undone).is_empty(),
            _ => true,
        };
        let Some(id) = id else {
            let newest = reverts.iter().rev().find(|(id, _)| is_undo(id) && !undone.contains_key(id));
            let newest = newest.map(|(id, _)| id.as_str());
            let newer = whole_history(state)?.rev().find_map(|entry| match entry {
                Ok(HistoryEntry::Ours(loaded)) => (Some(loaded.id()) == newest).then_some(Ok(())),
                Ok(HistoryEntry::Untrusted(untrusted)) => Some(Err(untrusted.may_be_newest())),
                Err(error) => Some(Err(error)),
            });
            newer.transpose()?;
            untrusted::refuse_newer(state, newest, &|_, _| true)?;
            return newest.map(str::to_owned).ok_or_else(|| nothing("no undo is left to revert"));
        };
        if is_undo(id) {
            return Ok(id.to_owned());
        }
        let (_, loaded) = self.committed(found, id)?;
        undone.get(loaded.id()).cloned().ok_or_else(|| nothing(&format!("{id} is not undone")))
    }
}
