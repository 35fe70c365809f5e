//! Locks the folders of all targets, and resolves every path under the locks. Afterwards no interrupted transaction is
//! in the way.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::resolve::{Folders, LastLink, ResolvedPath, Resolver};
use crate::engine::recovery;
use crate::engine::recovery::cannot_write;
use crate::engine::recovery::conflicts;
use crate::engine::report::RecoveryAction;
use crate::engine::store::interrupted::{self, JournalStatus};
use crate::engine::store::lock::{Locks, Patience};
use crate::engine::store::state::{Section, StateLookup};
use crate::engine::store::workspace::Workspace;
use crate::engine::{Engine, RecoverOptions, Run};
use crate::error::{Error, ErrorKind, NextStep, Outcome, Result};
use crate::fs::Name;
use crate::path::{AskedPath, RelPath};

/// The folders of places, by their path in the workspace.
pub(crate) type Parents = Folders;

/// Places under locks.
#[derive(Debug)]
pub(crate) struct LockedTargets {
    /// The place of each path, in their order.
    pub places: Vec<ResolvedPath>,
    pub parents: Parents,
    pub locks: Locks,
}

impl LockedTargets {
    /// Takes the metadata of each place again: while another program keeps writing, what was seen before the locks were
    /// taken and other transactions searched is out of date.
    pub(crate) fn stat_again(&mut self, workspace: &Workspace) -> Result<()> {
        for place in &mut self.places {
            let (Some(before), Some((_, folder))) = (&place.stat, self.parents.get(place.folder())) else { continue };
            let name = Name::new(folder, place.path.name());
            let now = workspace.stat(name)?;
            // A file that is gone, or of another kind, is noticed when it is read.
            if let Some(now) = now.filter(|now| now.kind == before.kind) {
                place.stat = Some(Arc::new(now));
            }
        }
        Ok(())
    }
}

/// The paths of a transaction.
pub(crate) trait Targets {
    /// All paths that it names or implies, and what is done about a symlink at the end of each.
    fn paths(&self) -> impl Iterator<Item = (&AskedPath, LastLink)>;

    /// Turns the result of each path into places, or into one error that names all problems.
    fn accept(&self, found: Vec<Result<ResolvedPath>>) -> Result<Vec<ResolvedPath>>;
}

