//! The connections of a server over HTTP: how many there are, and how long one may take for a request.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits;

/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_secs(1);

/// Accepts connections until the shutdown, then waits for the open ones.
pub(crate) async fn accept(listener: &TcpListener, router: Router, stop: &CancellationToken) {
    let room = Arc::new(Semaphore::new(limits::CONNECTIONS));
    let open = TaskTracker::new();
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, stop) = (router.clone(), stop.clone());
                open.spawn(async move {
                    converse(stream, router, &stop).await;
                    drop(place);
                });
            }
            Err(error) => {
                // File descriptors in use elsewhere may be closed by then.
                tracing::warn!("a connection could not be taken: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    open.close();
    open.wait().await;
}

/// Serves one connection. It is closed if the head of a request takes too long, with or without a token.
async fn converse(stream: TcpStream, router: Router, stop: &CancellationToken) {
    // Answers are small and awaited; a stream without this option works as well.
    let _ = stream.set_nodelay(true);
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits::HEADER_TIME);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection failed: {error}");
    }
}
