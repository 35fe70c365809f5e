//! Reviews an open transaction with a person: shows each change, asks about it, and commits what is taken.
//!
//! `decisions` is what was decided, `page` what is shown, `keys` what can be answered; none of them knows the terminal, which
//! is in `asking`. The plan that was shown is the only one that is committed.
//!
//! Architecture invariant: nothing is written before the last question is answered. Whatever ends the review before that leaves
//! the transaction open and the files as they are.

mod asking;
mod decisions;
mod editor;
mod keys;
mod page;
mod painted;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::options::CommonOptions;
use super::output::{self, HEADING, NOTE, count, kind_column, styled};
use crate::digest::Digest;
use crate::engine::report::review::{Review, ReviewedFile, Selection};
use crate::engine::report::{FileReport, Operation, Preview};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::path::shown;
use crate::text::diff;
pub(crate) use asking::Asking;
pub(crate) use decisions::TakenShare;
use decisions::{PartChoice, ReviewDecision, ReviewDecisions, ReviewNext, ReviewPart};
use editor::EditedText;
use keys::{LastAnswer, LastQuestion, ReviewKey, ReviewSpot};
use page::ShownChange;

/// The files whose contents are read at a time: each reading plans everything anew.
const TOGETHER: usize = 32;

/// The files that the summary names.
const NAMED: usize = 20;

/// What is reviewed, and how that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReviewCall<'c> {
    pub(crate) engine: &'c Engine,
    /// The open transaction.
    pub(crate) id: &'c str,
    /// True if what is left stays open; `None` if that is asked.
    pub(crate) keeps_rest: Option<bool>,
    /// True if the transaction was opened for this review alone.
    pub(crate) is_own: bool,
    pub(crate) options: &'c CommonOptions,
}

/// What a person decided.
#[derive(Debug)]
pub(crate) struct ReviewEnd {
    pub(crate) preview: Preview,
    pub(crate) decisions: ReviewDecisions,
    pub(crate) ending: ReviewEnding,
}

/// What is to be done in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewEnding {
    Commit {
        keeps_rest: bool,
    },
    /// Nothing is taken, and what is open is discarded.
    Discard,
    /// Nothing.
    Nothing,
}

impl ReviewEnd {
    /// What is to be committed.
    pub(crate) fn selection(&self, keeps_rest: bool) -> Selection {
        Selection { plan_hash: self.preview.plan_hash, files: self.decisions.selected(), keeps_rest }
    }

    /// Returns whether all of it is taken as it was proposed.
    pub(crate) fn takes_all(&self) -> bool {
        self.decisions.whole_share() == TakenShare::All && !self.decisions.has_edited()
    }
}

/// A review that is going on.
struct Reviewer<'c> {
    call: ReviewCall<'c>,
    asking: &'c mut Asking,
    preview: Preview,
    contents: HashMap<usize, ReviewedFile>,
    decisions: ReviewDecisions,
}

impl ReviewCall<'_> {
    /// Asks about everything.
    pub(crate) fn ask(self, asking: &mut Asking) -> Result<ReviewEnd> {
        let first: Vec<usize> = (0..TOGETHER).collect();
        let run = Run::default().cancelled_by(asking.token()).diffs_up_to(0);
        let Review { preview, files } = self.engine.review(self.id, Some(&first), run)?;
        let decisions = ReviewDecisions::new(preview.report.files.len());
        let contents = files.into_iter().enumerate().filter_map(|(file, contents)| Some((file, contents?))).collect();
        let mut reviewer = Reviewer { call: self, asking, preview, contents, decisions };
        let ending = reviewer.review()?;
        let Reviewer { preview, decisions, .. } = reviewer;
        Ok(ReviewEnd { preview, decisions, ending })
    }

    /// The error in the words of a review.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let is_of_plan = |step: &NextStep| matches!(step, NextStep::PreviewAgain | NextStep::DryRunAgain);
        let is_of_open = |step: &NextStep| {
            matches!(step, NextStep::CommitAgain { .. } | NextStep::StageAgain { .. } | NextStep::RollBack { .. })
        };
        let steps = error.next_steps().to_vec();
        let is_changed = steps.iter().any(is_of_plan);
        let error = if is_changed { error.reworded(|_| CHANGED.to_owned()) } else { error };
        if !(is_changed || self.is_own && steps.iter().any(is_of_open)) {
            return error;
        }
        let again = NextStep::ReviewAgain { id: (!self.is_own).then(|| self.id.to_owned()) };
        let others = steps.into_iter().filter(|step| !(is_of_plan(step) || self.is_own && is_of_open(step)));
        error.next_instead(std::iter::once(again).chain(others))
    }
}

