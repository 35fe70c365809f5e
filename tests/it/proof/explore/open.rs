//! Open transactions under crashes: staging and dropping change no file, and a commit is a commit.

use std::path::Path;
use std::time::Duration;

use txedit::fs::sim::SimFs;
use txedit::review::{SelectedFile, Selection, TakenRuns};
use txedit::testing::{Acts, Script};
use txedit::{Engine, Result, Run};

use super::{as_on_fuse, explore_once, scripts};

fn run<T>(call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    call(Run::default())
}

/// Stages twice; the second sees the first.
fn staged(engine: &Engine) -> Result<String> {
    let first = scripts::request(vec![scripts::replaces("a", "one", "two"), scripts::creates("sub/new", "new one\n")]);
    let then = scripts::request(vec![scripts::replaces("sub/new", "one", "two"), scripts::deletes("b")]);
    let id = run(|run| engine.stage(&first, None, run))?.id.unwrap_or_default();
    run(|run| engine.stage(&then, Some(&id), run))?;
    Ok(id)
}

pub(crate) fn dropped() -> Script {
    scripts::script("staged and dropped").then(|engine| {
        let id = staged(engine)?;
        run(|run| engine.roll_back(&id, run)).map(drop)
    })
}

pub(crate) fn committed() -> Script {
    scripts::script("staged and committed").then(|engine| {
        let id = staged(engine)?;
        run(|run| engine.commit_staged(&id, None, None, run)).map(drop)
    })
}

/// A file in which two lines are far enough from each other for two people.
fn with_a_long_one(machine: &SimFs) {
    scripts::files(machine);
    machine.create("/w/long", "1 one\n2\n3\n4\n5 one\n").unwrap();
    machine.advance(Duration::from_secs(60));
}

/// The one that is open.
fn open_id(engine: &Engine) -> Result<Option<String>> {
    Ok(engine.status()?.open.pop().map(|open| open.id))
}

/// Stages in two acts, each reported by itself, and commits in a third.
pub(crate) fn in_three_acts() -> Script {
    let long = || scripts::replaces("long", "1 one", "1 two");
    let first = scripts::request(vec![long(), scripts::creates("sub/new", "new one\n")]);
    let then = scripts::request(vec![scripts::replaces("sub/new", "one", "two"), scripts::deletes("b")]);
    let script = Script::new("staged in two acts and committed", with_a_long_one);
    let script = script.then(move |engine| run(|run| engine.stage(&first, None, run)).map(drop));
    let script = script.then(move |engine| {
        let id = open_id(engine)?;
        run(|run| engine.stage(&then, id.as_deref(), run)).map(drop)
    });
    let script = script.then(|engine| {
        let id = open_id(engine)?.unwrap_or_default();
        run(|run| engine.commit_staged(&id, None, None, run)).map(drop)
    });
    script.witness(what_was_staged_is_there)
}

/// How many files are staged after so many acts; none where nothing is open.
const STAGED: [usize; 4] = [0, 2, 3, 0];

fn what_was_staged_is_there(engine: &Engine, acts: Acts) -> std::result::Result<(), String> {
    let told = |error: txedit::Error| error.to_string();
    let open = open_id(engine).map_err(told)?;
    let is_committed = !engine.log(usize::MAX, Some(Path::new("long"))).map_err(told)?.is_empty();
    if let (true, Some(id)) = (is_committed, &open) {
        // All but closed: the same answer again.
        return run(|run| engine.commit_staged(id, None, None, run)).map_err(told).map(drop);
    }
    let staged = match &open {
        Some(id) => run(|run| engine.preview(id, run)).map_err(told)?.report.files.len(),
        None => 0,
    };
    let expected = [STAGED[acts.done], STAGED[acts.begun]];
    if !expected.contains(&staged) || (staged == 0 && acts.done == 2 && !is_committed) {
        return Err(format!("{staged} files are staged, and not {expected:?}"));
    }
    let Some(id) = open else { return Ok(()) };
    // Somebody else changes another line of what was staged upon: both changes are kept.
    let other = scripts::request(vec![scripts::replaces("long", "5 one", "5 two")]);
    run(|run| engine.apply(&other, run)).map_err(told)?;
    run(|run| engine.commit_staged(&id, None, None, run)).map_err(told).map(drop)
}

