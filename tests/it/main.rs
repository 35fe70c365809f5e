//! Tests of the whole, on real file systems.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]
#![expect(clippy::disallowed_methods, reason = "a test that gets no thread fails")]

mod architecture;
mod attempts;
mod bad_request;
mod bad_target;
mod begin;
mod cancelled;
#[cfg(feature = "cli")]
mod cli;
mod clock;
mod concurrency;
mod contended;
mod crash;
#[cfg(all(feature = "cli", feature = "delegate"))]
mod delegate;
mod dialect;
mod documents;
mod doors;
mod explore;
mod faults;
mod folders;
mod foreign;
mod fs_os;
mod fs_probe;
mod fuzz_twins;
mod globs;
mod hard_links;
mod hostile;
mod journal_format;
mod large;
mod many;
#[cfg(all(feature = "cli", feature = "mcp"))]
mod mcp;
mod meanwhile;
mod metadata;
mod model;
mod mounts;
mod mutants;
mod open;
mod overlay;
mod panics;
mod partly;
#[cfg(feature = "cli")]
mod power;
mod projects;
#[cfg(feature = "cli")]
mod reader;
#[cfg(feature = "cli")]
mod readme;
mod real_tree;
mod renames;
mod replace;
mod retention;
mod scenarios;
mod sections;
mod sources;
mod text_rules;
mod tidy;
mod undo;
mod workspace;
