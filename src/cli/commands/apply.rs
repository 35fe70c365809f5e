//! `txedit apply PLAN|-`.

use std::path::Path;

use super::transact;
use crate::cli::args::{ApplyArgs, InputArgs, PatchFormat};
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::dialect::{self, Format, Patch};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::input;
use crate::limits;
use crate::request::Request;
use crate::request::edit::Matching;
use crate::request::validate::{self, PathRule};
use crate::wire::{self, Shape};

pub(super) fn run(args: &ApplyArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let mut input = Input::read(&args.input, options)?;
    input.request.dry_run |= args.input.dry_run;
    input.request.idempotent = args.idempotent;
    let Input { request, patch } = input;
    transact::apply(request, Shape::Multi, options).map_err(|failure| explained(failure, patch.as_ref()))
}

/// A plan, or a patch in any of the formats.
pub(super) struct Input {
    pub(super) request: Request,
    pub(super) patch: Option<Patch>,
}

impl Input {
    pub(super) fn read(args: &InputArgs, options: &CommonOptions) -> Result<Self, Failure> {
        let bytes = read_input(&args.plan, options)?;
        let matching = args.matching.map(Matching::from);
        let Some(format) = format_of(&bytes, args.format)? else {
            return Ok(Self { request: request(&bytes, matching)?, patch: None });
        };
        let mut patch = Patch::read(&bytes, Some(format), matching)?;
        let request = std::mem::take(&mut patch.request);
        match validate::check(&request, PathRule::AbsoluteOrRelative) {
            Ok(()) => Ok(Self { request, patch: Some(patch) }),
            Err(error) => Err(explained(Failure::of(request, Shape::Multi)(error), Some(&patch))),
        }
    }
}

/// The failure in the terms of the patch, if there was one.
pub(super) fn explained(failure: Failure, patch: Option<&Patch>) -> Failure {
    match patch {
        Some(patch) => Failure { error: patch.explain(failure.error), ..failure },
        None => failure,
    }
}

/// The format of a patch; `None` for a plan in txedit's own format.
fn format_of(bytes: &[u8], forced: Option<PatchFormat>) -> Result<Option<Format>> {
    let forced = match forced {
        None => dialect::detect(bytes),
        Some(PatchFormat::Plan) => None,
        Some(PatchFormat::Diff) => Some(Format::Unified),
        Some(PatchFormat::Envelope) => Some(Format::Envelope),
        Some(PatchFormat::SearchReplace) => Some(Format::SearchReplace),
        Some(PatchFormat::WorkspaceEdit) => Some(Format::WorkspaceEdit),
        Some(PatchFormat::AstGrep) => Some(Format::AstGrep),
    };
    let is_json = || bytes.trim_ascii_start().starts_with(b"{");
    if forced.is_none() && !is_json() && !bytes.trim_ascii().is_empty() {
        let message = "this is neither a plan (a JSON object with `files`) nor a patch that is known: a unified or git \
                       diff, *** Begin Patch, <<<<<<< SEARCH blocks, an LSP WorkspaceEdit, the output of ast-grep --json";
        return Err(Error::new(ErrorKind::PatchParseFailed, message));
    }
    Ok(forced)
}

/// Reads a plan; its relative paths start from the root, wherever the plan and the current folder are.
pub(super) fn read_plan(plan: &Path, options: &CommonOptions) -> Result<Request> {
    request(&read_input(plan, options)?, None)
}

fn read_input(plan: &Path, options: &CommonOptions) -> Result<Vec<u8>> {
    if plan.as_os_str() == "-" {
        input::read_stdin(limits::REQUEST_BYTES)
    } else {
        input::read_file(&options.absolute(plan), limits::REQUEST_BYTES)
    }
}

fn request(bytes: &[u8], matching: Option<Matching>) -> Result<Request> {
    let mut request = wire::request::parse(bytes)?;
    if matching == Some(Matching::Tolerant) {
        let edits = request.files.iter_mut().flatten().filter_map(|file| file.edits.as_mut()).flatten();
        edits.for_each(|edit| edit.match_mode = edit.match_mode.take().or(Some("tolerant".to_owned())));
    }
    request.into_request(PathRule::AbsoluteOrRelative)
}
