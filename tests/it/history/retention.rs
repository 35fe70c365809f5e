//! What history keeps: bounded, and never at the cost of what a commit just promised to keep.

use serde_json::json;
use txedit::wire::request;
use txedit::{Engine, PathRule, Report, Retention};

use crate::support::workspace::{Workspace, running, settings};

/// An engine for the workspace whose history holds so many bytes.
fn bounded(workspace: &Workspace, bytes: u64) -> Engine {
    let retention = Retention::default().bytes(bytes);
    Engine::open_with(workspace.root(), settings().retention(retention)).unwrap()
}

fn overwrite(engine: &Engine, path: &str, content: &str) -> Report {
    let file = json!({ "file_path": path, "content": content, "if_exists": "replace" });
    let request = request::parse(json!({ "files": [file] }).to_string().as_bytes()).unwrap();
    engine.apply(&request.into_request(PathRule::AbsoluteOrRelative).unwrap(), running()).unwrap()
}

fn ids(engine: &Engine) -> Vec<String> {
    engine.log(usize::MAX, None).unwrap().into_iter().map(|one| one.id).collect()
}

#[test]
fn a_large_file_evicts_no_small_ones() {
    let workspace = Workspace::with(&[("small", "s"), ("large", &"x".repeat(1100))]);
    let engine = bounded(&workspace, 1000);
    let mut small: Vec<String> =
        (0..3).map(|at| overwrite(&engine, "small", &at.to_string()).transaction.unwrap()).collect();
    let report = overwrite(&engine, "large", "");
    let large = report.transaction.unwrap();
    assert_eq!(report.warnings, Vec::<String>::new(), "nothing had to go");
    small.reverse();
    small.insert(0, large);
    assert_eq!(ids(&engine), small);
    engine.undo(None, false, running()).unwrap();
    assert_eq!(workspace.read("large").len(), 1100);
}

#[test]
fn what_a_commit_evicts_is_named_in_its_answer() {
    let workspace = Workspace::with(&[("small", "s"), ("large", &"x".repeat(1100)), ("other", &"y".repeat(900))]);
    let engine = bounded(&workspace, 1000);
    let small = overwrite(&engine, "small", "0").transaction.unwrap();
    let large = overwrite(&engine, "large", "").transaction.unwrap();
    let report = overwrite(&engine, "other", "");
    let other = report.transaction.unwrap();
    assert_eq!(ids(&engine), [other.clone(), small.clone()]);
    assert!(report.warnings.len() == 1 && report.warnings[0].contains(&large), "{:?}", report.warnings);
    assert!(!report.warnings[0].contains(&small) && !report.warnings[0].contains(&other), "{:?}", report.warnings);
}
