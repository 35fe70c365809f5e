//! A file of an interrupted transaction that cannot be read: nothing is decided about it, and nothing else waits.

use txedit::fs::sim::{Action, SimFs};
use txedit::testing::Errno;
use txedit::{Decision, ErrorKind, RecoverOptions, Request, Run};

use super::lost::{edits, engine, killed_before, recover};

/// `a` can be read by nobody from now on.
fn forbid(sim: &SimFs) {
    sim.set_hook(|call| match call.verb {
        "open_file" if call.path.ends_with("w/a") => Action::Fail(Errno::ACCESS),
        _ => Action::Continue,
    });
}

#[test]
fn a_file_that_cannot_be_read_is_told_by_status_and_by_the_plan() {
    let (sim, folder) = killed_before("w/b", &edits());
    forbid(&sim);
    let waits = engine(&sim, 3).status().unwrap().interrupted.remove(0);
    assert_eq!(waits.action.as_str(), "wait", "{waits:?}");
    assert!(waits.reason().contains("/w/a") && waits.files.len() == 2, "{waits:?}");
    let options = RecoverOptions::new().plan_only(true);
    let plan = engine(&sim, 3).recover(None, options).unwrap().remove(0);
    assert_eq!((plan.action.as_str(), plan.required), ("left", true), "{plan:?}");
    let error = engine(&sim, 3).recover(None, RecoverOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    // A file that is not among those of the transaction can be changed nevertheless.
    engine(&sim, 3).apply(&Request::new().create("c", "c"), Run::default()).unwrap();
    assert!(sim.exists(folder));
}

#[test]
fn a_transaction_whose_files_cannot_be_read_can_be_discarded() {
    let (sim, folder) = killed_before("w/b", &edits());
    forbid(&sim);
    let done = recover(&sim, Decision::Discard);
    assert_eq!((done.action.as_str(), done.files.len()), ("discarded", 2), "{done:?}");
    let place = folder.replace("/txn/", "/kept/");
    assert!(done.reason().contains(&place), "{done:?}");
    assert_eq!(sim.read(format!("{place}/000000")).unwrap(), b"old a");
    sim.clear_hook();
    assert_eq!(sim.read("/w/a").unwrap(), b"new a");
}

#[test]
fn a_kept_folder_whose_journal_was_deleted_is_named() {
    let (sim, folder) = killed_before("w/b", &edits());
    sim.delete(format!("{folder}/journal")).unwrap();
    let done = recover(&sim, Decision::Discard);
    let place = folder.replace("/txn/", "/kept/");
    assert!(done.reason().contains(&place) && !done.reason().contains("/txn/"), "{done:?}");
    let kept = engine(&sim, 4).kept().unwrap().remove(0);
    assert_eq!((kept.folder.to_str(), kept.contents.len()), (Some(&*place), 0));
}

#[test]
fn a_place_that_is_taken_among_the_kept_is_found_before_a_file_goes_back() {
    let (sim, folder) = killed_before("journal.done", &edits());
    sim.write_in_place("/w/a", "theirs").unwrap();
    sim.make_folders(folder.replace("/txn/", "/kept/")).unwrap();
    let done = recover(&sim, Decision::Back);
    assert_eq!((done.action.as_str(), done.required), ("left", true), "{done:?}");
    assert!(done.reason().contains("is there already"), "{done:?}");
    assert_eq!(sim.read("/w/b").unwrap(), b"new b");
}
