//! The server of the page alone, on this machine, until a signal ends it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connections::accept;
use super::runtime::{EndSignals, runtime};
use super::{BearerToken, EngineSource, PageOptions, ReviewPage, router};
use crate::error::{Error, Result};
use crate::wire::hints::StepWords;

/// The time that a shutdown waits for calls past their first swap.
const LAST_CALLS: Duration = Duration::from_millis(2_250);

/// The most threads that carry messages; calls have their own.
const WORKERS: usize = 2;

/// What is served.
pub(crate) struct Served {
    /// The workspace.
    pub(crate) source: EngineSource,
    /// The port; 0 leaves the choice to the system.
    pub(crate) port: u16,
    /// The longest time that a check may take.
    pub(crate) check_limit: Duration,
    /// The words for the next steps after a failure.
    pub(crate) words: StepWords,
}

/// Serves until a signal arrives. Passes the address to `announce`, with a token that nobody else knows.
///
/// The token is the fragment of the address: a browser sends that to no server and in no `Referer`, and the page takes it out
/// of the address as soon as it has read it.
pub(crate) fn run(served: Served, announce: &dyn Fn(&str) -> Result<()>) -> Result<()> {
    let (token, text) = BearerToken::random()?;
    let runtime = runtime(WORKERS)?;
    let done = runtime.block_on(serve(served, token, &|address| announce(&format!("http://{address}/#{text}"))));
    runtime.shutdown_background();
    done
}

async fn serve(served: Served, token: BearerToken, announce: &dyn Fn(SocketAddr) -> Result<()>) -> Result<()> {
    let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, served.port));
    let listener = TcpListener::bind(asked).await.map_err(|e| Error::io("listen on", asked.to_string(), e))?;
    let address = listener.local_addr().map_err(|e| Error::io("listen on", asked.to_string(), e))?;
    let mut signals = EndSignals::watch()?;
    let options = PageOptions {
        path: "",
        token,
        hosts: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into(),
        read_only: false,
        check_limit: served.check_limit,
        words: served.words,
    };
    let (stop, running) = (CancellationToken::new(), TaskTracker::new());
    let page = ReviewPage::start(served.source, options, stop.clone(), running.clone());
    announce(address)?;
    let accepting = accept(&listener, router(Arc::clone(&page)), &stop);
    tokio::pin!(accepting);
    tokio::select! {
        () = &mut accepting => {}
        () = signals.received() => {}
    }
    stop.cancel();
    running.close();
    // A call past its first swap finishes; any other is cancelled. What does not end in time, the next command recovers.
    let ended = async {
        running.wait().await;
        accepting.await;
    };
    timeout(LAST_CALLS, ended).await.ok();
    Ok(())
}