impl Engine {
    /// Takes the locks; releases them and starts again if something moved or must be recovered first.
    pub(crate) fn lock_targets(
        &self,
        targets: &impl Targets,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<LockedTargets> {
        let patience = Patience::new(self.settings.lock_timeout, run.cancel);
        // A check that would wait for the locks of its own transaction must not try to get them.
        let mut named = if self.inside.is_none() { self.resolver().folders_named(targets.paths()) } else { None };
        loop {
            patience.check_cancelled()?;
            let is_guess = named.is_some();
            let seen = if let Some(folders) = named.take() {
                folders
            } else {
                let (places, folders) = resolve(self.resolver(), targets)?;
                self.refuse_own_locks(found, &places, &folders)?;
                folders
            };
            let locks = Locks::acquire(&self.workspace, seen.values().cloned().collect(), patience)?;
            let (places, parents) = resolve(self.resolver().knowing(&seen), targets)?;
            let are_locked = parents.iter().all(|(path, (stat, _))| seen.contains_key(path) && locks.holds(stat));
            if !are_locked {
                // What is named leads to other folders, or something was moved.
                drop((locks, parents, seen));
                if !is_guess {
                    patience.pause(self.root())?;
                }
                continue;
            }
            let ours: Vec<RelPath> = places.iter().map(|place| place.path.clone()).collect();
            let Some(touching) = conflicts::find(&self.workspace, found, &ours, warnings)? else {
                return Ok(LockedTargets { places, parents, locks });
            };
            // Its owner is dead. A recovery needs the locks that we hold, and changes what was resolved.
            drop((locks, parents, seen));
            self.recover_first(&touching, patience, warnings, run)?;
        }
    }

    /// Resolves without locks, for a dry run: an interrupted transaction in the way is an error.
    pub(crate) fn resolve_unlocked(
        &self,
        targets: &impl Targets,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
    ) -> Result<(Vec<ResolvedPath>, Parents)> {
        let (places, parents) = resolve(self.resolver(), targets)?;
        let ours: Vec<RelPath> = places.iter().map(|place| place.path.clone()).collect();
        match conflicts::find(&self.workspace, found, &ours, warnings)? {
            None => Ok((places, parents)),
            Some(touching) => Err(self.in_the_way(&touching, "a dry run recovers nothing", Vec::new())),
        }
    }

    /// Refuses locks that the transaction of this check holds until the check has ended.
    fn refuse_own_locks(&self, found: &StateLookup, places: &[ResolvedPath], parents: &Parents) -> Result<()> {
        let Some(id) = &self.inside else { return Ok(()) };
        let paths: Vec<RelPath> = places.iter().map(|place| place.path.clone()).collect();
        let Some((root, journal)) = conflicts::journal_of(&self.workspace, found, &paths, id)? else {
            return Ok(());
        };
        let locked = journal.entries.iter().flat_map(|record| {
            let is_folder = record.change.folder_after().or(record.change.folder_before()).is_some();
            [Some(record.path.parent()), is_folder.then(|| record.path.as_path())].into_iter().flatten()
        });
        let locked: HashSet<PathBuf> = locked.map(|folder| root.join(folder)).collect();
        let Some(folder) =
            parents.keys().map(|folder| self.workspace.root.path().join(folder)).find(|it| locked.contains(it))
        else {
            return Ok(());
        };
        let message = format!(
            "transaction {id} holds the lock of {} and waits for this check; a check can write there itself, but not by \
             a transaction of its own",
            folder.display()
        );
        Err(Error::new(ErrorKind::LockTimeout, message).at(folder))
    }

    fn recover_first(
        &self,
        touching: &conflicts::Touching,
        patience: Patience<'_>,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<()> {
        if !touching.state.is_writable()? {
            return Err(self.in_the_way(touching, &cannot_write(&touching.state), Vec::new()));
        }
        let options = RecoverOptions::default();
        let done = recovery::recover_one(&touching.state, &touching.id, options, patience, run, &mut |_| {});
        let done = done.map_err(|error| match error.kind() {
            // No file of this request was touched, and the next command finds the other transaction as it was.
            ErrorKind::Cancelled => error.outcome_is(Outcome::Unchanged),
            _ => self.named_there(touching, error),
        })?;
        match done.action {
            _ if done.required => Err(self.in_the_way(touching, &done.reason(), done.next_steps.clone())),
            // Its owner cannot be alive, since we had its locks: another process examines or recovers it, or what its
            // check has started still runs.
            RecoveryAction::Running => {
                patience.pause(touching.state.workspace.root.path()).map_err(|error| match error.kind() {
                    ErrorKind::LockTimeout => {
                        let message =
                            format!("an interrupted transaction, {}, touches these files: {}", done.id, done.reason());
                        Error::new(ErrorKind::LockTimeout, message)
                            .at(touching.state.workspace.root.path())
                            .of_transaction(&done.id)
                    }
                    _ => error,
                })
            }
            _ => {
                recovery::tell(warnings, &done);
                Ok(())
            }
        }
    }

    /// Refuses to try a program out beside an interrupted transaction: it would see files half-done.
    pub(crate) fn check_whole(&self, found: &StateLookup) -> Result<()> {
        let StateLookup::State(state) = found else { return Ok(()) };
        for id in state.ids(Section::Transactions)? {
            if let JournalStatus::Hot(..) = interrupted::examine(state, &id, &|_| false)?.0 {
                let message = format!(
                    "an interrupted transaction, {id}, has left files half-done, and a dry run recovers nothing"
                );
                return Err(self.blocked_by(&conflicts::Touching { state: state.clone(), id }, message, Vec::new()));
            }
        }
        Ok(())
    }

    fn in_the_way(&self, touching: &conflicts::Touching, why: &str, steps: Vec<NextStep>) -> Error {
        let message = format!("an interrupted transaction, {}, touches these files: {why}", touching.id);
        self.blocked_by(touching, message, steps)
    }

    fn blocked_by(&self, touching: &conflicts::Touching, message: String, mut steps: Vec<NextStep>) -> Error {
        let id = &touching.id;
        if steps.is_empty() {
            steps.push(NextStep::Recover { id: Some(id.clone()) });
        }
        // The files of this request are as they were: the other transaction needs recovery.
        let error = Error::new(ErrorKind::RecoveryRequired, message).outcome_is(Outcome::Unchanged);
        self.named_there(touching, error.of_transaction(id).with_next(steps))
    }

    /// The error with steps that lead to the workspace of the transaction, if that is another one: no other knows its
    /// id.
    fn named_there(&self, touching: &conflicts::Touching, error: Error) -> Error {
        let root = touching.state.workspace.root.path();
        if root == self.workspace.root.path() {
            return error;
        }
        let needs_recovery =
            error.kind() == ErrorKind::RecoveryRequired || error.outcome() == Outcome::RecoveryRequired;
        let steps = match error.next_steps() {
            [] if needs_recovery => vec![NextStep::Recover { id: Some(touching.id.clone()) }, NextStep::Status],
            steps => steps.to_vec(),
        };
        error.next_instead(steps.into_iter().map(|step| NextStep::In { root: root.to_owned(), step: Box::new(step) }))
    }
}

fn resolve(mut resolver: Resolver<'_>, targets: &impl Targets) -> Result<(Vec<ResolvedPath>, Parents)> {
    let mut places = targets.accept(resolver.places(targets.paths()))?;
    for place in places.iter_mut().filter(|place| place.within.is_some()) {
        resolver.look_into(place)?;
    }
    let parents = resolver.folders_of(places.iter());
    Ok((places, parents))
}
