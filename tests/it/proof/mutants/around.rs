//! Mutants of what stands around the protocol: the state folder, the list of late writes, further attempts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::SimFs;
use txedit::fs::{Fs, Name, Rename};
use txedit::testing::internals::commit::Protocol;
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::{Engine, Report, Result, Retention, Run, Settings};

use super::broken;
use crate::proof::explore::scripts::{self, replaces, request};
use crate::recovery::put_back::moved_to_another_workspace;

fn engine(fs: Arc<dyn Fs>, root: &str) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::from_secs(60)).program("around");
    Engine::with_fs(fs, Path::new(root), settings).unwrap()
}

/// A workspace on a file system that syncs each file more quickly than all of them.
fn machine() -> SimFs {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    machine.volume("/w", |volume| volume.sync_each = true).unwrap();
    scripts::files(&machine);
    machine.advance(Duration::from_secs(60));
    machine
}

/// Somebody puts the state folder of another workspace where this one's would be, in a folder in which others may exchange
/// names: whether an undo there leaves the files alone.
fn a_state_folder_of_another_root(protocol: &'static Protocol) -> bool {
    let machine = machine();
    let edit = request(vec![replaces("a", "one", "two")]);
    engine(Arc::new(machine.process(1)), "/w").apply(&edit, Run::default()).unwrap();
    machine.make_folders("/other").unwrap();
    machine.create("/other/a", machine.read("/w/a").unwrap()).unwrap();
    machine.set_mode("/other", 0o777).unwrap();
    machine.rename("/w/.txedit", "/other/.txedit").unwrap();
    let undone =
        engine(Arc::new(machine.process(2)), "/other").with_protocol(protocol).undo(None, false, Run::default());
    undone.is_err() && machine.read("/other/a").unwrap() == b"a two\n"
}

#[test]
fn an_id_that_is_bound_to_no_root_is_noticed() {
    assert!(a_state_folder_of_another_root(&PROTOCOL));
    let unbound = broken(Protocol { is_bound: |_, _| true, ..PROTOCOL });
    assert!(!a_state_folder_of_another_root(unbound), "it was not noticed");
}

/// Somebody who has the original open writes into it after the commit: whether `status` tells.
fn is_late_write_told(protocol: &'static Protocol) -> bool {
    let machine = machine();
    let held = machine.open("/w/a").unwrap();
    let engine = engine(Arc::new(machine.process(1)), "/w").with_protocol(protocol);
    engine.apply(&request(vec![replaces("a", "one", "two")]), Run::default()).unwrap();
    held.append(b"late\n").unwrap();
    engine.status().unwrap().warnings.iter().any(|warning| warning.contains("still had it open"))
}

#[test]
fn late_writes_that_are_not_looked_for_are_noticed() {
    assert!(is_late_write_told(&PROTOCOL));
    let blind = broken(Protocol { may_go: |_, _, _| true, ..PROTOCOL });
    assert!(!is_late_write_told(blind), "it was not noticed");
}

/// Somebody adds a line in the first attempt, when everything is staged. Answers what came of it, and what was synced.
fn beside_a_writer(attempts: usize, is_parallel: bool) -> (Result<Report>, Vec<String>) {
    let machine = machine();
    engine(Arc::new(machine.process(1)), "/w")
        .apply(&request(vec![replaces("c", "one", "two")]), Run::default())
        .unwrap();
    machine.kill(1);
    let faults = FaultFs::new(Arc::new(machine.process(2)));
    let faults = Arc::new(if is_parallel { faults.in_parallel() } else { faults });
    let named = |call: &FaultCall| call.operation == FaultOperation::Rename && call.path.ends_with("journal.new");
    let acting = machine.clone();
    faults.add(Rule::before(1, move |_| acting.append("/w/a", b"a line\n").unwrap()).matching(named));
    let engine = engine(faults.clone(), "/w").with_attempts(attempts);
    let done = engine.apply(&request(vec![replaces("a", "one", "two"), replaces("b", "one", "two")]), Run::default());
    let syncs = faults.calls().into_iter().filter(|call| call.operation == FaultOperation::Sync);
    let mut synced: Vec<String> = syncs.map(|call| super::syncs::site(&call)).collect();
    synced.sort();
    (done, synced)
}

#[test]
fn a_single_attempt_beside_a_writer_is_noticed() {
    assert_eq!(beside_a_writer(2, false).0.unwrap().attempts, 2);
    beside_a_writer(1, false).0.unwrap_err();
}

#[test]
fn threads_that_sync_together_sync_as_much_as_one() {
    let (one_by_one, expected) = beside_a_writer(2, false);
    let (together, synced) = beside_a_writer(2, true);
    assert_eq!((one_by_one.unwrap().attempts, together.unwrap().attempts), (2, 2));
    let of_originals = synced.iter().filter(|site| ["a", "b"].contains(&site.as_str())).count();
    assert!(of_originals >= 4, "each attempt syncs both: {synced:?}");
    assert_eq!(synced, expected);
}

/// Whether a pruning whose second move fails leaves the newest, which can be undone.
fn is_newest_left(wrap: impl Fn(Arc<dyn Fs>) -> Arc<dyn Fs>) -> bool {
    let machine = machine();
    let fs: Arc<dyn Fs> = Arc::new(machine.process(1));
    for path in ["a", "b"] {
        engine(Arc::clone(&fs), "/w").apply(&request(vec![replaces(path, "one", "two")]), Run::default()).unwrap();
    }
    let faults = FaultFs::new(wrap(Arc::clone(&fs)));
    faults.add(Rule::fail(2, 5).matching(prunes));
    engine(Arc::new(faults), "/w").prune(&Retention::default().count(0)).unwrap_err();
    engine(fs, "/w").undo(None, false, Run::default()).unwrap();
    machine.read("/w/b").unwrap() == b"b one\n"
}

fn prunes(call: &FaultCall) -> bool {
    let is_in = |path: &Path, section: &str| path.parent().is_some_and(|parent| parent.ends_with(section));
    call.operation == FaultOperation::Rename
        && is_in(&call.path, ".txedit/history")
        && call.to.as_ref().is_some_and(|to| is_in(to, ".txedit/trash"))
}

#[test]
fn history_that_is_pruned_newest_first_is_noticed() {
    assert!(is_newest_left(|fs| fs));
    let reversed = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(Arc::clone(&fs));
        let newest_first = move |_: &FaultCall| {
            let open = |section| fs.open_folder(&Path::new("/w/.txedit").join(section)).unwrap();
            let (history, trash) = (open("history"), open("trash"));
            let newest = fs.list(&history).unwrap().into_iter().max().unwrap();
            fs.rename(Name::new(&history, &newest), Name::new(&trash, &newest), Rename::NoReplace).unwrap();
        };
        faults.add(Rule::before(1, newest_first).matching(prunes));
        faults.add(Rule::pretend(1).matching(prunes));
        Arc::new(faults)
    };
    assert!(!is_newest_left(reversed), "it was not noticed");
}

#[test]
#[should_panic(expected = "there is no interrupted transaction")]
fn a_state_folder_that_is_taken_for_one_that_was_never_moved_is_noticed() {
    moved_to_another_workspace(broken(Protocol { was_copied_up: |_, _| true, ..PROTOCOL }));
}
