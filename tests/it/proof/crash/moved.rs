//! Workspaces that are not where their journals were born: moved, copied, cloned, unpacked.

use std::fs;
use std::path::{Path, PathBuf};

use txedit::journal::scan;
use txedit::testing::internals::journal::record;
use txedit::{ErrorKind, NextStep, RecoverOptions};

use super::child::{self, End, Moment, Role, command, killed_at, parse};
use super::kills::recover_and_look;
use super::scene::{self, Scene, names, tree};
use super::{alone, engine};
use crate::support::mounts::run;

/// A commit of `request` that was killed in mid-swap.
fn interrupted(root: &Path, request: &str) -> Scene {
    let scene = Scene::new(root);
    fs::create_dir_all(root.join("hooks")).unwrap();
    assert_eq!(child::run(killed_at(command(Role::Apply, &scene.root, request), Moment::Swap(2))), End::Killed);
    scene
}

fn copy(from: &Path, to: &Path) -> PathBuf {
    run("cp", ["-a".as_ref(), from.as_os_str(), to.as_os_str()]).unwrap();
    to.to_owned()
}

#[test]
fn a_workspace_that_moved_in_mid_transaction_is_recovered() {
    let scratch = tempfile::tempdir().unwrap();
    let mut scene = Scene::new(&scratch.path().join("here"));
    let killed = killed_at(command(Role::Apply, &scene.root, scene::REQUEST), Moment::Swap(5));
    assert_eq!(child::run(killed), End::Killed);
    let there = scratch.path().canonicalize().unwrap().join("there");
    fs::rename(&scene.root, &there).unwrap();
    scene.root = there;
    assert!(recover_and_look(&scene, "moved"));
}

#[test]
fn a_copy_is_listed_and_left_alone_until_a_person_says_otherwise() {
    let scratch = tempfile::tempdir().unwrap();
    let scene = Scene::new(&scratch.path().join("here"));
    let killed = killed_at(command(Role::Apply, &scene.root, scene::REQUEST), Moment::Swap(5));
    assert_eq!(child::run(killed), End::Killed);
    let there = copy(&scene.root, &scratch.path().canonicalize().unwrap().join("there"));
    let before = tree(&there);
    let engine = engine(&there);
    let id = names(&there, "txn").remove(0);

    let recovered = engine.recover(None, RecoverOptions::default()).unwrap();
    assert_eq!((recovered[0].action.as_str(), recovered[0].required), ("left", false), "{recovered:?}");
    let status = engine.status().unwrap();
    assert_eq!((status.interrupted[0].id.as_str(), status.interrupted[0].action.as_str()), (id.as_str(), "leave"));
    assert_eq!(status.interrupted[0].next_steps, [NextStep::TrustJournal { id: id.clone() }], "{status:?}");
    // Nobody has looked at its files: what was done to each of them is not how far it came.
    for files in [&status.interrupted[0].files, &recovered[0].files] {
        assert_eq!(files.len(), 16, "{files:?}");
        assert!(files.iter().all(|file| file.class.is_none()), "{files:?}");
    }
    // It blocks nobody, even on its own paths.
    let other = r#"{"files": [{"file_path": "src/bystander.txt", "edits": [{"old_string": "old one", "new_string": "x"}]},
        {"file_path": "src/two.sh", "mode": "700"}]}"#;
    let report = engine.apply(&parse(other), alone()).unwrap();
    assert_eq!(names(&there, "txn"), [id.as_str()]);
    engine.undo(report.transaction.as_deref(), false, alone()).unwrap();
    assert_eq!(tree(&there), before);

    let trust = RecoverOptions::new().trust_journal(true);
    let plan = engine.recover(Some(&id), trust.plan_only(true)).unwrap();
    assert_eq!(tree(&there), before, "{plan:?}");
    let recovered = engine.recover(Some(&id), trust).unwrap();
    assert_eq!(recovered[0].action.as_str(), "committed", "{recovered:?}");
    assert_eq!(tree(&there), scene.new);
    // The one that was copied is recovered by itself.
    assert!(recover_and_look(&scene, "the original"));
}

