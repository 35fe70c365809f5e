//! The engine on a file system in memory, and the model beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::FileKind;
use txedit::fs::sim::SimFs;
use txedit::{
    Anchor, Change, Count, Edit, Engine, Error, ErrorKind, FileRequest, IfExists, Matching, Mode, Outcome,
    RecoverOptions, RenameTo, Report, Request, Run, Settings,
};

use super::action::{Action, Foreign};
use super::open::Open;
use super::reference::{self, Ask, File, Files, difference};
use super::trouble::act;

pub(super) const ROOT: &str = "/w";

/// How often each kind of step came to what.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) committed: u64,
    pub(super) refused: u64,
    pub(super) undone: u64,
    pub(super) conflicts: u64,
    pub(super) crashes_old: u64,
    pub(super) crashes_new: u64,
    pub(super) races_lost: u64,
    pub(super) races_won: u64,
    pub(super) faults: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.refused += other.refused;
        self.undone += other.undone;
        self.conflicts += other.conflicts;
        self.crashes_old += other.crashes_old;
        self.crashes_new += other.crashes_new;
        self.races_lost += other.races_lost;
        self.races_won += other.races_won;
        self.faults += other.faults;
    }

    pub(super) fn saw_everything(&self) -> bool {
        let Self { committed, refused, undone, conflicts, .. } = self;
        let Self { crashes_old, crashes_new, races_lost, races_won, faults, .. } = self;
        [committed, refused, undone, conflicts, crashes_old, crashes_new, races_lost, races_won, faults]
            .iter()
            .all(|count| **count > 0)
    }
}

/// What a committed transaction changed.
pub(super) type Changed = BTreeMap<&'static str, (Option<File>, Option<File>)>;

pub(super) struct Committed {
    pub(super) id: String,
    pub(super) changed: Changed,
    /// The transaction that it reverted, as an index.
    pub(super) undoes: Option<usize>,
}

pub(super) struct World {
    pub(super) sim: SimFs,
    pub(super) files: Files,
    pub(super) history: Vec<Committed>,
    /// What two clients have staged.
    pub(super) open: [Option<Open>; 2],
    pid: u32,
    pub(super) counts: Counts,
}

pub(super) type Step = Result<(), String>;

impl World {
    pub(super) fn new() -> Self {
        let sim = SimFs::new();
        sim.make_folders(ROOT).unwrap();
        let mut files = Files::new();
        for (path, content) in [("a", "red\nblue"), ("b", "green"), ("d/e", "red red\ngreen")] {
            sim.make_folders(Path::new(ROOT).join(path).parent().unwrap()).unwrap();
            sim.create(Path::new(ROOT).join(path), content).unwrap();
            sim.set_mode(Path::new(ROOT).join(path), reference::NEW).unwrap();
            files.insert(path, (content.as_bytes().to_vec(), reference::NEW));
        }
        sim.sync_everything();
        Self { sim, files, history: Vec::new(), open: [None, None], pid: 1, counts: Counts::default() }
    }

    pub(super) fn step(&mut self, action: &Action) -> Step {
        match action {
            Action::Apply(asks) => self.apply(asks)?,
            Action::Undo(back) => self.undo_one(*back)?,
            Action::UndoNewest => self.undo_newest()?,
            Action::Foreign(foreign) => self.foreign(foreign),
            Action::Crash { asks, call, power } => self.crash(asks, *call, *power)?,
            Action::Race { asks, call, foreign } => self.race(asks, *call, foreign)?,
            Action::Fault { asks, call } => self.fault(asks, *call)?,
            Action::Stage { client, asks } => self.stage(*client, asks)?,
            Action::CommitOpen(client) => self.commit_open(*client)?,
            Action::RollBack(client) => self.roll_back(*client)?,
            Action::Recover => self.recover()?,
            Action::Wait => self.sim.advance(Duration::from_secs(10)),
            Action::TurnBack => self.sim.rewind(Duration::from_secs(60 * 60)),
        }
        self.compare(&self.files)?;
        self.nothing_is_left()
    }

    pub(super) fn engine(&mut self) -> Engine {
        self.pid += 1;
        let settings = Settings::default().lock_timeout(Duration::from_secs(5)).program("model");
        Engine::with_fs(Arc::new(self.sim.process(self.pid)), Path::new(ROOT), settings).unwrap().with_attempts(1)
    }

    fn run(&mut self, asks: &[Ask]) -> Result<Report, Error> {
        let engine = self.engine();
        with_run(|run| engine.apply(&request(asks), run))
    }

    fn apply(&mut self, asks: &[Ask]) -> Step {
        let expected = reference::apply(&self.files, asks);
        let done = self.run(asks);
        match (expected, done) {
            (Some(after), Ok(report)) => {
                self.adopt(&report, after);
                Ok(())
            }
            (None, Err(error)) if error.outcome() == Outcome::Unchanged => {
                self.counts.refused += 1;
                Ok(())
            }
            (expected, done) => Err(format!("the model says {expected:?}, the engine {done:?}")),
        }
    }

    pub(super) fn adopt(&mut self, report: &Report, after: Files) {
        let changed = difference(&self.files, &after);
        self.files = after;
        if let Some(id) = &report.transaction {
            self.counts.committed += 1;
            self.history.push(Committed { id: id.clone(), changed, undoes: None });
        }
    }

    fn undo_one(&mut self, back: usize) -> Step {
        let Some(index) = self.history.len().checked_sub(back + 1) else { return Ok(()) };
        let id = self.history[index].id.clone();
        let engine = self.engine();
        let done = with_run(|run| engine.undo(Some(&id), false, run));
        self.undone(index, done)
    }

