//! Files that are mount points, and are overwritten in place where that is asked for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::report::{Guarantee, RecoveryAction};
use txedit::settings::Swap;
use txedit::{
    Check, Decision, Edit, Engine, Error, ErrorKind, NextStep, Outcome, RecoverOptions, Request, Retention, Run,
    Settings, UndoOptions,
};

use crate::support::workspace::assert_findings;

/// Of several blocks.
const LINES: usize = 3_000;

fn old() -> String {
    "old line\n".repeat(LINES)
}

fn new() -> String {
    "new line\n".repeat(LINES)
}

fn engine_swapping(sim: &SimFs, process: u32, swap: Swap) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).swap(swap);
    Engine::with_fs(Arc::new(sim.process(process)), Path::new("/w"), settings).unwrap()
}

fn engine(sim: &SimFs, process: u32) -> Engine {
    engine_swapping(sim, process, Swap::InPlace)
}

/// A file that is a mount point, and one that is none.
fn machine() -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "old a").unwrap();
    sim.create("/w/m", old()).unwrap();
    sim.mount_file("/w/m").unwrap();
    sim.advance(Duration::from_secs(60));
    sim
}

fn edits() -> Request {
    Request::new().edit("a", Edit::replace("old", "new")).edit("m", Edit::replace_all("old", "new"))
}

fn text(sim: &SimFs, name: &str) -> String {
    String::from_utf8(sim.read(Path::new("/w").join(name)).unwrap()).unwrap()
}

fn texts(sim: &SimFs) -> [String; 2] {
    ["a", "m"].map(|name| text(sim, name))
}

#[track_caller]
fn refused(error: &Error, kind: ErrorKind, outcome: Outcome) {
    assert_eq!((error.kind(), error.outcome()), (kind, outcome), "{error}");
}

#[test]
fn it_is_overwritten_only_where_that_is_asked_for() {
    let sim = machine();
    for swap in [Swap::Auto, Swap::Exchange, Swap::Aside] {
        let error = engine_swapping(&sim, 1, swap).apply(&edits(), Run::default()).unwrap_err();
        refused(&error, ErrorKind::ValidationFailed, Outcome::Unchanged);
        assert_findings(&error, &[(ErrorKind::MountPoint, "files/1/file_path")]);
        assert_eq!(error.next_steps(), [NextStep::Overwrite], "{error}");
    }
    // What takes a rename cannot be had so either.
    let error = engine_swapping(&sim, 1, Swap::Auto).apply(&Request::new().delete("m"), Run::default()).unwrap_err();
    assert!(error.next_steps().is_empty(), "{error}");
    assert_eq!(texts(&sim), ["old a".to_owned(), old()]);
    let before = sim.stat("/w/m").unwrap();
    let report = engine(&sim, 2).apply(&edits(), Run::default()).unwrap();
    assert_eq!(texts(&sim), ["new a".to_owned(), new()]);
    assert_eq!(report.guarantee, Some(Guarantee::InPlace));
    let each: Vec<_> = report.files.iter().map(|file| file.extras.guarantee).collect();
    assert_eq!(each, [None, Some(Guarantee::InPlace)]);
    let now = sim.stat("/w/m").unwrap();
    assert_eq!((now.identity, now.mode, now.mount_root), (before.identity, before.mode, true));
    // History has the copy alone.
    let id = report.transaction.unwrap();
    let left = sim.entries(format!("/w/.txedit/history/{id}")).unwrap();
    assert!(!left.iter().any(|(path, _)| path.extension().is_some_and(|end| end == "new")), "{left:?}");
    assert!(engine(&sim, 3).status().unwrap().warnings.is_empty());
}

#[test]
fn undo_and_redo_need_the_same_and_work() {
    let sim = machine();
    engine(&sim, 1).apply(&edits(), Run::default()).unwrap();
    let undo = |swap| engine_swapping(&sim, 2, swap).undo_last(1, &UndoOptions::default(), Run::default());
    let error = undo(Swap::Auto).unwrap_err();
    refused(&error, ErrorKind::MountPoint, Outcome::Unchanged);
    assert_eq!(error.next_steps(), [NextStep::Overwrite], "{error}");
    let undone = undo(Swap::InPlace).unwrap();
    assert_eq!((undone.guarantee, texts(&sim)), (Some(Guarantee::InPlace), ["old a".to_owned(), old()]));
    engine(&sim, 3).redo(None, &UndoOptions::default(), Run::default()).unwrap();
    assert_eq!(texts(&sim), ["new a".to_owned(), new()]);
    // Nothing of it is taken for another program's once it is pruned.
    let pruned = engine(&sim, 4).prune(&Retention::default().count(0)).unwrap();
    assert_eq!((pruned.ids.len(), pruned.left.len(), pruned.in_trash.len()), (3, 0, 0), "{pruned:?}");
    assert!(engine(&sim, 5).kept().unwrap().is_empty());
}

