//! What a long history costs a commit, and those who read it.

use criterion::{BenchmarkId, Criterion};
use txedit::Durability;

use crate::scale::{self, timed};
use crate::workspace::Workspace;

/// Transactions in history; with the default retention no more than 1,000 stay.
const TRANSACTIONS: [usize; 4] = [0, 10, 100, 900];

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = scale::on_disk(criterion, "history");
    for transactions in scale::counts(&TRANSACTIONS) {
        group.bench_function(BenchmarkId::new("commit of one file", transactions), |bencher| {
            let mut workspace = after(transactions);
            bencher.iter_custom(|iterations| {
                timed(
                    iterations,
                    &mut workspace,
                    |workspace| workspace.tree.settle(),
                    |workspace, ()| {
                        workspace.commit();
                    },
                )
            });
            workspace.verify();
        });
        group.bench_function(BenchmarkId::new("log of 10", transactions), |bencher| {
            let workspace = after(transactions);
            bencher.iter(|| assert_eq!(workspace.engine().log(10, None).unwrap().len(), transactions.min(10)));
        });
    }
    group.finish();
}

/// A workspace of one file that was edited so often.
fn after(transactions: usize) -> Workspace {
    let mut workspace = Workspace::new(1, Durability::Process);
    for _ in 0..transactions {
        workspace.commit();
    }
    workspace
}