/// Stages two edits of a file and a deletion, and commits one of the edits; the rest is committed in a third act.
pub(crate) fn in_parts() -> Script {
    let long = scripts::edits("long", &[("1 one", "1 two"), ("5 one", "5 two")]);
    let staged = scripts::request(vec![long, scripts::deletes("b")]);
    let script = Script::new("committed in parts", with_a_long_one);
    let script = script.then(move |engine| run(|run| engine.stage(&staged, None, run)).map(drop));
    let script = script.then(|engine| {
        let id = open_id(engine)?.unwrap_or_default();
        let plan_hash = run(|run| engine.review(&id, None, run))?.preview.plan_hash;
        let first = SelectedFile::Runs(vec![TakenRuns { runs: 0..1, instead: None }]);
        let selection = Selection { plan_hash, files: vec![first, SelectedFile::Nothing], keeps_rest: true };
        run(|run| engine.commit_selected(&id, &selection, None, run)).map(drop)
    });
    let script = script.then(|engine| {
        let id = open_id(engine)?.unwrap_or_default();
        run(|run| engine.commit_staged(&id, None, None, run)).map(drop)
    });
    script.witness(nothing_of_it_is_lost)
}

/// The transactions that had been open, the newest first, each with the number of its files.
fn commits(engine: &Engine) -> Result<Vec<usize>> {
    let logged = engine.log(usize::MAX, None)?.into_iter().filter(|logged| logged.opened.is_some());
    Ok(logged.map(|logged| logged.files.len()).collect())
}

/// Whatever is open is committed, one after the other: all that was staged is done then, once.
fn nothing_of_it_is_lost(engine: &Engine, acts: Acts) -> std::result::Result<(), String> {
    let told = |error: txedit::Error| error.to_string();
    let before = commits(engine).map_err(told)?;
    if acts.done >= 2 && before == [1] && open_id(engine).map_err(told)?.is_none() {
        return Err("the rest was told to be open, and is not".to_owned());
    }
    run(|run| engine.close_committed(run)).map_err(told)?;
    let mut opened = 0;
    while let Some(id) = open_id(engine).map_err(told)? {
        run(|run| engine.commit_staged(&id, None, None, run)).map_err(told)?;
        opened += 1;
    }
    let after = commits(engine).map_err(told)?;
    // In two parts, the last of which has the deletion, or all at once; or it was never staged.
    let is_all = match &after[..] {
        [2, 1] | [2] => true,
        [] => acts.done == 0 && opened == 0,
        _ => false,
    };
    // No part of it is lost, and the second act, once it was reported, made one of one edit.
    let keeps = after.ends_with(&before) && (acts.done < 2 || after == [2, 1]) && (acts.done < 3 || opened == 0);
    if is_all && keeps { Ok(()) } else { Err(format!("{before:?} before, {after:?} after {opened} that were open")) }
}

#[test]
fn what_is_committed_in_parts_is_lost_in_no_part_by_a_crash() {
    explore_once(&in_parts());
    explore_once(&as_on_fuse(&in_parts()));
}

#[test]
fn what_is_staged_in_two_calls_survives_crashes() {
    explore_once(&in_three_acts());
    explore_once(&as_on_fuse(&in_three_acts()));
}

#[test]
fn what_is_staged_first_in_a_workspace_survives_crashes() {
    explore_once(&in_three_acts().cold().named("cold"));
}

#[test]
fn what_is_staged_and_dropped_leaves_files_old() {
    explore_once(&dropped());
}

#[test]
fn what_is_staged_and_committed_is_old_or_new_after_a_crash() {
    explore_once(&committed());
}
