//! File systems on which names change places in no way that keeps the promise: with `--swap in-place` files are overwritten,
//! and nothing rests on their numbers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs, Volume};
use txedit::report::{Guarantee, Recovered, RecoveryAction};
use txedit::settings::Swap;
use txedit::{
    Decision, Edit, Engine, ErrorKind, NextStep, Outcome, RecoverOptions, Request, Run, Settings, UndoOptions,
};

use super::{proofs, restarted};

/// Numbers that are dealt out anew as soon as the system has forgotten a file, as on sshfs; and a file system without links.
const KINDS: [fn(&mut Volume); 2] = [
    |volume| {
        (volume.exchange, volume.no_replace, volume.birth_times) = (false, false, false);
        (volume.numbers_by_name, volume.forgets_numbers) = (true, true);
    },
    |volume| (volume.exchange, volume.no_replace, volume.links) = (false, false, false),
];

/// Of several blocks.
fn text(word: &str) -> String {
    format!("{word} line\n").repeat(2_000)
}

fn machine(kind: fn(&mut Volume)) -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w/sub").unwrap();
    sim.volume("/w", kind).unwrap();
    for name in ["a", "sub/b"] {
        sim.create(format!("/w/{name}"), text("old")).unwrap();
    }
    sim.advance(Duration::from_secs(60));
    sim
}

fn engine_at(sim: &SimFs, process: u32, root: &str, swap: Swap) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).swap(swap);
    let settings = settings.user_state(Path::new("/states").to_owned());
    Engine::with_fs(Arc::new(sim.process(process)), Path::new(root), settings).unwrap()
}

/// In a process of its own: those before it have ended, and no file is held any more.
fn engine(sim: &SimFs) -> Engine {
    (1..9).for_each(|process| sim.kill(process));
    engine_at(sim, 1, "/w", Swap::InPlace)
}

fn edits() -> Request {
    let edit = || Edit::replace_all("old", "newer");
    Request::new().edit("a", edit()).edit("sub/b", edit())
}

fn words(sim: &SimFs) -> [String; 2] {
    ["a", "sub/b"].map(|name| {
        let content = String::from_utf8(sim.read(Path::new("/w").join(name)).unwrap()).unwrap();
        let word = content.split(' ').next().unwrap_or_default().to_owned();
        if content == text(&word) { word } else { content }
    })
}

/// Killed once a part of the second file is overwritten.
fn killed_between_writes(sim: &SimFs) {
    let writes = AtomicUsize::new(0);
    sim.set_hook(move |call| {
        if call.verb != "write_at" || call.path != Path::new("/w/sub/b") {
            return Action::Continue;
        }
        if writes.fetch_add(1, Ordering::Relaxed) == 0 { Action::Short(4096) } else { Action::Kill }
    });
    engine(sim).apply(&edits(), Run::default()).unwrap_err();
    sim.clear_hook();
    assert_eq!(words(sim)[0], "newer");
    assert!(words(sim)[1].starts_with("newer line\n"), "a part of it is written");
}

fn recover(sim: &SimFs, options: RecoverOptions) -> Recovered {
    engine(sim).recover(None, options).unwrap().remove(0)
}

#[test]
fn the_content_and_the_mode_of_files_can_be_changed_and_changed_back() {
    for kind in KINDS {
        let sim = machine(kind);
        let report = engine(&sim).apply(&edits(), Run::default()).unwrap();
        assert_eq!((report.guarantee, words(&sim)), (Some(Guarantee::InPlace), ["newer", "newer"].map(str::to_owned)));
        assert!(report.files.iter().all(|file| file.extras.guarantee == Some(Guarantee::InPlace)), "{report:?}");
        engine(&sim).undo_last(1, &UndoOptions::default(), Run::default()).unwrap();
        assert_eq!(words(&sim), ["old", "old"]);
        engine(&sim).redo(None, &UndoOptions::default(), Run::default()).unwrap();
        assert_eq!(words(&sim), ["newer", "newer"]);
        engine(&sim).apply(&Request::new().mode("a", 0o600), Run::default()).unwrap();
        assert_eq!(sim.stat("/w/a").unwrap().mode, 0o600);
        assert!(engine(&sim).status().unwrap().warnings.is_empty());
        assert!(engine(&sim).kept().unwrap().is_empty());
    }
}

