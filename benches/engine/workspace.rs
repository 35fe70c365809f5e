//! A workspace in which one transaction after the other edits all files, there and back.

use std::sync::Arc;
use std::time::Duration;

use txedit::fs::{Fs, OsFs};
use txedit::{
    Anchor, Change, Check, Count, Durability, Edit, Engine, FileRequest, Matching, Observer, Report, Request,
    Retention, Run, Settings,
};

use crate::tree::{NEW, OLD, Tree};

/// Originals that may gather in history until it is cleared: more only fill the disk.
const ORIGINALS: usize = 40_000;

/// Transactions that may gather there: as few as to be no burden themselves.
const TRANSACTIONS: usize = 100;

/// A tree with an engine, and two requests that take each other back.
pub(crate) struct Workspace {
    pub(crate) tree: Tree,
    engine: Engine,
    there: Request,
    back: Request,
    /// Transactions since the workspace was made, and since history was cleared.
    done: usize,
    uncleared: usize,
}

impl Workspace {
    /// A workspace of so many files.
    pub(crate) fn new(files: usize, durability: Durability) -> Self {
        Self::of(Tree::new(files), durability)
    }

    pub(crate) fn of(tree: Tree, durability: Durability) -> Self {
        let engine = engine(Arc::new(OsFs::new()), &tree, durability);
        let (there, back) = (request(&tree, OLD, NEW), request(&tree, NEW, OLD));
        Self { tree, engine, there, back, done: 0, uncleared: 0 }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The request whose turn it is.
    pub(crate) fn next(&self) -> &Request {
        if self.done.is_multiple_of(2) { &self.there } else { &self.back }
    }

    /// What stands in all files now.
    pub(crate) fn now(&self) -> &'static str {
        if self.done.is_multiple_of(2) { OLD } else { NEW }
    }

    /// Edits all files.
    pub(crate) fn commit(&mut self) -> Report {
        self.commit_in(Run::default())
    }

    /// Edits all files, observed.
    pub(crate) fn commit_watched(&mut self, observer: &dyn Observer) -> Report {
        self.commit_in(Run::default().observed_by(observer))
    }

    fn commit_in(&mut self, run: Run<'_>) -> Report {
        let report = self.engine.apply(self.next(), run).unwrap();
        self.passed();
        report
    }

    /// A transaction took all files from one state to the other.
    pub(crate) fn passed(&mut self) {
        self.done += 1;
        self.uncleared += 1;
    }

    /// Makes ready for the next transaction: old files, nothing unsynced, and not too much history.
    pub(crate) fn settle(&mut self) {
        if self.uncleared >= TRANSACTIONS || self.uncleared * self.tree.files().len() >= ORIGINALS {
            self.clear();
        }
        self.tree.settle();
    }

    fn clear(&mut self) {
        self.engine.prune(&Retention::default().count(0).bytes(0).age(Duration::ZERO)).unwrap();
        self.uncleared = 0;
    }

    /// Every file is what the transactions so far have made of it.
    pub(crate) fn verify(&self) {
        let files = self.tree.files().len();
        assert_eq!(self.tree.holding(self.now()), files, "files hold {:?}", self.now());
    }

    /// The next request as one that is rolled back when it is interrupted: a check was to decide, and never ran.
    pub(crate) fn checked(&self) -> Request {
        self.next().clone().check(Check::new(vec!["true".into()]))
    }
}

/// An engine on the files of a tree.
pub(crate) fn engine(fs: Arc<dyn Fs>, tree: &Tree, durability: Durability) -> Engine {
    let settings = Settings::default().durability(durability).program("bench");
    Engine::with_fs(fs, tree.root(), settings).unwrap().allowing_checks()
}

/// Unwatched and never stopped.
pub(crate) fn running() -> Run<'static> {
    Run::default()
}

/// One edit in each file.
fn request(tree: &Tree, old: &str, new: &str) -> Request {
    let files = tree.files().iter().map(|path| {
        let edits = vec![exact(old, new, Count::Once)];
        let change = Change::Edit { edits, rename: None };
        FileRequest::new(path.clone(), change)
    });
    Request::of_files(files.collect())
}

/// An edit that finds `old` to the byte.
pub(crate) fn exact(old: &str, new: &str, count: Count) -> Edit {
    let anchor = Anchor::Text { text: old.into(), count, matching: Matching::Exact };
    Edit { anchor, replacement: new.into() }
}
