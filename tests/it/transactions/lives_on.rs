//! An engine that lives on knows its state folder from the call before: whatever happened to it since, the next call finds the
//! one that counts.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs};
use txedit::testing::Errno;
use txedit::{Edit, Engine, ErrorKind, Outcome, Report, Request, Result, Run, Settings};

use crate::support::is_without;
use crate::support::mounts::{self, Kind, run};

fn engine_of(sim: &SimFs, process: u32, root: &str) -> Engine {
    let settings = Settings::default().program("lives on");
    Engine::with_fs(Arc::new(sim.process(process)), Path::new(root), settings).unwrap()
}

/// A machine, and an engine that has committed on it three times.
fn committed(with_git: bool, counts: bool) -> (SimFs, Engine) {
    let sim = SimFs::new();
    sim.make_folders("/w/d").unwrap();
    sim.volume("/w", |volume| volume.counts_folders = counts).unwrap();
    sim.create("/w/a", "0").unwrap();
    if with_git {
        sim.make_folders("/w/.git/objects").unwrap();
        sim.make_folders("/w/.git/refs").unwrap();
        sim.create("/w/.git/HEAD", "ref: refs/heads/main\n").unwrap();
    }
    let engine = engine_of(&sim, 1, "/w");
    (0..3).for_each(|_| next(&sim, &engine));
    (sim, engine)
}

/// Counts on in `a`.
fn next(sim: &SimFs, engine: &Engine) {
    counted(sim, engine).unwrap();
}

fn counted(sim: &SimFs, engine: &Engine) -> Result<Report> {
    let now: u32 = String::from_utf8(sim.read("/w/a").unwrap()).unwrap().parse().unwrap();
    engine.apply(&Request::new().edit("a", Edit::replace(now.to_string(), (now + 1).to_string())), Run::default())
}

/// The number of transactions that a new engine finds, each of which it can undo.
fn all_undone(sim: &SimFs) -> usize {
    let engine = engine_of(sim, 9, "/w");
    let log = engine.log(100, None).unwrap();
    for one in &log {
        engine.undo(Some(&one.id), false, Run::default()).unwrap();
    }
    log.len()
}

/// The names in a folder, in order.
fn names(sim: &SimFs, folder: impl AsRef<Path>) -> Vec<String> {
    let inside = sim.entries(folder).unwrap().into_iter().map(|(path, _)| path.to_str().unwrap().to_owned());
    let mut names: Vec<_> = inside.filter(|path| !path.contains('/')).collect();
    names.sort();
    names
}

fn delete_all(sim: &SimFs, folder: &str) {
    for (path, _) in sim.entries(folder).unwrap().iter().rev() {
        let path = Path::new(folder).join(path);
        sim.delete(&path).or_else(|_| sim.delete_folder(&path)).unwrap();
    }
    sim.delete_folder(folder).unwrap();
}

fn everywhere(test: impl Fn(SimFs, Engine, &str)) {
    for counts in [true, false] {
        for (with_git, state) in [(false, "/w/.txedit"), (true, "/w/.git/txedit")] {
            let (sim, engine) = committed(with_git, counts);
            assert!(sim.exists(state));
            test(sim, engine, state);
        }
    }
}

#[test]
fn it_commits_again_and_again() {
    everywhere(|sim, engine, _| {
        next(&sim, &engine);
        assert_eq!((sim.read("/w/a").unwrap(), all_undone(&sim)), (b"4".to_vec(), 4));
        assert_eq!(sim.read("/w/a").unwrap(), b"0");
    });
}

#[test]
fn a_state_folder_that_was_removed_is_made_again() {
    everywhere(|sim, engine, state| {
        delete_all(&sim, state);
        next(&sim, &engine);
        next(&sim, &engine);
        assert_eq!((sim.read("/w/a").unwrap(), all_undone(&sim)), (b"5".to_vec(), 2));
    });
}