    fn undo_newest(&mut self) -> Step {
        let engine = self.engine();
        let done = with_run(|run| engine.undo(None, false, run));
        let undone_already = self.undone_already();
        let newest = (0..self.history.len())
            .rev()
            .find(|index| self.history[*index].undoes.is_none() && !undone_already.contains(index));
        match (newest, done) {
            (Some(index), done) => self.undone(index, done),
            (None, Err(error)) if error.kind() == ErrorKind::UnknownTransaction => Ok(()),
            (None, done) => Err(format!("there is nothing to undo, and the engine says {done:?}")),
        }
    }

    /// What is undone; an undo that is undone itself does not count.
    fn undone_already(&self) -> BTreeSet<usize> {
        let mut undone = BTreeSet::new();
        for (index, committed) in self.history.iter().enumerate().rev() {
            undone.extend(committed.undoes.filter(|_| !undone.contains(&index)));
        }
        undone
    }

    fn undone(&mut self, index: usize, done: Result<Report, Error>) -> Step {
        let changed = &self.history[index].changed;
        // What is undone is not undone again, even where the files happen to be as it left them.
        let conflict = self.undone_already().contains(&index)
            || changed.iter().any(|(path, (_, after))| self.files.get(path) != after.as_ref());
        match done {
            Ok(report) if !conflict => {
                let mut after = self.files.clone();
                for (path, (before, _)) in changed {
                    match before {
                        Some(file) => after.insert(path, file.clone()),
                        None => after.remove(path),
                    };
                }
                let changed = difference(&self.files, &after);
                self.files = after;
                self.counts.undone += 1;
                let id = report.transaction.ok_or("an undo has an id")?;
                self.history.push(Committed { id, changed, undoes: Some(index) });
                Ok(())
            }
            Err(error) if conflict && error.kind() == ErrorKind::UndoConflict => {
                self.counts.conflicts += 1;
                Ok(())
            }
            done => Err(format!("conflict: {conflict}, and the engine says {done:?}")),
        }
    }

    fn foreign(&mut self, foreign: &Foreign) {
        let _: bool = act(&self.sim, foreign);
        self.adopt_foreign(foreign.path());
    }

    /// What a foreign program did is what the model takes over.
    fn adopt_foreign(&mut self, path: &'static str) {
        match self.seen().remove(path) {
            Some(file) => self.files.insert(path, file),
            None => self.files.remove(path),
        };
    }

    /// Twice: the second recovery changes nothing.
    pub(super) fn recover(&mut self) -> Step {
        let engine = self.engine();
        engine.recover(None, RecoverOptions::default()).map_err(|e| format!("recovery fails: {e:?}"))?;
        let once = self.sim.digest();
        let again = engine.recover(None, RecoverOptions::default()).map_err(|e| format!("recovery fails: {e:?}"))?;
        if once != self.sim.digest() {
            return Err(format!("a second recovery did something: {again:?}"));
        }
        Ok(())
    }

    pub(super) fn seen(&self) -> Files {
        let mut files = Files::new();
        for (path, entry) in self.sim.tree() {
            let Ok(path) = path.strip_prefix(ROOT) else { continue };
            if entry.kind == FileKind::File && !path.starts_with(".txedit") {
                let path: &'static str = known(path);
                files.insert(path, (entry.content, entry.mode));
            }
        }
        files
    }

    pub(super) fn compare(&self, expected: &Files) -> Step {
        let seen = self.seen();
        if seen == *expected { Ok(()) } else { Err(format!("the files are {seen:?}, and should be {expected:?}")) }
    }

    fn nothing_is_left(&self) -> Step {
        let left = self.sim.tree().into_keys().find(|path| path.parent() == Some(Path::new("/w/.txedit/txn")));
        left.map_or(Ok(()), |path: PathBuf| Err(format!("{} is left", path.display())))
    }
}

fn known(path: &Path) -> &'static str {
    let names = ["a", "b", "c", "d/e", "d/f", "g/h/i"];
    names.into_iter().find(|name| Path::new(name) == path).unwrap_or_else(|| panic!("{} is new", path.display()))
}

pub(super) fn with_run<T>(call: impl FnOnce(Run<'_>) -> T) -> T {
    call(Run::default())
}

pub(super) fn request(asks: &[Ask]) -> Request {
    let file = |path: &str, change| FileRequest::new(path, change);
    let if_exists = |replace| if replace { IfExists::Replace } else { IfExists::Fail };
    let files = asks.iter().map(|ask| match ask {
        Ask::Edit { path, old, new, all } => {
            let count = if *all { Count::All } else { Count::Once };
            let anchor = Anchor::Text { text: old.as_bytes().to_vec(), count, matching: Matching::Exact };
            let edits = vec![Edit { anchor, replacement: new.as_bytes().to_vec() }];
            file(path, Change::Edit { edits, rename: None })
        }
        Ask::Write { path, content, replace } => {
            let content = content.clone().into_bytes();
            file(path, Change::Write { content, if_exists: if_exists(*replace) })
        }
        Ask::Delete { path } => file(path, Change::Delete),
        Ask::Rename { from, to, replace } => {
            file(from, Change::Rename(RenameTo { path: to.into(), if_exists: if_exists(*replace) }))
        }
        Ask::Mode { path, mode } => file(path, Change::Mode).mode(Mode::Bits(*mode)),
    });
    Request::of_files(files.collect())
}
