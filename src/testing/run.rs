//! One run of a script, perhaps with foreign programs and a failing call: the points at which a crash may come.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::check::{PreciousContent, Promise, Violation, told as show};
use super::explore::Explorer;
use super::foreign::{Foreign, ForeignProgram};
use super::script::{Acts, ROOT, Role, Script};
use super::world::{UserFiles, WorkspaceTree, same};
use crate::engine::Engine;
use crate::error::{Error, Outcome};
use crate::fs::sim::{Action, SimFs};
use crate::path::STATE_PATHS;

/// A point at which a crash may come.
pub(super) struct CrashPoint<P = Promise> {
    pub(super) machine: SimFs,
    /// The call before which it is.
    pub(super) call: String,
    pub(super) promise: P,
}

impl Explorer {
    /// Runs the script once and takes a fork before each call that changes something.
    pub(super) fn points(script: &Script, clean: &CleanRun, foreign: &[Foreign]) -> Result<Vec<CrashPoint>, Violation> {
        Self::points_with(script, clean, foreign, None)
    }

    /// The same with a fault in one call.
    pub(super) fn points_with(
        script: &Script,
        clean: &CleanRun,
        foreign: &[Foreign],
        fault: Option<(u64, Action)>,
    ) -> Result<Vec<CrashPoint>, Violation> {
        let machine = clean.start.fork();
        let blank = Promise::beside(&foreign, script);
        let programs: Vec<_> =
            foreign.iter().map(|foreign| ForeignProgram::start(&machine, foreign, &clean.known)).collect();
        let left = programs.clone();
        let disturbed = foreign.iter().map(|foreign| foreign.call).chain(fault.map(|(call, _)| call));
        let from = disturbed.min().unwrap_or(0);
        // One promise for each number of finished acts.
        let mut seen = vec![WorkspaceTree::of(&machine).files];
        let promise = |seen: &[UserFiles], from: usize, to: usize| {
            let states: Vec<UserFiles> = seen.iter().chain(&clean.states[seen.len()..]).cloned().collect();
            let acts = Acts { done: from, begun: to };
            Promise { states: Arc::new(states), seen: seen.len(), from, to, acts, ..blank.clone() }
        };
        let current = Arc::new(Mutex::new(promise(&seen, 0, 0)));
        let points = watch(&machine, programs, (from, fault), &current);
        let engine = script.process(&machine, 2, Role::Act);
        let told = |what: String| Violation { what, trace: foreign.iter().map(ToString::to_string).collect() };
        let engine = engine.map_err(|e| told(e.to_string()))?;
        for (index, act) in script.acts.iter().enumerate() {
            *lock(&current) = promise(&seen, index, index + 1);
            let result = act(&engine);
            let now = WorkspaceTree::of(&machine);
            match &result {
                Ok(()) => {
                    let reported = promise(&seen, index + 1, index + 1);
                    reported.check_each(&now).map_err(|what| told(format!("reported as committed, but {what}")))?;
                    in_place(&left, &now.files, [&seen[index], &clean.states[index + 1]]).map_err(told)?;
                    seen.push(now.files);
                    *lock(&current) = promise(&seen, index + 1, index + 1);
                }
                Err(error) if error.outcome() == Outcome::RecoveryRequired => {
                    *lock(&current) = promise(&seen, index, index + 1);
                    break;
                }
                Err(error) => {
                    if foreign.is_empty() && fault.is_none() {
                        return Err(told(format!("act {index} failed though nobody interfered: {result:?}")));
                    }
                    let reported = promise(&seen, index, index);
                    *lock(&current) = reported.clone();
                    reported.check_each(&now).map_err(|what| told(format!("reported {error:?}, but {what}")))?;
                    // For a later act it is unknown which content the other program found.
                    if index == 0 {
                        let programs = foreign.iter().zip(&left);
                        names_what_is_left(error, &programs, &seen[0], &now.files).map_err(told)?;
                    }
                    break;
                }
            }
        }
        machine.clear_hook();
        drop(engine);
        let mut points = std::mem::take(&mut *lock(&points));
        let (end, promise) = (RunEnd { script, foreign, programs: &left }, lock(&current).clone());
        points.push(end.come(&machine, promise).map_err(told)?);
        Ok(points)
    }
}