#[test]
fn history_that_was_copied_cannot_be_undone() {
    let scratch = tempfile::tempdir().unwrap();
    let scene = Scene::new(&scratch.path().join("here"));
    let report = engine(&scene.root).apply(&parse(scene::REQUEST), alone()).unwrap();
    let there = copy(&scene.root, &scratch.path().join("there"));
    // What was copied may be newer than what was committed there.
    for id in [None, report.transaction.as_deref()] {
        let error = engine(&there).undo(id, false, alone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RecoveryRequired, "{error:?}");
    }
    assert_eq!(tree(&there), scene.new);
    engine(&scene.root).undo(None, false, alone()).unwrap();
    assert_eq!(scene.now(), scene.old);
}

/// Everything that this user could be made to do with a workspace from elsewhere.
fn use_it(root: &Path) {
    let engine = engine(root);
    engine.status().unwrap();
    engine.recover(None, RecoverOptions::default()).unwrap();
    let other = r#"{"files": [{"file_path": "src/bystander.txt", "mode": "600"}]}"#;
    engine.apply(&parse(other), alone()).unwrap();
    engine.undo(None, false, alone()).unwrap();
    engine.recover(None, RecoverOptions::default()).unwrap();
}

#[test]
fn a_journal_that_came_with_a_workspace_installs_no_hook() {
    const HOOK: &str = r#"{"files": [
        {"file_path": "hooks/a", "content": "evidence"},
        {"file_path": "hooks/post-checkout", "content": "evil", "mode": "755"}]}"#;
    let scratch = tempfile::tempdir().unwrap();
    let scene = interrupted(&scratch.path().join("evil"), HOOK);
    // What is interrupted would be finished here, where it was born.
    assert!(scene.root.join("hooks/a").exists() && !scene.root.join("hooks/post-checkout").exists());
    let there = copy(&scene.root, &scratch.path().join("unpacked"));
    use_it(&there);
    assert!(!there.join("hooks/post-checkout").exists());
    assert_eq!(engine(&there).status().unwrap().interrupted.len(), 1);

    // The right inode does not help without the right birth time.
    let txn = there.join(".txedit/txn").join(&names(&there, "txn")[0]);
    let mut journal = scan(&fs::read(txn.join("journal")).unwrap()).unwrap();
    journal.header.folder.inode = std::os::unix::fs::MetadataExt::ino(&txn.metadata().unwrap());
    fs::write(txn.join("journal"), record::encode(&journal)).unwrap();
    use_it(&there);
    assert!(!there.join("hooks/post-checkout").exists());
    assert_eq!(engine(&there).status().unwrap().interrupted.len(), 1);

    engine(&scene.root).recover(None, RecoverOptions::default()).unwrap();
    assert!(scene.root.join("hooks/post-checkout").exists(), "the journal was a perfect one");
}

#[test]
fn a_state_folder_of_symlinks_leads_nowhere() {
    let scratch = tempfile::tempdir().unwrap();
    let outside = scratch.path().join("outside");
    for section in ["txn", "history", "kept", "trash"] {
        let id = "20260101T000000.000000Z-0123456789abcdef";
        fs::create_dir_all(outside.join(section).join(id)).unwrap();
        fs::write(outside.join(section).join(id).join("000000"), "precious").unwrap();
    }
    let before = tree(&outside);
    for section in ["txn", "history", "kept", "trash"] {
        let scene = Scene::new(&scratch.path().join(section));
        engine(&scene.root).apply(&parse(scene::SMALL), alone()).unwrap();
        let place = scene.root.join(".txedit").join(section);
        fs::rename(&place, scratch.path().join(format!("old {section}"))).unwrap();
        std::os::unix::fs::symlink(outside.join(section), &place).unwrap();
        let engine = engine(&scene.root);
        // Some of these fail, and all of them may: none may do anything out there.
        drop(engine.status());
        drop(engine.recover(None, RecoverOptions::default()));
        drop(engine.apply(&parse(r#"{"files": [{"file_path": "src/two.sh", "mode": "700"}]}"#), alone()));
        drop(engine.undo(None, false, alone()));
        drop(engine.kept());
        assert_eq!(tree(&outside), before, "{section}");
    }
}
