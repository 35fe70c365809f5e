//! One delegation: context, prompt, program, proposal, in this order. Nothing but an open transaction is written before
//! the caller's own word commits it.

use std::time::{Duration, Instant};

use super::config::DelegateSettings;
use super::context::DelegateContext;
use super::desk::Desk;
use super::program::{self, Values};
use super::prompt;
use super::proposal::{self, Proposal};
use super::task::{Task, TaskKind};
use crate::check::Check;
use crate::engine::report::{Preview, Report};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::request::Request;
use crate::request::validate::{self, PathRule};

/// Who delegates, and how.
#[derive(Debug)]
pub struct Delegation<'a> {
    /// Of the workspace.
    pub engine: &'a Engine,
    /// How delegates are run.
    pub settings: &'a DelegateSettings,
    /// Decides, where a proposal is applied, whether it stays.
    pub check: Option<Check>,
}

/// What came of it.
#[derive(Debug)]
pub struct Delegated {
    /// What the delegate said last.
    pub answer: String,
    /// The role that it had, where there is a choice.
    pub role: Option<String>,
    /// The model that it was to use.
    pub model: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// Whether its prompt was too long for an argument.
    pub prompt_in_file: bool,
    /// What it was shown.
    pub context: DelegateContext,
    /// What became of its proposal, where it made one.
    pub outcome: Option<ProposalOutcome>,
    /// What should be known.
    pub warnings: Vec<String>,
}

/// What became of a proposal.
#[derive(Debug)]
pub struct ProposalOutcome {
    /// Where it was found.
    pub origin: ProposalOrigin,
    /// What it changes.
    pub preview: Preview,
    /// Of the commit, where it was to be applied.
    pub report: Option<Report>,
}

/// Where a proposal was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalOrigin {
    /// In the answer.
    Patch,
    /// In what the delegate changed in its scratch folder.
    Scratch,
}

impl ProposalOrigin {
    /// The word in answers.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Scratch => "scratch",
        }
    }
}

/// Nothing came of it. No file was changed, unless the error says otherwise.
#[derive(Debug)]
pub struct Failed {
    /// What went wrong.
    pub error: Error,
    /// The proposal, where it was that.
    pub request: Option<Box<Request>>,
    /// What the delegate said, where it said something.
    pub answer: Option<String>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, request: None, answer: None }
    }
}

