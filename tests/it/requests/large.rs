//! Files that are edited without having them in memory.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use txedit::fs::sim::{Action, SimFs};
use txedit::{Engine, ErrorKind, Outcome, Request, limits};

use crate::proof::explore::scripts::{replaces, request};
use crate::support::workspace::{Workspace, running, settings};

/// Lines of which every thousandth is another one, more than are edited in memory.
fn content() -> String {
    let line = |n: usize| {
        if n.is_multiple_of(1000) { format!("mark {n:06}\r\n") } else { format!("the line {n}\n") }
    };
    let content: String = (0..400_000).map(line).collect::<Vec<_>>().concat();
    assert!(content.len() as u64 > limits::WHOLE_BYTES);
    content
}

#[test]
fn many_edits_apply_and_are_reverted() {
    let workspace = Workspace::new();
    let before = content();
    workspace.write("a", &before);
    workspace.chmod("a", 0o754);
    let mut edits = vec![json!({ "old_string": "mark 0", "new_string": "mark of 0", "expected_matches": 100 })];
    edits.extend((0..50).map(|n| {
        // Two lines, the first of which an edit before has changed.
        let n = n * 2000;
        let old = format!("mark of {n:06}\nthe line {}", n + 1);
        json!({ "old_string": old, "new_string": format!("mark\n{n}\n") })
    }));
    let report = workspace.apply(&json!({ "files": [{ "file_path": "a", "edits": edits }] })).unwrap();
    let mut after = before.replace("mark 0", "mark of 0");
    for n in (0..50).map(|n| n * 2000) {
        after = after.replace(&format!("mark of {n:06}\r\nthe line {}", n + 1), &format!("mark\r\n{n}\r\n"));
    }
    assert_eq!(workspace.read("a"), after);
    assert_eq!(workspace.mode("a"), 0o754);
    assert_eq!(report.files[0].edits[2].lines, [2002], "each of the edits before added a line in front of it");
    workspace.undo(None).unwrap();
    assert_eq!(workspace.read("a"), before);
}

#[test]
fn what_is_not_there_is_explained_all_the_same() {
    let workspace = Workspace::new();
    workspace.write("a", content());
    let request =
        |old: &str| json!({ "files": [{ "file_path": "a", "edits": [{ "old_string": old, "new_string": "x" }] }] });
    let error = workspace.refuses(&request("mark\t007000"));
    assert_eq!((error.kind(), error.edit()), (ErrorKind::MatchNotFound, Some(0)), "{error}");
    assert!(error.to_string().contains("7001"), "it names the line: {error}");
    let error = workspace.refuses(&request("mark 00"));
    assert_eq!(error.kind(), ErrorKind::AmbiguousMatch, "{error}");
    fs::write(workspace.path("a"), [content().as_bytes(), b"\0"].concat()).unwrap();
    assert_eq!(workspace.refuses(&request("mark 007000")).kind(), ErrorKind::InvalidEncoding);
}

/// Edits a large file, while somebody else writes it before the `call`th range of it is copied; with `same_time`
/// nothing but the bytes tells.
fn written_meanwhile(call: usize, same_time: bool) {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    machine.create("/w/a", content()).unwrap();
    if !same_time {
        machine.advance(Duration::from_secs(60));
    }
    machine.settings(|settings| settings.tick = if same_time { Duration::ZERO } else { Duration::from_millis(1) });
    let calls = Arc::new(AtomicUsize::new(0));
    let acting = machine.clone();
    machine.set_hook(move |seen| {
        if seen.verb == "copy_range" && calls.fetch_add(1, Ordering::Relaxed) == call {
            let held = acting.open("/w/a").unwrap();
            held.write_at(0, b"MARK").unwrap();
        }
        Action::Continue
    });
    let engine = Engine::with_fs(Arc::new(machine.process(1)), Path::new("/w"), settings()).unwrap().with_attempts(1);
    let request: Request = request(vec![replaces("a", "mark 200000", "x")]);
    let error = engine.apply(&request, running()).unwrap_err();
    machine.clear_hook();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ConcurrentModification, Outcome::Unchanged), "{error}");
    assert_eq!(machine.read("/w/a").unwrap(), content().replacen("mark", "MARK", 1).as_bytes());
}

#[test]
fn a_change_between_reading_and_staging_is_noticed() {
    written_meanwhile(0, false);
    written_meanwhile(0, true);
}
