//! `txedit apply PLAN|-`.

use std::path::Path;
use std::process::{Command, Stdio};

use super::pick::Picking;
use super::{review, transact};
use crate::cli::args::{ApplyArgs, InputArgs, PatchFormat};
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::Answer;
use crate::cli::review::Asking;
use crate::dialect::{self, FixChoice, Format, KNOWN, Patch, PatchOptions};
use crate::engine::Engine;
use crate::engine::report::Report;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::input;
use crate::limits;
use crate::request::Request;
use crate::request::edit::Matching;
use crate::request::fingerprint::made_by;
use crate::request::validate::{self, PathRule};
use crate::wire::{self, Shape};

/// The most bytes of what a failed command said that the error repeats.
const SAID: usize = 1000;

pub(super) fn run(args: &ApplyArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let asked = asked(args);
    if args.pick.pick {
        return pick(args, &asked, options);
    }
    // What a command prints may be another plan now: it is run only if the key is not known.
    if asked.made_by.is_some()
        && let Some(report) = told_before(&asked, options)?
    {
        return Ok(transact::answer(&report, &asked, "committed", options)?);
    }
    let mut input = Input::read(&args.input, options)?;
    if input.is_nothing() {
        let before = if asked.made_by.is_some() { told_before(&asked, options)? } else { None };
        let report = match before {
            Some(report) => report,
            None => Report { nothing_to_do: input.is_blank, ..Engine::nothing(&asked)? },
        };
        return Ok(transact::answer(&report, &asked, "committed", options)?);
    }
    input.request.dry_run |= asked.dry_run;
    input.request.idempotent = args.idempotent;
    input.request.idempotency_key = asked.idempotency_key.or(input.request.idempotency_key);
    transact::check_again(asked.again, input.request.idempotency_key.as_deref())?;
    let Request { made_by, again, campaign, plan_hash, .. } = asked;
    let Input { request, patch, .. } = input;
    let request = Request { made_by, again, campaign, plan_hash, ..request };
    transact::apply(request, Shape::Multi, options).map_err(|failure| explained(failure, patch.as_ref()))
}

/// The same, as far as somebody takes it.
fn pick(args: &ApplyArgs, asked: &Request, options: &CommonOptions) -> Result<Answer, Failure> {
    review::refuse_with_pick(&[
        ("--dry-run", asked.dry_run),
        ("--idempotent", args.idempotent),
        ("--idempotency-key", asked.idempotency_key.is_some()),
        ("--again", asked.again),
        ("--plan-hash", asked.plan_hash.is_some()),
        ("--campaign", asked.campaign.is_some()),
    ])?;
    // First: nobody types a plan for nothing.
    let keyboard = Asking::beside(args.input.plan.as_deref())?;
    let input = Input::read(&args.input, options)?;
    if input.is_nothing() {
        let report = Report { nothing_to_do: input.is_blank, ..Engine::nothing(asked)? };
        return Ok(transact::answer(&report, asked, "committed", options)?);
    }
    let Input { mut request, patch, .. } = input;
    let check = transact::allowed_check(request.check.take(), options)?;
    let engine = options.engine()?;
    let picking = Picking { engine: &engine, args: &args.pick, check, undo: None, options };
    let mut asking = Asking::at(keyboard)?;
    picking.of_request(request, &mut asking).map_err(|failure| explained(failure, patch.as_ref()))
}

/// What the command line says of the request.
fn asked(args: &ApplyArgs) -> Request {
    let key = args.key.idempotency_key.clone();
    let by = |command: &String| Some(made_by(key.as_deref()?, [&b"plan command"[..], command.as_bytes()]));
    Request {
        dry_run: args.input.dry_run,
        again: args.key.again,
        plan_hash: args.plan_hash,
        campaign: args.campaign.clone(),
        made_by: args.input.plan_command.as_ref().and_then(by),
        idempotency_key: key,
        ..Request::default()
    }
}

/// The answer, if the key of the request is known.
fn told_before(asked: &Request, options: &CommonOptions) -> Result<Option<Report>> {
    let (engine, mut warnings) = (options.engine()?, Vec::new());
    let known = transact::watched(options, |run| engine.keyed_in_time(asked, &mut warnings, run))?;
    Ok(known.map(|report| Report { warnings: [warnings, report.warnings].concat(), ..report }))
}

/// A plan, or a patch in any of the formats.
pub(super) struct Input {
    pub(super) request: Request,
    pub(super) patch: Option<Patch>,
    /// True if a command printed nothing.
    pub(super) is_blank: bool,
}

impl Input {
    /// True for the report of a tool that found nothing to fix, and for a command that printed nothing.
    pub(super) fn is_nothing(&self) -> bool {
        self.is_blank || self.patch.is_some() && self.request.files.is_empty()
    }

    pub(super) fn read(args: &InputArgs, options: &CommonOptions) -> Result<Self, Failure> {
        if args.plan_command.as_ref().is_some_and(|command| command.trim_ascii().is_empty()) {
            let why = "is empty and would print nothing: give a command, or name a plan";
            return Err(usage("--plan-command", format!("--plan-command {why}")).into());
        }
        let bytes = match (&args.plan, &args.plan_command) {
            (Some(plan), _) => read_input(plan, options)?,
            (None, command) => printed(command.as_deref().unwrap_or_default(), options)?,
        };
        if args.plan_command.is_some() && bytes.trim_ascii().is_empty() {
            return Ok(Self { request: Request::default(), patch: None, is_blank: true });
        }
        let matching = args.matching.map(Matching::from);
        let Some(format) = format_of(&bytes, args.format)? else {
            return Ok(Self { request: request(&bytes, matching)?, patch: None, is_blank: false });
        };
        let fixes = if args.unsafe_fixes { FixChoice::Unsafe } else { FixChoice::Safe };
        let mut patch = Patch::read_with(&bytes, PatchOptions { format: Some(format), matching, fixes })?;
        let is_empty = patch.is_empty();
        let request = std::mem::take(&mut patch.request);
        if is_empty {
            return Ok(Self { request, patch: Some(patch), is_blank: false });
        }
        match validate::check(&request, PathRule::AbsoluteOrRelative) {
            Ok(()) => Ok(Self { request, patch: Some(patch), is_blank: false }),
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

/// What a command prints.
fn printed(command: &str, options: &CommonOptions) -> Result<Vec<u8>> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(options.root()?).stdin(Stdio::null());
    let output = shell.output().map_err(|e| Error::io("run", "sh", e))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr[output.stderr.len().saturating_sub(SAID)..]).into_owned();
    let said = if said.trim().is_empty() { String::new() } else { format!(": {}", said.trim()) };
    let message = format!("the command that prints the plan failed, and what it wrote stays: {}{said}", output.status);
    Err(Error::new(ErrorKind::ProgramFailed, message))
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