/// Checks that an error names exactly the files in which another program wrote over the new content.
fn names_what_is_left<'a>(
    error: &Error,
    programs: &(impl Iterator<Item = (&'a Foreign, &'a Arc<ForeignProgram>)> + Clone),
    old: &UserFiles,
    now: &UserFiles,
) -> Result<(), String> {
    let relative = |path: &Path| path.strip_prefix(ROOT).unwrap_or(path).to_owned();
    let left: BTreeSet<PathBuf> =
        error.not_old().iter().filter(|left| left.on_top).map(|left| relative(&left.path)).collect();
    let is_old = |path: &PathBuf| same(now.get(path), old.get(path), false);
    if left.is_empty() != (error.outcome() != Outcome::PartlyRolledBack) {
        return Err(format!("reported {:?}, and not put back is {left:?}", error.outcome()));
    }
    // A file of another program may have the content that was there, too.
    if let Some(path) = left.iter().find(|path| now.contains_key(*path) && same(now.get(*path), old.get(*path), true)) {
        return Err(format!("{} is as it was, and reported as not put back: {error:?}", path.display()));
    }
    for (foreign, program) in programs.clone() {
        let path = relative(&foreign.path);
        let is_alone = programs.clone().filter(|(other, _)| other.path == foreign.path).count() == 1;
        if is_alone && program.came_on_top() && !is_old(&path) && !left.contains(&path) {
            return Err(format!("{} is {}, and nobody is told: {error:?}", path.display(), show(now, &path)));
        }
    }
    Ok(())
}

/// Lets the programs and the fault act at their calls, and takes a point before each change starting with call `from`.
fn watch(
    machine: &SimFs,
    programs: Vec<Arc<ForeignProgram>>,
    (from, fault): (u64, Option<(u64, Action)>),
    current: &Arc<Mutex<Promise>>,
) -> Arc<Mutex<Vec<CrashPoint>>> {
    let points = Arc::new(Mutex::new(Vec::new()));
    let (kept, current, fork) = (Arc::clone(&points), Arc::clone(current), machine.clone());
    let start = machine.calls();
    machine.set_hook(move |call| {
        let number = call.number - start;
        for program in &programs {
            program.step(&fork, number);
        }
        // Up to the first deed this equals the undisturbed run.
        if call.mutates && number >= from {
            let mut promise = lock(&current).clone();
            let given = programs.iter().filter_map(|program| program.given());
            promise.add(programs.iter().filter_map(|program| program.left()), given);
            let told = format!("call {number}: {} {}", call.verb, call.path.display());
            lock(&kept).push(CrashPoint { machine: fork.fork(), call: told, promise });
        }
        fault.filter(|(at, _)| number == *at).map_or(Action::Continue, |(_, action)| action)
    });
    points
}

/// The end of a run.
struct RunEnd<'a> {
    script: &'a Script,
    foreign: &'a [Foreign],
    programs: &'a [Arc<ForeignProgram>],
}

