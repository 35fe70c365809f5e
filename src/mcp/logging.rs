//! Logs to stderr: stdout is the protocol's.

use std::io;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The amount that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verbosity {
    /// Only what is wrong with the server itself.
    #[default]
    Quiet,
    /// Each call, with its transaction and duration.
    Calls,
}

/// Starts logging. In a process that logs already, nothing changes.
pub(super) fn start(verbosity: Verbosity) {
    // rmcp logs every message at info, contents included.
    let (own, protocol) = match verbosity {
        Verbosity::Quiet => (LevelFilter::WARN, LevelFilter::OFF),
        Verbosity::Calls => (LevelFilter::INFO, LevelFilter::WARN),
    };
    let targets = Targets::new().with_target("txedit", own).with_target("rmcp", protocol);
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false).with_target(false);
    let _ = tracing_subscriber::registry().with(layer).with(targets).try_init();
}
