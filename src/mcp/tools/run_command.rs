//! `run_command`: a program in a view, and what it did as one transaction.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::{Definition, Job};
use crate::engine::program::Program;
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::Request;
use crate::wire::tools::{Arguments, RunCommand, parse_flat};
use crate::wire::{open, success_multi};

pub(super) static RUN_COMMAND: Definition = Definition {
    name: "run_command",
    title: "Run a program, and commit what it changes",
    toolset: Toolset::Run,
    description: "Run a program in a private view of the workspace. If it succeeds, all that it changed there is \
                  committed as one transaction, for undo_transaction; if it fails, or others changed the same files \
                  meanwhile, nothing is. Use it instead of a shell for whatever changes files: formatters, codemods, \
                  sed, mv; not for edits that you can name: use multi_edit_files. No shell unless you start one: \
                  [\"sh\", \"-c\", \"…\"]. What .gitignore names is left out; what it does outside of the workspace \
                  stays. Example: {\"command\": [\"cargo\", \"fmt\"]}",
    writes: true,
    idempotent: false,
    input: schema::input::<RunCommand>,
    output: || {
        schema::output(&[
            ("transaction_id", PropertyKind::Text, "For undo_transaction; with stage, the open transaction."),
            ("files_edited", PropertyKind::Count, "Files that were changed."),
            ("file_results", PropertyKind::Objects, "One for each file."),
            ("program", PropertyKind::Object, "How it ended, its output, and what of its work was left out."),
            ("check", PropertyKind::Object, "The check that the changes passed."),
            ("context", PropertyKind::Object, "On failure: the program, or the conflicts with others."),
        ])
    },
    run: |job, arguments| match run(job, arguments) {
        Ok(answer) => answer,
        Err(error) => job.failed(&error, None),
    },
};

fn run(job: &Job<'_>, arguments: Arguments) -> Result<ToolAnswer> {
    let arguments: RunCommand = parse_flat(arguments)?;
    // Whatever becomes of the changes, the program has the rights of this server.
    job.check_writing(false)?;
    let (dry_run, opens) = (arguments.dry_run == Some(true), arguments.stage == Some(true));
    if dry_run && opens {
        return Err(refused("stage", "a dry run stages nothing: leave out one of the two"));
    }
    let program = program(job, arguments)?;
    if opens {
        let mut staged = job.engine.stage_program(&program, job.run)?;
        staged.report = staged.report.in_root(job.engine.root());
        let answer = ToolAnswer::done(&open::StagedJson::new(&staged, &Request::default()), ToolChanges::default());
        return Ok(answer.terse_unless(false).about_open(staged.id.as_deref()));
    }
    let report = job.engine.run_program(&program, job.run)?.in_root(job.engine.root());
    let answer = ToolAnswer::done(&success_multi(&report, &Request::default()), ToolChanges::of(&report));
    Ok(answer.terse_unless(dry_run))
}

fn program(job: &Job<'_>, arguments: RunCommand) -> Result<Program> {
    let RunCommand { command, folder, dry_run, stage: _, label, only, exclude, ignored, keep_on_failure, timeout } =
        arguments;
    let command = command.unwrap_or_default();
    if command.first().is_none_or(String::is_empty) {
        return Err(refused("command", "name the program and its arguments: [\"cargo\", \"fmt\"]"));
    }
    let mut program = Program::new(command.into_iter().map(OsString::from).collect());
    program.folder = folder.map(|folder| inside(job, &folder)).transpose()?.unwrap_or_default();
    let longest = job.check_limit;
    let limit = timeout.map_or(Some(longest), |seconds| Duration::try_from_secs_f64(seconds).ok());
    let limit = limit.ok_or_else(|| refused("timeout", "a time must be a number of seconds, 0 or more"))?;
    program.limit = Some(limit.min(longest));
    let excluded = exclude.into_iter().flatten().map(|glob| format!("!{glob}"));
    program.globs = only.into_iter().flatten().chain(excluded).collect();
    program.dry_run = dry_run == Some(true);
    program.ignored = ignored == Some(true);
    program.keep_on_failure = keep_on_failure == Some(true);
    program.label = label;
    Ok(program)
}

/// A folder of the workspace, relative to its root.
fn inside(job: &Job<'_>, folder: &str) -> Result<PathBuf> {
    let path = PathBuf::from(folder);
    let inside =
        if path.is_absolute() { path.strip_prefix(job.engine.root()).map(PathBuf::from).ok() } else { Some(path) };
    let is_beneath = |path: &PathBuf| path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    inside.filter(is_beneath).ok_or_else(|| refused("folder", "it must be a folder of the workspace, without `..`"))
}

fn refused(field: &str, message: &str) -> Error {
    let path = vec![field.to_owned()];
    Error::findings(vec![Finding {
        kind: ErrorKind::ValidationFailed,
        message: message.to_owned(),
        path,
        did_you_mean: None,
    }])
}
