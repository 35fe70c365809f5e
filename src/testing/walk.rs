//! Walks all worlds that crashes leave: each is recovered, its recovery stopped, and so on, until there is nothing new.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::check::{Judge, Promise, Violation};
use super::explore::{Explored, Explorer};
use super::run::{CrashPoint, lock};
use super::script::{Acts, Role, Script};
use super::world::WorkspaceTree;
use crate::digest::Digest;
use crate::engine::RecoverOptions;
use crate::engine::report::Recovered;
use crate::error::Result;
use crate::fs::sim::{Action, Image, SimFs};

/// A world after a crash.
struct CrashWorld<P> {
    kind: CrashKind,
    promise: P,
    trace: Option<Arc<Trace>>,
    depth: usize,
}

enum CrashKind {
    Killed(SimFs),
    Cut(Image),
}

/// The events that led to a world, latest first.
pub(super) struct Trace {
    line: String,
    before: Option<Arc<Trace>>,
}

impl Trace {
    /// The trace of these lines, in order.
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

/// A kind of state that was visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CrashVisit {
    Point,
    Killed,
    Cut,
}

pub(super) struct CrashWalk<'a, P = Promise> {
    explorer: &'a Explorer,
    script: &'a Script,
    todo: Vec<CrashWorld<P>>,
    /// Points, worlds, and killed machines, each with the allowed states, and the acts that led there.
    seen: BTreeSet<(CrashVisit, Digest, (usize, usize), Acts)>,
    found: Explored,
}

impl<'a, P: Judge> CrashWalk<'a, P> {
    pub(super) fn new(explorer: &'a Explorer, script: &'a Script) -> Self {
        Self { explorer, script, todo: Vec::new(), seen: BTreeSet::new(), found: Explored::default() }
    }

    /// Recovers and checks all worlds, and those that result from them.
    pub(super) fn finish(mut self) -> Result<Explored, Violation> {
        while let Some(world) = self.todo.pop() {
            if self.found.worlds >= self.explorer.worlds {
                break;
            }
            self.recover(&world)?;
        }
        Ok(self.found)
    }

    /// Adds all worlds that a crash at this point may leave.
    pub(super) fn crash(&mut self, point: &CrashPoint<P>, trace: Option<&Arc<Trace>>, depth: usize) {
        self.found.points += 1;
        let told = |line: String| Some(Arc::new(Trace { line, before: trace.cloned() }));
        let CrashPoint { machine, call, promise } = point;
        let (allowed, acts) = (promise.allowed(), promise.acts());
        // A recovery passes through states that others passed through before, most of all after its first sync.
        if !self.seen.insert((CrashVisit::Point, machine.crash_digest(), allowed, acts)) {
            return;
        }
        if self.seen.insert((CrashVisit::Killed, machine.digest(), allowed, acts)) || depth == 0 {
            let trace = told(format!("killed before {call}"));
            self.todo.push(CrashWorld {
                kind: CrashKind::Killed(machine.clone()),
                promise: promise.clone(),
                trace,
                depth,
            });
        }
        if !self.script.is_durable() {
            return;
        }
        let limit = if depth == 0 { self.explorer.images } else { self.explorer.images_in_recovery };
        for policy in &self.explorer.policies {
            let images = machine.images(*policy, limit, self.explorer.seed.wrapping_add(self.found.points as u64));
            self.found.exhaustive += usize::from(images.exhaustive);
            for image in images {
                if !self.seen.insert((CrashVisit::Cut, image.digest(), allowed, acts)) {
                    self.found.merged += 1;
                    continue;
                }
                let trace = told(format!("power lost before {call}; {image}"));
                self.todo.push(CrashWorld { kind: CrashKind::Cut(image), promise: promise.clone(), trace, depth });
            }
        }
    }

    /// Checks a world, recovers it, checks it again, and adds the crashes that the recovery may suffer.
    fn recover(&mut self, world: &CrashWorld<P>) -> Result<(), Violation> {
        self.found.worlds += 1;
        let broken = |what: String| Violation { what, trace: Trace::lines(world.trace.as_ref()) };
        let machine = match &world.kind {
            CrashKind::Killed(machine) => machine.fork(),
            CrashKind::Cut(image) => SimFs::from_image(image),
        };
        let before = WorkspaceTree::of(&machine);
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
        let after = WorkspaceTree::of(&machine);
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
        let kept = reports.iter().flat_map(|report| &report.kept).next();
        if let Some(kept) = kept.filter(|_| !world.promise.somebody_else() && !self.script.is_checked()) {
            return Err(told(format!("kept though nobody interfered: {kept:?}")));
        }
        world.promise.check_reach(&before, &after, required).map_err(&told)?;
        if !required && !after.left.is_empty() {
            return Err(told(format!("left behind: {:?}", after.left)));
        }
        if !required {
            self.script.ask_witness(&machine, world.promise.acts()).map_err(&told)?;
        }
        let digest = machine.digest();
        let again = recover(self.script, &machine).map_err(|e| broken(format!("second recovery failed: {e}")))?;
        if machine.digest() != digest || again.iter().any(|report| !report.required) {
            return Err(told(format!("a second recovery did something: {again:?}")));
        }
        for (machine, call) in std::mem::take(&mut *lock(&forks)) {
            let point = CrashPoint { machine, call, promise: world.promise.clone() };
            self.crash(&point, world.trace.as_ref(), world.depth + 1);
        }
        if let Some(promise) = reported.filter(|_| world.depth < self.explorer.depth) {
            let point =
                CrashPoint { machine: machine.fork(), call: "the end, after recovery reported".to_owned(), promise };
            self.crash(&point, world.trace.as_ref(), world.depth + 1);
        }
        Ok(())
    }
}

/// Recovers everything, as a person who vouches for journals if the file system cannot.
pub(super) fn recover(script: &Script, machine: &SimFs) -> Result<Vec<Recovered>> {
    let engine = script.process(machine, 3, Role::Recover)?;
    let options = RecoverOptions { trust_journal: script.needs_trust(), ..RecoverOptions::default() };
    let reports = engine.recover(None, options);
    machine.kill(3);
    reports
}
