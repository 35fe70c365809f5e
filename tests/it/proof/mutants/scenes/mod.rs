//! Scenes for the mutants that no single crash and no single foreign program shows. Each is played by the protocol as it
//! is, which must come through, and by a broken one, which must not.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use txedit::fs::Fs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, Image, Policy, SimFs, SimTree};
use txedit::report::{Recovered, RecoveryAction};
use txedit::testing::internals::commit::Protocol;
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::{Durability, Engine, RecoverOptions, Run, Settings, UndoOptions};

use crate::proof::explore::scripts::{self, creates, makes, removes, replaces, request};

mod kept;
mod lost;
mod named;
mod torn;

pub(super) use kept::{
    a_trash_that_comes_back, no_sync_of_what_is_kept, pruned, trash_not_synced, what_a_commit_keeps,
    what_a_person_discards, what_a_rollback_keeps,
};
pub(super) use lost::{
    a_report_on_ext4, an_adopted_journal, an_original_that_was_not_durable, sections_removed, staged_in_two_calls,
};
pub(super) use named::{a_barrier_that_failed, a_drop_that_comes_back, a_journal_that_is_damaged};
pub(super) use torn::written_into_a_new_file_that_is_rolled_back;

/// What a scene came to, or the promise that was broken.
pub(super) type Scene = Result<(), String>;
/// Puts something between an engine and the machine.
pub(super) type Wrap = fn(Arc<dyn Fs>) -> Arc<dyn Fs>;

/// Nothing.
pub(super) fn plain(fs: Arc<dyn Fs>) -> Arc<dyn Fs> {
    fs
}

const THEIRS: &[u8] = b"somebody else's\n";
/// As many images as there are: the scenes are small.
const ALL: usize = 20_000;

fn settings(durability: Durability) -> Settings {
    let program = "mutants".to_owned();
    Settings::default().durability(durability).lock_timeout(Duration::ZERO).program(program)
}

fn engine_at(root: &str, fs: Arc<dyn Fs>, protocol: &'static Protocol) -> Engine {
    Engine::with_fs(fs, Path::new(root), settings(Durability::Power)).unwrap().with_protocol(protocol)
}

fn engine(machine: &SimFs, pid: u32, protocol: &'static Protocol, wrap: Wrap) -> Engine {
    engine_at("/w", wrap(Arc::new(machine.process(pid))), protocol)
}

/// A workspace whose state folder is there and in which everything is durable.
fn settled(prepare: fn(&SimFs)) -> SimFs {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    prepare(&machine);
    scripts::files(&machine);
    engine(&machine, 1, &PROTOCOL, plain).apply(&request(vec![creates("warm", "warm\n")]), Run::default()).unwrap();
    machine.kill(1);
    machine.advance(Duration::from_secs(60));
    machine.sync_everything();
    machine
}

/// The first commit in a workspace.
pub(super) fn first_commit(fs: Arc<dyn Fs>) {
    engine_at("/w", fs, &PROTOCOL).apply(&request(vec![replaces("a", "one", "two")]), Run::default()).unwrap();
}

fn recover(machine: &SimFs, protocol: &'static Protocol) -> Vec<Recovered> {
    let recovered = engine(machine, 3, protocol, plain).recover(None, RecoverOptions::default()).unwrap();
    machine.kill(3);
    recovered
}

fn images(machine: &SimFs) -> Vec<Image> {
    machine.images(Policy::Unordered, ALL, 1).images
}

fn content<'t>(tree: &'t SimTree, path: &str) -> Option<&'t [u8]> {
    tree.get(Path::new(path)).map(|entry| &*entry.content)
}

/// Whether there is a file of the state folder whose path has these parts.
fn has_state(tree: &SimTree, section: &str, name: &str) -> bool {
    let section = Path::new("/w/.txedit").join(section);
    tree.keys().any(|path| path.starts_with(&section) && path.ends_with(name))
}

/// Whether a content is where its owner finds it: at a path, or in `kept/`.
fn in_reach(tree: &SimTree, wanted: &[u8]) -> bool {
    let state = Path::new("/w/.txedit");
    let kept = state.join("kept");
    tree.iter().any(|(path, entry)| entry.content == wanted && (!path.starts_with(state) || path.starts_with(&kept)))
}

