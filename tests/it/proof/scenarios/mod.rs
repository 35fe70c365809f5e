//! Scenarios: short scripts by chance and from the corpus, judged by the promise alone.
//!
//! `TXEDIT_SCENARIOS` sets how many are made up, `TXEDIT_SCENARIO_SEED` from which seed on; one that fails is made short
//! and printed in the form of the files in `corpus/`.

mod claims;
mod corpus;
mod real;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use txedit::journal::SwapMethod;
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

/// The way in which names change places on the machines: `TXEDIT_SCENARIO_SWAP`, `rename` or `link` where it is set.
fn swap_method() -> SwapMethod {
    let word = std::env::var("TXEDIT_SCENARIO_SWAP").ok();
    word.map_or(SwapMethod::Exchange, |word| SwapMethod::of_word(&word).unwrap())
}

#[test]
fn no_scenario_breaks_the_promise() {
    let swap = swap_method();
    let (count, first) = (number("TXEDIT_SCENARIOS", 2_000), number("TXEDIT_SCENARIO_SEED", 1));
    // Every sixteenth, for one: the kind of machine goes by the seed.
    let step = number("TXEDIT_SCENARIO_STEP", 1);
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    let started = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= count {
                        break;
                    }
                    let seed = first + nth * step;
                    let mut scenario = generate(seed);
                    scenario.machine.swap = swap;
                    if broken(&scenario).is_some() {
                        // A long run goes on, and shows each.
                        eprintln!("seed {seed}:\n{}", told(&scenario));
                        found.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f32();
    eprintln!("{count} scenarios from seed {first} on, in {seconds:.1} s");
    assert_eq!(found.into_inner().unwrap(), [] as [u64; 0], "seeds of scenarios that break the promise");
}

#[test]
fn no_attacker_changes_what_is_outside() {
    for seed in 0..number("TXEDIT_SCENARIOS", 1_000) {
        let scenario = txedit::testing::scenario::generate_attack(seed);
        assert!(broken(&scenario).is_none(), "seed {seed}:\n{}", told(&scenario));
    }
}

/// Whether the judge sees a file outside that is written, and a content that is taken away, while the engine works.
#[test]
fn what_an_attack_must_not_do_is_seen() {
    let attack = |deed: &str| {
        let script = format!(
            "file a \"red O1\\n\" 644\nsymlink link /outside\napply\n  edit a \"red\" \"blue\"\n  before host #1: {deed}\n"
        );
        run_sim(&script.parse().unwrap()).map_err(|broken| broken.what)
    };
    let outside = attack("write link/a \"red F2\\n\"").unwrap_err();
    assert!(outside.contains("outside the workspace was"), "{outside}");
    let gone = attack("delete a").unwrap_err();
    assert!(gone.contains("gone: O1"), "{gone}");
    attack("exchange .txedit link").unwrap();
    let script = "file a \"red O1\\n\" 644\nfile s/e \"precious\\n\" 644\nsymlink link /outside\nforeign chown s 7 7\n\
        apply\n  edit a \"red\" \"blue\"\n  before host #1: write s/e \"red F2\\n\"\n";
    let theirs = run_sim(&script.parse().unwrap()).unwrap_err().what;
    assert!(theirs.contains("of somebody else's was"), "{theirs}");
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
