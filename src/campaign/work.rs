//! One attempt in one workspace: a process of this program, and its answer.

use std::ffi::OsStr;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use command_fds::CommandFdExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::{Attempt, AttemptOutcome, Campaign, CampaignAction, PlannedWorkspace, shards, template};
use crate::digest::Digest;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::records::ModeLock;
use crate::fs::{input, records};
use crate::limits;
use crate::replace::Query;

/// The exit status for nothing to do.
const NOTHING_TO_DO: i32 = 9;

/// The code of an attempt whose process ended without an answer.
const NO_ANSWER: &str = "NO_ANSWER";

/// The code of an undo for whose transaction there is neither an undo nor the transaction.
const UNKNOWN_TRANSACTION: &str = "UNKNOWN_TRANSACTION";

/// How often an undo is tried where something is committed meanwhile.
const UNDO_TRIES: usize = 10;

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
    /// Held against other kinds of work, also by what it starts.
    pub(crate) lock: ModeLock,
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
    /// There is nothing to undo.
    NotDone,
    /// No answer: a code, why, and whether the same may succeed later.
    Failed(&'static str, String, bool),
}

/// A command of the program, in the parts between which the key is put.
#[derive(Debug)]
struct ChangeCommand {
    name_and_options: Vec<String>,
    words: Vec<String>,
    stdin: Vec<u8>,
}

/// What counts of an answer.
#[derive(Debug, Default, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of an answer")]
struct ChildAnswer {
    #[serde(default)]
    success: bool,
    transaction_id: Option<String>,
    #[serde(default)]
    dry_run: bool,
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
    transactions: Vec<LoggedChange>,
}

/// What counts of a transaction in the log.
#[derive(Debug, Deserialize)]
struct LoggedChange {
    transaction_id: String,
    reverted_by: Option<String>,
    reverts: Option<String>,
    #[serde(default)]
    reverts_each: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ChildFinding {
    code: String,
    message: String,
}

impl Worker<'_> {
    /// What is reported of an attempt that is begun.
    pub(super) fn begun(&self, index: usize) -> Result<Attempt> {
        Ok(Attempt {
            workspace: index,
            name: self.campaign.workspace(index)?.name,
            round: self.round,
            outcome: AttemptOutcome::Begun,
            transaction_id: None,
            files_edited: 0,
            already_applied: false,
            error_code: None,
            error: None,
            file_path: None,
            files: None,
            retryable: false,
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
            seconds: 0.0,
            worker: self.name.clone(),
        })
    }

    /// Makes an attempt that is begun. `was_done` tells that a transaction of it was reported.
    pub(super) fn attempt(&self, begun: Attempt, was_done: bool) -> Result<Attempt> {
        let workspace = self.campaign.workspace(begun.workspace)?;
        let clock = Instant::now();
        let came = match self.task {
            CampaignTask::Change { again } => self.change(&workspace, again),
            CampaignTask::Undo { rebase } => self.undo(&workspace, rebase, was_done),
        };
        let came = came.unwrap_or_else(|error| Came::Failed(error.kind().code(), error.message().to_owned(), false));
        let mut attempt =
            Attempt { outcome: AttemptOutcome::NothingToDo, seconds: clock.elapsed().as_secs_f64(), ..begun };
        match came {
            Came::NoPlan => {}
            Came::NotDone => attempt.outcome = AttemptOutcome::NotDone,
            Came::Failed(code, error, retryable) => {
                // Without an answer it may have come to any end.
                let is_over = code != NO_ANSWER;
                attempt.outcome = if is_over { AttemptOutcome::Failed } else { AttemptOutcome::Begun };
                (attempt.error_code, attempt.error, attempt.retryable) =
                    (Some(code.to_owned()), Some(error), retryable);
            }
            Came::Answer(answer, status) => self.tell(&mut attempt, answer, status),
        }
        Ok(attempt)
    }

    /// Reports what an answer says.
    fn tell(&self, attempt: &mut Attempt, answer: ChildAnswer, status: Option<i32>) {
        if answer.success && answer.dry_run {
            let message = "the plan asks for a dry run, and a campaign makes the change: leave dry_run out of it";
            attempt.outcome = AttemptOutcome::Failed;
            let code = ErrorKind::ValidationFailed.code().to_owned();
            (attempt.error_code, attempt.error) = (Some(code), Some(message.to_owned()));
            return;
        }
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
        let Some(change) = self.command_of_change(workspace)? else { return Ok(Came::NoPlan) };
        let key = key(&self.campaign.manifest.id, workspace);
        let mut command = self.program(workspace)?;
        command.args(change.name_and_options).args(["--campaign", &key, "--idempotency-key", &key]);
        command.args(again.then_some("--again")).args(change.words);
        answered(command, &change.stdin)
    }

