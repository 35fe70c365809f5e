//! The threads of a server, and the signals that end it: of the page alone, and of the MCP server.

use std::num::NonZero;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::{Error, ErrorKind, Result};
use crate::fs::{os, threads};

/// Threads that carry messages, one for each processor and no more than this; calls have their own. If it is one, that is the
/// caller's: a message that another thread has to be woken for takes longer than all that is done with it.
pub(crate) fn runtime(most: usize) -> Result<Runtime> {
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get).min(most);
    let (mut builder, started) = match most {
        1 => (Builder::new_current_thread(), 0),
        _ => (Builder::new_multi_thread(), workers),
    };
    if !threads::may_start(started + 1) {
        let message =
            "the system does not let the server start its threads; raise the limit on processes (`ulimit -u`)";
        return Err(Error::new(ErrorKind::UnknownError, message));
    }
    builder
        .enable_all()
        .worker_threads(workers)
        // The first thread for calls never ends, so calls can wait even where no other thread can be started.
        .thread_keep_alive(Duration::MAX)
        .build()
        .map_err(|e| Error::io("start", "the threads of the server", e))
}

/// The signals that end a server. From the moment that this exists they end nothing else.
#[derive(Debug)]
pub(crate) struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    ignores_hang_up: bool,
}

impl EndSignals {
    pub(crate) fn watch() -> Result<Self> {
        let watched = |kind| signal(kind).map_err(|e| Error::io("watch", "the signals", e));
        Ok(Self {
            terminate: watched(SignalKind::terminate())?,
            interrupt: watched(SignalKind::interrupt())?,
            hang_up: watched(SignalKind::hangup())?,
            ignores_hang_up: os::ignores_hang_up(),
        })
    }

    /// Waits for one of them.
    pub(crate) async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv(), if !self.ignores_hang_up => {}
        }
    }
}
