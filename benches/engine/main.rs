//! How long the engine takes, part by part: `cargo bench --bench engine`, with a filter such as `-- commit/power`.
//!
//! What touches a disk works in `TXEDIT_BENCH_DIR`, or else in the target folder, and the first line says which file
//! system that is. `cargo test` runs each benchmark once, on small inputs, so that none rots.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

mod commit;
mod digest;
mod floor;
mod history;
mod journal;
mod phases;
mod place;
mod recovery;
mod request;
mod scale;
mod text;
mod tree;
mod undo;
mod workspace;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    place::announce();
    for group in [
        text::bench,
        digest::bench,
        request::bench,
        journal::bench,
        phases::bench,
        commit::bench,
        history::bench,
        recovery::bench,
        undo::bench,
    ] {
        group(&mut criterion);
    }
    criterion.final_summary();
}
