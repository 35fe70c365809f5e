//! What goes to `kept/`, and what goes to the trash: where it was reported after a power loss, or gone for good.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use txedit::fs::Fs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, SimFs, SimTree};
use txedit::testing::internals::commit::Protocol;
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::{CancelToken, Decision, Observer, Phase, RecoverOptions, Retention, Run};

use super::{Scene, Wrap, engine, has_state, images, killed_between_two_swaps, plain, recover, settled};
use crate::proof::explore::scripts::{creates, deletes, replaces, request};

/// Leaves out all syncs after something was moved to `kept/`.
pub(crate) fn no_sync_of_what_is_kept(fs: Arc<dyn Fs>) -> Arc<dyn Fs> {
    let faults = FaultFs::new(fs);
    let moved = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&moved);
    let keeps = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.to_string_lossy().contains("/kept/"));
    faults.add(Rule::after(1, move |_| moved.store(true, Ordering::Relaxed)).matching(keeps));
    let syncs =
        move |call: &FaultCall| call.operation == FaultOperation::SyncFileSystem && seen.load(Ordering::Relaxed);
    faults.add(Rule::pretend(1).matching(syncs).from_then_on());
    Arc::new(faults)
}

/// A rollback reports what it keeps; a power loss right after that leaves it where it was reported.
pub(crate) fn what_a_rollback_keeps(wrap: Wrap) -> Scene {
    let machine = settled(|_| ());
    let acting = machine.clone();
    machine.set_hook(move |call| {
        // The first swap is that of `a`; a deletion goes the other way.
        let creates = ["000001", "000002"].iter().any(|slot| call.path.ends_with(slot));
        if call.verb == "rename" && creates && !acting.exists("/w/sub/new") {
            acting.replace("/w/a", "on top\n").unwrap();
            acting.create("/w/sub/new", "in the way\n").unwrap();
        }
        Action::Continue
    });
    let files = vec![replaces("a", "one", "two"), creates("sub/new", "new two\n"), deletes("b")];
    let error = engine(&machine, 2, &PROTOCOL, wrap).apply(&request(files), Run::default()).unwrap_err();
    machine.clear_hook();
    assert!(!error.kept().is_empty(), "{error:?}");
    let paths: Vec<&Path> = error.kept().iter().map(|kept| kept.kept_path.as_path()).collect();
    stays_kept(&machine, &paths)
}

/// Somebody opens a file while the new content is there, and writes after it was rolled back. A later commit puts that
/// aside and reports it; a power loss right after that leaves it where it was reported.
pub(crate) fn what_a_commit_keeps(wrap: Wrap) -> Scene {
    let machine = settled(|_| ());
    let (acting, held) = (machine.clone(), Arc::new(Mutex::new(None)));
    let opened = Arc::clone(&held);
    machine.set_hook(move |call| {
        if call.verb == "rename" && call.path.ends_with("000001") && !acting.exists("/w/sub/new") {
            *opened.lock().unwrap() = Some(acting.open("/w/a").unwrap());
            acting.create("/w/sub/new", "in the way\n").unwrap();
        }
        Action::Continue
    });
    let files = vec![replaces("a", "one", "two"), creates("sub/new", "new two\n")];
    engine(&machine, 2, &PROTOCOL, plain).apply(&request(files), Run::default()).unwrap_err();
    machine.clear_hook();
    held.lock().unwrap().take().expect("it was opened").append(b"late\n").unwrap();
    machine.advance(Duration::from_secs(60 * 60));
    let later = engine(&machine, 3, &PROTOCOL, wrap);
    let report = later.apply(&request(vec![creates("later", "later\n")]), Run::default()).unwrap();
    let kept = later.kept().unwrap();
    let paths: Vec<&Path> = kept.iter().flat_map(|kept| &kept.contents).map(|kept| kept.kept_path.as_path()).collect();
    assert!(!paths.is_empty() && report.warnings.iter().any(|told| told.contains("/kept/")), "{report:?}");
    stays_kept(&machine, &paths)
}

fn stays_kept(machine: &SimFs, paths: &[&Path]) -> Scene {
    for image in images(machine) {
        let tree = image.tree();
        if let Some(path) = paths.iter().find(|path| !tree.contains_key(**path)) {
            return Err(format!("reported as kept, and not there after a power loss: {}; {image}", path.display()));
        }
    }
    Ok(())
}

/// A person has an interrupted transaction discarded, one whose journal does not verify where it is `torn`.
pub(crate) fn what_a_person_discards(wrap: Wrap, torn: bool) -> Scene {
    let machine = killed_between_two_swaps();
    let tree = machine.tree();
    let journal = tree.keys().find(|path| path.starts_with("/w/.txedit/txn") && path.ends_with("journal")).unwrap();
    if torn {
        machine.append(journal, "more\n").unwrap();
    }
    let id = journal.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let options = RecoverOptions::new().decision(Decision::Discard);
    engine(&machine, 3, &PROTOCOL, wrap).recover(Some(id), options).unwrap();
    let kept = Path::new("/w/.txedit/kept").join(id);
    stays_kept(&machine, &[&kept])
}

