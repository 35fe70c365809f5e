//! Finds new commits, whoever makes them, and tells the subscribers of what they changed.
//!
//! The history folder is listed, at a short interval while somebody is subscribed, and after each call of a tool. A list
//! of a thousand names takes a fraction of a millisecond; a watch by the system (inotify) would need a thread and a
//! handle of its own, has limits that other programs use up, and sees nothing of another machine's commits.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::roots::ServedRoot;
use super::shared::ServerState;
use crate::engine::Engine;

/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(250);

/// The transactions in history that subscribers need not be told of; `None` while nobody is subscribed.
#[derive(Debug, Default)]
pub(super) struct CommitWatch(Mutex<Option<HashSet<String>>>);

impl CommitWatch {
    /// Starts with what is in history now, unless it has started. Blocks.
    pub(super) fn begin(&self, engine: &Engine) {
        let mut known = self.lock();
        if known.is_none() {
            // What cannot be listed is told of as soon as it can.
            *known = Some(engine.committed_ids().unwrap_or_default().into_iter().collect());
        }
    }

    fn end(&self) {
        *self.lock() = None;
    }

    /// The transactions that are new since the last look, oldest first. Blocks.
    fn news(&self, engine: &Engine) -> Vec<String> {
        let mut known = self.lock();
        let (Some(known), Ok(ids)) = (&mut *known, engine.committed_ids()) else { return Vec::new() };
        let new = ids.iter().filter(|id| !known.contains(*id)).cloned().collect();
        // What was pruned is forgotten.
        *known = ids.into_iter().collect();
        new
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashSet<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts to look for commits, if somebody is subscribed. Blocks.
pub(super) fn begin(shared: &ServerState) {
    if !shared.subscriptions.is_empty() {
        shared.workspaces().iter().for_each(|workspace| workspace.watch.begin(&workspace.engine));
    }
}

/// Tells the subscribers of what was committed since the last look. Needs a runtime; blocks.
pub(super) fn tell(shared: &ServerState) {
    if shared.subscriptions.is_empty() {
        return;
    }
    for root in shared.workspaces() {
        let ServedRoot { engine, watch, .. } = &*root;
        // The paths of one that was moved away would be wrong.
        for id in if engine.is_at_its_root() { watch.news(engine) } else { Vec::new() } {
            // A transaction that was pruned in the meantime changed its files all the same, but nobody knows which.
            if let Ok(Some(touched)) = engine.touched_by(&id) {
                shared.subscriptions.announce(&touched);
            }
        }
    }
}

/// Looks for commits of other processes, until the shutdown.
pub(super) async fn keep_telling(shared: Arc<ServerState>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = shared.stop.cancelled() => return,
        }
        if shared.subscriptions.is_empty() {
            shared.workspaces().iter().for_each(|workspace| workspace.watch.end());
            continue;
        }
        let shared = Arc::clone(&shared);
        let _ = tokio::task::spawn_blocking(move || {
            begin(&shared);
            tell(&shared);
        })
        .await;
    }
}
