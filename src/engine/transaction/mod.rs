//! One request, from its paths to its report.
//!
//! Architecture invariant: a failure before the first swap leaves every file as it was; a later failure is rolled back
//! here, or left to a recovery with everything that it needs.

pub(super) mod check_gate;
pub(super) mod execute;
pub(super) mod idempotency;
pub(super) mod prepare;
pub(super) mod retry;
pub(super) mod stage;
pub(super) mod view_gate;

use std::path::Path;

use super::history::stored_report::ReportSource;
use super::report::{FileReport, Report};
use super::store::lock::Locks;
use super::store::lookup;
use super::store::snapshot::Snapshot;
use super::store::state::{StateFolder, StateLookup};
use super::{Durability, Engine, Run};
use crate::commit::protocol::Protocol;
use crate::digest::Digest;
use crate::error::{Detail, Error, ErrorKind, NextStep, Result};
use crate::path::shown;
use crate::plan::Plan;
use crate::request::validate::{self, PathRule};
use crate::request::{Change, FileRequest, Request};
use execute::Committed;
use idempotency::check_dry_run;
use prepare::lock_targets::LockedTargets;
use prepare::preflight::check_durable;
use prepare::prepared::Prepared;
use prepare::request_paths::RequestPaths;

/// A transaction that is locked, read and planned: [`commit`](Self::commit) carries it out, dropping it discards it.
///
/// Nothing of it is on the disk yet. While it is held, anyone who asks for a lock on one of its folders waits,
/// including this program; if a program without locks changes a file meanwhile, the commit refuses.
///
/// ```
/// use txedit::{Edit, Engine, Request, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one\n")?;
/// let engine = Engine::open(root)?;
/// let request = Request::new().edit("a.txt", Edit::replace("one", "two"));
///
/// let transaction = engine.begin(&request, Run::default())?;
/// assert_eq!(transaction.plan().files[0].edits[0].lines, [1]);
/// drop(transaction); // Discarded: nothing was written.
/// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "one\n");
///
/// engine.begin(&request, Run::default())?.commit()?;
/// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "two\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a transaction that is dropped is discarded; `commit` carries it out"]
#[derive(Debug)]
pub struct Transaction<'a> {
    engine: &'a Engine,
    run: Run<'a>,
    /// `None` if there is nothing to do: a dry run, or the same request was committed before.
    ready: Option<Ready>,
    plan: Report,
}

/// Everything that a commit needs.
#[derive(Debug)]
pub(crate) struct Ready {
    pub prepared: Prepared,
    pub locks: Locks,
    /// The state folder as it was found under the locks.
    pub found: StateLookup,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(engine: &'a Engine, ready: Ready, plan: Report, run: Run<'a>) -> Self {
        Self { engine, run, ready: Some(ready), plan }
    }

    /// A transaction that changes nothing and returns this answer.
    pub(crate) fn done(engine: &'a Engine, plan: Report, run: Run<'a>) -> Self {
        Self { engine, run, ready: None, plan }
    }

    /// The changes that [`commit`](Self::commit) will make to each file; there is no id yet. If `already_applied` is
    /// set, the same was committed before, and this is its answer.
    #[must_use]
    pub fn plan(&self) -> &Report {
        &self.plan
    }

    /// Itself, if it does exactly what a dry run showed, as far as one was shown.
    pub(crate) fn by_plan(self, shown: Option<Digest>) -> Result<Self> {
        let own = self.ready.as_ref().map(|ready| ready.prepared.plan.hash()).or(self.plan.plan_hash);
        own.map_or(Ok(()), |own| check_dry_run(shown, own))?;
        Ok(self)
    }

    /// The protocol of its engine.
    pub(super) fn protocol(&self) -> &'static Protocol {
        self.engine.workspace.protocol
    }

    /// The paths that it changes, each with the file that was read there, if there is one; none for a dry run.
    pub(super) fn targets(&self) -> impl Iterator<Item = (&Path, Option<&Snapshot>)> {
        let prepared = self.ready.iter().map(|ready| &ready.prepared);
        prepared.flat_map(|prepared| {
            let targets = prepared.plan.entries.iter().zip(prepared.targets.iter());
            targets.map(|(entry, target)| (entry.path.as_path(), target.as_deref()))
        })
    }

    /// Carries it out, all or nothing. On failure the error's outcome tells the state of the files: `Unchanged` and
    /// `RolledBack` both mean that all of them are as they were.
    pub fn commit(mut self) -> Result<Report> {
        match self.ready.take().filter(|ready| ready.prepared.has_effect()) {
            Some(ready) => self.commit_ready(ready),
            None => Ok(self.plan),
        }
    }

    fn commit_ready(self, ready: Ready) -> Result<Report> {
        let Self { engine, run, plan, .. } = self;
        let Report { files, mut warnings, reverts, .. } = plan;
        let campaign = ready.prepared.origin.campaign.clone();
        let committed = engine.execute(ready, files, run)?;
        warnings.extend(committed.warnings);
        let (transaction, guarantee) = (Some(committed.id), Some(committed.guarantee));
        let (files, check) = (committed.files, committed.check.map(Box::new));
        Ok(Report { transaction, campaign, guarantee, files, warnings, check, reverts, ..Report::default() })
    }
}

