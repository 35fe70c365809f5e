//! Whoever sees files half-done may put them back, as `git checkout` does, or move the state folder to where they are whole:
//! the recovery makes no mixture of that.

use txedit::fs::sim::SimFs;
use txedit::report::RecoveryAction;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::{Decision, Edit, RecoverOptions, Request, Run};

use super::lost::{edits, engine, killed_before, recover};

fn texts(sim: &SimFs) -> [Vec<u8>; 2] {
    ["/w/a", "/w/b"].map(|path| sim.read(path).unwrap())
}

fn old() -> [Vec<u8>; 2] {
    [b"old a".to_vec(), b"old b".to_vec()]
}

#[test]
fn a_file_that_was_put_back_takes_the_others_with_it() {
    // Before the second swap, and after it.
    for at in ["w/b", "journal.done"] {
        let (sim, _) = killed_before(at, &edits());
        sim.replace("/w/a", "old a").unwrap();
        let done = recover(&sim, Decision::Table);
        assert_eq!((texts(&sim), done.action), (old(), RecoveryAction::RolledBack), "{at}: {done:?}");
        assert!(!done.required, "{done:?}");
        let engine = engine(&sim, 4);
        assert!(engine.status().unwrap().interrupted.is_empty());
        // The original itself is nobody's copy.
        assert_eq!(done.kept.len(), 1, "{done:?}");
        assert_eq!(sim.read(&done.kept[0].kept_path).unwrap(), b"old a");
        engine.apply(&edits(), Run::default()).unwrap();
    }
}

#[test]
fn a_deleted_file_that_was_put_back_takes_the_others_with_it() {
    let request = Request::new().delete("a").edit("b", Edit::replace("old", "new"));
    let (sim, _) = killed_before("w/b", &request);
    sim.create("/w/a", "old a").unwrap();
    let done = recover(&sim, Decision::Table);
    assert_eq!((texts(&sim), done.action), (old(), RecoveryAction::RolledBack), "{done:?}");
}

/// Another file has something else on top: no way leads to all old or all new.
#[test]
fn beside_a_file_that_somebody_edited_it_waits() {
    let (sim, _) = killed_before("journal.done", &edits());
    sim.replace("/w/a", "old a").unwrap();
    sim.replace("/w/b", "theirs").unwrap();
    let done = recover(&sim, Decision::Table);
    assert_eq!((done.action, done.required), (RecoveryAction::Left, true), "{done:?}");
    assert_eq!(texts(&sim), [b"old a".to_vec(), b"theirs".to_vec()]);
}

/// What was interrupted in another tree is not carried out in this one.
#[test]
fn a_state_folder_that_was_moved_to_another_workspace_changes_nothing_there() {
    moved_to_another_workspace(&PROTOCOL);
}

pub(crate) fn moved_to_another_workspace(protocol: &'static Protocol) {
    let (sim, _) = killed_before("w/b", &edits());
    sim.make_folders("/v").unwrap();
    for name in ["a", "b", "c"] {
        sim.create(format!("/v/{name}"), format!("old {name}")).unwrap();
    }
    sim.rename("/w/.txedit", "/v/.txedit").unwrap();
    let engine = |process| super::lost::engine_at(&sim, process, "/v").with_protocol(protocol);
    let ours = || ["/v/a", "/v/b"].map(|path| sim.read(path).unwrap());
    let status = engine(4).status().unwrap();
    assert!(status.interrupted[0].reason().contains("was moved here"), "{status:?}");
    let left = engine(5).recover(None, RecoverOptions::new()).unwrap().remove(0);
    assert_eq!((left.action, ours()), (RecoveryAction::Left, old()), "{left:?}");
    // Once this workspace has its own id there, too.
    for text in ["one", "two"] {
        engine(6).apply(&Request::new().create(text, text), Run::default()).unwrap();
        assert_eq!(ours(), old());
    }
    // A person may know better: by the table these files were put back.
    let id = left.id.clone();
    engine(7).recover(Some(&id), RecoverOptions::new().trust_journal(true)).unwrap();
    assert!(engine(8).status().unwrap().interrupted.is_empty());
    assert_eq!(ours(), old());
}
