//! Programs whose changes become one transaction.
//!
//! The program runs in a view, without any lock. When it has ended, what it wrote there is compared with the workspace and
//! becomes one request. A file that somebody else changed meanwhile, and the program too, is a conflict: nothing is
//! committed then.
//!
//! Architecture invariant: a change is found by the names that were there before the view was made, and by the times of
//! changes after that moment; the plan is verified by both once more, under its locks.

mod changes;
mod compare;
mod conflicts;
mod selection;
mod staged;
mod verify;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::check::process::{self, ProgramCall};
use crate::check::{Check, Dropped, LeftOut, ProgramRun, Streams, Verdict, shown};
use crate::digest::Digest;
use crate::engine::report::{Report, Staged};
use crate::engine::store::state::StateFolder;
use crate::engine::store::view_folder::VIEWS;
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::engine::transaction::retry;
use crate::engine::view::{OrElse, WorkspaceView};
use crate::engine::{Engine, Run};
use crate::error::{Conflict, Detail, Error, ErrorKind, NextStep, Outcome, Result};
use crate::limits;
use crate::request::Request;
use crate::request::fingerprint::made_by;
use crate::request::validate::{self, Findings};
use crate::view::TreeBefore;
use changes::Collector;
use conflicts::{CommittedBefore, ConflictSides};
use selection::ProgramSelection;
use verify::before_view;

/// A program that is run in a view of the workspace. What it changes becomes one transaction, or nothing does.
///
/// ```no_run
/// use txedit::program::Program;
/// use txedit::{Engine, Run};
///
/// txedit::check::serve_views(); // At the very start of `main`.
/// let engine = Engine::open(".")?;
/// let program = Program::new(["cargo", "fmt"].map(Into::into).to_vec());
/// let report = engine.run_program(&program, Run::default())?;
/// println!("{} files in {:?}", report.files.len(), report.transaction);
/// # Ok::<(), txedit::Error>(())
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "a caller says each of them, whatever it says of the others")]
#[non_exhaustive]
pub struct Program {
    /// The program and its arguments; no shell is used.
    pub command: Vec<OsString>,
    /// The folder that it starts in, relative to the root.
    pub folder: PathBuf,
    /// Its time limit, if it has one.
    pub limit: Option<Duration>,
    /// Where its input comes from, and its output goes.
    pub streams: Streams,
    /// Commits what it did even if it fails.
    pub keep_on_failure: bool,
    /// Commits files that a `.gitignore` names as well.
    pub ignored: bool,
    /// Globs of files to commit or, with a leading `!`, to leave out.
    pub globs: Vec<String>,
    /// Reports what would be committed; writes nothing.
    pub dry_run: bool,
    /// Reports the diff of each file, also where it is not a dry run.
    pub verbose: bool,
    /// Decides, with the new files in place, whether to commit.
    pub check: Option<Check>,
    /// A text for the log [default: the command].
    pub label: Option<String>,
    /// The campaign that it is a part of.
    pub campaign: Option<String>,
    /// Identifies a retry: if a transaction has this key, its answer is repeated, and the program is not run.
    pub idempotency_key: Option<String>,
    /// True if a transaction with the key that was undone since does not count.
    pub again: bool,
}

impl Program {
    /// A program without input, whose output goes to the observer of its run.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            command,
            folder: PathBuf::new(),
            limit: None,
            streams: Streams::Joined,
            keep_on_failure: false,
            ignored: false,
            globs: Vec::new(),
            dry_run: false,
            verbose: false,
            check: None,
            label: None,
            campaign: None,
            idempotency_key: None,
            again: false,
        }
    }

    /// The request for its changes, without them.
    fn asked(&self) -> Request {
        Request {
            dry_run: self.dry_run,
            verbose: self.verbose,
            check: self.check.clone(),
            label: Some(self.label()),
            campaign: self.campaign.clone(),
            idempotency_key: self.idempotency_key.clone(),
            again: self.again,
            made_by: self.idempotency_key.as_deref().map(|key| self.digest(key)),
            takes_read_only: true,
            ..Request::default()
        }
    }

    /// Equal for two programs that are started alike, and of whose changes the same are taken. The bytes must never change.
    fn digest(&self, key: &str) -> Digest {
        let Self { command, folder, keep_on_failure, ignored, globs, .. } = self;
        let flags = [u8::from(*keep_on_failure), u8::from(*ignored)];
        let words = command.iter().map(|word| word.as_bytes());
        let fields = [b"program", folder.as_os_str().as_bytes(), &flags].into_iter().chain(words);
        // No word of a command has a NUL.
        made_by(key, fields.chain([&b"\0"[..]]).chain(globs.iter().map(String::as_bytes)))
    }

    fn label(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let mut label = shown(&self.command);
        let end = (0..=limits::LABEL_BYTES.min(label.len())).rev().find(|end| label.is_char_boundary(*end));
        label.truncate(end.unwrap_or_default());
        label
    }
}

/// A program that has ended, and its changes.
struct EndedProgram<'s> {
    /// It has the new contents.
    view: WorkspaceView<'s>,
    before: TreeBefore,
    committed: CommittedBefore,
    request: Request,
    run: ProgramRun,
}