/// The warnings of the first commit: a state folder among the files is included when the workspace is packed, and another
/// one may have older transactions.
fn warnings_of_first(state: &StateFolder) -> Vec<String> {
    let is_packed = state.home.is_in_root();
    let path = shown(&state.home.path());
    let packed =
        format!("{path} keeps old contents for undo: leave it out of what packs this folder (.dockerignore, sdist)");
    let others = lookup::others(&state.workspace, &StateLookup::State(state.clone()));
    let unseen = others.and_then(|others| lookup::unseen(&state.workspace, &others));
    is_packed.then_some(packed).into_iter().chain(unseen.unwrap_or_default()).collect()
}

impl Engine {
    /// Commits under locks, then prunes history.
    fn execute(&self, ready: Ready, files: Vec<FileReport>, run: Run<'_>) -> Result<Committed> {
        let Ready { mut prepared, locks, mut found } = ready;
        self.known.forget();
        // The transaction may have been held for long: the state folder that is there now counts. One that appeared
        // meanwhile is found when ours cannot be made.
        if let StateLookup::State(_) | StateLookup::Ignored(..) = found {
            found.verify(&self.workspace)?;
        }
        // Before the state folder is made, so that a refusal leaves nothing behind.
        let tops = self.check_possible(&prepared, &found)?;
        if prepared.gate.is_some() {
            refuse_overwriting(&prepared)?;
        }
        let durable = self.settings.durability == Durability::Power;
        let (state, places) = self.place_parts(StateFolder::ensure(&self.workspace, found)?, tops, durable)?;
        if durable {
            check_durable(&state)?;
        }
        if state.only_overwrites {
            prepared = prepared.overwriting_all()?;
            if prepared.gate.is_some() {
                refuse_overwriting(&prepared)?;
            }
        }
        let bytes = prepared.bytes_before();
        let program = self.program(run);
        let session = self.settings.session.as_deref().or_else(|| run.observer.session());
        let source = ReportSource { program: &program, session, files, rewritten: Vec::new() };
        let mut committed = execute::commit((&state, &places), prepared, locks, durable, source, run)?;
        // Only now: a failed commit must not cost history, and the newest transaction counts among those that stay.
        committed.warnings.extend(self.prune_by_the_way(&state, &committed.id, bytes));
        match state.tag() {
            Ok(true) => committed.warnings.extend(warnings_of_first(&state)),
            Ok(false) => {}
            Err(error) => committed.warnings.push(format!("the state folder could not be tagged: {}", error.message())),
        }
        for place in &places {
            // It is a cache to whoever packs the workspace.
            place.state.tag().ok();
            committed.warnings.extend(place.state.displaced(&committed.id));
        }
        // Everything went through its handle. A check may have moved it, and an undo would look at the path.
        let displaced = state.displaced(&committed.id);
        if displaced.is_none() && places.is_empty() {
            self.known.keep(&state);
        }
        committed.warnings.extend(displaced);
        Ok(committed)
    }

    /// Locks the targets of a request, reads them and plans the changes. An interrupted transaction in the way is
    /// recovered first, and the plan's warnings say so. On failure no file is changed, except by such a recovery. For a
    /// dry run nothing is locked, and its commit changes nothing. Unlike [`apply`](Self::apply) this makes only one
    /// attempt.
    pub fn begin<'a>(&'a self, request: &Request, run: Run<'a>) -> Result<Transaction<'a>> {
        self.admit(request)?;
        let (mut found, mut warnings) = (self.found()?, Vec::new());
        match self.begin_attempt(request, 1, &mut found, &mut warnings, run) {
            Ok(mut transaction) => {
                transaction.plan.warnings.splice(0..0, warnings);
                Ok(transaction)
            }
            Err(error) => Err(self.explained(error, request, run).warning_of(warnings)),
        }
    }

