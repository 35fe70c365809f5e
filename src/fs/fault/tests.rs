use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::fs::os::OsFs;

const NO_SPACE: i32 = 28;
const IO: i32 = 5;

fn scratch() -> (tempfile::TempDir, FaultFs, Handle) {
    let scratch = tempfile::tempdir().unwrap();
    let fs = FaultFs::new(Arc::new(OsFs::new()));
    let folder = fs.open_folder(&scratch.path().canonicalize().unwrap()).unwrap();
    fs.reset();
    (scratch, fs, folder)
}

fn make(fs: &FaultFs, folder: &Handle, name: &str) -> Option<i32> {
    fs.make_folder(Name::new(folder, name), 0o700).err().and_then(|error| error.raw_os_error())
}

#[test]
fn a_rule_applies_once_or_from_then_on() {
    let (_scratch, fs, folder) = scratch();
    fs.add(Rule::fail(2, NO_SPACE));
    assert_eq!(["a", "b", "c"].map(|name| make(&fs, &folder, name)), [None, Some(NO_SPACE), None]);
    assert_eq!(fs.fired(), 1);
    fs.add(Rule::fail(2, IO).from_then_on());
    assert_eq!(["d", "e", "f"].map(|name| make(&fs, &folder, name)), [None, Some(IO), Some(IO)]);
    assert_eq!(fs.fired(), 3);
    fs.reset();
    assert_eq!((make(&fs, &folder, "e"), fs.fired(), fs.calls().len()), (None, 0, 1));
}

#[test]
fn only_what_a_rule_is_about_is_counted() {
    let (_scratch, fs, folder) = scratch();
    fs.add(Rule::fail(1, IO).of(FaultOperation::Sync));
    fs.add(Rule::fail(1, NO_SPACE).matching(|call| call.path.ends_with("b")));
    assert_eq!(["a", "b", "b"].map(|name| make(&fs, &folder, name)), [None, Some(NO_SPACE), None]);
    assert_eq!(fs.sync(&folder).unwrap_err().raw_os_error(), Some(IO));
    fs.sync(&folder).unwrap();
}

#[test]
fn a_call_that_fails_afterwards_was_made() {
    let (_scratch, fs, folder) = scratch();
    fs.add(Rule::fail(1, IO));
    fs.add(Rule::fail_after(2, IO));
    assert_eq!(make(&fs, &folder, "not"), Some(IO));
    assert_eq!(make(&fs, &folder, "made"), Some(IO));
    assert_eq!(fs.list(&folder).unwrap(), ["made"]);
}

#[test]
fn a_short_write_moves_so_many_bytes() {
    let (_scratch, fs, folder) = scratch();
    let (file, _guard, _) = fs.create(Name::new(&folder, "file"), 0o600).unwrap();
    let (copy, _guard, _) = fs.create(Name::new(&folder, "copy"), 0o600).unwrap();
    fs.add(Rule::short(1, 3).of(FaultOperation::WriteAt));
    fs.add(Rule::short(1, 2).of(FaultOperation::CopyRange));
    fs.add(Rule::short(1, 1).of(FaultOperation::ReadAt));
    assert_eq!(fs.write_at(&file, 0, b"12345").unwrap(), 3);
    assert_eq!(fs.write_at(&file, 3, b"45").unwrap(), 2);
    assert_eq!(fs.copy_range(&file, 0, &copy, 0, 5).unwrap(), 2);
    let mut buffer = [0; 5];
    assert_eq!(fs.read_at(&file, 0, &mut buffer).unwrap(), 1);
    assert_eq!(fs.read_at(&file, 0, &mut buffer).unwrap(), 5);
    assert_eq!(&buffer, b"12345");
}

