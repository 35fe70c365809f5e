//! Somebody deletes an original, or the journal, of an interrupted transaction: what is said of the files is true of
//! them, and nothing more is lost.

use std::path::Path;
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::report::Recovered;
use txedit::{Decision, Edit, Engine, ErrorKind, NextStep, Outcome, RecoverOptions, Request, Run, Settings};

pub(super) fn engine(sim: &SimFs, process: u32) -> Engine {
    engine_at(sim, process, "/w")
}

pub(super) fn engine_at(sim: &SimFs, process: u32, root: &str) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::from_secs(5)).program("lost");
    Engine::with_fs(std::sync::Arc::new(sim.process(process)), Path::new(root), settings).unwrap()
}

/// A machine on which a commit of the request was killed right before the rename to a name of this ending; its folder.
pub(super) fn killed_before(to: &'static str, request: &Request) -> (SimFs, String) {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    for name in ["a", "b"] {
        sim.create(format!("/w/{name}"), format!("old {name}")).unwrap();
    }
    // Files of a workspace are older than what is staged for them.
    sim.advance(Duration::from_secs(60));
    sim.set_hook(move |call| match call.to {
        Some(name) if call.verb == "rename" && name.ends_with(to) => Action::Kill,
        _ => Action::Continue,
    });
    engine(&sim, 1).apply(request, Run::default()).unwrap_err();
    sim.clear_hook();
    let status = engine(&sim, 2).status().unwrap();
    let folder = format!("/w/.txedit/txn/{}", status.interrupted[0].id);
    (sim, folder)
}

pub(super) fn edits() -> Request {
    Request::new().edit("a", Edit::replace("old", "new")).edit("b", Edit::replace("old", "new"))
}

pub(super) fn recover(sim: &SimFs, decision: Decision) -> Recovered {
    let engine = engine(sim, 3);
    let id = engine.status().unwrap().interrupted[0].id.clone();
    engine.recover(Some(&id), RecoverOptions::new().decision(decision)).unwrap().remove(0)
}

fn texts(sim: &SimFs) -> [Option<String>; 2] {
    ["/w/a", "/w/b"].map(|path| sim.read(path).ok().map(|bytes| String::from_utf8(bytes).unwrap()))
}

fn some(texts: [&str; 2]) -> [Option<String>; 2] {
    texts.map(|text| Some(text.to_owned()))
}

/// Each content that is kept is where the answer says, and is listed.
#[track_caller]
fn kept_is_there(sim: &SimFs, done: &Recovered) {
    for kept in &done.kept {
        assert!(sim.exists(&kept.kept_path), "{done:?}");
    }
    for listed in engine(sim, 4).kept().unwrap().into_iter().flat_map(|kept| kept.contents) {
        assert!(done.kept.iter().any(|kept| kept.kept_path == listed.kept_path), "{listed:?}; {done:?}");
    }
}

#[test]
fn a_swapped_file_whose_original_is_gone_proves_the_swap() {
    let (sim, folder) = killed_before("w/b", &edits());
    assert_eq!(texts(&sim), some(["new a", "old b"]));
    sim.delete(format!("{folder}/000000")).unwrap();
    let done = recover(&sim, Decision::Table);
    assert_eq!((done.action.as_str(), texts(&sim)), ("committed", some(["new a", "new b"])), "{done:?}");
    assert!(done.reason().contains("a is new, but its original is gone"), "{done:?}");
}

#[test]
fn a_swapped_file_that_cannot_go_back_is_named_and_no_new_content_is_deleted() {
    let (sim, folder) = killed_before("journal.done", &edits());
    sim.delete(format!("{folder}/000000")).unwrap();
    let done = recover(&sim, Decision::Back);
    assert_eq!((done.action.as_str(), texts(&sim)), ("partly_rolled_back", some(["new a", "old b"])), "{done:?}");
    assert!(done.reason().contains("a is not as it was: its original is gone"), "{done:?}");
    // Where two names were swapped, it is the only copy of what was at the other one.
    assert!(done.kept.iter().any(|kept| sim.read(&kept.kept_path).unwrap() == b"new b"), "{done:?}");
    kept_is_there(&sim, &done);
}

