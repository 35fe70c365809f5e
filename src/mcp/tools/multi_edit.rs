//! `multi_edit`: many edits of one file.

use super::{Definition, edit};
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::validate::PathRule;
use crate::wire::success_single;
use crate::wire::tools::{MultiEdit, parse_multi_edit};

pub(super) static MULTI_EDIT: Definition = Definition {
    name: "multi_edit",
    title: "Edit one file",
    toolset: Toolset::Edit,
    description: "Make several replacements in one file, all or nothing, in order. Use it for two or more edits of \
                  a file, or to edit only the content you read (expected_hash); not for several files: use \
                  multi_edit_files. Each old_string must occur exactly once, to the byte, unless replace_all or \
                  expected_matches. Example: {\"file_path\": \"/p/a.rs\", \"edits\": \
                  [{\"old_string\": \"let a = 1;\", \"new_string\": \"let a = 2;\"}]}",
    writes: true,
    idempotent: false,
    input: schema::input::<MultiEdit>,
    output: || {
        schema::output(&[
            ("file_path", PropertyKind::Text, "The file."),
            ("edits_applied", PropertyKind::Count, "Edits that were applied."),
            ("dry_run", PropertyKind::Flag, "Whether nothing was written."),
            ("edits", PropertyKind::Objects, "One for each edit: lines and occurrences."),
            ("transaction_id", PropertyKind::Text, "For undo_transaction."),
            (
                "attempts",
                PropertyKind::Count,
                "How often it was tried beside another program that writes, if more than once.",
            ),
            ("hash_before", PropertyKind::Text, "The hash of the old content."),
            ("hash_after", PropertyKind::Text, "The hash of the new content, good as expected_hash."),
            ("diff", PropertyKind::Text, "Of a dry run: the unified diff."),
            ("warnings", PropertyKind::Texts, "What else to know."),
            ("failed_edit_index", PropertyKind::Count, "On failure: the edit, from 0."),
            ("context", PropertyKind::Object, "On failure: what the file has instead, and why."),
        ])
    },
    run: |job, arguments| match parse_multi_edit(arguments, PathRule::AbsoluteOrRelative) {
        Ok(request) => match edit::apply(job, &request) {
            Ok(report) => {
                let answer = ToolAnswer::done(&success_single(&report, &request), ToolChanges::of(&report));
                answer.terse_unless(request.verbose)
            }
            Err(error) => job.failed_file(&error, Some(&request)),
        },
        Err(error) => job.failed_file(&error, None),
    },
};
