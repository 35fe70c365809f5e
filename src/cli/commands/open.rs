//! `txedit stage`, `preview`, `commit` and `rollback`: transactions over several calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::apply::{Input, explained};
use super::transact;
use crate::cli::args::{CommitArgs, OpenArgs, StageArgs};
use crate::cli::failure::Failure;
use crate::cli::ids;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, NAME, diff, styled};
use crate::cli::report;
use crate::engine::ids::IdScope;
use crate::engine::report::{Overlap, Report, Staged};
use crate::error::Result;
use crate::path::{listed, shown};
use crate::request::Request;
use crate::wire::history::DoneJson;
use crate::wire::{Shape, open};

pub(super) fn stage(args: &StageArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let input = Input::read(&args.input, options)?;
    if input.is_nothing() {
        return Ok(nothing(Report { dry_run: args.input.dry_run, ..Report::default() }, options)?);
    }
    let Input { mut request, patch, .. } = input;
    request.dry_run |= args.input.dry_run;
    let staged = options.engine().and_then(|engine| {
        let id = ids::meant_if_any(args.transaction.as_deref(), IdScope::Open, &engine)?;
        transact::watched(options, |run| engine.stage(&request, id.as_deref(), run))
    });
    let staged = match staged {
        Ok(staged) => staged,
        Err(error) => return Err(explained(Failure::of(request, Shape::Multi)(error), patch.as_ref())),
    };
    let mut text = match &staged.id {
        Some(id) => format!("{}\n", styled(NAME, id)),
        None => report::for_people(&staged.report, "", options),
    };
    if options.verbose && staged.id.is_some() {
        staged
            .report
            .files
            .iter()
            .for_each(|file| text.push_str(&diff(file.extras.diff.as_deref().unwrap_or_default())));
    }
    let mut notes = report::notes(&staged.report, options);
    notes.extend(overlap_notes(&staged.overlaps));
    notes.extend(staged.expires.iter().map(|time| format!("nothing is changed before the commit; open until {time}")));
    let verb = if args.transaction.is_some() { "staged in" } else { "opened" };
    let done = staged.id.as_ref().map(|id| format!("{verb} {id}"));
    Ok(Answer::new(&open::StagedJson::new(&staged, &request), text)?.noting(notes).having_done(done))
}

/// The answer to a report of a tool that found nothing to fix: no transaction is opened.
fn nothing(report: Report, options: &CommonOptions) -> Result<Answer> {
    let text = report::for_people(&report, "", options);
    let staged = Staged { id: None, expires: None, report, overlaps: Vec::new() };
    let notes = report::notes(&staged.report, options);
    Ok(Answer::new(&open::StagedJson::new(&staged, &Request::default()), text)?.noting(notes))
}

/// A warning for each other open transaction, with the first of the files that both have.
pub(super) fn overlap_notes(overlaps: &[Overlap]) -> impl Iterator<Item = String> {
    let mut shared: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for Overlap { id, owner, path } in overlaps {
        shared.entry((id, owner)).or_default().push(shown(path));
    }
    shared.into_iter().map(|((id, owner), paths)| {
        let verb = if paths.len() == 1 { "is" } else { "are" };
        let paths = listed(&paths);
        report::warning_of(&format!("{paths} {verb} also in open transaction {id}, of {owner}"))
    })
}

pub(super) fn preview(args: &OpenArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let id = ids::meant(&args.id, IdScope::Open, &engine)?;
    let preview = transact::watched(options, |run| engine.preview(&id, run))?;
    let text = report::for_people(&preview.report, "", options);
    let mut notes = report::notes(&preview.report, options);
    notes.push(format!("plan hash {}", preview.plan_hash));
    let answer = Answer::new(&open::PreviewJson::from(&preview), text)?;
    Ok(transact::showing_changes(answer, &preview.report, options).noting(notes))
}

pub(super) fn commit(args: &CommitArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let id = ids::meant(&args.id, IdScope::Open, &engine)?;
    let report = transact::watched(options, |run| engine.commit_staged(&id, args.plan_hash, None, run))?;
    Ok(transact::answer_without_request(&report, "committed", options)?)
}

pub(super) fn roll_back(args: &OpenArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let id = ids::meant(&args.id, IdScope::Open, &engine)?;
    let warnings = transact::watched(options, |run| engine.roll_back(&id, run))?;
    let mut text = String::new();
    let _ = writeln!(text, "discarded {}; no file was changed", styled(NAME, &id));
    let notes: Vec<_> = warnings.iter().map(|warning| report::warning_of(warning)).collect();
    let answer = Answer::new(&DoneJson::warning_of(warnings), text)?.noting(notes);
    Ok(answer.having_done(Some(format!("discarded {id}"))))
}
