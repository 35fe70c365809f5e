//! `txedit edit FILE --old S --new S [--all]`.

use std::os::unix::ffi::OsStrExt;

use super::transact;
use crate::cli::args::EditArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::request::edit::{Anchor, Count, Edit};
use crate::request::validate::{self, PathRule};
use crate::request::{Change, FileRequest, Request};
use crate::wire::Shape;

pub(super) fn run(args: &EditArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let request = request(args, options);
    match validate::check(&request, PathRule::Absolute) {
        Ok(()) => transact::apply(request, Shape::Single, options),
        Err(error) => Err(Failure::of(request, Shape::Single)(error)),
    }
}

fn request(args: &EditArgs, options: &CommonOptions) -> Request {
    let count = if args.all { Count::All } else { args.near_line.map_or(Count::Once, Count::OnceNear) };
    let edit = Edit {
        anchor: Anchor::Text { text: args.old.as_bytes().to_vec(), count, matching: args.matching.into() },
        replacement: args.new.as_bytes().to_vec(),
    };
    let file = FileRequest {
        path: options.in_workspace(&args.file).into(),
        expected_hash: None,
        change: Change::Edit { edits: vec![edit], rename: None },
        mode: None,
        encoding: args.encoding,
    };
    Request { files: vec![file], dry_run: args.dry_run, ..Request::default() }
}
