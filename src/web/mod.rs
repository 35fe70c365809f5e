//! The page on which people look at open transactions and decide about them, and its server.
//!
//! `files` are the page, which is served to anybody on this machine and has no data in it; `guard` says who may call; `state`
//! and `review` are what the page shows, in pieces made by `rows` and `words`; `decide` is what it does; `news` tells it what
//! happens. Paths come from the engine alone: a caller names transactions by their ids and files by their numbers.
//!
//! Architecture invariant: this is no front-end by itself, but what the command line and the MCP server both offer. It knows
//! the engine and the wire types. Nothing is written but by a `POST` that carries the token.

mod answer;
pub(crate) mod connections;
mod decide;
mod files;
mod guard;
mod news;
mod review;
mod routes;
mod rows;
pub(crate) mod runtime;
mod serve;
mod state;
mod token;
mod words;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cancel::CancelToken;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::wire::hints::StepWords;
use news::Listeners;
use review::LastReview;

pub(crate) use routes::router;
#[cfg(feature = "cli")]
pub(crate) use serve::{Served, run};
pub use token::BearerToken;

/// The calls of the engine that run at a time: each may hold the contents of a transaction.
const CALLS: usize = 4;

/// What has the engine of a workspace.
pub(crate) trait HoldsEngine: Send + Sync {
    /// That engine.
    fn engine(&self) -> &Engine;
}

impl HoldsEngine for Engine {
    fn engine(&self) -> &Engine {
        self
    }
}

/// Finds the engine for a call: a server may have opened another one since.
pub(crate) type EngineSource = Box<dyn Fn() -> Result<Arc<dyn HoldsEngine>> + Send + Sync>;

/// The options of the page.
pub(crate) struct PageOptions {
    /// The path at which it is found, without the slash at its end.
    pub(crate) path: &'static str,
    /// The secret that a caller must send.
    pub(crate) token: BearerToken,
    /// The names by which the server may be addressed.
    pub(crate) hosts: Vec<String>,
    /// True if the page may only show.
    pub(crate) read_only: bool,
    /// The longest time that a check may take.
    pub(crate) check_limit: Duration,
    /// The words for the next steps after a failure.
    pub(crate) words: StepWords,
}

/// The state behind the page.
pub(crate) struct ReviewPage {
    source: EngineSource,
    options: PageOptions,
    listeners: Listeners,
    last: LastReview,
    /// Room for calls.
    room: Semaphore,
    /// Cancelled for a shutdown.
    stop: CancellationToken,
    /// Cancelled with it, for the calls of the engine.
    calls: CancelToken,
    /// The calls that run.
    running: TaskTracker,
}

impl ReviewPage {
    /// A page that serves until `stop` is cancelled, and whose calls are counted by `running`. Needs a runtime.
    pub(crate) fn start(
        source: EngineSource,
        options: PageOptions,
        stop: CancellationToken,
        running: TaskTracker,
    ) -> Arc<Self> {
        let page = Arc::new(Self {
            source,
            options,
            listeners: Listeners::default(),
            last: LastReview::default(),
            room: Semaphore::new(CALLS),
            stop,
            calls: CancelToken::new(),
            running,
        });
        tokio::spawn(news::keep_looking(Arc::clone(&page)));
        let (stop, calls) = (page.stop.clone(), page.calls.clone());
        tokio::spawn(async move {
            stop.cancelled().await;
            calls.cancel();
        });
        page
    }

    /// Calls the engine where that may block. The call goes on if its caller goes away.
    async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stopped = || Error::new(ErrorKind::Cancelled, "the server is about to end");
        let room = self.room.acquire().await.map_err(|_| stopped())?;
        if self.stop.is_cancelled() {
            return Err(stopped());
        }
        let page = Arc::clone(self);
        let called = self.running.spawn_blocking(move || {
            let held = (page.source)()?;
            held.engine().check_root()?;
            work(&page, held.engine())
        });
        let done = called.await;
        drop(room);
        done.unwrap_or_else(|_| Err(Error::new(ErrorKind::UnknownError, "the call ended by a panic")))
    }

    /// The same for a call that writes.
    async fn call_to_write<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.options.read_only {
            return Err(Error::new(
                ErrorKind::ReadOnlyMode,
                "this server changes nothing: it was started to read only",
            ));
        }
        self.call(move |page, engine| {
            let done = work(page, engine);
            decide::tell(page);
            done
        })
        .await
    }
}
