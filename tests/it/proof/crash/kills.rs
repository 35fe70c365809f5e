//! Killed before every call that changes the disk: all-old or all-new, and nothing left over.
//!
//! Between two such calls a process only reads, so that "before the n-th" is also "after the one before it".

use std::path::Path;

use txedit::RecoverOptions;

use super::child::{self, End, Moment, Role, command, killed_at};
use super::scene::{self, Scene, names};
use super::{alone, engine, was_rolled_back};
use crate::support::mounts::{self, Kind};

/// On which every commit must work.
const KINDS: [Kind; 5] = [Kind::Tmpfs, Kind::Ext4, Kind::Xfs, Kind::Btrfs, Kind::Overlay];

/// Recovers twice, the second time in vain, and looks at what is there.
///
/// Answers whether everything is new.
#[track_caller]
pub(super) fn recover_and_look(scene: &Scene, told: &str) -> bool {
    let engine = engine(&scene.root);
    let first = engine.recover(None, RecoverOptions::default()).unwrap();
    assert!(first.iter().all(|one| !one.required), "{told}: {first:?}");
    assert!(first.iter().all(|one| one.kept.is_empty()), "{told}: {first:?}");
    let all_new = scene.is_all_new(&format!("{told}: {first:?}"));
    let listing = state_names(&scene.root);
    let second = engine.recover(None, RecoverOptions::default()).unwrap();
    assert!(second.is_empty(), "{told}: {second:?}");
    assert_eq!(state_names(&scene.root), listing, "{told}");
    assert_eq!(scene.is_all_new(told), all_new, "{told}");
    for section in ["txn", "kept"] {
        assert_eq!(names(&scene.root, section), [""; 0], "{told}: {section}");
    }
    for id in names(&scene.root, "trash") {
        assert!(was_rolled_back(&scene.root.join(".txedit/trash").join(&id)), "{told}: {id} is left in the trash");
    }
    all_new
}

fn state_names(root: &Path) -> Vec<Vec<String>> {
    ["", "txn", "history", "trash", "kept"].iter().map(|section| names(root, section)).collect()
}

/// Kills a commit of `request` before each of its calls, in a scene of its own each time. Answers how often.
fn kill_commits(root: &Path, make: fn(&Path) -> Scene, request: &str, prepare: fn(&mut Scene)) -> usize {
    let (mut killed, mut old, mut new) = (0, 0, 0);
    for n in 1.. {
        let mut scene = make(&root.join(n.to_string()));
        prepare(&mut scene);
        let history = names(&scene.root, "history").len();
        let end = child::run(killed_at(command(Role::Apply, &scene.root, request), Moment::Write(n)));
        let told = format!("call {n} on {}: {end:?}", root.display());
        let all_new = recover_and_look(&scene, &told);
        assert_eq!(names(&scene.root, "history").len(), history + usize::from(all_new), "{told}");
        match end {
            End::Killed if all_new => new += 1,
            End::Killed => old += 1,
            End::Done(_) => {
                assert!(all_new, "{told}");
                break;
            }
            End::Failed(_) => panic!("{told}"),
        }
        killed += 1;
        // Whatever was left behind, the next commit finds its way.
        if n % 8 == 0 && !all_new {
            engine(&scene.root).apply(&child::parse(request), alone()).unwrap();
            assert!(scene.is_all_new(&told), "{told}");
        }
        std::fs::remove_dir_all(&scene.root).unwrap();
    }
    assert!(old > 0 && new > 0, "{old} were all-old, {new} all-new");
    killed
}

#[test]
fn a_commit_killed_at_any_call_is_all_old_or_all_new() {
    for kind in KINDS {
        let killed = mounts::with(kind, |root| kill_commits(root, Scene::new, scene::REQUEST, |_| ()));
        eprintln!("{kind:?}: killed {killed:?} times");
    }
}

#[test]
fn a_small_commit_after_another_killed_at_any_call_is_all_old_or_all_new() {
    // With a state folder that is there already, and files synced one by one where that is quicker.
    let prepare = |scene: &mut Scene| {
        let backup = r#"{"files": [{"file_path": "src/bystander.txt", "mode": "600"}]}"#;
        engine(&scene.root).apply(&child::parse(backup), alone()).unwrap();
        engine(&scene.root).undo(None, false, alone()).unwrap();
        scene.remember();
    };
    for kind in [Kind::Ext4, Kind::Btrfs] {
        let killed = mounts::with(kind, |root| kill_commits(root, Scene::small, scene::SMALL, prepare));
        eprintln!("{kind:?}: killed {killed:?} times");
    }
}

#[test]
fn a_file_system_on_which_no_proof_can_be_left_is_refused_and_left_alone() {
    mounts::with(Kind::Fuse, |root| {
        let scene = Scene::new(&root.join("w"));
        let End::Failed(failed) = child::run(command(Role::Apply, &scene.root, scene::REQUEST)) else { panic!() };
        assert!(failed.starts_with("UNSUPPORTED_FILE_SYSTEM unchanged "), "{failed}");
        assert!(!scene.is_all_new(&failed));
        assert!(!scene.root.join(".txedit").exists(), "a refusal leaves nothing behind");
    });
}
