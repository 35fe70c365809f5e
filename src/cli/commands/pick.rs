//! `--pick`: what a command would do is opened as a transaction and reviewed; what is taken is committed.
//!
//! The transaction is opened for the review alone: however that ends, nothing of it stays open unless somebody said so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::review::{self, ReviewDone, ReviewRest};
use super::transact;
use crate::check::Check;
use crate::cli::args::PickArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::Answer;
use crate::cli::report;
use crate::cli::review::{Asking, ReviewCall, ReviewEnding};
use crate::dialect::{Format, Patch, PatchOptions};
use crate::digest::Digest;
use crate::engine::report::{FileReport, Report, Staged};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Outcome, Result};
use crate::path::{listed, shown};
use crate::request::Request;
use crate::wire::Shape;

/// An undo that is picked from.
#[derive(Clone, Copy)]
pub(super) struct PickedUndo<'p> {
    /// The report of its dry run.
    pub(super) tried: &'p Report,
    /// Makes it, by the plan of the dry run: history then knows what it reverts.
    pub(super) make: &'p dyn Fn(Run<'_>) -> Result<Report>,
}

/// A command whose changes are picked.
pub(super) struct Picking<'p> {
    pub(super) engine: &'p Engine,
    pub(super) args: &'p PickArgs,
    /// Decides, with the new files in place, whether they stay.
    pub(super) check: Option<Check>,
    /// Made as it is if everything is taken.
    pub(super) undo: Option<PickedUndo<'p>>,
    pub(super) options: &'p CommonOptions,
}

/// A transaction that is discarded with this, unless it was committed.
struct OwnTransaction<'e> {
    engine: &'e Engine,
    id: String,
    is_over: bool,
}

impl Drop for OwnTransaction<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // It changes no file, and expires.
            let _ = self.engine.roll_back(&self.id, Run::default());
        }
    }
}

impl Picking<'_> {
    /// Opens a transaction with the changes of a request, and reviews it.
    pub(super) fn of_request(self, request: Request, asking: &mut Asking) -> Result<Answer, Failure> {
        if request.dry_run {
            review::refuse_with_pick(&[("a dry run", true)])?;
        }
        let stage = |run: Run<'_>| self.engine.stage(&request, None, run);
        match transact::watched_until(asking.token(), self.options, stage) {
            Ok(staged) => self.of_staged(staged, Vec::new(), asking),
            Err(error) => Err(Failure::of(request, Shape::Multi)(error)),
        }
    }

    /// Reviews what was staged for that; the notes are about it.
    pub(super) fn of_staged(
        self,
        staged: Staged,
        mut notes: Vec<String>,
        asking: &mut Asking,
    ) -> Result<Answer, Failure> {
        let options = self.options;
        notes.extend(report::notes(&staged.report, options));
        notes.extend(super::open::overlap_notes(&staged.overlaps));
        let Some(id) = staged.id else {
            let answer = transact::answer_without_request(&staged.report, "committed", options)?;
            return Ok(answer.noting(notes));
        };
        let mut own = OwnTransaction { engine: self.engine, id, is_over: false };
        if let Some(undo) = self.undo {
            check_same(&staged.report, undo.tried)?;
        }
        let done = self.review(&mut own, asking)?;
        let answer = review::answer(&done, options)?;
        Ok(answer.noting(notes))
    }

    fn review(self, own: &mut OwnTransaction<'_>, asking: &mut Asking) -> Result<ReviewDone> {
        let Self { engine, args, check, undo, options } = self;
        let id = own.id.clone();
        let keeps_rest = args.rest.map(review::keeps);
        let call = ReviewCall { engine, id: &id, keeps_rest, is_own: true, options };
        let explained = |error| call.explained(error);
        let end = call.ask(asking).map_err(explained)?;
        if let (ReviewEnding::Commit { .. }, Some(undo), true) = (end.ending, undo, end.takes_all()) {
            let report = transact::watched_until(asking.token(), options, undo.make).map_err(explained)?;
            return Ok(ReviewDone { end, report, verb: "undone by", rest: ReviewRest::None });
        }
        match review::carry_out(call, end, check, asking) {
            Ok(done) => {
                own.is_over = true;
                Ok(done)
            }
            Err(error) => {
                // What a recovery needs is left alone.
                own.is_over = !matches!(error.outcome(), Outcome::Unchanged | Outcome::RolledBack);
                Err(call.explained(error))
            }
        }
    }
}

/// The request for what a dry run of an undo would do, whose files are those of its report.
pub(super) fn request_of_undo(report: &Report) -> Result<Request> {
    let patch = report.patch.as_deref().cloned().unwrap_or_default();
    let untold: Vec<String> =
        patch.untold.iter().filter_map(|file| report.files.get(*file)).map(|file| shown(&file.path)).collect();
    if !untold.is_empty() {
        return Err(not_in_parts(&format!("no patch tells what becomes of {}", listed(&untold))));
    }
    let options = PatchOptions { format: Some(Format::Unified), ..PatchOptions::default() };
    let patch = Patch::read_with(&patch.text, options).map_err(|error| not_in_parts(error.message()))?;
    let ids: Vec<String> = report.reverts.iter().map(|reverted| reverted.id.clone()).collect();
    Ok(Request { label: Some(format!("a part of the undo of {}", listed(&ids))), ..patch.request })
}

/// Verifies that what was staged makes of each file what the undo would.
fn check_same(staged: &Report, undo: &Report) -> Result<()> {
    if after(&staged.files) == after(&undo.files) {
        return Ok(());
    }
    Err(not_in_parts("what its patch makes of the files is not what it would make of them"))
}

/// What becomes of each path.
fn after(files: &[FileReport]) -> BTreeMap<PathBuf, Option<Digest>> {
    let mut after = BTreeMap::new();
    for file in files {
        let path = |path: &Path| path.to_path_buf();
        match &file.extras.renamed_to {
            Some(to) => after.extend([(path(&file.path), None), (path(to), file.hash_after)]),
            None => drop(after.insert(path(&file.path), file.hash_after)),
        }
    }
    after
}

fn not_in_parts(why: &str) -> Error {
    let message =
        format!("this undo cannot be picked from: {why}: undo all of it, without --pick, or change the files by hand");
    Error::new(ErrorKind::ValidationFailed, message)
}
