//! The crash explorer.

use std::fmt;

use super::check::Violation;
use super::foreign::{Foreign, ForeignDeed};
use super::run::CleanRun;
use super::script::Script;
use super::walk::{CrashWalk, Trace};
use crate::fs::sim::Policy;

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

impl Explorer {
    /// Explores every crash of `script`. Stops at the first violation.
    pub fn explore(&self, script: &Script) -> Result<Explored, Violation> {
        self.explore_with(script, &[])
    }

    /// The same with foreign programs that act on the way.
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

    /// Explores `script` with each of these deeds before each of its calls, one at a time: of all of these runs one in
    /// `share`.
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

    /// How many calls a script makes where nobody interferes.
    pub fn calls(script: &Script) -> Result<u64, Violation> {
        CleanRun::of(script).map(|clean| clean.calls)
    }
}
