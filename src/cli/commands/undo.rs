//! `txedit undo [ID]`, `txedit undo --since`, `--last`, `--session` and `--campaign`, and `txedit redo [ID]`.

use super::transact;
use crate::cli::args::{RedoArgs, RevertArgs, UndoArgs};
use crate::cli::failure::Failure;
use crate::cli::ids;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::engine::UndoOptions;
use crate::engine::ids::IdScope;
use crate::error::Result;

pub(super) fn run(args: &UndoArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let (engine, how) = (options.engine()?, how(&args.how));
    let id = ids::meant_if_any(args.id.as_deref(), IdScope::CommittedOrOpen, &engine)?;
    let since = args.since.as_ref().map(|since| ids::meant_or_time(since, &engine)).transpose()?;
    let report = transact::watched(options, |run| match (&since, args.last, &args.session, &args.campaign) {
        (Some(since), ..) => engine.undo_since(since, &|_, _| true, &how, run),
        (_, Some(count), ..) => engine.undo_last(count, &how, run),
        (_, _, Some(session), _) => engine.undo_session(session, &how, run),
        (.., Some(campaign)) => engine.undo_campaign(campaign, &how, run),
        (None, None, None, None) => engine.undo_with(id.as_deref(), &how, run),
    })?;
    Ok(transact::answer_without_request(&report, "undone by", options)?)
}

pub(super) fn redo(args: &RedoArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let (engine, how) = (options.engine()?, how(&args.how));
    let id = ids::meant_if_any(args.id.as_deref(), IdScope::Committed, &engine)?;
    let report = transact::watched(options, |run| engine.redo(id.as_deref(), &how, run))?;
    Ok(transact::answer_without_request(&report, "redone by", options)?)
}

fn how(args: &RevertArgs) -> UndoOptions {
    UndoOptions { dry_run: args.dry_run, rebase: args.rebase, check: None }
}
