//! The roots of a server: the one that it was started with, those of its client, or else the project around the current
//! folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::commit_watch::CommitWatch;
use super::shared::ServerState;
use super::uri;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::web::HoldsEngine;

/// The time that a client may take to name its roots.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the workspace that a client names, or that of the current folder, or refuses it.
pub(crate) type OpenWorkspace = Box<dyn Fn(Option<&Path>) -> Result<Engine> + Send + Sync>;

/// Opens the workspace of a root once more.
pub(crate) type ReopenWorkspace = Box<dyn Fn(&Path) -> Result<Engine> + Send + Sync>;

/// The workspaces of a server: one, or several if its client has several roots.
pub struct ServedWorkspace {
    /// Empty until they are known. A call keeps those that it began with.
    all: RwLock<Vec<Arc<ServedRoot>>>,
    open: Option<OpenWorkspace>,
    reopen: ReopenWorkspace,
    /// True once the client has said that its roots have changed, until it is asked for them.
    stale: Arc<AtomicBool>,
    /// Held by the one call that asks.
    asking: tokio::sync::Mutex<()>,
    /// Held by the one call that opens a root once more.
    reopening: Mutex<()>,
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

impl HoldsEngine for ServedRoot {
    fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl ServedRoot {
    fn new(engine: Engine, named: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self { engine, named, watch: CommitWatch::default() })
    }

    /// An error if the path of the root leads elsewhere by now: then its answers would be about other files.
    pub(super) fn check_place(&self) -> Result<()> {
        self.engine.check_root()
    }
}

impl fmt::Debug for ServedWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedWorkspace").field("all", &self.all).finish_non_exhaustive()
    }
}

impl ServedWorkspace {
    /// A workspace with this engine. `reopen` opens it once more where its folder was made anew.
    pub(crate) fn known(engine: Engine, reopen: ReopenWorkspace) -> Self {
        Self::new(vec![ServedRoot::new(engine, None)], None, reopen)
    }

    /// The workspaces that the client names, if it can be asked; otherwise that of the current folder. Determined at
    /// the first call, and at the first after the client has said that they have changed.
    pub(crate) fn of_client(open: OpenWorkspace, reopen: ReopenWorkspace) -> Self {
        Self::new(Vec::new(), Some(open), reopen)
    }

    fn new(all: Vec<Arc<ServedRoot>>, open: Option<OpenWorkspace>, reopen: ReopenWorkspace) -> Self {
        Self {
            all: RwLock::new(all),
            open,
            reopen,
            stale: Arc::default(),
            asking: tokio::sync::Mutex::default(),
            reopening: Mutex::default(),
        }
    }

    /// The workspaces, once they are known.
    pub(super) fn all(&self) -> Vec<Arc<ServedRoot>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first, once it is known.
    pub(super) fn first(&self) -> Result<Arc<ServedRoot>> {
        let first = self.all().into_iter().next();
        first.ok_or_else(|| Error::new(ErrorKind::UnknownError, "the root is not known yet"))
    }

