//! `kimi_analyze`, `kimi_implement`, `kimi_refactor`, `kimi_verify`: a second model reads, proposes and checks.

use std::ffi::OsString;
use std::sync::Arc;

use rmcp::model::JsonObject;

use super::{Definition, Job};
use crate::delegate::{
    Analyze, DelegateFailure, DelegateSettings, DelegateSuccess, Delegated, Delegation, Failed, Implement, Refactor,
    Task, Verify,
};
use crate::error::{Error, ErrorKind, Result};
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::next_step;
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::validate::Findings;
use crate::wire::tools::parse_flat;

pub(super) static KIMI_ANALYZE: Definition = Definition {
    name: "kimi_analyze",
    title: "Let a second model read and answer",
    toolset: Toolset::Delegate,
    description: "Ask a cheaper second model about code: it reads the files, and more of the project if it wants, and \
                  answers in text; it changes nothing. Use it for bulk reading, summaries and reviews (role security, \
                  performance or refactor); not for what you can see yourself. Check what it says. Example: \
                  {\"prompt\": \"Where is the token checked?\", \"files\": [\"/p/src/auth.rs\"], \"role\": \
                  \"security\"}",
    writes: false,
    idempotent: false,
    input: schema::input::<Analyze>,
    output: text_output,
    run: |job, arguments| match parse_flat::<Analyze>(arguments).and_then(Task::try_from) {
        Ok(task) => delegate(job, &task, None),
        Err(error) => failed(&error.into()),
    },
};

pub(super) static KIMI_IMPLEMENT: Definition = Definition {
    name: "kimi_implement",
    title: "Let a second model propose changes",
    toolset: Toolset::Delegate,
    description: "Have a cheaper second model write changes: what it proposes is staged as an open transaction, with \
                  its diff and plan_hash; no file is changed before commit_transaction, or with apply. Use it for \
                  mechanical work that is easy to check; not for decisions. Without a proposal its text is the answer. \
                  Example: {\"prompt\": \"Add a test for parse\", \"files\": [\"/p/src/parse.rs\"], \"constraints\": \
                  \"no new dependencies\"}",
    writes: true,
    idempotent: false,
    input: schema::input::<Implement>,
    output: proposal_output,
    run: |job, arguments| {
        let asked = parse_flat::<Implement>(arguments).and_then(|asked| {
            let check = asked.check.clone();
            Ok((Task::try_from(asked)?, check))
        });
        propose(job, asked)
    },
};

pub(super) static KIMI_REFACTOR: Definition = Definition {
    name: "kimi_refactor",
    title: "Let a second model propose a refactoring",
    toolset: Toolset::Delegate,
    description: "Have a cheaper second model restructure code, told to keep the behaviour unless safety_checks is \
                  false: what it proposes is staged as an open transaction, with its diff and plan_hash; no file is \
                  changed before commit_transaction, or with apply. Use it for mechanical changes in files that you \
                  name; not for a rename of one word: use replace_in_files. Example: {\"prompt\": \"Split run into \
                  parse and act\", \"files\": [\"/p/src/run.rs\"]}",
    writes: true,
    idempotent: false,
    input: schema::input::<Refactor>,
    output: proposal_output,
    run: |job, arguments| {
        let asked = parse_flat::<Refactor>(arguments).and_then(|asked| {
            let check = asked.check.clone();
            Ok((Task::try_from(asked)?, check))
        });
        propose(job, asked)
    },
};

pub(super) static KIMI_VERIFY: Definition = Definition {
    name: "kimi_verify",
    title: "Let a second model check work",
    toolset: Toolset::Delegate,
    description: "Have a second model judge files against requirements, or the diff of a transaction, open or \
                  committed; its last line is VERDICT: PASS or VERDICT: FAIL. It changes nothing. Use it for a second \
                  opinion before commit_transaction; not instead of tests. Example: {\"prompt\": \"Is every caller \
                  changed?\", \"transaction_id\": \"20260101T120000Z-…\", \"requirements\": \"no use of old_name\"}",
    writes: false,
    idempotent: false,
    input: schema::input::<Verify>,
    output: text_output,
    run: |job, arguments| match parse_flat::<Verify>(arguments).and_then(Task::try_from) {
        Ok(task) => delegate(job, &task, None),
        Err(error) => failed(&error.into()),
    },
};

fn text_output() -> Arc<JsonObject> {
    schema::output(&[
        ("answer", PropertyKind::Text, "What the second model said last."),
        ("files", PropertyKind::Objects, "The files that it was shown, with their hashes."),
        ("skipped", PropertyKind::Objects, "Files that it was not shown, and why."),
    ])
}

fn proposal_output() -> Arc<JsonObject> {
    schema::output(&[
        ("answer", PropertyKind::Text, "What the second model said last."),
        ("proposal", PropertyKind::Text, "patch or scratch; absent if it proposed nothing."),
        ("committed", PropertyKind::Flag, "Whether the proposal was committed; else it is open."),
        ("transaction_id", PropertyKind::Text, "For commit_transaction, or for undo_transaction if committed."),
        ("plan_hash", PropertyKind::Text, "For commit_transaction."),
        ("diff", PropertyKind::Text, "The unified diff of the proposal."),
        ("file_results", PropertyKind::Objects, "One for each file, with the hashes."),
        ("skipped", PropertyKind::Objects, "Files that it was not shown, and why."),
        ("context", PropertyKind::Object, "On failure: what the file has instead, or the output of the check."),
    ])
}

/// Runs a task that proposes changes; never in read-only mode, since a proposal is staged.
fn propose(job: &Job<'_>, asked: Result<(Task, Option<Vec<String>>)>) -> ToolAnswer {
    let checked = asked.and_then(|(task, check)| {
        job.check_writing(false)?;
        Ok((task, check))
    });
    match checked {
        Ok((task, check)) => delegate(job, &task, check),
        Err(error) => failed(&error.into()),
    }
}

fn delegate(job: &Job<'_>, task: &Task, check: Option<Vec<String>>) -> ToolAnswer {
    match run(job, task, check) {
        Ok(done) => {
            let report = done.outcome.as_ref().and_then(|outcome| outcome.report.as_ref());
            let changes = report.map(ToolChanges::of).unwrap_or_default();
            ToolAnswer::done(&DelegateSuccess::from(&done), changes)
        }
        Err(error) => failed(&error),
    }
}

fn run(job: &Job<'_>, task: &Task, check: Option<Vec<String>>) -> Result<Delegated, Failed> {
    let check = match check {
        None => None,
        Some(_) if !task.kind.applies() => return Err(useless_check().into()),
        Some(command) => Some(job.allowed(command.into_iter().map(OsString::from).collect())?),
    };
    let settings = DelegateSettings::load(job.engine, job.delegate)?;
    Delegation { engine: job.engine, settings: &settings, check }.run(task, job.run)
}

/// The error for a check that would never run: the caller may believe that it did.
fn useless_check() -> Error {
    let mut findings = Findings::new();
    let message = "`check` goes with `apply`: without it nothing is committed";
    findings.push(ErrorKind::ValidationFailed, vec!["check".to_owned()], message);
    findings.into_error()
}

fn failed(failed: &Failed) -> ToolAnswer {
    let answer = DelegateFailure::new(failed, next_step::words);
    ToolAnswer::failed_as(&answer, &answer.failure)
}
