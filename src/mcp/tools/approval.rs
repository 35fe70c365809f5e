//! Commits that wait for a person, who decides in another program: `txedit review`, or its page.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Job;
use crate::digest::Digest;
use crate::engine::report::review::SelectedCommit;
use crate::engine::report::{Preview, Report};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::mcp::answer::{ToolAnswer, ToolChanges};
use crate::path::shown;
use crate::request::Request;
use crate::wire::open::{ApprovalJson, ApprovedJson};
use crate::wire::response::text;
use crate::wire::success_multi;

/// The time that a call waits if it does not say how long.
const PATIENCE: u64 = 30;

/// The longest time: many clients give up after a minute.
const LONGEST: u64 = 600;

/// The most files that a question names.
const NAMED: usize = 20;

/// How often it is looked whether somebody has decided.
const PACE: Duration = Duration::from_millis(200);

/// The most transactions of which it is remembered what was staged.
const REMEMBERED: usize = 64;

/// What was staged in open transactions when a person was asked, so that a later answer can tell what they changed.
#[derive(Debug, Default)]
pub(in crate::mcp) struct AskedPeople(Mutex<VecDeque<AskedOf>>);

/// What was staged in one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AskedOf {
    question: Question,
    /// Each file, with its digest after a commit of all of it.
    files: Vec<(PathBuf, Option<Digest>)>,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp) struct Question {
    /// The open transaction.
    pub(in crate::mcp) id: String,
    /// What would be done, which is all that may be done.
    pub(in crate::mcp) plan_hash: Digest,
    /// In words.
    pub(in crate::mcp) text: String,
}

/// What the person behind a client said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum PersonSaid {
    /// All of it may be committed, by this plan.
    Commit(Digest),
    /// None of it.
    Discard,
}

impl AskedPeople {
    fn remember(&self, preview: &Preview) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|asked| asked.question.id != preview.id);
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        let files = preview.report.files.iter().map(|file| (file.path.to_path_buf(), file.hash_after));
        let question = Question { id: preview.id.clone(), plan_hash: preview.plan_hash, text: question(preview) };
        all.push_back(AskedOf { question, files: files.collect() });
    }

    /// What a person is to be asked about an open transaction.
    pub(in crate::mcp) fn question(&self, id: &str) -> Option<Question> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|asked| asked.question.id == id).map(|asked| asked.question.clone())
    }

    /// What a person made of it, as far as it is remembered.
    fn compared(&self, id: &str, SelectedCommit { report, rest, .. }: &SelectedCommit, job: &Job<'_>) -> ApprovalJson {
        let rest = rest.clone();
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(asked) = all.iter().find(|asked| asked.question.id == id) else {
            return ApprovalJson { rest, ..ApprovalJson::default() };
        };
        let named = |path: &PathBuf| text(&job.engine.root().join(path));
        let (mut left_out, mut changed, mut is_known) = (Vec::new(), Vec::new(), true);
        for (path, staged) in &asked.files {
            let committed: Vec<_> = report.files.iter().filter(|file| file.path.as_path() == path.as_path()).collect();
            if committed.is_empty() {
                left_out.push(named(path));
            } else if committed.iter().any(|file| file.extras.in_place == Some(false)) {
                // Somebody has changed it since: what was committed is not told.
                is_known = false;
            } else if committed.iter().all(|file| file.hash_after != *staged) {
                changed.push(named(path));
            }
        }
        let is_other = !left_out.is_empty() || !changed.is_empty();
        let as_staged = (is_other || is_known).then_some(!is_other);
        ApprovalJson { as_staged, left_out, changed, rest }
    }
}

/// How long a person is waited for.
pub(in crate::mcp) fn patience(seconds: Option<u64>) -> Duration {
    Duration::from_secs(seconds.unwrap_or(PATIENCE).min(LONGEST))
}

/// The question, with the files of which there are few.
fn question(preview: &Preview) -> String {
    let files = &preview.report.files;
    let mut text = format!("Commit the changes of {} that were staged in {}?", counted(files.len()), preview.id);
    for file in files.iter().take(NAMED) {
        let _ = write!(text, "\n{} {}", file.operation.as_str(), shown(&file.path));
    }
    if files.len() > NAMED {
        let _ = write!(text, "\n… and {} more", files.len() - NAMED);
    }
    text
}

fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

/// Waits until somebody has decided, no longer than asked for. What is committed must be what was previewed, if a plan is
/// named.
pub(super) fn wait(job: &Job<'_>, id: &str, plan_hash: Option<Digest>, seconds: Option<u64>) -> Result<ToolAnswer> {
    match job.said {
        Some(PersonSaid::Commit(plan_hash)) => {
            let report = job.engine.commit_staged(id, Some(plan_hash), None, job.run)?;
            return Ok(approved(job, id, &SelectedCommit { report, rest: None }));
        }
        Some(PersonSaid::Discard) => {
            job.engine.roll_back(id, job.run)?;
            let message = format!("a person discarded the open transaction {id}; no file was changed by it");
            return Err(Error::new(ErrorKind::UnknownTransaction, message));
        }
        None => {}
    }
    let until = Instant::now() + patience(seconds);
    // Whoever decided may have died before it was closed.
    job.engine.close_committed(job.run)?;
    if let Some(commit) = job.engine.decided(id, job.run)? {
        return Ok(approved(job, id, &commit));
    }
    let preview = job.engine.preview(id, job.run)?;
    if plan_hash.is_some_and(|plan_hash| plan_hash != preview.plan_hash) {
        let message = format!("what is staged in {id} is another plan than the one that is named");
        return Err(Error::new(ErrorKind::HashMismatch, message).with_next([NextStep::PreviewAgain]));
    }
    job.asked.remember(&preview);
    loop {
        if let Some(commit) = job.engine.decided(id, job.run)? {
            return Ok(approved(job, id, &commit));
        }
        if job.can_ask || job.run.cancel.is_cancelled() || Instant::now() >= until {
            return Err(pending(job, &preview));
        }
        thread::sleep(PACE.min(until.saturating_duration_since(Instant::now())));
    }
}

fn pending(job: &Job<'_>, Preview { id, plan_hash, report, .. }: &Preview) -> Error {
    let files = counted(report.files.len());
    let page = job.page.map_or_else(String::new, |page| format!("; the page to decide on it is {page}"));
    let message = format!(
        "nothing is written yet: a person has not decided on the open transaction {id}, which changes {files} by the \
         plan {plan_hash}{page}"
    );
    let step = Box::new(NextStep::HearDecision { id: id.clone() });
    Error::new(ErrorKind::ApprovalPending, message)
        .with_next([NextStep::In { root: job.engine.root().to_owned(), step }])
}

fn approved(job: &Job<'_>, id: &str, commit: &SelectedCommit) -> ToolAnswer {
    let approval = job.asked.compared(id, commit, job);
    let report: Report = commit.report.clone().in_root(job.engine.root());
    let answer = ApprovedJson { commit: success_multi(&report, &Request::default()), approval };
    ToolAnswer::done(&answer, ToolChanges::of(&report)).terse_unless(false)
}