#[test]
fn it_is_done_only_where_that_is_asked_for_and_nothing_is_left_otherwise() {
    for kind in KINDS {
        let sim = machine(kind);
        for swap in [Swap::Auto, Swap::Exchange, Swap::Aside] {
            let error = engine_at(&sim, 1, "/w", swap).apply(&edits(), Run::default()).unwrap_err();
            assert_eq!(
                (error.kind(), error.outcome()),
                (ErrorKind::UnsupportedFileSystem, Outcome::Unchanged),
                "{error}"
            );
            assert_eq!(error.next_steps(), [NextStep::Doctor, NextStep::Overwrite], "{error}");
            assert!(!sim.exists("/w/.txedit"), "{swap:?}");
        }
        engine(&sim).apply(&edits(), Run::default()).unwrap();
        let error = engine_at(&sim, 2, "/w", Swap::Auto).apply(&edits(), Run::default()).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unchanged, "{error}");
        assert_eq!(words(&sim), ["newer", "newer"]);
    }
}

#[test]
fn what_takes_a_name_is_refused() {
    for kind in KINDS {
        let sim = machine(kind);
        let edited = |request: Request| request.edit("sub/b", Edit::replace_all("old", "newer"));
        for request in [
            Request::new().create("new", "new\n"),
            Request::new().delete("a"),
            Request::new().rename("a", "b"),
            Request::new().create("folder/new", "new\n"),
            Request::new().make_folder("folder"),
        ] {
            let error = engine(&sim).apply(&edited(request), Run::default()).unwrap_err();
            assert_eq!(
                (error.kind(), error.outcome()),
                (ErrorKind::UnsupportedFileSystem, Outcome::Unchanged),
                "{error}"
            );
            assert!(error.message().contains("nothing but the content and the mode"), "{error}");
            assert_eq!(words(&sim), ["old", "old"]);
        }
        sim.set_mode("/w/a", 0o4755).unwrap();
        let error = engine(&sim).apply(&edits(), Run::default()).unwrap_err();
        assert!(error.message().contains("set-id bits"), "{error}");
    }
}

#[test]
fn what_was_interrupted_comes_back_whatever_number_its_files_have_by_now() {
    for kind in KINDS {
        let sim = machine(kind);
        killed_between_writes(&sim);
        let status = engine(&sim).status().unwrap();
        assert_eq!(status.interrupted.len(), 1, "{status:?}");
        // The next commit recovers it.
        engine(&sim).apply(&Request::new().mode("a", 0o600), Run::default()).unwrap();
        assert_eq!(words(&sim), ["old", "old"]);
    }
}

#[test]
fn what_was_interrupted_comes_back_after_a_restart() {
    for kind in KINDS {
        let sim = machine(kind);
        killed_between_writes(&sim);
        let sim = restarted(&sim);
        let done = recover(&sim, RecoverOptions::new());
        assert!(!done.required, "{done:?}");
        assert_eq!(words(&sim), ["old", "old"]);
        engine(&sim).apply(&edits(), Run::default()).unwrap();
        // History is known again, too.
        engine(&sim).undo_last(1, &UndoOptions::default(), Run::default()).unwrap();
        assert_eq!(words(&sim), ["old", "old"]);
    }
}

#[test]
fn the_other_names_of_a_file_get_the_new_content_and_that_is_told() {
    let sim = machine(KINDS[0]);
    sim.link("/w/a", "/w/c").unwrap();
    let report = engine(&sim).apply(&edits(), Run::default()).unwrap();
    assert_eq!(sim.read("/w/c").unwrap(), text("newer").into_bytes());
    let warnings = report.files.iter().flat_map(|file| &file.extras.warnings);
    let told: Vec<_> = warnings.filter(|warning| warning.contains("the other names get the new content")).collect();
    assert_eq!(told.len(), 1, "{report:?}");
}

/// Without a number and without a birth time only the proof tells a copy from what was written where it is.
#[test]
fn a_copy_elsewhere_waits_for_a_person_and_history_there_is_not_this_users() {
    let sim = machine(KINDS[0]);
    engine(&sim).apply(&Request::new().mode("a", 0o600), Run::default()).unwrap();
    let there = || {
        (1..9).for_each(|process| sim.kill(process));
        engine_at(&sim, 2, "/v", Swap::InPlace)
    };
    sim.rename("/w", "/v").unwrap();
    there().undo_last(1, &UndoOptions::default(), Run::default()).unwrap_err();
    assert_eq!(sim.stat("/v/a").unwrap().mode, 0o600);
    sim.rename("/v", "/w").unwrap();
    engine(&sim).undo_last(1, &UndoOptions::default(), Run::default()).unwrap();

    killed_between_writes(&sim);
    sim.rename("/w", "/v").unwrap();
    let id = there().status().unwrap().interrupted[0].id.clone();
    let report = there().recover(Some(&id), RecoverOptions::new()).unwrap().remove(0);
    assert_eq!(report.action, RecoveryAction::Left, "{report:?}");
    let trusted = there().recover(Some(&id), RecoverOptions::new().trust_journal(true)).unwrap().remove(0);
    assert_eq!(trusted.action, RecoveryAction::RolledBack, "{trusted:?}");
    sim.rename("/v", "/w").unwrap();
    assert_eq!(words(&sim), ["old", "old"]);
}

