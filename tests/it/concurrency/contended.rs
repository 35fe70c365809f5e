//! Commits beside a program that is quicker than a sync: what stops them on the way.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use serde_json::json;
use txedit::fs::sim::{Action, SimCall, SimFs};
use txedit::testing::Errno;
use txedit::wire::request;
use txedit::{CancelToken, Durability, Engine, Error, Outcome, PathRule, Report, Run};

use crate::support::workspace::settings;

const NO_SPACE: i32 = 28;

fn machine() -> SimFs {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "red\n").unwrap();
    sim.create("/w/b", "red\n").unwrap();
    sim.sync_everything();
    sim
}

fn engine(sim: &SimFs, pid: u32) -> Engine {
    let settings = settings().durability(Durability::Power);
    Engine::with_fs(Arc::new(sim.process(pid)), Path::new("/w"), settings).unwrap().contended_after(0)
}

/// Edits both files, beside a program that writes into `b` when both were read.
fn commit(
    sim: &SimFs,
    cancel: &CancelToken,
    hook: impl FnMut(&SimCall<'_>) -> Action + Send + 'static,
) -> Result<Report, Error> {
    let edit = |path: &str| json!({ "file_path": path, "edits": [{ "old_string": "red\n", "new_string": "a longer green\n" }] });
    let request = request::parse(json!({ "files": [edit("a"), edit("b")] }).to_string().as_bytes()).unwrap();
    let request = request.into_request(PathRule::AbsoluteOrRelative).unwrap();
    let (machine, hook) = (sim.clone(), Mutex::new(hook));
    let is_written = AtomicBool::new(false);
    sim.set_hook(move |call| {
        let is_marked = call.to.is_some_and(|to| to.ends_with("journal.contended"));
        if is_marked && !is_written.swap(true, Relaxed) {
            machine.append("/w/b", "theirs\n").unwrap();
        }
        hook.lock().unwrap()(call)
    });
    let answer = engine(sim, 1).apply(&request, Run::default().cancelled_by(cancel));
    sim.clear_hook();
    answer
}

fn read(sim: &SimFs, path: &str) -> String {
    String::from_utf8(sim.read(path).unwrap()).unwrap()
}

#[test]
fn an_interrupt_after_the_first_swap_comes_too_late() {
    let (sim, cancel) = (machine(), CancelToken::new());
    let wish = cancel.clone();
    let answer = commit(&sim, &cancel, move |call| {
        let is_swap = call.verb == "rename" && call.to.is_some_and(|to| to == Path::new("/w/a"));
        if is_swap {
            wish.cancel();
        }
        Action::Continue
    });
    answer.unwrap();
    assert!(cancel.is_cancelled(), "it was not asked to stop");
    assert_eq!(read(&sim, "/w/a"), "a longer green\n");
    assert_eq!(read(&sim, "/w/b"), "a longer green\ntheirs\n");
}

#[test]
fn what_was_half_made_anew_on_a_full_disk_is_nobody_elses() {
    let (sim, mut is_full, mut begun) = (machine(), false, false);
    let error = commit(&sim, &CancelToken::new(), move |call| {
        is_full |= call.to.is_some_and(|to| to.ends_with("journal.contended"));
        match call.verb {
            "write_at" if is_full && call.path.ends_with("000001") => {
                let half = !std::mem::replace(&mut begun, true);
                if half { Action::Short(5) } else { Action::Fail(Errno::from_raw_os_error(NO_SPACE)) }
            }
            _ => Action::Continue,
        }
    })
    .unwrap_err();
    assert_eq!(error.outcome(), Outcome::RolledBack, "{error}");
    assert!(error.kept().is_empty(), "{:?}", error.kept());
    assert_eq!((read(&sim, "/w/a"), read(&sim, "/w/b")), ("red\n".to_owned(), "red\ntheirs\n".to_owned()));
    sim.advance(std::time::Duration::from_secs(60 * 60));
    let file = json!({ "files": [{ "file_path": "c", "content": "" }] }).to_string();
    let later = request::parse(file.as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap();
    let report = engine(&sim, 2).apply(&later, Run::default()).unwrap();
    assert!(!report.warnings.iter().any(|warning| warning.contains("another program")), "{:?}", report.warnings);
    assert!(engine(&sim, 3).kept().unwrap().is_empty());
}

#[test]
fn what_is_written_behind_a_swap_into_an_original_of_the_same_size_is_told() {
    let sim = machine();
    let mut held = Some(sim.open("/w/a").unwrap());
    let answer = commit(&sim, &CancelToken::new(), move |call| {
        // Everything is swapped and looked at.
        if call.path.ends_with("report.json")
            && let Some(held) = held.take()
        {
            held.write_at(0, b"RED\n").unwrap();
        }
        Action::Continue
    });
    answer.unwrap();
    let warnings = engine(&sim, 2).status().unwrap().warnings;
    let told: Vec<_> = warnings.iter().filter(|warning| warning.contains("was written after the commit")).collect();
    assert_eq!(told.len(), 1, "{warnings:?}");
}
