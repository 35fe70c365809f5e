//! What a person decides on the page, as calls of the engine.

use serde::{Deserialize, Serialize};

use super::ReviewPage;
use super::news::{News, Told};
use super::state::{ContentEntry, content_entries};
use crate::check::Check;
use crate::digest::Digest;
use crate::engine::report::review::{SelectedFile, Selection, TakenRuns};
use crate::engine::report::{Kept, Operation, Report};
use crate::engine::{Decision, Engine, RecoverOptions, Run, UndoOptions};
use crate::error::{Error, ErrorKind, KeptContent, Result};
use crate::path::shown;
use crate::wire::hints::with_steps;

/// Bytes of the diff of a file that an undo would change.
const DIFF_BYTES: usize = 16 << 10;

/// Bytes of all these diffs.
const ALL_DIFFS: usize = 512 << 10;

/// The approval of some changes, or of all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approval {
    id: String,
    /// The plan that was shown.
    plan_hash: String,
    /// One for each file that was shown.
    files: Vec<Taken>,
    rest: Rest,
    /// A command of the shell that decides, with the new files in place.
    check: Option<String>,
}

/// What is taken of a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Taken {
    Whole,
    Nothing,
    /// The first of some neighbouring changes, and the one behind the last.
    Runs(Vec<(usize, usize)>),
}

/// What becomes of what is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Rest {
    Keep,
    Discard,
}

/// What names a transaction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedDiscard {
    id: String,
}

/// A transaction that is undone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedUndo {
    id: String,
    /// Also where other lines of its files have changed since.
    #[serde(default)]
    rebase: bool,
    /// The plan of the preview that was shown.
    plan_hash: Option<String>,
}

/// A decision about an interrupted transaction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedRecovery {
    id: String,
    decision: DecisionWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionWord {
    Recover,
    Forward,
    Back,
    Discard,
}

/// A kept content that is written back: which one of those that were shown of its transaction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedRestore {
    id: String,
    index: usize,
    shown: Vec<ContentEntry>,
}

/// Kept contents that are deleted: those that were shown of a transaction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedDrop {
    id: String,
    shown: Vec<ContentEntry>,
}