#[test]
fn what_only_a_rename_could_do_is_refused() {
    let sim = machine();
    sim.set_mode("/w/m", 0o4755).unwrap();
    let apply = |request: &Request| engine(&sim, 1).apply(request, Run::default()).unwrap_err();
    // A write would take the bit.
    for request in [Request::new().delete("m"), Request::new().rename("m", "n"), edits()] {
        refused(&apply(&request), ErrorKind::MountPoint, Outcome::Unchanged);
    }
    assert_findings(&apply(&Request::new().rename("a", "m")), &[(ErrorKind::FileExists, "files/0/rename_to")]);
    assert_eq!(texts(&sim), ["old a".to_owned(), old()]);
}

#[test]
fn no_check_runs_in_the_tree_while_it_is_overwritten() {
    let sim = machine();
    let engine = engine(&sim, 1).allowing_checks();
    let error = engine.apply(&edits().check(Check::new(vec!["true".into()])), Run::default()).unwrap_err();
    refused(&error, ErrorKind::MountPoint, Outcome::Unchanged);
    assert_eq!(error.next_steps(), [NextStep::CheckInView], "{error}");
    assert_eq!(texts(&sim), ["old a".to_owned(), old()]);
}

#[test]
fn a_file_that_somebody_has_open_is_left_alone() {
    let sim = machine();
    let held = sim.open("/w/m").unwrap();
    let error = engine(&sim, 1).apply(&edits(), Run::default()).unwrap_err();
    refused(&error, ErrorKind::ConcurrentModification, Outcome::RolledBack);
    assert!(error.message().contains("is open in another program"), "{error}");
    assert_eq!(texts(&sim), ["old a".to_owned(), old()]);
    // Where there is no lease, nobody knows.
    sim.volume("/w/m", |volume| volume.leases = false).unwrap();
    engine(&sim, 2).apply(&edits(), Run::default()).unwrap();
    assert_eq!(texts(&sim), ["new a".to_owned(), new()]);
    drop(held);
}

/// Killed once a part of the file is overwritten.
fn killed_between_writes(sim: &SimFs) -> String {
    let writes = std::sync::atomic::AtomicUsize::new(0);
    sim.set_hook(move |call| {
        if call.verb != "write_at" || call.path != Path::new("/w/m") {
            return Action::Continue;
        }
        match writes.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Action::Short(4096),
            _ => Action::Kill,
        }
    });
    engine(sim, 1).apply(&edits(), Run::default()).unwrap_err();
    sim.clear_hook();
    let text = text(sim, "m");
    assert!(text.starts_with("new") && text.ends_with("old line\n"), "it is half new");
    engine(sim, 2).status().unwrap().interrupted[0].id.clone()
}

#[test]
fn what_is_overwritten_in_part_comes_back_whatever_the_next_command_asks_for() {
    let sim = machine();
    killed_between_writes(&sim);
    let reason = engine(&sim, 2).status().unwrap().interrupted[0].reason();
    assert!(reason.contains("1 of 2 swapped"), "{reason}");
    let recovered = engine_swapping(&sim, 3, Swap::Auto).recover(None, RecoverOptions::new()).unwrap().remove(0);
    assert_eq!(recovered.action, RecoveryAction::RolledBack, "{recovered:?}");
    assert_eq!(texts(&sim), ["old a".to_owned(), old()]);
}

