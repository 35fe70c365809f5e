//! Names that change places step by step, and a process that is killed while a file has no name.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs, Volume};
use txedit::report::Guarantee;
use txedit::settings::Swap;
use txedit::{Durability, Engine, ErrorKind, NextStep, Outcome, Run, Settings};

use super::lost::edits;
use super::{proofs, restarted};

/// The kinds of file systems on which that is so, and those without birth times.
const KINDS: [fn(&mut Volume); 3] = [
    |volume| volume.exchange = false,
    |volume| (volume.exchange, volume.no_replace) = (false, false),
    |volume| (volume.exchange, volume.no_replace, volume.birth_times) = (false, false, false),
];

fn engine(sim: &SimFs, process: u32) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).user_state(Path::new("/states").to_owned());
    Engine::with_fs(Arc::new(sim.process(process)), Path::new("/w"), settings).unwrap()
}

fn machine(kind: fn(&mut Volume)) -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.volume("/w", kind).unwrap();
    for name in ["a", "b"] {
        sim.create(format!("/w/{name}"), format!("old {name}")).unwrap();
    }
    sim.advance(Duration::from_secs(60));
    sim
}

/// Killed right before the new file gets the name of `b`, which has left it.
fn killed_in_the_gap(sim: &SimFs) {
    sim.set_hook(|call| match call.to {
        Some(to) if ["rename", "link"].contains(&call.verb) && to == Path::new("/w/b") => Action::Kill,
        _ => Action::Continue,
    });
    engine(sim, 1).apply(&edits(), Run::default()).unwrap_err();
    sim.clear_hook();
}

#[test]
fn what_is_told_of_a_file_without_a_name_is_true_and_it_comes_back() {
    for kind in KINDS {
        let sim = machine(kind);
        killed_in_the_gap(&sim);
        assert!(!sim.exists("/w/b"));
        let status = engine(&sim, 2).status().unwrap();
        let reason = status.interrupted[0].reason();
        assert!(reason.contains("1 of 2 swapped, 1 not, 0 changed by another program"), "{reason}");
        // The next commit recovers it.
        let report = engine(&sim, 3).apply(&edits(), Run::default()).unwrap();
        assert_eq!(report.guarantee, Some(Guarantee::Aside));
        assert_eq!(["a", "b"].map(|name| sim.read(Path::new("/w").join(name)).unwrap()), [b"new a", b"new b"]);
    }
}

/// After the next boot as well, whatever it has of birth times.
#[test]
fn a_file_without_a_name_comes_back_after_a_restart() {
    for kind in KINDS {
        let sim = machine(kind);
        killed_in_the_gap(&sim);
        let sim = restarted(&sim);
        let recovered = engine(&sim, 1).recover(None, txedit::RecoverOptions::new()).unwrap().remove(0);
        assert!(!recovered.required, "{recovered:?}");
        assert_eq!(["a", "b"].map(|name| sim.read(Path::new("/w").join(name)).unwrap()), [b"old a", b"old b"]);
        // The proof goes with the first commit after it.
        engine(&sim, 2).apply(&edits(), Run::default()).unwrap();
        assert!(proofs(&sim) <= 1);
    }
}

#[test]
fn what_cannot_leave_a_proof_is_refused() {
    let sim = machine(KINDS[2]);
    let settings = Settings::default().lock_timeout(Duration::ZERO).user_state(None);
    let engine = Engine::with_fs(Arc::new(sim.process(1)), Path::new("/w"), settings).unwrap();
    let error = engine.apply(&edits(), Run::default()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnsupportedFileSystem, Outcome::Unchanged), "{error}");
    assert_eq!(error.next_steps(), [NextStep::UserState], "{error}");
    assert_eq!(["a", "b"].map(|name| sim.read(Path::new("/w").join(name)).unwrap()), [b"old a", b"old b"]);
}

