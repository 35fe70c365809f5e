//! `txedit replace PATTERN REPLACEMENT [PATH…]`.

use std::fmt::Write as _;

use super::pick::Picking;
use super::{review, transact};
use crate::cli::args::ReplaceArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, HEADING, NAME, count, styled};
use crate::cli::review::Asking;
use crate::cli::{exit, report};
use crate::engine::report::Report;
use crate::engine::{Engine, Run};
use crate::error::Result;
use crate::fs::walk::SearchTree;
use crate::path::shown;
use crate::replace::{self, Query, ReplaceGuard, Replacements};
use crate::request::{IfMissing, Request};
use crate::wire::{Shape, replace::Replaced};

/// The number of files that are listed unless more are asked for.
const LISTED: usize = 20;

pub(super) fn run(args: &ReplaceArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let query = Query {
        pattern: args.pattern.clone(),
        replacement: args.replacement.clone(),
        regex: args.regex,
        word: args.word,
    };
    transact::check_again(args.key.again, args.key.idempotency_key.as_deref())?;
    let engine = options.engine()?;
    let root = engine.root().to_owned();
    let is_inside = options.current.starts_with(&root);
    let tree = SearchTree {
        paths: args.paths.iter().map(|path| options.in_workspace(path)).collect(),
        base: if is_inside { options.current.clone() } else { root.clone() },
        root,
        globs: args.globs.clone(),
        hidden: args.hidden,
        bounds: engine.bounds().clone(),
    };
    let if_missing = args.if_missing.map_or(IfMissing::Fail, Into::into);
    let guard = ReplaceGuard { expected_matches: args.expected_matches, max_files: args.max_files, if_missing };
    let asked = Request {
        dry_run: args.transaction.dry_run,
        label: args.transaction.label.clone(),
        campaign: args.transaction.campaign.clone(),
        idempotency_key: args.key.idempotency_key.clone(),
        again: args.key.again,
        made_by: args.key.idempotency_key.as_deref().map(|key| replace::digest(key, &query, &tree, guard)),
        ..Request::default()
    };
    let find = |run: Run<'_>| {
        let found = replace::search(&query, &tree, guard, run.cancel)?;
        let request = Request { files: found.request.files, ..asked.clone() };
        Ok(Replacements { request, ..found })
    };
    if args.pick.pick {
        let found = transact::watched(options, find)?;
        return pick(args, found, &engine, options);
    }
    let (found, done) = transact::watched(options, |run| Ok(engine.apply_found(&asked, || find(run), run)))?;
    let found = found.unwrap_or_default();
    match done {
        Ok(mut report) => {
            report.nothing_to_do =
                if_missing == IfMissing::Skip && report.transaction.is_none() && found.files.is_empty();
            Ok(answer(&report, &found, options)?)
        }
        Err(error) => Err(Failure::of(found.request, Shape::Multi)(error.without_encodings())),
    }
}

/// Makes those of the replacements that somebody takes.
fn pick(args: &ReplaceArgs, found: Replacements, engine: &Engine, options: &CommonOptions) -> Result<Answer, Failure> {
    let Request { dry_run, campaign, idempotency_key, again, .. } = &found.request;
    review::refuse_with_pick(&[
        ("--dry-run", *dry_run),
        ("--idempotency-key", idempotency_key.is_some()),
        ("--again", *again),
        ("--campaign", campaign.is_some()),
    ])?;
    if found.files.is_empty() {
        let report = Report { nothing_to_do: true, ..Report::default() };
        return Ok(answer(&report, &found, options)?);
    }
    let picking = Picking { engine, args: &args.pick, check: None, undo: None, options };
    picking.of_request(found.request, &mut Asking::on_input()?)
}

fn answer(report: &Report, found: &Replacements, options: &CommonOptions) -> Result<Answer> {
    let json = Replaced::new(report, found);
    let mut text = String::new();
    let extent = format!(
        "{} in {}",
        count(found.matches(), "match").replace("matchs", "matches"),
        count(found.files.len(), "file")
    );
    if report.dry_run || report.already_applied {
        text = report::for_people(report, "committed", options);
    } else {
        let _ = match &report.transaction {
            Some(id) => writeln!(text, "committed {}: {extent}", styled(NAME, id)),
            None => writeln!(text, "nothing to change: {extent}"),
        };
        if options.verbose || found.files.len() <= LISTED {
            for (path, matches) in &found.files {
                let _ = writeln!(text, "  {matches:6}  {}", styled(HEADING, shown(options.shown(path))));
            }
        }
    }
    let mut notes = report::notes(report, options);
    notes.extend(found.warnings.iter().map(|warning| format!("not searched: {warning}")));
    if found.binary > 0 {
        notes.push(format!("{} skipped", count(found.binary, "binary file")));
    }
    let answer = Answer::new(&json, text)?;
    let answer = transact::showing_changes(answer, report, options);
    let status = if report.nothing_to_do { exit::NOTHING_TO_DO } else { exit::DONE };
    Ok(answer.noting(notes).having_done(transact::done(report, "committed")).exiting(status))
}