#[test]
fn what_another_program_wrote_since_the_crash_waits_for_a_person() {
    for kind in KINDS {
        let sim = machine(kind);
        killed_between_writes(&sim);
        sim.write_in_place("/w/sub/b", "theirs").unwrap();
        assert!(recover(&sim, RecoverOptions::new()).required);
        assert_eq!(words(&sim), ["newer", "theirs"]);
        let id = engine(&sim).status().unwrap().interrupted[0].id.clone();
        let back = RecoverOptions::new().decision(Decision::Back);
        let done = engine(&sim).recover(Some(&id), back).unwrap().remove(0);
        assert_eq!(
            (done.action, words(&sim)),
            (RecoveryAction::RolledBack, ["old", "old"].map(str::to_owned)),
            "{done:?}"
        );
        assert_eq!(sim.read(&done.kept[0].kept_path).unwrap(), b"theirs");
    }
}

/// Content alone tells: what has the new content, whoever wrote it, goes back with the rest, and nothing is lost by that.
#[test]
fn another_file_with_the_same_content_counts_as_the_one_that_was_written() {
    for content in ["newer", "old"] {
        let sim = machine(KINDS[0]);
        killed_between_writes(&sim);
        sim.create("/w/theirs", text(content)).unwrap();
        sim.rename("/w/theirs", "/w/sub/b").unwrap();
        assert!(!recover(&sim, RecoverOptions::new()).required);
        assert_eq!(words(&sim), ["old", "old"]);
    }
    // Where there are birth times it is known to be another one.
    let sim = machine(KINDS[1]);
    killed_between_writes(&sim);
    sim.create("/w/theirs", text("newer")).unwrap();
    sim.rename("/w/theirs", "/w/sub/b").unwrap();
    assert!(recover(&sim, RecoverOptions::new()).required);
}

/// The handle that is written through leads to a file without a name by then, and a number may be that of another file.
#[test]
fn a_file_that_takes_the_place_of_one_while_it_is_overwritten_is_noticed() {
    for kind in KINDS {
        let sim = machine(kind);
        let machine = sim.clone();
        sim.set_hook(move |call| {
            if call.verb == "write_at" && call.path == Path::new("/w/a") && !machine.exists("/w/done") {
                machine.create("/w/done", "").unwrap();
                machine.create("/w/theirs", "theirs").unwrap();
                machine.rename("/w/theirs", "/w/a").unwrap();
            }
            Action::Continue
        });
        let error = engine(&sim).apply(&edits(), Run::default()).unwrap_err();
        sim.clear_hook();
        assert_eq!(error.kind(), ErrorKind::ConcurrentModification, "{error}");
        assert_eq!(words(&sim), ["theirs", "old"], "{error}");
    }
}

/// As outside of a sandbox. What was written before has no number all the same.
#[test]
fn a_better_way_later_leaves_the_proofs_of_history() {
    let sim = machine(|volume| {
        (volume.exchange, volume.no_replace, volume.links, volume.birth_times) = (false, false, false, false);
    });
    let first = engine(&sim).apply(&edits(), Run::default()).unwrap().transaction.unwrap();
    sim.volume("/w", |volume| volume.no_replace = true).unwrap();
    for mode in [0o600, 0o644] {
        let report = engine(&sim).apply(&Request::new().mode("a", mode), Run::default()).unwrap();
        assert_eq!(report.guarantee, Some(Guarantee::Aside));
    }
    assert_eq!(proofs(&sim), 2);
    let sim = restarted(&sim);
    engine(&sim).undo(Some(&first), false, Run::default()).unwrap();
    assert_eq!(words(&sim), ["old", "old"]);
}

#[test]
fn the_proofs_go_with_what_they_prove() {
    let sim = machine(KINDS[0]);
    for _ in 0..3 {
        engine(&sim).apply(&edits(), Run::default()).unwrap();
        engine(&sim).undo_last(1, &UndoOptions::default(), Run::default()).unwrap();
    }
    assert_eq!(proofs(&sim), 6);
    engine(&sim).prune(&txedit::Retention::default().count(0)).unwrap();
    engine(&sim).apply(&edits(), Run::default()).unwrap();
    engine(&sim).undo_last(1, &UndoOptions::default(), Run::default()).unwrap();
    assert_eq!(proofs(&sim), 2);
}
