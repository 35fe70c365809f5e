//! One attempt in one workspace: a process of this program, and its answer.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

use super::{Attempt, AttemptOutcome, Campaign, CampaignAction, PlannedWorkspace, shards, template};
use crate::digest::Digest;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{input, records};
use crate::limits;

/// The exit status for nothing to do.
const NOTHING_TO_DO: i32 = 9;

/// The code of an attempt whose process ended without an answer.
const NO_ANSWER: &str = "NO_ANSWER";

/// The code of a command that was to print a plan, and failed.
const PLAN_COMMAND_FAILED: &str = "PLAN_COMMAND_FAILED";

/// The code of an undo for whose transaction there is neither an undo nor the transaction.
const UNKNOWN_TRANSACTION: &str = "UNKNOWN_TRANSACTION";

/// The most bytes of what a failed command said that are reported.
const SAID: usize = 1000;

/// What is to be done in each workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CampaignTask {
    /// The change.
    Change {
        /// True if what was undone is done once more.
        again: bool,
    },
    /// The undo of the change.
    Undo {
        /// True if other lines of a file may have changed since.
        rebase: bool,
    },
}

/// What makes attempts.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    pub(crate) campaign: &'a Campaign,
    /// This program.
    pub(crate) program: PathBuf,
    pub(crate) task: CampaignTask,
    /// The round of what it reports.
    pub(crate) round: u32,
    /// The machine and the process.
    pub(crate) name: String,
}

/// What an attempt came to.
#[derive(Debug)]
enum Came {
    /// The answer of the program.
    Answer(ChildAnswer, Option<i32>),
    /// There is no plan for this workspace.
    NoPlan,
    /// No answer: a code, why, and whether the same may succeed later.
    Failed(&'static str, String, bool),
}

/// What counts of an answer.
#[derive(Debug, Default, Deserialize)]
struct ChildAnswer {
    #[serde(default)]
    success: bool,
    transaction_id: Option<String>,
    #[serde(default)]
    files_edited: usize,
    #[serde(default)]
    already_applied: bool,
    undone_by: Option<String>,
    error_code: Option<String>,
    error: Option<String>,
    #[serde(default)]
    errors: Vec<ChildFinding>,
    #[serde(default)]
    retryable: bool,
    file_path: Option<String>,
    outcome: Option<String>,
    #[serde(default)]
    transactions: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct ChildFinding {
    code: String,
    message: String,
}

impl Worker<'_> {
    /// Makes one attempt. `was_done` tells that a transaction of it was reported.
    pub(crate) fn attempt(&self, index: usize, was_done: bool) -> Result<Attempt> {
        let workspace = self.campaign.workspace(index)?;
        let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        let clock = Instant::now();
        let came = match self.task {
            CampaignTask::Change { again } => self.change(&workspace, again),
            CampaignTask::Undo { rebase } => self.undo(&workspace, rebase, was_done),
        };
        let came = came.unwrap_or_else(|error| Came::Failed(error.kind().code(), error.message().to_owned(), false));
        let mut attempt = Attempt {
            workspace: index,
            name: workspace.name,
            round: self.round,
            outcome: AttemptOutcome::NothingToDo,
            transaction_id: None,
            files_edited: 0,
            already_applied: false,
            error_code: None,
            error: None,
            file_path: None,
            files: None,
            retryable: false,
            started,
            seconds: clock.elapsed().as_secs_f64(),
            worker: self.name.clone(),
        };
        match came {
            Came::NoPlan => {}
            Came::Failed(code, error, retryable) => {
                attempt.outcome = AttemptOutcome::Failed;
                (attempt.error_code, attempt.error, attempt.retryable) =
                    (Some(code.to_owned()), Some(error), retryable);
            }
            Came::Answer(answer, status) => self.tell(&mut attempt, answer, status),
        }
        Ok(attempt)
    }