/// What is said if the plan is not the one that was shown.
const CHANGED: &str = "the files have changed since they were reviewed, and nothing is committed";

/// The parts of a file that are decided on.
fn parts_of(report: &FileReport, contents: &ReviewedFile) -> Vec<ReviewPart> {
    match (report.operation, &contents.runs, &contents.before) {
        (Operation::None, ..) => Vec::new(),
        (_, Some(runs), Some(before)) => diff::grouped(before, runs).into_iter().map(ReviewPart::Runs).collect(),
        _ => vec![ReviewPart::Whole],
    }
}

impl Reviewer<'_> {
    fn review(&mut self) -> Result<ReviewEnding> {
        // Nothing happens to these, and nobody asks for them.
        let files = self.preview.report.files.iter().enumerate();
        let still: Vec<usize> =
            files.filter(|(_, file)| file.operation == Operation::None).map(|(index, _)| index).collect();
        for file in still {
            self.decisions.load(file, Vec::new());
        }
        loop {
            match self.decisions.next() {
                ReviewNext::Load(file) => self.load(file)?,
                ReviewNext::Ask { file, part } => self.ask_part(file, part)?,
                ReviewNext::End => {
                    if let Some(ending) = self.end()? {
                        return Ok(ending);
                    }
                }
            }
        }
    }

    fn load(&mut self, file: usize) -> Result<()> {
        if !self.contents.contains_key(&file) {
            let wanted: Vec<usize> = (file..file + TOGETHER).collect();
            let run = Run::default().cancelled_by(self.asking.token()).diffs_up_to(0);
            let Review { preview, files } = self.call.engine.review(self.call.id, Some(&wanted), run)?;
            check_same(self.preview.plan_hash, preview.plan_hash)?;
            let read = files.into_iter().enumerate().filter_map(|(file, contents)| Some((file, contents?)));
            self.contents.extend(read);
        }
        let parts = parts_of(&self.preview.report.files[file], &self.contents[&file]);
        self.decisions.load(file, parts);
        Ok(())
    }

    fn ask_part(&mut self, file: usize, part: usize) -> Result<()> {
        let (report, contents) = (&self.preview.report.files[file], &self.contents[&file]);
        let parts = self.decisions.parts(file);
        let is_text = |content: &Option<Vec<u8>>| content.as_ref().is_some_and(|content| !content.contains(&0));
        let spot = ReviewSpot {
            has_more: part + 1 < parts.len(),
            has_files: file + 1 < self.preview.report.files.len(),
            can_edit: match &parts[part] {
                ReviewPart::Whole => contents.is_written && contents.mode_after.is_some() && is_text(&contents.after),
                ReviewPart::Runs(_) => true,
            },
            can_split: matches!(&parts[part], ReviewPart::Runs(runs) if runs.len() > 1),
            can_undo: self.decisions.is_begun(),
        };
        let place = (file, self.preview.report.files.len());
        let path = self.call.options.shown(&report.path);
        output::say(ShownChange { report, reviewed: contents, path, place }.part(parts, part));
        let typed = self.asking.answer(&spot.question())?;
        let this = |choice| ReviewDecision::This(choice);
        let decided = match typed.and_then(|typed| spot.answer(typed)) {
            Some(ReviewKey::Take) => this(PartChoice::Take),
            Some(ReviewKey::Leave) => this(PartChoice::Leave),
            Some(ReviewKey::TakeFile) => ReviewDecision::RestOfFile(true),
            Some(ReviewKey::LeaveFile) => ReviewDecision::RestOfFile(false),
            Some(ReviewKey::TakeAll) => ReviewDecision::AllThatFollow(true),
            Some(ReviewKey::LeaveAll | ReviewKey::Quit) => ReviewDecision::AllThatFollow(false),
            Some(ReviewKey::Split) => ReviewDecision::Split,
            Some(ReviewKey::Edit) => match self.edit(file, part)? {
                Some(choice) => this(choice),
                None => return Ok(()),
            },
            Some(ReviewKey::Undo) => {
                self.decisions.undo();
                return Ok(());
            }
            Some(ReviewKey::Help) | None => {
                output::say(spot.help());
                return Ok(());
            }
        };
        self.decisions.decide(decided);
        Ok(())
    }

    /// Has a part edited; `None` if nothing came of it.
    fn edit(&mut self, file: usize, part: usize) -> Result<Option<PartChoice>> {
        let contents = &self.contents[&file];
        let [before, after] = [&contents.before, &contents.after].map(|it| it.as_deref().unwrap_or_default());
        let (old, new, rest): (Option<&[u8]>, &[u8], &[u8]) = match (&self.decisions.parts(file)[part], &contents.runs)
        {
            (ReviewPart::Runs(numbers), Some(runs)) => {
                let old = together(numbers, runs, |run| &run.0);
                (Some(&before[old.clone()]), &after[together(numbers, runs, |run| &run.1)], &before[old.end..])
            }
            _ => (None, after, &[]),
        };
        let edited = match editor::edit(new, &self.preview.report.files[file].path, self.asking)? {
            EditedText::Saved(edited) => editor::whole_lines(edited, rest),
            EditedText::Failed(how) => {
                output::note(format!("{} nothing is edited: {}", styled(NOTE, "note:"), crate::path::one_line(&how)));
                return Ok(None);
            }
        };
        Ok(Some(if edited == new {
            PartChoice::Take
        } else if old == Some(&edited) {
            output::note(format!("{} it is as it was before: the change is left", styled(NOTE, "note:")));
            PartChoice::Leave
        } else {
            PartChoice::Instead(edited)
        }))
    }

    /// Tells what is taken, and asks what is done with it; `None` if the review goes on.
    fn end(&mut self) -> Result<Option<ReviewEnding>> {
        output::say(self.summary());
        let share = self.decisions.whole_share();
        if share == TakenShare::Nothing {
            let discards = self.call.keeps_rest == Some(false) || self.call.is_own;
            return Ok(Some(if discards { ReviewEnding::Discard } else { ReviewEnding::Nothing }));
        }
        if let Some(keeps_rest) = self.call.keeps_rest {
            return Ok(Some(ReviewEnding::Commit { keeps_rest }));
        }
        let has_rest = share != TakenShare::All;
        let last = LastQuestion { has_rest, is_own: self.call.is_own, can_undo: self.decisions.is_begun() };
        loop {
            let typed = self.asking.answer(&last.question())?;
            match typed.and_then(|typed| last.answer(typed)) {
                Some(LastAnswer::Commit { keeps_rest }) => return Ok(Some(ReviewEnding::Commit { keeps_rest })),
                Some(LastAnswer::Nothing) if self.call.is_own => return Ok(Some(ReviewEnding::Discard)),
                Some(LastAnswer::Nothing) => return Ok(Some(ReviewEnding::Nothing)),
                Some(LastAnswer::Undo) => {
                    self.decisions.undo();
                    return Ok(None);
                }
                Some(LastAnswer::Help) | None => output::say(last.help()),
            }
        }
    }

    /// What is taken of what.
    fn summary(&self) -> String {
        let files = self.preview.report.files.iter().enumerate();
        let asked: Vec<_> =
            files.filter_map(|(index, file)| Some((index, file, self.decisions.share(index)?))).collect();
        let taken = asked.iter().filter(|(.., share)| *share != TakenShare::Nothing).count();
        let mut text = format!("\n{}\n", styled(HEADING, format!("taken of {}: {taken}", count(asked.len(), "file"))));
        let named = if self.call.options.verbose { asked.len() } else { NAMED };
        for (index, file, share) in asked.iter().take(named) {
            let how = match (share, self.decisions.counts(*index)) {
                (TakenShare::Some, Some((taken, all))) => format!("  {taken} of {}", count(all, "change")),
                (TakenShare::Nothing, _) => "  left".to_owned(),
                _ => String::new(),
            };
            let operation = kind_column(file.operation.as_str());
            // Writing to a string does not fail.
            let _ = writeln!(text, "  {operation}{}{how}", shown(self.call.options.shown(&file.path)));
        }
        if asked.len() > named {
            let _ = writeln!(text, "  and {}", count(asked.len() - named, "more file"));
        }
        text
    }
}

/// The bytes from the first of some differences to the last.
fn together<R>(numbers: &Range<usize>, runs: &[R], side: impl Fn(&R) -> &Range<usize>) -> Range<usize> {
    side(&runs[numbers.start]).start..side(&runs[numbers.end - 1]).end
}

/// Verifies that what would be done is still what was shown.
fn check_same(shown: Digest, now: Digest) -> Result<()> {
    if shown == now {
        return Ok(());
    }
    Err(Error::new(ErrorKind::HashMismatch, CHANGED).with_next([NextStep::PreviewAgain]))
}
