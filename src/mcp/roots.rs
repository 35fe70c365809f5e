//! The roots of a server that was started without one: the client's, or else the project around the current folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::OnceCell;

use super::commit_watch::CommitWatch;
use super::shared::ServerState;
use super::uri;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};

/// The time that a client may take to name its roots.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the workspace that a client names, or that of the current folder, or refuses it.
pub(crate) type OpenWorkspace = Box<dyn Fn(Option<&Path>) -> Result<Engine> + Send + Sync>;

/// The workspaces of a server: one, or several if its client has several roots.
pub struct ServedWorkspace {
    all: OnceCell<Vec<ServedRoot>>,
    open: Option<OpenWorkspace>,
}

/// One workspace.
#[derive(Debug)]
pub(super) struct ServedRoot {
    pub(super) engine: Engine,
    /// The root as the client names it.
    pub(super) named: Option<PathBuf>,
    /// The commits in it.
    pub(super) watch: CommitWatch,
}

impl ServedRoot {
    fn new(engine: Engine, named: Option<PathBuf>) -> Self {
        Self { engine, named, watch: CommitWatch::default() }
    }
}

impl fmt::Debug for ServedWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedWorkspace").field("all", &self.all).finish_non_exhaustive()
    }
}

impl ServedWorkspace {
    /// A workspace with this engine.
    #[must_use]
    pub fn known(engine: Engine) -> Self {
        Self { all: OnceCell::new_with(Some(vec![ServedRoot::new(engine, None)])), open: None }
    }

    /// The workspaces that the client names, if it can be asked; otherwise that of the current folder. Determined at
    /// the first call.
    #[must_use]
    pub fn of_client(open: OpenWorkspace) -> Self {
        Self { all: OnceCell::new(), open: Some(open) }
    }

    /// The workspaces, once they are known.
    pub(super) fn all(&self) -> &[ServedRoot] {
        self.all.get().map_or(&[], Vec::as_slice)
    }

    /// The engine of the first, once it is known.
    pub(super) fn engine(&self) -> Result<&Engine> {
        let first = self.all().first();
        first.map(|it| &it.engine).ok_or_else(|| Error::new(ErrorKind::UnknownError, "the root is not known yet"))
    }
}

/// Makes sure that the workspaces are known, before a call.
pub(super) async fn settle(shared: &ServerState, context: &RequestContext<RoleServer>) -> Result<()> {
    let ServedWorkspace { all, open } = &shared.workspace;
    let Some(open) = open else { return Ok(()) };
    let opening = async {
        let mut opened: Vec<ServedRoot> = Vec::new();
        for root in roots(context).await {
            match open(Some(&root)) {
                Ok(engine) if opened.iter().any(|other| other.engine.root() == engine.root()) => {}
                Ok(engine) => opened.push(ServedRoot::new(engine, Some(root))),
                Err(error) => tracing::warn!("the client's root {} is skipped: {error}", root.display()),
            }
        }
        if opened.is_empty() {
            opened.push(ServedRoot::new(open(None)?, None));
        }
        for workspace in &opened {
            shared.started(&workspace.engine)?;
        }
        Ok(opened)
    };
    all.get_or_try_init(|| opening).await.map(drop)
}

/// The folders in which the client works, as far as it names them.
#[expect(deprecated, reason = "clients of older protocols have no other way to say it")]
async fn roots(context: &RequestContext<RoleServer>) -> Vec<PathBuf> {
    if context.client_capabilities().is_none_or(|capabilities| capabilities.roots.is_none()) {
        return Vec::new();
    }
    // In newer protocols servers cannot send requests: this fails at once, and the current folder is used.
    let asked = tokio::time::timeout(PATIENCE, context.peer.list_roots()).await;
    match asked {
        Ok(Ok(listed)) => listed.roots.iter().filter_map(|root| uri::path(&root.uri)).collect(),
        Ok(Err(error)) => {
            tracing::warn!("the client did not say its roots: {error}");
            Vec::new()
        }
        Err(_) => {
            tracing::warn!("the client did not say its roots in time");
            Vec::new()
        }
    }
}
