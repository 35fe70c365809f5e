//! The order of transactions, and what is kept, where the clock jumps.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use txedit::fs::Fs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, Policy, SimFs};
use txedit::wire::request;
use txedit::{Durability, Engine, PathRule, Report};

use crate::support::workspace::{running, settings};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn machine() -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    for path in ["/w/a", "/w/b", "/w/c"] {
        sim.create(path, "0").unwrap();
    }
    sim.advance(DAY);
    sim.sync_everything();
    sim
}

fn engine(fs: Arc<dyn Fs>) -> Engine {
    let settings = settings().durability(Durability::Power);
    Engine::with_fs(fs, Path::new("/w"), settings).unwrap()
}

fn write(engine: &Engine, path: &str, content: &str) -> Report {
    let file = json!({ "file_path": path, "content": content, "if_exists": "replace" });
    let request = request::parse(json!({ "files": [file] }).to_string().as_bytes()).unwrap();
    engine.apply(&request.into_request(PathRule::AbsoluteOrRelative).unwrap(), running()).unwrap()
}

fn ids(engine: &Engine) -> Vec<String> {
    engine.log(usize::MAX, None).unwrap().into_iter().map(|one| one.id).rev().collect()
}

/// Three commits by three processes, with the clock set forward before a call of the first and back before a call of the
/// second: whether their order stays. `fs` is put around each process.
fn keep_their_order(forward: u64, back: u64, fs: &dyn Fn(Arc<dyn Fs>) -> Arc<dyn Fs>) -> bool {
    let sim = machine();
    let mut expected = Vec::new();
    for (pid, path) in [(1, "a"), (2, "b"), (3, "c")] {
        let engine = engine(fs(Arc::new(sim.process(pid))));
        let (machine, start) = (sim.clone(), sim.calls());
        sim.set_hook(move |call| {
            match pid {
                1 if call.number == start + forward => machine.advance(2 * DAY),
                2 if call.number == start + back => machine.rewind(3 * DAY),
                _ => {}
            }
            Action::Continue
        });
        expected.extend(write(&engine, path, "1").transaction);
        sim.clear_hook();
        sim.kill(pid);
    }
    let engine = engine(fs(Arc::new(sim.process(4))));
    ids(&engine) == expected
        && engine.undo(None, false, running()).is_ok()
        && sim.read("/w/c").unwrap() == b"0"
        && sim.read("/w/b").unwrap() == b"1"
}

#[test]
fn a_clock_that_jumps_between_any_two_calls_changes_no_order() {
    for forward in (0..200).step_by(9) {
        for back in (0..200).step_by(9) {
            assert!(keep_their_order(forward, back, &|fs| fs), "forward at {forward}, back at {back}");
        }
    }
}

#[test]
fn a_mark_that_does_not_move_is_noticed() {
    let stuck = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        let moves = |call: &FaultCall| {
            call.operation == FaultOperation::Rename && call.path.to_string_lossy().contains("newest.")
        };
        faults.add(Rule::pretend(1).matching(moves).from_then_on());
        Arc::new(faults)
    };
    // What has one time is in any order.
    assert!((0..20).any(|_| !keep_their_order(0, 0, &stuck)), "it was not noticed");
}

#[test]
fn the_order_outlives_a_power_cut() {
    for seed in 0..20 {
        let mut sim = machine();
        let mut expected = Vec::new();
        for round in 0..6 {
            let engine = engine(Arc::new(sim.process(round + 1)));
            expected.extend(write(&engine, ["a", "b", "c"][round as usize % 3], &round.to_string()).transaction);
            sim.kill(round + 1);
            sim.rewind(DAY / 4);
            if (seed >> round) & 1 == 1 {
                sim = SimFs::from_image(&sim.image(Policy::Unordered, seed));
            }
        }
        let engine = engine(Arc::new(sim.process(9)));
        assert_eq!(ids(&engine), expected, "seed {seed}");
        let marks = sim.tree().into_keys().filter(|path| path.to_string_lossy().contains("newest."));
        assert_eq!(marks.count(), 1, "marks of other boots go");
    }
}

#[test]
fn a_clock_that_is_wrong_for_a_few_commits_takes_no_history_away() {
    let sim = machine();
    let engine = engine(Arc::new(sim.process(1)));
    for round in 0..200 {
        // One commit in about 32 prunes.
        match round {
            100 => sim.advance(1000 * DAY),
            120 => sim.rewind(1000 * DAY),
            _ => {}
        }
        write(&engine, "a", &((round + 1) % 2).to_string());
    }
    assert_eq!(ids(&engine).len(), 200);
}
