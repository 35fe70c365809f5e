//! Hashing: of bytes, and of files as they are read.

use std::fs;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use txedit::fs::OsFs;
use txedit::limits::CHUNK_BYTES;
use txedit::testing::internals::digest::Digester;
use txedit::{Digest, Durability};

use crate::scale;
use crate::tree::Tree;
use crate::workspace::engine;

const SIZES: [usize; 4] = [2 << 10, 64 << 10, 1 << 20, 16 << 20];

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = scale::in_memory(criterion, "digest");
    for bytes in scale::sizes(&SIZES) {
        let content = crate::text::source(bytes);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::new("whole", bytes), |bencher| {
            bencher.iter(|| Digest::of(black_box(&content)));
        });
        group.bench_function(BenchmarkId::new("in chunks", bytes), |bencher| {
            bencher.iter(|| {
                let mut digester = Digester::new();
                content.chunks(CHUNK_BYTES).for_each(|chunk| digester.update(black_box(chunk)));
                digester.finish()
            });
        });
        group.bench_function(BenchmarkId::new("file, read by the engine", bytes), |bencher| {
            let tree = Tree::new(1);
            let path = tree.paths().next().unwrap();
            fs::write(&path, &content).unwrap();
            let engine = engine(std::sync::Arc::new(OsFs::new()), &tree, Durability::Process);
            bencher.iter(|| engine.read(&path, u64::MAX).unwrap().digest);
            assert_eq!(engine.read(&path, u64::MAX).unwrap().digest, Digest::of(&content));
        });
        group.bench_function(BenchmarkId::new("floor: file, read by std", bytes), |bencher| {
            let tree = Tree::new(1);
            let path = tree.paths().next().unwrap();
            fs::write(&path, &content).unwrap();
            bencher.iter(|| fs::read(&path).unwrap());
        });
    }
    group.finish();
}
