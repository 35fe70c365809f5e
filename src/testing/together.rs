//! Combines disturbances: two foreign acts, one between a crash and its recovery, a failed call and a crash.

use std::sync::{Arc, Mutex};

use super::check::Violation;
use super::explore::{Explored, Explorer};
use super::foreign::{Foreign, ForeignDeed, ForeignProgram};
use super::run::{CleanRun, CrashPoint, lock};
use super::script::{Role, Script};
use super::walk::{CrashWalk, Trace};
use crate::errno::Errno;
use crate::fs::sim::Action;

/// The ways in which a call that changes something may fail.
fn failures(verb: &str) -> &'static [Action] {
    match verb {
        "rename" => &[Action::Fail(Errno::IO), Action::FailAfter(Errno::IO)],
        "write_at" | "copy_range" => &[Action::Fail(Errno::NOSPC), Action::Short(1)],
        // A sync loses its pages silently.
        _ => &[Action::Fail(Errno::IO)],
    }
}

impl Explorer {
    /// Explores two foreign acts in one run, each at any call; one in `share` of these runs.
    pub fn explore_two_deeds(
        &self,
        script: &Script,
        deeds: &[(&str, ForeignDeed)],
        share: usize,
    ) -> Result<Explored, Violation> {
        let clean = CleanRun::of(script)?;
        let act =
            |call: u64, (path, deed): &(&str, ForeignDeed)| Foreign { call, path: path.into(), deed: deed.clone() };
        let first = (0..=clean.calls).flat_map(|call| deeds.iter().map(move |deed| (call, deed)));
        let both = first.flat_map(|(call, deed)| {
            let later = (call..=clean.calls).flat_map(move |later| deeds.iter().map(move |deed| (later, deed)));
            later.map(move |(later, other)| [act(call, deed), act(later, other)])
        });
        let mut found = Explored::default();
        for foreign in both.skip(self.skipped(share)).step_by(share) {
            found += self.explore_from(script, &clean, &foreign)?;
        }
        Ok(found)
    }

    /// Kills the process and, before any recovery, performs each of these sets of deeds, then crashes; one in `share`
    /// of these runs.
    pub fn explore_deeds_after_kill(
        &self,
        script: &Script,
        deeds: &[Vec<(&str, ForeignDeed)>],
        share: usize,
    ) -> Result<Explored, Violation> {
        let clean = CleanRun::of(script)?;
        let points = Self::points(script, &clean, &[])?;
        let all = points.iter().flat_map(|point| deeds.iter().map(move |deeds| (point, deeds)));
        let mut found = Explored::default();
        for (point, deeds) in all.skip(self.skipped(share)).step_by(share) {
            let machine = point.machine.fork();
            let foreign: Vec<Foreign> =
                deeds.iter().map(|(path, deed)| Foreign { call: 0, path: path.into(), deed: deed.clone() }).collect();
            let mut promise = point.promise.clone();
            promise.held = Arc::new(foreign.iter().flat_map(Foreign::held).collect());
            promise.moved = Arc::new(foreign.iter().flat_map(Foreign::moved).collect());
            promise.changed_metadata = Arc::new(foreign.iter().filter_map(Foreign::changed_metadata).collect());
            for foreign in &foreign {
                let program = ForeignProgram::start(&machine, foreign, &clean.known);
                program.step(&machine, 0);
                promise.add(program.left().into_iter(), program.given().into_iter());
            }
            let killed = std::iter::once(format!("killed before {}; then", point.call));
            let trace = Trace::of(killed.chain(foreign.iter().map(ToString::to_string)));
            let mut walk = CrashWalk::new(self, script);
            walk.crash(&CrashPoint { machine, call: "the recovery".to_owned(), promise }, trace.as_ref(), 0);
            found += walk.finish()?;
        }
        Ok(found)
    }

    /// Fails one call that changes something, then crashes; and the same with each of these deeds at each call; one in
    /// `share` of these runs.
    pub fn explore_failures(
        &self,
        script: &Script,
        deeds: &[(&str, ForeignDeed)],
        share: usize,
    ) -> Result<Explored, Violation> {
        let clean = CleanRun::of(script)?;
        let verbs = verbs(script, &clean);
        let changing = verbs.iter().filter(|(_, _, changes)| *changes);
        let faults =
            changing.flat_map(|(call, verb, _)| failures(verb).iter().map(move |action| (*call, verb, *action)));
        let acts = (0..=clean.calls).flat_map(|call| deeds.iter().map(move |(path, deed)| (call, path, deed)));
        let acts: Vec<Option<Foreign>> = acts
            .map(|(call, path, deed)| Some(Foreign { call, path: path.into(), deed: deed.clone() }))
            .chain([None])
            .collect();
        let all = faults.flat_map(|fault| acts.iter().map(move |act| (fault, act)));
        let mut found = Explored::default();
        for ((call, verb, action), act) in all.skip(self.skipped(share)).step_by(share) {
            let foreign: &[Foreign] = act.as_slice();
            let told = format!("call {call}, {verb}: {action:?}");
            let points = Self::points_with(script, &clean, foreign, Some((call, action)));
            let points = points.map_err(|mut violation| {
                violation.trace.insert(0, told.clone());
                violation
            })?;
            let trace = Trace::of(foreign.iter().map(ToString::to_string).chain([told]));
            let mut walk = CrashWalk::new(self, script);
            for point in points {
                walk.crash(&point, trace.as_ref(), 0);
            }
            found += walk.finish()?;
        }
        Ok(found)
    }

    pub(super) fn skipped(&self, share: usize) -> usize {
        usize::try_from(self.seed).unwrap_or(0) % share
    }
}

/// All calls of a script: number, verb, and whether it changes something.
fn verbs(script: &Script, clean: &CleanRun) -> Vec<(u64, String, bool)> {
    let machine = clean.start.fork();
    let found = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&found);
    machine.set_hook(move |call| {
        lock(&kept).push((call.number, call.verb.to_owned(), call.mutates));
        Action::Continue
    });
    if let Ok(engine) = script.process(&machine, 2, Role::Act) {
        for act in &script.acts {
            drop(act(&engine));
        }
    }
    machine.clear_hook();
    std::mem::take(&mut *lock(&found))
}
