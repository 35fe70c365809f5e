//! A process that waits for the locks of another one, which stops, dies, or goes on.

use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::child::{self, APPENDED, End, Moment, Role, append, command, stopped_at, with_patience};
use super::scene::{self, Node, Scene, names};
use crate::support::is_without;
use crate::support::mounts::run;

/// A commit that stands still in mid-swap.
fn stopped(scene: &Scene, moment: Moment) -> Child {
    let owner = stopped_at(command(Role::Apply, &scene.root, scene::REQUEST), moment).spawn().unwrap();
    let (_, status) = waitpid(Some(Pid::from_child(&owner)), WaitOptions::UNTRACED).unwrap().unwrap();
    assert!(status.stopped(), "{status:?}");
    owner
}

fn kill(owner: Child) {
    kill_process(Pid::from_child(&owner), Signal::KILL).unwrap();
    assert_eq!(child::wait(owner), End::Killed);
}

/// A request that only fits on what the first one left, or on what was there before.
fn after(word: &str) -> String {
    format!(
        r#"{{"files": [{{"file_path": "src/one.txt",
            "edits": [{{"old_string": "{word} one", "new_string": "the waiter after the {word}"}}]}}]}}"#
    )
}

fn waiting(scene: &Scene, request: &str) -> Child {
    let mut command: Command = with_patience(command(Role::Apply, &scene.root, request), Duration::from_secs(30));
    let waiter = command.spawn().unwrap();
    // Long enough to come to the locks; if it were not, it would only find the owner dead already.
    std::thread::sleep(Duration::from_millis(150));
    waiter
}

fn content(scene: &Scene, path: &str) -> String {
    std::fs::read_to_string(scene.root.join(path)).unwrap()
}

#[test]
fn a_waiter_finishes_what_its_predecessor_could_not() {
    for moment in [Moment::Swap(2), Moment::Swap(8), Moment::State(1)] {
        let scratch = tempfile::tempdir().unwrap();
        let mut scene = Scene::new(&scratch.path().join("w"));
        let owner = stopped(&scene, moment);
        let waiter = waiting(&scene, &after("new"));
        kill(owner);
        let end = child::wait(waiter);
        assert!(matches!(end, End::Done(_)), "{moment:?}: {end:?}");
        let Some(Node::File { content, .. }) = scene.new.get_mut("src/one.txt".as_ref() as &std::path::Path) else {
            panic!()
        };
        *content = content.replace("new one", "the waiter after the new");
        assert!(scene.is_all_new("the waiter builds on the recovered files"));
        assert_eq!(names(&scene.root, "history").len(), 2);
        assert_eq!(names(&scene.root, "txn"), [""; 0]);
    }
}

#[test]
fn a_waiter_rolls_back_what_its_predecessor_could_not_finish() {
    let scratch = tempfile::tempdir().unwrap();
    let scene = Scene::new(&scratch.path().join("w"));
    let owner = stopped(&scene, Moment::Swap(6));
    let waiter = waiting(&scene, &after("old"));
    let now = scene.now();
    let old = ["lib/whole.txt", "src/gone.txt"];
    let path = old
        .into_iter()
        .find(|path| now.get(path.as_ref() as &std::path::Path) == scene.old.get(path.as_ref() as &std::path::Path));
    let path = path.unwrap();
    append(&scene.root.join(path), APPENDED);
    kill(owner);
    let end = child::wait(waiter);
    assert!(matches!(end, End::Done(_)), "{end:?}");
    assert!(content(&scene, "src/one.txt").contains("the waiter after the old"));
    assert!(content(&scene, path).ends_with(APPENDED));
    assert_eq!(content(&scene, "lib/four.txt"), "old four\n");
    assert!(!scene.root.join("made").exists());
}

#[test]
fn whoever_waits_in_vain_is_told_for_whom() {
    if is_without("table of locks, which tells who holds one") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let scene = Scene::new(&scratch.path().join("w"));
    let owner = stopped(&scene, Moment::Swap(3));
    let pid = owner.id();
    let before = scene.now();
    let patience = Duration::from_millis(300);
    let end = child::run(with_patience(command(Role::Apply, &scene.root, &after("old")), patience));
    let End::Failed(failed) = end else { panic!("{end:?}") };
    assert!(failed.starts_with("LOCK_TIMEOUT unchanged "), "{failed}");
    assert!(failed.contains(&format!("{pid}")), "{failed} does not name process {pid}");
    assert_eq!(scene.now(), before);
    // It was only slow, and everything is as it was for it.
    run("kill", ["-CONT".to_owned(), pid.to_string()]).unwrap();
    let end = child::wait(owner);
    assert!(matches!(end, End::Done(_)), "{end:?}");
    assert!(scene.is_all_new("the owner went on"));
}

#[test]
fn a_recovery_leaves_a_living_owner_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let scene = Scene::new(&scratch.path().join("w"));
    let owner = stopped(&scene, Moment::Swap(3));
    let before = scene.now();
    let end = child::run(with_patience(command(Role::Recover, &scene.root, ""), Duration::from_millis(300)));
    assert_eq!(end, End::Done("running".to_owned()));
    assert_eq!(scene.now(), before);
    run("kill", ["-CONT".to_owned(), owner.id().to_string()]).unwrap();
    assert!(matches!(child::wait(owner), End::Done(_)));
    assert!(scene.is_all_new("the owner went on"));
}
