//! `apply_patch`: a patch in any supported format.

use super::{Definition, Job, edit};
use crate::dialect::{Format, Patch};
use crate::engine::report::Report;
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::Request;
use crate::request::validate::{self, PathRule};
use crate::wire::success_multi;
use crate::wire::tools::{ApplyPatch, Arguments, parse_flat, required};

pub(super) static APPLY_PATCH: Definition = Definition {
    name: "apply_patch",
    title: "Apply a patch",
    toolset: Toolset::Edit,
    description: "Apply a patch to any number of files, all or nothing: a diff, *** Begin Patch, SEARCH/REPLACE \
                  blocks, an LSP WorkspaceEdit, JSON of ast-grep, rustc, ruff, eslint. Use it if you have a patch; \
                  not for a few replacements: use multi_edit_files. Give a hunk unique context. \
                  Example: {\"patch\": \"--- a/src/a.rs\\n+++ b/src/a.rs\\n@@ -1 +1 \
                  @@\\n-old();\\n+new();\\n\"}",
    writes: true,
    idempotent: false,
    input: schema::input::<ApplyPatch>,
    output: || {
        schema::output(&[
            ("dry_run", PropertyKind::Flag, "Whether nothing was written."),
            ("transaction_id", PropertyKind::Text, "For undo_transaction."),
            ("attempts", PropertyKind::Count, "Attempts beside another program that writes, if several."),
            ("files_edited", PropertyKind::Count, "Files that were changed."),
            ("file_results", PropertyKind::Objects, "One for each file, with hashes and hunks as edits."),
            ("summary", PropertyKind::Object, "Sums over all files."),
            ("failed_file_index", PropertyKind::Count, "On failure: the file of the patch, from 0."),
            ("failed_edit_index", PropertyKind::Count, "On failure: the hunk in it, from 0."),
            ("failedChange", PropertyKind::Count, "On failure of a WorkspaceEdit: the change, from 0."),
            ("context", PropertyKind::Object, "On failure: what the file has instead, and why."),
            ("file_statuses", PropertyKind::Objects, "On failure: what is true of each file."),
        ])
    },
    run: |job, arguments| match read(arguments) {
        Ok(patch) => apply(job, patch),
        Err(error) => job.failed(&error, None),
    },
};

/// The patch, with the requested dry run.
fn read(arguments: Arguments) -> Result<Patch> {
    let ApplyPatch { patch, format, dry_run, verbose } = parse_flat(arguments)?;
    let [patch] = required([("patch", patch)])?;
    let format = format.map(|word| Format::named(&word).ok_or_else(|| unknown_format(&word))).transpose()?;
    let mut patch = Patch::read(patch.as_bytes(), format, None)?;
    patch.request.dry_run = dry_run.unwrap_or(false);
    patch.request.verbose = verbose.unwrap_or(false);
    Ok(patch)
}

fn unknown_format(word: &str) -> Error {
    let known = Format::ALL.map(Format::as_str).join(", ");
    let message = format!("there is no format {word:?}; there are {known}");
    Error::findings(vec![Finding {
        kind: ErrorKind::ValidationFailed,
        message,
        path: vec!["format".to_owned()],
        did_you_mean: None,
    }])
}

fn apply(job: &Job<'_>, mut patch: Patch) -> ToolAnswer {
    let is_empty = patch.is_empty();
    let request: Request = std::mem::take(&mut patch.request);
    if is_empty {
        // A tool found nothing to fix.
        let report = Report { dry_run: request.dry_run, ..Report::default() };
        return ToolAnswer::done(&success_multi(&report, &request), ToolChanges::of(&report));
    }
    // Names in patches are relative to the root; only editors write absolute ones.
    let checked = validate::check(&request, PathRule::AbsoluteOrRelative);
    match checked.and_then(|()| edit::apply(job, &request)) {
        Ok(report) => {
            let answer = ToolAnswer::done(&success_multi(&report, &request), ToolChanges::of(&report));
            answer.terse_unless(request.verbose)
        }
        Err(error) => job.failed(&patch.explain(error), Some(&request)),
    }
}
