//! Another program writes once, before each call of a commit in turn: it is never overwritten unseen.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::OsFs;
use txedit::fs::fault::{FaultFs, Rule};
use txedit::{Engine, ErrorKind, Outcome, RecoverOptions};

use super::child::{append, parse};
use super::scene::{self, Node, Scene};
use super::second::all_contents;
use super::{alone, engine, settings};
use crate::support::mounts::{self, Kind};

const WORD: &str = "<another program>";

/// What another program does; `false` where there is nothing to do it to.
type Act = fn(&Path) -> bool;

/// Appends to the file that is edited, in place.
fn appends(root: &Path) -> bool {
    append(&root.join("src/one.txt"), WORD);
    true
}

/// Puts a new file in the place of the one that is edited, as editors do.
fn replaces(root: &Path) -> bool {
    let path = root.join("src/one.txt");
    let temporary = root.join("src/one.txt~");
    fs::write(&temporary, fs::read_to_string(&path).unwrap() + WORD).unwrap();
    fs::rename(temporary, path).unwrap();
    true
}

/// Appends to the file that is deleted.
fn appends_to_the_deleted(root: &Path) -> bool {
    let path = root.join("lib/gone.txt");
    let there = path.exists();
    if there {
        append(&path, WORD);
    }
    there
}

/// Makes the file that is to be made.
fn makes(root: &Path) -> bool {
    fs::create_dir_all(root.join("made")).unwrap();
    let path = root.join("made/one.txt");
    let free = !path.exists();
    if free {
        fs::write(&path, WORD).unwrap();
    }
    free
}

/// Puts a file into the folder that is to be made.
fn makes_beside(root: &Path) -> bool {
    let there = root.join("made").exists();
    if there {
        fs::write(root.join("made/beside.txt"), WORD).unwrap();
    }
    there
}

/// Tries `act` before every call of a commit. Answers how many commits succeeded and how many were refused.
fn before_every_call(root: &Path, act: Act) -> (usize, usize) {
    let (mut done, mut refused) = (0, 0);
    for n in 1.. {
        let scene = Scene::small(&root.join(n.to_string()));
        let faulty = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        let acted = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (here, flag) = (scene.root.clone(), Arc::clone(&acted));
        let run = move |_: &_| flag.store(act(&here), std::sync::atomic::Ordering::Relaxed);
        let disturbed = Engine::with_fs(faulty.clone(), &scene.root, settings(Duration::from_secs(5))).unwrap();
        let disturbed = disturbed.with_attempts(1);
        faulty.add(Rule::before(n, run));
        let result = disturbed.apply(&parse(scene::SMALL), alone());
        let told = format!("before call {n}: {:?}; {result:?}", faulty.calls().get(usize::try_from(n).unwrap() - 1));
        let fired = faulty.fired() > 0;
        let acted = acted.load(std::sync::atomic::Ordering::Relaxed);
        // Whatever is in the trash is gone after this.
        assert_eq!(engine(&scene.root).recover(None, RecoverOptions::default()).unwrap().len(), 0, "{told}");
        let there = all_contents(&scene.root).iter().any(|content| content.contains(WORD));
        assert_eq!(there, acted, "what the other program wrote is lost: {told}");
        let now = scene.now();
        let (expected, kept) = match &result {
            Ok(_) => {
                done += 1;
                (&scene.new, false)
            }
            Err(error) => {
                assert_ne!(error.outcome(), Outcome::RecoveryRequired, "{told}");
                let kinds = [ErrorKind::ConcurrentModification, ErrorKind::ValidationFailed, ErrorKind::FileExists];
                assert!(kinds.contains(&error.kind()), "{told}");
                refused += 1;
                (&scene.old, !error.kept().is_empty())
            }
        };
        // All files but those that the other program wrote, and the folders it made, are all-new or all-old.
        for (path, node) in expected {
            let untouched = matches!(now.get(path), Some(Node::File { content, .. }) if content.contains(WORD));
            assert!(untouched || now.get(path) == Some(node), "{told}: {} is {:?}", path.display(), now.get(path));
        }
        for (path, node) in &now {
            let theirs = matches!(node, Node::File { content, .. } if content.contains(WORD)) || path.ends_with("made");
            assert!(theirs || kept || expected.contains_key(path), "{told}: {} is too much", path.display());
        }
        fs::remove_dir_all(&scene.root).unwrap();
        if !fired {
            return (done, refused);
        }
    }
    unreachable!("some commit has fewer calls")
}

#[test]
fn what_another_program_writes_at_any_moment_is_never_lost() {
    let acts: [(&str, Act); 5] = [
        ("appends", appends),
        ("replaces", replaces),
        ("appends to the deleted", appends_to_the_deleted),
        ("makes", makes),
        ("makes beside", makes_beside),
    ];
    for (name, act) in acts {
        if let Some((done, refused)) = mounts::with(Kind::Tmpfs, |root| before_every_call(root, act)) {
            eprintln!("{name}: {done} done, {refused} refused");
            assert!(done > 0 && (refused > 0 || name == "makes beside"), "{name}: {done} done, {refused} refused");
        }
    }
}