#[test]
fn the_way_to_swap_can_be_asked_for() {
    let asking = |sim: &SimFs, swap| {
        let settings = Settings::default().lock_timeout(Duration::ZERO).swap(swap);
        Engine::with_fs(Arc::new(sim.process(1)), Path::new("/w"), settings).unwrap()
    };
    let sim = machine(KINDS[0]);
    let error = asking(&sim, Swap::Exchange).apply(&edits(), Run::default()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnsupportedFileSystem, Outcome::Unchanged), "{error}");
    let sim = machine(|_| {});
    for (swap, guarantee) in [(Swap::Aside, Guarantee::Aside), (Swap::Auto, Guarantee::Exchange)] {
        let engine = asking(&sim, swap);
        assert_eq!(engine.apply(&edits(), Run::default()).unwrap().guarantee, Some(guarantee));
        assert_eq!(
            engine.undo_last(1, &txedit::UndoOptions::default(), Run::default()).unwrap().guarantee,
            Some(guarantee)
        );
    }
}

/// The first commit may have been one in a sandbox, without `renameat2`.
#[test]
fn what_can_be_exchanged_by_now_is_exchanged() {
    let sim = machine(KINDS[0]);
    assert_eq!(engine(&sim, 1).apply(&edits(), Run::default()).unwrap().guarantee, Some(Guarantee::Aside));
    sim.volume("/w", |volume| volume.exchange = true).unwrap();
    let engine = engine(&sim, 2);
    let undone = engine.undo_last(1, &txedit::UndoOptions::default(), Run::default()).unwrap();
    assert_eq!(undone.guarantee, Some(Guarantee::Exchange));
}

#[test]
fn no_promise_against_power_loss_is_made_where_nothing_keeps_it() {
    let sim = machine(|volume| (volume.local, volume.syncs_folders) = (false, false));
    let error = engine(&sim, 1).apply(&edits(), Run::default()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnsupportedFileSystem, Outcome::Unchanged), "{error}");
    assert_eq!(error.next_steps(), [NextStep::ProcessOnly], "{error}");
    let settings = Settings::default().lock_timeout(Duration::ZERO).durability(Durability::Process);
    let asking_less = Engine::with_fs(Arc::new(sim.process(2)), Path::new("/w"), settings).unwrap();
    asking_less.apply(&edits(), Run::default()).unwrap();
}

/// The first commit may have been one outside of a sandbox.
#[test]
fn what_can_be_exchanged_no_more_is_refused_with_what_can_be_done() {
    let sim = machine(|_| {});
    engine(&sim, 1).apply(&edits(), Run::default()).unwrap();
    sim.volume("/w", |volume| volume.exchange = false).unwrap();
    let undo = |engine: Engine| engine.undo_last(1, &txedit::UndoOptions::default(), Run::default());
    let error = undo(engine(&sim, 2)).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnsupportedFileSystem, Outcome::RolledBack), "{error}");
    assert_eq!(error.next_steps(), [NextStep::SwapAside], "{error}");
    let settings = Settings::default().lock_timeout(Duration::ZERO).swap(Swap::Aside);
    let aside = Engine::with_fs(Arc::new(sim.process(3)), Path::new("/w"), settings).unwrap();
    assert_eq!(undo(aside).unwrap().guarantee, Some(Guarantee::Aside));
    assert_eq!(["a", "b"].map(|name| sim.read(Path::new("/w").join(name)).unwrap()), [b"old a", b"old b"]);
}

#[test]
fn where_numbers_go_by_name_the_way_out_is_told_and_nothing_is_left() {
    let sim = machine(|volume| (volume.exchange, volume.numbers_by_name) = (false, true));
    let error = engine(&sim, 1).apply(&edits(), Run::default()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UnsupportedFileSystem, Outcome::Unchanged), "{error}");
    assert!(error.message().contains("use_ino"), "{error}");
    assert!(!sim.exists("/w/.txedit"));
}
