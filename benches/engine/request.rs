//! Reading requests: JSON, and a patch that asks the same.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput};
use serde_json::{Value, json};
use txedit::{Patch, PathRule, Request};

use crate::scale;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = scale::in_memory(criterion, "request");
    for files in scale::counts(&[1, 10, 100, 1_000, 10_000]) {
        let text = json!({ "files": (0..files).map(|file| entry(file, 1)).collect::<Vec<_>>() }).to_string();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("files", files), |bencher| {
            bencher.iter(|| assert_eq!(parse(black_box(&text)).files.len(), files));
        });
        let request = parse(&text);
        group.bench_function(BenchmarkId::new("fingerprint of files", files), |bencher| {
            bencher.iter(|| black_box(&request).fingerprint(Path::new("/root")));
        });
        let patch: String = (0..files).map(hunk).collect();
        group.throughput(Throughput::Bytes(patch.len() as u64));
        group.bench_function(BenchmarkId::new("unified diff of files", files), |bencher| {
            bencher.iter(|| {
                let patch = Patch::read(black_box(patch.as_bytes()), None, None).unwrap();
                assert_eq!(patch.request.files.len(), files);
            });
        });
    }
    for edits in scale::counts(&[10, 100, 1_000, 10_000]) {
        let text = json!({ "files": [entry(0, edits)] }).to_string();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("edits of one file", edits), |bencher| {
            bencher.iter(|| parse(black_box(&text)));
        });
    }
    for bytes in scale::sizes(&[64 << 10, 16 << 20]) {
        let content = String::from_utf8(crate::text::source(bytes)).unwrap();
        let text = json!({ "files": [{ "file_path": "new.rs", "content": content }] }).to_string();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("content of bytes", bytes), |bencher| {
            bencher.iter(|| parse(black_box(&text)));
        });
    }
    group.finish();
}

fn parse(text: &str) -> Request {
    txedit::wire::parse(text.as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap()
}

fn path(file: usize) -> String {
    format!("part{:03}/file{file:05}.rs", file / 100)
}

/// So many edits of a file.
fn entry(file: usize, edits: usize) -> Value {
    let edit = |index: usize| {
        json!({ "old_string": format!("let value_{index} = compute({file}, \"old\");\n"),
                "new_string": format!("let value_{index} = compute({file}, \"new\");\n") })
    };
    json!({ "file_path": path(file), "edits": (0..edits).map(edit).collect::<Vec<_>>() })
}

/// A change of one line with three lines either side.
fn hunk(file: usize) -> String {
    let path = path(file);
    let mut text = format!("--- a/{path}\n+++ b/{path}\n@@ -10,7 +10,7 @@\n");
    for line in 10..17 {
        // Writing to a string does not fail.
        let _ = match line {
            13 => write!(text, "-    state = before({file});\n+    state = behind({file});\n"),
            _ => writeln!(text, "     let value_{line} = compute({file}, {line});"),
        };
    }
    text
}
