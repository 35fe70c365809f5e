//! The crash explorer.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::check::{Judge, Precious, Promise, Violation};
use super::foreign::{Deed, Foreign, Program};
use super::script::{Role, Script};
use super::world::{Files, Seen};
use crate::digest::Digest;
use crate::engine::RecoverOptions;
use crate::engine::report::Recovered;
use crate::error::{Outcome, Result};
use crate::fs::sim::{Action, Image, Policy, SimFs};

/// How much is explored.
#[derive(Debug, Clone)]
pub struct Explorer {
    /// What file systems promise of names.
    pub policies: Vec<Policy>,
    /// How many images are taken at each point of the script, before they are sampled.
    pub images: usize,
    /// How many at each point of a recovery.
    pub images_in_recovery: usize,
    /// How often recoveries are stopped in a row.
    pub depth: usize,
    /// How many worlds are explored at most.
    pub worlds: usize,
    /// Chooses the samples.
    pub seed: u64,
}

impl Default for Explorer {
    fn default() -> Self {
        Self {
            policies: vec![Policy::Unordered, Policy::OrderedMetadata],
            images: 96,
            images_in_recovery: 32,
            depth: 3,
            worlds: usize::MAX,
            seed: 1,
        }
    }
}

/// What was explored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Explored {
    /// Different worlds that were recovered and checked: images of power losses, and machines after a kill.
    pub worlds: usize,
    /// Images that were the same as an earlier one.
    pub merged: usize,
    /// Points at which a crash was tried.
    pub points: usize,
    /// Points at which every surviving subset was tried, and not a sample.
    pub exhaustive: usize,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worlds, merged, points, exhaustive } = self;
        write!(f, "{worlds} crash states, {merged} merged, {points} points, {exhaustive} of them exhaustively")
    }
}

impl std::ops::AddAssign for Explored {
    fn add_assign(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.merged += other.merged;
        self.points += other.points;
        self.exhaustive += other.exhaustive;
    }
}

/// A point at which a crash may come.
pub(super) struct Point<P = Promise> {
    pub(super) machine: SimFs,
    /// Before which call.
    pub(super) call: String,
    pub(super) promise: P,
}

/// A world after a crash.
struct World<P> {
    kind: Kind,
    promise: P,
    trace: Option<Arc<Trace>>,
    depth: usize,
}

enum Kind {
    Killed(SimFs),
    Cut(Image),
}

/// How a world came to be, latest first.
pub(super) struct Trace {
    line: String,
    before: Option<Arc<Trace>>,
}

impl Trace {
    /// These lines, in order.
    pub(super) fn of(lines: impl Iterator<Item = String>) -> Option<Arc<Self>> {
        lines.fold(None, |before, line| Some(Arc::new(Self { line, before })))
    }

    fn lines(trace: Option<&Arc<Self>>) -> Vec<String> {
        let mut lines = Vec::new();
        let mut at = trace;
        while let Some(trace) = at {
            lines.push(trace.line.clone());
            at = trace.before.as_ref();
        }
        lines.reverse();
        lines
    }
}

impl Explorer {
    /// Explores every crash of `script`. Stops at the first violation.
    pub fn explore(&self, script: &Script) -> Result<Explored, Violation> {
        self.explore_with(script, &[])
    }

    /// The same with foreign programs that act on the way.
    pub fn explore_with(&self, script: &Script, foreign: &[Foreign]) -> Result<Explored, Violation> {
        self.explore_from(script, &Clean::of(script)?, foreign)
    }

    pub(super) fn explore_from(
        &self,
        script: &Script,
        clean: &Clean,
        foreign: &[Foreign],
    ) -> Result<Explored, Violation> {
        let points = Self::points(script, clean, foreign)?;
        let mut walk = Walk::new(self, script);
        for point in points {
            let trace = Trace::of(foreign.iter().map(ToString::to_string));
            walk.crash(&point, trace.as_ref(), 0);
        }
        walk.finish()
    }

    /// Explores `script` with each of these deeds before each of its calls, one at a time: of all of these runs one in
    /// `share`.
    pub fn explore_deeds(&self, script: &Script, deeds: &[(&str, Deed)], share: usize) -> Result<Explored, Violation> {
        let mut found = Explored::default();
        let clean = Clean::of(script)?;
        let all = (0..=clean.calls).flat_map(|call| deeds.iter().map(move |deed| (call, deed)));
        let skipped = usize::try_from(self.seed).unwrap_or(0) % share;
        for (call, (path, deed)) in all.skip(skipped).step_by(share) {
            let foreign = Foreign { call, path: path.into(), deed: deed.clone() };
            found += self.explore_from(script, &clean, &[foreign])?;
        }
        Ok(found)
    }

