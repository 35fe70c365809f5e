//! What is said to be deleted is deleted, and what was private stays private: whoever prunes may want to be rid of a secret.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::testing::Errno;
use txedit::{Decision, Edit, Engine, RecoverOptions, Request, Retention, Run, Settings};

fn engine(sim: &SimFs, process: u32) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::from_secs(5)).program("pruned");
    Engine::with_fs(Arc::new(sim.process(process)), Path::new("/w"), settings).unwrap()
}

/// A machine on which one edit is committed.
fn committed() -> (SimFs, String) {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "secret").unwrap();
    sim.advance(Duration::from_secs(60));
    let done = engine(&sim, 1).apply(&Request::new().edit("a", Edit::replace("secret", "x")), Run::default());
    (sim, done.unwrap().transaction.unwrap())
}

fn refuse_to_unlink(sim: &SimFs) {
    sim.set_hook(|call| match call.verb {
        "unlink" if call.path.to_string_lossy().contains("/000000") => Action::Fail(Errno::IO),
        _ => Action::Continue,
    });
}

#[test]
fn what_could_not_be_deleted_is_not_said_to_be_pruned() {
    let (sim, id) = committed();
    refuse_to_unlink(&sim);
    for process in [2, 3] {
        let pruned = engine(&sim, process).prune(&Retention::default().count(0)).unwrap();
        assert_eq!((pruned.ids.len(), pruned.bytes, &pruned.in_trash[..]), (0, 0, &[id.clone()][..]));
        assert_eq!(sim.read(format!("/w/.txedit/trash/{id}/000000")).unwrap(), b"secret");
    }
    sim.clear_hook();
    let pruned = engine(&sim, 4).prune(&Retention::default().count(0)).unwrap();
    assert!(pruned.in_trash.is_empty() && !sim.exists(format!("/w/.txedit/trash/{id}")), "{pruned:?}");
}

#[test]
fn what_is_kept_and_could_not_be_deleted_is_not_said_to_be_dropped() {
    let (sim, _) = committed();
    sim.set_hook(|call| match call.to {
        Some(to) if call.verb == "rename" && to.ends_with("w/a") => Action::Kill,
        _ => Action::Continue,
    });
    engine(&sim, 2).apply(&Request::new().edit("a", Edit::replace("x", "y")), Run::default()).unwrap_err();
    sim.clear_hook();
    let id = engine(&sim, 3).status().unwrap().interrupted[0].id.clone();
    let discard = RecoverOptions::new().decision(Decision::Discard);
    sim.make_folders(format!("/w/.txedit/kept/{id}")).unwrap();
    for plan_only in [true, false] {
        let error = engine(&sim, 3).recover(Some(&id), discard.plan_only(plan_only)).unwrap_err();
        assert!(error.to_string().contains("is there already"), "{error}");
    }
    sim.delete_folder(format!("/w/.txedit/kept/{id}")).unwrap();
    engine(&sim, 3).recover(Some(&id), discard).unwrap();
    refuse_to_unlink(&sim);
    let error = engine(&sim, 4).kept_drop(&id).unwrap_err();
    assert!(error.to_string().contains("not all of it could be deleted"), "{error}");
    assert!(sim.exists(format!("/w/.txedit/trash/{id}/000000")));
}
