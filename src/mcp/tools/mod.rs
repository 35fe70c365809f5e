//! The tools: name, arguments and answer of each, and the code that runs it.

mod apply_patch;
mod approval;
#[cfg(feature = "delegate")]
mod delegate;
mod edit;
mod edit_file;
mod history;
mod multi_edit;
mod read_files;
mod replace_in_files;
mod run_command;
mod transactions;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};

use super::answer::{ToolAnswer, failure};
use super::commits::Commits;
use super::roots::ServedRoot;
use super::toolsets::Toolset;
use crate::check::Check;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::request::Request;
use crate::wire::Shape;
use crate::wire::failure::FailureJson;
use crate::wire::response::text;
use crate::wire::tools::Arguments;
pub(super) use approval::{AskedPeople, PersonSaid, Question, patience};

/// A tool.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: &'static str,
    title: &'static str,
    pub(super) toolset: Toolset,
    /// When to use it, when not, and an example.
    description: &'static str,
    /// True if it changes files unless it is a dry run.
    pub(super) writes: bool,
    /// True if doing it twice is the same as doing it once.
    idempotent: bool,
    input: fn() -> Arc<JsonObject>,
    output: fn() -> Arc<JsonObject>,
    pub(super) run: fn(&Job<'_>, Arguments) -> ToolAnswer,
}

/// What calls may write, besides their dry runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MayWrite {
    Nothing,
    /// Open transactions, of which is committed what a person approves.
    Approved,
    Anything,
}

/// One call of a tool: it may block.
pub(super) struct Job<'a> {
    pub(super) engine: &'a Engine,
    /// The workspace of that engine.
    pub(super) root: &'a ServedRoot,
    /// All workspaces.
    pub(super) roots: &'a [Arc<ServedRoot>],
    /// The connection that calls.
    pub(super) connection: u64,
    /// The newest commits of each connection.
    pub(super) commits: &'a Commits,
    pub(super) run: Run<'a>,
    pub(super) may_write: MayWrite,
    /// What was staged when a person was asked.
    pub(super) asked: &'a AskedPeople,
    /// The address of the page on which people decide, without its token, if there is one.
    pub(super) page: Option<&'a str>,
    /// True if the client can ask the person: then nothing waits here.
    pub(super) can_ask: bool,
    /// What the person said, whom the client has asked.
    pub(super) said: Option<PersonSaid>,
    /// True if a call may name a check, which is a command.
    pub(super) allow_checks: bool,
    /// The longest time that a check may take.
    pub(super) check_limit: Duration,
    /// The most bytes of the answer.
    pub(super) max_answer_bytes: usize,
    /// The settings of delegates given at the start of the server.
    #[cfg(feature = "delegate")]
    pub(super) delegate: &'a crate::delegate::Flags,
}

impl<'a> Job<'a> {
    /// The workspaces that are where they are said to be.
    fn present(&self) -> impl Iterator<Item = &'a ServedRoot> + use<'a> {
        self.roots.iter().map(|root| &**root).filter(|root| root.engine.is_at_its_root())
    }

    /// A path as answers have it: absolute.
    fn absolute(&self, path: &str) -> String {
        text(&self.engine.root().join(path))
    }

    /// Refuses changes of files in read-only mode, or where a person must approve them.
    fn check_writing(&self, dry_run: bool) -> Result<()> {
        if self.may_write == MayWrite::Approved && !dry_run {
            let message = "the server writes only what a person approves, as it was started with --approve: send this to \
                           stage_edits, and then commit_transaction";
            return Err(Error::new(ErrorKind::ReadOnlyMode, message));
        }
        self.check_staging(dry_run)
    }

    /// Refuses changes of open transactions in read-only mode.
    fn check_staging(&self, dry_run: bool) -> Result<()> {
        if self.may_write == MayWrite::Nothing && !dry_run {
            let message = "the server is read-only: it was started with --read-only";
            return Err(Error::new(ErrorKind::ReadOnlyMode, message));
        }
        Ok(())
    }

    /// The answer to a call that failed, with absolute paths: other servers' tools take no others.
    fn failed(&self, error: &Error, request: Option<&Request>) -> ToolAnswer {
        ToolAnswer::failed(&self.failure(error, request, Shape::Multi))
    }

    /// The same for a call about one file.
    fn failed_file(&self, error: &Error, request: Option<&Request>) -> ToolAnswer {
        ToolAnswer::failed(&self.failure(error, request, Shape::Single))
    }

    fn failure(&self, error: &Error, request: Option<&Request>, shape: Shape) -> FailureJson {
        failure(error, request, shape).in_root(self.engine.root())
    }

    /// The check that a call names, if checks are allowed: it is a command, so whoever can call a tool could run any
    /// program.
    fn allowed(&self, command: Vec<OsString>) -> Result<Check> {
        if self.allow_checks {
            return Ok(Check { command, limit: self.check_limit });
        }
        let message = "the call names a check, which is a command, and the server was started without --allow-checks";
        Err(Error::new(ErrorKind::ChecksNotAllowed, message))
    }
}

/// All tools, in the order in which they are listed: the order never changes, so that clients can cache the list.
pub(super) fn all() -> impl Iterator<Item = &'static Definition> {
    [
        &multi_edit::MULTI_EDIT,
        &edit::MULTI_EDIT_FILES,
        &edit_file::EDIT_FILE,
        &replace_in_files::REPLACE_IN_FILES,
        &apply_patch::APPLY_PATCH,
        &read_files::READ_FILES,
        &transactions::STAGE_EDITS,
        &transactions::PREVIEW_TRANSACTION,
        &transactions::COMMIT_TRANSACTION,
        &transactions::ROLLBACK_TRANSACTION,
        &history::LIST_TRANSACTIONS,
        &history::UNDO_TRANSACTION,
        &run_command::RUN_COMMAND,
        #[cfg(feature = "delegate")]
        &delegate::KIMI_ANALYZE,
        #[cfg(feature = "delegate")]
        &delegate::KIMI_IMPLEMENT,
        #[cfg(feature = "delegate")]
        &delegate::KIMI_REFACTOR,
        #[cfg(feature = "delegate")]
        &delegate::KIMI_VERIFY,
    ]
    .into_iter()
}

impl Definition {
    /// The definition for clients.
    pub(super) fn listed(&self) -> Tool {
        let hints = ToolAnnotations::with_title(self.title)
            .read_only(!self.writes)
            .destructive(self.writes)
            .idempotent(self.idempotent)
            // A delegate communicates with its provider.
            .open_world(matches!(self.toolset, Toolset::Delegate | Toolset::Run));
        Tool::new(self.name, self.description, (self.input)())
            .with_title(self.title)
            .with_raw_output_schema((self.output)())
            .with_annotations(hints)
    }
}

#[cfg(test)]
mod tests;
