//! Open transactions: edits are staged over several calls, previewed as a whole, and committed or rolled back.
//!
//! Only `open/<id>/` is written before the commit. What is staged is one growing request. With it stands the digest of
//! each file at the time, so that a change by another program is noticed; the edits are carried over to the changed
//! file only if they touch none of its changed lines.

mod compose;
mod decided;
mod half_closed;
mod part;
mod review;
mod rollback;
mod settle;
mod stage;
mod store;
mod stored;

use std::cell::Cell;
use std::iter;
use std::path::{Path, PathBuf};

use super::history::trash::{self, Goes};
use super::recovery::InFront;
use super::report::review::SelectedCommit;
use super::report::{OpenTransaction, Preview, Report};
use super::store::id;
use super::store::lock::Patience;
use super::store::state::{Section, StateFolder, StateLookup};
use super::transaction::idempotency::{Commit, check_plan};
use super::transaction::prepare::lock_targets::{LockedTargets, Targets as _};
use super::transaction::prepare::request_paths::RequestPaths;
use super::transaction::{Ready, Transaction};
use super::{Engine, Run};
use crate::check::Check;
use crate::digest::Digest;
use crate::error::{Detail, Error, ErrorKind, NextStep, Outcome, Result};
use crate::path::{AskedPath, RelPath, shown};
use crate::request::{Change, FileRequest, IfExists, Request, validate};
use compose::StagedEntry;
use part::{OpenedPart, PartOf};
use store::OpenedFolder;

/// One of the attempts to commit an open transaction.
#[derive(Clone, Copy)]
struct CommitAttempt<'c> {
    /// The hash of the plan that was previewed.
    plan_hash: Option<Digest>,
    /// What the same decision is recognised by.
    fingerprint: Option<Digest>,
    /// The request that is committed, without its files: they are settled again each time.
    request: &'c Request,
    /// Set once the staged edits were found to fit the files.
    is_settled: &'c Cell<bool>,
    /// True if another program interfered with an earlier attempt.
    again: bool,
}

/// Closes a committed open transaction. The commit stands even if this fails: a warning says so, and the open
/// transaction expires, or is closed by a recovery or when it is committed once more.
fn closed(state: &StateFolder, opened: OpenedFolder, mut report: Report) -> SelectedCommit {
    let id = opened.id.clone();
    let rest = close_committed(state, opened).unwrap_or_else(|error| {
        let warning = format!("committed, but closing the open transaction {id} failed: {}", error.message());
        report.warnings.push(warning);
        None
    });
    SelectedCommit { report, rest }
}

/// Closes a committed open transaction; returns the one that what is left of it stays in.
fn close_committed(state: &StateFolder, mut opened: OpenedFolder) -> Result<Option<String>> {
    match opened.stored.rest.take() {
        Some(rest) => opened.become_rest(state, rest).map(Some),
        None => close(state, opened).map(|()| None),
    }
}

/// Moves the folder to the trash and empties the trash, after a sync.
fn close(state: &StateFolder, opened: OpenedFolder) -> Result<()> {
    state.move_transaction(&opened.id, Section::Open, Section::Trash)?;
    let id = opened.id.clone();
    drop(opened);
    let told = |message: &str| format!("{id} is discarded, but a power loss may bring it back: {message}");
    let emptied = trash::sync_and_empty(state, Goes::Unswapped(&[]));
    emptied.map(drop).map_err(|error| error.reworded(told).detail(Detail::PartlyDone))
}

impl Engine {
    /// The open transactions, oldest first; only those with a file at `path` or beneath it, if one is given. Nothing is
    /// changed, whether it fails or not.
    pub fn open_transactions(&self, path: Option<&Path>) -> Result<Vec<OpenTransaction>> {
        let Some(state) = self.state()? else { return Ok(Vec::new()) };
        let path = path.map(|path| self.rel_path(path)).transpose()?;
        let is_at = |name: &PathBuf| path.as_ref().is_none_or(|path| name.starts_with(path.as_path()));
        let listed = list(&state)?;
        let closed = self.half_closed(&self.found()?, listed.iter().map(|open| open.id.clone()))?;
        let is_open = |open: &OpenTransaction| !closed.contains(&open.id);
        let listed = listed.into_iter().filter(is_open);
        Ok(listed.filter(|open| path.is_none() || open.names.iter().any(is_at)).collect())
    }

