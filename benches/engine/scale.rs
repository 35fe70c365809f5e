//! How much work a benchmark does: as much as its name says when it measures, little when it is only a test.

use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};

/// The largest count in a test.
const TESTED_COUNT: usize = 10;

/// The most bytes in a test.
const TESTED_BYTES: usize = 64 << 10;

/// Whether this is `cargo bench`, which says so, and not `cargo test`.
fn is_measured() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// All of these numbers of files, edits or records to measure, the first few to test.
pub(crate) fn counts(all: &[usize]) -> impl Iterator<Item = usize> {
    up_to(all, TESTED_COUNT)
}

/// All of these sizes to measure, the first few to test.
pub(crate) fn sizes(all: &[usize]) -> impl Iterator<Item = usize> {
    up_to(all, TESTED_BYTES)
}

fn up_to(all: &[usize], tested: usize) -> impl Iterator<Item = usize> {
    let most = if is_measured() { usize::MAX } else { tested };
    all.iter().copied().filter(move |count| *count <= most)
}

/// One size to measure, or less of it to test.
pub(crate) fn size(measured: usize) -> usize {
    if is_measured() { measured } else { measured.min(TESTED_BYTES) }
}

/// A group that touches the disk: few samples, as each may take a second, and as many runs in each of them.
pub(crate) fn on_disk<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    group
}

/// A group that only computes.
pub(crate) fn in_memory<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group
}

/// The time of `iterations` runs of `work`, each after `prepare`, which is not counted and hands over what it made.
pub(crate) fn timed<S, T>(
    iterations: u64,
    state: &mut S,
    mut prepare: impl FnMut(&mut S) -> T,
    mut work: impl FnMut(&mut S, T),
) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        let ready = prepare(state);
        let start = Instant::now();
        work(state, ready);
        total += start.elapsed();
    }
    total
}