    /// Set it where the client says that its roots have changed.
    pub(super) fn staleness(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stale)
    }

    /// The workspaces at the start of a call: one whose folder was made anew is opened once more. Also returns whether each
    /// was in its place. Blocks.
    pub(super) fn at_call(&self, shared: &ServerState) -> (Vec<Arc<ServedRoot>>, bool) {
        let is_away = |root: &Arc<ServedRoot>| !root.engine.is_at_its_root();
        let all = self.all();
        if !all.iter().any(is_away) {
            return (all, true);
        }
        let _one = self.reopening.lock().unwrap_or_else(PoisonError::into_inner);
        for old in self.all().iter().filter(|root| is_away(root)) {
            let root = old.engine.root();
            match (self.reopen)(root) {
                // A symlink that leads elsewhere is not the folder that was named.
                Ok(engine) if engine.root() == root && shared.started(&engine).is_ok() => {
                    tracing::warn!("the root {} was made anew, and is opened once more", root.display());
                    let new = ServedRoot::new(engine, old.named.clone());
                    let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
                    all.iter_mut().filter(|it| Arc::ptr_eq(it, old)).for_each(|it| *it = Arc::clone(&new));
                }
                Ok(_) => tracing::warn!("the root {} is no folder of its own any more", root.display()),
                Err(error) => tracing::warn!("the root {} is gone: {error}", root.display()),
            }
        }
        (self.all(), false)
    }

    fn is_settled(&self) -> bool {
        !self.stale.load(Ordering::SeqCst) && !self.all.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Makes sure that the workspaces are known, before a call.
pub(super) async fn settle(shared: &ServerState, context: &RequestContext<RoleServer>) -> Result<()> {
    let workspace = &shared.workspace;
    let Some(open) = &workspace.open else { return Ok(()) };
    if workspace.is_settled() {
        return Ok(());
    }
    let _one = workspace.asking.lock().await;
    if workspace.is_settled() {
        return Ok(());
    }
    // Before they are asked for: what changes from here on is asked for again.
    workspace.stale.store(false, Ordering::SeqCst);
    let before = workspace.all();
    let Some(named) = roots(context).await.or_else(|| before.is_empty().then(Vec::new)) else { return Ok(()) };
    match opened(shared, open, &before, named) {
        Ok(opened) => {
            *workspace.all.write().unwrap_or_else(PoisonError::into_inner) = opened;
            Ok(())
        }
        Err(error) => {
            workspace.stale.store(true, Ordering::SeqCst);
            Err(error)
        }
    }
}

/// The workspaces that are named. Those that were served before are kept as they are.
fn opened(
    shared: &ServerState,
    open: &OpenWorkspace,
    before: &[Arc<ServedRoot>],
    named: Vec<PathBuf>,
) -> Result<Vec<Arc<ServedRoot>>> {
    let mut opened: Vec<Arc<ServedRoot>> = Vec::new();
    for root in named {
        match open(Some(&root)) {
            Ok(engine) if opened.iter().any(|other| other.engine.root() == engine.root()) => {}
            Ok(engine) => opened.push(kept_or_new(shared, before, engine, Some(root))?),
            Err(error) => tracing::warn!("the client's root {} is skipped: {error}", root.display()),
        }
    }
    if opened.is_empty() {
        opened.push(kept_or_new(shared, before, open(None)?, None)?);
    }
    Ok(opened)
}

/// The workspace of this engine: the one that was served before, with what it knows, or a new one.
fn kept_or_new(
    shared: &ServerState,
    before: &[Arc<ServedRoot>],
    engine: Engine,
    named: Option<PathBuf>,
) -> Result<Arc<ServedRoot>> {
    let is_it = |root: &&Arc<ServedRoot>| root.engine.root() == engine.root() && root.named == named;
    if let Some(kept) = before.iter().find(|root| is_it(root) && root.engine.is_at_its_root()) {
        return Ok(Arc::clone(kept));
    }
    shared.started(&engine)?;
    Ok(ServedRoot::new(engine, named))
}

/// The folders in which the client works; `None` if it does not say them.
#[expect(deprecated, reason = "clients of older protocols have no other way to say it")]
async fn roots(context: &RequestContext<RoleServer>) -> Option<Vec<PathBuf>> {
    context.client_capabilities()?.roots.as_ref()?;
    // In newer protocols servers cannot send requests: this fails at once, and the current folder is used.
    let asked = tokio::time::timeout(PATIENCE, context.peer.list_roots()).await;
    match asked {
        Ok(Ok(listed)) => Some(listed.roots.iter().filter_map(|root| uri::path(&root.uri)).collect()),
        Ok(Err(error)) => {
            tracing::warn!("the client did not say its roots: {error}");
            None
        }
        Err(_) => {
            tracing::warn!("the client did not say its roots in time");
            None
        }
    }
}
