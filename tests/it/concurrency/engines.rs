//! Engines that work on the same files at once never lose an edit that was reported as done.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use txedit::fs::Fs as _;
use txedit::fs::sim::{Action, SimFs};
use txedit::testing::Errno;
use txedit::{Digest, Engine, ErrorKind, Outcome, Result};

use crate::proof::explore::scripts::{replaces, request};
use crate::support::workspace::{Workspace, running, settings};

/// Adds a line before the last one, whatever the others did.
fn append(path: &str, line: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": "end\n", "new_string": format!("{line}\nend\n") }] })
}

/// Applies again as long as another was quicker.
fn insist(workspace: &Workspace, request: &Value) -> Result<()> {
    loop {
        match workspace.apply(request) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind().is_retryable() => assert_eq!(error.outcome(), Outcome::Unchanged, "{error}"),
            Err(error) => return Err(error),
        }
    }
}

fn lines(workspace: &Workspace, path: &str) -> Vec<String> {
    let mut lines: Vec<_> = workspace.read(path).lines().map(str::to_owned).collect();
    assert_eq!(lines.pop().as_deref(), Some("end"));
    lines.sort();
    lines
}

#[test]
fn two_engines_on_one_file_lose_no_edit() {
    let workspace = Workspace::with(&[("a", "end\n")]);
    let start = Barrier::new(2);
    thread::scope(|scope| {
        for engine in 0..2 {
            let (root, start) = (workspace.root(), &start);
            scope.spawn(move || {
                let own = Workspace::at(root);
                start.wait();
                for at in 0..100 {
                    insist(&own, &json!({ "files": [append("a", &format!("{engine}-{at:03}"))] })).unwrap();
                }
            });
        }
    });
    let mut expected: Vec<_> = (0..2).flat_map(|e| (0..100).map(move |at| format!("{e}-{at:03}"))).collect();
    expected.sort();
    assert_eq!(lines(&workspace, "a"), expected);
    assert_eq!(workspace.engine.log(1_000, None).unwrap().len(), 200);
    assert!(workspace.engine.status().unwrap().interrupted.is_empty());
}

#[test]
fn eight_threads_on_twenty_files_lose_no_edit() {
    const ROUNDS: usize = 10;
    let workspace = Workspace::new();
    let paths: Vec<_> = (0..20).map(|file| format!("sub{}/{file}", file % 3)).collect();
    for path in &paths {
        workspace.write(path, "end\n");
    }
    thread::scope(|scope| {
        for engine in 0..8 {
            let (root, paths) = (workspace.root(), &paths);
            scope.spawn(move || {
                let own = Workspace::at(root);
                for round in 0..ROUNDS {
                    // Five files at once, in another order each time.
                    let line = format!("{engine}-{round}");
                    let files: Vec<_> =
                        (0..5).map(|at| append(&paths[(engine * 3 + round * 7 + at * 4) % 20], &line)).collect();
                    insist(&own, &json!({ "files": files })).unwrap();
                }
            });
        }
    });
    let mut expected = vec![Vec::new(); 20];
    for engine in 0..8 {
        for round in 0..ROUNDS {
            for at in 0..5 {
                expected[(engine * 3 + round * 7 + at * 4) % 20].push(format!("{engine}-{round}"));
            }
        }
    }
    for (path, mut expected) in paths.iter().zip(expected) {
        expected.sort();
        assert_eq!(lines(&workspace, path), expected, "{path}");
    }
    // All of it, in whatever order it came, can be reverted.
    for _ in 0..8 * ROUNDS {
        workspace.undo(None).unwrap();
    }
    for path in &paths {
        assert_eq!(workspace.read(path), "end\n");
    }
}

#[test]
fn a_file_that_is_not_the_one_that_was_seen_is_refused() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let with_hash = |hash: &Digest| {
        json!({ "files": [
            { "file_path": "b", "content": "two\n", "if_exists": "replace" },
            { "file_path": "a", "expected_hash": hash.to_hex(),
              "edits": [{ "old_string": "one", "new_string": "two" }] },
        ] })
    };
    let error = workspace.refuses(&with_hash(&Digest::of(b"other\n")));
    assert_eq!((error.kind(), error.file()), (ErrorKind::HashMismatch, Some(1)), "{error}");
    workspace.apply(&with_hash(&Digest::of(b"one\n"))).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("two\n".to_owned(), "two\n".to_owned()));
}

