//! Two processes at the same time, on the same and on overlapping files, with kills of one and with power losses.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::report::RecoveryAction;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::{Explorer, Script, ScriptPair};
use txedit::{Engine, RecoverOptions, Request, Run, Settings};

use super::scripts::{creates, deletes, files, renames, replaces, request, script};
use super::{seeded, so_far};

/// Few crashes for each run: there are tens of thousands of runs.
fn explorer() -> Explorer {
    seeded(Explorer { images: 2, images_in_recovery: 2, depth: 1, ..Explorer::default() })
}

/// Of all schedules one in `full`, and by default a share of that.
fn explore(name: &str, first: Script, second: Script, full: usize) {
    let started = std::time::Instant::now();
    let explorer = explorer();
    // No factor of it may be that of the three kinds of kills.
    let share = super::share(full);
    let share = if share.is_multiple_of(3) { share + 1 } else { share };
    match explorer.explore_pair(&ScriptPair::new(first, second), share, 9) {
        Ok(found) => {
            let seconds = started.elapsed().as_secs_f32();
            eprintln!("two processes, {name}: {found}, in {seconds:.1} s; {} so far", so_far(&found));
        }
        Err(violation) => panic!("two processes, {name}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer.seed),
    }
}

fn one_edit(path: &str, old: &str, new: &str) -> Script {
    script("edit").apply(request(vec![replaces(path, old, new)]))
}

fn two_edits(paths: [&str; 2], old: &str, new: &str) -> Script {
    script("edits").apply(request(paths.map(|path| replaces(path, old, new)).into()))
}

#[test]
fn two_edits_of_one_file_lose_nothing() {
    explore("one file", one_edit("a", "one", "two"), one_edit("a", "a ", "A "), 100);
}

#[test]
fn edits_of_files_that_overlap_lose_nothing() {
    explore("overlapping", two_edits(["a", "b"], "one", "two"), two_edits(["b", "sub/d"], " ", "_"), 250);
}

#[test]
fn two_who_create_the_same_file_make_one() {
    let create = |content: &str| script("create").apply(request(vec![creates("new", content)]));
    explore("creates", create("new two\n"), create("new three\n"), 200);
}

#[test]
fn a_delete_and_an_edit_of_one_file_lose_nothing() {
    let delete = script("delete").apply(request(vec![deletes("a")]));
    explore("delete and edit", delete, one_edit("a", "one", "two"), 200);
}

#[test]
fn a_rename_and_an_edit_of_one_file_lose_nothing() {
    let rename = script("rename").apply(request(vec![renames("a", "moved")]));
    explore("rename and edit", rename, two_edits(["a", "b"], "one", "two"), 200);
}

#[test]
fn two_who_make_the_same_folder_share_it() {
    let create = |path: &str| script("create").apply(request(vec![creates(path, "new two\n")]));
    explore("one new folder", create("deep/one"), create("deep/two"), 250);
}

#[test]
fn two_who_make_the_state_folder_share_it() {
    let first = one_edit("a", "one", "two").cold();
    explore("one new state folder", first, one_edit("a", "a ", "A "), 250);
}

#[test]
fn edits_that_sync_file_by_file_lose_nothing() {
    let first = super::barriers::file_by_file(&two_edits(["a", "b"], "one", "two"));
    explore("file by file", first, two_edits(["b", "a"], " ", "_"), 250);
}

fn engine(machine: &SimFs) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).program("setup");
    Engine::with_fs(Arc::new(machine.process(9)), Path::new("/w"), settings).unwrap()
}

fn alone() -> Run<'static> {
    Run::default()
}

/// The files, and a transaction that was committed.
fn with_history(machine: &SimFs, request: &Request) {
    files(machine);
    engine(machine).apply(request, alone()).unwrap();
    machine.kill(9);
    machine.advance(Duration::from_secs(60));
}

/// Undoes the transaction that [`with_history`] made, whatever came after it.
fn undo(engine: &Engine) -> txedit::Result<()> {
    let log = engine.log(usize::MAX, None)?;
    // The newest comes first, and the oldest made the state folder.
    let made = log.iter().rev().nth(1).unwrap();
    engine.undo(Some(&made.id), false, alone()).map(drop)
}

/// Recovers until nobody is at it any more.
fn recover(engine: &Engine) -> txedit::Result<()> {
    while engine.recover(None, RecoverOptions::default())?.iter().any(|report| report.action == RecoveryAction::Running)
    {
    }
    Ok(())
}

/// The files, and a transaction whose owner was killed after its first swap.
fn with_interrupted(machine: &SimFs, request: &Request) {
    files(machine);
    machine.set_hook(|call| {
        let is_look = call.verb == "stat" && call.path.starts_with("/w/.txedit/txn") && call.path.ends_with("000000");
        if is_look { Action::Kill } else { Action::Continue }
    });
    engine(machine).apply(request, alone()).unwrap_err();
    machine.clear_hook();
    machine.advance(Duration::from_secs(60));
}

#[test]
fn an_undo_of_what_another_edits_further_loses_nothing() {
    let before = request(vec![replaces("a", "one", "two"), replaces("b", "one", "two")]);
    let undoes = Script::new("undo", move |machine: &SimFs| with_history(machine, &before)).then(undo);
    explore("undo and edit", undoes, one_edit("a", "a ", "A "), 250);
}

#[test]
fn two_who_undo_the_same_commit_undo_it_once() {
    let before = request(vec![replaces("a", "one", "two"), creates("new", "new two\n")]);
    let undoes = || {
        let before = before.clone();
        Script::new("undo", move |machine: &SimFs| with_history(machine, &before)).then(undo)
    };
    explore("two undos", undoes(), undoes(), 250);
}

#[test]
fn a_recovery_of_what_another_edits_loses_nothing() {
    let before = request(vec![replaces("a", "one", "two"), replaces("b", "one", "two"), creates("new", "new two\n")]);
    let recovers = Script::new("recover", move |machine: &SimFs| with_interrupted(machine, &before)).then(recover);
    explore("recovery and edit", recovers.clone(), one_edit("b", "b ", "B "), 100);
    explore("two recoveries", recovers.clone(), recovers, 100);
}

/// Two processes must show what is broken.
fn is_caught(first: Script, second: Script) {
    match explorer().explore_pair(&ScriptPair::new(first, second), 20, 1000) {
        Ok(found) => panic!("not noticed: {found}"),
        Err(violation) => eprintln!("noticed:\n{violation}"),
    }
}

#[test]
fn locks_that_keep_nobody_out_are_noticed() {
    let first = one_edit("a", "one", "two").on(|volume| volume.locks = false);
    is_caught(first, one_edit("a", "a ", "A "));
}

#[test]
fn an_interrupted_transaction_in_the_way_that_is_not_seen_is_noticed() {
    let protocol: &'static Protocol = Box::leak(Box::new(Protocol { touches: |_, _| false, ..PROTOCOL }));
    let first = two_edits(["a", "b"], "one", "two").protocol(protocol);
    is_caught(first, two_edits(["b", "a"], " ", "_").protocol(protocol));
}