    /// Does what `request` asks, all or nothing. On failure the error's outcome tells the state of the files:
    /// `Unchanged` and `RolledBack` both mean that all of them are as they were.
    ///
    /// If another program writes one of the files meanwhile, a request that means the same for any content is retried,
    /// for as long as it would wait for a lock.
    pub fn apply(&self, request: &Request, run: Run<'_>) -> Result<Report> {
        if request.dry_run {
            return self.begin(request, run)?.commit();
        }
        self.admit(request)?;
        let (mut found, mut warnings) = (self.found()?, Vec::new());
        let attempt = |attempt| self.begin_attempt(request, attempt, &mut found, &mut warnings, run);
        let report =
            self.try_again(request.check.as_ref(), attempt, |error| retry::means_the_same(request, error), run);
        retry::telling(report.map_err(|error| self.explained(error, request, run)), warnings)
    }

    /// Adds to an error what helps the caller, and takes too long for each attempt.
    pub(crate) fn explained(&self, error: Error, request: &Request, run: Run<'_>) -> Error {
        self.with_foreign_change(self.with_similar_paths(error, request), request, run)
    }

    /// Refuses a request that is invalid by itself, before any file is read.
    fn admit(&self, request: &Request) -> Result<()> {
        self.check_allowed(request.check.as_ref())?;
        validate::check(request, PathRule::AbsoluteOrRelative)
    }

    /// The report of a dry run, made without a lock.
    fn dry_run(&self, request: &Request, found: &mut StateLookup, run: Run<'_>) -> Result<Report> {
        // A request whose key was used gets the same answer as from a commit.
        if let Some(report) = self.answered_before(request, request.fingerprint(self.root()), found, run)? {
            return Ok(Report { dry_run: true, ..report });
        }
        let mut warnings = Vec::new();
        let (prepared, files) = self.prepare_unlocked(request, found, &mut warnings, run)?;
        check_dry_run(request.plan_hash, prepared.plan.hash())?;
        let patch = self.patch_if_wanted(&prepared, &files, run)?;
        let (plan_hash, nothing_to_do) = (Some(prepared.plan.hash()), has_nothing_to_do(request, &prepared, &files));
        Ok(Report { dry_run: true, plan_hash, nothing_to_do, files, warnings, patch, ..Report::default() })
    }

    /// The report of a request without a file: a tool found nothing to change.
    pub(crate) fn nothing(request: &Request) -> Result<Report> {
        let hash = Plan::default().hash();
        check_dry_run(request.plan_hash, hash)?;
        Ok(Report { dry_run: request.dry_run, plan_hash: request.dry_run.then_some(hash), ..Report::default() })
    }

    /// Applies what was found in the files; each changed file must have the hash of the content that was searched. If
    /// another program changes one meanwhile, searches again. Otherwise like [`apply`](Self::apply). Also returns what
    /// was found last.
    ///
    /// `asked` is the request without its files, as it is known before. If its idempotency key was used, nothing is
    /// searched.
    pub fn apply_found<T: AsRef<Request>>(
        &self,
        asked: &Request,
        find: impl Fn() -> Result<T>,
        run: Run<'_>,
    ) -> (Option<T>, Result<Report>) {
        let (mut last, mut warnings, mut state) = (None, Vec::new(), None);
        let attempt = |attempt| {
            if let Some(report) = self.keyed(asked, &mut warnings, run)? {
                return Ok(Transaction::done(self, report, run));
            }
            let found: Result<&T> = find().map(|found| &*last.insert(found));
            if found.as_ref().map_or(true, |found| found.as_ref().files.is_empty())
                && let Some(report) = self.keyed(asked, &mut warnings, run)?
            {
                // It was at work when it was looked for the first time.
                return Ok(Transaction::done(self, report, run));
            }
            let request = found?.as_ref();
            if request.files.is_empty() {
                return Ok(Transaction::done(self, Self::nothing(request)?, run));
            }
            validate::check(request, PathRule::Found)?;
            let state = match &mut state {
                Some(state) => state,
                None => state.insert(self.found()?),
            };
            self.begin_attempt(request, attempt, state, &mut warnings, run)
        };
        let report = self.try_again(None, attempt, |_| true, run);
        (last, retry::telling(report, warnings))
    }

