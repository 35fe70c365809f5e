//! `txedit campaign run`, `retry`, `undo`, `work` and `shard`: what makes attempts, each in some of the workspaces.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::Duration;

use super::{engines, opened_for_work, told};
use crate::campaign::{
    self, Attempt, Campaign, CampaignProgress, CampaignTask, DueWorkspace, Pace, Worker, WorkspaceState,
};
use crate::cancel::CancelToken;
use crate::cli::args::{
    CampaignRetryArgs, CampaignRunArgs, CampaignShardArgs, CampaignUndoArgs, CampaignWorkArgs, PaceArgs,
};
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::{self, Answer, BAD, NAME, styled};
use crate::cli::signals;
use crate::error::{Error, Result};
use crate::fs::records::{self, LineWriter, ModeLock};
use crate::path::one_line;

/// What was done by one call.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) attempts: usize,
    pub(super) failures: usize,
    /// Why some were left out.
    pub(super) stopped: Option<String>,
    /// The number of first workspaces, of which one has failed.
    pub(super) canary: Option<usize>,
    pub(super) is_interrupted: bool,
    /// True if a report could not be written.
    pub(super) is_broken: bool,
}

pub(super) fn run(args: &CampaignRunArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let campaign = opened_for_work(&args.folder, options)?;
    let task = CampaignTask::Change { again: args.again };
    let lock = campaign.lock(task)?;
    let progress = CampaignProgress::read(&campaign)?;
    let is_due = |state| state == WorkspaceState::Unreported || args.again && state == WorkspaceState::Undone;
    let due = progress.due(is_due);
    if let Some(engine) = &args.with {
        engines::run(engine, args, &campaign, &due, options)?;
        return told::answer(&campaign, &Session::default(), options);
    }
    let worker = worker(&campaign, (task, lock), progress.round_of_change(args.again))?;
    let mut series = AttemptSeries::new(&worker, &args.pace, options)?;
    series.work_after(args.canary.unwrap_or_default(), &due, &progress)?;
    told::answer(&campaign, &series.session, options)
}

pub(super) fn retry(args: &CampaignRetryArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let campaign = opened_for_work(&args.folder, options)?;
    let task = CampaignTask::Change { again: false };
    let lock = campaign.lock(task)?;
    let progress = CampaignProgress::read(&campaign)?;
    let due = progress.due(|state| match state {
        WorkspaceState::Unreported => true,
        WorkspaceState::Failed { retryable } => retryable || args.failed,
        _ => false,
    });
    let worker = worker(&campaign, (task, lock), progress.round_of_change(false))?;
    let mut series = AttemptSeries::new(&worker, &args.pace, options)?;
    series.work_after(args.canary.unwrap_or_default(), &due, &progress)?;
    told::answer(&campaign, &series.session, options)
}

pub(super) fn undo(args: &CampaignUndoArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let campaign = opened_for_work(&args.folder, options)?;
    let task = CampaignTask::Undo { rebase: args.rebase };
    let lock = campaign.lock(task)?;
    let progress = CampaignProgress::read(&campaign)?;
    // One without a report, or that failed, may be done, too.
    let mut due = progress.due(|state| !matches!(state, WorkspaceState::Undone | WorkspaceState::NothingToDo));
    due.reverse();
    let worker = worker(&campaign, (task, lock), progress.round_of_undo())?;
    let mut series = AttemptSeries::new(&worker, &args.pace, options)?;
    series.work(&due)?;
    told::undone(&campaign, &series.session, options)
}

pub(super) fn these(args: &CampaignWorkArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let campaign = opened_for_work(&args.folder, options)?;
    let task = CampaignTask::Change { again: args.again };
    let lock = campaign.lock(task)?;
    let progress = CampaignProgress::read(&campaign)?;
    for index in &args.workspaces {
        campaign.workspace(*index)?;
    }
    let due: Vec<_> = args.workspaces.iter().map(|index| progress.due_at(*index)).collect();
    let worker = worker(&campaign, (task, lock), progress.round_of_change(args.again))?;
    let pace = PaceArgs { jobs: std::num::NonZero::new(1), stop_after: None, rate: None };
    let mut series = AttemptSeries { keeps_attempts: true, ..AttemptSeries::new(&worker, &pace, options)? };
    series.work(&due)?;
    told::of_its_own(&campaign, &series.session, series.attempts())
}

pub(super) fn shard(args: &CampaignShardArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let campaign = opened_for_work(&args.folder, options)?;
    let task = CampaignTask::Change { again: false };
    let lock = campaign.lock(task)?;
    let progress = CampaignProgress::read(&campaign)?;
    let (part, of) = args.part;
    let mut due = progress.due(|state| state == WorkspaceState::Unreported);
    due.retain(|due| due.index % of == part - 1);
    let worker = worker(&campaign, (task, lock), progress.round_of_change(false))?;
    let mut series = AttemptSeries::new(&worker, &args.pace, options)?;
    series.work(&due)?;
    told::of_its_own(&campaign, &series.session, Vec::new())
}