#[test]
fn a_change_of_which_neither_the_old_nor_the_new_is_left_is_never_said_to_be_dropped() {
    for removed in [true, false] {
        let (sim, folder) = killed_before("w/b", &edits());
        sim.delete(format!("{folder}/000000")).unwrap();
        if removed { sim.delete("/w/a") } else { sim.write_in_place("/w/a", "theirs") }.unwrap();
        let done = recover(&sim, Decision::Table);
        let a = (!removed).then(|| "theirs".to_owned());
        assert_eq!((done.action.as_str(), texts(&sim)), ("partly_rolled_back", [a, Some("old b".to_owned())]));
        assert!(done.reason().contains("a is not as it was: its original is gone"), "{done:?}");
        kept_is_there(&sim, &done);
    }
}

#[test]
fn a_renamed_file_whose_original_is_gone_is_kept_under_its_new_name() {
    let edit = || Request::new().edit("a", Edit::replace("old", "new")).delete("b");
    let moved = || Request::new().rename("a", "c");
    for (request, lost) in [(moved(), "a"), (edit(), "b")] {
        let (sim, folder) = killed_before("journal.done", &request);
        let slots = ["000000", "000001"].map(|slot| format!("{folder}/{slot}"));
        let slot = slots.into_iter().find(|slot| sim.read(slot).is_ok_and(|it| it == format!("old {lost}").as_bytes()));
        sim.delete(slot.unwrap()).unwrap();
        let done = recover(&sim, Decision::Back);
        assert_eq!(done.action.as_str(), "partly_rolled_back", "{done:?}");
        assert!(done.reason().contains(&format!("{lost} is not as it was: its original is gone")), "{done:?}");
        let content = if lost == "a" { "old a" } else { "new a" };
        let kept = done.kept.iter().any(|kept| sim.read(&kept.kept_path).unwrap() == content.as_bytes());
        assert!(kept, "the only copy of it may be deleted: {done:?}");
        kept_is_there(&sim, &done);
    }
}

#[test]
fn a_deleted_file_whose_original_is_gone_is_never_said_to_be_unchanged() {
    let (sim, folder) = killed_before("journal.done", &Request::new().delete("a"));
    sim.delete(format!("{folder}/000000")).unwrap();
    let done = recover(&sim, Decision::Table);
    assert_eq!(done.action.as_str(), "partly_rolled_back", "{done:?}");
    assert!(done.reason().contains("a is not as it was: its original is gone"), "{done:?}");
    kept_is_there(&sim, &done);
}

#[test]
fn what_a_rollback_kept_under_a_journal_that_was_deleted_waits_for_a_person() {
    // What a check wrote goes aside before the originals go back, and to `kept/` after them.
    let (sim, folder) = killed_before("journal", &edits());
    sim.create(format!("{folder}/000000.kept"), "of the check").unwrap();
    sim.delete(format!("{folder}/journal.new")).unwrap();
    let waits = engine(&sim, 3).status().unwrap().interrupted.remove(0);
    assert_eq!(waits.action.as_str(), "wait", "{waits:?}");
    engine(&sim, 3).apply(&Request::new().create("c", "c"), Run::default()).unwrap();
    assert_eq!(sim.read(format!("{folder}/000000.kept")).unwrap(), b"of the check");
}

#[test]
fn a_folder_that_cannot_be_swept_stops_no_other_recovery() {
    let (sim, unfinished) = killed_before("journal", &edits());
    sim.delete(format!("{unfinished}/journal.new")).unwrap();
    let id = Path::new(&unfinished).file_name().unwrap().to_str().unwrap().to_owned();
    // Whatever it is, it is not txedit's to delete.
    sim.make_folders(format!("/w/.txedit/trash/{id}/d")).unwrap();
    sim.create(format!("/w/.txedit/trash/{id}/d/g"), "theirs").unwrap();
    sim.set_hook(|call| match call.to {
        Some(name) if call.verb == "rename" && name.ends_with("w/b") => Action::Kill,
        _ => Action::Continue,
    });
    engine(&sim, 3).apply(&edits(), Run::default()).unwrap_err();
    sim.clear_hook();
    assert_eq!(texts(&sim), some(["new a", "old b"]));
    let error = engine(&sim, 4).recover(None, RecoverOptions::default()).unwrap_err();
    assert_eq!(texts(&sim), some(["new a", "new b"]), "{error}");
    assert!(error.kind() == ErrorKind::RecoveryRequired && error.message().contains(&id), "{error:?}");
}

