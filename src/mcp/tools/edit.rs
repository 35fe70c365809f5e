//! `multi_edit_files`, and the common parts of applying a request.

use super::{Definition, Job};
use crate::engine::report::Report;
use crate::error::Result;
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::Request;
use crate::request::validate::PathRule;
use crate::wire;
use crate::wire::tools::parse_request;

pub(super) static MULTI_EDIT_FILES: Definition = Definition {
    name: "multi_edit_files",
    title: "Edit many files as one transaction",
    toolset: Toolset::Edit,
    description: "Change several files, all or nothing: edit, create, delete, rename, chmod. Use it whenever a \
                  change spans files; if one edit does not match, no file changes. \
                  Not for one file: use multi_edit. Example: {\"files\": [{\"file_path\": \"/p/a.rs\", \
                  \"edits\": [{\"old_string\": \"old()\", \"new_string\": \"new()\"}]}, {\"file_path\": \
                  \"/p/b.rs\", \"content\": \"…\"}, {\"file_path\": \"/p/c.rs\", \"delete\": true}]}",
    writes: true,
    idempotent: false,
    input: schema::input::<wire::RequestJson>,
    output: || {
        schema::output(&[
            ("dry_run", PropertyKind::Flag, "Whether nothing was written."),
            ("transaction_id", PropertyKind::Text, "For undo_transaction."),
            (
                "attempts",
                PropertyKind::Count,
                "How often it was tried beside another program that writes, if more than once.",
            ),
            ("files_edited", PropertyKind::Count, "Files that were changed."),
            ("file_results", PropertyKind::Objects, "One for each file, with hashes and edits."),
            ("summary", PropertyKind::Object, "Sums over all files."),
            ("failed_file_index", PropertyKind::Count, "On failure: the file, from 0."),
            ("failed_edit_index", PropertyKind::Count, "On failure: the edit in it, from 0."),
            ("context", PropertyKind::Object, "On failure: what the file has instead, and why."),
            ("file_statuses", PropertyKind::Objects, "On failure: what is true of each file."),
            ("rollback", PropertyKind::Object, "On failure: what was put back."),
        ])
    },
    run: |job, arguments| match parse_request(arguments, PathRule::AbsoluteOrRelative) {
        Ok(mut request) => match allow(job, &mut request).and_then(|()| apply(job, &request)) {
            Ok(report) => {
                let answer = ToolAnswer::done(&wire::success_multi(&report, &request), ToolChanges::of(&report));
                answer.terse_unless(request.verbose)
            }
            Err(error) => job.failed(&error, Some(&request)),
        },
        Err(error) => job.failed(&error, None),
    },
};

/// Permits a check only where checks are allowed, and sets the server's time limit.
fn allow(job: &Job<'_>, request: &mut Request) -> Result<()> {
    request.check = request.check.take().map(|check| job.allowed(check.command)).transpose()?;
    Ok(())
}

/// Applies a request, if that is allowed.
pub(super) fn apply(job: &Job<'_>, request: &Request) -> Result<Report> {
    job.check_writing(request.dry_run)?;
    Ok(job.engine.apply(request, job.run)?.in_root(job.engine.root()))
}
