//! Edits of bytes in memory: finding, splicing, many edits in one file, and explaining why one does not fit.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use txedit::testing::internals::text::{self, diff};
use txedit::{Anchor, Count, Edit, Matching};

use crate::scale;
use crate::workspace::exact;

/// The content in which much is edited.
const EDITED_BYTES: usize = 1 << 20;

/// Bytes of one line of [`source`].
const LINE_BYTES: usize = 51;

pub(crate) fn bench(criterion: &mut Criterion) {
    find(criterion);
    splice(criterion);
    many(criterion);
    diagnose(criterion);
}

/// About so many bytes of source code, as it were; no two lines alike.
pub(crate) fn source(bytes: usize) -> Vec<u8> {
    let mut text = String::with_capacity(bytes + LINE_BYTES);
    for number in 0..bytes / LINE_BYTES {
        text.push_str(&line(number));
        text.push('\n');
    }
    assert_eq!(text.len(), bytes / LINE_BYTES * LINE_BYTES, "every line has its length");
    text.into_bytes()
}

/// The line of that number in [`source`], without its line break.
fn line(number: usize) -> String {
    format!("    let value_{number:08} = compute({number:08}, state);")
}

fn with_crlf(text: &[u8]) -> Vec<u8> {
    String::from_utf8(text.to_vec()).unwrap().replace('\n', "\r\n").into_bytes()
}

/// One edit, near the end: the whole content is searched, to the end, for a second match.
fn find(criterion: &mut Criterion) {
    let mut group = scale::in_memory(criterion, "find");
    for bytes in scale::sizes(&[64 << 10, 1 << 20, 16 << 20]) {
        let base = source(bytes);
        let crlf = with_crlf(&base);
        let last = bytes / LINE_BYTES - 2;
        let one = [exact(&line(last), "x", Count::Once)];
        let lines = [exact(&[line(last - 2), line(last - 1), line(last)].join("\n"), "x\ny", Count::Once)];
        let shifted = format!("  {}\n  {}", line(last - 1), line(last));
        let anchor = Anchor::Text { text: shifted.into_bytes(), count: Count::Once, matching: Matching::Tolerant };
        // One line stays, by which it is known in whose indentation the other is.
        let tolerant = [Edit { anchor, replacement: format!("  {}\n      x", line(last - 1)).into_bytes() }];
        group.throughput(Throughput::Bytes(bytes as u64));
        for (name, base, edits) in [
            ("a line", &base, &one),
            ("three lines", &base, &lines),
            ("three lines, CRLF", &crlf, &lines),
            ("tolerant", &base, &tolerant),
        ] {
            group.bench_function(BenchmarkId::new(name, bytes), |bencher| {
                bencher.iter(|| text::edit(black_box(base), edits).unwrap());
            });
        }
    }
    group.finish();
}

/// Putting the new content together, and the diff of it.
fn splice(criterion: &mut Criterion) {
    let base = source(scale::size(EDITED_BYTES));
    let lines = base.len() / LINE_BYTES;
    let mut group = scale::in_memory(criterion, "splice");
    for places in scale::counts(&[1, 10, 100, 1_000, 10_000]) {
        let edits = edits(lines, places);
        let splices = text::edit(&base, &edits).unwrap().splices;
        group.throughput(Throughput::Bytes(base.len() as u64));
        group.bench_function(BenchmarkId::new("apply", places), |bencher| {
            bencher.iter(|| black_box(&splices).apply(black_box(&base)));
        });
        let new = splices.apply(&base);
        group.bench_function(BenchmarkId::new("diff", places), |bencher| {
            bencher.iter(|| diff::unified(black_box(&base), black_box(&new), "a", "b", txedit::limits::DIFF_BYTES));
        });
    }
    group.finish();
}

/// `count` edits of lines that stand far from each other, in no order.
fn edits(lines: usize, count: usize) -> Vec<Edit> {
    let spread = lines / count;
    let number = |index: usize| (index * 7_919 % count) * spread;
    (0..count).map(|index| exact(&line(number(index)), &format!("edited {index}"), Count::Once)).collect()
}

/// Many edits of one content: each of one place, and one of many places.
fn many(criterion: &mut Criterion) {
    let base = source(scale::size(EDITED_BYTES));
    let crlf = with_crlf(&base);
    let lines = base.len() / LINE_BYTES;
    let mut group = scale::in_memory(criterion, "many edits");
    group.sample_size(10);
    for count in scale::counts(&[1, 10, 100, 1_000, 10_000]) {
        let edits = edits(lines, count);
        group.throughput(Throughput::Elements(count as u64));
        for (name, base) in [("of a line each", &base), ("of a line each, CRLF", &crlf)] {
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter(|| assert_eq!(text::edit(base, &edits).unwrap().applied.len(), count));
            });
        }
        let mut failing = edits.clone();
        failing.push(exact("let value = of_nothing;", "x", Count::Once));
        group.bench_function(BenchmarkId::new("of a line each, the last one fails", count), |bencher| {
            bencher.iter(|| assert_eq!(text::edit(&base, &failing).unwrap_err().edit.0, count));
        });
    }
    for places in scale::counts(&[10, 100, 1_000, 10_000]) {
        let base = source(places * LINE_BYTES);
        let all = [exact("state", "situation", Count::All)];
        group.throughput(Throughput::Elements(places as u64));
        group.bench_function(BenchmarkId::new("of all places in one", places), |bencher| {
            bencher.iter(|| text::edit(black_box(&base), &all).unwrap());
        });
    }
    group.finish();
}

/// Edits that do not fit, and what is said of them.
fn diagnose(criterion: &mut Criterion) {
    let mut group = scale::in_memory(criterion, "diagnosis");
    for bytes in scale::sizes(&[64 << 10, 1 << 20, 16 << 20]) {
        let base = source(bytes);
        let middle = bytes / LINE_BYTES / 2;
        let near = line(middle).replace("compute", "conpute");
        let block = |length: usize| (middle..middle + length).map(line).collect::<Vec<_>>().join("\n");
        let block_near = block(40).replace("compute", "conpute");
        let tabs = block(3).replace("    ", "\t");
        group.throughput(Throughput::Bytes(bytes as u64));
        for (name, anchor) in [
            ("a misspelled line", near.as_str()),
            ("40 misspelled lines", &block_near),
            ("tabs for spaces", &tabs),
            ("nothing like it", "void nowhere_to_be_found(int argument)\n{\n}\n"),
            ("far too many", "compute"),
        ] {
            let edits = [exact(anchor, "x", Count::Once)];
            group.bench_function(BenchmarkId::new(name, bytes), |bencher| {
                bencher.iter(|| text::edit(black_box(&base), &edits).unwrap_err());
            });
        }
    }
    group.finish();
}