#[test]
fn code_that_a_rule_runs_may_use_the_same_file_system() {
    let (_scratch, fs, folder) = scratch();
    let fs = Arc::new(fs);
    let seen = Arc::new(AtomicU64::new(0));
    let (weak, inside, noted) = (Arc::downgrade(&fs), folder.clone(), Arc::clone(&seen));
    fs.add(Rule::before(1, move |call| {
        assert_eq!(call.operation, FaultOperation::MakeFolder);
        let fs = weak.upgrade().unwrap();
        noted.store(1 + fs.list(&inside).unwrap().len() as u64, Ordering::Relaxed);
    }));
    let (weak, inside, noted) = (Arc::downgrade(&fs), folder.clone(), Arc::clone(&seen));
    fs.add(Rule::after(1, move |_| {
        let fs = weak.upgrade().unwrap();
        noted.fetch_add(10 * fs.list(&inside).unwrap().len() as u64, Ordering::Relaxed);
    }));
    assert_eq!(make(&fs, &folder, "a"), None);
    assert_eq!(seen.load(Ordering::Relaxed), 11);
    let told = fs.calls()[0].to_string();
    assert_eq!(told, format!("MakeFolder {}", folder.path().join("a").display()));
}

#[test]
fn a_pretended_sync_is_not_made_and_says_that_it_was() {
    let inner = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let fs = FaultFs::new(Arc::<FaultFs>::clone(&inner));
    let scratch = tempfile::tempdir().unwrap();
    let folder = fs.open_folder(&scratch.path().canonicalize().unwrap()).unwrap();
    let made = |operation| inner.calls().iter().filter(|call| call.operation == operation).count();
    fs.add(Rule::pretend(1));
    fs.sync_file_system(&folder).unwrap();
    fs.sync_file_system(&folder).unwrap();
    assert_eq!((made(FaultOperation::SyncFileSystem), fs.fired()), (1, 1));
    fs.add(Rule::pretend(1).from_then_on());
    assert_eq!((make(&fs, &folder, "a"), fs.sync(&folder).is_ok()), (None, true));
    assert_eq!((made(FaultOperation::MakeFolder), made(FaultOperation::Sync)), (1, 0));
}

#[test]
fn a_pretended_rename_is_not_made() {
    let (_scratch, fs, folder) = scratch();
    assert_eq!(make(&fs, &folder, "a"), None);
    fs.add(Rule::pretend(1).of(FaultOperation::Rename));
    let (from, to) = (Name::new(&folder, "a"), Name::new(&folder, "b"));
    fs.rename(from, to, Rename::NoReplace).unwrap();
    assert_eq!(fs.list(&folder).unwrap(), ["a"]);
}

#[test]
fn hidden_names_and_missed_files_are_not_seen() {
    let (_scratch, fs, folder) = scratch();
    assert_eq!(["a", "b"].map(|name| make(&fs, &folder, name)), [None, None]);
    fs.add(Rule::hide(1, |name| name == "a"));
    fs.add(Rule::miss(1).of(FaultOperation::Stat));
    assert_eq!(fs.list(&folder).unwrap(), ["b"]);
    assert!(fs.stat(Name::new(&folder, "b")).unwrap().is_none());
    assert!(fs.stat(Name::new(&folder, "b")).unwrap().is_some());
    assert_eq!(fs.list(&folder).unwrap().len(), 2);
}

#[test]
fn a_sync_that_failed_is_seen_to_be_tried_again() {
    let (_scratch, fs, folder) = scratch();
    let (one, _guard, _) = fs.create(Name::new(&folder, "one"), 0o600).unwrap();
    let (two, _guard, _) = fs.create(Name::new(&folder, "two"), 0o600).unwrap();
    let again = |fs: &FaultFs| fs.syncs_tried_again().len();
    fs.add(Rule::fail(1, IO).of(FaultOperation::Sync));
    fs.sync(&one).unwrap_err();
    fs.sync(&two).unwrap();
    assert_eq!(again(&fs), 0, "another file");
    fs.rename(Name::new(&folder, "one"), Name::new(&folder, "moved"), Rename::NoReplace).unwrap();
    let moved = fs.open_file(Name::new(&folder, "moved")).unwrap();
    fs.sync(&moved).unwrap();
    assert_eq!(again(&fs), 1, "the same inode, by another name");
    fs.sync_file_system(&folder).unwrap();
    assert_eq!(again(&fs), 2, "all of them");
    fs.reset();
    fs.add(Rule::fail(1, IO).of(FaultOperation::SyncFileSystem));
    fs.sync_file_system(&folder).unwrap_err();
    fs.sync(&two).unwrap();
    assert_eq!(again(&fs), 1, "one of all");
}
