//! Where the time of one transaction goes: reading, staging, swapping, by what the engine tells its observer. No
//! barriers, so that the disk's pace is not in the figures.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use txedit::{Durability, Observer, Phase};

use crate::scale;
use crate::workspace::Workspace;

/// The part of a transaction that is measured.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// Locks, snapshots, digests, matching, the plan.
    Read,
    /// New contents, the journal, the look at all targets before the first swap.
    Stage,
    /// The swaps, the looks at what came out, the journal's mark, the move to history.
    Swap,
}

const PARTS: [(&str, Part); 3] = [("read", Part::Read), ("stage", Part::Stage), ("swap", Part::Swap)];

/// When staging and swapping began.
#[derive(Debug, Default)]
struct Clock {
    staging: Mutex<Option<Instant>>,
    swapping: Mutex<Option<Instant>>,
}

impl Observer for Clock {
    fn progress(&self, phase: Phase, done: usize, _total: usize) {
        match phase {
            Phase::Stage if done == 0 => *self.staging.lock().unwrap() = Some(Instant::now()),
            Phase::Swap if done == 0 => *self.swapping.lock().unwrap() = Some(Instant::now()),
            _ => {}
        }
    }
}

impl Part {
    /// How long this part of the next transaction takes.
    fn time(self, workspace: &mut Workspace) -> Duration {
        workspace.settle();
        let clock = Clock::default();
        let start = Instant::now();
        workspace.commit_watched(&clock);
        let end = Instant::now();
        let moment = |of: &Mutex<Option<Instant>>| of.lock().unwrap().expect("the engine told of each phase");
        let (staging, swapping) = (moment(&clock.staging), moment(&clock.swapping));
        match self {
            Self::Read => staging - start,
            Self::Stage => swapping - staging,
            Self::Swap => end - swapping,
        }
    }
}

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = scale::on_disk(criterion, "phases");
    for files in scale::counts(&[10, 100, 1_000]) {
        group.throughput(Throughput::Elements(files as u64));
        for (name, part) in PARTS {
            group.bench_function(BenchmarkId::new(name, files), |bencher| {
                let mut workspace = Workspace::new(files, Durability::Process);
                bencher.iter_custom(|iterations| (0..iterations).map(|_| part.time(&mut workspace)).sum());
            });
        }
    }
    group.finish();
}
