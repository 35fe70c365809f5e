//! An observer or a checker that panics is other people's code: it takes nothing along.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use txedit::check::{CheckCall, Checker, Ended, Verdict};
use txedit::{CancelToken, Check, Engine, Observer, PathRule, Phase, Request, Run, wire};

use crate::support::workspace::{Workspace, settings};

/// Panics the n-th time that it is told anything.
struct Panics {
    at: usize,
    told: AtomicUsize,
}

impl Observer for Panics {
    fn progress(&self, phase: Phase, _done: usize, _total: usize) {
        if self.told.fetch_add(1, Ordering::Relaxed) == self.at {
            // Not by the hook, which would print it.
            std::panic::resume_unwind(Box::new(phase));
        }
    }
}

/// A check without a process.
#[derive(Debug, Clone, Copy)]
enum Decides {
    Passes,
    Fails,
    Panics,
}

impl Checker for Decides {
    fn run(&self, _call: &CheckCall<'_>) -> std::io::Result<Ended> {
        let verdict = match self {
            Self::Passes => Verdict::Passed,
            Self::Fails => Verdict::Failed("no".to_owned()),
            Self::Panics => std::panic::resume_unwind(Box::new(Phase::Check)),
        };
        Ok(Ended::new(verdict))
    }
}

fn request(check: Option<Decides>) -> Request {
    let edits = json!([{"old_string": "one", "new_string": "1"}]);
    let plan = json!({"files": [
        {"file_path": "a", "edits": edits}, {"file_path": "sub/b", "edits": edits},
        {"file_path": "new/c", "content": "three"}, {"file_path": "old", "delete": true}]});
    let request = wire::request::parse(plan.to_string().as_bytes()).unwrap();
    let check = check.map(|_| Check::new(vec!["check".into()]));
    request.into_request(PathRule::AbsoluteOrRelative).unwrap().check(check)
}

/// Applies it with an observer that panics at one of its calls; whether it did, and whether the files are new.
fn applied(check: Option<Decides>, at: usize) -> (Option<Phase>, bool) {
    let here = Workspace::with(&[("a", "one"), ("sub/b", "one"), ("old", "old")]);
    let engine = Engine::open_with(here.root(), settings()).unwrap();
    let engine = check
        .map_or(engine, |_| Engine::open_with(here.root(), settings()).unwrap().with_checker(Arc::new(check.unwrap())));
    let before = here.tree().restorable();
    let (cancel, observer) = (CancelToken::new(), Panics { at, told: AtomicUsize::new(0) });
    let run = Run::default().cancelled_by(&cancel).observed_by(&observer);
    let panic = catch_unwind(AssertUnwindSafe(|| engine.apply(&request(check), run)));
    let panicked = panic.as_ref().err().map(|panic| *panic.downcast_ref::<Phase>().unwrap());
    let is_new = matches!(panic, Ok(Ok(_)));
    if is_new {
        assert_eq!((here.read("a"), here.read("new/c")), ("1".to_owned(), "three".to_owned()));
    } else {
        here.tree().restorable().assert_same(&before);
    }
    let status = engine.status().unwrap();
    assert!(status.interrupted.is_empty() && status.kept.is_empty(), "{panicked:?} {status:?}");
    (panicked, is_new)
}

#[test]
fn an_observer_that_panics_leaves_everything_as_it_was() {
    let mut seen = Vec::new();
    for check in [None, Some(Decides::Passes), Some(Decides::Fails)] {
        for at in 0.. {
            let (panicked, is_new) = applied(check, at);
            let Some(phase) = panicked else {
                assert_eq!(is_new, !matches!(check, Some(Decides::Fails)));
                break;
            };
            seen.push(phase);
        }
    }
    for phase in [Phase::Read, Phase::Stage, Phase::Swap, Phase::Check, Phase::Rollback] {
        assert!(seen.contains(&phase), "it was never told of {phase:?}");
    }
}

#[test]
fn a_check_that_panics_rolls_everything_back() {
    assert_eq!(applied(Some(Decides::Panics), usize::MAX), (Some(Phase::Check), false));
}