    /// The command that makes the change in a workspace; `None` if the plan has nothing for it.
    fn command_of_change(&self, workspace: &PlannedWorkspace) -> Result<Option<ChangeCommand>> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let paths = || workspace.paths.iter().cloned();
        let (name_and_options, words, stdin) = match &self.campaign.manifest.action {
            CampaignAction::Apply { template } => {
                let plan = input::read_file(&self.campaign.plan(), limits::REQUEST_BYTES)?;
                let plan = if *template { plan_of(&plan, workspace)? } else { Some(plan) };
                let Some(plan) = plan else { return Ok(None) };
                (owned(&["apply", "-"]), Vec::new(), plan)
            }
            CampaignAction::PlanCommand { command } => {
                (owned(&["apply", "--plan-command", command]), Vec::new(), Vec::new())
            }
            CampaignAction::Replace { pattern, replacement, arguments } => {
                let variables = workspace.variables();
                let query = query_of(pattern, replacement, workspace);
                let mut options = owned(&["replace", "--if-missing", "skip"]);
                options.extend(arguments.iter().map(|argument| template::filled(argument, &variables)));
                let words = owned(&["--", &query.pattern, &query.replacement]).into_iter().chain(paths());
                (options, words.collect(), Vec::new())
            }
            CampaignAction::Run { command } => {
                let mut options = owned(&["run"]);
                options.extend(paths().flat_map(|path| ["--only".to_owned(), path]));
                (options, owned(&["--", "sh", "-c", command]), Vec::new())
            }
        };
        Ok(Some(ChangeCommand { name_and_options, words, stdin }))
    }

    fn undo(&self, workspace: &PlannedWorkspace, rebase: bool, was_done: bool) -> Result<Came> {
        let key = key(&self.campaign.manifest.id, workspace);
        let is_unknown = |answer: &ChildAnswer| answer.error_code.as_deref() == Some(UNKNOWN_TRANSACTION);
        let mut tries = 0;
        loop {
            tries += 1;
            let mut command = self.program(workspace)?;
            command.args(["undo", "--campaign", &key]).args(rebase.then_some("--rebase"));
            let came = answered(command, b"")?;
            let Came::Answer(answer, _) = &came else { return Ok(came) };
            if answer.success || !is_unknown(answer) {
                return Ok(came);
            }
            // Undone before, never done, or pruned since.
            let mut command = self.program(workspace)?;
            command.args(["log", "--campaign", &key]);
            let log = match answered(command, b"")? {
                Came::Answer(log, _) => log.transactions,
                other => return Ok(other),
            };
            if log.is_empty() {
                return Ok(if was_done { came } else { Came::NotDone });
            }
            if let Some(done) = log.iter().all(LoggedChange::is_undone).then(|| log.into_iter().next()).flatten() {
                let id = Some(done.transaction_id);
                let answer =
                    ChildAnswer { success: true, transaction_id: id, already_applied: true, ..ChildAnswer::default() };
                return Ok(Came::Answer(answer, None));
            }
            // One was committed meanwhile, and is undone now.
            if tries == UNDO_TRIES {
                return Ok(came);
            }
        }
    }

    /// The start of each command.
    fn program(&self, workspace: &PlannedWorkspace) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(["--root", &workspace.root, "--json", "--quiet"]).args(&self.campaign.manifest.options);
        // What is at work when this process is killed goes on, and nobody works in another way meanwhile.
        command.preserved_fds(vec![self.lock.handle()?]);
        Self::at_home(&mut command, workspace);
        Ok(command)
    }

    /// Starts it in the root of the workspace, with the variables of the workspace.
    fn at_home(command: &mut Command, workspace: &PlannedWorkspace) {
        if records::is_folder(Path::new(&workspace.root)) {
            command.current_dir(&workspace.root);
        }
        command.envs(workspace.vars.iter().map(|(name, value)| (format!("TXEDIT_VAR_{name}"), value)));
        command.env("TXEDIT_WORKSPACE", &workspace.name);
        // A signal of the keyboard ends the campaign, and not what is at work.
        command.process_group(0);
        // That of the workspace in which the campaign is run.
        command.env_remove("TXEDIT_STATE_DIR");
    }
}

impl LoggedChange {
    /// Returns whether it is an undo, or has one.
    fn is_undone(&self) -> bool {
        self.reverted_by.is_some() || self.reverts.is_some() || !self.reverts_each.is_empty()
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
    let mut plan: Value = serde_json::from_slice(bytes)
        .map_err(|e| Error::new(ErrorKind::PatchParseFailed, format!("the plan is not JSON: {e}")))?;
    template::fill(&mut plan, &workspace.variables());
    let part =
        if workspace.paths.is_empty() { Some(plan) } else { shards::part_of(plan, &workspace.paths, &workspace.root)? };
    Ok(part.map(|part| part.to_string().into_bytes()))
}

/// What is searched for in a workspace.
pub(crate) fn query_of(pattern: &str, replacement: &str, workspace: &PlannedWorkspace) -> Query {
    let variables = workspace.variables();
    let [pattern, replacement] = [pattern, replacement].map(|text| template::filled(text, &variables));
    Query { pattern, replacement, ..Query::default() }
}

/// A variable of the workspace that a command has in it.
pub(crate) fn variable_in(command: &str, workspace: &PlannedWorkspace) -> Option<String> {
    template::first_in(command, &workspace.variables())
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
