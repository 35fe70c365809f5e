//! The MCP server: one engine behind the tools, over stdio or streamable HTTP, shared by all connections.
//!
//! `tools` defines the tools, `call` runs one call of the synchronous engine where it may block, `answer` gives its
//! result both as structured content and as text. `server` is called by `rmcp`; `stdio` and `http` carry the messages.
//!
//! Architecture invariant: this is a front-end. It knows the engine, the wire types and `delegate`, never the command
//! line; nothing in the library knows it, and only here are `rmcp` and `tokio` known. State lives behind ids, never
//! behind a connection.

mod answer;
mod bound;
mod call;
mod choose;
mod commit_watch;
mod commits;
mod cors;
mod diffs;
mod elicit;
mod head;
mod http;
mod idle;
mod instructions;
mod logging;
mod next_step;
mod prompts;
mod refusal;
mod resources;
mod roots;
mod schema;
mod server;
mod shared;
mod stdio;
mod subscriptions;
mod terse;
mod tools;
mod toolsets;
mod uri;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::error::Result;
use crate::limits;
use crate::web::runtime::{EndSignals, runtime};
use crate::wire::hints::StepWords;
use shared::ServerState;

pub use crate::web::BearerToken;
pub use logging::Verbosity;
pub use roots::ServedWorkspace;
pub use toolsets::Toolsets;

/// The time that a shutdown waits for calls past their first swap. Clients kill a server after about three seconds. A
/// check that ignores that it is told to stop is killed after two, and then its files are put back.
const LAST_CALLS: Duration = Duration::from_millis(2_250);

/// The most threads that carry messages over HTTP; calls have their own. One is enough for the one client at a pipe.
const WORKERS: usize = 8;

/// The options of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The tools that are offered.
    pub toolsets: Toolsets,
    /// True if nothing may be changed.
    pub read_only: bool,
    /// True if only what a person approves is written.
    pub approve: bool,
    /// True if a call may name a check: a command that is run with the new files in place.
    pub allow_checks: bool,
    /// The longest time that a check may take.
    pub check_limit: Duration,
    /// The most bytes of an answer's text.
    pub max_answer_bytes: usize,
    /// The settings of delegates that the caller gave.
    #[cfg(feature = "delegate")]
    pub delegate: crate::delegate::Flags,
    /// The amount that is logged to stderr.
    pub verbosity: Verbosity,
    /// The address to listen on; `None` for stdio.
    pub http: Option<Http>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            toolsets: Toolsets::default(),
            read_only: false,
            approve: false,
            allow_checks: false,
            check_limit: limits::CHECK_TIME,
            max_answer_bytes: limits::ANSWER_BYTES,
            #[cfg(feature = "delegate")]
            delegate: crate::delegate::Flags::default(),
            verbosity: Verbosity::default(),
            http: None,
        }
    }
}

/// The options of a server that is reached over HTTP.
#[derive(Debug, Clone)]
pub struct Http {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The secret that a caller must send. Without one only callers of this machine are served.
    pub token: Option<BearerToken>,
    /// Names by which callers may reach the server, besides those of this machine.
    pub hosts: Vec<String>,
    /// The time after which an idle session ends.
    pub session_idle: Duration,
    /// The words of the page on which people review open transactions, if it is served: they have a shell, as no caller of a
    /// tool has.
    pub review: Option<StepWords>,
    /// Web pages that may call, like `https://app.example.com:443`; none unless told otherwise.
    pub origins: Vec<String>,
}

/// Serves until the input ends or a signal arrives. Calls past their first swap finish, others are cancelled: no file
/// is left half-way.
pub fn run(workspace: ServedWorkspace, options: ServerOptions) -> Result<()> {
    logging::start(options.verbosity);
    let shared = ServerState::new(workspace, options);
    for workspace in shared.workspaces() {
        shared.check_delegates(&workspace.engine)?;
    }
    let runtime = runtime(if shared.options.http.is_some() { WORKERS } else { 1 })?;
    let done = runtime.block_on(serve(Arc::new(shared)));
    // A thread that waits for more input would keep the runtime alive for ever.
    runtime.shutdown_background();
    done
}

async fn serve(shared: Arc<ServerState>) -> Result<()> {
    shared.running.spawn_blocking({
        let shared = Arc::clone(&shared);
        move || {
            for workspace in shared.workspaces() {
                shared.recover(&workspace.engine);
            }
        }
    });
    tokio::spawn(commit_watch::keep_telling(Arc::clone(&shared)));
    let stop = shared.stop.clone();
    let mut signals = EndSignals::watch()?;
    let asked = async {
        tokio::select! {
            () = signals.received() => {}
            // The input has ended.
            () = stop.cancelled() => {}
        }
    };
    let serving = async {
        match &shared.options.http {
            None => stdio::serve(&shared).await,
            Some(http) => http::serve(&shared, http).await,
        }
    };
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => Some(served),
        () = asked => None,
    };
    tracing::info!("stopping");
    stop.cancel();
    // One limit for all: an answer that is ready is still sent, and a call past its first swap finishes.
    let until = Instant::now() + LAST_CALLS;
    let served = match served {
        Some(served) => served,
        None => timeout_at(until, serving).await.unwrap_or(Ok(())),
    };
    shared.running.close();
    if timeout_at(until, shared.running.wait()).await.is_err() {
        tracing::warn!("a call is still running; the next start recovers what it leaves");
    }
    served
}
