//! No room left, and permissions that went in mid-commit.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use txedit::{ErrorKind, Outcome};

use super::child::{self, End, Moment, Role, barred_at, command, parse};
use super::kills::recover_and_look;
use super::scene::{self, Scene, names};
use super::{alone, engine};
use crate::support::is_full;
use crate::support::mounts::{self, Kind, is_root};

/// Takes all room in the file system of `folder`; answers the file that has it.
fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("ballast");
    let file = fs::File::create(&path).unwrap();
    let mut at = 0;
    for bits in (12..28).rev() {
        while fallocate(&file, FallocateFlags::empty(), at, 1 << bits).is_ok() {
            at += 1 << bits;
        }
    }
    path
}

/// A child that another test is just starting may have the ballast open for a moment, too.
fn wait_for_room(root: &Path) {
    for _ in 0..500 {
        if rustix::fs::statvfs(root).unwrap().f_bavail > 10_000 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("what was removed still takes its room");
}

/// With `pages` pages to spare: nothing at all is changed, or everything is. Where there is no room even for the name of the
/// undo state, that is once there is some.
fn with_room_for((kind, root): (Kind, &Path), pages: u64) -> bool {
    let scene = Scene::new(&root.join(format!("with-{pages}")));
    let ballast = fill(root);
    let length = ballast.metadata().unwrap().len();
    fs::File::options().write(true).open(&ballast).unwrap().set_len(length.saturating_sub(pages * 4096)).unwrap();
    let result = engine(&scene.root).apply(&parse(scene::REQUEST), alone());
    let done = || scene.is_all_new(&format!("{pages} pages: {result:?}"));
    match &result {
        Ok(_) => assert!(done()),
        // A rename adds the new name to the folder before it takes the old one away, and that may take a block more.
        Err(error) if error.outcome() == Outcome::RecoveryRequired => {
            assert!(kind == Kind::Xfs && error.message().contains("/journal: No space left"), "{error:?}");
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::DiskFull, "{pages} pages: {error:?}");
            assert!(!done(), "{pages} pages: {error:?}");
        }
    }
    fs::remove_file(&ballast).unwrap();
    wait_for_room(root);
    let all_new = recover_and_look(&scene, &format!("{pages} pages: {result:?}"));
    let waited = result.as_ref().is_err_and(|error| error.outcome() == Outcome::RecoveryRequired);
    assert!(waited || all_new == result.is_ok());
    if !all_new {
        engine(&scene.root).apply(&parse(scene::REQUEST), alone()).unwrap();
        assert!(scene.is_all_new("with room again"));
    }
    fs::remove_dir_all(&scene.root).unwrap();
    result.is_ok()
}

#[test]
fn a_full_disk_changes_nothing() {
    // By default every other amount of room.
    let step = if is_full() { 1 } else { 2 };
    for (kind, step, most) in [(Kind::Tmpfs, step, 60), (Kind::Ext4, step, 40), (Kind::Xfs, 8 * step, 200)] {
        mounts::with(kind, |root| {
            let rooms: Vec<u64> = (0..most).step_by(step).collect();
            let done: Vec<bool> = rooms.iter().map(|pages| with_room_for((kind, root), *pages)).collect();
            eprintln!("{kind:?}: {} of {} had room enough", done.iter().filter(|done| **done).count(), done.len());
            assert!(!done[0], "{kind:?}: it was not full");
        });
    }
}

/// A commit by a user who is not root, in a workspace of that user's.
fn as_somebody(scratch: &Path, scene: &Scene, barred: Option<(Moment, &str)>) -> Option<End> {
    const NOBODY: u32 = 65534;
    let program = scratch.join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for path in [scratch, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    mounts::run("chown", ["-R".as_ref(), "65534:65534".as_ref(), scene.root.as_os_str()]).unwrap();
    let like = command(Role::Apply, &scene.root, scene::REQUEST);
    let like = match barred {
        Some((moment, folder)) => barred_at(like, moment, &scene.root.join(folder)),
        None => like,
    };
    let mut command = std::process::Command::new(&program);
    command.args(like.get_args()).uid(NOBODY).gid(NOBODY).current_dir(&scene.root);
    command.stdin(std::process::Stdio::null());
    for (name, value) in like.get_envs() {
        command.env(name, value.unwrap());
    }
    match command.output() {
        Ok(output) => Some(child::ended(&output)),
        Err(error) => {
            eprintln!("skipped: cannot run as somebody else: {error}");
            None
        }
    }
}

#[test]
fn a_folder_that_is_barred_in_mid_commit_is_told_of_and_recovered() {
    if !is_root() {
        eprintln!("skipped: only root can become somebody else");
        return;
    }
    for swap in [1, 2, 5, 9, 12] {
        for folder in ["src", "lib", "."] {
            let scratch = tempfile::tempdir().unwrap();
            let scene = Scene::new(&scratch.path().join("w"));
            let mode = scene.root.join(folder).metadata().unwrap().permissions();
            let Some(end) = as_somebody(scratch.path(), &scene, Some((Moment::Swap(swap), folder))) else { return };
            let told = format!("{folder} barred before swap {swap}: {end:?}");
            fs::set_permissions(scene.root.join(folder), mode).unwrap();
            match &end {
                End::Done(_) => assert!(scene.is_all_new(&told)),
                End::Failed(failed) if failed.contains(" recovery_required ") => {
                    assert_eq!(names(&scene.root, "txn").len(), 1, "{told}");
                    mounts::run("chown", ["-R".as_ref(), "0:0".as_ref(), scene.root.as_os_str()]).unwrap();
                    assert!(!recover_and_look(&scene, &told), "an undo that was begun is finished: {told}");
                }
                End::Failed(failed) => {
                    assert!(failed.starts_with("PERMISSION_DENIED "), "{told}");
                    assert!(!scene.is_all_new(&told), "{told}");
                }
                End::Killed => panic!("{told}"),
            }
        }
    }
}
