//! `txedit apply PLAN|-`.

use std::path::Path;

use super::transact;
use crate::cli::args::ApplyArgs;
use crate::cli::failure::Failure;
use crate::cli::options::Options;
use crate::cli::output::Answer;
use crate::error::Result;
use crate::fs::input;
use crate::limits;
use crate::request::Request;
use crate::request::validate::PathRule;
use crate::wire::{self, Shape};

pub(super) fn run(args: &ApplyArgs, options: &Options) -> Result<Answer, Failure> {
    let mut request = read_plan(&args.plan, options)?;
    request.dry_run |= args.dry_run;
    transact::apply(request, Shape::Multi, options)
}

/// Reads a plan; relative paths in it start at the root, wherever the plan itself and the current folder are.
pub(super) fn read_plan(plan: &Path, options: &Options) -> Result<Request> {
    let bytes = if plan.as_os_str() == "-" {
        input::read_stdin(limits::REQUEST_BYTES)?
    } else {
        input::read_file(&options.absolute(plan), limits::REQUEST_BYTES)?
    };
    wire::request::parse(&bytes)?.into_request(PathRule::AbsoluteOrRelative)
}
