//! What is told of a campaign: planned minus reported.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::opened;
use super::work::Session;
use crate::campaign::{Attempt, Campaign, CampaignProgress, WorkspaceState};
use crate::cli::args::CampaignFolderArgs;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, BAD, GOOD, NAME, count, styled};
use crate::cli::{exit, next_step};
use crate::error::Result;
use crate::path::one_line;

/// The answer of `campaign status`, `run`, `retry`, `undo`, `work` and `shard`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct CampaignStatusJson {
    success: bool,
    /// True if every workspace is done, undone, or has nothing to do.
    complete: bool,
    /// The id of the campaign.
    campaign: String,
    folder: PathBuf,
    /// The number of workspaces.
    planned: usize,
    done: usize,
    nothing_to_do: usize,
    undone: usize,
    /// Those that failed; `retryable` is how many of them may succeed later without a change.
    failed: usize,
    retryable: usize,
    /// Those that are done, and whose undo failed.
    undo_failed: usize,
    /// Those of which nothing was reported; a transaction may have been committed all the same.
    unreported: usize,
    /// The files that the transactions of those that are done have changed.
    files_edited: u64,
    /// All attempts that were reported.
    attempts: usize,
    /// Lines in the reports that are none.
    #[serde(skip_serializing_if = "is_zero")]
    damaged_reports: usize,
    /// How workspaces failed, the most frequent first.
    failures: Vec<FailureCodeJson>,
    /// Why this call left workspaces out.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    /// The attempts of this call, by `campaign work` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    made: Vec<AttemptJson>,
}

/// A way in which workspaces failed.
#[derive(Serialize, JsonSchema)]
struct FailureCodeJson {
    error_code: String,
    workspaces: usize,
    retryable: bool,
    /// One of them.
    example: FailureExampleJson,
}

#[derive(Serialize, JsonSchema)]
struct FailureExampleJson {
    workspace: String,
    error: String,
}

/// An attempt, as it was reported.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AttemptJson {
    /// The number of the workspace, from 0.
    pub(super) workspace: usize,
    pub(super) name: String,
    /// `done`, `nothing_to_do`, `undone` or `failed`.
    pub(super) outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transaction_id: Option<String>,
    pub(super) files_edited: usize,
    /// True if an earlier attempt had committed it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) already_applied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_path: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) retryable: bool,
    pub(super) started: String,
    pub(super) seconds: f64,
    /// The machine and the process that reported it.
    pub(super) worker: String,
}

