//! Rules of transactions over several file systems, broken.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Policy, SimFs};
use txedit::{Edit, Engine, Retention, Run, Settings};

use super::*;
use crate::proof::explore::several::{pair, three};

/// Syncs of paths of the other file system sync nothing, one by one.
fn without_syncs(script: &Script, are_left_out: fn(&FaultCall) -> bool) -> Script {
    script.clone().disturb(move |_, _, fs| {
        let faults = FaultFs::new(fs);
        let is_sync = move |call: &FaultCall| {
            let is_sync = matches!(call.operation, FaultOperation::Sync | FaultOperation::SyncFileSystem);
            is_sync && call.path.starts_with("/w/m") && are_left_out(call)
        };
        faults.add(Rule::pretend(1).matching(is_sync).from_then_on());
        Arc::new(faults)
    })
}

/// A journal that has its name would wait for ever for what a power loss took.
#[test]
fn a_part_that_is_not_durable_before_the_journal_has_its_name_is_noticed() {
    is_caught(&without_syncs(&pair(), |call| call.operation == FaultOperation::Sync));
}

#[test]
fn a_file_system_that_no_barrier_makes_durable_is_noticed() {
    is_caught(&without_syncs(&pair(), |call| call.operation == FaultOperation::SyncFileSystem));
}

#[test]
fn new_contents_that_are_not_durable_on_all_file_systems_before_the_first_swap_are_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::First));
    is_caught(&three().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

/// Returns whether a power loss after a pruning may bring back what was on the other file system, without what leads to it.
fn leaves_behind(is_broken: bool) -> bool {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.mount("/w/m").unwrap();
    for path in ["/w/a", "/w/m/e"] {
        sim.create(path, "one\n").unwrap();
    }
    sim.advance(Duration::from_secs(60));
    let faults = Arc::new(FaultFs::new(Arc::new(sim.process(1))));
    let engine = Engine::with_fs(faults.clone(), Path::new("/w"), Settings::default()).unwrap();
    let edit = || Edit::replace("one", "two");
    let request = txedit::Request::new().edit("a", edit()).edit("m/e", edit());
    let id = engine.apply(&request, Run::default()).unwrap().transaction.unwrap();
    if is_broken {
        let is_it = |call: &FaultCall| call.operation == FaultOperation::Sync && call.path.ends_with("parts");
        faults.add(Rule::pretend(1).matching(is_it).from_then_on());
    }
    let mut nothing = Retention::default();
    nothing.count = 0;
    engine.prune(&nothing).unwrap();
    sim.images(Policy::Unordered, 300, 1).into_iter().any(|image| {
        let tree = SimFs::from_image(&image).entries("/w").unwrap();
        let is_there = |at: &str| tree.iter().any(|(path, _)| path.ends_with(Path::new(at).join(&id)));
        is_there(".txedit/parts") && !is_there(".txedit/trash") && !is_there(".txedit/history")
    })
}

#[test]
fn a_part_that_comes_back_without_its_transaction_is_noticed() {
    assert!(!leaves_behind(false));
    assert!(leaves_behind(true));
}
