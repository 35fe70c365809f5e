//! Tests of the whole, on real file systems.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]
#![expect(clippy::disallowed_methods, reason = "a test that gets no thread fails")]

mod concurrency;
mod damage;
mod dialect;
mod file_systems;
mod front_ends;
mod history;
mod hostile;
mod house;
mod proof;
mod recovery;
mod requests;
mod support;
mod transactions;