impl RunEnd<'_> {
    /// Programs with an open file write; then come the last point of the run, and the check of what follows.
    fn come(&self, machine: &SimFs, promise: Promise) -> Result<CrashPoint, String> {
        for program in self.programs {
            program.end(machine);
        }
        let required = promise.from < promise.to;
        let point = self.point(machine, promise)?;
        if !required {
            self.aftermath(machine)?;
        }
        Ok(point)
    }

    /// The last point of a run, at which nothing may be lost.
    fn point(&self, machine: &SimFs, mut promise: Promise) -> Result<CrashPoint, String> {
        let (required, seen) = (promise.from < promise.to, WorkspaceTree::of(machine));
        if let Some(lost) = self.lost(&seen, required) {
            return Err(format!("at the end, {lost} is out of reach"));
        }
        // What is in the trash counts as reachable only if `status` lists it.
        let without_trash = WorkspaceTree { rejected: Vec::new(), ..seen };
        if let Some(untold) = self.lost(&without_trash, required) {
            let status = self.engine(machine)?.status().map_err(|e| format!("status fails: {e}"))?;
            if !status.warnings.iter().any(|warning| warning.contains("/trash/")) {
                return Err(format!("at the end, {untold} is in the trash, and nobody is told: {status:?}"));
            }
        }
        let given = self.programs.iter().filter_map(|program| program.given());
        promise.add(self.programs.iter().filter_map(|program| program.left()), given);
        if !required {
            promise.check_given(None, &WorkspaceTree::of(machine)).map_err(|what| format!("at the end, {what}"))?;
        }
        Ok(CrashPoint { machine: machine.fork(), call: "the end".to_owned(), promise })
    }

    /// An hour later another commit empties the trash: still nothing is lost, and kept contents are reported.
    fn aftermath(&self, machine: &SimFs) -> Result<(), String> {
        machine.advance(Duration::from_secs(60 * 60));
        let before = kept(machine);
        let report = self.script.commit_another(machine, 6, "aftermath");
        let report = report.map_err(|e| format!("an hour later a commit fails: {e}"))?;
        let after = WorkspaceTree::of(machine);
        if let Some(lost) = self.lost(&after, false) {
            return Err(format!("after a later commit, {lost} is out of reach"));
        }
        // Commits without barriers empty the trash only once there is much in it.
        if self.script.is_durable() && !after.rejected.is_empty() {
            return Err(format!("after a later commit, the trash still has {:?}", after.rejected));
        }
        if kept(machine) > before && !report.warnings.iter().any(|told| told.contains("/kept/")) {
            return Err(format!("a later commit put something aside, and did not tell: {:?}", report.warnings));
        }
        Ok(())
    }

    /// An engine in another process, undisturbed.
    fn engine(&self, machine: &SimFs) -> Result<Engine, String> {
        self.script.engine(Arc::new(machine.process(6))).map_err(|e| e.to_string())
    }

    /// A content that a program left and nobody overwrote since, but that is gone.
    fn lost(&self, end: &WorkspaceTree, required: bool) -> Option<PreciousContent> {
        let (foreign, programs) = (self.foreign, self.programs);
        let latest =
            |path: &Path| foreign.iter().filter(|foreign| foreign.path == path).map(|foreign| foreign.call).max();
        let all = foreign.iter().zip(programs).filter(|(foreign, _)| latest(&foreign.path) == Some(foreign.call));
        // For two programs at the same call the order is unknown here.
        let alone = all.filter(|(one, _)| {
            foreign.iter().filter(|other| (&other.path, other.call) == (&one.path, one.call)).count() == 1
        });
        alone.filter_map(|(_, program)| program.left()).find(|left| !left.is_in_reach(end, required))
    }
}

/// The number of folders in `kept/`.
fn kept(machine: &SimFs) -> usize {
    let sections = STATE_PATHS.map(|state| Path::new(ROOT).join(state).join("kept"));
    machine.tree().keys().filter(|path| sections.iter().any(|section| path.parent() == Some(section))).count()
}

/// Checks, for an act beneath a folder that was moved away meanwhile, that its changes were in place: when the folder
/// was moved, or now.
fn in_place(programs: &[Arc<ForeignProgram>], now: &UserFiles, [old, new]: [&UserFiles; 2]) -> Result<(), String> {
    for (folder, before) in programs.iter().filter_map(|program| program.before_move()) {
        let changed = old.keys().chain(new.keys()).filter(|path| path.starts_with(&folder));
        let changed: BTreeSet<_> = changed.filter(|path| !same(old.get(*path), new.get(*path), false)).collect();
        let is_new = |files: &UserFiles| changed.iter().all(|path| same(files.get(*path), new.get(*path), false));
        if !is_new(&before) && !is_new(now) {
            let folder = folder.display();
            return Err(format!("reported as committed, but {folder} was moved before {changed:?} was in place"));
        }
    }
    Ok(())
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run without disturbance.
pub(super) struct CleanRun {
    /// The machine before the first act.
    pub(super) start: SimFs,
    /// The user's files before the first act and after each.
    pub(super) states: Vec<UserFiles>,
    /// All contents before and after acts.
    pub(super) known: BTreeSet<Vec<u8>>,
    pub(super) calls: u64,
}

impl CleanRun {
    pub(super) fn of(script: &Script) -> Result<Self, Violation> {
        let start = script.machine();
        let machine = start.fork();
        let mut states = vec![WorkspaceTree::of(&machine).files];
        let failed = |error: Error| Violation {
            what: format!("{} fails where nobody interferes: {error}", script.name),
            trace: Vec::new(),
        };
        let engine = script.process(&machine, 2, Role::Act).map_err(failed)?;
        for act in &script.acts {
            act(&engine).map_err(failed)?;
            states.push(WorkspaceTree::of(&machine).files);
        }
        let known = states.iter().flat_map(UserFiles::values).map(|entry| entry.content.clone()).collect();
        Ok(Self { known, states, calls: machine.calls(), start })
    }
}