/// What was done, or would be.
#[derive(Debug, Serialize)]
pub(super) struct PageDoneJson {
    success: bool,
    /// The transaction that was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The open transaction that the rest stays in.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<String>,
    /// The plan of a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_hash: Option<String>,
    /// What became of an interrupted one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recovered: Vec<String>,
    files: Vec<DoneFile>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DoneFile {
    path: String,
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl PageDoneJson {
    fn new(warnings: Vec<String>) -> Self {
        Self {
            success: true,
            id: None,
            rest: None,
            plan_hash: None,
            recovered: Vec::new(),
            files: Vec::new(),
            warnings,
        }
    }

    fn of(report: Report) -> Self {
        let mut left = ALL_DIFFS;
        let mut diff = |diff: Option<String>| {
            let diff = diff.filter(|diff| diff.len() <= left)?;
            left -= diff.len();
            Some(diff)
        };
        let files = report.files.into_iter().filter(|file| file.operation != Operation::None);
        let files = files.map(|mut file| DoneFile {
            path: shown(&file.path),
            operation: file.operation.as_str(),
            diff: if report.dry_run { diff(file.extras.diff.take()) } else { None },
        });
        let plan_hash = report.plan_hash.map(|plan_hash| plan_hash.to_hex());
        Self { files: files.collect(), id: report.transaction, plan_hash, ..Self::new(report.warnings) }
    }
}

/// Commits what was approved, if it is still what was shown.
pub(super) fn approve(page: &ReviewPage, engine: &Engine, approval: &Approval) -> Result<PageDoneJson> {
    let Approval { id, plan_hash, files, rest, check } = approval;
    let plan_hash = digest(plan_hash)?;
    let files = files.iter().map(|taken| match taken {
        Taken::Whole => SelectedFile::Whole,
        Taken::Nothing => SelectedFile::Nothing,
        Taken::Runs(runs) => {
            let runs = runs.iter().map(|(start, end)| TakenRuns { runs: *start..*end, instead: None });
            SelectedFile::Runs(runs.collect())
        }
    });
    let selection = Selection { plan_hash, files: files.collect(), keeps_rest: *rest == Rest::Keep };
    let check = check.as_ref().filter(|command| !command.trim().is_empty());
    let check = check.map(|command| Check {
        command: ["sh".into(), "-c".into(), command.into()].to_vec(),
        limit: page.options.check_limit,
    });
    let told = Told::new(page, id);
    let committed = engine.commit_selected(id, &selection, check, run(page, &told))?;
    Ok(PageDoneJson { rest: committed.rest, ..PageDoneJson::of(committed.report) })
}

fn digest(plan_hash: &str) -> Result<Digest> {
    plan_hash.parse().map_err(|_| Error::new(ErrorKind::ValidationFailed, "the plan hash is 64 hex digits"))
}

/// Discards an open transaction.
pub(super) fn discard(page: &ReviewPage, engine: &Engine, named: &AskedDiscard) -> Result<PageDoneJson> {
    let told = Told::new(page, &named.id);
    engine.roll_back(&named.id, run(page, &told)).map(PageDoneJson::new)
}

/// What an undo would change.
pub(super) fn preview_undo(page: &ReviewPage, engine: &Engine, undone: &AskedUndo) -> Result<PageDoneJson> {
    let options = UndoOptions { dry_run: true, rebase: undone.rebase, ..UndoOptions::default() };
    let run = Run::default().cancelled_by(&page.calls).diffs_up_to(DIFF_BYTES);
    engine.undo_with(Some(&undone.id), &options, run).map(PageDoneJson::of)
}

/// Undoes a committed transaction, if that is still what was shown.
pub(super) fn undo(page: &ReviewPage, engine: &Engine, undone: &AskedUndo) -> Result<PageDoneJson> {
    let plan_hash = undone.plan_hash.as_deref().map(digest).transpose()?;
    let options = UndoOptions { rebase: undone.rebase, plan_hash, ..UndoOptions::default() };
    let told = Told::new(page, &undone.id);
    engine.undo_with(Some(&undone.id), &options, run(page, &told)).map(PageDoneJson::of)
}

/// Finishes, rolls back or discards an interrupted transaction.
pub(super) fn recover(page: &ReviewPage, engine: &Engine, decided: &AskedRecovery) -> Result<PageDoneJson> {
    let decision = match decided.decision {
        DecisionWord::Recover => Decision::Table,
        DecisionWord::Forward => Decision::Forward,
        DecisionWord::Back => Decision::Back,
        DecisionWord::Discard => Decision::Discard,
    };
    let recovered = engine.recover(Some(&decided.id), RecoverOptions { decision, ..RecoverOptions::default() })?;
    let told = recovered.iter().map(|one| {
        let reason = with_steps(&one.reason(), &one.next_steps, page.options.words);
        format!("{} {}: {reason}", one.action.as_str().replace('_', " "), one.id)
    });
    Ok(PageDoneJson { recovered: told.collect(), ..PageDoneJson::new(Vec::new()) })
}

/// Writes a kept content back, if it is the one that was shown.
pub(super) fn restore_kept(page: &ReviewPage, engine: &Engine, asked: &AskedRestore) -> Result<PageDoneJson> {
    let contents = kept_contents(engine, &asked.id, &asked.shown)?;
    let content = contents.get(asked.index).ok_or_else(|| changed_since(&asked.id))?;
    let told = Told::new(page, &asked.id);
    engine.kept_restore(&asked.id, Some(&content.path), run(page, &told)).map(PageDoneJson::of)
}

/// Deletes what is kept of a transaction, if it is what was shown.
pub(super) fn drop_kept(_: &ReviewPage, engine: &Engine, asked: &AskedDrop) -> Result<PageDoneJson> {
    kept_contents(engine, &asked.id, &asked.shown)?;
    engine.kept_drop(&asked.id).map(|()| PageDoneJson::new(Vec::new()))
}

/// What is kept of a transaction, if it is what was shown: one that another program wrote since has another reason.
fn kept_contents(engine: &Engine, id: &str, shown: &[ContentEntry]) -> Result<Vec<KeptContent>> {
    let kept = engine.kept()?.into_iter().find(|kept| kept.id == id);
    let is_shown = |kept: &Kept| content_entries(kept, engine.root()) == shown;
    kept.filter(is_shown).map(|kept| kept.contents).ok_or_else(|| changed_since(id))
}

fn changed_since(id: &str) -> Error {
    Error::new(
        ErrorKind::HashMismatch,
        format!("what is kept of {id} is not what was shown any more; look at it again"),
    )
}

impl AskedUndo {
    /// The transaction whose undo is previewed.
    pub(super) const fn new(id: String, rebase: bool) -> Self {
        Self { id, rebase, plan_hash: None }
    }
}

fn run<'r>(page: &'r ReviewPage, told: &'r Told<'r>) -> Run<'r> {
    Run::default().cancelled_by(&page.calls).observed_by(told).diffs_up_to(0)
}

/// Tells all pages that something was decided.
pub(super) fn tell(page: &ReviewPage) {
    page.listeners.tell(News::State);
}
