//! Writes into what was rolled back or pruned, by a program that still has it open: told by `status`, and never deleted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::report::Pruned;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::{ForeignDeed, Script};
use txedit::{Engine, Retention, Run, Settings};

use super::explore;
use crate::proof::explore::scripts::{self, creates, deletes, replaces, request};

const LATE: &str = "late\n";

/// Somebody opens what the transaction puts in place, and writes later.
pub(crate) fn late_writers() -> Vec<(&'static str, ForeignDeed)> {
    ["/w/a", "/w/sub/new"].map(|path| (path, ForeignDeed::AppendToNew(LATE.into()))).into()
}

/// A check fails, and then something else is committed.
pub(crate) fn rejected_then_committed() -> Script {
    let next = request(vec![replaces("c", "one", "two")]);
    scripts::three_checked(|_| false).named("rejected").apply(next)
}

#[test]
fn what_is_written_into_rejected_content_is_kept() {
    explore(&rejected_then_committed(), &late_writers(), 12);
}

#[test]
fn what_is_written_into_content_that_goes_back_for_another_program_is_kept() {
    let deeds: Vec<_> = late_writers().into_iter().chain(super::creations("/w/sub/new", "new two\n")).collect();
    let started = std::time::Instant::now();
    let found = super::explorer().explore_two_deeds(&scripts::three(), &deeds, crate::proof::explore::share(60_000));
    let found = found.unwrap_or_else(|violation| panic!("{violation}"));
    eprintln!("two deeds, one of them late: {found}, in {:.1} s", started.elapsed().as_secs_f32());
}

fn engine_at(root: &str, machine: &SimFs, pid: u32, protocol: &'static Protocol) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).program("late");
    Engine::with_fs(Arc::new(machine.process(pid)), Path::new(root), settings).unwrap().with_protocol(protocol)
}

fn engine(machine: &SimFs, pid: u32, protocol: &'static Protocol) -> Engine {
    engine_at("/w", machine, pid, protocol)
}

/// A workspace with files that are old enough for their times to prove something.
fn workspace() -> SimFs {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    scripts::files(&machine);
    machine
}

/// Commits an edit of `a` and a deletion of `b`, and prunes all of history; somebody who has both open from before writes
/// into `a` in the moment in which its original comes to the trash.
pub(crate) fn pruned(protocol: &'static Protocol) -> Result<(), String> {
    let machine = workspace();
    let held = machine.open("/w/a").unwrap();
    let files = vec![replaces("a", "one", "two"), deletes("b"), creates("sub/new", "new two\n")];
    engine(&machine, 2, protocol).apply(&request(files), Run::default()).unwrap();
    let (acting, has_written) = (machine.clone(), AtomicBool::new(false));
    machine.set_hook(move |_| {
        let in_trash = |path: &Path| path.starts_with("/w/.txedit/trash") && path.ends_with("000000");
        let is_moved = acting.tree().keys().any(|path| in_trash(path));
        if is_moved && !has_written.swap(true, Ordering::Relaxed) {
            held.append(LATE.as_bytes()).unwrap();
        }
        Action::Continue
    });
    let none = Retention::default().count(0);
    let Pruned { ids, bytes, left, .. } = engine(&machine, 3, protocol).prune(&none).unwrap();
    machine.clear_hook();
    let kept = engine(&machine, 3, protocol).kept().unwrap();
    let contents: Vec<_> = kept.iter().flat_map(|kept| &kept.contents).map(|kept| kept.kept_path.clone()).collect();
    let is_kept = contents.len() == 1 && machine.read(&contents[0]).is_ok_and(|content| content == b"a one\nlate\n");
    if is_kept && ids.is_empty() && bytes == 0 && left == [kept[0].id.clone()] {
        return Ok(());
    }
    Err(format!("what was written late is not kept: {kept:?}; pruned {ids:?}, left {left:?}"))
}

#[test]
fn what_is_written_while_history_is_pruned_is_kept() {
    pruned(&PROTOCOL).unwrap();
}

#[test]
fn a_kept_content_that_is_dropped_is_gone() {
    let machine = workspace();
    let held = machine.open("/w/a").unwrap();
    let engine = engine(&machine, 2, &PROTOCOL);
    engine.apply(&request(vec![replaces("a", "one", "two")]), Run::default()).unwrap();
    held.append(LATE.as_bytes()).unwrap();
    let pruned = engine.prune(&Retention::default().count(0)).unwrap();
    engine.kept_drop(&pruned.left[0]).unwrap();
    assert_eq!(engine.kept().unwrap().len(), 0);
    // The id alone may still be that of the newest.
    let is_of_it = |path: &&PathBuf| path.iter().any(|part| part == pruned.left[0].as_str());
    let left = machine.tree().keys().filter(is_of_it).count();
    assert_eq!(left, 0, "{:?}", machine.tree());
}

#[test]
fn a_copy_of_the_trash_is_told_by_its_contents() {
    let machine = workspace();
    let settled = engine(&machine, 2, &PROTOCOL);
    settled.apply(&request(vec![creates("warm", "warm\n")]), Run::default()).unwrap();
    let acting = machine.clone();
    machine.set_hook(move |call| {
        if call.verb == "rename" && call.path.ends_with("000001") && !acting.exists("/w/sub/new") {
            acting.create("/w/sub/new", "in the way\n").unwrap();
        }
        Action::Continue
    });
    let files = vec![replaces("a", "one", "two"), creates("sub/new", "new two\n")];
    settled.apply(&request(files), Run::default()).unwrap_err();
    machine.clear_hook();
    for (path, entry) in machine.tree() {
        let Ok(path) = path.strip_prefix("/w") else { continue };
        let to = Path::new("/copy").join(path);
        match entry.kind {
            txedit::fs::FileKind::Folder => machine.make_folders(&to).unwrap(),
            _ => machine.create(&to, entry.content).unwrap(),
        }
        machine.set_mode(&to, entry.mode).unwrap();
    }
    machine.advance(Duration::from_secs(60 * 60));
    let in_trash =
        |machine: &SimFs| machine.tree().keys().filter(|path| path.starts_with("/copy/.txedit/trash")).count() - 1;
    assert_ne!(in_trash(&machine), 0, "something was rolled back");
    let copy = engine_at("/copy", &machine, 4, &PROTOCOL);
    let report = copy.apply(&request(vec![replaces("c", "one", "two")]), Run::default()).unwrap();
    assert_eq!((report.warnings.len(), in_trash(&machine)), (0, 0), "{:?}", report.warnings);
}
