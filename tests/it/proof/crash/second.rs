//! Killed a second time: in the middle of a recovery, of a rollback, and of an undo.

use std::fs;
use std::path::{Path, PathBuf};

use super::child::{self, APPENDED, End, Moment, Role, appended_at, command, killed_at};
use super::kills::recover_and_look;
use super::scene::{self, Node, Scene, Tree, names};
use super::{alone, engine, is_full};
use crate::support::mounts::{self, Kind};

/// Where a second kill is tried: everywhere if there is time.
fn kinds() -> &'static [Kind] {
    if is_full() {
        &[Kind::Tmpfs, Kind::Ext4, Kind::Xfs, Kind::Btrfs, Kind::Overlay]
    } else {
        &[Kind::Tmpfs, Kind::Btrfs]
    }
}

/// Leaves a commit that was killed at `first`, kills its recovery before each of its calls, and recovers for good.
/// `prepare` may change what was left; `expect` says whether all must be new.
fn kill_recoveries(root: &Path, first: Moment, prepare: impl Fn(&mut Scene), expect: bool) -> usize {
    for n in 1.. {
        let mut scene = Scene::new(&root.join(n.to_string()));
        assert_eq!(child::run(killed_at(command(Role::Apply, &scene.root, scene::REQUEST), first)), End::Killed);
        prepare(&mut scene);
        let end = child::run(killed_at(command(Role::Recover, &scene.root, ""), Moment::Write(n)));
        let told = format!("killed at {first:?}, recovery killed at {n}: {end:?}");
        assert_eq!(recover_and_look(&scene, &told), expect, "{told}");
        fs::remove_dir_all(&scene.root).unwrap();
        match end {
            End::Killed => {}
            End::Done(_) => return n - 1,
            End::Failed(_) => panic!("{told}"),
        }
    }
    unreachable!("some recovery comes through")
}

#[test]
fn a_recovery_forward_can_be_killed_at_any_call() {
    for kind in kinds() {
        for first in [Moment::Swap(2), Moment::Swap(9), Moment::State(1)] {
            let killed = mounts::with(*kind, |root| kill_recoveries(root, first, |_| (), true));
            eprintln!("{kind:?}, {first:?}: killed {killed:?} times");
            assert_ne!(killed, Some(0));
        }
    }
}

/// Another program changes a file that was not swapped yet: the recovery must go back.
fn change_one_that_is_old(scene: &mut Scene) {
    let now = scene.now();
    let is_old = |path: &&str| now.get(Path::new(path)) == scene.old.get(Path::new(path));
    let path = ["lib/whole.txt", "src/gone.txt", "src/moved.txt"].into_iter().find(is_old).unwrap();
    child::append(&scene.root.join(path), APPENDED);
    add_appended(&mut scene.old, path);
    scene.remember_at(path);
}

fn add_appended(tree: &mut Tree, path: &str) {
    let Some(Node::File { content, .. }) = tree.get_mut(Path::new(path)) else { panic!("{path}") };
    content.push_str(APPENDED);
}

#[test]
fn a_recovery_that_goes_back_can_be_killed_at_any_call() {
    for kind in kinds() {
        for first in [Moment::Swap(2), Moment::Swap(9)] {
            let killed = mounts::with(*kind, |root| kill_recoveries(root, first, change_one_that_is_old, false));
            eprintln!("{kind:?}, {first:?}: killed {killed:?} times");
            assert_ne!(killed, Some(0));
        }
    }
}

#[test]
fn a_commit_that_takes_itself_back_can_be_killed_at_any_call() {
    let path = "src/three.txt";
    for kind in kinds() {
        let killed = mounts::with(*kind, |root| {
            for n in 1.. {
                let mut scene = Scene::new(&root.join(n.to_string()));
                // Between the check before the swaps and this swap, of which nobody else could know.
                let file = scene.root.join(path);
                let moment = Moment::Swap(5);
                let command = appended_at(command(Role::Apply, &scene.root, scene::REQUEST), moment, &file);
                let end = child::run(killed_at(command, Moment::Write(n)));
                let told = format!("killed at {n}: {end:?}");
                let contents = all_contents(&scene.root);
                let was_written = contents.iter().any(|content| content.ends_with(APPENDED));
                if was_written {
                    add_appended(&mut scene.old, path);
                    scene.remember_at_any(path);
                }
                let all_new = recover_and_look(&scene, &told);
                assert!(!all_new || !was_written, "{told}");
                fs::remove_dir_all(&scene.root).unwrap();
                match end {
                    End::Killed => {}
                    End::Failed(failed) => {
                        assert!(failed.starts_with("CONCURRENT_MODIFICATION rolled_back "), "{failed}");
                        return n - 1;
                    }
                    End::Done(_) => panic!("{told}"),
                }
            }
            unreachable!()
        });
        eprintln!("{kind:?}: killed {killed:?} times");
    }
}

/// The contents of all files in a workspace, its state folder's too.
pub(super) fn all_contents(root: &Path) -> Vec<String> {
    let mut contents = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() {
                contents.push(String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
            }
        }
    }
    contents
}

#[test]
fn an_undo_can_be_killed_at_any_call() {
    for kind in kinds() {
        let killed = mounts::with(*kind, |root| {
            for n in 1.. {
                let scene = Scene::new(&root.join(n.to_string()));
                engine(&scene.root).apply(&child::parse(scene::REQUEST), alone()).unwrap();
                let end = child::run(killed_at(command(Role::Undo, &scene.root, ""), Moment::Write(n)));
                let told = format!("undo killed at {n}: {end:?}");
                let recovered = engine(&scene.root).recover(None, txedit::RecoverOptions::default()).unwrap();
                let told = format!("{told}: {recovered:?}");
                // What is restored is a copy, another inode: the trees alone are compared.
                let now = scene.now();
                let told = format!("{told}: {:?}", names(&scene.root, "txn"));
                let rolled_back = now == scene.old;
                assert!(rolled_back || now == scene.new, "{told}: {now:#?}");
                assert_eq!(names(&scene.root, "history").len(), 1 + usize::from(rolled_back), "{told}");
                assert_eq!(names(&scene.root, "txn"), [""; 0], "{told}");
                fs::remove_dir_all(&scene.root).unwrap();
                match end {
                    End::Killed => {}
                    End::Done(_) => {
                        assert!(rolled_back, "{told}");
                        return n - 1;
                    }
                    End::Failed(_) => panic!("{told}"),
                }
            }
            unreachable!()
        });
        eprintln!("{kind:?}: killed {killed:?} times");
    }
}
