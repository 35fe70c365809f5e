//! The root of a server that was started without one: the client's, or else the current folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::OnceCell;

use super::shared::ServerState;
use super::uri;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};

/// The time that a client may take to name its roots.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the workspace that a client names, or that of the current folder, or refuses it.
pub(crate) type OpenWorkspace = Box<dyn Fn(Option<&Path>) -> Result<Engine> + Send + Sync>;

/// The workspace of a server.
pub struct ServedWorkspace {
    engine: OnceCell<Engine>,
    open: Option<OpenWorkspace>,
}

impl fmt::Debug for ServedWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl ServedWorkspace {
    /// A workspace with this engine.
    #[must_use]
    pub fn known(engine: Engine) -> Self {
        Self { engine: OnceCell::new_with(Some(engine)), open: None }
    }

    /// The workspace that the client names, if it can be asked; otherwise that of the current folder. Determined at the
    /// first call.
    #[must_use]
    pub fn of_client(open: OpenWorkspace) -> Self {
        Self { engine: OnceCell::new(), open: Some(open) }
    }

    /// The engine, once it is known.
    pub(super) fn engine(&self) -> Result<&Engine> {
        self.engine.get().ok_or_else(|| Error::new(ErrorKind::UnknownError, "the root is not known yet"))
    }
}

/// Makes sure that the workspace is known, before a call.
pub(super) async fn settle(shared: &ServerState, context: &RequestContext<RoleServer>) -> Result<()> {
    let ServedWorkspace { engine, open } = &shared.workspace;
    let Some(open) = open else { return Ok(()) };
    let opening = async {
        let roots = roots(context).await;
        let mut opened = None;
        for root in &roots {
            match open(Some(root)) {
                Ok(engine) => {
                    opened = Some(engine);
                    break;
                }
                Err(error) => tracing::warn!("the client's root {} is skipped: {error}", root.display()),
            }
        }
        let engine = match opened {
            Some(engine) => engine,
            None => open(None)?,
        };
        shared.started(&engine)?;
        Ok(engine)
    };
    engine.get_or_try_init(|| opening).await.map(drop)
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