    /// Begins the `attempt`th attempt: another program interfered with all earlier ones.
    pub(super) fn begin_attempt<'a>(
        &'a self,
        request: &Request,
        attempt: usize,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'a>,
    ) -> Result<Transaction<'a>> {
        if request.dry_run {
            return Ok(Transaction::done(self, self.dry_run(request, found, run)?, run));
        }
        let again = attempt > 1;
        let paths = RequestPaths::of(request);
        // Before the locks: a recovery takes those of its own targets, and a process that holds locks must not wait for
        // others.
        self.recover_own(found, warnings, run)?;
        let fingerprint = request.fingerprint(self.root());
        let done = |report| Transaction::done(self, report, run);
        let mut locked = match self.lock_targets(&paths, found, warnings, run) {
            // After a request turned a file into a folder, or a folder into a file, its own paths lead nowhere.
            Err(error) if leads_nowhere(&error) => {
                return self.answered_before(request, fingerprint, found, run).ok().flatten().map(done).ok_or(error);
            }
            locked => locked?,
        };
        // Under the locks: a first attempt that still runs holds them until its answer is in history.
        if let Some(report) = self.answered_before(request, fingerprint, found, run)? {
            return Ok(done(report));
        }
        self.refuse_key_at_work(request, found)?;
        if again {
            locked.stat_again(&self.workspace)?;
        }
        let LockedTargets { places, parents, locks } = locked;
        let (mut prepared, files) = match self.prepare(request, paths, places, parents, run) {
            // A file that does not match the request's hash may already be what the request makes of it.
            Err(error) if carries_hashes(request) => {
                return self.repeated(request, fingerprint, found, |_| false, run)?.map(done).ok_or(error);
            }
            other => other?,
        };
        check_dry_run(request.plan_hash, prepared.plan.hash())?;
        prepared.origin.request = Some(fingerprint);
        prepared.origin.key.clone_from(&request.idempotency_key);
        prepared.origin.again = request.again;
        prepared.again = again;
        // What is swapped while others write is another plan.
        if attempt > self.contended_after
            && request.plan_hash.is_none()
            && self.settings.durability == Durability::Power
        {
            prepared.contended = prepare::reapplicable::edits(self.workspace.protocol, request, &prepared);
        }
        let nothing_to_do = has_nothing_to_do(request, &prepared, &files);
        let ready = Ready { prepared, locks, found: found.clone() };
        Ok(Transaction::new(self, ready, Report { files, nothing_to_do, ..Report::default() }, run))
    }
}

/// Returns whether a request has no effect because files or texts that it names are not there, which it allows.
fn has_nothing_to_do(request: &Request, prepared: &Prepared, files: &[FileReport]) -> bool {
    !prepared.has_effect() && files.iter().zip(&request.files).any(|(file, asked)| file.is_left_out(asked))
}

/// Refuses a check that would run in the tree while a file is overwritten: a rollback could not tell what the check wrote into
/// that from what others did.
fn refuse_overwriting(prepared: &Prepared) -> Result<()> {
    let Some(entry) = prepared.first_overwritten().map(|first| &prepared.plan.entries[first]) else { return Ok(()) };
    let message = format!(
        "{} {} overwritten in place, so that its check cannot run in the tree: let the check run in a view, or edit this file \
         without one",
        entry.path,
        if prepared.overwrites_all { "is" } else { "is a mount point, which is" }
    );
    let kind = if prepared.overwrites_all { ErrorKind::UnsupportedFileSystem } else { ErrorKind::MountPoint };
    let error = Error::new(kind, message).at(entry.path.as_path());
    Err(error.asked_by(entry.asked_by).with_next([NextStep::CheckInView]))
}

/// Returns whether a request is refused because something of another kind, or nothing, is at a path. A denied path
/// stays denied, whatever was done before.
fn leads_nowhere(error: &Error) -> bool {
    let is_it = |kind: ErrorKind| {
        matches!(
            kind,
            ErrorKind::ValidationFailed | ErrorKind::FileNotFound | ErrorKind::FileExists | ErrorKind::NotARegularFile
        )
    };
    match error.details() {
        Detail::Findings(findings) => findings.iter().all(|finding| is_it(finding.kind)),
        _ => is_it(error.kind()),
    }
}

/// Returns whether the caller names the content of every existing file.
fn carries_hashes(request: &Request) -> bool {
    let is_new = |file: &FileRequest| matches!(file.change, Change::Write { .. } | Change::Copy { .. });
    request.files.iter().any(|file| file.expected_hash.is_some())
        && request.files.iter().all(|file| file.expected_hash.is_some() || is_new(file))
}
