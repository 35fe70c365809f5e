//! The engine on a file system in memory, and the model beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use txedit::engine::report::Report;
use txedit::engine::{Durability, Engine, RecoverOptions, Retention, Run, Settings, Unobserved};
use txedit::error::{Error, ErrorKind, Outcome};
use txedit::fs::FileKind;
use txedit::fs::sim::{Action as Act, Policy, SimFs};
use txedit::request::edit::{Anchor, Count, Edit, Matching};
use txedit::request::{Change, FileRequest, IfExists, Mode, RenameTo, Request};

use super::action::{Action, Foreign};
use super::open::Open;
use super::reference::{self, Ask, File, Files, difference};

const ROOT: &str = "/w";

/// How often each kind of step came to what.
#[derive(Debug, Default)]
pub(super) struct Counts {
    committed: u64,
    refused: u64,
    undone: u64,
    conflicts: u64,
    crashes_old: u64,
    crashes_new: u64,
    races_lost: u64,
    races_won: u64,
    faults: u64,
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
    /// The transaction that it took back, as an index.
    pub(super) undoes: Option<usize>,
}

pub(super) struct World {
    sim: SimFs,
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
        }
        self.compare(&self.files)?;
        self.nothing_is_left()
    }

    pub(super) fn engine(&mut self) -> Engine {
        self.pid += 1;
        let settings = Settings {
            durability: Durability::Power,
            lock_timeout: Duration::from_secs(5),
            retention: Retention::default(),
            program: "model".to_owned(),
        };
        Engine::with_fs(Arc::new(self.sim.process(self.pid)), Path::new(ROOT), settings).unwrap()
    }

    fn run(&mut self, asks: &[Ask]) -> Result<Report, Error> {
        let engine = self.engine();
        with_run(|run| engine.apply(&request(asks), run))
    }

    /// The same with something done before the `at`-th call of the engine, which is told whether it mutates.
    fn run_with(
        &mut self,
        asks: &[Ask],
        at: u64,
        act: impl Fn(bool) -> Act + Send + Sync + 'static,
    ) -> Result<Report, Error> {
        let engine = self.engine();
        let counted = AtomicU64::new(0);
        self.sim.set_hook(move |call| {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            if number == at { act(call.mutates) } else { Act::Continue }
        });
        let done = with_run(|run| engine.apply(&request(asks), run));
        self.sim.clear_hook();
        done
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

    fn crash(&mut self, asks: &[Ask], call: u64, power: Option<u64>) -> Step {
        let stop = if power.is_some() { Act::Halt } else { Act::Kill };
        let done = self.run_with(asks, call, move |_| stop);
        if let Some(seed) = power {
            let images = self.sim.images(Policy::Unordered, 16, seed).images;
            let image = &images[usize::try_from(seed % images.len() as u64).unwrap()];
            self.sim = SimFs::from_image(image);
        } else {
            self.sim = self.sim.fork();
        }
        let expected = reference::apply(&self.files, asks);
        if done.is_ok() {
            // Acknowledged means there, before any recovery.
            self.compare(expected.as_ref().ok_or("an impossible request was acknowledged")?)?;
        }
        self.recover()?;
        let seen = self.seen();
        let unchanged = seen == self.files;
        match expected {
            Some(after) if seen == after => {
                self.counts.crashes_new += 1;
                let log = self.log()?;
                let new = log.into_iter().find(|id| self.history.iter().all(|committed| committed.id != *id));
                if let Some(id) = new {
                    let changed = difference(&self.files, &after);
                    self.history.push(Committed { id, changed, undoes: None });
                } else if !unchanged {
                    return Err("the files are new, and the log does not say so".to_owned());
                }
                self.files = after;
                Ok(())
            }
            _ if unchanged && done.is_err() => {
                self.counts.crashes_old += 1;
                Ok(())
            }
            expected => Err(format!("neither old nor new: {seen:?}, new would be {expected:?}")),
        }
    }

    fn log(&mut self) -> Result<Vec<String>, String> {
        let log = self.engine().log(usize::MAX, None).map_err(|e| e.to_string())?;
        Ok(log.into_iter().map(|logged| logged.id).collect())
    }

    /// Whatever the foreign program does, its bytes are somewhere, and the other files are all old or all new.
    fn race(&mut self, asks: &[Ask], call: u64, foreign: &Foreign) -> Step {
        let sim = self.sim.clone();
        let (acted, act_now) = (Arc::new(AtomicBool::new(false)), foreign.clone());
        let flag = Arc::clone(&acted);
        let old = self.files.clone();
        let done = self.run_with(asks, call, move |_| {
            flag.store(act(&sim, &act_now), Ordering::Relaxed);
            Act::Continue
        });
        if !acted.load(Ordering::Relaxed) {
            return self.settle(asks, done);
        }
        if let Foreign::WriteInPlace(_, text) | Foreign::Replace(_, text) = foreign {
            self.is_somewhere(text)?;
        }
        let seen = self.seen();
        let mut with_foreign = old.clone();
        match foreign {
            Foreign::WriteInPlace(path, text) | Foreign::Replace(path, text) => {
                // A file that the request has moved on is what it was, unless it was replaced.
                let moved = old.get(path).filter(|_| matches!(foreign, Foreign::WriteInPlace(..)));
                let mode = seen.get(path).or(moved).map_or(reference::NEW, |(_, mode)| *mode);
                with_foreign.insert(path, (text.clone().into_bytes(), mode));
            }
            Foreign::Delete(path) => {
                with_foreign.remove(path);
            }
        }
        // The commit came after the foreign act, before it, or not at all. Before it, what it wrote may be replaced.
        let mut stories = vec![reference::apply(&with_foreign, asks), reference::apply(&old, asks)];
        if done.is_err() {
            stories = vec![Some(old)];
        }
        let path = foreign.path();
        let but =
            |files: &Files| files.iter().filter(|(p, _)| **p != path).map(|(p, f)| (*p, f.clone())).collect::<Files>();
        if !stories.iter().flatten().any(|story| but(story) == but(&seen)) {
            return Err(format!("{done:?} left {seen:?}; it can only be one of {stories:?}"));
        }
        match done {
            Ok(report) => {
                self.counts.races_won += 1;
                let changed = difference(&self.files, &seen);
                let changed = changed.into_iter().filter(|(p, _)| *p != path).collect::<Changed>();
                self.files = seen;
                // What an undo of it does to the foreign path is not for the model to say.
                let _ = (report, changed);
                self.forget_history();
            }
            Err(error) => {
                if error.outcome() == Outcome::RecoveryRequired {
                    return Err(format!("nothing failed, and recovery is required: {error:?}"));
                }
                self.counts.races_lost += 1;
                self.files = seen;
            }
        }
        Ok(())
    }

    fn settle(&mut self, asks: &[Ask], done: Result<Report, Error>) -> Step {
        match (reference::apply(&self.files, asks), done) {
            (Some(after), Ok(report)) => self.adopt(&report, after),
            (None, Err(_)) => {}
            (expected, done) => return Err(format!("the model says {expected:?}, the engine {done:?}")),
        }
        Ok(())
    }

    /// The model does not follow what cannot be told from outside: it starts with an empty history.
    fn forget_history(&mut self) {
        let engine = self.engine();
        let nothing = Retention { count: 0, bytes: 0, age: Duration::ZERO };
        engine.prune(&nothing).unwrap();
        self.history.clear();
    }

    /// A failed call: all old with a truthful outcome, or all new.
    fn fault(&mut self, asks: &[Ask], call: u64) -> Step {
        let fail = |mutates| if mutates { Act::Fail(txedit::errno::Errno::IO) } else { Act::Continue };
        let done = self.run_with(asks, call, fail);
        self.counts.faults += 1;
        let expected = reference::apply(&self.files, asks);
        let seen = self.seen();
        match &done {
            Ok(_) => self.compare(expected.as_ref().ok_or("an impossible request was acknowledged")?)?,
            Err(error) if error.outcome() != Outcome::RecoveryRequired => self.compare(&self.files)?,
            Err(_) => {}
        }
        self.recover()?;
        let after = self.seen();
        if done.is_err() && after == self.files {
            return Ok(());
        }
        let Some(expected) = expected.filter(|expected| *expected == after) else {
            return Err(format!("{done:?} left {seen:?}, and recovery {after:?}"));
        };
        if let Ok(report) = done {
            self.adopt(&report, expected);
        } else {
            self.files = expected;
            self.forget_history();
        }
        Ok(())
    }

    /// Twice: the second recovery changes nothing.
    fn recover(&mut self) -> Step {
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

    fn compare(&self, expected: &Files) -> Step {
        let seen = self.seen();
        if seen == *expected { Ok(()) } else { Err(format!("the files are {seen:?}, and should be {expected:?}")) }
    }

    fn nothing_is_left(&self) -> Step {
        let left = self.sim.tree().into_keys().find(|path| path.parent() == Some(Path::new("/w/.txedit/txn")));
        left.map_or(Ok(()), |path: PathBuf| Err(format!("{} is left", path.display())))
    }

    /// Whether these bytes are in a file, perhaps with edits of a commit that saw them, or kept.
    fn is_somewhere(&self, text: &str) -> Step {
        let marker = text.lines().next().unwrap_or_default();
        let holds = |content: &[u8]| String::from_utf8_lossy(content).lines().next() == Some(marker);
        if self.sim.tree().values().any(|entry| holds(&entry.content)) {
            return Ok(());
        }
        Err(format!("what another program wrote is lost: {marker}"))
    }
}

fn known(path: &Path) -> &'static str {
    let names = ["a", "b", "c", "d/e", "d/f", "g/h/i"];
    names.into_iter().find(|name| Path::new(name) == path).unwrap_or_else(|| panic!("{} is new", path.display()))
}

/// Whether it could: a foreign program whose file or folder is not there does nothing.
fn act(sim: &SimFs, foreign: &Foreign) -> bool {
    let path = Path::new(ROOT).join(foreign.path());
    let done = match foreign {
        Foreign::WriteInPlace(_, text) => sim.write_in_place(path, text).is_ok(),
        Foreign::Replace(_, text) => sim.replace(path, text).is_ok(),
        Foreign::Delete(_) => sim.delete(path).is_ok(),
    };
    // What a power cut does to the unsynced writes of others is not the engine's doing.
    sim.sync_everything();
    done
}

pub(super) fn with_run<T>(call: impl FnOnce(Run<'_>) -> T) -> T {
    let never = AtomicBool::new(false);
    call(Run { cancel: &never, observer: &Unobserved })
}

pub(super) fn request(asks: &[Ask]) -> Request {
    let file = |path: &str, change| FileRequest { path: path.into(), expected_hash: None, change, mode: None };
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
        Ask::Mode { path, mode } => FileRequest { mode: Some(Mode::Bits(*mode)), ..file(path, Change::Mode) },
    });
    Request { files: files.collect(), ..Request::default() }
}
