//! The history of the paths of one transaction: which transactions changed them, and the content that it left.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::slice;
use std::sync::Arc;

use super::stored_report::StoredReport;
use super::{Loaded, history, load};
use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::engine::store::state::StateFolder;
use crate::error::Result;
use crate::index::EntryIndex;
use crate::path::RelPath;
use crate::plan::FileState;

/// The history of the paths of a transaction. It is read only once, at the first use: there may be thousands of
/// paths, and thousands of transactions.
#[derive(Debug)]
pub(crate) struct PathHistory<'a> {
    engine: &'a Engine,
    state: &'a StateFolder,
    pub loaded: &'a Loaded,
    /// The transactions whose paths are read together: all that one revert undoes.
    together: &'a [Loaded],
    changes: Rc<OnceCell<HashMap<RelPath, Vec<PathChange>>>>,
    report: OnceCell<Option<StoredReport>>,
    /// The transaction whose originals were read last: it holds those of all files that changed together.
    last: RefCell<Option<Loaded>>,
}

/// A change of a path by one of the transactions.
#[derive(Debug)]
pub(crate) struct PathChange {
    pub id: Arc<str>,
    entry: EntryIndex,
    pub before: Option<FileState>,
    pub after: Option<FileState>,
}

impl<'a> PathHistory<'a> {
    pub(crate) fn new(engine: &'a Engine, state: &'a StateFolder, loaded: &'a Loaded) -> Self {
        Self::beside(engine, state, loaded, slice::from_ref(loaded), Rc::default())
    }

    /// One for each of several transactions; history is read once for all of them.
    pub(crate) fn each(engine: &'a Engine, state: &'a StateFolder, together: &'a [Loaded]) -> Vec<Self> {
        let changes = Rc::default();
        together.iter().map(|loaded| Self::beside(engine, state, loaded, together, Rc::clone(&changes))).collect()
    }

    const fn beside(
        engine: &'a Engine,
        state: &'a StateFolder,
        loaded: &'a Loaded,
        together: &'a [Loaded],
        changes: Rc<OnceCell<HashMap<RelPath, Vec<PathChange>>>>,
    ) -> Self {
        Self { engine, state, loaded, together, changes, report: OnceCell::new(), last: RefCell::new(None) }
    }

    /// The changes of a path of the transaction, by all transactions, oldest first.
    pub(crate) fn changes(&self, path: &RelPath) -> Result<&[PathChange]> {
        let changes = if let Some(changes) = self.changes.get() {
            changes
        } else {
            let read = self.read()?;
            self.changes.get_or_init(|| read)
        };
        Ok(changes.get(path).map_or(&[], Vec::as_slice))
    }

    fn read(&self) -> Result<HashMap<RelPath, Vec<PathChange>>> {
        let records = self.together.iter().flat_map(|loaded| loaded.journal.entries.iter());
        let paths = records.map(|record| record.path.clone());
        let mut changes: HashMap<RelPath, Vec<PathChange>> = paths.map(|path| (path, Vec::new())).collect();
        for other in history(self.state)? {
            let other = other?;
            let id: Arc<str> = other.id().into();
            for (entry, record) in other.journal.entries.numbered() {
                if let Some(of_path) = changes.get_mut(&record.path) {
                    let (before, after) = (record.change.before().copied(), record.change.after().copied());
                    of_path.push(PathChange { id: Arc::clone(&id), entry, before, after });
                }
            }
        }
        Ok(changes)
    }

    /// The content that the transaction left at a path, if it is known: another transaction has it as an original, or
    /// the edits are recorded. Its digest verifies it.
    pub(crate) fn left(
        &self,
        path: &RelPath,
        original: &[u8],
        digest: Digest,
        cancel: &CancelToken,
    ) -> Result<Option<Vec<u8>>> {
        for change in self.changes(path)? {
            if change.before.is_none_or(|before| before.digest != digest) {
                continue;
            }
            let content = self.original(change, cancel)?;
            if let Some(content) = content.filter(|content| Digest::of(content) == digest) {
                return Ok(Some(content));
            }
        }
        let left = self.report()?.and_then(|report| report.result(path, original));
        Ok(left.filter(|left| Digest::of(left) == digest))
    }

    /// The stored report, if it can be read.
    pub(crate) fn report(&self) -> Result<Option<&StoredReport>> {
        if let Some(report) = self.report.get() {
            return Ok(report.as_ref());
        }
        let read = StoredReport::read(&self.engine.workspace, &self.loaded.folder)?;
        Ok(self.report.get_or_init(|| read).as_ref())
    }

    fn original(&self, change: &PathChange, cancel: &CancelToken) -> Result<Option<Vec<u8>>> {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|last| last.id() != &*change.id) {
            *last = load(self.state, &change.id)?;
        }
        // It may have been pruned since.
        last.as_ref().map_or(Ok(None), |last| self.engine.original(last, change.entry, cancel))
    }
}