/// A staging that is given up gives back at once what it took of the disk: what goes to the trash holds no content.
#[test]
fn a_staging_that_is_given_up_leaves_no_content() {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    for file in 0..4 {
        machine.create(format!("/w/{file}"), "old").unwrap();
    }
    machine.set_hook(|call| {
        let is_last = call.verb == "create" && call.path.ends_with("000003");
        if is_last { Action::Fail(Errno::NOSPC) } else { Action::Continue }
    });
    let engine = Engine::with_fs(Arc::new(machine.process(1)), Path::new("/w"), settings()).unwrap().with_attempts(1);
    let files = (0..4).map(|file| replaces(&file.to_string(), "old", "new")).collect();
    let error = engine.apply(&request(files), running()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::DiskFull, Outcome::Unchanged), "{error}");
    machine.clear_hook();
    let staged = machine.tree().into_keys().map(|path| path.display().to_string());
    assert_eq!(staged.filter(|path| path.contains("/00000")).collect::<Vec<_>>(), [""; 0]);
}

/// The folders that a request names are locked before it is known what they hold.
#[test]
fn a_folder_that_another_process_holds_is_waited_for_whichever_way_leads_there() {
    for (path, is_exchanged) in [("d/f", true), ("link", false)] {
        let machine = SimFs::new();
        for folder in ["d", "held"] {
            machine.make_folders(format!("/w/{folder}")).unwrap();
            machine.create(format!("/w/{folder}/f"), "old").unwrap();
        }
        machine.symlink("held/f", "/w/link").unwrap();
        let other = machine.process(9);
        let held = other.open_folder(Path::new("/w/held")).unwrap();
        assert!(other.try_lock(&held).unwrap());
        let (acting, acted) = (machine.clone(), AtomicBool::new(!is_exchanged));
        machine.set_hook(move |call| {
            if call.verb == "try_lock" && call.path.ends_with("d") && !acted.swap(true, Ordering::Relaxed) {
                acting.rename("/w/d", "/w/before").unwrap();
                acting.rename("/w/held", "/w/d").unwrap();
            }
            Action::Continue
        });
        let settings = settings().lock_timeout(Duration::from_millis(50));
        let engine = Engine::with_fs(Arc::new(machine.process(1)), Path::new("/w"), settings).unwrap();
        let edit = request(vec![replaces(path, "old", "new")]);
        assert_eq!(engine.apply(&edit, running()).unwrap_err().kind(), ErrorKind::LockTimeout, "{path}");
        machine.clear_hook();
        drop(held);
        engine.apply(&edit, running()).unwrap();
    }
}

/// Folders are verified once for all their files in a row: each of them, not only the first.
#[test]
fn a_folder_that_is_moved_while_its_files_are_staged_is_noticed() {
    #[derive(Debug, Clone, Copy)]
    enum InItsPlace {
        Nothing,
        Folder,
        File,
        Link,
    }
    use InItsPlace::{File, Folder, Link, Nothing};
    for (moved, left) in ["a", "b", "c"].into_iter().flat_map(|it| [Nothing, Folder, File, Link].map(|left| (it, left)))
    {
        let machine = SimFs::new();
        for folder in ["a", "b", "c"] {
            machine.make_folders(format!("/w/{folder}")).unwrap();
            for file in [1, 2] {
                machine.create(format!("/w/{folder}/{file}"), "old").unwrap();
            }
        }
        let (acting, acted) = (machine.clone(), AtomicBool::new(false));
        machine.set_hook(move |call| {
            // The journal has its name: everything is staged, nothing is swapped.
            if call.verb == "rename" && call.path.ends_with("journal.new") && !acted.swap(true, Ordering::Relaxed) {
                acting.rename(format!("/w/{moved}"), "/w/elsewhere").unwrap();
                let place = format!("/w/{moved}");
                match left {
                    Nothing => {}
                    Folder => acting.make_folders(place).unwrap(),
                    File => acting.create(place, "a file").unwrap(),
                    Link => acting.symlink("elsewhere", place).unwrap(),
                }
            }
            Action::Continue
        });
        let engine =
            Engine::with_fs(Arc::new(machine.process(1)), Path::new("/w"), settings()).unwrap().with_attempts(1);
        let files = ["a/1", "a/2", "b/1", "b/2", "c/1", "c/2"].map(|path| replaces(path, "old", "new"));
        let error = engine.apply(&request(files.to_vec()), running()).unwrap_err();
        machine.clear_hook();
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::ConcurrentModification, Outcome::Unchanged),
            "{moved} {left:?}: {error}"
        );
        assert!(error.to_string().contains("moved"), "{moved} {left:?}: {error}");
        assert_eq!(machine.read("/w/elsewhere/2").unwrap(), b"old");
    }
}
