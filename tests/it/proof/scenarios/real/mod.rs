//! The same scripts on real file systems: real programs act between the engine's calls, run as checks, and the engine is
//! a child process where it is killed.
//!
//! `TXEDIT_SCENARIOS_REAL` sets how many are run, over all file systems together; `TXEDIT_SCENARIOS_REAL_AFTER` how many
//! of each are left out before.

mod act;
#[cfg(feature = "cli")]
mod line;
mod programs;
mod tree;

use std::path::Path;

use txedit::testing::scenario::{Scenario, ScenarioFault, ScenarioStep, generate, pin};

use super::number;
use crate::support::mounts::{self, Kind};

/// A scenario that a real machine can run: power cuts are kills, and nobody sets its clock.
fn for_real(scenario: &Scenario) -> Scenario {
    let mut real = pin(scenario);
    real.steps.retain(|step| !matches!(step, ScenarioStep::Clock(_) | ScenarioStep::Cut(..)));
    for step in &mut real.steps {
        let ScenarioStep::Act(_, disturbances) = step else { continue };
        // What calls of the program do not know: there is a test with signals for it.
        disturbances.retain(|disturbance| disturbance.what != ScenarioFault::Cancel);
        for disturbance in disturbances {
            if matches!(disturbance.what, ScenarioFault::Cut(..)) {
                disturbance.what = ScenarioFault::Kill;
            }
        }
    }
    real
}

fn explore(kind: Kind, first: u64) {
    let count = number("TXEDIT_SCENARIOS_REAL", 60) / 6;
    let first = first + number("TXEDIT_SCENARIOS_REAL_AFTER", 0);
    mounts::with(kind, |mount| {
        let started = std::time::Instant::now();
        let scenarios: Vec<_> = (first + 1..=first + count).map(|seed| (seed, for_real(&generate(seed)))).collect();
        for (seed, scenario) in &scenarios {
            act::lay_out(&mount.join(seed.to_string()), scenario);
        }
        if kind == Kind::Overlay {
            mounts::lower(mount).unwrap();
        }
        for (seed, scenario) in &scenarios {
            run_one(mount, *seed, scenario);
        }
        eprintln!("{count} scenarios on {kind:?} in {:.1} s", started.elapsed().as_secs_f32());
    });
}

fn run_one(mount: &Path, seed: u64, scenario: &Scenario) {
    let root = mount.join(seed.to_string());
    let judged = act::run(&root, scenario);
    if let Err(what) = judged {
        panic!("seed {seed} in {}:\n{scenario}\n{what}", root.display());
    }
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn no_scenario_breaks_the_promise_on_ext4() {
    explore(Kind::Ext4, 1_000_000);
}

#[test]
fn no_scenario_breaks_the_promise_on_xfs() {
    explore(Kind::Xfs, 2_000_000);
}

#[test]
fn no_scenario_breaks_the_promise_on_btrfs() {
    explore(Kind::Btrfs, 3_000_000);
}

#[test]
fn no_scenario_breaks_the_promise_on_tmpfs() {
    explore(Kind::Tmpfs, 4_000_000);
}

#[test]
fn no_scenario_breaks_the_promise_on_overlay() {
    explore(Kind::Overlay, 5_000_000);
}

#[test]
fn no_scenario_breaks_the_promise_on_fuse_overlayfs() {
    explore(Kind::FuseOverlay, 6_000_000);
}
