//! `edit_file`: one replacement in one file, as other servers offer it.

use super::{Definition, Job, edit};
use crate::error::Error;
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::mcp::schema::{self, PropertyKind};
use crate::mcp::toolsets::Toolset;
use crate::request::Request;
use crate::request::validate::PathRule;
use crate::wire::Shape;
use crate::wire::read::success_edit_file;
use crate::wire::tools::{EditFile, parse_edit_file, place_in_edit_file};

pub(super) static EDIT_FILE: Definition = Definition {
    name: "edit_file",
    title: "Replace a text in a file",
    toolset: Toolset::Edit,
    description: "Replace one text in one file. Use it for a single small change; not for more than one edit: use \
                  multi_edit. old_string must occur exactly once, to the byte; add lines around it, or set \
                  replace_all. The path may be relative to the root. Example: {\"path\": \"src/a.rs\", \
                  \"old_string\": \"let a = 1;\", \"new_string\": \"let a = 2;\"}",
    writes: true,
    idempotent: false,
    input: schema::input::<EditFile>,
    output: || {
        schema::output(&[
            ("path", PropertyKind::Text, "The file."),
            ("occurrences_replaced", PropertyKind::Count, "How many were replaced."),
            ("transaction_id", PropertyKind::Text, "For undo_transaction."),
            (
                "attempts",
                PropertyKind::Count,
                "How often it was tried beside another program that writes, if more than once.",
            ),
            ("hash_after", PropertyKind::Text, "The hash of the new content."),
            ("context", PropertyKind::Object, "On failure: what the file has instead, and why."),
        ])
    },
    run: |job, arguments| match parse_edit_file(arguments, PathRule::AbsoluteOrRelative) {
        Ok(request) => match edit::apply(job, &request) {
            Ok(report) => ToolAnswer::done(&success_edit_file(&report), ToolChanges::of(&report)),
            Err(error) => failed(job, &error, Some(&request)),
        },
        Err(error) => failed(job, &error, None),
    },
};

fn failed(job: &Job<'_>, error: &Error, request: Option<&Request>) -> ToolAnswer {
    let mut failure = job.failure(error, request, Shape::Single);
    place_in_edit_file(&mut failure);
    ToolAnswer::failed(&failure)
}
