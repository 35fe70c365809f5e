//! One run of a script, perhaps with foreign programs and a call that fails: the points at which a crash may come.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::check::{Precious, Promise, Violation};
use super::explore::Explorer;
use super::foreign::{Foreign, Program};
use super::script::{Role, Script};
use super::world::{Files, Seen};
use crate::error::Outcome;
use crate::fs::sim::{Action, SimFs};

/// A point at which a crash may come.
pub(super) struct Point<P = Promise> {
    pub(super) machine: SimFs,
    /// Before which call.
    pub(super) call: String,
    pub(super) promise: P,
}

impl Explorer {
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