    /// Reports what an answer says.
    fn tell(&self, attempt: &mut Attempt, answer: ChildAnswer, status: Option<i32>) {
        if !answer.success {
            let first = answer.errors.into_iter().next();
            attempt.outcome = AttemptOutcome::Failed;
            attempt.error_code = first.as_ref().map(|finding| finding.code.clone()).or(answer.error_code);
            attempt.error = first.map(|finding| finding.message).or(answer.error);
            (attempt.file_path, attempt.files, attempt.retryable) =
                (answer.file_path, answer.outcome, answer.retryable);
            return;
        }
        attempt.outcome = match self.task {
            _ if status == Some(NOTHING_TO_DO) || answer.transaction_id.is_none() => AttemptOutcome::NothingToDo,
            CampaignTask::Change { .. } if answer.undone_by.is_none() => AttemptOutcome::Done,
            _ => AttemptOutcome::Undone,
        };
        (attempt.transaction_id, attempt.files_edited) = (answer.transaction_id, answer.files_edited);
        attempt.already_applied = answer.already_applied;
    }

    fn change(&self, workspace: &PlannedWorkspace, again: bool) -> Result<Came> {
        let variables = workspace.variables();
        let fill = |text: &str| template::filled(text, &variables);
        let mut command = self.program(workspace);
        let mut stdin = None;
        let paths = || workspace.paths.iter();
        match &self.campaign.manifest.action {
            CampaignAction::Apply { template: false } if workspace.paths.is_empty() => {
                command.arg("apply").arg(self.campaign.plan());
            }
            CampaignAction::Apply { .. } => {
                let bytes = input::read_file(&self.campaign.plan(), limits::REQUEST_BYTES)?;
                stdin = plan_of(&bytes, workspace)?;
                command.args(["apply", "-"]);
            }
            CampaignAction::PlanCommand { command: printer } => {
                match Self::printed(&fill(printer), workspace)? {
                    Ok(bytes) => stdin = plan_of(&bytes, workspace)?,
                    Err(came) => return Ok(came),
                }
                command.args(["apply", "-"]);
            }
            CampaignAction::Replace { arguments, .. } => {
                command.args(["replace", "--if-missing", "skip"]).args(arguments);
            }
            CampaignAction::Run { .. } => {
                command.arg("run").args(paths().flat_map(|path| ["--only".to_owned(), path.clone()]));
            }
        }
        let key = key(&self.campaign.manifest.id, workspace);
        command.args(["--campaign", &key, "--idempotency-key", &key]).args(again.then_some("--again"));
        match &self.campaign.manifest.action {
            CampaignAction::Replace { pattern, replacement, .. } => {
                command.args(["--", &fill(pattern), &fill(replacement)]).args(paths());
            }
            CampaignAction::Run { command: shell } => {
                command.args(["--", "sh", "-c", &fill(shell)]);
            }
            CampaignAction::Apply { template: false } if workspace.paths.is_empty() => {}
            CampaignAction::Apply { .. } | CampaignAction::PlanCommand { .. } => {
                let Some(plan) = stdin else { return Ok(Came::NoPlan) };
                return answered(command, &plan);
            }
        }
        answered(command, b"")
    }

    fn undo(&self, workspace: &PlannedWorkspace, rebase: bool, was_done: bool) -> Result<Came> {
        let key = key(&self.campaign.manifest.id, workspace);
        let mut command = self.program(workspace);
        command.args(["undo", "--campaign", &key]).args(rebase.then_some("--rebase"));
        let came = answered(command, b"")?;
        let is_unknown = |answer: &ChildAnswer| answer.error_code.as_deref() == Some(UNKNOWN_TRANSACTION);
        let Came::Answer(answer, _) = &came else { return Ok(came) };
        if answer.success || !is_unknown(answer) {
            return Ok(came);
        }
        // Undone before, never done, or pruned since.
        let mut command = self.program(workspace);
        command.args(["log", "--campaign", &key, "--limit", "1"]);
        match answered(command, b"")? {
            Came::Answer(log, _) if log.lists_any() => {
                let answer = ChildAnswer { success: true, already_applied: true, undone_by: None, ..log.of_first() };
                Ok(Came::Answer(answer, None))
            }
            Came::Answer(..) if was_done => Ok(came),
            Came::Answer(..) => Ok(Came::NoPlan),
            other => Ok(other),
        }
    }