#[test]
fn what_another_program_wrote_into_it_waits_for_a_person_who_can_keep_it() {
    let sim = machine();
    let id = killed_between_writes(&sim);
    sim.write_in_place("/w/m", "theirs").unwrap();
    let recover = |decision| {
        engine(&sim, 3).recover(Some(&id), RecoverOptions::new().decision(decision)).map(|mut all| all.remove(0))
    };
    let waiting = engine(&sim, 2).recover(None, RecoverOptions::new()).unwrap().remove(0);
    assert!(waiting.required && waiting.action == RecoveryAction::Left, "{waiting:?}");
    assert_eq!(texts(&sim), ["new a".to_owned(), "theirs".to_owned()]);
    // It cannot be finished: nobody knows what another program wrote upon.
    let error = recover(Decision::Forward).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RecoveryRequired, "{error}");
    let done = recover(Decision::Back).unwrap();
    assert_eq!(texts(&sim), ["old a".to_owned(), old()]);
    assert_eq!(done.kept.len(), 1, "{done:?}");
    assert_eq!(sim.read(&done.kept[0].kept_path).unwrap(), b"theirs");
    let listed = engine(&sim, 4).kept().unwrap();
    assert_eq!(listed[0].contents.len(), 1, "{listed:?}");
    assert_eq!(listed[0].contents[0].kept_path, done.kept[0].kept_path);
    engine(&sim, 5).apply(&edits(), Run::default()).unwrap();
}

#[test]
fn a_person_can_leave_what_another_program_wrote_into_it() {
    let sim = machine();
    let id = killed_between_writes(&sim);
    sim.write_in_place("/w/m", "theirs").unwrap();
    let discard = RecoverOptions::new().decision(Decision::Discard);
    let done = engine(&sim, 3).recover(Some(&id), discard).unwrap().remove(0);
    assert_eq!(done.action, RecoveryAction::Discarded, "{done:?}");
    assert_eq!(texts(&sim), ["new a".to_owned(), "theirs".to_owned()]);
    let kept = engine(&sim, 4).kept().unwrap();
    let old_copy = kept[0].contents.iter().any(|one| sim.read(&one.kept_path).unwrap() == old().into_bytes());
    assert!(old_copy, "{kept:?}");
}

/// Killed in each call of a person's rollback over another program's content: nothing of that is lost.
#[test]
fn a_rollback_over_another_programs_content_can_be_killed_anywhere() {
    for kill in 0.. {
        let sim = machine();
        let id = killed_between_writes(&sim);
        sim.write_in_place("/w/m", "theirs".repeat(3_000)).unwrap();
        let back = RecoverOptions::new().decision(Decision::Back);
        let begun = sim.calls();
        sim.set_hook(move |call| if call.number == begun + kill { Action::Kill } else { Action::Continue });
        let first = engine_or_killed(&sim, &id, back);
        sim.clear_hook();
        if first {
            assert!(kill > 20, "it was killed before its end");
            return;
        }
        let waits = !engine(&sim, 8).status().unwrap().interrupted.is_empty();
        if waits {
            engine(&sim, 9).recover(Some(&id), back).unwrap();
        }
        assert_eq!(texts(&sim), ["old a".to_owned(), old()], "killed at call {kill}");
        let kept = engine(&sim, 10).kept().unwrap();
        let contents = kept.iter().flat_map(|kept| &kept.contents);
        let theirs = contents.filter(|one| sim.read(&one.kept_path).unwrap() == "theirs".repeat(3_000).into_bytes());
        assert_eq!(theirs.count(), 1, "killed at call {kill}: {kept:?}");
    }
}

/// Returns whether a recovery came to its end.
fn engine_or_killed(sim: &SimFs, id: &str, options: RecoverOptions) -> bool {
    let settings = Settings::default().lock_timeout(Duration::ZERO).swap(Swap::InPlace);
    Engine::with_fs(Arc::new(sim.process(7)), Path::new("/w"), settings)
        .and_then(|engine| engine.recover(Some(id), options))
        .is_ok()
}

/// A later step fails, and meanwhile another program has written into the file.
#[test]
fn a_rollback_leaves_what_another_program_wrote_and_keeps_the_old_content() {
    let sim = machine();
    let machine = sim.clone();
    sim.set_hook(move |call| {
        let is_report = call.verb == "create" && call.path.ends_with("report.json");
        if is_report {
            machine.write_in_place("/w/m", "theirs").unwrap();
            return Action::Fail(txedit::testing::internals::errno::Errno::IO);
        }
        Action::Continue
    });
    let error = engine(&sim, 1).apply(&edits(), Run::default()).unwrap_err();
    sim.clear_hook();
    assert_eq!(error.outcome(), Outcome::PartlyRolledBack, "{error}");
    assert_eq!(texts(&sim), ["old a".to_owned(), "theirs".to_owned()]);
    assert_eq!(error.not_old().len(), 1, "{error:?}");
    assert_eq!(error.kept().len(), 1, "{error:?}");
    assert_eq!(sim.read(&error.kept()[0].kept_path).unwrap(), old().into_bytes());
}
