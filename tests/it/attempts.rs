//! Requests that are tried again beside a program that keeps writing.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use txedit::digest::Digest;
use txedit::engine::{Durability, Engine, Settings};
use txedit::error::ErrorKind;
use txedit::fs::fault::{Call, FaultFs, Operation, Rule};
use txedit::fs::os::OsFs;
use txedit::request::validate::PathRule;
use txedit::wire;

use crate::workspace::{Workspace, running, settings};

fn apply(engine: &Engine, request: &Value) -> txedit::error::Result<txedit::engine::report::Report> {
    engine.apply(&wire::parse(request.to_string().as_bytes())?.into_request(PathRule::AbsoluteOrRelative)?, running())
}

/// An engine in whose first `times` commits somebody adds a line to `a` when everything is staged.
fn written(workspace: &Workspace, times: u64, settings: Settings) -> (Engine, Arc<FaultFs>) {
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let named = |call: &Call| call.operation == Operation::Rename && call.path.ends_with(".journal");
    for time in 1..=times {
        let path = workspace.path("a");
        let add = move |_: &Call| append(&path, &format!("line {time}\n"));
        faults.add(Rule::before(time, add).matching(named));
    }
    (Engine::with_fs(faults.clone(), workspace.root(), settings).unwrap(), faults)
}

fn append(path: &Path, line: &str) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}

fn edits(path: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": "one", "new_string": "two" }] })
}

#[test]
fn what_names_its_places_by_text_is_done_on_the_new_content() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n")]);
    let request = json!({ "files": [edits("a"), edits("b"), { "file_path": "c", "content": "new\n" }] });
    let (engine, faults) = written(&workspace, 3, settings());
    let report = apply(&engine, &request).unwrap();
    assert_eq!((report.attempts, faults.fired()), (4, 3));
    assert_eq!(workspace.read("a"), "two\nline 1\nline 2\nline 3\n");
    assert_eq!((workspace.read("b"), workspace.read("c")), ("two\n".into(), "new\n".into()));
    assert_eq!(fs::read_dir(workspace.path(".txedit/txn")).unwrap().count(), 0, "lost attempts leave nothing");
    assert_eq!(fs::read_dir(workspace.path(".txedit/kept")).unwrap().count(), 0);
}

#[test]
fn what_is_for_one_content_is_not_tried_again() {
    let hash = Digest::of(b"one\n").to_hex();
    let mut expecting = edits("a");
    expecting["expected_hash"] = json!(hash);
    let requests = [
        json!([expecting]),
        json!([{ "file_path": "a", "content": "mine\n", "if_exists": "replace" }]),
        json!([{ "file_path": "a", "delete": true }]),
        // Of another file it is not known what became of it either.
        json!([edits("a"), { "file_path": "b", "delete": true }]),
        json!([{ "file_path": "b", "rename_to": "a", "if_exists": "replace" }]),
    ];
    for request in requests {
        let workspace = Workspace::with(&[("a", "one\n"), ("b", "other\n")]);
        let (engine, faults) = written(&workspace, 1, settings());
        let error = apply(&engine, &json!({ "files": request })).unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::ConcurrentModification, 1), "{request}");
        assert_eq!(
            (faults.fired(), workspace.read("a"), workspace.read("b")),
            (1, "one\nline 1\n".into(), "other\n".into())
        );
    }
}

#[test]
fn it_is_bounded_in_number_and_time() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let request = json!({ "files": [edits("a")] });
    let (engine, _) = written(&workspace, 9, settings());
    let error = apply(&engine.with_attempts(3), &request).unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::ConcurrentModification, 3));
    let (engine, _) = written(&workspace, 9, Settings { lock_timeout: Duration::ZERO, ..settings() });
    assert_eq!(apply(&engine, &request).unwrap_err().attempts(), 1);
    assert_eq!(workspace.read("a"), "one\nline 1\nline 2\nline 3\nline 1\n");
}

/// Commits beside somebody who adds lines to the same file with gaps of 0 to 6 ms, on a disk that is idle or on which
/// somebody else syncs all the time. Answers how many came through, and how many attempts that took.
fn beside_a_busy_writer(root: &Path, commits: usize, is_disk_busy: bool) -> (usize, usize) {
    let settings = Settings { durability: Durability::Power, ..settings() };
    let engine = Engine::open(root, settings).unwrap();
    let (file, stop) = (root.join("shared"), AtomicBool::new(false));
    fs::write(&file, "count: 0;\n").unwrap();
    let (mut through, mut attempts) = (0, 0);
    let written = std::thread::scope(|scope| {
        let stop = &stop;
        if is_disk_busy {
            for name in ["noise 1", "noise 2"] {
                let noise = root.join(name);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let mut noise = fs::File::create(&noise).unwrap();
                        noise.write_all(&vec![7; 4 << 20]).unwrap();
                        noise.sync_all().unwrap();
                    }
                });
            }
        }
        let writer = scope.spawn(|| {
            let mut lines = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                append(&file, &format!("line {lines}\n"));
                lines += 1;
                // 0 to 6 ms, in no order.
                std::thread::sleep(Duration::from_micros(lines.wrapping_mul(2_654_435_761) % 6_000));
            }
            lines
        });
        for _ in 0..commits {
            let edit =
                json!({ "old_string": format!("count: {through};"), "new_string": format!("count: {};", through + 1) });
            match apply(&engine, &json!({ "files": [{ "file_path": "shared", "edits": [edit] }] })) {
                Ok(report) => (through, attempts) = (through + 1, attempts + report.attempts),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::ConcurrentModification, "{error}");
                    attempts += error.attempts();
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let content = fs::read_to_string(&file).unwrap();
    assert!(content.contains(&format!("count: {through};")), "every commit is there");
    let late = engine.status().unwrap().warnings.len();
    let missing = (0..written).filter(|line| !content.contains(&format!("\nline {line}\n"))).count();
    assert!(missing <= late, "{missing} lines are missing, of {late} it is told where they are");
    (through, attempts)
}

#[test]
fn commits_come_through_beside_a_busy_writer() {
    let full = std::env::var("TXEDIT_TEST_BUSY").ok().map(|commits| commits.parse::<usize>().unwrap());
    let commits = full.unwrap_or(3);
    for is_disk_busy in [false, true] {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let started = Instant::now();
        let (through, attempts) = beside_a_busy_writer(root.path(), commits, is_disk_busy);
        let disk = if is_disk_busy { "a busy disk" } else { "an idle disk" };
        let seconds = started.elapsed().as_secs_f32();
        eprintln!("on {disk}: {through} of {commits} commits, {attempts} attempts, {seconds:.1} s");
        // How many come through in a short run beside other tests says nothing; that none is lost was looked at.
        assert!(full.is_none() || is_disk_busy || (commits - through) * 50 <= commits, "on {disk} only {through}");
    }
}