impl Engine {
    /// Runs a program in a view of the workspace, and commits what it changed, all or nothing. On failure the error's
    /// outcome tells the state of the files, which are as they were.
    ///
    /// The program has all rights of this process: whoever calls this must have allowed it.
    pub fn run_program(&self, program: &Program, run: Run<'_>) -> Result<Report> {
        self.of_program(program, run, |ended, state, warnings| {
            let request = &ended.request;
            let mut found = self.found()?;
            if request.files.is_empty() {
                // One with its key may have been at work when the program started.
                return self.keyed_in_time(request, warnings, run)?.map_or_else(|| Self::nothing(request), Ok);
            }
            let mut attempt = |attempt| {
                let begun = self.begin_attempt(request, attempt, &mut found, warnings, run)?;
                let verified = verify::verify(&ended.before, begun.protocol(), begun.targets(), request);
                verified.map_err(|error| self.sides(ended, state, run).explained(error))?;
                Ok(begun)
            };
            if request.dry_run {
                return attempt(1)?.commit();
            }
            self.try_again(request.check.as_ref(), attempt, |_| false, run)
        })
    }

    /// Runs a program in a view of the workspace, and opens a transaction with what it changed; no file is changed before
    /// the commit of that.
    pub fn stage_program(&self, program: &Program, run: Run<'_>) -> Result<Staged> {
        let mut staged = None;
        let report = self.of_program(program, run, |ended, state, _| {
            let request = self.in_memory(ended)?;
            if request.files.is_empty() {
                return Ok(Report::default());
            }
            let is_seen = |prepared: &Prepared| {
                let targets = prepared.plan.entries.iter().zip(prepared.targets.iter());
                let targets = targets.map(|(entry, target)| (entry.path.as_path(), target.as_deref()));
                let verified = verify::verify(&ended.before, self.workspace.protocol, targets, &request);
                verified.map_err(|error| self.sides(ended, state, run).explained(error))
            };
            let done = staged.insert(self.stage_seen(&request, None, &is_seen, run)?);
            Ok(std::mem::take(&mut done.report))
        })?;
        Ok(match staged {
            Some(staged) => Staged { report, ..staged },
            None => Staged { id: None, expires: None, report, overlaps: Vec::new() },
        })
    }

    /// What explains a conflict of a program that has ended.
    fn sides<'a>(&'a self, ended: &'a EndedProgram<'_>, state: &'a StateFolder, run: Run<'a>) -> ConflictSides<'a> {
        let EndedProgram { view, before, committed, .. } = ended;
        ConflictSides { engine: self, state, view, before, committed, run }
    }

    /// Runs a program, and passes what it did on.
    fn of_program(
        &self,
        program: &Program,
        run: Run<'_>,
        then: impl FnOnce(&EndedProgram<'_>, &StateFolder, &mut Vec<String>) -> Result<Report>,
    ) -> Result<Report> {
        self.check_allowed(program.check.as_ref())?;
        if program.command.is_empty() {
            return Err(Error::new(ErrorKind::ValidationFailed, "a command names a program"));
        }
        let mut findings = Findings::new();
        validate::check_about(&program.asked(), &mut findings);
        findings.finish()?;
        let (found, mut warnings) = (self.found()?, Vec::new());
        if program.dry_run {
            self.check_whole(&found)?;
        } else {
            self.recover_own(&found, &mut warnings, run)?;
        }
        if let Some(report) = self.keyed_in_time(&program.asked(), &mut warnings, run)? {
            return retry::telling(Ok(report), warnings);
        }
        let state = StateFolder::ensure(&self.workspace, found)?;
        let done = self.ended(program, &state, run).and_then(|ended| {
            let report = then(&ended, &state, &mut warnings)?;
            Ok(Report { program: Some(Box::new(ended.run)), ..report })
        });
        match done {
            Ok(mut report) => {
                report.warnings.splice(0..0, warnings);
                Ok(report)
            }
            // Another one with its key may have been at work meanwhile, and have made the very changes that are in the way.
            Err(error) if is_by_others(&error) => match self.keyed_in_time(&program.asked(), &mut warnings, run) {
                Ok(Some(report)) => retry::telling(Ok(report), warnings),
                _ => Err(as_seen(error, &state).warning_of(warnings)),
            },
            Err(error) => Err(as_seen(error, &state).warning_of(warnings)),
        }
    }

    /// Refuses a folder that is none of the workspace's.
    fn check_folder(&self, folder: &Path) -> Result<()> {
        if folder.as_os_str().is_empty() || self.workspace.find_folder(&self.workspace.root, folder)?.is_some() {
            return Ok(());
        }
        let message = format!("{} is not a folder of the workspace in which a program can start", folder.display());
        Err(Error::new(ErrorKind::ValidationFailed, message).at(folder))
    }

    /// Runs a program to its end, and looks at what it did.
    fn ended<'s>(&self, program: &Program, state: &'s StateFolder, run: Run<'_>) -> Result<EndedProgram<'s>> {
        let selection = ProgramSelection::new(program)?;
        self.check_folder(&program.folder)?;
        let real = self.real_paths()?;
        let committed = CommittedBefore::list(state)?;
        let before = before_view(state, &real, run.cancel)?;
        let mut view = self.make_view(state, &real, OrElse::Copy, run.cancel)?.map_err(|why| {
            let message = format!("a program can only be run in a view, and there is none here: {why}");
            Error::new(ErrorKind::NoView, message).at(self.root()).with_next([NextStep::Doctor])
        })?;
        let mut ran = run_in(&view, program, run)?;
        view.end()?;
        let has_started = view.has_started()?;
        if !has_started {
            ran.ended.verdict = Verdict::Failed("could not be started".to_owned());
        }
        let is_kept = ran.ended.verdict == Verdict::Passed || has_started && program.keep_on_failure;
        if !is_kept || ran.ended.verdict == Verdict::Cancelled {
            return Err(failed(ran));
        }
        let mut collector = Collector::new(self, &view, &before, selection, run.cancel);
        collector.collect()?;
        if !collector.conflicts.is_empty() {
            let sides = ConflictSides { engine: self, state, view: &view, before: &before, committed: &committed, run };
            return Err(sides.explained(conflict(collector.conflicts)));
        }
        ran.changed_meanwhile = collector.changed_meanwhile(&real)?;
        ran.left_out = collector.left_out;
        let request = Request { files: collector.files, ..program.asked() };
        Ok(EndedProgram { view, before, committed, request, run: ran })
    }
}

