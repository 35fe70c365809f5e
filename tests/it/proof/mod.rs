//! The promise under crashes, faults, foreign programs and power cuts; and the tests that test these tests.

pub(crate) mod crash;
pub(crate) mod explore;
mod faults;
mod folders;
pub(crate) mod foreign;
mod fuzz_twins;
mod hard_links;
mod model;
mod mutants;
#[cfg(all(feature = "cli", target_os = "linux"))]
pub(crate) mod power;
mod put_back;
mod scenarios;
mod symlinks;
