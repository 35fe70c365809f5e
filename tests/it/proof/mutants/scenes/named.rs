//! Journals that have only their first name, and some that are damaged after they got the next one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use txedit::fs::sim::{Action, Policy, SimFs};
use txedit::testing::Errno;
use txedit::testing::internals::commit::Protocol;
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::{RecoverOptions, Run};

use super::{ALL, Scene, engine, has_state, images, plain, recover, settled};
use crate::proof::explore::scripts::{creates, replaces, request};

/// The first barrier of a commit fails, so that its pages count as clean and are never written, and its process is killed.
/// On no disk that a power loss leaves of the recovery in the same boot a person is asked: nothing was ever swapped.
pub(crate) fn a_barrier_that_failed(protocol: &'static Protocol) -> Scene {
    let machine = settled(|_| ());
    let has_failed = AtomicBool::new(false);
    machine.set_hook(move |call| match call.verb {
        "sync_file_system" if !has_failed.swap(true, Ordering::Relaxed) => Action::Fail(Errno::IO),
        _ if has_failed.load(Ordering::Relaxed) && call.mutates => Action::Kill,
        _ => Action::Continue,
    });
    engine(&machine, 2, protocol, plain)
        .apply(&request(vec![replaces("a", "one", "two")]), Run::default())
        .unwrap_err();
    machine.kill(2);
    assert!(has_state(&machine.tree(), "txn", "journal.new"));
    let cuts: Arc<Mutex<Vec<SimFs>>> = Arc::default();
    let (kept, acting) = (Arc::clone(&cuts), machine.clone());
    machine.set_hook(move |call| {
        if call.mutates {
            kept.lock().unwrap().push(acting.fork());
        }
        Action::Continue
    });
    engine(&machine, 3, protocol, plain).recover(None, RecoverOptions::default()).unwrap();
    machine.clear_hook();
    for image in std::mem::take(&mut *cuts.lock().unwrap()).iter().flat_map(images) {
        let recovered = recover(&SimFs::from_image(&image), protocol);
        if recovered.iter().any(|one| one.required) {
            return Err(format!("a person is asked about what was never swapped: {recovered:?}; {image}"));
        }
    }
    Ok(())
}

/// A power loss takes the rename to the journal's second name, and not the swap, of a file that is made. While that is
/// recovered somebody removes the file. What is reported as dropped is not committed after another power loss.
pub(crate) fn a_drop_that_comes_back(protocol: &'static Protocol) -> Scene {
    let machine = settled(|_| ());
    let cut: Arc<Mutex<Option<SimFs>>> = Arc::default();
    let (kept, acting) = (Arc::clone(&cut), machine.clone());
    machine.set_hook(move |call| {
        if call.to.is_some_and(|to| to.ends_with("journal.done")) {
            *kept.lock().unwrap() = Some(acting.fork());
        }
        Action::Continue
    });
    engine(&machine, 2, &PROTOCOL, plain).apply(&request(vec![creates("new", "new\n")]), Run::default()).unwrap();
    machine.clear_hook();
    let cut = cut.lock().unwrap().take().expect("it was done");
    let has_lost_a_name = |tree: &_| super::content(tree, "/w/new").is_some() && has_state(tree, "txn", "journal.new");
    let image = images(&cut).into_iter().find(|image| has_lost_a_name(&image.tree()));
    let machine = SimFs::from_image(&image.expect("such a disk is possible"));
    let (acting, syncs) = (machine.clone(), AtomicUsize::new(0));
    machine.set_hook(move |call| {
        if syncs.load(Ordering::Relaxed) == 1 && acting.exists("/w/new") {
            acting.delete("/w/new").unwrap();
        }
        let is_sync = call.verb == "sync_file_system";
        // Only what was seen is durable.
        let fails = is_sync && syncs.fetch_add(1, Ordering::Relaxed) > 0;
        if fails { Action::Fail(Errno::IO) } else { Action::Continue }
    });
    // It has nothing to commit of its own, so that no barrier follows.
    let edit = request(vec![replaces("new", "absent", "x")]);
    let error = engine(&machine, 3, protocol, plain).apply(&edit, Run::default()).unwrap_err();
    machine.clear_hook();
    let told = format!("{error:?}");
    if !told.contains("was recovered first: dropped") {
        return Ok(());
    }
    for image in images(&machine) {
        let after = SimFs::from_image(&image);
        let recovered = recover(&after, &PROTOCOL);
        if after.exists("/w/new") {
            return Err(format!("reported as dropped, and committed now: {told}, then {recovered:?}; {image}"));
        }
    }
    Ok(())
}

/// A medium damages a journal after the first barrier, and the power goes: nothing but all or nothing is left without a
/// person being asked, on a file system whose metadata is durable in the order of the calls.
pub(crate) fn a_journal_that_is_damaged(protocol: &'static Protocol) -> Scene {
    let machine = settled(|_| ());
    let cuts: Arc<Mutex<Vec<SimFs>>> = Arc::default();
    let (kept, acting, is_through) = (Arc::clone(&cuts), machine.clone(), AtomicBool::new(false));
    machine.set_hook(move |call| {
        if is_through.load(Ordering::Relaxed) && call.mutates {
            kept.lock().unwrap().push(acting.fork());
        }
        is_through.fetch_or(call.verb == "sync_file_system", Ordering::Relaxed);
        Action::Continue
    });
    let files = ["x", "y"].map(|path| creates(path, "new\n"));
    engine(&machine, 2, protocol, plain).apply(&request(files.to_vec()), Run::default()).unwrap();
    machine.clear_hook();
    let cuts = std::mem::take(&mut *cuts.lock().unwrap());
    let mut damaged = 0;
    for image in cuts.iter().flat_map(|cut| cut.images(Policy::OrderedMetadata, ALL, 1)) {
        let after = SimFs::from_image(&image);
        let is_journal = |name: &std::path::Path| {
            name.starts_with("/w/.txedit/txn")
                && name.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"journal"))
        };
        let Some((path, journal)) = after.tree().into_iter().find(|(path, _)| is_journal(path)) else { continue };
        let mut bytes = journal.content.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        after.write_in_place(&path, bytes).unwrap();
        after.sync_everything();
        damaged += 1;
        let recovered = recover(&after, protocol);
        let is_asked = recovered.iter().any(|one| one.required);
        if !is_asked && after.exists("/w/x") != after.exists("/w/y") {
            return Err(format!("some is new and some is old, and nobody is told: {recovered:?}; {image}"));
        }
    }
    assert!(damaged > 3, "{damaged}");
    Ok(())
}