/// Returns whether an error is about what somebody else may have changed meanwhile.
fn is_by_others(error: &Error) -> bool {
    use ErrorKind as K;
    let is_clean = error.outcome() == Outcome::Unchanged && error.kept().is_empty();
    is_clean
        && matches!(
            error.kind(),
            K::ConcurrentModification | K::HashMismatch | K::FileNotFound | K::FileExists | K::LockTimeout
        )
}

/// An error about a file of a view, by the path that the file has in the workspace.
fn as_seen(error: Error, state: &StateFolder) -> Error {
    let in_views = error.path().and_then(|path| path.strip_prefix(state.folder.path().join(VIEWS)).ok());
    // The first names are those of the view and of its layer.
    let seen: PathBuf = in_views.map(|path| path.iter().skip(2).collect()).unwrap_or_default();
    if seen.as_os_str().is_empty() {
        return error;
    }
    let inner = error.path().map(|path| path.display().to_string()).unwrap_or_default();
    error.reworded(|message| message.replace(&inner, &seen.display().to_string())).at(seen)
}

/// Runs a program to its end.
fn run_in(view: &WorkspaceView<'_>, program: &Program, run: Run<'_>) -> Result<ProgramRun> {
    let held = view.held()?;
    let call = ProgramCall {
        command: &program.command,
        view: &view.view,
        folder: &program.folder,
        held: held.as_ref().map(std::os::fd::AsFd::as_fd),
        limit: program.limit.unwrap_or(Duration::MAX),
        streams: program.streams,
    };
    let output = |bytes: &[u8]| run.observer.check_output(bytes);
    let ran = process::run_in_view(&call, run.cancel, &output);
    let (ended, left_behind) = ran.map_err(|e| {
        let message = format!("the program `{}`: could not be run: {e}", shown(&program.command));
        Error::new(ErrorKind::ProgramFailed, message)
    })?;
    Ok(ProgramRun {
        command: shown(&program.command),
        ended,
        place: view.place(),
        left_behind,
        left_out: LeftOut::default(),
        changed_meanwhile: Dropped::default(),
    })
}

/// The error of a program that failed, or was stopped.
fn failed(run: ProgramRun) -> Error {
    let ProgramRun { command, ended, .. } = &run;
    let kind = if ended.verdict == Verdict::Cancelled { ErrorKind::Cancelled } else { ErrorKind::ProgramFailed };
    let message = format!("the program `{command}`: {}; what it did was discarded", ended.verdict.words());
    Error::new(kind, message).detail(Detail::Program(Box::new(run)))
}

/// The error where others changed files that the program changed, too.
fn conflict(conflicts: Vec<Conflict>) -> Error {
    let files = if conflicts.len() == 1 { "file" } else { "files" };
    let message = format!(
        "others changed {} {files} that the program changed, too, while it ran; what it did was discarded",
        conflicts.len()
    );
    let first = conflicts.first().map(|conflict| conflict.path.clone());
    let error = Error::new(ErrorKind::ConcurrentModification, message).detail(Detail::Conflicts(conflicts));
    let error = error.with_next([NextStep::RunAgain]);
    first.into_iter().fold(error, Error::at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Journals contain it: if this fails, keys of older versions are no longer recognised.
    #[test]
    fn the_digest_of_a_program_stays_the_same_from_version_to_version() {
        let program = Program {
            folder: "sub".into(),
            ignored: true,
            globs: vec!["*.rs".into()],
            ..Program::new(["cargo", "fmt"].map(Into::into).to_vec())
        };
        let expected = "b46da3091cca43cc67c8f77908dab243ef286380b010345a41cb3e6457e8c8a4";
        assert_eq!(program.digest("k").to_hex(), expected);
    }
}