    /// The changes that a commit would make now, and the hash over all of them. Nothing is written, whether it fails or not.
    pub fn preview(&self, id: &str, run: Run<'_>) -> Result<Preview> {
        let mut found = self.found()?;
        let (_, opened) = self.still_open(&found, id, run)?;
        self.preview_of(&opened, &mut found, run).map_err(|error| or_mend(id, error))
    }

    fn preview_of(&self, opened: &OpenedFolder, found: &mut StateLookup, run: Run<'_>) -> Result<Preview> {
        Ok(self.reviewed(opened, Some(&[]), found, run)?.review.preview)
    }

    /// Commits exactly what is staged or, with a `plan_hash`, exactly the plan that a preview showed. Edits of a file
    /// that changed elsewhere meanwhile are carried over, unless the hash forbids it. On failure the transaction is
    /// still open, and the error's outcome tells the state of the files. Committing it once more gives the same answer again.
    pub fn commit_staged(
        &self,
        id: &str,
        plan_hash: Option<Digest>,
        check: Option<Check>,
        run: Run<'_>,
    ) -> Result<Report> {
        Ok(self.commit_some(id, PartOf::All(plan_hash), check, run)?.report)
    }

    fn commit_opened(
        &self,
        id: &str,
        part: PartOf<'_>,
        check: Option<Check>,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<SelectedCommit> {
        let (is_checked, plan_hash) = (self.is_checked(check.as_ref()), part.whole_plan());
        let again = |found: &StateLookup, is_gone| {
            self.committed_again(
                found,
                &Commit { opened: id, is_gone, plan_hash, selection: part.selection(), is_checked },
                run,
            )
        };
        let (state, mut opened) = match self.opened(found, id, run) {
            Err(error) if is_gone(&error) => {
                let report = again(found, error.kind() == ErrorKind::UnknownTransaction)?.ok_or(error)?;
                return Ok(SelectedCommit { report, rest: self.rest_of(found, id)? });
            }
            other => other?,
        };
        if let Some(report) = again(found, false)? {
            // An earlier process died between the commit and the closing.
            return Ok(closed(&state, opened, report));
        }
        let OpenedPart { entries, plan_hash, fingerprint } = self.part((&state, &mut opened), part, found, run)?;
        let request = Request { check, ..request_of(&opened, Vec::new()) };
        // A conflict with the staged edits, or another plan than was previewed, does not go away by itself.
        let is_settled = Cell::new(false);
        let attempt = |attempt| {
            let again = attempt > 1;
            let commit_attempt =
                CommitAttempt { plan_hash, fingerprint, request: &request, is_settled: &is_settled, again };
            self.commit_once(&opened, entries.clone(), commit_attempt, found, warnings, run)
        };
        let report = self.try_again(request.check.as_ref(), attempt, |_| is_settled.get(), run)?;
        Ok(closed(&state, opened, report))
    }

    /// Makes one attempt.
    fn commit_once<'a>(
        &'a self,
        opened: &OpenedFolder,
        mut entries: Vec<StagedEntry>,
        CommitAttempt { plan_hash, fingerprint, request, is_settled, again }: CommitAttempt<'_>,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'a>,
    ) -> Result<Transaction<'a>> {
        is_settled.set(false);
        let paths = RequestPaths::of_files(entries.iter().map(|entry| &entry.file), false);
        let mut locked = self.lock_targets(&paths, found, warnings, run)?;
        let rebased = self.settle(opened, &mut entries.iter_mut().collect::<Vec<_>>(), run)?;
        let request = Request { files: files_of(entries), ..request.clone() };
        is_settled.set(true);
        if again {
            locked.stat_again(&self.workspace)?;
        }
        let LockedTargets { places, parents, locks } = locked;
        // Settling may have changed the edits, but not the paths.
        let (mut prepared, mut files) = self.prepare(&request, paths, places, parents, run)?;
        if let Err(error) = check_plan(plan_hash, prepared.plan.hash(), !rebased.is_empty()) {
            is_settled.set(false);
            return Err(error);
        }
        settle::tell(&mut files, rebased);
        prepared.origin.opened = Some(opened.id.clone());
        prepared.origin.request = fingerprint;
        prepared.again = again;
        let ready = Ready { prepared, locks, found: found.clone() };
        Ok(Transaction::new(self, ready, Report { files, ..Report::default() }, run))
    }

    fn opened(&self, found: &StateLookup, id: &str, run: Run<'_>) -> Result<(StateFolder, OpenedFolder)> {
        let state = found.trusted(&self.workspace)?.ok_or_else(|| self.unknown(id))?.clone();
        let opened = store::open(&state, id, self.patience(run))?;
        Ok((state, opened))
    }

    fn unknown(&self, id: &str) -> Error {
        let message = format!("there is no open transaction {id} in {}", self.root().display());
        Error::new(ErrorKind::UnknownTransaction, message)
    }

    pub(in crate::engine) fn patience<'r>(&self, run: Run<'r>) -> Patience<'r> {
        Patience::new(self.settings.lock_timeout, run.cancel)
    }

    /// The request with every path as the workspace knows it, so that each file has one name. A symlink is followed as it
    /// would be if what is staged and this were one request.
    fn in_root(&self, staged: &[StagedEntry], request: &Request) -> Request {
        let staged = staged.iter().map(|entry| &entry.file);
        let before: usize = staged.clone().map(|file| names(file).count()).sum();
        let files: Vec<&FileRequest> = staged.chain(&request.files).collect();
        let paths = RequestPaths::of_files(files.into_iter(), false);
        let mut places = self.resolver().places(paths.paths()).into_iter().skip(before);
        let mut name = |path: &mut AskedPath, follows_link: bool| match places.next() {
            Some(Ok(place)) if follows_link || !place.is_link => *path = place.path.asked(),
            // An invalid path is reported where the request is tried.
            _ => {
                if let Ok(rel) = RelPath::normalised(path.strip_prefix(self.root()).unwrap_or(path)) {
                    *path = rel.asked();
                }
            }
        };
        let mut request = request.clone();
        for file in &mut request.files {
            // What a symlink leads to cannot be edited and moved under the symlink's name: that is refused. So is a new
            // file in its place, since by then its target may be free.
            let is_new = matches!(file.change, Change::Write { if_exists: IfExists::Fail, .. });
            let stays = !file.vacates() && !is_new;
            name(&mut file.path, stays);
            match &mut file.change {
                Change::Rename(to) | Change::Edit { rename: Some(to), .. } => name(&mut to.path, false),
                Change::Copy { from, .. } => name(from, true),
                _ => {}
            }
        }
        request
    }

    fn who(&self, run: Run<'_>) -> String {
        let host = self.workspace.fs().host().ok();
        let user = host.map_or_else(String::new, |host| format!(", process {} of user {}", host.process, host.user));
        format!("{}{user}", self.program(run))
    }
}

