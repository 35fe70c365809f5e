//! Undo of a committed transaction.

use criterion::{BenchmarkId, Criterion, Throughput};
use txedit::Durability;

use crate::scale::{self, timed};
use crate::workspace::{Workspace, running};

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = scale::on_disk(criterion, "undo");
    for files in scale::counts(&[1, 10, 100, 1_000]) {
        group.throughput(Throughput::Elements(files as u64));
        for (name, durability) in [("power", Durability::Power), ("process", Durability::Process)] {
            group.bench_function(BenchmarkId::new(name, files), |bencher| {
                let mut workspace = Workspace::new(files, durability);
                bencher.iter_custom(|iterations| {
                    let prepare = |workspace: &mut Workspace| {
                        workspace.settle();
                        let id = workspace.commit().transaction.unwrap();
                        workspace.tree.settle();
                        id
                    };
                    timed(iterations, &mut workspace, prepare, |workspace, id| {
                        workspace.engine().undo(Some(&id), false, running()).unwrap();
                        workspace.passed();
                    })
                });
                workspace.verify();
            });
        }
    }
    group.finish();
}
