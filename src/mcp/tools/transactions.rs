//! `stage_edits`, `preview_transaction`, `commit_transaction`, `rollback_transaction`: transactions over several calls.

use std::ffi::OsString;

use super::{Definition, Job, MayWrite, approval};
use crate::digest::Digest;
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::Request;
use crate::request::validate::PathRule;
use crate::wire::tools::{Arguments, CommitTransaction, OneTransaction, StageEdits, parse_flat, parse_stage, required};
use crate::wire::{history, open, success_multi};

pub(super) static STAGE_EDITS: Definition = Definition {
    name: "stage_edits",
    title: "Stage edits of an open transaction",
    toolset: Toolset::Transactions,
    description: "Collect edits over several calls without changing a file: opens a transaction, or adds to the one \
                  of transaction_id; later edits see what is staged. Use it for work in steps; not for the edits of one \
                  call: use multi_edit_files. Example: {\"files\": [{\"file_path\": \"/p/a.rs\", \"edits\": [{\"old_string\": \"a\", \
                  \"new_string\": \"b\"}]}]}",
    writes: true,
    idempotent: false,
    input: schema::input::<StageEdits>,
    output: || {
        schema::output(&[
            ("transaction_id", PropertyKind::Text, "The open transaction, for the other calls."),
            ("expires_at", PropertyKind::Text, "When it lapses if nothing more is staged."),
            ("file_results", PropertyKind::Objects, "One for each file, as it will be."),
            ("overlaps", PropertyKind::Objects, "Other open transactions that touch the same files."),
            ("failed_file_index", PropertyKind::Count, "On failure: the file, from 0."),
            ("failed_edit_index", PropertyKind::Count, "On failure: the edit in it, from 0."),
            ("context", PropertyKind::Object, "On failure: what the file has instead, and why."),
        ])
    },
    run: |job, arguments| match parse_stage(arguments, PathRule::AbsoluteOrRelative) {
        Ok((id, request)) => stage(job, id.as_deref(), &request),
        Err(error) => job.failed(&error, None),
    },
};

fn stage(job: &Job<'_>, id: Option<&str>, request: &Request) -> ToolAnswer {
    let staged = job.check_staging(request.dry_run).and_then(|()| job.engine.stage(request, id, job.run));
    match staged {
        Ok(mut staged) => {
            staged.report = staged.report.in_root(job.engine.root());
            let answer = ToolAnswer::done(&open::StagedJson::new(&staged, request), ToolChanges::default());
            answer.terse_unless(false).about_open(staged.id.as_deref())
        }
        Err(error) => job.failed(&error, Some(request)),
    }
}

pub(super) static PREVIEW_TRANSACTION: Definition = Definition {
    name: "preview_transaction",
    title: "Preview an open transaction",
    toolset: Toolset::Transactions,
    description: "Show the diff of all that is staged, its hashes, and its plan_hash. Use it before \
                  commit_transaction; not for committed transactions. Example: {\"transaction_id\": \
                  \"20260101T120000Z-…\"}",
    writes: false,
    idempotent: true,
    input: schema::input::<OneTransaction>,
    output: || {
        schema::output(&[
            ("diff", PropertyKind::Text, "The unified diff of all files."),
            ("plan_hash", PropertyKind::Text, "For commit_transaction."),
            ("expires_at", PropertyKind::Text, "When it lapses."),
            ("file_results", PropertyKind::Objects, "One for each file, with the hashes."),
        ])
    },
    run: |job, arguments| {
        let preview = one(arguments).and_then(|id| job.engine.preview(&id, job.run));
        match preview {
            Ok(mut preview) => {
                preview.report = preview.report.in_root(job.engine.root());
                let answer = ToolAnswer::done(&open::PreviewJson::from(&preview), ToolChanges::default());
                answer.terse_unless(false).about_open(Some(&preview.id))
            }
            Err(error) => job.failed(&error, None),
        }
    },
};