/// The error of an open transaction with what to do about it, if that is not said yet: no request is to be sent again.
fn or_mend(id: &str, error: Error) -> Error {
    use ErrorKind as K;
    let is_of_request = matches!(
        error.kind(),
        K::ValidationFailed
            | K::FileNotFound
            | K::FileExists
            | K::FolderNotEmpty
            | K::NotARegularFile
            | K::OutsideRoot
            | K::SymlinkLoop
            | K::PermissionDenied
            | K::CrossDevice
            | K::CheckFailed
    );
    let is_as_before = matches!(error.outcome(), Outcome::Unchanged | Outcome::RolledBack);
    if !is_of_request || !is_as_before || !error.next_steps().is_empty() {
        return error;
    }
    error.with_next([NextStep::CommitAgain { id: id.to_owned() }])
}

/// Returns whether the open transaction is gone.
fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UnknownTransaction | ErrorKind::TransactionExpired)
}

fn unreadable(opened: &OpenedFolder, what: &str) -> Error {
    let message = format!("the open transaction {} cannot be read: it lacks {what}; roll it back", opened.id);
    Error::new(ErrorKind::UnknownTransaction, message).of_transaction(&opened.id)
}

/// The staged request. Its paths are validated like those of any request.
fn entries_of(opened: &OpenedFolder) -> Result<Vec<StagedEntry>> {
    let entries = opened.stored.entries().map_err(|what| unreadable(opened, what))?;
    if entries.is_empty() {
        // What was staged last reverted what was staged first.
        return Ok(entries);
    }
    let request = request_of(opened, entries.clone());
    validate::check(&request, validate::PathRule::AbsoluteOrRelative)?;
    Ok(entries)
}