impl Delegation<'_> {
    /// Has a task done. After a failure no file was changed, unless the error is one of a commit and says otherwise.
    pub fn run(&self, task: &Task, run: Run<'_>) -> Result<Delegated, Failed> {
        let started = Instant::now();
        let part = prompt::part(&task.kind, self.settings)?;
        let diff = match &task.kind {
            TaskKind::Verify { transaction: Some(id), .. } => Some(self.diff_of(id, run)?),
            _ => None,
        };
        let context = DelegateContext::read(self.engine, &task.files, self.settings, run);
        let desk = Desk::new()?;
        if task.kind.proposes() {
            desk.copy(&context.files)?;
        }
        let whole = prompt::build(task, part, self.engine.root(), &context, diff.as_deref());
        let prompt_in_file = whole.len() > self.settings.prompt_bytes || whole.contains('\0');
        let prompt = if prompt_in_file { prompt::pointer(&desk.write_prompt(&whole)?, whole.len()) } else { whole };
        let answer = self.ask(&prompt, &desk, run)?;
        let mut done = Delegated {
            answer,
            role: match &task.kind {
                TaskKind::Analyze { role, .. } => {
                    Some(role.clone().unwrap_or_else(|| super::roles::GENERAL.to_owned()))
                }
                _ => None,
            },
            model: self.settings.model.clone(),
            took: started.elapsed(),
            prompt_in_file,
            context,
            outcome: None,
            warnings: Vec::new(),
        };
        if task.kind.proposes() {
            self.take_proposal(task, &desk, &mut done, run)?;
        }
        Ok(done)
    }

    fn ask(&self, prompt: &str, desk: &Desk, run: Run<'_>) -> Result<String> {
        let (agent, folder) = (desk.agent(), desk.folder());
        let values = Values {
            model: self.settings.model.as_deref(),
            prompt,
            agent: &agent,
            root: self.engine.root(),
            folder: &folder,
        };
        let command = program::command(self.settings, &values);
        program::run(self.settings, &command, &folder, run)
    }

    /// What a transaction changes, whether it is open or committed.
    fn diff_of(&self, id: &str, run: Run<'_>) -> Result<String> {
        let diff: String = match self.engine.preview(id, run) {
            Ok(preview) => preview.report.files.into_iter().filter_map(|file| file.extras.diff.clone()).collect(),
            Err(error) if error.kind() == ErrorKind::UnknownTransaction => {
                let shown = self.engine.show(id).map_err(|error| match error.kind() {
                    ErrorKind::UnknownTransaction => {
                        error.reworded(|_| format!("there is no transaction {id} in {}", self.engine.root().display()))
                    }
                    _ => error,
                })?;
                shown.files.into_iter().map(|file| file.diff).collect()
            }
            Err(error) => return Err(error),
        };
        Ok(if diff.is_empty() { "(it changes no text)".to_owned() } else { diff })
    }

    /// Stages what the delegate proposes, and commits it where that was asked for.
    fn take_proposal(&self, task: &Task, desk: &Desk, done: &mut Delegated, run: Run<'_>) -> Result<(), Failed> {
        let with_answer = |error: Error| Failed { error, request: None, answer: Some(done.answer.clone()) };
        let (changed, warnings) = desk.changes(&done.context.files).map_err(with_answer)?;
        let (origin, proposal) = if changed.files.is_empty() {
            let Some(mut found) = proposal::in_text(&done.answer).map_err(with_answer)? else {
                done.warnings = warnings;
                return Ok(());
            };
            proposal::into_project(&mut found.request, &desk.folder());
            (ProposalOrigin::Patch, found)
        } else {
            (ProposalOrigin::Scratch, Proposal { request: changed, patch: None })
        };
        done.warnings = warnings;
        let Proposal { mut request, patch } = proposal;
        // A request of its own may ask for more than a proposal is.
        request = Request { files: request.files, label: Some(label(task)), ..Request::default() };
        match self.settle(task, origin, &request, run) {
            Ok(outcome) => {
                done.outcome = Some(outcome);
                Ok(())
            }
            Err(error) => {
                let error = match &patch {
                    Some(patch) => patch.explain(error),
                    None => error,
                };
                Err(Failed { error, request: Some(Box::new(request)), answer: Some(done.answer.clone()) })
            }
        }
    }

    fn settle(&self, task: &Task, origin: ProposalOrigin, request: &Request, run: Run<'_>) -> Result<ProposalOutcome> {
        validate::check(request, PathRule::AbsoluteOrRelative)?;
        let staged = self.engine.stage(request, None, run)?;
        let id = staged.id.ok_or_else(|| Error::new(ErrorKind::UnknownError, "what was staged has no id"))?;
        let still_open = |error: Error| {
            let open = error.transaction().is_none();
            let error = error.reworded(|message| format!("{message} (the proposal is still open as {id})"));
            if open { error.of_transaction(&id) } else { error }
        };
        let preview = self.engine.preview(&id, run).map_err(still_open)?;
        let report = if task.kind.applies() {
            let report = self.engine.commit_staged(&id, Some(preview.plan_hash), self.check.clone(), run);
            Some(report.map_err(still_open)?)
        } else {
            None
        };
        Ok(ProposalOutcome { origin, preview, report })
    }
}

/// For the log: who, and the start of what was asked.
fn label(task: &Task) -> String {
    const CHARS: usize = 80;
    const { assert!(4 * CHARS + 100 < limits::LABEL_BYTES, "it fits") };
    let line = task.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().filter(|c| !c.is_control()).take(CHARS).collect();
    format!("delegate {}: {short}", task.kind.as_str())
}
