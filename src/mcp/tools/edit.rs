//! `multi_edit_files`, and what applying a request has in common.

use super::{Definition, Job};
use crate::engine::report::Report;
use crate::error::Result;
use crate::mcp::answer::{Answer, Changes};
use crate::mcp::schema::{self, Kind};
use crate::mcp::toolsets::Toolset;
use crate::request::Request;
use crate::request::validate::PathRule;
use crate::wire::tools::parse_request;
use crate::wire::{self, Shape};

pub(super) static MULTI_EDIT_FILES: Definition = Definition {
    name: "multi_edit_files",
    title: "Edit many files as one transaction",
    toolset: Toolset::Edit,
    description: "Change several files, all or nothing: edit, create, delete, rename, chmod. Use it whenever a \
                  change spans files; if one edit does not match, no file changes and the answer shows the nearest \
                  text. Not for one file: use multi_edit. Example: {\"files\": [{\"file_path\": \"/p/a.rs\", \
                  \"edits\": [{\"old_string\": \"old()\", \"new_string\": \"new()\"}]}, {\"file_path\": \
                  \"/p/b.rs\", \"content\": \"…\"}, {\"file_path\": \"/p/c.rs\", \"delete\": true}]}",
    writes: true,
    idempotent: false,
    input: schema::input::<wire::Request>,
    output: || {
        schema::output(&[
            ("dry_run", Kind::Flag, "Whether nothing was written."),
            ("transaction_id", Kind::Text, "For undo_transaction."),
            ("attempts", Kind::Count, "How often it was tried beside another program that writes, if more than once."),
            ("files_edited", Kind::Count, "Files that were changed."),
            ("file_results", Kind::Objects, "One for each file, with hashes and edits."),
            ("summary", Kind::Object, "Sums over all files."),
            ("failed_file_index", Kind::Count, "On failure: the file, from 0."),
            ("failed_edit_index", Kind::Count, "On failure: the edit in it, from 0."),
            ("context", Kind::Object, "On failure: what the file has instead, and why."),
            ("file_statuses", Kind::Objects, "On failure: what is true of each file."),
            ("rollback", Kind::Object, "On failure: what was put back."),
        ])
    },
    run: |job, arguments| match parse_request(arguments, PathRule::Absolute) {
        Ok(mut request) => match allow(job, &mut request).and_then(|()| apply(job, &request)) {
            Ok(report) => Answer::done(&wire::success_multi(&report, &request), Changes::of(&report)),
            Err(error) => Answer::error(&error, Some(&request), Shape::Multi),
        },
        Err(error) => Answer::error(&error, None, Shape::Multi),
    },
};

/// A check is run only where checks are allowed, and as long as the server lets it.
fn allow(job: &Job<'_>, request: &mut Request) -> Result<()> {
    request.check = request.check.take().map(|check| job.allowed(check.command)).transpose()?;
    Ok(())
}

/// Applies a request, unless it may not be.
pub(super) fn apply(job: &Job<'_>, request: &Request) -> Result<Report> {
    job.check_writing(request.dry_run)?;
    Ok(job.engine.apply(request, job.run)?.in_root(job.engine.root()))
}
