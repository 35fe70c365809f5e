//! The journal of an interrupted transaction is damaged in one byte: nobody builds upon files that may be half-done.

use std::path::Path;
use std::time::Duration;

use txedit::error::NextStep;
use txedit::fs::sim::{Action, SimFs};
use txedit::report::InterruptedFile;
use txedit::{Edit, Engine, ErrorKind, Outcome, RecoverOptions, Report, Request, Run, Settings, UndoOptions};

use super::lost::{edits, engine, killed_before};

/// Where the JSON of a line begins, behind its digest.
const JSON: usize = 70;

/// Flips a bit of a line, from 0, at a byte of it.
fn damage(sim: &SimFs, journal: &Path, line: usize, at: usize) {
    let mut bytes = sim.read(journal).unwrap();
    let start: usize = bytes.split(|byte| *byte == b'\n').take(line).map(|line| line.len() + 1).sum();
    bytes[start + at] ^= 1;
    sim.write_in_place(journal, bytes).unwrap();
}

#[test]
fn what_touches_its_files_is_refused_until_somebody_decides() {
    // The header, the entries of `a` and of `b`, and the seal. What stands in front of an entry hides no path.
    let (all, json) = (["a", "b"].as_slice(), JSON);
    for (line, at, known) in [(0, json, all), (1, json, &["b"]), (2, json, &["a"]), (3, json, all), (1, 3, all)] {
        let (sim, folder) = killed_before("journal.done", &edits());
        sim.create("/w/c", "old c").unwrap();
        let (engine, id) = (engine(&sim, 5), Path::new(&folder).file_name().unwrap().to_str().unwrap());
        damage(&sim, &Path::new(&folder).join("journal"), line, at);
        // Its files are named as far as they are known, by whoever tells of it.
        let named = |files: &[InterruptedFile]| -> Vec<String> {
            files.iter().map(|file| file.path.display().to_string()).collect()
        };
        assert_eq!(named(&engine.status().unwrap().interrupted[0].files), known, "{line}");
        assert_eq!(named(&engine.recover(Some(id), RecoverOptions::new()).unwrap()[0].files), known, "{line}");
        for path in known {
            let request = Request::new().edit(*path, Edit::replace("new", "newer"));
            for request in [request.clone(), request.dry_run(true)] {
                let error = engine.apply(&request, Run::default()).unwrap_err();
                let told = (error.kind(), error.outcome());
                assert_eq!(told, (ErrorKind::RecoveryRequired, Outcome::Unchanged), "{line}: {error:?}");
                let of_it = |step: &NextStep| match step {
                    NextStep::Discard { id: named } | NextStep::Recover { id: Some(named) } => named == id,
                    _ => false,
                };
                assert!(error.next_steps().iter().any(of_it), "{line}: {error:?}");
            }
            assert_eq!(sim.read(Path::new("/w").join(path)).unwrap(), format!("new {path}").as_bytes());
        }
        // It says nothing of other files.
        engine.apply(&Request::new().edit("c", Edit::replace("old", "new")), Run::default()).unwrap();
        // After the decision nothing is in the way.
        let discard = RecoverOptions::new().decision(txedit::Decision::Discard);
        assert_eq!(named(&engine.recover(Some(id), discard).unwrap()[0].files), known, "{line}");
        engine.apply(&Request::new().edit("b", Edit::replace("new", "newer")), Run::default()).unwrap();
    }
}

/// It may have been committed, and be the newest, or one of the session.
#[test]
fn no_undo_takes_an_older_one_in_its_place() {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    for name in ["a", "b", "c"] {
        sim.create(format!("/w/{name}"), format!("old {name}")).unwrap();
    }
    sim.advance(Duration::from_secs(60));
    let of_session = |process, name: &str| {
        let settings = Settings::default().lock_timeout(Duration::from_secs(5)).session(name.to_owned());
        Engine::with_fs(std::sync::Arc::new(sim.process(process)), Path::new("/w"), settings).unwrap()
    };
    let request = Request::new().edit("c", Edit::replace("old", "new"));
    of_session(1, "mine").apply(&request, Run::default()).unwrap();
    sim.set_hook(|call| match call.to {
        Some(name) if call.verb == "rename" && name.ends_with("journal.done") => Action::Kill,
        _ => Action::Continue,
    });
    of_session(2, "theirs").apply(&edits(), Run::default()).unwrap_err();
    sim.clear_hook();
    let engine = engine(&sim, 3);
    let id = engine.status().unwrap().interrupted[0].id.clone();
    let journal = Path::new("/w/.txedit/txn").join(id).join("journal");
    damage(&sim, &journal, 3, JSON);
    let refused = |undone: Result<Report, txedit::Error>| {
        let error = undone.unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::RecoveryRequired, Outcome::Unchanged), "{error:?}");
    };
    let dry = UndoOptions::default().dry_run(true);
    for options in [&UndoOptions::default(), &dry] {
        refused(engine.undo_last(1, options, Run::default()));
        refused(engine.undo_session("theirs", options, Run::default()));
    }
    // Its header says that it is of another one.
    assert_eq!(engine.undo_session("mine", &dry, Run::default()).unwrap().reverts.len(), 1);
    damage(&sim, &journal, 0, JSON);
    refused(engine.undo_session("mine", &dry, Run::default()));
    assert_eq!(sim.read("/w/c").unwrap(), b"new c");
}
