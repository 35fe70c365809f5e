//! A call that fails after a part of it was done: the answer says which part.

use txedit::error::Detail;
use txedit::fs::sim::{Action, SimFs};
use txedit::testing::Errno;
use txedit::{
    Decision, Edit, Engine, Error, ErrorKind, NextStep, RecoverOptions, Request, Retention, Run, UndoOptions,
};

use super::lost::{edits, engine, killed_before};

/// Calls of a verb on paths that contain `part` fail from now on.
fn fail(sim: &SimFs, verb: &'static str, part: &'static str, errno: Errno) {
    sim.set_hook(move |call| {
        let is_meant = call.verb == verb && call.path.to_string_lossy().contains(part);
        if is_meant { Action::Fail(errno) } else { Action::Continue }
    });
}

fn with_file() -> (SimFs, Engine) {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "old a").unwrap();
    let engine = engine(&sim, 1);
    (sim, engine)
}

fn change() -> Request {
    Request::new().edit("a", Edit::replace("old", "new"))
}

fn is_partly_done(error: &Error) -> bool {
    matches!(error.details(), Detail::PartlyDone)
}

#[test]
fn what_was_recovered_is_told_though_history_cannot_be_read() {
    let (sim, first) = with_file();
    first.apply(&Request::new().create("z", "z"), Run::default()).unwrap();
    let before = first.log(1, None).unwrap()[0].id.clone();
    drop(first);
    sim.create("/w/b", "old b").unwrap();
    sim.set_hook(|call| match call.to {
        Some(name) if call.verb == "rename" && name.ends_with("w/b") => Action::Kill,
        _ => Action::Continue,
    });
    engine(&sim, 2).apply(&edits(), Run::default()).unwrap_err();
    sim.clear_hook();
    sim.set_hook(move |call| match call.verb {
        "read_at" if call.path.to_string_lossy().contains(&before) => Action::Fail(Errno::IO),
        _ => Action::Continue,
    });
    let error = engine(&sim, 3).recover(None, RecoverOptions::new()).unwrap_err();
    sim.clear_hook();
    assert_eq!(sim.read("/w/b").unwrap(), b"new b");
    assert!(error.is_after_recovery(), "{error:?}");
}

#[test]
fn a_discarded_transaction_that_is_not_durable_is_said_to_be_discarded() {
    let (sim, engine) = with_file();
    let opened = engine.stage(&change(), None, Run::default()).unwrap().id.unwrap();
    fail(&sim, "sync_file_system", "", Errno::IO);
    let error = engine.roll_back(&opened, Run::default()).unwrap_err();
    sim.clear_hook();
    assert!(is_partly_done(&error) && error.message().contains("is discarded"), "{error:?}");
    assert!(super::lost::engine(&sim, 2).open_transactions(None).unwrap().is_empty());
}