#[test]
fn a_state_folder_that_was_moved_away_is_not_written_into() {
    everywhere(|sim, engine, state| {
        sim.rename(state, "/w/elsewhere").unwrap();
        let before = names(&sim, "/w/elsewhere/history").len();
        next(&sim, &engine);
        assert_eq!(names(&sim, "/w/elsewhere/history").len(), before);
        assert_eq!(all_undone(&sim), 1);
    });
}

#[test]
fn the_state_folder_in_the_root_comes_first_once_it_is_there() {
    let (sim, engine) = committed(true, true);
    sim.make_folders("/w/.txedit").unwrap();
    next(&sim, &engine);
    assert_eq!(names(&sim, "/w/.git/txedit/history").len(), 3);
    assert_eq!(names(&sim, "/w/.txedit/history").len(), 1);
}

#[test]
fn a_section_that_was_exchanged_is_not_written_into() {
    everywhere(|sim, engine, state| {
        for section in ["txn", "history"] {
            sim.rename(format!("{state}/{section}"), format!("/w/old {section}")).unwrap();
            sim.make_folders(format!("{state}/{section}")).unwrap();
        }
        next(&sim, &engine);
        assert_eq!((names(&sim, "/w/old txn").len(), names(&sim, "/w/old history").len()), (0, 3));
        assert_eq!(all_undone(&sim), 1);
    });
}

#[test]
fn an_id_that_was_written_anew_is_the_one_that_journals_name() {
    everywhere(|sim, engine, state| {
        sim.delete(format!("{state}/id")).unwrap();
        // Another process makes a new one.
        next(&sim, &engine_of(&sim, 2, "/w"));
        next(&sim, &engine);
        next(&sim, &engine);
        assert_eq!(all_undone(&sim), 6);
        let id = String::from_utf8(sim.read(format!("{state}/id")).unwrap()).unwrap();
        let word = id.split(' ').next().unwrap();
        let newest = names(&sim, format!("{state}/history")).pop().unwrap();
        let journal = sim.read(format!("{state}/history/{newest}/journal.done")).unwrap();
        assert!(String::from_utf8_lossy(&journal).contains(word), "{id}");
    });
}

#[test]
fn a_state_folder_that_others_can_write_to_is_used_no_more() {
    let (sim, engine) = committed(false, true);
    sim.set_mode("/w/.txedit", 0o777).unwrap();
    let error = counted(&sim, &engine).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert_eq!(sim.read("/w/a").unwrap(), b"3");
}

#[test]
fn a_state_folder_that_can_be_written_no_more_is_used_no_more() {
    let (sim, engine) = committed(true, true);
    let is_refused = |path: &Path| path.starts_with("/w/.git/txedit");
    sim.set_hook(move |call| match call.verb {
        "rename" | "create" | "make_folder" | "open_to_write" if is_refused(call.path) => Action::Fail(Errno::ROFS),
        _ => Action::Continue,
    });
    let error = counted(&sim, &engine).unwrap_err();
    assert_eq!((error.outcome(), sim.read("/w/a").unwrap()), (Outcome::Unchanged, b"3".to_vec()), "{error}");
    next(&sim, &engine);
    assert_eq!((sim.read("/w/a").unwrap(), names(&sim, "/w/.txedit/history").len()), (b"4".to_vec(), 1));
}

#[test]
fn what_another_process_left_is_recovered_first() {
    everywhere(|sim, engine, state| {
        sim.set_hook(|call| match call.to {
            Some(to) if call.verb == "rename" && to.ends_with("journal.done") => Action::Kill,
            _ => Action::Continue,
        });
        counted(&sim, &engine_of(&sim, 2, "/w")).unwrap_err();
        sim.clear_hook();
        assert_eq!(names(&sim, format!("{state}/txn")).len(), 1);
        // It was swapped and durable, so it counts.
        assert_eq!(sim.read("/w/a").unwrap(), b"4");
        let report = counted(&sim, &engine).unwrap();
        assert!(report.warnings.iter().any(|warning| warning.contains("interrupted")), "{:?}", report.warnings);
        assert_eq!((sim.read("/w/a").unwrap(), names(&sim, format!("{state}/txn")).len()), (b"5".to_vec(), 0));
        assert_eq!(all_undone(&sim), 5);
    });
}

