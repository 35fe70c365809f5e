//! What processes that were killed have left on other file systems than that of their journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimCall, SimFs};
use txedit::{Edit, Engine, Request, Run, Settings};

fn machine() -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.mount("/w/m").unwrap();
    for path in ["/w/a", "/w/m/e"] {
        sim.create(path, "old\n").unwrap();
    }
    sim.advance(Duration::from_secs(60));
    sim
}

fn engine_at(sim: &SimFs, process: u32, root: &str) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO);
    Engine::with_fs(Arc::new(sim.process(process)), Path::new(root), settings).unwrap()
}

fn engine(sim: &SimFs, process: u32) -> Engine {
    engine_at(sim, process, "/w")
}

fn edits(new: &str) -> Request {
    let edit = || Edit::replace_all("old", new);
    Request::new().edit("a", edit()).edit("m/e", edit())
}

/// A commit that is killed before a call.
fn killed(sim: &SimFs, before: impl Fn(&SimCall<'_>) -> bool + Send + Sync + 'static) {
    sim.set_hook(move |call| if before(call) { Action::Kill } else { Action::Continue });
    engine(sim, 1).apply(&edits("new"), Run::default()).unwrap_err();
    sim.clear_hook();
}

/// The folders in a section of a state folder.
fn in_section(sim: &SimFs, section: &str) -> Vec<PathBuf> {
    let all = sim.entries("/w").unwrap().into_iter().map(|(path, _)| path);
    all.filter(|path| path.parent().is_some_and(|parent| parent.ends_with(section))).collect()
}

#[test]
fn what_was_staged_and_never_named_goes_with_the_next_commit_there() {
    let sim = machine();
    killed(&sim, |call| call.path.ends_with(".journal"));
    let [left] = &in_section(&sim, ".txedit/parts")[..] else { panic!("one part is left") };
    // The first one moves what is left of it in `txn/` to the trash, from which the next deletes it.
    for (process, new) in [(2, "older"), (3, "oldest"), (4, "eldest old")] {
        engine(&sim, process).apply(&edits(new), Run::default()).unwrap();
    }
    assert!(!in_section(&sim, ".txedit/parts").contains(left), "it is swept");
    assert_eq!(in_section(&sim, ".txedit/parts").len(), 3, "one for each transaction in history");
}

#[test]
fn what_may_hold_an_original_stays() {
    let sim = machine();
    killed(&sim, |call| call.verb == "rename" && call.path.ends_with("journal"));
    let [left] = &in_section(&sim, ".txedit/parts")[..] else { panic!("one part is left") };
    assert_eq!(sim.read("/w/m/e").unwrap(), b"new\n", "it was swapped");
    // A person moves its folder away, so that nothing leads to the part.
    let [folder] = &in_section(&sim, ".txedit/txn")[..] else { panic!("it is interrupted") };
    sim.rename(Path::new("/w").join(folder), "/away").unwrap();
    sim.create("/w/m/f", "old\n").unwrap();
    for (process, new) in [(2, "older"), (3, "oldest")] {
        engine(&sim, process).apply(&Request::new().edit("m/f", Edit::replace("old", new)), Run::default()).unwrap();
    }
    let slot = sim.read(Path::new("/w").join(left).join("000001")).unwrap();
    assert_eq!(slot, b"old\n");
}

/// As long as it is not swapped nothing is older there than the part.
#[test]
fn what_another_workspace_has_staged_there_stays() {
    let sim = machine();
    sim.make_folders("/w/inner").unwrap();
    sim.mount("/w/inner/n").unwrap();
    sim.set_hook(|call| if call.path.ends_with(".journal") { Action::Kill } else { Action::Continue });
    let request = Request::new().create("n/new", "new\n").create("b", "new\n");
    engine_at(&sim, 1, "/w/inner").apply(&request, Run::default()).unwrap_err();
    sim.clear_hook();
    let [staged] = &in_section(&sim, "n/.txedit/parts")[..] else { panic!("one part is there") };
    for (process, name) in [(2, "one"), (3, "two")] {
        engine(&sim, process).apply(&Request::new().create(format!("inner/n/{name}"), ""), Run::default()).unwrap();
    }
    assert!(in_section(&sim, "n/.txedit/parts").contains(staged));
}
