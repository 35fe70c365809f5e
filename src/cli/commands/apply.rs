//! `txedit apply PLAN|-`.

use std::path::Path;

use super::transact;
use crate::cli::args::{ApplyArgs, InputArgs, PatchFormat};
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::dialect::{self, FixChoice, Format, KNOWN, Patch, PatchOptions};
use crate::engine::Engine;
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
    input.request.again = args.key.again;
    if let Some(key) = &args.key.idempotency_key {
        input.request.idempotency_key = Some(key.clone());
    }
    input.request.plan_hash = args.plan_hash;
    input.request.campaign.clone_from(&args.campaign);
    if input.is_nothing() {
        let report = Engine::nothing(&input.request)?;
        return Ok(transact::answer(&report, &input.request, "", options)?);
    }
    let Input { request, patch } = input;
    transact::apply(request, Shape::Multi, options).map_err(|failure| explained(failure, patch.as_ref()))
}

/// A plan, or a patch in any of the formats.
pub(super) struct Input {
    pub(super) request: Request,
    pub(super) patch: Option<Patch>,
}

impl Input {
    /// True for the report of a tool that found nothing to fix.
    pub(super) fn is_nothing(&self) -> bool {
        self.patch.is_some() && self.request.files.is_empty()
    }

    pub(super) fn read(args: &InputArgs, options: &CommonOptions) -> Result<Self, Failure> {
        let bytes = read_input(&args.plan, options)?;
        let matching = args.matching.map(Matching::from);
        let Some(format) = format_of(&bytes, args.format)? else {
            return Ok(Self { request: request(&bytes, matching)?, patch: None });
        };
        let fixes = if args.unsafe_fixes { FixChoice::Unsafe } else { FixChoice::Safe };
        let mut patch = Patch::read_with(&bytes, PatchOptions { format: Some(format), matching, fixes })?;
        let is_empty = patch.is_empty();
        let request = std::mem::take(&mut patch.request);
        if is_empty {
            return Ok(Self { request, patch: Some(patch) });
        }
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
fn format_of(bytes: &[u8], asked: Option<PatchFormat>) -> Result<Option<Format>> {
    let format = match asked {
        None => dialect::detect(bytes),
        Some(PatchFormat::Plan) => None,
        Some(PatchFormat::Diff) => Some(Format::Unified),
        Some(PatchFormat::Envelope) => Some(Format::Envelope),
        Some(PatchFormat::SearchReplace) => Some(Format::SearchReplace),
        Some(PatchFormat::WorkspaceEdit) => Some(Format::WorkspaceEdit),
        Some(PatchFormat::AstGrep) => Some(Format::AstGrep),
        Some(PatchFormat::Rustc) => Some(Format::Rustc),
        Some(PatchFormat::Ruff) => Some(Format::Ruff),
        Some(PatchFormat::Eslint) => Some(Format::Eslint),
    };
    if format.is_none() && asked.is_none() && !dialect::may_be_plan(bytes) {
        let message = format!("this is neither a plan (a JSON object with `files`) nor a patch that is known: {KNOWN}");
        return Err(Error::new(ErrorKind::PatchParseFailed, message));
    }
    Ok(format)
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