/// The paths that an entry names, in the order in which [`RequestPaths`] has them.
fn names(entry: &FileRequest) -> impl Iterator<Item = &AskedPath> {
    names_changed(entry).chain(entry.origin())
}

/// Those of them that it changes.
fn names_changed(entry: &FileRequest) -> impl Iterator<Item = &AskedPath> {
    iter::once(&entry.path).chain(entry.destination().map(|to| &to.path))
}

fn files_of(entries: Vec<StagedEntry>) -> Vec<FileRequest> {
    entries.into_iter().map(|entry| entry.file).collect()
}

/// The content that each entry was staged on.
fn request_of(opened: &OpenedFolder, entries: Vec<StagedEntry>) -> Request {
    Request { files: files_of(entries), label: opened.stored.label.clone(), ..Request::default() }
}

/// A warning about each open transaction that cannot be read.
pub(super) fn told_of_unreadable(state: &StateFolder) -> Result<Vec<String>> {
    let told = |path: PathBuf| {
        format!(
            "{} cannot be read as an open transaction: it is damaged, a copy, or of another version; unless that version is to \
             commit it, delete it",
            shown(&path)
        )
    };
    Ok(store::unreadable(state)?.into_iter().map(told).collect())
}

/// The open transactions of a workspace, oldest first.
pub(super) fn list(state: &StateFolder) -> Result<Vec<OpenTransaction>> {
    let listed = store::list(state)?.into_iter().map(|(id, stored)| {
        let entries = stored.entries().unwrap_or_default();
        let names =
            entries.iter().flat_map(|entry| names_changed(&entry.file)).map(|path| path.to_path_buf()).collect();
        let files = entries.into_iter().map(|StagedEntry { file, .. }| {
            let word = match &file.change {
                Change::Edit { rename: None, .. } => "edit",
                Change::Edit { .. } | Change::Rename(_) => "rename",
                Change::Write { .. } => "write",
                Change::Copy { .. } => "copy",
                Change::Delete => "delete",
                Change::Mode => "mode",
                Change::Symlink { .. } => "symlink",
                Change::Take { .. } => "take",
                Change::MakeFolder => "folder",
                Change::RemoveFolder => "remove_folder",
            };
            (file.path.to_path_buf(), word.to_owned())
        });
        OpenTransaction {
            opened: id::time_of(&id),
            expires: store::time(stored.expires),
            is_expired: store::is_expired(&state.workspace, &stored),
            owner: stored.owner.clone(),
            label: stored.label.clone(),
            files: files.collect(),
            names,
            id,
        }
    });
    Ok(listed.collect())
}

/// What tells the present content of each open transaction from an earlier one.
#[cfg(feature = "web")]
pub(super) fn saves(state: &StateFolder) -> Result<Vec<String>> {
    store::saves(state)
}

impl Engine {
    /// Recovers like [`Engine::recover_own`], and drops open transactions that have expired. Other commits do it by the way, and
    /// few of them: the names of a thousand take a third as long as a commit.
    fn recover_and_sweep(&self, found: &StateLookup, warnings: &mut Vec<String>, run: Run<'_>) -> Result<InFront> {
        if let StateLookup::State(state) = found {
            sweep(state)?;
        }
        self.recover_own(found, warnings, run)
    }
}

/// Drops expired open transactions, and what is left of those that were never stored.
pub(super) fn sweep(state: &StateFolder) -> Result<()> {
    for id in store::expired(state)? {
        // Another process may sweep it at the same moment.
        state.move_transaction(&id, Section::Open, Section::Trash).ok();
    }
    Ok(())
}