fn worker(campaign: &Campaign, (task, lock): (CampaignTask, ModeLock), round: u32) -> Result<Worker<'_>> {
    let name = format!("{}:{}", records::machine(), std::process::id());
    Ok(Worker { campaign, program: program()?, task, lock, round, name })
}

/// This program.
pub(super) fn program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|e| Error::io("find", "this program", e))
}

/// Attempts of one process, with one file of reports.
struct AttemptSeries<'a> {
    worker: &'a Worker<'a>,
    pace: Pace,
    reports: Option<LineWriter>,
    cancel: CancelToken,
    is_told: bool,
    session: Session,
    /// True if its attempts are answered one by one: a campaign may have any number.
    keeps_attempts: bool,
    made: Mutex<Vec<Attempt>>,
}

impl<'a> AttemptSeries<'a> {
    fn new(worker: &'a Worker<'a>, pace: &PaceArgs, options: &CommonOptions) -> Result<Self> {
        let interval = match pace.rate {
            None => Duration::ZERO,
            Some(rate) if rate > 0.0 && rate.is_finite() => Duration::from_secs_f64(1.0 / rate.max(1e-6)),
            Some(_) => return Err(usage("--rate", "a rate is a number of workspaces in a second, more than 0")),
        };
        let jobs = pace.jobs.map_or_else(|| available_parallelism().map_or(1, Into::into), Into::into);
        let pace = Pace { jobs, stop_after: pace.stop_after.map(Into::into), interval };
        let (cancel, is_told) = (signals::cancel_token()?, !options.quiet && !options.json);
        let session = Session::default();
        Ok(Self {
            worker,
            pace,
            reports: None,
            cancel,
            is_told,
            session,
            keeps_attempts: false,
            made: Mutex::default(),
        })
    }

    /// Works on those that are due among the first workspaces of the campaign, and on the others only if each of the first
    /// is well then, whenever it was worked on.
    fn work_after(&mut self, first: usize, due: &[DueWorkspace], progress: &CampaignProgress) -> Result<()> {
        let (canaries, others): (Vec<_>, Vec<_>) = due.iter().partition(|due| due.index < first);
        self.work(&canaries)?;
        let is_left = |index| {
            let is_bad = matches!(progress.state(index), WorkspaceState::Failed { .. } | WorkspaceState::UndoFailed);
            is_bad && canaries.iter().all(|due| due.index != index)
        };
        let count = self.worker.campaign.count();
        if self.session.failures > 0 && first > 0 || (0..first.min(count)).any(is_left) {
            self.session.stopped = Some("one of the first workspaces has failed".to_owned());
            self.session.canary = Some(first);
        }
        if self.session.stopped.is_some() { Ok(()) } else { self.work(&others) }
    }

    fn work(&mut self, due: &[DueWorkspace]) -> Result<()> {
        if due.is_empty() {
            return Ok(());
        }
        let reports = match &mut self.reports {
            Some(reports) => reports,
            None => self.reports.insert(self.worker.campaign.new_reports(&file_of_reports())?),
        };
        let (is_told, keeps, made) = (self.is_told, self.keeps_attempts, &self.made);
        let told = |attempt: &Attempt| {
            if is_told && attempt.has_failed() {
                let code = attempt.error_code.as_deref().unwrap_or_default();
                let error = one_line(attempt.error.as_deref().unwrap_or_default());
                output::note(format!(
                    "{} {}: {code}: {error}",
                    styled(BAD, "failed"),
                    styled(NAME, one_line(&attempt.name))
                ));
            }
            if keeps && let Ok(mut made) = made.lock() {
                made.push(attempt.clone());
            }
        };
        let worked = campaign::work(self.worker, due, self.pace, reports, &self.cancel, &told);
        let session = &mut self.session;
        session.attempts += worked.attempts;
        session.failures += worked.failures;
        session.is_interrupted |= self.cancel.is_cancelled();
        session.is_broken |= worked.broken.is_some();
        match worked.broken {
            // The attempt may have been made all the same.
            Some(error) => session.stopped = Some(format!("an attempt could not be reported: {}", error.message())),
            None if !worked.is_stopped => {}
            None if session.is_interrupted => session.stopped = Some("it was interrupted".to_owned()),
            None => session.stopped = Some("so many failed".to_owned()),
        }
        Ok(())
    }

    fn attempts(&self) -> Vec<Attempt> {
        self.made.lock().map(|made| made.clone()).unwrap_or_default()
    }
}

/// A name that no other process has, and that sorts by time.
fn file_of_reports() -> String {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S.%6fZ");
    format!("{time}-{}.jsonl", records::random_name())
}
