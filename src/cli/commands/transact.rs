//! The common part of commands that change files: progress, cancellation, the report.

use std::path::Path;

use crate::cancel::CancelToken;
use crate::check::Check;
use crate::cli::args::TransactionArgs;
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::Answer;
use crate::cli::progress::CallProgress;
use crate::cli::{exit, report, signals};
use crate::engine::report::Report;
use crate::engine::tree::ListedEntry;
use crate::engine::{Engine, Run};
use crate::error::{Correction, Detail, Error, ErrorKind, NextStep, Result};
use crate::path::shown;
use crate::request::validate::{self, PathRule};
use crate::request::{FileRequest, Request};
use crate::wire::{self, Shape};

/// Applies a request. A failure is told in this shape.
pub(super) fn apply(mut request: Request, shape: Shape, options: &CommonOptions) -> Result<Answer, Failure> {
    request.check = allowed_check(request.check.take(), options)?;
    let done = options.engine().and_then(|engine| watched(options, |run| engine.apply(&request, run)));
    match done {
        Ok(report) => Ok(answer(&report, &request, "committed", options)?),
        Err(error) => Err(Failure::of(request, shape)(error)),
    }
}

/// Applies the changes that a command made of its arguments, with absolute paths.
pub(super) fn make(
    files: Vec<FileRequest>,
    args: &TransactionArgs,
    shape: Shape,
    options: &CommonOptions,
) -> Result<Answer, Failure> {
    let (label, campaign) = (args.label.clone(), args.campaign.clone());
    let request = Request { files, label, campaign, dry_run: args.dry_run, ..Request::default() };
    match validate::check(&request, PathRule::Absolute) {
        Ok(()) => apply(request, shape, options),
        Err(error) => Err(Failure::of(request, shape)(error)),
    }
}

/// What is at a path of the command line, and in it. The root itself is refused: it is neither moved nor deleted.
pub(super) fn part_of(engine: &Engine, path: &Path) -> Result<Vec<ListedEntry>> {
    if engine.root().starts_with(path) {
        return Err(usage("PATH", format!("{} is the root, or has it in it, and stays where it is", shown(path))));
    }
    engine.tree(path)
}

/// The failure with the way out where a file is there already, and the command could replace it.
pub(super) fn or_force(mut failure: Failure, forced: bool) -> Failure {
    let is_there = match failure.error.details() {
        Detail::Findings(findings) => findings.iter().any(|finding| finding.kind == ErrorKind::FileExists),
        _ => failure.error.kind() == ErrorKind::FileExists,
    };
    if is_there && !forced {
        failure.error = failure.error.with_next([NextStep::Correct(Correction::Force)]);
    }
    failure
}

/// The check that a plan names, if it may be run.
pub(super) fn allowed_check(asked: Option<Check>, options: &CommonOptions) -> Result<Option<Check>> {
    match asked {
        Some(asked) if !options.allow_checks => Err(not_allowed(&asked.shown())),
        asked => Ok(asked.map(|asked| Check { limit: options.check_limit, ..asked })),
    }
}

/// The error for a check in a plan, which is a command of whoever wrote the plan.
fn not_allowed(command: &str) -> Error {
    let message = format!(
        "the plan names a check, `{command}`, which would be run with all your rights: allow it with --allow-checks, or \
         take it out of the plan and give one of your own with --check"
    );
    Error::new(ErrorKind::ChecksNotAllowed, message)
}

/// Refuses to make again what has no key to be known by.
pub(super) fn check_again(again: bool, key: Option<&str>) -> Result<()> {
    if again && key.is_none() {
        return Err(usage("--again", "there is no idempotency key whose change could be made again"));
    }
    Ok(())
}

/// Makes a call with a progress bar; signals cancel it.
pub(super) fn watched<T>(options: &CommonOptions, call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    watched_by(&CallProgress::start(options.quiet), options, call)
}

/// The same without a progress bar: the terminal is another program's.
pub(super) fn unwatched<T>(options: &CommonOptions, call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    watched_by(&CallProgress::start(true), options, call)
}

fn watched_by<T>(
    progress: &CallProgress,
    options: &CommonOptions,
    call: impl FnOnce(Run<'_>) -> Result<T>,
) -> Result<T> {
    cancelled_by(&signals::cancel_token()?, progress, options, call)
}

/// Makes a call with a progress bar, which this token cancels.
pub(super) fn watched_until<T>(
    cancel: &CancelToken,
    options: &CommonOptions,
    call: impl FnOnce(Run<'_>) -> Result<T>,
) -> Result<T> {
    cancelled_by(cancel, &CallProgress::start(options.quiet), options, call)
}

fn cancelled_by<T>(
    cancel: &CancelToken,
    progress: &CallProgress,
    options: &CommonOptions,
    call: impl FnOnce(Run<'_>) -> Result<T>,
) -> Result<T> {
    let run = Run::default().cancelled_by(cancel).observed_by(progress);
    // An answer for scripts has diffs of its own.
    call(if options.json { run } else { run.with_patch() })
}

/// The answer for the report of a request; `verb` stands before the transaction's id.
pub(super) fn answer(report: &Report, request: &Request, verb: &str, options: &CommonOptions) -> Result<Answer> {
    let text = report::for_people(report, verb, options);
    let answer =
        if options.json { Answer::new(&wire::success_multi(report, request), text)? } else { Answer::for_people(text) };
    let answer = showing_changes(answer, report, options);
    let status = if report.nothing_to_do { exit::NOTHING_TO_DO } else { exit::DONE };
    Ok(answer.noting(report::notes(report, options)).having_done(done(report, verb)).exiting(status))
}

/// The answer with the changes that would be made, where it tells them.
pub(super) fn showing_changes(answer: Answer, report: &Report, options: &CommonOptions) -> Answer {
    let raw = report::raw(report, options);
    if report.dry_run { Answer { raw, ..answer }.paged() } else { answer }
}

/// The change that this call made, if any.
pub(super) fn done(report: &Report, verb: &str) -> Option<String> {
    report.transaction.as_ref().filter(|_| !report.already_applied).map(|id| format!("{verb} {id}"))
}

/// The answer for a report without a request, where the engine chose the changes.
pub(super) fn answer_without_request(report: &Report, verb: &str, options: &CommonOptions) -> Result<Answer> {
    answer(report, &Request::default(), verb, options)
}
