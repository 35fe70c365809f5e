//! A rollback that cannot make every file old again says so of each, in the words of the answer.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, SimFs};
use txedit::wire::{self, Shape};
use txedit::{
    Decision, Durability, Edit, Engine, NextStep, PathRule, RecoverOptions, Request, Retention, Run, Settings,
    UndoOptions,
};

use super::lost::{edits, engine, killed_before, recover};

const PLAN: &str = r#"{"files": [
    {"file_path": "a", "edits": [{"old_string": "one", "new_string": "two"}]},
    {"file_path": "b", "edits": [{"old_string": "one", "new_string": "two"}]},
    {"file_path": "c", "edits": [{"old_string": "one", "new_string": "two"}]}]}"#;

fn append(path: &Path, text: &str) {
    let old = fs::read_to_string(path).unwrap();
    // In place, as `>>` does.
    fs::write(path, old + text).unwrap();
}

/// Commits the plan on three files; right before the swap of `b`, when `a` is swapped, somebody acts. The answer.
fn disturbed(root: &Path, act: impl Fn(&Path) + Send + Sync + 'static) -> (Engine, Value) {
    disturbed_with(root, act, None)
}

/// The same, with another rule.
fn disturbed_with(root: &Path, act: impl Fn(&Path) + Send + Sync + 'static, rule: Option<Rule>) -> (Engine, Value) {
    for name in ["a", "b", "c"] {
        fs::write(root.join(name), format!("{name} one\n")).unwrap();
    }
    let faulty = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    // One attempt: with time left the request would be tried again.
    let settings =
        Settings::default().durability(Durability::Process).lock_timeout(Duration::ZERO).program("txedit tests");
    let engine = Engine::with_fs(faulty.clone(), root, settings).unwrap();
    let here = root.to_owned();
    let swaps_b = |call: &FaultCall| {
        call.operation == FaultOperation::Rename && call.to.as_ref().is_some_and(|to| to.ends_with("b"))
    };
    faulty.add(Rule::before(1, move |_| act(&here)).matching(swaps_b));
    if let Some(rule) = rule {
        faulty.add(rule);
    }
    let request = wire::parse(PLAN.as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap();
    let error = engine.apply(&request, Run::default()).unwrap_err();
    let answer =
        serde_json::to_value(wire::failure(&error, Some(&request), Shape::Multi, NextStep::to_string)).unwrap();
    (engine, answer)
}

fn content(root: &Path, name: &str) -> Option<String> {
    fs::read_to_string(root.join(name)).ok()
}

#[test]
fn a_file_that_another_program_changed_after_its_swap_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let (engine, answer) = disturbed(&root, |root| {
        append(&root.join("a"), "theirs\n");
        append(&root.join("b"), "theirs\n");
    });
    assert_eq!(content(&root, "a").as_deref(), Some("a two\ntheirs\n"));
    assert_eq!(content(&root, "b").as_deref(), Some("b one\ntheirs\n"));
    assert_eq!(content(&root, "c").as_deref(), Some("c one\n"));
    assert_eq!(answer["outcome"], "partly_rolled_back", "{answer}");
    let statuses: Vec<&Value> =
        answer["file_statuses"].as_array().unwrap().iter().map(|file| &file["status"]).collect();
    assert_eq!(statuses, [&json!("not_restored"), &json!("failed"), &json!("rolled_back")], "{answer}");
    assert_eq!(answer["not_restored"][0]["path"], json!(root.join("a")), "{answer}");
    let kept = Path::new(answer["kept"][0]["kept_path"].as_str().unwrap());
    assert_eq!(fs::read_to_string(kept).unwrap(), "a one\n", "{answer}");
    // Nothing waits for anybody.
    assert_eq!(engine.recover(None, RecoverOptions::default()).unwrap().len(), 0);
}

#[test]
fn a_file_that_another_program_removed_after_its_swap_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let (_, answer) = disturbed(&root, |root| {
        fs::remove_file(root.join("a")).unwrap();
        append(&root.join("b"), "theirs\n");
    });
    assert_eq!(content(&root, "a"), None);
    assert_eq!(
        answer["not_restored"],
        json!([{"path": root.join("a"), "reason": "another program removed it"}]),
        "{answer}"
    );
    let kept = Path::new(answer["kept"][0]["kept_path"].as_str().unwrap());
    assert_eq!(fs::read_to_string(kept).unwrap(), "a one\n", "{answer}");
}

#[test]
fn everything_is_old_where_nobody_came_on_top() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let (_, answer) = disturbed(&root, |root| append(&root.join("b"), "theirs\n"));
    assert_eq!((&answer["outcome"], answer.get("not_restored")), (&json!("rolled_back"), None), "{answer}");
    assert_eq!(content(&root, "a").as_deref(), Some("a one\n"));
}