/// Recovers every disk that a power loss may leave of these machines. A foreign content that is somewhere on a disk must
/// be in reach after that.
fn theirs_survives(cuts: &[SimFs], protocol: &'static Protocol) -> Scene {
    assert!(!cuts.is_empty(), "the scene was not played");
    for cut in cuts {
        for image in images(cut) {
            let machine = SimFs::from_image(&image);
            if !machine.tree().values().any(|entry| entry.content == THEIRS) {
                continue;
            }
            let recovered = recover(&machine, protocol);
            let waits = recovered.iter().any(|report| report.required);
            if !waits && !in_reach(&machine.tree(), THEIRS) {
                return Err(format!("what somebody wrote is out of reach; {image}; {recovered:?}"));
            }
        }
    }
    Ok(())
}

/// Stops a commit of `b` and `c` at its second barrier and takes the disk on which it is marked done, while of its swaps
/// only that of `b` is there.
fn done_with_a_swap_lost() -> SimFs {
    let machine = settled(|_| ());
    let cut: Arc<Mutex<Option<SimFs>>> = Arc::default();
    let (kept, acting, syncs) = (Arc::clone(&cut), machine.clone(), AtomicUsize::new(0));
    machine.set_hook(move |call| {
        if call.verb == "sync_file_system" && syncs.fetch_add(1, Ordering::Relaxed) == 1 {
            *kept.lock().unwrap() = Some(acting.fork());
        }
        Action::Continue
    });
    let files = vec![replaces("b", "one", "two"), replaces("c", "one", "two")];
    engine(&machine, 2, &PROTOCOL, plain).apply(&request(files), Run::default()).unwrap();
    machine.clear_hook();
    let wanted = |image: &Image| {
        let tree = image.tree();
        let swapped = [content(&tree, "/w/b"), content(&tree, "/w/c")];
        has_state(&tree, "txn", "journal.done") && swapped == [Some(&b"b two\n"[..]), Some(&b"c one\n"[..])]
    };
    let cut = cut.lock().unwrap().take().unwrap();
    SimFs::from_image(&images(&cut).into_iter().find(wanted).expect("such a disk is possible"))
}

/// A transaction is marked done, and one swap is lost. While it is recovered somebody writes the file that is not
/// swapped, so that the recovery goes back; then somebody writes the file that was rolled back; then the power goes, and
/// takes the first writing and the rollback with it.
pub(super) fn written_after_it_was_rolled_back(protocol: &'static Protocol) -> Scene {
    let machine = done_with_a_swap_lost();
    let cuts: Arc<Mutex<Vec<SimFs>>> = Arc::default();
    let (kept, acting, act) = (Arc::clone(&cuts), machine.clone(), AtomicUsize::new(0));
    machine.set_hook(move |call| {
        match act.load(Ordering::Relaxed) {
            0 if call.verb == "sync_file_system" => act.store(1, Ordering::Relaxed),
            1 => {
                acting.write_in_place("/w/c", b"in the way\n").unwrap();
                act.store(2, Ordering::Relaxed);
            }
            2 if acting.read("/w/b").unwrap() == b"b one\n" => {
                acting.write_in_place("/w/b", THEIRS).unwrap();
                act.store(3, Ordering::Relaxed);
            }
            _ => {}
        }
        if act.load(Ordering::Relaxed) == 3 && call.mutates {
            kept.lock().unwrap().push(acting.fork());
        }
        Action::Continue
    });
    recover(&machine, protocol);
    machine.clear_hook();
    let cuts = std::mem::take(&mut *cuts.lock().unwrap());
    theirs_survives(&cuts, protocol)
}