    /// How many calls a script makes where nobody interferes.
    pub fn calls(script: &Script) -> Result<u64, Violation> {
        Clean::of(script).map(|clean| clean.calls)
    }

    /// Runs the script once and takes a fork before each call that changes something.
    pub(super) fn points(script: &Script, clean: &Clean, foreign: &[Foreign]) -> Result<Vec<Point>, Violation> {
        Self::points_with(script, clean, foreign, None)
    }

    /// The same with something else becoming of one call.
    pub(super) fn points_with(
        script: &Script,
        clean: &Clean,
        foreign: &[Foreign],
        fault: Option<(u64, Action)>,
    ) -> Result<Vec<Point>, Violation> {
        let machine = clean.start.fork();
        let held = Arc::new(foreign.iter().flat_map(Foreign::held).collect::<BTreeSet<_>>());
        let programs: Vec<_> = foreign.iter().map(|foreign| Program::start(&machine, foreign)).collect();
        let left = programs.clone();
        let disturbed = foreign.iter().map(|foreign| foreign.call).chain(fault.map(|(call, _)| call));
        let from = disturbed.min().unwrap_or(0);
        // One promise for each number of acts that are through.
        let mut seen = vec![Seen::of(&machine).files];
        let promise = |seen: &[Files], from: usize, to: usize| {
            let states: Vec<Files> = seen.iter().chain(&clean.states[seen.len()..]).cloned().collect();
            let (held, precious) = (Arc::clone(&held), Arc::default());
            let checked = script.is_checked();
            Promise { states: Arc::new(states), seen: seen.len(), from, to, held, checked, precious }
        };
        let current = Arc::new(Mutex::new(promise(&seen, 0, 0)));
        let points = watch(&machine, programs, clean, (from, fault), &current);
        let engine = script.process(&machine, 2, Role::Act);
        let told = |what: String| Violation { what, trace: foreign.iter().map(ToString::to_string).collect() };
        let engine = engine.map_err(|e| told(e.to_string()))?;
        for (index, act) in script.acts.iter().enumerate() {
            *lock(&current) = promise(&seen, index, index + 1);
            let result = act(&engine);
            let now = Seen::of(&machine);
            match result.as_ref().map_err(crate::error::Error::outcome) {
                Ok(()) => {
                    let reported = promise(&seen, index + 1, index + 1);
                    reported.check_each(&now).map_err(|what| told(format!("reported as committed, but {what}")))?;
                    seen.push(now.files);
                    *lock(&current) = promise(&seen, index + 1, index + 1);
                }
                Err(Outcome::RecoveryRequired) => {
                    *lock(&current) = promise(&seen, index, index + 1);
                    break;
                }
                Err(outcome) => {
                    if foreign.is_empty() && fault.is_none() {
                        return Err(told(format!("act {index} failed though nobody interfered: {result:?}")));
                    }
                    let reported = promise(&seen, index, index);
                    *lock(&current) = reported.clone();
                    reported.check_each(&now).map_err(|what| told(format!("reported {outcome:?}, but {what}")))?;
                    break;
                }
            }
        }
        machine.clear_hook();
        drop(engine);
        let mut points = std::mem::take(&mut *lock(&points));
        let last = end(&machine, lock(&current).clone(), foreign, &left, &clean.known);
        points.push(last.map_err(told)?);
        Ok(points)
    }
}

