//! Writing and verifying journals, and what recovery decides of them.

use std::fs;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use txedit::Durability;
use txedit::journal::{Journal, JournalState, Record, RecordedChange, scan};
use txedit::testing::internals::journal::record::encode;
use txedit::testing::internals::journal::recover::{Class, Observed, Seen, classify, decide};
use txedit::testing::internals::path::{RelPath, STATE_FOLDER};
use txedit::testing::internals::plan::FileState;

use crate::scale;
use crate::workspace::Workspace;

pub(crate) fn bench(criterion: &mut Criterion) {
    let real = committed();
    let mut group = scale::in_memory(criterion, "journal");
    for entries in scale::counts(&[1, 10, 100, 1_000, 10_000, 100_000]) {
        let journal = extended(&real, entries);
        let bytes = encode(&journal);
        assert_eq!(scan(&bytes).as_ref(), Ok(&journal), "what is written is read");
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("encode", entries), |bencher| {
            bencher.iter(|| encode(black_box(&journal)));
        });
        group.bench_function(BenchmarkId::new("scan", entries), |bencher| {
            bencher.iter(|| scan(black_box(&bytes)).unwrap());
        });
        let observed: Vec<_> = journal.entries.iter().map(half_way).collect();
        group.throughput(Throughput::Elements(entries as u64));
        group.bench_function(BenchmarkId::new("decide", entries), |bencher| {
            bencher.iter(|| {
                let pairs = journal.entries.iter().zip(black_box(&observed));
                let classes: Vec<Class> = pairs.map(|(record, observed)| classify(record, observed)).collect();
                assert!(classes.iter().all(|class| *class == Class::Done), "every entry was swapped");
                decide(JournalState::Sealed, false, &classes)
            });
        });
    }
    group.finish();
}

/// The journal of a transaction that the engine has committed.
fn committed() -> Journal {
    let mut workspace = Workspace::new(1, Durability::Process);
    let id = workspace.commit().transaction.unwrap();
    let folder = workspace.tree.root().join(STATE_FOLDER).join("history").join(id);
    scan(&fs::read(folder.join(JournalState::Done.file_name())).unwrap()).unwrap()
}

/// The same journal with so many entries like the one that it has.
fn extended(real: &Journal, entries: usize) -> Journal {
    let path = |entry: usize| RelPath::new(format!("part{:04}/file{entry:06}.rs", entry / 100)).unwrap();
    let change = real.entries[txedit::journal::EntryIndex(0)].change;
    let entries = (0..entries).map(|entry| Record { path: path(entry), change });
    Journal { entries: entries.collect(), ..real.clone() }
}

/// What is seen of an entry after its swap.
fn half_way(record: &Record) -> Observed {
    let RecordedChange::Edit { before, after, staged, original } = record.change else { panic!("it is an edit") };
    let file = |state: FileState, identity| Seen::File {
        digest: state.digest,
        mode: state.mode,
        access: state.access.unwrap(),
        identity,
    };
    Observed { target: file(after, staged), slot: file(before, original) }
}
