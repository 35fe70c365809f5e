//! What all connections share: the engine, the tools, who is told of changes, what is still running.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Options;
use super::subscriptions::Subscriptions;
use super::tools::{self, Definition};
use crate::engine::Engine;

/// The one server behind all connections.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) engine: Engine,
    pub(super) options: Options,
    /// Those of the toolsets, in the order in which they are listed.
    pub(super) tools: Vec<&'static Definition>,
    pub(super) subscriptions: Subscriptions,
    /// Cancelled when the server is to end.
    pub(super) stop: CancellationToken,
    /// Calls of the engine.
    pub(super) running: TaskTracker,
}

impl Shared {
    pub(super) fn new(engine: Engine, options: Options) -> Self {
        let tools = tools::all().filter(|tool| options.toolsets.contains(tool.toolset)).collect();
        Self {
            engine,
            options,
            tools,
            subscriptions: Subscriptions::default(),
            stop: CancellationToken::new(),
            running: TaskTracker::new(),
        }
    }

    /// Those that are listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = &'static Definition> {
        let read_only = self.options.read_only;
        self.tools.iter().copied().filter(move |tool| !(read_only && tool.writes))
    }

    /// The tool of that name, listed or not.
    pub(super) fn tool(&self, name: &str) -> Option<&'static Definition> {
        self.tools.iter().copied().find(|tool| tool.name == name)
    }
}
