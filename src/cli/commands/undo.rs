//! `txedit undo [ID]`.

use super::transact;
use crate::cli::args::UndoArgs;
use crate::cli::failure::Failure;
use crate::cli::options::Options;
use crate::cli::output::Answer;
use crate::error::Result;

pub(super) fn run(args: &UndoArgs, options: &Options) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let report = transact::watched(options, |run| engine.undo(args.id.as_deref(), args.dry_run, run))?;
    Ok(transact::answer_without_request(&report, "undone by", options)?)
}
