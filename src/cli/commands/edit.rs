//! `txedit edit FILE… --old S --new S [--all]`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::transact;
use crate::cli::args::EditArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::fs::input;
use crate::limits;
use crate::request::edit::{Anchor, Count, Edit};
use crate::request::{Change, FileRequest};
use crate::wire::Shape;

pub(super) fn run(args: &EditArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let count = if args.all { Count::All } else { args.near_line.map_or(Count::Once, Count::OnceNear) };
    let text = text_of(args.old.as_ref(), args.old_file.as_ref(), options)?;
    let edit = Edit {
        anchor: Anchor::Text { text, count, matching: args.matching.into() },
        replacement: text_of(args.new.as_ref(), args.new_file.as_ref(), options)?,
    };
    let files = args.files.iter().map(|file| {
        let change = Change::Edit { edits: vec![edit.clone()], rename: None };
        FileRequest { encoding: args.encoding, ..FileRequest::new(options.in_workspace(file), change) }
    });
    let shape = if args.files.len() == 1 { Shape::Single } else { Shape::Multi };
    transact::make(files.collect(), &args.transaction, shape, options)
}

/// A text that was given, or the content of the file that has it: the parser requires one of them.
fn text_of(given: Option<&OsString>, file: Option<&PathBuf>, options: &CommonOptions) -> Result<Vec<u8>> {
    match (given, file) {
        (_, Some(file)) => input::read_file(&options.absolute(file), limits::REQUEST_BYTES),
        (given, None) => Ok(given.map(|text| text.as_bytes().to_vec()).unwrap_or_default()),
    }
}