pub(super) static COMMIT_TRANSACTION: Definition = Definition {
    name: "commit_transaction",
    title: "Commit an open transaction",
    toolset: Toolset::Transactions,
    description: "Write all that is staged, all or nothing; with plan_hash exactly what the preview showed. A file \
                  that changed meanwhile in other lines keeps both changes (rebased), else all of it stays open. Use \
                  it last; sending it again is safe. Example: {\"transaction_id\": \"20260101T120000Z-…\"}",
    writes: true,
    idempotent: true,
    input: schema::input::<CommitTransaction>,
    output: || {
        schema::output(&[
            ("transaction_id", PropertyKind::Text, "For undo_transaction."),
            ("files_edited", PropertyKind::Count, "Files that were changed."),
            ("file_results", PropertyKind::Objects, "One for each file."),
            (
                "already_applied",
                PropertyKind::Flag,
                "Whether it was committed before; then file_results say what is true now.",
            ),
            ("undone_by", PropertyKind::Text, "The transaction that undid it since, where it was committed before."),
            ("check", PropertyKind::Object, "The check that it passed."),
            ("approval", PropertyKind::Object, "What a person left out or changed, if one was asked."),
            ("context", PropertyKind::Object, "On failure: both sides, or the output of the check."),
            ("rollback", PropertyKind::Object, "On failure: what was put back."),
        ])
    },
    run: |job, arguments| match commit(job, arguments) {
        Ok(answer) => answer,
        Err(error) => job.failed(&error, None),
    },
};

fn commit(job: &Job<'_>, arguments: Arguments) -> Result<ToolAnswer> {
    let CommitTransaction { transaction_id, plan_hash, check, needs_approval, wait_seconds } = parse_flat(arguments)?;
    let [id] = required([("transaction_id", transaction_id)])?;
    let hash = |hex: String| hex.parse::<Digest>().map_err(|error| finding("plan_hash", error.to_string()));
    let plan_hash = plan_hash.map(hash).transpose()?;
    job.check_staging(false)?;
    if job.may_write == MayWrite::Approved || needs_approval == Some(true) {
        if check.is_some() {
            let message = "whoever approves it says which check decides: leave `check` out".to_owned();
            return Err(finding("check", message));
        }
        return approval::wait(job, &id, plan_hash, wait_seconds);
    }
    let check = check.map(|command| job.allowed(command.into_iter().map(OsString::from).collect())).transpose()?;
    let report = job.engine.commit_staged(&id, plan_hash, check, job.run)?.in_root(job.engine.root());
    let answer = ToolAnswer::done(&success_multi(&report, &Request::default()), ToolChanges::of(&report));
    Ok(answer.terse_unless(false))
}

pub(super) static ROLLBACK_TRANSACTION: Definition = Definition {
    name: "rollback_transaction",
    title: "Drop an open transaction",
    toolset: Toolset::Transactions,
    description: "Drop all that is staged. Use it to give up an open transaction; not \
                  for a committed one: use undo_transaction. Example: {\"transaction_id\": \"20260101T120000Z-…\"}",
    writes: true,
    idempotent: false,
    input: schema::input::<OneTransaction>,
    output: || schema::output(&[("warnings", PropertyKind::Texts, "What was recovered before it.")]),
    run: |job, arguments| match roll_back(job, arguments) {
        Ok(warnings) => ToolAnswer::done(&history::DoneJson::warning_of(warnings), ToolChanges::default()),
        Err(error) => job.failed(&error, None),
    },
};

fn roll_back(job: &Job<'_>, arguments: Arguments) -> Result<Vec<String>> {
    let id = one(arguments)?;
    job.check_staging(false)?;
    job.engine.roll_back(&id, job.run)
}

fn one(arguments: Arguments) -> Result<String> {
    let OneTransaction { transaction_id } = parse_flat(arguments)?;
    let [id] = required([("transaction_id", transaction_id)])?;
    Ok(id)
}

fn finding(field: &str, message: String) -> Error {
    Error::findings(vec![Finding {
        kind: ErrorKind::ValidationFailed,
        message,
        path: vec![field.to_owned()],
        did_you_mean: None,
    }])
}
