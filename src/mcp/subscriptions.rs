//! Notifies clients when a commit changes what they watch.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionSink};
use tokio::runtime::Handle;

use super::answer::ToolChanges;
use super::resources::{TRANSACTIONS, diff_uri};

/// The most watches of one connection: each commit checks all of them.
const PER_CONNECTION: usize = 1_000;

/// All watches.
#[derive(Debug, Default)]
pub(super) struct Subscriptions(Mutex<Vec<Watch>>);

#[derive(Debug, Clone)]
struct Watch {
    /// Its owner: a connection, or one listening request.
    owner: u64,
    uri: String,
    sink: Sink,
}

/// The way to notify its owner.
#[derive(Debug, Clone)]
pub(super) enum Sink {
    /// By `resources/subscribe`, until 2025-11-25.
    Connection(Peer<RoleServer>),
    /// By `subscriptions/listen`, from 2026-07-28.
    Listening(SubscriptionSink),
}

impl Sink {
    async fn tell(&self, uri: String) {
        // A client that is gone need not be notified.
        match self {
            Self::Connection(peer) => {
                let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
            }
            Self::Listening(sink) => {
                let _ = sink.notify_resource_updated(uri).await;
            }
        }
    }
}

impl Subscriptions {
    /// Starts notifying `owner` about `uri`. Returns `false` if it watches too much already.
    pub(super) fn add(&self, owner: u64, uri: &str, sink: Sink) -> bool {
        let mut watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = watches.iter().filter(|watch| watch.owner == owner);
        let (count, has) = mine.fold((0, false), |(count, has), watch| (count + 1, has || watch.uri == uri));
        if !has && count < PER_CONNECTION {
            watches.push(Watch { owner, uri: uri.to_owned(), sink });
        }
        has || count < PER_CONNECTION
    }

    /// Stops notifying `owner` about `uri`, or about everything.
    pub(super) fn remove(&self, owner: u64, uri: Option<&str>) {
        let mut watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|watch| watch.owner != owner || uri.is_some_and(|uri| watch.uri != uri));
    }

    /// Notifies the owners of watches on what was changed. Needs a runtime; does not wait.
    pub(super) fn announce(&self, changes: &ToolChanges) {
        if changes.committed.is_none() {
            return;
        }
        let watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for watch in watches.iter().filter(|watch| concerns(changes, &watch.uri)) {
            let Watch { uri, sink, .. } = watch.clone();
            Handle::current().spawn(async move { sink.tell(uri).await });
        }
    }
}

/// True if `uri` is one of the things that changed.
fn concerns(changes: &ToolChanges, uri: &str) -> bool {
    if uri == TRANSACTIONS {
        return true;
    }
    if let Some(path) = uri.strip_prefix("file://") {
        return changes.files.iter().any(|file| file == Path::new(path));
    }
    changes.committed.iter().chain(&changes.reverted).any(|id| diff_uri(id) == uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_concerns_its_files_its_transactions_and_the_list() {
        let changes = ToolChanges {
            committed: Some("t2".to_owned()),
            reverted: vec!["t1".to_owned()],
            files: vec!["/p/a".into()],
        };
        for uri in [TRANSACTIONS, "file:///p/a", &diff_uri("t1"), &diff_uri("t2")] {
            assert!(concerns(&changes, uri), "{uri}");
        }
        for uri in ["file:///p/b", "file:///p", &diff_uri("t3"), "txedit://journal-format"] {
            assert!(!concerns(&changes, uri), "{uri}");
        }
    }
}
