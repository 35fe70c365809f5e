//! Scenarios: short scripts of requests, foreign acts, faults and crashes, judged by the promise alone.
//!
//! A [`Scenario`] is data with a text form; [`generate`] makes a random one, [`run_sim`] runs it on the simulated
//! machine, and [`shrink`] shortens one that fails.

mod answer;
mod attack;
mod claims;
mod crash;
mod data;
mod deed;
mod disturb;
mod finish;
mod foreigner;
mod generate;
mod ground;
mod judge;
mod look;
mod outcome;
mod parse;
mod quiet;
mod refused;
mod run;
mod serial;
mod shrink;
mod text;

pub use answer::{ScenarioComparison, judge_answer};
pub use attack::generate_attack;
pub use claims::{Claimed, warnings};
pub use data::{
    Ask, Disturbance, Item, Profile, Scenario, ScenarioAct, ScenarioCheck, ScenarioDeed, ScenarioFault, ScenarioPoint,
    ScenarioStep, ScenarioTerms, request,
};
pub use generate::generate;
pub use judge::{Broken, pin, play, run_sim};
pub use look::{ContentMarks, marks};
pub use run::Player;
pub use shrink::shrink;
