//! Whole transactions by number of files and durability, and beside them the floors.
//!
//! The engine is open already, as in a server: finding the program and reading the request are not in the figures. A
//! floor is given its new contents; it reads nothing.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use txedit::Durability;

use crate::floor::{self, Floor};
use crate::scale::{self, timed};
use crate::tree::{NEW, Tree};
use crate::workspace::Workspace;

/// Files in a transaction.
const FILES: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// The most for a floor that syncs each: a sync takes a millisecond or more, and no fewer for being many.
const SYNCED_EACH: usize = 1_000;

const DURABILITIES: [(&str, Durability); 2] = [("power", Durability::Power), ("process", Durability::Process)];

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = scale::on_disk(criterion, "commit");
    for files in scale::counts(&FILES) {
        group.throughput(Throughput::Elements(files as u64));
        for (name, durability) in DURABILITIES {
            group.bench_function(BenchmarkId::new(name, files), |bencher| {
                let mut workspace = Workspace::new(files, durability);
                bencher.iter_custom(|iterations| commits(&mut workspace, iterations));
                workspace.verify();
            });
        }
        let floors = Floor::ALL.into_iter().filter(|floor| *floor != Floor::FsyncEach || files <= SYNCED_EACH);
        for floor in floors {
            group.bench_function(BenchmarkId::new(floor.name(), files), |bencher| {
                let mut tree = Tree::new(files);
                let contents = floor::contents(&tree);
                let mut turns = contents.iter().cycle();
                bencher.iter_custom(|iterations| {
                    let prepare = |tree: &mut Tree| {
                        tree.settle();
                        turns.next().unwrap()
                    };
                    timed(iterations, &mut tree, prepare, |tree, contents| floor.replace(tree, contents))
                });
                assert!([0, files].contains(&tree.holding(NEW)), "a floor replaces all files");
            });
        }
    }
    group.finish();

    folders(criterion);
}

/// As many files, each in a folder of its own: a lock and a handle for each.
fn folders(criterion: &mut Criterion) {
    let mut group = scale::on_disk(criterion, "commit in folders");
    for files in scale::counts(&[10, 100, 1_000]) {
        group.throughput(Throughput::Elements(files as u64));
        for (name, durability) in DURABILITIES {
            group.bench_function(BenchmarkId::new(name, files), |bencher| {
                let mut workspace = Workspace::of(Tree::with_folders(files, 1), durability);
                bencher.iter_custom(|iterations| commits(&mut workspace, iterations));
                workspace.verify();
            });
        }
    }
    group.finish();
}

fn commits(workspace: &mut Workspace, iterations: u64) -> Duration {
    timed(iterations, workspace, Workspace::settle, |workspace, ()| {
        assert!(workspace.commit().transaction.is_some(), "a commit changes files");
    })
}
