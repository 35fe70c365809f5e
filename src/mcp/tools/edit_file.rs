//! `edit_file`: one replacement in one file, as other servers have it.

use super::{Definition, edit};
use crate::error::Error;
use crate::mcp::answer::{Answer, Changes, failure};
use crate::mcp::schema::{self, Kind};
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
            ("path", Kind::Text, "The file."),
            ("occurrences_replaced", Kind::Count, "How many were replaced."),
            ("transaction_id", Kind::Text, "For undo_transaction."),
            ("attempts", Kind::Count, "How often it was tried beside another program that writes, if more than once."),
            ("hash_after", Kind::Text, "The hash of the new content."),
            ("context", Kind::Object, "On failure: what the file has instead, and why."),
        ])
    },
    run: |job, arguments| match parse_edit_file(arguments, PathRule::AbsoluteOrRelative) {
        Ok(request) => match edit::apply(job, &request) {
            Ok(report) => Answer::done(&success_edit_file(&report), Changes::of(&report)),
            Err(error) => failed(&error, Some(&request)),
        },
        Err(error) => failed(&error, None),
    },
};

fn failed(error: &Error, request: Option<&Request>) -> Answer {
    let mut failure = failure(error, request, Shape::Single);
    place_in_edit_file(&mut failure);
    Answer::failed(&failure)
}
