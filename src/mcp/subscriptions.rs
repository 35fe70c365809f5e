//! Notifies clients when a commit changes what they watch.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionSink};
use rmcp::{ErrorData, RoleServer};
use tokio::runtime::Handle;

use super::diffs::DiffUri;
use super::resources::{DIFF, JOURNAL_FORMAT, TRANSACTIONS};
use super::roots::ServedRoot;
use super::uri;
use crate::engine::history::touched::Touched;
use crate::journal::is_id;

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
        let mut watches = self.lock();
        let mine = watches.iter().filter(|watch| watch.owner == owner);
        let (count, has) = mine.fold((0, false), |(count, has), watch| (count + 1, has || watch.uri == uri));
        if !has && count < PER_CONNECTION {
            watches.push(Watch { owner, uri: uri.to_owned(), sink });
        }
        has || count < PER_CONNECTION
    }

    /// Stops notifying `owner` about `uri`, or about everything.
    pub(super) fn remove(&self, owner: u64, uri: Option<&str>) {
        let mut watches = self.lock();
        watches.retain(|watch| watch.owner != owner || uri.is_some_and(|uri| watch.uri != uri));
    }

    /// Returns whether nobody watches anything.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Notifies the owners of watches on what a transaction changed. Needs a runtime; does not wait.
    pub(super) fn announce(&self, touched: &Touched) {
        let watches = self.lock();
        for watch in watches.iter().filter(|watch| concerns(touched, &watch.uri)) {
            let Watch { uri, sink, .. } = watch.clone();
            Handle::current().spawn(async move { sink.tell(uri).await });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if a commit can change what is at `uri`. Resources that are listed can be subscribed to, even if they never change;
/// so can what has a scheme of its own, as the conformance tests of the protocol expect.
pub(super) fn can_be_told(uri: &str, roots: &[Arc<ServedRoot>]) -> bool {
    if let Some(path) = uri::path(uri) {
        let is_in = |name: &Path, root: &ServedRoot| {
            let named = [Some(root.engine.root()), root.named.as_deref()];
            named.into_iter().flatten().any(|folder| name != folder && name.starts_with(folder))
        };
        return roots.is_empty() || names(&path).any(|name| roots.iter().any(|root| is_in(&name, root)));
    }
    let is_of_others = uri.split_once("://").is_some_and(|(scheme, _)| !["file", "txedit"].contains(&scheme));
    is_of_others
        || [TRANSACTIONS, JOURNAL_FORMAT].contains(&uri)
        || DiffUri::parse(uri).is_some_and(|diff| is_id(diff.id.as_ref()))
}

/// The refusal of a subscription to what no commit changes.
pub(super) fn refused(uri: &str) -> ErrorData {
    let message = format!(
        "no commit can change {uri}: subscribe to {TRANSACTIONS}, to {DIFF} with an id, or to file:///path/of/a/file in \
         the root"
    );
    ErrorData::invalid_params(message, None)
}

/// True if `uri` is one of the things that changed.
fn concerns(touched: &Touched, uri: &str) -> bool {
    if uri == TRANSACTIONS {
        return true;
    }
    if let Some(path) = uri::path(uri) {
        return names(&path).any(|name| touched.paths.contains(&name));
    }
    let diff = DiffUri::parse(uri);
    diff.is_some_and(|diff| diff.id == touched.id || touched.reverts.contains(&diff.id))
}

/// The names of a file: as it is given, in the real folder, and that of what a symlink leads to.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let real_folder = path.parent().and_then(|folder| Some(folder.canonicalize().ok()?.join(path.file_name()?)));
    [Some(path.to_owned()), real_folder, path.canonicalize().ok()].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_concerns_its_files_its_transactions_and_the_list() {
        let touched = Touched {
            id: "t2".to_owned(),
            reverts: vec!["t1".to_owned()],
            paths: vec!["/p/a".into(), "/p/b ä".into()],
        };
        let diff = |id: &str| DiffUri::of(id).to_string();
        let piece = format!("{}?file=a&offset=0", diff("t2"));
        for uri in [TRANSACTIONS, "file:///p/a", "file:///p/./b%20%C3%A4", &diff("t1"), &diff("t2"), &piece] {
            assert!(concerns(&touched, uri), "{uri}");
        }
        for uri in ["file:///p/b", "file:///p", &diff("t3"), "txedit://journal-format", "file:///p/%zz"] {
            assert!(!concerns(&touched, uri), "{uri}");
        }
    }

    #[test]
    fn a_file_is_known_by_the_name_of_a_symlink_too() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&root, root.join("link")).unwrap();
        let touched = Touched { id: "t".to_owned(), reverts: Vec::new(), paths: vec![root.join("gone")] };
        assert!(concerns(&touched, &format!("file://{}", root.join("link/gone").display())));
    }
}
