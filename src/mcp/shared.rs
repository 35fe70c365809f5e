//! The state that all connections share: the engine, the tools, subscriptions, and the calls that still run.

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::commits::Commits;
use super::idle::Sessions;
use super::roots::{ServedRoot, ServedWorkspace};
use super::subscriptions::Subscriptions;
use super::tools::{self, AskedPeople, Definition, MayWrite};
use super::toolsets::Toolset;
use super::{ServerOptions, next_step};
use crate::engine::{Engine, RecoverOptions, Run};
use crate::error::{ErrorKind, Result};
use crate::wire::hints::with_steps;

/// A name that no other server of this machine has, or had.
fn server_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("mcp-{}-{}", since.as_millis(), std::process::id())
}

/// The state behind all connections.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) workspace: ServedWorkspace,
    pub(super) options: ServerOptions,
    /// The tools of the toolsets, in the order in which they are listed.
    pub(super) tools: Vec<&'static Definition>,
    pub(super) subscriptions: Subscriptions,
    pub(super) commits: Commits,
    /// What was staged when a person was asked.
    pub(super) asked: AskedPeople,
    /// The address of the page on which people decide, without its token, if there is one.
    pub(super) page: OnceLock<String>,
    /// What the sessions over HTTP are doing.
    pub(super) sessions: Arc<Sessions>,
    /// The beginning of the names of sessions that have no other.
    server: String,
    /// Cancelled for a shutdown.
    pub(super) stop: CancellationToken,
    /// The running calls of the engine.
    pub(super) running: TaskTracker,
}

impl ServerState {
    pub(super) fn new(workspace: ServedWorkspace, options: ServerOptions) -> Self {
        let tools = tools::all().filter(|tool| options.toolsets.contains(tool.toolset)).collect();
        Self {
            workspace,
            options,
            tools,
            subscriptions: Subscriptions::default(),
            commits: Commits::default(),
            asked: AskedPeople::default(),
            page: OnceLock::new(),
            sessions: Arc::default(),
            server: server_name(),
            stop: CancellationToken::new(),
            running: TaskTracker::new(),
        }
    }

    /// The workspaces, once they are known.
    pub(super) fn workspaces(&self) -> Vec<Arc<ServedRoot>> {
        self.workspace.all()
    }

    /// The workspaces whose roots are where they are said to be; an error if none is. Blocks.
    pub(super) fn present(&self) -> Result<Vec<Arc<ServedRoot>>> {
        let (mut all, are_present) = self.workspace.at_call(self);
        if are_present {
            return Ok(all);
        }
        let gone = all.first().map(|first| first.check_place());
        all.retain(|root| root.engine.is_at_its_root());
        match gone {
            Some(Err(error)) if all.is_empty() => Err(error),
            _ => Ok(all),
        }
    }

    /// Does what is due before the first call in a workspace.
    pub(super) fn started(&self, engine: &Engine) -> Result<()> {
        self.check_delegates(engine)?;
        self.recover(engine);
        Ok(())
    }

    /// Refuses an invalid configuration at once, not at the first call of a delegate.
    pub(super) fn check_delegates(&self, engine: &Engine) -> Result<()> {
        #[cfg(feature = "delegate")]
        if self.options.toolsets.contains(Toolset::Delegate) {
            crate::delegate::DelegateSettings::load(engine, &self.options.delegate)?;
        }
        Ok(())
    }

    /// Finishes or rolls back what an earlier process left. Transactions that cannot be recovered block only callers
    /// whose files they touch, and those get an error.
    pub(super) fn recover(&self, engine: &Engine) {
        if self.options.read_only {
            return;
        }
        let recovered = engine.recover(None, RecoverOptions::default());
        if let Err(error) = engine.close_committed(Run::default()) {
            tracing::warn!("a committed transaction could not be closed: {error}");
        }
        match recovered {
            Ok(recovered) => {
                for transaction in recovered {
                    let reason = with_steps(&transaction.reason(), &transaction.next_steps, next_step::words);
                    let (id, action) = (transaction.id, transaction.action.as_str());
                    tracing::warn!(id, action, "recovered: {reason}");
                }
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => {}
            Err(error) => tracing::warn!("an interrupted transaction could not be recovered: {error}"),
        }
    }

    /// The name of the session of a connection over stdio, by which its transactions are listed and undone together.
    pub(super) fn session(&self, connection: u64) -> String {
        format!("{}-{connection}", self.server)
    }

    /// What the tools may write.
    pub(super) const fn may_write(&self) -> MayWrite {
        match (self.options.read_only, self.options.approve) {
            (true, _) => MayWrite::Nothing,
            (false, true) => MayWrite::Approved,
            (false, false) => MayWrite::Anything,
        }
    }

    /// The tools that are listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = &'static Definition> {
        let may_write = self.may_write();
        let is_offered = move |tool: &&Definition| match may_write {
            _ if !tool.writes => true,
            MayWrite::Nothing => false,
            MayWrite::Approved => tool.toolset == Toolset::Transactions,
            MayWrite::Anything => true,
        };
        self.tools.iter().copied().filter(is_offered)
    }

    /// The tool of that name, listed or not.
    pub(super) fn tool(&self, name: &str) -> Option<&'static Definition> {
        self.tools.iter().copied().find(|tool| tool.name == name)
    }
}
