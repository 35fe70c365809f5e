//! A key outlives its transaction: a retry that comes after pruning is told what became of the first request.

use std::path::Path;
use std::sync::Arc;

use txedit::fs::sim::SimFs;
use txedit::{Durability, Edit, Engine, ErrorKind, Report, Request, Result, Retention, Run, Settings};

use crate::support::workspace::{Workspace, running};

fn keyed(again: bool) -> Request {
    let mut request = Request::new().edit("a", Edit::replace("one", "one two"));
    (request.idempotency_key, request.again) = (Some("k".into()), again);
    request
}

fn committed(workspace: &Workspace) -> String {
    workspace.engine.apply(&keyed(false), running()).unwrap().transaction.unwrap()
}

/// Removes the oldest but so many from history.
fn prune(workspace: &Workspace, keep: usize) {
    workspace.engine.prune(&Retention::default().count(keep)).unwrap();
}

fn asked(workspace: &Workspace, again: bool) -> Result<Report> {
    workspace.engine.apply(&keyed(again), running())
}

/// Sends the request again, which does nothing, and tells what undid the first one.
#[track_caller]
fn is_told(workspace: &Workspace, id: &str, undone_by: Option<&str>) {
    let before = workspace.read("a");
    let report = asked(workspace, false).unwrap();
    assert!(report.already_applied, "{report:?}");
    assert_eq!((report.transaction.as_deref(), report.undone_by.as_deref()), (Some(id), undone_by));
    assert_eq!(workspace.read("a"), before);
}

fn undo(workspace: &Workspace, id: &str) -> String {
    workspace.engine.undo(Some(id), false, running()).unwrap().transaction.unwrap()
}

#[test]
fn a_key_is_known_after_its_transaction_was_pruned() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let id = committed(&workspace);
    prune(&workspace, 0);
    assert!(workspace.engine.log(10, None).unwrap().is_empty());
    is_told(&workspace, &id, None);
    // Not undone: asking for it again changes nothing.
    assert!(asked(&workspace, true).unwrap().already_applied);
    assert_eq!(workspace.read("a"), "one two\n");
    let mut other = Request::new().create("b", "x");
    other.idempotency_key = Some("k".into());
    let error = workspace.engine.apply(&other, running()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValidationFailed);
    assert!(error.message().contains(&id), "{error}");
}

#[test]
fn what_was_undone_is_done_again_only_if_that_is_asked_for() {
    for keep in [3, 1, 0] {
        let workspace = Workspace::with(&[("a", "one\n")]);
        let id = committed(&workspace);
        let by = undo(&workspace, &id);
        prune(&workspace, keep);
        is_told(&workspace, &id, Some(&by));
        let again = asked(&workspace, true).unwrap();
        assert!(!again.already_applied && again.transaction.as_deref() > Some(&by), "{again:?}");
        assert_eq!(workspace.read("a"), "one two\n");
        // From now on the key stands for that one.
        is_told(&workspace, again.transaction.as_deref().unwrap(), None);
    }
}

/// Undone, redone and undone again, with everything but the newest so many pruned from some step on.
#[test]
fn what_became_of_a_pruned_transaction_is_known_whatever_is_pruned_after_it() {
    for (keep, pruned_from) in (0..4).flat_map(|keep| (0..4).map(move |from| (keep, from))) {
        let workspace = Workspace::with(&[("a", "one\n")]);
        let id = committed(&workspace);
        let mut last = id.clone();
        for (step, content) in ["one\n", "one two\n", "one\n"].into_iter().enumerate() {
            if step >= pruned_from {
                prune(&workspace, keep.max(1));
            }
            last = undo(&workspace, &last);
            assert_eq!(workspace.read("a"), content);
            let report = asked(&workspace, false).unwrap();
            assert!(report.already_applied, "{report:?}");
            assert_eq!((report.transaction.as_ref(), report.undone_by.is_some()), (Some(&id), content == "one\n"));
        }
        prune(&workspace, keep);
        let report = asked(&workspace, false).unwrap();
        assert!(report.already_applied && report.undone_by.is_some(), "{report:?}");
    }
}

fn on_machine(sim: &SimFs, process: u32) -> Engine {
    let settings = Settings::default().durability(Durability::Power);
    Engine::with_fs(Arc::new(sim.process(process)), Path::new("/w"), settings).unwrap()
}

#[test]
fn a_damaged_record_of_a_key_is_another_request() {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "one\n").unwrap();
    on_machine(&sim, 1).apply(&keyed(false), Run::default()).unwrap();
    on_machine(&sim, 2).prune(&Retention::default().count(0)).unwrap();
    let (name, _) = sim.entries("/w/.txedit/keys").unwrap().remove(0);
    sim.write_in_place(Path::new("/w/.txedit/keys").join(name), "x\n").unwrap();
    let error = on_machine(&sim, 3).apply(&keyed(false), Run::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValidationFailed);
}