/// Others write a file of an undo of several while its swaps are made durable, and the power goes: where a recovery goes
/// back, a folder that was removed and made again has the mode that it had before the undo.
pub(super) fn an_undo_that_gives_a_folder_its_mode_back(protocol: &'static Protocol) -> Scene {
    let machine = settled(|machine| {
        machine.make_folder("/w/k").unwrap();
        machine.set_mode("/w/k", 0o2770).unwrap();
    });
    let first = engine(&machine, 2, &PROTOCOL, plain);
    let since = first.log(1, None).unwrap().remove(0).id;
    first.apply(&request(vec![replaces("a", "one", "two"), removes("k")]), Run::default()).unwrap();
    first.apply(&request(vec![makes("k")]), Run::default()).unwrap();
    machine.sync_everything();
    let cut: Arc<Mutex<Option<SimFs>>> = Arc::default();
    let (kept, acting, syncs) = (Arc::clone(&cut), machine.clone(), AtomicUsize::new(0));
    machine.set_hook(move |call| {
        if call.verb == "sync_file_system" && syncs.fetch_add(1, Ordering::Relaxed) == 1 {
            acting.write_in_place("/w/a", THEIRS).unwrap();
            *kept.lock().unwrap() = Some(acting.fork());
        }
        Action::Continue
    });
    let undoing = engine(&machine, 3, protocol, plain);
    undoing.undo_since(&since, &|_, _| true, &UndoOptions::default(), Run::default()).unwrap();
    machine.clear_hook();
    let cut = cut.lock().unwrap().take().expect("the scene was played");
    for image in images(&cut) {
        let after = SimFs::from_image(&image);
        let recovered = engine(&after, 4, protocol, plain).recover(None, RecoverOptions::default());
        let recovered = recovered.map_err(|error| format!("{error}; {image}"))?;
        let is_back = recovered.iter().any(|one| one.action != RecoveryAction::Committed);
        let mode = after.stat("/w/k").unwrap().mode;
        if is_back && mode != 0o755 {
            return Err(format!("the undo was rolled back, and k has mode {mode:o}: {recovered:?}; {image}"));
        }
    }
    Ok(())
}

/// Leaves out the first sync of the file system.
pub(super) fn no_first_sync(fs: Arc<dyn Fs>) -> Arc<dyn Fs> {
    let faults = FaultFs::new(fs);
    faults.add(Rule::pretend(1).of(FaultOperation::SyncFileSystem));
    Arc::new(faults)
}

fn kill_at_the_second_swap(machine: &SimFs) {
    machine.set_hook(|call| {
        let is_swap = call.verb == "rename" && call.path.ends_with("000001");
        if is_swap { Action::Kill } else { Action::Continue }
    });
}

/// A commit that was to be safe against kills alone is killed between its swaps. Once its recovery has begun to change
/// something, a power loss leaves all or nothing of it, too: what it decided by is durable.
pub(super) fn recovered_from_the_page_cache(wrap: Wrap) -> Scene {
    let machine = settled(|_| ());
    kill_at_the_second_swap(&machine);
    let files = vec![replaces("b", "one", "two"), replaces("c", "one", "two")];
    let settings = settings(Durability::Process);
    let quick = Engine::with_fs(Arc::new(machine.process(2)), Path::new("/w"), settings).unwrap();
    quick.apply(&request(files), Run::default()).unwrap_err();
    let cuts: Arc<Mutex<Vec<SimFs>>> = Arc::default();
    let (kept, acting, has_begun) = (Arc::clone(&cuts), machine.clone(), AtomicBool::new(false));
    machine.set_hook(move |call| {
        if has_begun.load(Ordering::Relaxed) && call.mutates {
            kept.lock().unwrap().push(acting.fork());
        }
        // From its first change on: before its sync nothing was promised.
        has_begun.fetch_or(call.verb == "rename", Ordering::Relaxed);
        Action::Continue
    });
    engine(&machine, 3, &PROTOCOL, wrap).recover(None, RecoverOptions::default()).unwrap();
    machine.clear_hook();
    let cuts = std::mem::take(&mut *cuts.lock().unwrap());
    assert!(!cuts.is_empty(), "the scene was not played");
    for image in cuts.iter().flat_map(images) {
        let after = SimFs::from_image(&image);
        let recovered = recover(&after, &PROTOCOL);
        let now = ["/w/b", "/w/c"].map(|path| after.read(path).unwrap());
        if now != [&b"b one\n"[..], b"c one\n"] && now != [&b"b two\n"[..], b"c two\n"] {
            return Err(format!("neither all-old nor all-new: {now:?}; {image}; {recovered:?}"));
        }
    }
    Ok(())
}

