//! Scenarios: short scripts by chance and from the corpus, judged by the promise alone.
//!
//! `TXEDIT_SCENARIOS` sets how many are made up, `TXEDIT_SCENARIO_SEED` from which seed on; one that fails is made short
//! and printed in the form of the files in `corpus/`.

mod corpus;
mod real;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use txedit::testing::scenario::{Scenario, generate, run_sim, shrink};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// What is wrong with a scenario, if anything is; a panic of the engine is.
fn broken(scenario: &Scenario) -> Option<(String, Scenario)> {
    match std::panic::catch_unwind(|| run_sim(scenario)) {
        Ok(Ok(())) => None,
        Ok(Err(broken)) => Some((broken.what, broken.scenario)),
        Err(_) => Some(("a panic".to_owned(), scenario.clone())),
    }
}

/// The same script, shortened, with what is wrong with it.
fn told(scenario: &Scenario) -> String {
    let (what, pinned) = broken(scenario).unwrap_or_else(|| ("it does not fail again".to_owned(), scenario.clone()));
    // The points of its disturbances have names now, unless a name leads elsewhere.
    let named = if broken(&pinned).is_some() { pinned } else { scenario.clone() };
    let short = shrink(&named, |shorter| broken(shorter).is_some());
    let what = broken(&short).map_or(what, |(what, _)| what);
    format!("{short}\n{what}")
}

#[test]
fn no_scenario_breaks_the_promise() {
    let (count, first) = (number("TXEDIT_SCENARIOS", 2_000), number("TXEDIT_SCENARIO_SEED", 1));
    let next = AtomicU64::new(first);
    let found = Mutex::new(None);
    let started = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                while found.lock().unwrap().is_none() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let scenario = generate(seed);
                    if broken(&scenario).is_some() {
                        found.lock().unwrap().get_or_insert((seed, scenario));
                    }
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f32();
    if let Some((seed, scenario)) = found.into_inner().unwrap() {
        panic!("seed {seed}:\n{}", told(&scenario));
    }
    eprintln!("{count} scenarios from seed {first} on, in {seconds:.1} s");
}

#[test]
fn a_script_reads_as_it_is_written() {
    for seed in 0..500 {
        let scenario = generate(seed);
        let text = scenario.to_string();
        let read: Scenario = text.parse().unwrap_or_else(|e| panic!("{e} in\n{text}"));
        assert_eq!(read, scenario, "{text}");
    }
}
