//! Barriers that sync file by file, because that is quicker, or because nothing else reaches the medium: each of their
//! syncs is needed, and a crash shows it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::fault::{FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{SimFs, Volume};
use txedit::testing::{Explorer, Role, Script};

use super::{explore_once, scripts, seeded, so_far};

/// The same script on a file system that syncs a few files quicker than all of it.
pub(crate) fn file_by_file(script: &Script) -> Script {
    script.clone().on(|volume| volume.sync_each = true).named("file by file")
}

/// The same script on a file system that makes metadata durable in the order in which it was changed.
pub(crate) fn in_order(script: &Script) -> Script {
    let ext4 = |volume: &mut Volume| (volume.sync_each, volume.orders) = (true, true);
    script.clone().on(ext4).named("in order")
}

/// The same script where a sync of the file system does nothing.
pub(crate) fn as_on_fuse(script: &Script) -> Script {
    script.clone().on(|volume| volume.syncs_whole = false).named("as on FUSE")
}

/// The same script as on APFS: no call syncs the file system, and the sync of a file reaches the medium as the full one of
/// macOS does.
pub(crate) fn as_on_apfs(script: &Script) -> Script {
    let apfs = |volume: &mut Volume| (volume.syncs_whole, volume.no_whole_sync) = (false, true);
    script.clone().on(apfs).named("as on APFS")
}

/// More files than are synced one by one where there is a choice.
fn many() -> Script {
    let count = txedit::limits::SYNC_EACH_UP_TO + 1;
    let files = move |machine: &SimFs| {
        scripts::files(machine);
        for number in 0..count {
            machine.create(format!("/w/sub/{number}"), format!("{number} one\n")).unwrap();
        }
        machine.advance(Duration::from_secs(60));
    };
    let edits = (0..count).map(|number| scripts::replaces(&format!("sub/{number}"), "one", "two")).collect();
    Script::new("many", files).apply(scripts::request(edits))
}

/// What is explored where each file is synced by itself.
fn various() -> [Script; 7] {
    [
        scripts::edit(),
        scripts::folder(),
        scripts::rename(),
        scripts::three(),
        scripts::edit_and_undo(),
        scripts::edit().cold().named("cold"),
        scripts::three_checked(|machine| machine.write_in_place("/w/a", "formatted a\n").is_ok()).named("a formatter"),
    ]
}

#[test]
fn crashes_on_fuse_leave_old_or_new() {
    for script in various() {
        explore_once(&as_on_fuse(&script));
    }
}

#[test]
fn crashes_on_apfs_leave_old_or_new() {
    for script in various() {
        explore_once(&as_on_apfs(&script));
    }
}

#[test]
fn a_sync_that_ends_in_the_cache_of_the_drive_is_noticed() {
    for script in [scripts::edit(), scripts::pair(), scripts::edit_and_undo()] {
        let script = as_on_apfs(&script).on(|volume| volume.syncs_to_cache = true).named("plain fsync");
        match Explorer::default().explore(&script) {
            Ok(found) => panic!("{script:?} did not notice: {found}"),
            Err(violation) => eprintln!("{script:?}, noticed:\n{violation}"),
        }
    }
}

#[test]
fn crashes_of_a_commit_of_many_files_on_fuse_leave_old_or_new() {
    let script = as_on_fuse(&many().undo());
    let explorer = seeded(Explorer { images: 12, images_in_recovery: 4, depth: 1, ..Explorer::default() });
    match explorer.explore(&script) {
        Ok(found) => eprintln!("{script:?}: {found}; {} so far", so_far(&found)),
        Err(violation) => panic!("{script:?}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer.seed),
    }
}

/// A commit, of which each file is synced by itself, whose syncs of these paths, from the `first` on, sync nothing must be
/// noticed.
fn is_caught_without(script: &Script, first: u64, is_left_out: fn(&Path) -> bool) {
    let script = script.clone().disturb(move |_, role, fs| {
        if role == Role::Recover {
            return fs;
        }
        let faults = FaultFs::new(fs);
        let matches = move |call: &txedit::fs::fault::FaultCall| {
            assert_ne!(call.operation, FaultOperation::SyncFileSystem, "a barrier of the other kind");
            matches!(call.operation, FaultOperation::Sync | FaultOperation::WriteOut) && is_left_out(&call.path)
        };
        faults.add(Rule::pretend(first).matching(matches).from_then_on());
        Arc::new(faults)
    });
    match Explorer::default().explore(&script) {
        Ok(found) => panic!("{script:?} did not notice: {found}"),
        Err(violation) => eprintln!("{script:?}, noticed:\n{violation}"),
    }
}

fn ends_in(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|last| last == name)
}

fn is_transaction(path: &Path) -> bool {
    path.parent().is_some_and(|parent| ends_in(parent, "txn"))
}

#[test]
fn a_missing_sync_of_a_staged_file_is_noticed() {
    is_caught_without(&file_by_file(&scripts::edit()), 1, |path| ends_in(path, "000000"));
}

#[test]
fn a_missing_sync_of_the_transactions_folder_is_noticed() {
    is_caught_without(&file_by_file(&scripts::edit()), 1, is_transaction);
}

#[test]
fn a_missing_sync_of_the_folder_of_transactions_is_noticed() {
    is_caught_without(&file_by_file(&scripts::edit()), 1, |path| ends_in(path, "txn"));
}

#[test]
fn missing_syncs_of_the_second_barrier_are_noticed() {
    // A rename is one operation on two folders: the sync of either makes it durable here, so both are left out.
    let either = |path: &Path| is_transaction(path) || path == Path::new("/w");
    is_caught_without(&file_by_file(&scripts::edit()), 2, either);
}

/// One sync makes everything durable that was written out, and each metadata before it.
#[test]
fn what_is_not_written_out_in_order_is_noticed() {
    let edit = in_order(&scripts::edit());
    is_caught_without(&edit, 1, |path| ends_in(path, "000000"));
    is_caught_without(&edit, 1, |path| ends_in(path, "journal.new"));
    is_caught_without(&edit, 1, is_transaction);
}