#[test]
fn what_was_swapped_under_a_journal_that_was_deleted_waits_for_a_person() {
    let (sim, folder) = killed_before("w/b", &edits());
    sim.delete(format!("{folder}/journal")).unwrap();
    let waits = engine(&sim, 3).status().unwrap().interrupted.remove(0);
    assert_eq!(waits.action.as_str(), "wait", "{waits:?}");
    let report = engine(&sim, 3).apply(&Request::new().create("c", "c"), Run::default()).unwrap();
    assert!(report.warnings.iter().any(|told| told.contains("its journal is gone")), "{:?}", report.warnings);
    let done = engine(&sim, 3).recover(None, RecoverOptions::default()).unwrap().remove(0);
    assert_eq!((done.action.as_str(), done.required), ("left", true), "{done:?}");
    assert!(done.reason().contains("its journal is gone"), "{done:?}");
    assert_eq!(sim.read(format!("{folder}/000000")).unwrap(), b"old a");
    let done = recover(&sim, Decision::Discard);
    assert_eq!(done.action.as_str(), "discarded", "{done:?}");
    assert_eq!(sim.read(format!("{}/000000", folder.replace("/txn/", "/kept/"))).unwrap(), b"old a");
}

#[test]
fn what_was_swapped_under_a_journal_that_is_torn_is_said_to_be() {
    let (sim, folder) = killed_before("w/b", &edits());
    let journal = sim.read(format!("{folder}/journal")).unwrap();
    sim.delete(format!("{folder}/journal")).unwrap();
    sim.create(format!("{folder}/journal.new"), &journal[..journal.len() - 20]).unwrap();
    let waits = engine(&sim, 3).status().unwrap().interrupted.remove(0);
    assert!(waits.action.as_str() == "wait" && waits.reason().contains("its journal is torn"), "{waits:?}");
}

#[test]
fn what_was_never_swapped_cannot_be_finished_and_no_file_is_said_to_be_new() {
    let (sim, _) = killed_before("journal", &edits());
    let engine = engine(&sim, 3);
    let id = engine.status().unwrap().interrupted[0].id.clone();
    let forward = RecoverOptions::new().decision(Decision::Forward);
    let error = engine.recover(Some(&id), forward).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::RecoveryRequired, Outcome::Unchanged), "{error}");
    assert_eq!((error.transaction(), texts(&sim)), (Some(&*id), some(["old a", "old b"])));
    assert!(matches!(error.next_steps(), [NextStep::Recover { id: Some(to) }] if *to == id), "{error:?}");
    assert_eq!(recover(&sim, Decision::Table).action.as_str(), "dropped");
}

#[test]
fn what_was_only_staged_without_a_journal_is_swept() {
    let (sim, folder) = killed_before("journal", &edits());
    sim.delete(format!("{folder}/journal.new")).unwrap();
    assert!(engine(&sim, 3).recover(None, RecoverOptions::default()).unwrap().is_empty());
    assert_eq!(engine(&sim, 3).status().unwrap().interrupted.len(), 0);
    assert_eq!(texts(&sim), some(["old a", "old b"]));
}

/// A power loss can take the rename in which a journal lost its first name, and not the next one.
#[test]
fn a_first_name_beside_a_later_one_counts_for_nothing() {
    for (other, action) in [("journal.new", "committed"), ("journal.undo", "left")] {
        let (sim, folder) = killed_before("journal.done", &edits());
        sim.create(format!("{folder}/{other}"), sim.read(format!("{folder}/journal")).unwrap()).unwrap();
        let done = recover(&sim, Decision::Table);
        assert_eq!(done.action.as_str(), action, "{done:?}");
        assert_eq!(texts(&sim), some(["new a", "new b"]));
    }
}
