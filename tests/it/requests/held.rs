//! Contents that are given as files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::testing::internals::request::HeldFile;
use txedit::{Change, Engine, ErrorKind, FileRequest, IfExists, Outcome, Request, Result, UndoOptions};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, run};
use crate::support::workspace::{Workspace, running, settings};

/// A folder beside the workspace, with a file in it.
fn outside(parent: &Path, content: &[u8]) -> PathBuf {
    let folder = parent.join("upper");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/file"), content).unwrap();
    folder
}

/// Bytes of which no two pieces are alike.
fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| u8::try_from(at / 4099 % 251).unwrap()).collect()
}

fn take(to: &str, folder: &Path, path: &str) -> FileRequest {
    let held = HeldFile::new(folder, path).unwrap();
    FileRequest::new(to, Change::Take { held, if_exists: IfExists::Replace })
}

fn apply(workspace: &Workspace, files: Vec<FileRequest>) -> Result<txedit::Report> {
    workspace.engine.apply(&Request::of_files(files), running())
}

fn has_attribute(path: &Path, name: &str) -> bool {
    run("getfattr", ["-n", name, path.to_str().unwrap()]).is_ok()
}

#[test]
fn a_file_comes_in_with_all_that_it_has() {
    let (scratch, workspace) = (TempDir::new().unwrap(), Workspace::with(&[("there", "old\n")]));
    let folder = outside(scratch.path(), b"\0binary\xff");
    fs::write(folder.join("second"), "new\n").unwrap();
    let file = folder.join("sub/file");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o751)).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::open(&file).unwrap().set_modified(old).unwrap();
    let has_attributes = run("setfattr", ["-n", "user.name", "-v", "x", file.to_str().unwrap()]).is_ok();
    drop(run("setfattr", ["-n", "user.overlay.origin", "-v", "x", file.to_str().unwrap()]));
    let before = workspace.tree();
    let files = vec![take("deep/new", &folder, "sub/file"), take("there", &folder, "second")];
    let report = apply(&workspace, files).unwrap();
    assert_eq!(fs::read(workspace.path("deep/new")).unwrap(), b"\0binary\xff");
    assert_eq!(workspace.read("there"), "new\n");
    let made = fs::metadata(workspace.path("deep/new")).unwrap();
    assert_eq!((made.mode() & 0o7777, made.modified().unwrap()), (0o751, old));
    assert_eq!(has_attribute(&workspace.path("deep/new"), "user.name"), has_attributes);
    assert!(!has_attribute(&workspace.path("deep/new"), "user.overlay.origin"));
    assert_eq!(report.files[1].hash_after, Some(txedit::Digest::of(b"new\n")));
    let after = workspace.tree();
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
    workspace.engine.redo(None, &UndoOptions::default(), running()).unwrap();
    workspace.tree().restorable().assert_same(&after.restorable());
}

#[test]
fn a_file_of_another_file_system_or_with_other_names_comes_in() {
    let workspace = Workspace::new();
    mounts::with(Kind::Tmpfs, |root| {
        let folder = outside(root, b"far\n");
        apply(&workspace, vec![take("far", &folder, "sub/file")]).unwrap();
        assert_eq!(workspace.read("far"), "far\n");
    });
    let scratch = TempDir::new().unwrap();
    let folder = outside(scratch.path(), b"linked\n");
    fs::hard_link(folder.join("sub/file"), folder.join("other")).unwrap();
    apply(&workspace, vec![take("linked", &folder, "sub/file")]).unwrap();
    fs::write(folder.join("other"), "written\n").unwrap();
    assert_eq!(workspace.read("linked"), "linked\n");
}

#[test]
fn what_cannot_come_in_is_refused() {
    let (scratch, workspace) = (TempDir::new().unwrap(), Workspace::with(&[("there", "old\n")]));
    let folder = outside(scratch.path(), b"new\n");
    symlink("sub/file", folder.join("link")).unwrap();
    symlink("sub", folder.join("way")).unwrap();
    fs::write(folder.join("setuid"), "").unwrap();
    fs::set_permissions(folder.join("setuid"), PermissionsExt::from_mode(0o4755)).unwrap();
    let strict = Engine::with_fs(Arc::new(OsFs::new()), workspace.root(), settings()).unwrap().refusing_set_id();
    for (path, kind) in [
        ("link", ErrorKind::NotARegularFile),
        ("sub", ErrorKind::NotARegularFile),
        ("missing", ErrorKind::FileNotFound),
        ("setuid", ErrorKind::ValidationFailed),
    ] {
        let request = Request::of_files(vec![take("there", &folder, path)]);
        let error = strict.apply(&request, running()).unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (kind, Outcome::Unchanged), "{path}: {error}");
    }
    assert!(apply(&workspace, vec![take("there", &folder, "way/file")]).is_err(), "no symlink is followed");
    if run("setfattr", ["-n", "user.overlay.metacopy", folder.join("sub/file").to_str().unwrap()]).is_ok() {
        let error = apply(&workspace, vec![take("there", &folder, "sub/file")]).unwrap_err();
        assert!(error.to_string().contains("metacopy"), "{error}");
    }
    assert_eq!(fs::read_to_string(folder.join("sub/file")).unwrap(), "new\n");
    assert_eq!(workspace.read("there"), "old\n");
    assert!(HeldFile::new(&folder, "../x").is_err());
}

