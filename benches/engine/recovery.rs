//! Recovery of a transaction that died half-way through its swaps.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::testing::internals::path::STATE_FOLDER;
use txedit::{Durability, Outcome, RecoverOptions};

use crate::scale::{self, timed};
use crate::workspace::{Workspace, engine, running};

/// Which way recovery goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Forward,
    /// A check was to come.
    Back,
}

const WAYS: [(&str, Way); 2] = [("forward", Way::Forward), ("back", Way::Back)];

/// What a file system says on which nothing can be written any more.
const EIO: i32 = 5;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = scale::on_disk(criterion, "recovery");
    for files in scale::counts(&[1, 10, 100, 1_000]) {
        group.throughput(Throughput::Elements(files as u64));
        for (name, way) in WAYS {
            group.bench_function(BenchmarkId::new(name, files), |bencher| {
                let mut workspace = Workspace::new(files, Durability::Process);
                bencher.iter_custom(|iterations| recoveries(&mut workspace, way, iterations));
                workspace.verify();
            });
        }
        group.bench_function(BenchmarkId::new("nothing to recover", files), |bencher| {
            let mut workspace = Workspace::new(files, Durability::Process);
            workspace.commit();
            bencher.iter(|| assert!(recover(&workspace).is_empty(), "nothing is interrupted"));
        });
    }
    group.finish();
}

fn recoveries(workspace: &mut Workspace, way: Way, iterations: u64) -> Duration {
    let prepare = |workspace: &mut Workspace| {
        workspace.settle();
        interrupt(workspace, way);
        workspace.tree.sync();
    };
    timed(iterations, workspace, prepare, |workspace, ()| {
        assert_eq!(recover(workspace).len(), 1, "one transaction is interrupted");
        if way == Way::Forward {
            workspace.passed();
        }
    })
}

/// Answers the ids of what was recovered.
fn recover(workspace: &Workspace) -> Vec<String> {
    let recovered = workspace.engine().recover(None, RecoverOptions::default()).unwrap();
    recovered.into_iter().map(|recovered| recovered.id).collect()
}

/// Starts the next transaction and takes the disk away from it after half of its swaps: nothing can be written any
/// more, not even to take them back. What is left is what a kill leaves.
fn interrupt(workspace: &Workspace, way: Way) {
    let request = match way {
        Way::Forward => workspace.next().clone(),
        Way::Back => workspace.checked(),
    };
    let swaps = request.files.len().div_ceil(2);
    let fs = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let swapped = AtomicUsize::new(0);
    let state = workspace.tree.root().canonicalize().unwrap().join(STATE_FOLDER);
    let is_swap = move |call: &FaultCall| {
        call.operation == FaultOperation::Rename
            && call.path.starts_with(&state)
            && call.to.as_ref().is_some_and(|to| !to.starts_with(&state))
    };
    let gone = move |call: &FaultCall| {
        // One write after the last swap that succeeds is the first that fails.
        let is_gone = swapped.load(Ordering::Relaxed) >= swaps && call.operation.writes();
        if is_swap(call) {
            swapped.fetch_add(1, Ordering::Relaxed);
        }
        is_gone
    };
    fs.add(Rule::fail(1, EIO).matching(gone).from_then_on());
    let error = engine(fs, &workspace.tree, Durability::Process).apply(&request, running()).unwrap_err();
    assert_eq!(error.outcome(), Outcome::RecoveryRequired, "{error}");
}
