//! What is reported is there after a power loss.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::SimFs;
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::{RecoverOptions, Request, Run, limits};

use super::{Scene, Wrap, copied_between_two_swaps, engine, engine_at, images, plain, recover, settled};
use crate::proof::explore::scripts::{replaces, request};

/// Somebody wrote a file and synced nothing; a transaction edits it, where each file is synced. After a power loss the
/// undo still gives back what was written. The same where it is one of many files that the request names, and the others stay
/// as they are.
pub(crate) fn an_original_that_was_not_durable(wrap: Wrap) -> Scene {
    let alone = request(vec![replaces("a", "one", "two")]);
    let names = (0..=limits::SYNC_EACH_UP_TO).map(|number| format!("same {number}"));
    let among_many = names.fold(alone.clone(), |request, name| request.write(name, "as it is\n"));
    for request in [alone, among_many] {
        for orders in [false, true] {
            undone_after_a_power_loss(&request, orders, wrap)?;
        }
    }
    Ok(())
}

fn undone_after_a_power_loss(request: &Request, orders: bool, wrap: Wrap) -> Scene {
    let machine = settled(|machine| {
        machine.volume("/w", |volume| volume.sync_each = true).unwrap();
        for number in 0..=limits::SYNC_EACH_UP_TO {
            machine.create(format!("/w/same {number}"), "as it is\n").unwrap();
        }
    });
    machine.volume("/w", |volume| volume.orders = orders).unwrap();
    machine.write_in_place("/w/a", b"a fresh one\n").unwrap();
    machine.advance(Duration::from_secs(60));
    engine(&machine, 2, &PROTOCOL, wrap).apply(request, Run::default()).unwrap();
    for image in images(&machine) {
        let after = SimFs::from_image(&image);
        recover(&after, &PROTOCOL);
        let undone = engine(&after, 4, &PROTOCOL, plain).undo(None, false, Run::default());
        if undone.is_err() || after.read("/w/a").unwrap() != b"a fresh one\n" {
            return Err(format!("the original is lost; {image}; {undone:?}"));
        }
    }
    Ok(())
}

/// A commit where each file is synced: what `log` shows of it survives a power loss, too.
pub(crate) fn a_report_on_ext4(wrap: Wrap) -> Scene {
    let machine = settled(|machine| machine.volume("/w", |volume| volume.sync_each = true).unwrap());
    let labelled = request(vec![replaces("a", "one", "two")]).label("a label");
    engine(&machine, 2, &PROTOCOL, wrap).apply(&labelled, Run::default()).unwrap();
    for image in images(&machine) {
        let tree = image.tree();
        let reports = tree.iter().filter(|(path, _)| path.starts_with("/w/.txedit") && path.ends_with("report.json"));
        if !reports.map(|(_, entry)| String::from_utf8_lossy(&entry.content)).any(|text| text.contains("a label")) {
            return Err(format!("the report is lost; {image}"));
        }
    }
    Ok(())
}

/// Edits staged in two calls: whatever was acknowledged is there after a power loss.
pub(crate) fn staged_in_two_calls(wrap: Wrap) -> Scene {
    let machine = settled(|_| ());
    let engine = engine(&machine, 2, &PROTOCOL, wrap);
    let mut id = None;
    for (calls, path) in [(1, "a"), (2, "b")] {
        id = engine.stage(&request(vec![replaces(path, "one", "two")]), id.as_deref(), Run::default()).unwrap().id;
        let id = id.as_deref().unwrap();
        for image in images(&machine) {
            let after = SimFs::from_image(&image);
            let preview = super::engine(&after, 4, &PROTOCOL, plain).preview(id, Run::default());
            if !matches!(&preview, Ok(preview) if preview.report.files.len() == calls) {
                return Err(format!("what call {calls} staged is lost; {image}; {preview:?}"));
            }
        }
    }
    Ok(())
}

/// Somebody removes the empty sections of the state folder before a commit. After a power loss its undo is there.
pub(crate) fn sections_removed(wrap: Wrap) -> Scene {
    let machine = settled(|_| ());
    let sections = ["history", "kept", "trash", "txn"].map(|section| Path::new("/w/.txedit").join(section));
    for path in machine.tree().keys().rev().filter(|path| sections.iter().any(|section| path.starts_with(section))) {
        machine.delete(path).or_else(|_| machine.delete_folder(path)).unwrap();
    }
    machine.sync_everything();
    engine(&machine, 2, &PROTOCOL, wrap).apply(&request(vec![replaces("a", "one", "two")]), Run::default()).unwrap();
    for image in images(&machine) {
        let after = SimFs::from_image(&image);
        recover(&after, &PROTOCOL);
        let undone = engine(&after, 4, &PROTOCOL, plain).undo(None, false, Run::default());
        if undone.is_err() || after.read("/w/a").unwrap() != b"a one\n" {
            return Err(format!("the original is lost; {image}; {undone:?}"));
        }
    }
    Ok(())
}

/// A person vouches for the journal of a copy: on every disk that a power loss leaves once the one that is written anew
/// has its name, there is one that verifies.
pub(crate) fn an_adopted_journal(wrap: Wrap) -> Scene {
    let machine = copied_between_two_swaps();
    machine.sync_everything();
    let cut: Arc<Mutex<Option<SimFs>>> = Arc::default();
    let (kept, acting) = (Arc::clone(&cut), machine.clone());
    let faults = FaultFs::new(wrap(Arc::new(machine.process(2))));
    let renames = |call: &FaultCall| call.operation == FaultOperation::Rename && call.path.ends_with(".journal");
    faults.add(Rule::after(1, move |_| *kept.lock().unwrap() = Some(acting.fork())).matching(renames));
    let options = RecoverOptions::new().trust_journal(true);
    engine_at("/copy", Arc::new(faults), &PROTOCOL).recover(None, options).unwrap();
    let cut = cut.lock().unwrap().take().expect("it was adopted");
    for image in images(&cut) {
        let tree = image.tree();
        let is_it = |path: &Path| path.starts_with("/copy/.txedit/txn") && path.ends_with("journal");
        let Some((_, journal)) = tree.iter().find(|(path, _)| is_it(path)) else { continue };
        if let Err(why) = txedit::journal::scan(&journal.content) {
            return Err(format!("the journal does not verify: {why:?}; {image}"));
        }
    }
    Ok(())
}
