//! What a commit works in is moved, replaced or hidden in the middle of it, before each of its calls in turn: what is reported
//! as committed is at its path, and can be undone by whoever looks for it there, or the answer says that it is not so.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::{Edit, Engine, Error, Outcome, Report, Request, Run, Settings};

/// The calls by which a commit looks, last of all, whether what it has recorded will be found.
const LAST_LOOKS: u64 = 6;

/// Something that another program does to the way to the files.
type Deed = fn(&SimFs);

fn engine_of(sim: &SimFs, process: u32) -> Engine {
    Engine::with_fs(
        Arc::new(sim.process(process)),
        Path::new("/top/w"),
        Settings::default().lock_timeout(Duration::ZERO),
    )
    .unwrap()
}

fn edit(engine: &Engine, old: &str, new: &str) -> Result<Report, Error> {
    engine.apply(&Request::new().edit("d/a", Edit::replace(old, new)), Run::default())
}

fn machine(with_git: bool) -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/top/w/d").unwrap();
    sim.create("/top/w/d/a", "0").unwrap();
    if with_git {
        sim.make_folders("/top/w/.git/objects").unwrap();
        sim.make_folders("/top/w/.git/refs").unwrap();
        sim.create("/top/w/.git/HEAD", "ref: refs/heads/main\n").unwrap();
    }
    sim
}

/// Commits, by an engine that has or has not committed before, while the deed is done before the call with this number;
/// `None` if there are fewer calls.
fn commit_beside(with_git: bool, is_warm: bool, at: u64, deed: Deed) -> Option<(SimFs, Result<Report, Error>)> {
    let sim = machine(with_git);
    let engine = engine_of(&sim, 1);
    edit(&engine, "0", "1").unwrap();
    let engine = if is_warm { engine } else { engine_of(&sim, 2) };
    let first = sim.calls();
    let acting = sim.clone();
    sim.set_hook(move |call| {
        if call.number == first + at {
            deed(&acting);
        }
        Action::Continue
    });
    let result = edit(&engine, "1", "2");
    let ended = sim.calls() <= first + at;
    sim.clear_hook();
    (!ended).then_some((sim, result))
}

/// Verifies an answer: what it says is so at the path that it names, and for the next process.
fn judge(sim: &SimFs, result: &Result<Report, Error>, moved_to: &str) -> Result<(), String> {
    let at_path = sim.read("/top/w/d/a").ok();
    match result {
        Ok(report) => {
            let is_warned = report.warnings.iter().any(|warning| warning.contains("is no longer"));
            let engine = Engine::with_fs(Arc::new(sim.process(9)), Path::new("/top/w"), Settings::default());
            let is_logged = engine
                .and_then(|engine| engine.log(9, None))
                .is_ok_and(|log| log.iter().any(|one| Some(&one.id) == report.transaction.as_ref()));
            let is_true = at_path.as_deref() == Some(b"2") && is_logged;
            if is_true == is_warned {
                return Err(format!("committed: {at_path:?}, in the log: {is_logged}, warned: {:?}", report.warnings));
            }
        }
        Err(error) if error.outcome() != Outcome::RecoveryRequired => {
            let now =
                at_path.filter(|content| !content.is_empty()).or_else(|| sim.read(format!("{moved_to}/d/a")).ok());
            if now.as_deref() != Some(b"1") {
                return Err(format!("{error}: {now:?}"));
            }
        }
        Err(_) => {}
    }
    Ok(())
}

fn before_each_call(with_git: bool, moved_to: &str, deed: Deed) {
    for is_warm in [false, true] {
        let mut broken = Vec::new();
        let mut calls = 0_u64;
        for at in 0.. {
            let Some((sim, result)) = commit_beside(with_git, is_warm, at, deed) else { break };
            broken.extend(judge(&sim, &result, moved_to).err().map(|why| (at, why)));
            calls = at;
        }
        assert!(calls > 40, "only {calls} calls");
        // What is done after the last look at it is as if it were done after the answer.
        broken.retain(|(at, _)| at + LAST_LOOKS <= calls);
        assert!(broken.is_empty(), "warm: {is_warm}, {} of {calls}: {broken:#?}", broken.len());
    }
}

#[test]
fn a_root_that_is_moved_away() {
    before_each_call(false, "/top/moved", |sim| sim.rename("/top/w", "/top/moved").unwrap());
}

#[test]
fn a_root_in_whose_place_another_folder_comes() {
    before_each_call(false, "/top/moved", |sim| {
        sim.rename("/top/w", "/top/moved").unwrap();
        sim.make_folders("/top/w/d").unwrap();
        sim.create("/top/w/d/a", "").unwrap();
    });
}

#[test]
fn a_folder_above_the_root_that_is_moved() {
    before_each_call(true, "/elsewhere/w", |sim| sim.rename("/top", "/elsewhere").unwrap());
}

#[test]
fn a_state_folder_that_is_moved() {
    before_each_call(false, "/top/w", |sim| drop(sim.rename("/top/w/.txedit", "/top/w/elsewhere")));
}

#[test]
fn a_git_folder_that_is_moved() {
    before_each_call(true, "/top/w", |sim| sim.rename("/top/w/.git", "/top/w/elsewhere").unwrap());
}

#[test]
fn a_git_folder_in_whose_place_another_comes() {
    before_each_call(true, "/top/w", |sim| {
        sim.rename("/top/w/.git", "/top/w/elsewhere").unwrap();
        sim.make_folders("/top/w/.git/objects").unwrap();
        sim.make_folders("/top/w/.git/refs").unwrap();
        sim.create("/top/w/.git/HEAD", "ref: refs/heads/main\n").unwrap();
    });
}

#[test]
fn a_state_folder_in_the_root_that_comes_before_that_in_the_git_folder() {
    before_each_call(true, "/top/w", |sim| sim.make_folders("/top/w/.txedit").unwrap());
}
