//! The engine against a plain reference model: sequences of transactions, undos, foreign writes, kills and power cuts
//! on the file system in memory. After every step the files are what the model says.
//!
//! `TXEDIT_MODEL_CASES` sets the number of sequences, `TXEDIT_MODEL_SEED` chooses others; a failing one shrinks and
//! prints itself.

mod action;
mod open;
mod reference;
mod trouble;
mod world;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use action::Action;
use world::World;

fn cases() -> u32 {
    std::env::var("TXEDIT_MODEL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(256)
}

#[test]
fn the_engine_and_the_model_never_differ() {
    let seed = std::env::var("TXEDIT_MODEL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let config = Config {
        cases: cases(),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let sequences = prop::collection::vec(action::arbitrary(), 1..24);
    let counts = std::cell::RefCell::new(world::Counts::default());
    let result = runner.run(&sequences, |actions: Vec<Action>| {
        let mut world = World::new();
        for (step, action) in actions.iter().enumerate() {
            world.step(action).map_err(|why| TestCaseError::fail(format!("step {step}, {action:?}: {why}")))?;
        }
        counts.borrow_mut().add(&world.counts);
        Ok(())
    });
    let counts = counts.into_inner();
    eprintln!("{counts:?}");
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(counts.saw_everything(), "a kind of step never happened: {counts:?}");
}
