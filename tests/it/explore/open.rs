//! Open transactions under crashes: staging and dropping change no file, and a commit is a commit.

use std::sync::atomic::AtomicBool;

use txedit::engine::{Engine, Run, Unobserved};
use txedit::error::Result;
use txedit::testing::Script;

use super::{explore_once, scripts};

fn run<T>(call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    let never = AtomicBool::new(false);
    call(Run { cancel: &never, observer: &Unobserved })
}

/// Stages twice; the second sees the first.
fn staged(engine: &Engine) -> Result<String> {
    let first = scripts::request(vec![scripts::replaces("a", "one", "two"), scripts::creates("sub/new", "new one\n")]);
    let then = scripts::request(vec![scripts::replaces("sub/new", "one", "two"), scripts::deletes("b")]);
    let id = run(|run| engine.stage(&first, None, run))?.id.unwrap_or_default();
    run(|run| engine.stage(&then, Some(&id), run))?;
    Ok(id)
}

pub(crate) fn dropped() -> Script {
    scripts::script("staged and dropped").then(|engine| {
        let id = staged(engine)?;
        run(|run| engine.roll_back(&id, run))
    })
}

pub(crate) fn committed() -> Script {
    scripts::script("staged and committed").then(|engine| {
        let id = staged(engine)?;
        run(|run| engine.commit_staged(&id, None, None, run)).map(drop)
    })
}

#[test]
fn what_is_staged_and_dropped() {
    explore_once(&dropped());
}

#[test]
fn what_is_staged_and_committed() {
    explore_once(&committed());
}
