//! `txedit delegate analyze|implement|refactor|verify`.

use std::path::PathBuf;

use super::transact;
use crate::cli::args::{AskArgs, DelegateCommand};
use crate::cli::failure::Failure;
use crate::cli::ids;
use crate::cli::options::{self, CommonOptions};
use crate::cli::output::{Answer, NAME, NOTE, count, diff, styled};
use crate::cli::report;
use crate::delegate::{
    Analyze, DelegateSettings, DelegateSuccess, Delegated, Delegation, Flags, Implement, Refactor, Task, Verify,
};
use crate::engine::Engine;
use crate::engine::ids::IdScope;
use crate::error::Result;
use crate::fs::input;
use crate::limits;

pub(super) fn run(command: &DelegateCommand, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let (task, ask) = asked(command, &engine, options)?;
    let flags = Flags {
        model: ask.model.clone(),
        timeout: ask.timeout,
        file_bytes: ask.max_file_bytes,
        prompt_bytes: ask.max_prompt_bytes,
    };
    let settings = DelegateSettings::load(&engine, &flags)?;
    let delegation = Delegation { engine: &engine, settings: &settings, check: None };
    let mut failed = None;
    let done = transact::watched(options, |run| {
        delegation.run(&task, run).map_err(|failure| {
            failed = Some((failure.request, failure.answer));
            failure.error
        })
    });
    match done {
        Ok(done) => answer(&done, options),
        Err(error) => {
            let (request, answer) = failed.unwrap_or_default();
            Err(Failure { request, answer, ..Failure::from(error) })
        }
    }
}

/// The task, and the arguments that all tasks share.
fn asked<'a>(command: &'a DelegateCommand, engine: &Engine, options: &CommonOptions) -> Result<(Task, &'a AskArgs)> {
    let of = |ask: &AskArgs| -> Result<(Option<String>, Option<Vec<String>>)> {
        Ok((Some(prompt(&ask.prompt)?), Some(files(&ask.files, options)?)))
    };
    Ok(match command {
        DelegateCommand::Analyze(args) => {
            let (prompt, files) = of(&args.ask)?;
            let (context, role) = (args.context.clone(), args.role.clone());
            (Task::try_from(Analyze { prompt, files, context, role })?, &args.ask)
        }
        DelegateCommand::Implement(args) => {
            let (prompt, files) = of(&args.ask)?;
            let constraints = args.constraints.clone();
            let asked = Implement { prompt, files, constraints, apply: Some(args.apply), check: None };
            (Task::try_from(asked)?, &args.ask)
        }
        DelegateCommand::Refactor(args) => {
            let (prompt, files) = of(&args.ask)?;
            let safety_checks = Some(!args.no_safety_checks);
            let asked = Refactor { prompt, files, safety_checks, apply: Some(args.apply), check: None };
            (Task::try_from(asked)?, &args.ask)
        }
        DelegateCommand::Verify(args) => {
            let (prompt, files) = of(&args.ask)?;
            let requirements = args.requirements.clone();
            let transaction_id = ids::meant_if_any(args.transaction.as_deref(), IdScope::CommittedOrOpen, engine)?;
            (Task::try_from(Verify { prompt, files, requirements, transaction_id })?, &args.ask)
        }
    })
}

fn prompt(typed: &str) -> Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let bytes = input::read_stdin(limits::DELEGATE_CONTEXT_BYTES)?;
    String::from_utf8(bytes).map_err(|_| options::usage("prompt", "standard input is not UTF-8"))
}

/// Absolute paths, like those that a client of the MCP server sends.
fn files(typed: &[PathBuf], options: &CommonOptions) -> Result<Vec<String>> {
    let name = |path: &PathBuf| options.in_workspace(path).into_os_string().into_string();
    let names: Result<_, _> = typed.iter().map(name).collect();
    names.map_err(|_| options::usage("--file", "a path that is not UTF-8 cannot be shown to a delegate"))
}

fn answer(done: &Delegated, options: &CommonOptions) -> Result<Answer, Failure> {
    let mut text = printable(&done.answer);
    text.push('\n');
    let mut notes: Vec<String> = done
        .context
        .skipped
        .iter()
        .map(|file| format!("{} {} was not shown: {}", styled(NOTE, "note:"), file.file_path, file.reason))
        .collect();
    notes.extend(done.warnings.iter().map(|warning| report::warning_of(warning)));
    let mut changed = None;
    if let Some(outcome) = &done.outcome {
        text.push('\n');
        for file in &outcome.preview.report.files {
            text.push_str(&diff(&printable(file.extras.diff.as_deref().unwrap_or_default())));
        }
        if let Some(report) = &outcome.report {
            changed = transact::done(report, "committed");
            text.push_str(&report::for_people(report, "committed", options));
            notes.extend(report::notes(report, options));
        } else {
            changed = Some(format!("opened {}", outcome.preview.id));
            let id = styled(NAME, &outcome.preview.id);
            let files = count(outcome.preview.report.files.len(), "file");
            notes.push(format!(
                "proposed as {id}, {files}; nothing is changed before `txedit commit`; `txedit rollback` discards it"
            ));
            notes.push(format!("plan hash {}", outcome.preview.plan_hash));
        }
    }
    Ok(Answer::new(&DelegateSuccess::from(done), text)?.noting(notes).having_done(changed))
}

/// Without control characters: the text is another program's, and must not control the terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