    /// The start of each command.
    fn program(&self, workspace: &PlannedWorkspace) -> Command {
        let mut command = Command::new(&self.program);
        let variables = workspace.variables();
        command.args(["--root", &workspace.root, "--json", "--quiet"]);
        command.args(self.campaign.manifest.options.iter().map(|option| template::filled(option, &variables)));
        Self::at_home(&mut command, workspace);
        command
    }

    /// Starts it in the root of the workspace, with the variables of the workspace.
    fn at_home(command: &mut Command, workspace: &PlannedWorkspace) {
        if records::is_folder(Path::new(&workspace.root)) {
            command.current_dir(&workspace.root);
        }
        command.envs(workspace.vars.iter().map(|(name, value)| (format!("TXEDIT_VAR_{name}"), value)));
        command.env("TXEDIT_WORKSPACE", &workspace.name);
        // That of the workspace in which the campaign is run.
        command.env_remove("TXEDIT_STATE_DIR");
    }

    /// What a command prints; or what came of it instead.
    fn printed(shell: &str, workspace: &PlannedWorkspace) -> Result<std::result::Result<Vec<u8>, Came>> {
        if !records::is_folder(Path::new(&workspace.root)) {
            let message = format!("{} is not a folder", workspace.root);
            return Err(Error::new(ErrorKind::ValidationFailed, message));
        }
        let mut command = Command::new("sh");
        command.args(["-c", shell]);
        Self::at_home(&mut command, workspace);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output().map_err(|e| Error::io("run", "sh", e))?;
        if output.status.success() {
            return Ok(Ok(output.stdout));
        }
        let said = String::from_utf8_lossy(&output.stderr[output.stderr.len().saturating_sub(SAID)..]).into_owned();
        Ok(Err(Came::Failed(PLAN_COMMAND_FAILED, format!("`{shell}`: {}: {}", output.status, said.trim()), false)))
    }
}

impl ChildAnswer {
    /// Returns whether a log lists anything.
    fn lists_any(&self) -> bool {
        !self.transactions.is_empty()
    }

    /// The answer about the first transaction of a log.
    fn of_first(self) -> Self {
        let id = self.transactions.first().and_then(|first| first["transaction_id"].as_str()).map(str::to_owned);
        Self { transaction_id: id, ..self }
    }
}

/// The key of a campaign's change in a workspace; of a shard, with the digest of its paths.
fn key(id: &str, workspace: &PlannedWorkspace) -> String {
    if workspace.paths.is_empty() {
        return id.to_owned();
    }
    format!("{id}/{}", &Digest::of(workspace.paths.join("\0").as_bytes()).to_hex()[..16])
}

/// The plan for a workspace; `None` if it has none.
pub(crate) fn plan_of(bytes: &[u8], workspace: &PlannedWorkspace) -> Result<Option<Vec<u8>>> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let plan: Value = serde_json::from_slice(bytes)
        .map_err(|e| Error::new(ErrorKind::PatchParseFailed, format!("the plan is not JSON: {e}")))?;
    let mut plan = plan;
    template::fill(&mut plan, &workspace.variables());
    let part =
        if workspace.paths.is_empty() { Some(plan) } else { shards::part_of(plan, &workspace.paths, &workspace.root)? };
    Ok(part.map(|part| part.to_string().into_bytes()))
}

/// Runs a command to its end, and reads its answer.
fn answered(mut command: Command, stdin: &[u8]) -> Result<Came> {
    // Whole before the program starts: if this process is killed meanwhile, no part of a plan is applied.
    let stdin = records::nameless(stdin)?;
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = command.output().map_err(|e| Error::io("run", command.get_program(), e))?;
    match serde_json::from_slice(&output.stdout) {
        Ok(answer) => Ok(Came::Answer(answer, output.status.code())),
        Err(_) => Ok(Came::Failed(NO_ANSWER, without_answer(&output, command.get_program()), true)),
    }
}

fn without_answer(output: &Output, program: &OsStr) -> String {
    let how = match output.status.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with {}", output.status),
    };
    format!("{} {how} and gave no answer; the next attempt tells what became of it", Path::new(program).display())
}