/// Lets the programs act at their calls and the fault come to pass, and takes a point before each change `from` there on.
fn watch(
    machine: &SimFs,
    programs: Vec<Arc<Program>>,
    clean: &Clean,
    (from, fault): (u64, Option<(u64, Action)>),
    current: &Arc<Mutex<Promise>>,
) -> Arc<Mutex<Vec<Point>>> {
    let points = Arc::new(Mutex::new(Vec::new()));
    let (kept, current, fork) = (Arc::clone(&points), Arc::clone(current), machine.clone());
    let (known, start) = (clean.known.clone(), machine.calls());
    machine.set_hook(move |call| {
        let number = call.number - start;
        for program in &programs {
            program.step(&fork, number);
        }
        // Up to the first deed it is the run in which nobody interferes.
        if call.mutates && number >= from {
            let mut promise = lock(&current).clone();
            promise.add(programs.iter().filter_map(|program| program.left(&known)));
            let told = format!("call {number}: {} {}", call.verb, call.path.display());
            lock(&kept).push(Point { machine: fork.fork(), call: told, promise });
        }
        fault.filter(|(at, _)| number == *at).map_or(Action::Continue, |(_, action)| action)
    });
    points
}

/// The last point of a run, at which nothing may be lost.
fn end(
    machine: &SimFs,
    mut promise: Promise,
    foreign: &[Foreign],
    programs: &[Arc<Program>],
    known: &BTreeSet<Vec<u8>>,
) -> Result<Point, String> {
    let required = promise.from < promise.to;
    if let Some(lost) = lost(foreign, programs, known, &Seen::of(machine), required) {
        return Err(format!("at the end, {lost} is out of reach"));
    }
    promise.add(programs.iter().filter_map(|program| program.left(known)));
    Ok(Point { machine: machine.fork(), call: "the end".to_owned(), promise })
}

/// What a program left, nobody wrote over since, and is gone all the same.
fn lost(
    foreign: &[Foreign],
    programs: &[Arc<Program>],
    known: &BTreeSet<Vec<u8>>,
    end: &Seen,
    required: bool,
) -> Option<Precious> {
    let latest = |path: &Path| foreign.iter().filter(|foreign| foreign.path == path).map(|foreign| foreign.call).max();
    let all = foreign.iter().zip(programs).filter(|(foreign, _)| latest(&foreign.path) == Some(foreign.call));
    // Of two at the same call it cannot be told here which was the later.
    let alone = all.filter(|(one, _)| {
        foreign.iter().filter(|other| (&other.path, other.call) == (&one.path, one.call)).count() == 1
    });
    alone.filter_map(|(_, program)| program.left(known)).find(|left| !left.is_in_reach(end, required))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run in which nobody interferes.
pub(super) struct Clean {
    /// The machine before the first act.
    pub(super) start: SimFs,
    /// The user's files before the first act and after each.
    pub(super) states: Vec<Files>,
    /// All contents before and after acts.
    pub(super) known: BTreeSet<Vec<u8>>,
    pub(super) calls: u64,
}

impl Clean {
    pub(super) fn of(script: &Script) -> Result<Self, Violation> {
        let start = script.machine();
        let machine = start.fork();
        let mut states = vec![Seen::of(&machine).files];
        let failed = |error: crate::error::Error| Violation {
            what: format!("{} fails where nobody interferes: {error}", script.name),
            trace: Vec::new(),
        };
        let engine = script.process(&machine, 2, Role::Act).map_err(failed)?;
        for act in &script.acts {
            act(&engine).map_err(failed)?;
            states.push(Seen::of(&machine).files);
        }
        let known = states.iter().flat_map(Files::values).map(|entry| entry.content.clone()).collect();
        Ok(Self { known, states, calls: machine.calls(), start })
    }
}

/// What was met before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Point,
    Killed,
    Cut,
}

pub(super) struct Walk<'a, P = Promise> {
    explorer: &'a Explorer,
    script: &'a Script,
    todo: Vec<World<P>>,
    /// Points, worlds, and killed machines, each with the states that are allowed.
    seen: BTreeSet<(What, Digest, usize, usize)>,
    found: Explored,
}

impl<'a, P: Judge> Walk<'a, P> {
    pub(super) fn new(explorer: &'a Explorer, script: &'a Script) -> Self {
        Self { explorer, script, todo: Vec::new(), seen: BTreeSet::new(), found: Explored::default() }
    }

    /// Recovers and checks all worlds, and those that come of them.
    pub(super) fn finish(mut self) -> Result<Explored, Violation> {
        while let Some(world) = self.todo.pop() {
            if self.found.worlds >= self.explorer.worlds {
                break;
            }
            self.recover(&world)?;
        }
        Ok(self.found)
    }

