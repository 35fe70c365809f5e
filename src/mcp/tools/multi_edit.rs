//! `multi_edit`: many edits of one file.

use super::{Definition, edit};
use crate::mcp::answer::{Answer, Changes};
use crate::mcp::schema::{self, Kind};
use crate::mcp::toolsets::Toolset;
use crate::request::validate::PathRule;
use crate::wire::tools::{MultiEdit, parse_multi_edit};
use crate::wire::{Shape, success_single};

pub(super) static MULTI_EDIT: Definition = Definition {
    name: "multi_edit",
    title: "Edit one file",
    toolset: Toolset::Edit,
    description: "Make several replacements in one file, all or nothing, in order. Use it for two or more edits of \
                  a file, or to edit only the content you read (expected_hash); not for several files: use \
                  multi_edit_files. Each old_string must occur exactly once, to the byte, unless replace_all or \
                  expected_matches; a failed edit changes nothing. Example: {\"file_path\": \"/p/a.rs\", \"edits\": \
                  [{\"old_string\": \"let a = 1;\", \"new_string\": \"let a = 2;\"}]}",
    writes: true,
    idempotent: false,
    input: schema::input::<MultiEdit>,
    output: || {
        schema::output(&[
            ("file_path", Kind::Text, "The file."),
            ("edits_applied", Kind::Count, "Edits that were applied."),
            ("dry_run", Kind::Flag, "Whether nothing was written."),
            ("edits", Kind::Objects, "One for each edit: lines and occurrences."),
            ("transaction_id", Kind::Text, "For undo_transaction."),
            ("attempts", Kind::Count, "How often it was tried beside another program that writes, if more than once."),
            ("hash_before", Kind::Text, "The hash of the old content."),
            ("hash_after", Kind::Text, "The hash of the new content, good as expected_hash."),
            ("diff", Kind::Text, "Of a dry run: the unified diff."),
            ("warnings", Kind::Texts, "What else to know."),
            ("failed_edit_index", Kind::Count, "On failure: the edit, from 0."),
            ("context", Kind::Object, "On failure: what the file has instead, and why."),
        ])
    },
    run: |job, arguments| match parse_multi_edit(arguments, PathRule::Absolute) {
        Ok(request) => match edit::apply(job, &request) {
            Ok(report) => Answer::done(&success_single(&report, &request), Changes::of(&report)),
            Err(error) => Answer::error(&error, Some(&request), Shape::Single),
        },
        Err(error) => Answer::error(&error, None, Shape::Single),
    },
};