#[test]
fn a_file_that_is_written_after_it_was_read_is_not_taken() {
    let (scratch, place) = (TempDir::new().unwrap(), Workspace::with(&[("there", "old\n")]));
    let folder = outside(scratch.path(), b"new\n");
    let file = folder.join("sub/file");
    let fs = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let is_it = |call: &FaultCall| call.operation == FaultOperation::CopyRange && call.path.ends_with("sub/file");
    let written = file.clone();
    // The same size and time: only its content tells.
    let write = move |_: &FaultCall| {
        let time = fs::metadata(&written).unwrap().modified().unwrap();
        fs::write(&written, "NEW\n").unwrap();
        fs::File::options().write(true).open(&written).unwrap().set_modified(time).unwrap();
    };
    fs.add(Rule::before(1, write).matching(is_it));
    let engine = Engine::with_fs(fs, place.root(), settings()).unwrap();
    let request = Request::of_files(vec![take("there", &folder, "sub/file")]);
    let error = engine.apply(&request, running()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ConcurrentModification, Outcome::Unchanged), "{error}");
    assert_eq!(place.read("there"), "old\n");
}

#[test]
fn a_file_that_is_used_up_goes_piece_by_piece() {
    if is_without("holes") {
        return;
    }
    let (scratch, place) = (TempDir::new().unwrap(), Workspace::with(&[("there", "old\n")]));
    let content = content(40 << 20);
    let folder = outside(scratch.path(), &content);
    let file = folder.join("sub/file");
    let fs = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let engine = Engine::with_fs(Arc::clone(&fs) as Arc<_>, place.root(), settings()).unwrap();
    let held = || HeldFile::new(&folder, "sub/file").unwrap().used_up();
    let request = |dry_run| {
        let change = Change::Take { held: held(), if_exists: IfExists::Replace };
        let mut request = Request::of_files(vec![FileRequest::new("there", change)]);
        request.dry_run = dry_run;
        request
    };
    engine.apply(&request(true), running()).unwrap();
    assert!(file.exists(), "a dry run leaves it");
    // A call that fails costs room, and no content.
    fs.add(Rule::fail(2, 95).of(FaultOperation::FreeRange));
    engine.apply(&request(false), running()).unwrap();
    assert!(fs::read(place.path("there")).unwrap() == content, "the content is another");
    assert!(!file.exists());
    let freed = fs.calls().iter().filter(|call| call.operation == FaultOperation::FreeRange).count();
    assert_eq!(freed, 3, "each piece of 16 MiB is given back");
}

#[test]
fn a_file_that_is_used_up_and_written_meanwhile_is_not_taken() {
    let (scratch, place) = (TempDir::new().unwrap(), Workspace::with(&[("there", "old\n")]));
    let folder = outside(scratch.path(), b"new\n");
    let file = folder.join("sub/file");
    let open = fs::File::options().write(true).open(&file).unwrap();
    let fs = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    // By a handle that somebody has kept.
    let write = move |_: &FaultCall| std::os::unix::fs::FileExt::write_all_at(&open, b"NEW\n", 0).unwrap();
    fs.add(Rule::before(1, write).of(FaultOperation::CopyRange));
    let engine = Engine::with_fs(fs, place.root(), settings()).unwrap();
    let held = HeldFile::new(&folder, "sub/file").unwrap().used_up();
    let change = Change::Take { held, if_exists: IfExists::Replace };
    let error = engine.apply(&Request::of_files(vec![FileRequest::new("there", change)]), running()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ConcurrentModification, Outcome::Unchanged), "{error}");
    assert_eq!(place.read("there"), "old\n");
}

#[test]
fn a_file_with_two_names_that_are_used_up_comes_in_twice() {
    let (scratch, place) = (TempDir::new().unwrap(), Workspace::with(&[("there", "old\n")]));
    let content = content(20 << 20);
    let folder = outside(scratch.path(), &content);
    fs::hard_link(folder.join("sub/file"), folder.join("second")).unwrap();
    let take = |to: &str, path: &str| {
        let held = HeldFile::new(&folder, path).unwrap().used_up();
        FileRequest::new(to, Change::Take { held, if_exists: IfExists::Fail })
    };
    apply(&place, vec![take("one", "sub/file"), take("other", "second")]).unwrap();
    for name in ["one", "other"] {
        assert!(fs::read(place.path(name)).unwrap() == content, "{name} is another");
    }
}