    /// All worlds that a crash at this point may leave.
    pub(super) fn crash(&mut self, point: &Point<P>, trace: Option<&Arc<Trace>>, depth: usize) {
        self.found.points += 1;
        let told = |line: String| Some(Arc::new(Trace { line, before: trace.cloned() }));
        let Point { machine, call, promise } = point;
        let (from, to) = promise.allowed();
        // What a recovery comes through, others came through before it: most of all after its first sync.
        if !self.seen.insert((What::Point, machine.crash_digest(), from, to)) {
            return;
        }
        if self.seen.insert((What::Killed, machine.digest(), from, to)) || depth == 0 {
            let trace = told(format!("killed before {call}"));
            self.todo.push(World { kind: Kind::Killed(machine.clone()), promise: promise.clone(), trace, depth });
        }
        if !self.script.is_durable() {
            return;
        }
        let limit = if depth == 0 { self.explorer.images } else { self.explorer.images_in_recovery };
        for policy in &self.explorer.policies {
            let images = machine.images(*policy, limit, self.explorer.seed.wrapping_add(self.found.points as u64));
            self.found.exhaustive += usize::from(images.exhaustive);
            for image in images {
                if !self.seen.insert((What::Cut, image.digest(), from, to)) {
                    self.found.merged += 1;
                    continue;
                }
                let trace = told(format!("power lost before {call}; {image}"));
                self.todo.push(World { kind: Kind::Cut(image), promise: promise.clone(), trace, depth });
            }
        }
    }

    /// Checks a world, recovers it, checks it again, and notes the crashes that the recovery may suffer.
    fn recover(&mut self, world: &World<P>) -> Result<(), Violation> {
        self.found.worlds += 1;
        let broken = |what: String| Violation { what, trace: Trace::lines(world.trace.as_ref()) };
        let machine = match &world.kind {
            Kind::Killed(machine) => machine.fork(),
            Kind::Cut(image) => SimFs::from_image(image),
        };
        let before = Seen::of(&machine);
        world.promise.check_each(&before).map_err(&broken)?;
        let forks = Arc::new(Mutex::new(Vec::new()));
        if world.depth < self.explorer.depth {
            let (forks, fork) = (Arc::clone(&forks), machine.clone());
            let first = AtomicUsize::new(0);
            machine.set_hook(move |call| {
                if call.mutates {
                    let number = first.fetch_add(1, Ordering::Relaxed);
                    let call = format!("recovery's call {number}: {} {}", call.verb, call.path.display());
                    lock(&forks).push((fork.fork(), call));
                }
                Action::Continue
            });
        }
        let reports = recover(self.script, &machine).map_err(|e| broken(format!("recovery failed: {e}")))?;
        machine.clear_hook();
        let after = Seen::of(&machine);
        let required = reports.iter().any(|report| report.required);
        let told = |what: String| broken(format!("{what}\n   {reports:?}"));
        let reported = if required {
            if !world.promise.somebody_else() {
                return Err(told("a person must decide though nobody interfered".to_owned()));
            }
            None
        } else {
            Some(world.promise.check_all(&after).map_err(&told)?)
        };
        world.promise.check_reach(&before, &after, required).map_err(&told)?;
        if !required && !after.left.is_empty() {
            return Err(told(format!("left behind: {:?}", after.left)));
        }
        let digest = machine.digest();
        let again = recover(self.script, &machine).map_err(|e| broken(format!("second recovery failed: {e}")))?;
        if machine.digest() != digest || again.iter().any(|report| !report.required) {
            return Err(told(format!("a second recovery did something: {again:?}")));
        }
        for (machine, call) in std::mem::take(&mut *lock(&forks)) {
            let point = Point { machine, call, promise: world.promise.clone() };
            self.crash(&point, world.trace.as_ref(), world.depth + 1);
        }
        if let Some(promise) = reported.filter(|_| world.depth < self.explorer.depth) {
            let point = Point { machine: machine.fork(), call: "the end, after recovery reported".to_owned(), promise };
            self.crash(&point, world.trace.as_ref(), world.depth + 1);
        }
        Ok(())
    }
}

/// Recovers everything, with a person who vouches for journals where the file system cannot.
pub(super) fn recover(script: &Script, machine: &SimFs) -> Result<Vec<Recovered>> {
    let engine = script.process(machine, 3, Role::Recover)?;
    let options = RecoverOptions { trust_journal: script.needs_trust(), ..RecoverOptions::default() };
    let reports = engine.recover(None, options);
    machine.kill(3);
    reports
}