impl From<Attempt> for AttemptJson {
    fn from(attempt: Attempt) -> Self {
        Self {
            workspace: attempt.workspace,
            outcome: attempt.outcome.as_str().to_owned(),
            name: attempt.name,
            transaction_id: attempt.transaction_id,
            files_edited: attempt.files_edited,
            already_applied: attempt.already_applied,
            error_code: attempt.error_code,
            error: attempt.error,
            file_path: attempt.file_path,
            retryable: attempt.retryable,
            started: attempt.started,
            seconds: attempt.seconds,
            worker: attempt.worker,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(super) fn status(args: &CampaignFolderArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    answer(&opened(args, options)?, &Session::default(), options)
}

/// The answer after a call that made attempts in `campaign`.
pub(super) fn answer(campaign: &Campaign, session: &Session, options: &CommonOptions) -> Result<Answer, Failure> {
    let json = CampaignStatusJson::new(campaign, &CampaignProgress::read(campaign)?, session);
    let mut text = json.for_people(session);
    if !json.complete {
        let folder = next_step::shell_word(options.shown(&campaign.folder));
        text.push_str(&json.next_step(&folder, session));
    }
    let status = exit_status(json.complete, session);
    Ok(Answer::new(&json, text)?.having_done(done(session)).exiting(status))
}

/// The answer of a call that succeeds if its own attempts did, whatever is left for others.
pub(super) fn of_its_own(campaign: &Campaign, session: &Session, made: Vec<Attempt>) -> Result<Answer, Failure> {
    let mut json = CampaignStatusJson::new(campaign, &CampaignProgress::read(campaign)?, session);
    json.made = made.into_iter().map(Into::into).collect();
    let text = json.for_people(session);
    let status = exit_status(session.failures == 0 && session.stopped.is_none(), session);
    Ok(Answer::new(&json, text)?.having_done(done(session)).exiting(status))
}

/// The answer of an undo, which succeeds if its own attempts did.
pub(super) fn undone(campaign: &Campaign, session: &Session, options: &CommonOptions) -> Result<Answer, Failure> {
    let mut answer = of_its_own(campaign, session, Vec::new())?;
    if session.failures > 0 || session.stopped.is_some() {
        let folder = next_step::shell_word(options.shown(&campaign.folder));
        let _ = writeln!(answer.human, "  look at those with `txedit campaign report {folder}`, then undo again");
    }
    Ok(answer)
}

fn exit_status(is_good: bool, session: &Session) -> u8 {
    match is_good {
        _ if session.is_broken => exit::IO,
        _ if session.is_interrupted => exit::INTERRUPTED,
        true => exit::DONE,
        false => exit::NOT_APPLIED,
    }
}

fn done(session: &Session) -> Option<String> {
    let attempts = session.attempts;
    (attempts > 0).then(|| format!("made {}", count(attempts, "attempt")))
}

impl CampaignStatusJson {
    fn new(campaign: &Campaign, progress: &CampaignProgress, session: &Session) -> Self {
        let is = |wanted: WorkspaceState| progress.count(|state| state == wanted);
        let failed = progress.count(|state| matches!(state, WorkspaceState::Failed { .. }));
        let (undo_failed, unreported) = (is(WorkspaceState::UndoFailed), is(WorkspaceState::Unreported));
        let failures = progress.failures().iter().map(|failure| FailureCodeJson {
            error_code: failure.code.clone(),
            workspaces: failure.count,
            retryable: failure.retryable,
            example: FailureExampleJson { workspace: failure.example.0.clone(), error: failure.example.1.clone() },
        });
        Self {
            success: true,
            complete: failed + undo_failed + unreported == 0,
            campaign: campaign.manifest.id.clone(),
            folder: campaign.folder.clone(),
            planned: campaign.count(),
            done: is(WorkspaceState::Done),
            nothing_to_do: is(WorkspaceState::NothingToDo),
            undone: is(WorkspaceState::Undone),
            failed,
            retryable: is(WorkspaceState::Failed { retryable: true }),
            undo_failed,
            unreported,
            files_edited: progress.files(),
            attempts: progress.attempts,
            damaged_reports: progress.damaged,
            failures: failures.collect(),
            stopped: session.stopped.clone(),
            made: Vec::new(),
        }
    }

    fn for_people(&self, session: &Session) -> String {
        let numbers = [
            (self.done, "done"),
            (self.nothing_to_do, "with nothing to do"),
            (self.undone, "undone"),
            (self.failed, "failed"),
            (self.undo_failed, "done, whose undo failed"),
            (self.unreported, "unreported"),
        ];
        let numbers: Vec<_> = numbers.into_iter().filter(|(number, _)| *number > 0).collect();
        let numbers: Vec<_> = numbers.into_iter().map(|(number, what)| format!("{number} {what}")).collect();
        let style = if self.complete { GOOD } else { BAD };
        let (planned, files) =
            (count(self.planned, "workspace"), count(usize::try_from(self.files_edited).unwrap_or(usize::MAX), "file"));
        let mut text = format!(
            "{}: {planned}: {}; {files} changed\n",
            styled(NAME, &self.campaign),
            styled(style, numbers.join(", ")),
        );
        for failure in &self.failures {
            let may = if failure.retryable { ", may succeed later" } else { "" };
            let example = format!("{}: {}", one_line(&failure.example.workspace), one_line(&failure.example.error));
            let _ = writeln!(
                text,
                "  {} in {}{may}; {example}",
                failure.error_code,
                count(failure.workspaces, "workspace")
            );
        }
        if self.damaged_reports > 0 {
            let _ = writeln!(text, "  {} that cannot be read, and do not count", count(self.damaged_reports, "report"));
        }
        if let Some(why) = &session.stopped {
            let _ = writeln!(text, "  stopped: {why}");
        }
        text
    }

    /// What to do about what is left.
    fn next_step(&self, folder: &str, session: &Session) -> String {
        if let Some(first) = session.canary {
            return format!("  mend it, then `txedit campaign retry --failed --canary {first} {folder}`\n");
        }
        if self.failed > 0 && self.retryable == 0 {
            return format!("  mend those, then `txedit campaign retry --failed {folder}`\n");
        }
        if self.unreported > 0 && self.failed == 0 {
            return format!("  go on with `txedit campaign run {folder}`\n");
        }
        if self.undo_failed > 0 {
            return format!("  look at those with `txedit campaign report {folder}`, then undo again\n");
        }
        format!("  try again with `txedit campaign retry {folder}`\n")
    }
}
