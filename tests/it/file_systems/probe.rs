//! What is found out about file systems of which it is known.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use txedit::fs::fault::{FaultFs, FaultOperation, Rule};
use txedit::fs::{Fs, Name, OsFs};
use txedit::testing::internals::fs::probe::{exchanges, guarantees};

use crate::support::is_without;
use crate::support::mounts::{self, Kind};

/// What each has: sharing copies is what they differ in, and an overlay has what is below it.
fn found(root: &Path, shares: bool) {
    let found = guarantees(root).unwrap();
    assert!(found.exchanges && found.keeps_existing && found.locks && found.attributes, "{found:?}");
    let own = [found.birth_times, found.opens_beneath, found.syncs_whole, found.shares_copies];
    let wanted = if is_without("calls for these") { [false; 4] } else { [true, true, true, shares] };
    assert_eq!(own, wanted, "{found:?}");
    let left = fs::read_dir(root).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != "lost+found").count();
    assert_eq!(left, 0);
}

#[test]
fn linux_file_systems_are_found_to_guarantee_what_they_do() {
    for (kind, shares) in
        [(Kind::Ext4, false), (Kind::Xfs, true), (Kind::Btrfs, true), (Kind::Tmpfs, false), (Kind::Overlay, false)]
    {
        mounts::with(kind, |root| found(root, shares));
    }
}

#[test]
fn fuse_cannot_exchange_names_and_is_left_clean() {
    mounts::with(Kind::Fuse, |root| {
        let found = guarantees(root).unwrap();
        assert!(!found.exchanges, "{found:?}");
        let left = || fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        // FUSE keeps a file that is unlinked while a handle is still being closed, under a hidden name.
        for _ in 0..100 {
            if left().is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{:?} is left", left());
    });
}

#[test]
fn a_file_system_that_ignores_the_flag_is_seen_through() {
    let scratch = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(scratch.path()).unwrap();
    let fs = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let folder = fs.open_folder(&path).unwrap();
    assert!(exchanges(&*fs, &folder).unwrap());
    // Whatever the rename does, this takes it back.
    let (inner, again) = (OsFs::new(), folder.clone());
    fs.add(
        Rule::after(1, move |call| {
            let (from, to) = (call.path.file_name().unwrap(), call.to.as_ref().unwrap().file_name().unwrap());
            inner.rename(Name::new(&again, from), Name::new(&again, to), txedit::fs::Rename::Exchange).unwrap();
        })
        .of(FaultOperation::Rename),
    );
    assert!(!exchanges(&*fs, &folder).unwrap());
    assert!(fs.list(&folder).unwrap().is_empty());
}

#[test]
fn a_probe_that_fails_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let fs = FaultFs::new(Arc::new(OsFs::new()));
    let folder = fs.open_folder(&fs::canonicalize(scratch.path()).unwrap()).unwrap();
    for nth in 1_usize.. {
        fs.reset();
        fs.add(Rule::fail(nth as u64, 5));
        let result = exchanges(&fs, &folder);
        assert!(fs::read_dir(scratch.path()).unwrap().next().is_none(), "{:?}", fs.calls().last());
        if fs.fired() == 0 {
            assert!(result.unwrap());
            break;
        }
        result.unwrap_err();
    }
}
