//! A section of the state folder that is missing is made again, and what is moved into it is not lost with its name.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation};
use txedit::fs::sim::{Action, Policy, SimFs};
use txedit::{Change, Engine, FileRequest, IfExists, RecoverOptions, Request, Run, Settings};

use crate::support::workspace::Workspace;

fn engine(sim: &SimFs, process: u32) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::from_secs(5)).program("sections");
    Engine::with_fs(Arc::new(sim.process(process)), Path::new("/w"), settings).unwrap()
}

fn write(engine: &Engine, content: &str) {
    try_to_write(engine, content).unwrap();
}

fn try_to_write(engine: &Engine, content: &str) -> txedit::Result<()> {
    let change = Change::Write { content: content.into(), if_exists: IfExists::Replace };
    let file = FileRequest::new("a", change);
    let request = Request::of_files(vec![file]);
    engine.apply(&request, Run::default()).map(drop)
}

#[test]
fn a_first_use_that_was_killed_is_made_good_by_the_next() {
    for at in 0.. {
        let sim = SimFs::new();
        sim.make_folders("/w").unwrap();
        let changes = AtomicUsize::new(0);
        sim.set_hook(move |call| {
            let is_now = call.mutates && changes.fetch_add(1, Ordering::Relaxed) == at;
            if is_now { Action::Kill } else { Action::Continue }
        });
        let first = try_to_write(&engine(&sim, 1), "one\n");
        sim.clear_hook();
        write(&engine(&sim, 2), "two\n");
        let ignored = sim.read("/w/.txedit/.gitignore").unwrap();
        assert_eq!(ignored, b"*\n", "killed before change {at}");
        if first.is_ok() {
            return;
        }
    }
}

#[test]
fn a_power_cut_does_not_take_what_was_moved_into_a_section_made_again() {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "old").unwrap();
    let first = engine(&sim, 1);
    write(&first, "between");
    drop(first);
    sim.delete_folder("/w/.txedit/trash").unwrap();
    sim.rename("/w/.txedit/history", "/w/gone").unwrap();
    sim.sync_everything();
    let second = engine(&sim, 2);
    write(&second, "new");
    let mut images = 0;
    for image in sim.images(Policy::Unordered, 1_000, 0) {
        let machine = SimFs::from_image(&image);
        let engine = engine(&machine, 3);
        engine.recover(None, RecoverOptions::default()).unwrap();
        assert_eq!(machine.read("/w/a").unwrap(), b"new", "{image}");
        assert_eq!(engine.log(10, None).unwrap().len(), 1, "its undo record is out of reach: {image}");
        images += 1;
    }
    assert!(images > 1, "nothing was left to be lost");
}

#[test]
fn what_lies_above_the_root_is_told_by_its_distance() {
    let sim = SimFs::new();
    sim.make_folders("/home/secret/w").unwrap();
    sim.create("/home/secret/w/a", "old").unwrap();
    for folder in ["/home/secret/.txedit", "/home/.txedit"] {
        sim.make_folders(folder).unwrap();
        sim.set_mode(folder, 0o777).unwrap();
    }
    let settings = crate::support::workspace::settings().program("sections");
    let engine = Engine::with_fs(Arc::new(sim.process(1)), Path::new("/home/secret/w"), settings).unwrap();
    let apply = |content: &str| {
        let change = Change::Write { content: content.into(), if_exists: IfExists::Replace };
        let file = FileRequest::new("a", change);
        engine.apply(&Request::of_files(vec![file]), crate::support::workspace::running())
    };
    let report = apply("new").unwrap();
    let expected = [
        "the .txedit in the folder above the root can be written by others (mode 777): interrupted transactions in it are \
         not looked at",
        "the .txedit 2 folders above the root can be written by others (mode 777): interrupted transactions in it are not \
         looked at",
    ];
    assert_eq!(report.warnings[..2], expected);
    sim.set_mode("/home/secret/w/.txedit", 0o777).unwrap();
    let error = apply("newer").unwrap_err();
    assert!(error.to_string().starts_with("/home/secret/w/.txedit can be written by others"), "{error}");
}

/// However many entries there are, history is opened as often as for one.
#[test]
fn a_list_opens_history_once() {
    let opened = |commits: usize| {
        let workspace = Workspace::new();
        for n in 0..commits {
            workspace.apply(&json!({ "files": [{ "file_path": format!("f{n}"), "content": "x" }] })).unwrap();
        }
        let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        let engine = Workspace::on(faults.clone(), workspace.root()).engine;
        assert_eq!(engine.log(usize::MAX, None).unwrap().len(), commits);
        engine.status().unwrap();
        let is_history =
            |call: &&FaultCall| call.operation == FaultOperation::OpenBeneath && call.path.ends_with("history");
        faults.calls().iter().filter(is_history).count()
    };
    assert_eq!(opened(1), opened(5));
    assert!(opened(1) > 0);
}
