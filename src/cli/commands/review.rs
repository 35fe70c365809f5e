//! `txedit review [ID]`: an open transaction, decided on change by change.

#[cfg(feature = "web")]
mod web;

use std::fmt::Write as _;

use super::transact;
use crate::check::Check;
use crate::cli::args::{RestArg, ReviewArgs};
use crate::cli::failure::Failure;
use crate::cli::ids;
use crate::cli::next_step::command;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::{Answer, NAME, count, styled};
use crate::cli::report;
use crate::cli::review::{Asking, ReviewCall, ReviewEnd, ReviewEnding, TakenShare};
use crate::engine::ids::IdScope;
use crate::engine::report::{OpenTransaction, Report};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Finding, NextStep, Result};
use crate::path::one_line;
use crate::wire::review::{DecidedJson, ReviewedJson};

pub(super) fn run(args: &ReviewArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    #[cfg(feature = "web")]
    if args.web {
        if options.json {
            return Err(usage("--web", "a page is no JSON: leave out one of --web and --json").into());
        }
        return web::run(args.port, options);
    }
    let engine = options.engine()?;
    let id = match &args.id {
        Some(id) => ids::meant(id, IdScope::Open, &engine)?,
        None => only_open(&engine)?,
    };
    let mut asking = Asking::on_input()?;
    let keeps_rest = args.rest.map(keeps);
    let call = ReviewCall { engine: &engine, id: &id, keeps_rest, is_own: false, options };
    let end = call.ask(&mut asking).map_err(|error| call.explained(error))?;
    let done = carry_out(call, end, None, &asking).map_err(|error| call.explained(error))?;
    Ok(answer(&done, options)?)
}

/// Returns whether what is not taken stays open.
pub(super) fn keeps(rest: RestArg) -> bool {
    rest == RestArg::Keep
}

/// The only open transaction.
fn only_open(engine: &Engine) -> Result<String> {
    let mut open = engine.open_transactions(None)?;
    open.retain(|one| !one.is_expired);
    match &open[..] {
        [one] => Ok(one.id.clone()),
        [] => {
            let message = "no transaction is open, so there is nothing to review";
            Err(Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::Status]))
        }
        several => Err(Error::findings(several.iter().map(named).collect())),
    }
}

/// One of several transactions, with what to type for it.
fn named(open: &OpenTransaction) -> Finding {
    let label = open.label.as_ref().map_or_else(String::new, |label| format!(", {}", one_line(label)));
    let what = format!("{}{label}, by {}", count(open.files.len(), "file"), one_line(&open.owner));
    let message =
        format!("several are open, and this is one of them: {what}: {}", command(&format!("review {}", open.id)));
    Finding { kind: ErrorKind::ValidationFailed, message, path: vec!["ID".to_owned()], did_you_mean: None }
}

/// What came of a review.
pub(super) struct ReviewDone {
    pub(super) end: ReviewEnd,
    pub(super) report: Report,
    /// Stands before the id of what was committed.
    pub(super) verb: &'static str,
    pub(super) rest: ReviewRest,
}

/// What became of what is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReviewRest {
    /// There is none.
    None,
    /// It is in this open transaction.
    Open(String),
    Discarded,
}

/// Does what was decided in the end.
pub(super) fn carry_out(
    call: ReviewCall<'_>,
    end: ReviewEnd,
    check: Option<Check>,
    asking: &Asking,
) -> Result<ReviewDone> {
    let ReviewCall { engine, id, options, .. } = call;
    let token = asking.token();
    let (report, rest) = match end.ending {
        ReviewEnding::Commit { keeps_rest } => {
            let selection = end.selection(keeps_rest);
            let commit = |run: Run<'_>| engine.commit_selected(id, &selection, check, run);
            let committed = transact::watched_until(token, options, commit)?;
            let has_rest = end.decisions.whole_share() != TakenShare::All;
            let rest = match committed.rest {
                Some(rest) => ReviewRest::Open(rest),
                None if has_rest && !keeps_rest => ReviewRest::Discarded,
                None => ReviewRest::None,
            };
            (committed.report, rest)
        }
        ReviewEnding::Discard => {
            let warnings = transact::watched_until(token, options, |run| engine.roll_back(id, run))?;
            (Report { warnings, ..Report::default() }, ReviewRest::Discarded)
        }
        ReviewEnding::Nothing => {
            // Somebody else may have decided on it.
            engine.preview(id, Run::default().cancelled_by(token).diffs_up_to(0))?;
            (Report::default(), ReviewRest::Open(id.to_owned()))
        }
    };
    Ok(ReviewDone { end, report, verb: "committed", rest })
}

/// The answer to a review.
pub(super) fn answer(done: &ReviewDone, options: &CommonOptions) -> Result<Answer> {
    let ReviewDone { end, report, verb, rest } = done;
    let mut text = match end.ending {
        ReviewEnding::Commit { .. } => report::for_people(report, verb, options),
        ReviewEnding::Discard | ReviewEnding::Nothing => "nothing is committed, and no file was changed\n".to_owned(),
    };
    let is_whole = end.ending == ReviewEnding::Nothing;
    let what = if is_whole { "all of it" } else { "the rest" };
    // Writing to a string does not fail.
    let _ = match rest {
        ReviewRest::None => Ok(()),
        ReviewRest::Open(id) if is_whole => writeln!(text, "{what} is still open as {}", styled(NAME, id)),
        ReviewRest::Open(id) => writeln!(text, "{what} is open as {}", styled(NAME, id)),
        ReviewRest::Discarded if matches!(end.ending, ReviewEnding::Discard) => {
            writeln!(text, "what was open is discarded")
        }
        ReviewRest::Discarded => writeln!(text, "{what} is discarded"),
    };
    let (word, open) = match rest {
        ReviewRest::None => ("none", None),
        ReviewRest::Open(id) => ("open", Some(id.clone())),
        ReviewRest::Discarded => ("discarded", None),
    };
    let json = ReviewedJson::new(report, decided(end), word, open);
    let discarded = (end.ending == ReviewEnding::Discard).then(|| "discarded what was open".to_owned());
    let done = transact::done(report, verb).or(discarded);
    Ok(Answer::new(&json, text)?.noting(report::notes(report, options)).having_done(done))
}

/// What was decided of each file.
fn decided(end: &ReviewEnd) -> Vec<DecidedJson> {
    let files = end.preview.report.files.iter().enumerate();
    let decided = files.filter_map(|(index, file)| {
        let taken = match end.decisions.share(index)? {
            TakenShare::All => "all",
            TakenShare::Some => "some",
            TakenShare::Nothing => "nothing",
        };
        Some(DecidedJson::new(&file.path, taken, end.decisions.counts(index)))
    });
    decided.collect()
}

/// Refuses options that one command cannot have together with another of its options.
pub(super) fn refuse_with_pick(options: &[(&str, bool)]) -> Result<()> {
    match options.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            Err(usage("--pick", format!("what is picked is not known before, so {option} has no meaning with it")))
        }
    }
}
