//! One delegation: context, prompt, program, proposal, in this order. Before the caller asks for a commit, only an open
//! transaction is written.

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

/// The context of delegations.
#[derive(Debug)]
pub struct Delegation<'a> {
    /// The engine of the workspace.
    pub engine: &'a Engine,
    /// The settings of delegates.
    pub settings: &'a DelegateSettings,
    /// Decides, if a proposal is applied, whether it is committed.
    pub check: Option<Check>,
}

/// The result of a delegation.
#[derive(Debug)]
pub struct Delegated {
    /// The last answer of the delegate.
    pub answer: String,
    /// Its role, if there is a choice.
    pub role: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    /// The time it took.
    pub took: Duration,
    /// True if its prompt was too long for an argument.
    pub prompt_in_file: bool,
    /// The files that it was shown.
    pub context: DelegateContext,
    /// The result of its proposal, if it made one.
    pub outcome: Option<ProposalOutcome>,
    /// Further information for the caller.
    pub warnings: Vec<String>,
}

/// The result of a proposal.
#[derive(Debug)]
pub struct ProposalOutcome {
    /// Its origin.
    pub origin: ProposalOrigin,
    /// Its preview.
    pub preview: Preview,
    /// The report of the commit, if it was to be applied.
    pub report: Option<Report>,
}

/// The origin of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalOrigin {
    /// In the answer.
    Patch,
    /// In the delegate's changes in its scratch folder.
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

/// A delegation that failed. No file was changed, unless the error says otherwise.
#[derive(Debug)]
pub struct Failed {
    /// The error.
    pub error: Error,
    /// The proposal, if the error is about it.
    pub request: Option<Box<Request>>,
    /// The delegate's answer, if it gave one.
    pub answer: Option<String>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, request: None, answer: None }
    }
}

impl Delegation<'_> {
    /// Carries out a task. After a failure no file was changed, unless the error comes from a commit and says
    /// otherwise.
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

    /// The diff of a transaction, open or committed.
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

    /// Stages the delegate's proposal, and commits it if requested.
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
        // A request in the answer may have options that a proposal must not have.
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

/// A label for the log: the kind of task, and the start of its prompt.
fn label(task: &Task) -> String {
    const CHARS: usize = 80;
    const { assert!(4 * CHARS + 100 < limits::LABEL_BYTES, "it fits") };
    let line = task.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().filter(|c| !c.is_control()).take(CHARS).collect();
    format!("delegate {}: {short}", task.kind.as_str())
}
