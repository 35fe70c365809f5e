//! `txedit create FILE`.

use std::os::unix::ffi::OsStrExt;

use super::transact;
use crate::cli::args::CreateArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::fs::input;
use crate::limits;
use crate::request::{Change, FileRequest, IfExists};
use crate::wire::Shape;

pub(super) fn run(args: &CreateArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let content = match (&args.text, &args.content_file) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(file)) => input::read_file(&options.absolute(file), limits::REQUEST_BYTES)?,
        (None, None) => input::read_stdin(limits::REQUEST_BYTES)?,
    };
    let if_exists = if args.force { IfExists::Replace } else { IfExists::Fail };
    let file = FileRequest::new(options.in_workspace(&args.file), Change::Write { content, if_exists });
    let files = vec![FileRequest { encoding: args.encoding, ..file }];
    let done = transact::make(files, &args.transaction, Shape::Single, options);
    done.map_err(|failure| transact::or_force(failure, args.force))
}
