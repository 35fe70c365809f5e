//! Programs and checks in copies, beside others that come at moments which only a call of the library can hit: this
//! process serves no views, so that a copy takes the place of each.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use txedit::check::CheckIn;
use txedit::error::Detail;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::{Fs, OsFs};
use txedit::program::Program;
use txedit::{CancelToken, Check, Edit, Engine, Error, ErrorKind, Outcome, Request, Run};

use crate::support::workspace::{Workspace, running, settings};

fn program(script: &str) -> Program {
    Program::new(["sh", "-ec", script].map(OsString::from).to_vec())
}

fn wait_for(what: impl Fn() -> bool) {
    let started = Instant::now();
    while !what() {
        assert!(started.elapsed() < Duration::from_secs(60), "it took too long");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Nothing was changed, and no view is left.
#[track_caller]
fn refused(workspace: &Workspace, error: &Error, kind: ErrorKind) {
    assert_eq!((error.kind(), error.outcome()), (kind, Outcome::Unchanged), "{error}");
    assert!(!workspace.path(".txedit/view").exists(), "{error}");
}

/// The program has ended and was compared with the files; then somebody else comes.
#[test]
fn what_others_write_before_it_is_staged_is_a_conflict() {
    type Deed = fn(&Path);
    let deeds: [(&str, &str, Deed); 3] = [
        ("a", "echo mine > a", |a| fs::write(a, "theirs\n").unwrap()),
        ("a", "rm a", |a| fs::write(a, "theirs\n").unwrap()),
        ("l", "ln -sfn b l", |l| {
            fs::remove_file(l).unwrap();
            std::os::unix::fs::symlink("theirs", l).unwrap();
        }),
    ];
    for (name, script, deed) in deeds {
        let scratch = tempfile::tempdir().unwrap();
        let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
        let workspace = Workspace::on(Arc::clone(&faults) as Arc<dyn Fs>, scratch.path());
        workspace.write("a", "one\n");
        workspace.write("b", "two\n");
        std::os::unix::fs::symlink("a", workspace.path("l")).unwrap();
        let path = workspace.path(name);
        let looks_at = path.clone();
        // It was looked at once to be compared; now it is looked at to be staged.
        let looks = move |call: &FaultCall| call.operation == FaultOperation::Stat && call.path == looks_at;
        faults.add(Rule::before(2, move |_| deed(&path)).matching(looks));
        let error = workspace.engine.stage_program(&program(script), running()).unwrap_err();
        assert_eq!(faults.fired(), 1, "{script}");
        refused(&workspace, &error, ErrorKind::ConcurrentModification);
        assert!(matches!(error.details(), Detail::Conflicts(conflicts) if conflicts.len() == 1), "{error:?}");
        assert!(workspace.engine.status().unwrap().open.is_empty(), "{script}");
    }
}

/// The cancellation comes while files are copied.
#[test]
fn a_copy_that_is_cancelled_leaves_nothing() {
    let workspace = Workspace::new();
    for number in 0..4_000 {
        workspace.write(&format!("{}/{number}", number % 20), "x\n");
    }
    let before = workspace.tree();
    let (token, is_over) = (CancelToken::new(), AtomicBool::new(false));
    let has_begun = || {
        let views = fs::read_dir(workspace.path(".txedit/view"));
        let mut views = views.into_iter().flatten().flatten();
        views.any(|view| fs::read_dir(view.path().join("upper")).is_ok_and(|mut upper| upper.next().is_some()))
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(|| has_begun() || is_over.load(Ordering::Relaxed));
            token.cancel();
        });
        let error = workspace.engine.run_program(&program("echo > ran"), running().cancelled_by(&token)).unwrap_err();
        is_over.store(true, Ordering::Relaxed);
        refused(&workspace, &error, ErrorKind::Cancelled);
        assert!(!matches!(error.details(), Detail::Program(_)), "the program was started: {error:?}");
    });
    workspace.tree().assert_same(&before);
}

/// Says that it is over when it is dropped, by a panic as well.
struct OverAtEnd<'a>(&'a AtomicBool);

impl Drop for OverAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A file becomes a symlink out of the workspace, and a file again, as fast as that goes.
#[test]
fn a_copy_follows_no_symlink_that_takes_the_place_of_a_file() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret\n").unwrap();
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "two\n")]);
    let is_over = AtomicBool::new(false);
    let (mut ran, mut refusals) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let (link, file) = (workspace.path("link"), workspace.path("file"));
                std::os::unix::fs::symlink(&secret, &link).unwrap();
                fs::rename(&link, workspace.path("a")).unwrap();
                fs::write(&file, "one\n").unwrap();
                fs::rename(&file, workspace.path("a")).unwrap();
            }
        });
        let _over = OverAtEnd(&is_over);
        for _ in 0..60 {
            let report = workspace.engine.run_program(&program("test -L a || ! grep -q secret a"), running());
            match report {
                Ok(_) => ran += 1,
                Err(error) => {
                    refused(&workspace, &error, ErrorKind::NoView);
                    refusals += 1;
                }
            }
        }
    });
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret\n");
    eprintln!("{ran} copies beside a writer, {refusals} refused");
}

/// A check in a view holds no locks; whoever holds them when it has passed is waited for, as long as was asked.
#[test]
fn locks_that_others_hold_after_a_check_in_a_view_are_a_timeout() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let outside = tempfile::tempdir().unwrap();
    let (ready, go) = (outside.path().join("ready"), outside.path().join("go"));
    let script = format!("touch {}; while [ ! -e {} ]; do sleep 0.01; done", ready.display(), go.display());
    let command = ["sh", "-ec", &script].map(OsString::from).to_vec();
    let settings = settings().check_in(CheckIn::View).lock_timeout(Duration::from_millis(300));
    let engine = Engine::open_with(workspace.root(), settings).unwrap().allowing_checks();
    let request = Request::new().edit("a", Edit::replace("one", "1"));
    let mut checked = request.clone();
    checked.check = Some(Check::new(command));
    let before = workspace.tree();
    std::thread::scope(|scope| {
        let done = scope.spawn(|| engine.apply(&checked, running()));
        wait_for(|| ready.exists());
        let held = workspace.engine.begin(&request, running()).unwrap();
        fs::write(&go, "").unwrap();
        let error = done.join().unwrap().unwrap_err();
        drop(held);
        refused(&workspace, &error, ErrorKind::LockTimeout);
    });
    workspace.tree().assert_same(&before);
    assert!(Path::new(&ready).exists());
    // Nothing of it stands in the way of the next.
    engine.apply(&request, Run::default()).unwrap();
    assert_eq!(workspace.read("a"), "1\n");
}
