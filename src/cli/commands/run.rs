//! `txedit run CMD…`: a program in a view, and what it did as one transaction.

use std::path::PathBuf;

use super::pick::Picking;
use super::{review, transact};
use crate::check::{Dropped, ProgramRun, Streams, Verdict};
use crate::cli::args::RunArgs;
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, seconds};
use crate::cli::output::{Answer, NAME, NOTE, count, styled};
use crate::cli::report;
use crate::cli::review::Asking;
use crate::engine::Engine;
use crate::engine::program::Program;
use crate::engine::report::Staged;
use crate::path::{listed, shown};
use crate::request::Request;
use crate::wire;
use crate::wire::open::StagedJson;

/// The number of files that a note names.
const NAMED: usize = 5;

pub(super) fn run(args: &RunArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    transact::check_again(args.key.again, args.key.idempotency_key.as_deref())?;
    let engine = options.engine()?;
    let mut program = program(args, &engine, options)?;
    if args.pick.pick {
        return pick(args, &mut program, &engine, options);
    }
    if args.stage {
        return stage(&engine, &program, options);
    }
    let report = transact::unwatched(options, |run| engine.run_program(&program, run))?;
    let (text, done) = (report::for_people(&report, "committed", options), transact::done(&report, "committed"));
    let mut notes: Vec<String> = report.program.as_deref().into_iter().flat_map(notes).collect();
    notes.extend(report::notes(&report, options));
    // What is printed as output is the program's, unless an answer is asked for.
    let text = if report.dry_run {
        text
    } else {
        notes.push(text.trim_end().to_owned());
        String::new()
    };
    let answer = if options.json {
        Answer::new(&wire::success_multi(&report, &Request::default()), text)?
    } else {
        Answer::for_people(text)
    };
    let answer = transact::showing_changes(answer, &report, options);
    Ok(answer.noting(notes).having_done(done))
}

/// Opens a transaction. Its id is all that is printed as output.
fn stage(engine: &Engine, program: &Program, options: &CommonOptions) -> Result<Answer, Failure> {
    let staged = transact::unwatched(options, |run| engine.stage_program(program, run))?;
    let Staged { id, expires, report, .. } = &staged;
    let text = id.as_ref().map_or_else(String::new, |id| format!("{}\n", styled(NAME, id)));
    let mut notes: Vec<String> = report.program.as_deref().into_iter().flat_map(notes).collect();
    notes.extend(report::notes(report, options));
    notes.extend(super::open::overlap_notes(&staged.overlaps));
    notes.push(match expires {
        Some(time) => format!("nothing is changed before the commit; open until {time}"),
        None => "the program changed nothing; no transaction was opened".to_owned(),
    });
    let done = id.as_ref().map(|id| format!("opened {id}"));
    Ok(Answer::new(&StagedJson::new(&staged, &Request::default()), text)?.noting(notes).having_done(done))
}

/// Commits what somebody takes of its changes.
fn pick(args: &RunArgs, program: &mut Program, engine: &Engine, options: &CommonOptions) -> Result<Answer, Failure> {
    review::refuse_with_pick(&[
        ("--dry-run", args.dry_run),
        ("--stage", args.stage),
        ("--idempotency-key", args.key.idempotency_key.is_some()),
        ("--again", args.key.again),
        ("--campaign", args.campaign.is_some()),
    ])?;
    let mut asking = Asking::on_input()?;
    let staged = if asking.is_on_terminal() {
        program.streams = Streams::InheritedErrors;
        transact::unwatched(options, |run| engine.stage_program(program, run))?
    } else {
        // What stands there are the answers, which the program must not read.
        program.streams = Streams::Joined;
        transact::watched(options, |run| engine.stage_program(program, run))?
    };
    let notes = staged.report.program.as_deref().into_iter().flat_map(notes).collect();
    let picking = Picking { engine, args: &args.pick, check: None, undo: None, options };
    picking.of_staged(staged, notes, &mut asking)
}

fn program(args: &RunArgs, engine: &Engine, options: &CommonOptions) -> Result<Program, Failure> {
    let excluded = args.exclude.iter().map(|glob| format!("!{glob}"));
    let has_answer = options.json || args.dry_run || args.stage;
    let mut program = Program::new(args.command.clone());
    // It starts where it was called, if that is in the workspace.
    program.folder = options.current.strip_prefix(engine.root()).map_or_else(|_| PathBuf::new(), PathBuf::from);
    program.limit = args.timeout.map(|limit| seconds("--timeout", limit)).transpose()?;
    program.streams = if has_answer { Streams::InheritedErrors } else { Streams::Inherited };
    program.keep_on_failure = args.keep_on_failure;
    program.ignored = args.ignored;
    program.globs = args.only.iter().cloned().chain(excluded).collect();
    program.dry_run = args.dry_run;
    program.verbose = options.verbose;
    program.label.clone_from(&args.label);
    program.campaign.clone_from(&args.campaign);
    program.idempotency_key.clone_from(&args.key.idempotency_key);
    program.again = args.key.again;
    Ok(program)
}

/// What is to be said about the run of a program, beside the changes that were committed.
fn notes(run: &ProgramRun) -> Vec<String> {
    let noted = |dropped: &Dropped, kind: &str, what: &str| {
        let mut names: Vec<String> = dropped.paths.iter().take(NAMED).map(|path| shown(path)).collect();
        names.extend((dropped.count > names.len()).then(|| "…".to_owned()));
        let files = count(dropped.count, kind);
        (dropped.count > 0).then(|| format!("{} {files} {what}: {}", styled(NOTE, "note:"), names.join(", ")))
    };
    let files = |dropped: &Dropped, what: &str| noted(dropped, "file", what);
    let left_out = &run.left_out;
    let verdict = &run.ended.verdict;
    let failed = (*verdict != Verdict::Passed)
        .then(|| report::warning_of(&format!("the program failed ({}), and its changes are kept", verdict.words())));
    let behind = (!run.left_behind.is_empty()).then(|| {
        let processes = listed(&run.left_behind);
        report::warning_of(&format!("the program left processes behind, which were ended: {processes}"))
    });
    [
        files(&left_out.ignored, "that a .gitignore names left out (--ignored takes them)"),
        files(&left_out.excluded, "excluded"),
        files(&left_out.version_control, "of version control left out"),
        files(&left_out.special, "left out, since they are pipes, sockets or devices"),
        files(&left_out.folder_modes, "left out of those that are folders: they keep their mode"),
        noted(&left_out.folder_metadata, "new folder", "made without the owner and attributes that the program gave"),
        noted(&left_out.file_metadata, "file", "left with the owner and attributes that it had: a copy has neither"),
        files(&left_out.in_the_way, "left out, since a folder stays in their place that has something left out"),
        files(&run.changed_meanwhile, "changed meanwhile, which the program may have read before that"),
        behind,
        failed,
    ]
    .into_iter()
    .flatten()
    .collect()
}