/// An ordinary user's machine with a git folder, and an engine of hers that has committed three times.
fn of_user() -> (SimFs, Engine) {
    let sim = SimFs::new();
    sim.make_folders("/w/.git/objects").unwrap();
    sim.make_folders("/w/.git/refs").unwrap();
    sim.create("/w/.git/HEAD", "ref: refs/heads/main\n").unwrap();
    sim.create("/w/a", "0").unwrap();
    for path in ["/w", "/w/.git", "/w/.git/objects", "/w/.git/refs", "/w/.git/HEAD", "/w/a"] {
        sim.set_owner(path, USER, USER).unwrap();
    }
    let engine = users_engine(&sim, 1);
    (0..3).for_each(|_| next(&sim, &engine));
    assert_eq!(names(&sim, "/w/.git/txedit/history").len(), 3);
    (sim, engine)
}

const USER: u32 = 1500;

fn users_engine(sim: &SimFs, process: u32) -> Engine {
    let fs = Arc::new(sim.process_of(process, USER, USER));
    Engine::with_fs(fs, Path::new("/w"), Settings::default().lock_timeout(Duration::ZERO)).unwrap()
}

#[test]
fn a_state_folder_whose_id_cannot_be_written_any_more_is_used_no_more() {
    let (sim, engine) = of_user();
    sim.set_mode("/w/.git/txedit/id", 0o400).unwrap();
    let id = counted(&sim, &engine).unwrap().transaction.unwrap();
    let log = users_engine(&sim, 2).log(9, None).unwrap();
    assert_eq!(log.iter().map(|one| &one.id).collect::<Vec<_>>(), [&id]);
}

#[test]
fn a_git_folder_that_cannot_be_entered_any_more_stops_nobody() {
    let (sim, engine) = of_user();
    sim.set_mode("/w/.git", 0).unwrap();
    let id = counted(&sim, &engine).unwrap().transaction.unwrap();
    let log = users_engine(&sim, 2).log(9, None).unwrap();
    assert_eq!(log.iter().map(|one| &one.id).collect::<Vec<_>>(), [&id]);
}

#[test]
fn a_mount_over_the_state_folder_or_the_root_is_noticed() {
    if is_without("numbers of mounts") {
        return;
    }
    mounts::with(Kind::Tmpfs, |top| {
        let root = top.join("w");
        for folder in [".git/objects", ".git/refs"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join("a"), "0").unwrap();
        let engine = Engine::open(&root).unwrap();
        let count = |old: &str, new: &str| {
            engine.apply(&Request::new().edit("a", Edit::replace(old, new)), Run::default()).unwrap().transaction
        };
        count("0", "1");
        count("1", "2");
        let state = root.join(".git/txedit");
        let bind =
            |folder: &Path| run("mount", [OsStr::new("--bind"), folder.as_os_str(), folder.as_os_str()]).unwrap();
        let unbind = |folder: &Path| run("umount", [OsStr::new("-l"), folder.as_os_str()]).unwrap();
        bind(&state);
        let id = count("2", "3");
        let log = Engine::open(&root).unwrap().log(9, None).unwrap();
        unbind(&state);
        assert_eq!(log.into_iter().map(|one| Some(one.id)).collect::<Vec<_>>(), [id]);

        assert!(engine.is_at_its_root());
        bind(&root);
        let is_at_its_root = engine.is_at_its_root();
        unbind(&root);
        assert!(!is_at_its_root, "what is mounted in it later would be hidden from this engine");
    });
}
