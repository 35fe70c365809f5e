//! A call that is to stop does so within a bounded number of bytes, and leaves everything as it was.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use txedit::check::{CheckCall, Checker, Ended, Verdict};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::{
    CancelToken, Check, Digest, Engine, ErrorKind, Outcome, PathRule, Request, Result, Run, UndoOptions, limits, wire,
};

use crate::support::workspace::{Workspace, running};

/// Two pieces and a bit.
const SIZE: usize = 2 * limits::CANCEL_EVERY_BYTES + 5;

/// Moments of each call at which it is told to stop.
const MOMENTS: u64 = 4;

fn request(json: &Value) -> Request {
    wire::request::parse(json.to_string().as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap()
}

/// A large file with a word at its end.
fn make_large(path: &Path) {
    let mut content = b"a line that is like all others\n".repeat(SIZE / 31);
    content.extend_from_slice(b"word\n");
    std::fs::write(path, content).unwrap();
}

fn edit(field: &str, value: &Value) -> Value {
    json!({"files": [{"file_path": "large", "edits": [{"old_string": "word", "new_string": "other"}]}], field: value})
}

/// What is done, and what must have been done before.
struct Scene {
    name: &'static str,
    prepare: fn(&Workspace),
    act: fn(&Engine, Run<'_>) -> Result<()>,
}

/// Writes much, and fails: what it wrote is kept.
#[derive(Debug)]
struct Spoils;

impl Checker for Spoils {
    fn run(&self, call: &CheckCall<'_>) -> std::io::Result<Ended> {
        File::options().write(true).open(call.folder.join("large"))?.write_all(b"spoilt")?;
        Ok(Ended::new(Verdict::Failed("no".to_owned())))
    }
}

const SCENES: [Scene; 8] = [
    Scene {
        name: "an edit",
        prepare: |_| {},
        act: |engine, run| engine.apply(&request(&edit("dry_run", &json!(false))), run).map(drop),
    },
    Scene {
        name: "a dry run",
        prepare: |_| {},
        act: |engine, run| engine.apply(&request(&edit("dry_run", &json!(true))), run).map(drop),
    },
    Scene {
        name: "a rename",
        prepare: |_| {},
        act: |engine, run| {
            engine.apply(&request(&json!({"files": [{"file_path": "large", "rename_to": "huge"}]})), run).map(drop)
        },
    },
    Scene {
        name: "a text that is not there",
        prepare: |_| {},
        act: |engine, run| {
            let edits = json!([{"old_string": "no word", "new_string": "x"}]);
            engine.apply(&request(&json!({"files": [{"file_path": "large", "edits": edits}]})), run).map(drop)
        },
    },
    Scene {
        name: "an undo",
        prepare: |here| drop(here.apply(&edit("dry_run", &json!(false))).unwrap()),
        act: |engine, run| engine.undo(None, false, run).map(drop),
    },
    Scene {
        name: "an undo of what changed since",
        prepare: |here| {
            drop(here.apply(&edit("dry_run", &json!(false))).unwrap());
            File::options().append(true).open(here.path("large")).unwrap().write_all(b"more\n").unwrap();
        },
        act: |engine, run| {
            let options = UndoOptions::default().rebase(true);
            engine.undo_with(None, &options, run).map(drop)
        },
    },
    Scene {
        name: "a commit of what was staged",
        prepare: |here| drop(here.engine.stage(&request(&edit("dry_run", &json!(false))), None, running()).unwrap()),
        act: |engine, run| {
            let id = engine.status()?.open[0].id.clone();
            engine.commit_staged(&id, None, None, run).map(drop)
        },
    },
    Scene {
        name: "a restoring of what was kept",
        prepare: |here| {
            let engine = Engine::open_with(here.root(), crate::support::workspace::settings())
                .unwrap()
                .with_checker(Arc::new(Spoils));
            let check = Some(Check::new(vec!["spoils".into()]));
            let request = request(&edit("dry_run", &json!(false))).check(check);
            assert_eq!(engine.apply(&request, running()).unwrap_err().kind(), ErrorKind::CheckFailed);
        },
        act: |engine, run| {
            let id = engine.kept()?[0].id.clone();
            engine.kept_restore(&id, None, run).map(drop)
        },
    },
];

const fn moves_bytes(call: &FaultCall) -> bool {
    matches!(call.operation, FaultOperation::ReadAt | FaultOperation::CopyRange)
}

impl Scene {
    /// A workspace in which it can be acted, and a file system that counts.
    fn set(&self) -> (Workspace, Arc<FaultFs>, Engine) {
        let here = Workspace::new();
        make_large(&here.path("large"));
        (self.prepare)(&here);
        let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        let engine = Engine::with_fs(faults.clone(), here.root(), crate::support::workspace::settings()).unwrap();
        faults.reset();
        (here, faults, engine)
    }

    /// How many calls move bytes before the first swap of a file.
    fn calls(&self) -> u64 {
        let (here, faults, engine) = self.set();
        if let Err(error) = (self.act)(&engine, running()) {
            assert_eq!(error.kind(), ErrorKind::MatchNotFound, "{}: {error}", self.name);
        }
        let calls = faults.calls();
        let is_swap = |call: &FaultCall| {
            let is_outside = |path: &Path| !path.starts_with(here.path(".txedit"));
            call.operation == FaultOperation::Rename
                && (is_outside(&call.path) || call.to.as_deref().is_some_and(is_outside))
        };
        calls.iter().take_while(|call| !is_swap(call)).filter(|call| moves_bytes(call)).count() as u64
    }

    /// Tells it to stop before one of them.
    fn stop(&self, at: u64) {
        let (here, faults, engine) = self.set();
        let before = Digest::of(&std::fs::read(here.path("large")).unwrap());
        let (cancel, moved) = (CancelToken::new(), Arc::new(AtomicU64::new(0)));
        let (set, sum) = (cancel.clone(), Arc::clone(&moved));
        faults.add(Rule::before(at, move |_| set.cancel()).matching(moves_bytes));
        let set = cancel.clone();
        let adds = move |call: &FaultCall| {
            if set.is_cancelled() && moves_bytes(call) {
                sum.fetch_add(call.bytes, Ordering::Relaxed);
            }
        };
        faults.add(Rule::before(1, adds).from_then_on());
        let stopped = (self.act)(&engine, Run::default().cancelled_by(&cancel));
        let told = format!("{}, told to stop at call {at}: {stopped:?}", self.name);
        let moved = moved.load(Ordering::Relaxed);
        assert!(moved <= limits::CANCEL_EVERY_BYTES as u64, "{told}: {moved} bytes were moved after that");
        let error = stopped.expect_err(&told);
        // What is read to its end may be answered.
        assert!(matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::MatchNotFound), "{told}");
        assert_eq!(error.outcome(), Outcome::Unchanged, "{told}");
        assert!(Digest::of(&std::fs::read(here.path("large")).unwrap()) == before, "{told}: the file changed");
    }
}

#[test]
fn a_call_that_is_to_stop_does_so_within_a_few_bytes() {
    for scene in &SCENES {
        let calls = scene.calls();
        assert!(calls >= 3, "{}: a large file is read in {calls} calls", scene.name);
        for moment in 0..MOMENTS {
            scene.stop(1 + moment * (calls - 1) / (MOMENTS - 1));
        }
    }
}
