//! The common part of commands that change files: progress, cancellation, the report.

use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::cli::progress::CallProgress;
use crate::cli::{report, signals};
use crate::engine::Run;
use crate::engine::report::Report;
use crate::error::{Error, ErrorKind, Result};
use crate::request::Request;
use crate::wire::{self, Shape};

/// Applies a request. A failure is told in this shape.
pub(super) fn apply(mut request: Request, shape: Shape, options: &CommonOptions) -> Result<Answer, Failure> {
    if let Some(asked) = &mut request.check {
        if !options.allow_checks {
            return Err(not_allowed(&asked.shown()).into());
        }
        asked.limit = options.check_limit;
    }
    let done = options.engine().and_then(|engine| watched(options, |run| engine.apply(&request, run)));
    match done {
        Ok(report) => Ok(answer(&report, &request, "committed", options)?),
        Err(error) => Err(Failure::of(request, shape)(error)),
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

/// Makes a call with a progress bar; signals cancel it.
pub(super) fn watched<T>(options: &CommonOptions, call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    watched_by(&CallProgress::start(options.quiet), call)
}

/// The same without a progress bar: the terminal is another program's.
pub(super) fn unwatched<T>(call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    watched_by(&CallProgress::start(true), call)
}

fn watched_by<T>(progress: &CallProgress, call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    let cancel = signals::cancel_token()?;
    call(Run::default().cancelled_by(&cancel).observed_by(progress))
}

/// The answer for the report of a request; `verb` stands before the transaction's id.
pub(super) fn answer(report: &Report, request: &Request, verb: &str, options: &CommonOptions) -> Result<Answer> {
    let text = report::for_people(report, verb, options);
    let answer =
        if options.json { Answer::new(&wire::success_multi(report, request), text)? } else { Answer::for_people(text) };
    Ok(answer.noting(report::notes(report, options)).having_done(done(report, verb)))
}

/// The change that this call made, if any.
pub(super) fn done(report: &Report, verb: &str) -> Option<String> {
    report.transaction.as_ref().filter(|_| !report.already_applied).map(|id| format!("{verb} {id}"))
}

/// The answer for a report without a request, where the engine chose the changes.
pub(super) fn answer_without_request(report: &Report, verb: &str, options: &CommonOptions) -> Result<Answer> {
    answer(report, &Request::default(), verb, options)
}