#[test]
fn a_recovery_of_the_same_state_waits_and_then_says_the_same() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let sets_state = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with("journal.undo"));
    let appends = |root: &Path| {
        append(&root.join("a"), "theirs\n");
        append(&root.join("b"), "theirs\n");
    };
    // It ends before it is rolled back, as if it were killed there.
    let (engine, answer) = disturbed_with(&root, appends, Some(Rule::fail(1, 5).matching(sets_state)));
    assert_eq!(answer["outcome"], "recovery_required", "{answer}");
    // Nobody is there to be told what was left: a person decides.
    let found = engine.recover(None, RecoverOptions::default()).unwrap();
    assert_eq!((found[0].action.as_str(), found[0].required), ("left", true), "{found:?}");
    assert_eq!(content(&root, "a").as_deref(), Some("a two\ntheirs\n"));
    let back = RecoverOptions::new().decision(Decision::Back);
    let done = engine.recover(Some(&found[0].id), back).unwrap();
    assert_eq!((done[0].action.as_str(), done[0].required), ("partly_rolled_back", false), "{done:?}");
    assert!(done[0].reason().contains("a is not as it was"), "{done:?}");
    let contents = ["a", "b", "c"].map(|name| content(&root, name).unwrap());
    assert_eq!(contents, ["a two\ntheirs\n", "b one\ntheirs\n", "c one\n"]);
    assert_eq!(fs::read_to_string(&done[0].kept[0].kept_path).unwrap(), "a one\n", "{done:?}");
}

#[test]
fn a_file_that_changes_after_the_decision_of_a_recovery_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let sets_state = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with("journal.undo"));
    // It ends with `a` swapped, before it is rolled back; what made the swap of `b` fail is gone again.
    let (engine, answer) =
        disturbed_with(&root, |root| append(&root.join("b"), "theirs\n"), Some(Rule::fail(1, 5).matching(sets_state)));
    assert_eq!(answer["outcome"], "recovery_required", "{answer}");
    fs::write(root.join("b"), "b one\n").unwrap();
    let id = engine.status().unwrap().interrupted[0].id.clone();
    let forward = RecoverOptions::new().decision(Decision::Forward);
    let done = engine.recover_with(Some(&id), forward, &mut |_| fs::remove_file(root.join("a")).unwrap()).unwrap();
    assert!(done[0].reason().contains("a is not new: another program changed it after it was swapped"), "{done:?}");
    let contents = ["a", "c"].map(|name| content(&root, name));
    assert_eq!(contents, [None, Some("c two\n".to_owned())]);
}

#[test]
fn what_a_swap_brought_out_of_another_program_is_not_said_to_be_written_later() {
    let (sim, folder) = killed_before("journal.done", &edits());
    // As if it had been put in the place of `b` right before the swap.
    sim.delete(format!("{folder}/000001")).unwrap();
    sim.create(format!("{folder}/000001"), "theirs").unwrap();
    let done = recover(&sim, Decision::Forward);
    assert_eq!(done.action.as_str(), "committed", "{done:?}");
    let slot = folder.replace("/txn/", "/history/") + "/000001";
    let warnings = engine(&sim, 4).status().unwrap().warnings;
    assert!(
        warnings.iter().any(|told| told.contains("replaced by another program") && told.contains(&slot)),
        "{warnings:?}"
    );
    let error = engine(&sim, 4).undo(Some(&done.id), false, Run::default()).unwrap_err();
    assert!(error.to_string().contains("another program had replaced the file") && error.to_string().contains(&slot));
    assert_eq!(sim.read(slot).unwrap(), b"theirs");
    engine(&sim, 4).prune(&Retention::default().count(0)).unwrap();
    let warnings = engine(&sim, 5).status().unwrap().warnings;
    assert!(warnings.iter().all(|told| !told.contains("had it open")), "{warnings:?}");
}

#[test]
fn what_has_removed_a_folder_already_is_finished_and_not_rolled_back() {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "old a").unwrap();
    let request = Request::new().edit("a", Edit::replace("old", "new")).create("n/new", "new n");
    engine(&sim, 1).apply(&request, Run::default()).unwrap();
    sim.set_hook(|call| match call.to {
        Some(to) if call.verb == "rename" && to.parent().is_some_and(|at| at.ends_with("history")) => Action::Kill,
        _ => Action::Continue,
    });
    let undone = engine(&sim, 2).undo(None, false, Run::default()).unwrap();
    assert!(undone.warnings[0].contains("committed, but"), "{undone:?}");
    sim.clear_hook();
    assert!(!sim.exists("/w/n"));
    let id = engine(&sim, 3).status().unwrap().interrupted[0].id.clone();
    for plan_only in [true, false] {
        let options = RecoverOptions::new().decision(Decision::Back).plan_only(plan_only);
        let error = engine(&sim, 3).recover(Some(&id), options).unwrap_err();
        assert!(error.to_string().contains("folder of n/new is removed already"), "{error}");
    }
    assert_eq!(sim.read("/w/a").unwrap(), b"old a");
    assert_eq!(recover(&sim, Decision::Forward).action.as_str(), "committed");
    engine(&sim, 4).redo(None, &UndoOptions::default(), Run::default()).unwrap();
    assert_eq!(sim.read("/w/n/new").unwrap(), b"new n");
}

#[test]
fn what_another_program_wrote_into_a_file_that_went_back_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    // Through a handle from before the swap: it is in the file that goes back.
    let held = Mutex::new(None);
    fs::write(root.join("a"), "a one\n").unwrap();
    *held.lock().unwrap() = Some(fs::OpenOptions::new().append(true).open(root.join("a")).unwrap());
    let (_, answer) = disturbed(&root, move |root| {
        held.lock().unwrap().as_mut().unwrap().write_all(b"theirs\n").unwrap();
        fs::write(root.join("b"), "b one, and theirs\n").unwrap();
    });
    assert_eq!((&answer["outcome"], content(&root, "a").as_deref()), (&json!("rolled_back"), Some("a one\ntheirs\n")));
    let warnings = answer["warnings"].to_string();
    assert!(warnings.contains("/a has what another program wrote meanwhile"), "{answer:#}");
}