#[test]
fn what_is_pruned_is_named_where_the_rest_fails() {
    let (sim, engine) = with_file();
    engine.apply(&change(), Run::default()).unwrap();
    let id = engine.log(1, None).unwrap()[0].id.clone();
    fail(&sim, "sync_file_system", "", Errno::IO);
    let error = engine.prune(&Retention::default().count(0)).unwrap_err();
    sim.clear_hook();
    assert!(is_partly_done(&error) && error.message().contains(&id), "{error:?}");
    let left = super::lost::engine(&sim, 2).log(1, None).unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_kept_no_longer_is_said_to_be_gone() {
    let (sim, _) = killed_before("journal.done", &edits());
    let engine = engine(&sim, 3);
    let id = engine.status().unwrap().interrupted[0].id.clone();
    engine.recover(Some(&id), RecoverOptions::new().decision(Decision::Discard)).unwrap();
    fail(&sim, "sync_file_system", "", Errno::IO);
    let error = engine.kept_drop(&id).unwrap_err();
    sim.clear_hook();
    assert!(is_partly_done(&error) && error.message().contains("no longer kept"), "{error:?}");
    assert!(super::lost::engine(&sim, 4).kept().unwrap().is_empty());
}

#[test]
fn a_stage_that_is_stored_is_acknowledged_though_the_file_before_it_stays() {
    let (sim, engine) = with_file();
    let opened = engine.stage(&change(), None, Run::default()).unwrap().id.unwrap();
    fail(&sim, "unlink", "transaction.json", Errno::IO);
    let more = Request::new().create("b", "b");
    engine.stage(&more, Some(&opened), Run::default()).unwrap();
    sim.clear_hook();
    assert_eq!(engine.open_transactions(None).unwrap()[0].files.len(), 2);
    engine.commit_staged(&opened, None, None, Run::default()).unwrap();
    assert_eq!(sim.read("/w/b").unwrap(), b"b");
}

#[test]
fn a_process_that_may_open_too_few_files_decides_nothing() {
    let (sim, _) = killed_before("w/b", &edits());
    fail(&sim, "open_file", "w/a", Errno::MFILE);
    let error = engine(&sim, 3).status().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RequestTooLarge, "{error:?}");
    let error = engine(&sim, 3).recover(None, RecoverOptions::new().plan_only(true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RequestTooLarge, "{error:?}");
}

#[test]
fn what_cannot_be_read_is_to_be_mended_before_anything_is_discarded() {
    let (sim, _) = killed_before("w/b", &edits());
    fail(&sim, "read_at", "w/a", Errno::IO);
    let waits = engine(&sim, 3).status().unwrap().interrupted.remove(0);
    assert!(matches!(&waits.next_steps[..], [NextStep::Mend { id }] if *id == waits.id), "{waits:?}");
}

#[test]
fn an_undo_that_is_only_tried_names_the_recovery_and_asks_for_no_decision() {
    let (sim, _) = killed_before("w/b", &edits());
    let options = UndoOptions::default().dry_run(true);
    let error = engine(&sim, 3).undo_with(None, &options, Run::default()).unwrap_err();
    assert!(error.next_steps().iter().any(|step| matches!(step, NextStep::Recover { id: Some(_) })), "{error:?}");
    assert!(!error.next_steps().iter().any(|step| matches!(step, NextStep::Decide { .. })), "{error:?}");
}

#[test]
fn a_state_folder_that_is_not_looked_at_is_no_state_without_interruptions() {
    let (sim, _) = killed_before("w/b", &edits());
    sim.set_mode("/w/.txedit", 0o777).unwrap();
    let status = engine(&sim, 3).status().unwrap();
    assert!(status.is_ignored && status.interrupted.is_empty(), "{status:?}");
}

#[test]
fn a_stage_that_ended_before_it_stored_anything_is_swept_a_day_later() {
    let (sim, engine) = with_file();
    engine.stage(&change(), None, Run::default()).unwrap();
    sim.set_hook(|call| match call.verb {
        "create" if call.path.to_string_lossy().contains("transaction.json") => Action::Kill,
        _ => Action::Continue,
    });
    super::lost::engine(&sim, 2).stage(&change(), None, Run::default()).unwrap_err();
    sim.clear_hook();
    let folders = || {
        let entries = sim.entries("/w/.txedit/open").unwrap().into_iter();
        entries.filter(|(path, _)| path.components().count() == 1)
    };
    assert_eq!(folders().count(), 2);
    sim.advance(std::time::Duration::from_secs(25 * 3600));
    super::lost::engine(&sim, 3).stage(&Request::new().create("c", "c"), None, Run::default()).unwrap();
    assert_eq!(folders().count(), 1);
}

#[test]
fn a_commit_that_cannot_look_through_open_transactions_says_so_and_is_done() {
    let (sim, engine) = with_file();
    engine.stage(&change(), None, Run::default()).unwrap();
    fail(&sim, "list", "/w/.txedit/open", Errno::IO);
    // One in 32 looks.
    let told = (0..2_000).find_map(|number| {
        let report = engine.apply(&Request::new().create(format!("c{number}"), "c"), Run::default()).unwrap();
        assert!(sim.exists(format!("/w/c{number}")));
        report.warnings.into_iter().find(|warning| warning.contains("expired"))
    });
    assert!(told.unwrap().starts_with("open transactions that have expired could not be dropped: "));
}
