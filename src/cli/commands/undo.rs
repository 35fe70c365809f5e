//! `txedit undo [ID]`, `txedit undo --since`, `--last`, `--session` and `--campaign`, and `txedit redo [ID]`.

use super::pick::{self, PickedUndo, Picking};
use super::{review, transact};
use crate::cli::args::{PickArgs, RedoArgs, RevertArgs, UndoArgs};
use crate::cli::failure::Failure;
use crate::cli::ids;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::cli::review::Asking;
use crate::engine::ids::IdScope;
use crate::engine::report::Report;
use crate::engine::{Engine, Run, UndoOptions};
use crate::error::Result;

pub(super) fn run(args: &UndoArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let (engine, how) = (options.engine()?, how(&args.how));
    let id = ids::meant_if_any(args.id.as_deref(), IdScope::CommittedOrOpen, &engine)?;
    let since = args.since.as_ref().map(|since| ids::meant_or_time(since, &engine)).transpose()?;
    let undo = |how: &UndoOptions, run: Run<'_>| match (&since, args.last, &args.session, &args.campaign) {
        (Some(since), ..) => engine.undo_since(since, &|_, _| true, how, run),
        (_, Some(count), ..) => engine.undo_last(count, how, run),
        (_, _, Some(session), _) => engine.undo_session(session, how, run),
        (.., Some(campaign)) => engine.undo_campaign(campaign, how, run),
        (None, None, None, None) => engine.undo_with(id.as_deref(), how, run),
    };
    if args.pick.pick {
        review::refuse_with_pick(&[("--dry-run", args.how.dry_run)])?;
        return pick(&undo, &how, &args.pick, &engine, options);
    }
    let report = transact::watched(options, |run| undo(&how, run))?;
    Ok(transact::answer_without_request(&report, "undone by", options)?)
}

/// Undoes what somebody takes of it: all of it as one undo, or a part as a transaction like any other.
fn pick(
    undo: &dyn Fn(&UndoOptions, Run<'_>) -> Result<Report>,
    how: &UndoOptions,
    args: &PickArgs,
    engine: &Engine,
    options: &CommonOptions,
) -> Result<Answer, Failure> {
    let tried = UndoOptions { dry_run: true, ..how.clone() };
    let report = transact::watched(options, |run| undo(&tried, run.with_patch()))?;
    if report.files.is_empty() {
        return Ok(transact::answer_without_request(&report, "undone by", options)?);
    }
    let request = pick::request_of_undo(&report)?;
    let mut asking = Asking::on_input()?;
    let by_plan = UndoOptions { plan_hash: report.plan_hash, ..how.clone() };
    let make = |run: Run<'_>| undo(&by_plan, run);
    let picked = PickedUndo { tried: &report, make: &make };
    Picking { engine, args, check: None, undo: Some(picked), options }.of_request(request, &mut asking)
}

pub(super) fn redo(args: &RedoArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let (engine, how) = (options.engine()?, how(&args.how));
    let id = ids::meant_if_any(args.id.as_deref(), IdScope::Committed, &engine)?;
    let report = transact::watched(options, |run| engine.redo(id.as_deref(), &how, run))?;
    Ok(transact::answer_without_request(&report, "redone by", options)?)
}

fn how(args: &RevertArgs) -> UndoOptions {
    UndoOptions { dry_run: args.dry_run, rebase: args.rebase, ..UndoOptions::default() }
}
