//! The crash explorer.

use std::fmt;

use super::check::Violation;
use super::foreign::{Foreign, ForeignDeed};
use super::run::CleanRun;
use super::script::Script;
use super::walk::{CrashWalk, Trace};
use crate::fs::sim::Policy;

/// The extent of an exploration.
#[derive(Debug, Clone)]
pub struct Explorer {
    /// The promises of file systems about names.
    pub policies: Vec<Policy>,
    /// The most images at each point of the script, before they are sampled.
    pub images: usize,
    /// The same at each point of a recovery.
    pub images_in_recovery: usize,
    /// The number of recoveries in a row that are stopped.
    pub depth: usize,
    /// The most worlds that are explored.
    pub worlds: usize,
    /// The seed of the samples.
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

/// The result of an exploration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Explored {
    /// The number of different worlds that were recovered and checked: images of power losses, and machines after a
    /// kill.
    pub worlds: usize,
    /// The number of images that were the same as an earlier one.
    pub merged: usize,
    /// The number of points at which a crash was tried.
    pub points: usize,
    /// The number of points at which every surviving subset was tried, not a sample.
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

impl Explorer {
    /// Explores every crash of `script`. Stops at the first violation.
    pub fn explore(&self, script: &Script) -> Result<Explored, Violation> {
        self.explore_with(script, &[])
    }

    /// The same in the presence of these foreign programs.
    pub fn explore_with(&self, script: &Script, foreign: &[Foreign]) -> Result<Explored, Violation> {
        self.explore_from(script, &CleanRun::of(script)?, foreign)
    }

    pub(super) fn explore_from(
        &self,
        script: &Script,
        clean: &CleanRun,
        foreign: &[Foreign],
    ) -> Result<Explored, Violation> {
        let points = Self::points(script, clean, foreign)?;
        let mut walk = CrashWalk::new(self, script);
        for point in points {
            let trace = Trace::of(foreign.iter().map(ToString::to_string));
            walk.crash(&point, trace.as_ref(), 0);
        }
        walk.finish()
    }

    /// Explores `script` with each of these deeds before each of its calls, one at a time; one in `share` of these
    /// runs.
    pub fn explore_deeds(
        &self,
        script: &Script,
        deeds: &[(&str, ForeignDeed)],
        share: usize,
    ) -> Result<Explored, Violation> {
        let mut found = Explored::default();
        let clean = CleanRun::of(script)?;
        let all = (0..=clean.calls).flat_map(|call| deeds.iter().map(move |deed| (call, deed)));
        for (call, (path, deed)) in all.skip(self.skipped(share)).step_by(share) {
            let foreign = Foreign { call, path: path.into(), deed: deed.clone() };
            found += self.explore_from(script, &clean, &[foreign])?;
        }
        Ok(found)
    }

    /// The number of calls of a script that runs undisturbed.
    pub fn calls(script: &Script) -> Result<u64, Violation> {
        CleanRun::of(script).map(|clean| clean.calls)
    }
}