/// Leaves out the sync before the trash is emptied.
pub(crate) fn trash_not_synced(fs: Arc<dyn Fs>) -> Arc<dyn Fs> {
    let faults = FaultFs::new(fs);
    let of_trash = |call: &FaultCall| call.operation == FaultOperation::SyncFileSystem && call.path.ends_with("trash");
    faults.add(Rule::pretend(1).matching(of_trash).from_then_on());
    Arc::new(faults)
}

/// Cancels once everything is staged.
struct CancelsLate(CancelToken);

impl Observer for CancelsLate {
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        if phase == Phase::Stage && done + 1 == total {
            self.0.cancel();
        }
    }
}

/// A disk with a coarse clock that gives numbers of inodes again.
fn coarse(machine: &SimFs) {
    machine.settings(|settings| settings.tick = Duration::ZERO);
    machine.volume("/w", |volume| volume.reuse_inodes = true).unwrap();
}

/// A transaction that was never swapped goes to the trash, which is emptied; a file of somebody else's gets the number of
/// the inode that was staged for the same path; the power goes. The transaction does not come to life again.
/// It was cancelled, or, where it was `killed`, recovered.
pub(crate) fn a_trash_that_comes_back(protocol: &'static Protocol, wrap: Wrap, killed: bool) -> Scene {
    let machine = settled(coarse);
    let files = request(vec![replaces("a", "one", "two"), creates("x", "x two\n")]);
    let staged: Arc<Mutex<Option<SimTree>>> = Arc::default();
    let (kept, acting) = (Arc::clone(&staged), machine.clone());
    machine.set_hook(move |call| {
        // The first barrier is over.
        let is_swap = call.verb == "rename" && call.path.ends_with("000000");
        let is_forgotten = call.verb == "rename" && call.path.parent().is_some_and(|p| p.ends_with("txn"));
        if is_swap || is_forgotten && has_state(&acting.tree(), "txn", "journal") {
            kept.lock().unwrap().get_or_insert_with(|| acting.tree());
        }
        if is_swap { Action::Kill } else { Action::Continue }
    });
    let observer = CancelsLate(CancelToken::new());
    let run = if killed { Run::default() } else { Run::default().cancelled_by(&observer.0).observed_by(&observer) };
    engine(&machine, 2, protocol, plain).apply(&files, run).unwrap_err();
    machine.clear_hook();
    let staged = staged.lock().unwrap().take().expect("it was staged");
    let (_, slot) = staged.iter().find(|(path, _)| path.ends_with("000001")).unwrap();
    engine(&machine, 3, protocol, wrap).recover(None, RecoverOptions::default()).unwrap();
    machine.kill(3);
    let fillers = (0..100).map(|n| format!("/w/filler{n}"));
    for filler in fillers {
        machine.create(&filler, "theirs\n").unwrap();
        if machine.stat(&filler).unwrap().identity == slot.identity {
            machine.rename(&filler, "/w/x").unwrap();
            break;
        }
    }
    assert!(machine.exists("/w/x"), "the number of the inode is free again");
    for image in images(&machine) {
        let after = SimFs::from_image(&image);
        let recovered = recover(&after, protocol);
        if after.read("/w/a").unwrap() != b"a one\n" {
            return Err(format!("what was reported as dropped was done; {image}; {recovered:?}"));
        }
    }
    Ok(())
}

/// History is pruned, and the power goes: what is in history is there with all of its originals.
pub(crate) fn pruned(wrap: Wrap) -> Scene {
    let machine = settled(|_| ());
    let files = vec![replaces("a", "one", "two"), deletes("b")];
    engine(&machine, 2, &PROTOCOL, plain).apply(&request(files), Run::default()).unwrap();
    machine.sync_everything();
    let none = Retention::default().count(0);
    engine(&machine, 3, &PROTOCOL, wrap).prune(&none).unwrap();
    for image in images(&machine) {
        let tree = image.tree();
        let done =
            tree.iter().filter(|(path, _)| path.starts_with("/w/.txedit/history") && path.ends_with("journal.done"));
        for (path, entry) in done {
            let Ok(journal) = txedit::journal::scan(&entry.content) else { continue };
            let originals = journal.entries.numbered().filter(|(_, record)| record.change.before().is_some());
            for (slot, _) in originals {
                let slot = path.with_file_name(txedit::journal::slot_name(slot));
                if !tree.contains_key(&slot) {
                    return Err(format!("in history, and its original is gone: {}; {image}", slot.display()));
                }
            }
        }
    }
    Ok(())
}