/// A transaction is marked done, and one swap is lost. Somebody writes the file in the moment in which recovery swaps it.
pub(super) fn written_before_the_last_swap(protocol: &'static Protocol) -> Scene {
    let machine = done_with_a_swap_lost();
    let (acting, first) = (machine.clone(), AtomicBool::new(true));
    machine.set_hook(move |call| {
        if call.verb == "rename" && call.path.ends_with("000001") && first.swap(false, Ordering::Relaxed) {
            acting.write_in_place("/w/c", THEIRS).unwrap();
        }
        Action::Continue
    });
    let recovered = recover(&machine, protocol);
    machine.clear_hook();
    if in_reach(&machine.tree(), THEIRS) {
        return Ok(());
    }
    Err(format!("what somebody wrote is out of reach: {recovered:?}"))
}

/// Kills a commit of `b` and `c` between its swaps.
fn killed_between_two_swaps() -> SimFs {
    let machine = settled(|_| ());
    kill_at_the_second_swap(&machine);
    let files = vec![replaces("b", "one", "two"), replaces("c", "one", "two")];
    engine(&machine, 2, &PROTOCOL, plain).apply(&request(files), Run::default()).unwrap_err();
    machine.clear_hook();
    machine
}

/// The same with a copy of the workspace.
fn copied_between_two_swaps() -> SimFs {
    let machine = killed_between_two_swaps();
    for (path, entry) in machine.tree() {
        let Ok(path) = path.strip_prefix("/w") else { continue };
        let to = Path::new("/copy").join(path);
        match entry.kind {
            txedit::fs::FileKind::Folder => machine.make_folders(to).unwrap(),
            _ => machine.create(to, entry.content).unwrap(),
        }
    }
    machine
}

/// Somebody copies a state folder in mid-commit, brings the copy back after the recovery, and puts a file back by hand. That stays.
pub(super) fn a_stale_copy(protocol: &'static Protocol) -> Scene {
    let machine = copied_between_two_swaps();
    engine_at("/w", Arc::new(machine.process(3)), protocol).recover(None, RecoverOptions::default()).unwrap();
    // A backup of the state folder is brought back into the same workspace.
    machine.rename("/w/.txedit", "/gone").unwrap();
    machine.rename("/copy/.txedit", "/w/.txedit").unwrap();
    machine.write_in_place("/w/c", "c one\n").unwrap();
    let files = |machine: &SimFs| ["b", "c"].map(|name| machine.read(Path::new("/w").join(name)).unwrap());
    let before = files(&machine);
    let engine = engine_at("/w", Arc::new(machine.process(4)), protocol);
    let recovered = engine.recover(None, RecoverOptions::default()).unwrap();
    if files(&machine) == before {
        return Ok(());
    }
    Err(format!("a journal that was copied was acted on: {recovered:?}"))
}

/// A process waits for the locks of one that is killed between two swaps, after it looked for interrupted transactions.
/// What it asks fits only a mixture.
pub(super) fn a_waiter(protocol: &'static Protocol) -> Scene {
    let machine = settled(|_| ());
    let waiter = Arc::new(Mutex::new(None));
    let (acting, answer) = (machine.clone(), Arc::clone(&waiter));
    machine.set_hook(move |call| {
        if call.process == 2 && call.verb == "rename" && call.path.ends_with("000001") {
            let faults = FaultFs::new(Arc::new(acting.process(4)));
            let machine = acting.clone();
            let waits = |call: &FaultCall| call.operation == FaultOperation::TryLock && call.path == Path::new("/w");
            faults.add(Rule::before(1, move |_| machine.kill(2)).matching(waits));
            let files = vec![replaces("b", "two", "three"), replaces("c", "one", "three")];
            let applied = engine_at("/w", Arc::new(faults), protocol).apply(&request(files), Run::default());
            *answer.lock().unwrap() = Some(applied.map(drop));
        }
        Action::Continue
    });
    let files = vec![replaces("b", "one", "two"), replaces("c", "one", "two")];
    engine(&machine, 2, &PROTOCOL, plain).apply(&request(files), Run::default()).unwrap_err();
    machine.clear_hook();
    let applied = waiter.lock().unwrap().take().expect("the waiter came");
    match applied {
        Err(error) if error.kind() == txedit::ErrorKind::MatchNotFound => Ok(()),
        other => Err(format!("it edited what was half swapped: {other:?}")),
    }
}
