//! Views whose checks, or programs, are not told what others changed meanwhile.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use txedit::check::{CheckCall, CheckIn, Checker, Ended, Verdict};
use txedit::program::Program;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::{Check, Edit, Engine, ErrorKind, Request, Result, Run, Settings};

use super::broken;

/// Changes a file of the tree itself during its first run, and notes what it sees of it in each.
#[derive(Debug)]
struct Meddling {
    file: PathBuf,
    runs: AtomicUsize,
    seen: Mutex<Vec<String>>,
}

impl Checker for Meddling {
    fn runs_in_views(&self) -> bool {
        true
    }

    fn run(&self, call: &CheckCall<'_>) -> io::Result<Ended> {
        self.seen.lock().unwrap().push(std::fs::read_to_string(call.folder.join("a"))?);
        if self.runs.fetch_add(1, Ordering::Relaxed) == 0 {
            std::fs::write(&self.file, "one, and theirs\n")?;
        }
        Ok(Ended::new(Verdict::Passed))
    }
}

/// What a check saw last of a file that somebody else changes while it runs, and what was committed.
fn checked(protocol: &'static Protocol) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().canonicalize().unwrap().join("a");
    std::fs::write(&file, "one\n").unwrap();
    let checker = Arc::new(Meddling { file: file.clone(), runs: AtomicUsize::new(0), seen: Mutex::default() });
    let engine = Engine::open_with(folder.path(), Settings::default().check_in(CheckIn::View)).unwrap();
    let engine = engine.with_protocol(protocol).with_checker(Arc::<Meddling>::clone(&checker));
    let request = Request::new().edit("a", Edit::replace("one", "two")).check(Check::new(vec!["any".into()]));
    engine.apply(&request, Run::default()).unwrap();
    let seen = checker.seen.lock().unwrap().last().unwrap().clone();
    (seen, std::fs::read_to_string(file).unwrap())
}

#[test]
fn a_plan_that_the_checks_have_not_seen_is_noticed() {
    assert_eq!(checked(&PROTOCOL), ("two, and theirs\n".to_owned(), "two, and theirs\n".to_owned()));
    let (seen, committed) = checked(broken(Protocol { is_same_plan: |_, _| true, ..PROTOCOL }));
    assert_ne!(seen, committed);
}

/// Runs a program that writes a file which somebody else writes, too, once it has.
fn raced(protocol: &'static Protocol) -> (Result<()>, String) {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = folder.path().join("a");
    std::fs::write(&file, "one\n").unwrap();
    let [ready, go] = ["ready", "go"].map(|name| outside.path().join(name));
    let script = "echo ours > a; touch \"$0\"; while [ ! -e \"$1\" ]; do sleep 0.01; done";
    let command = ["sh".into(), "-c".into(), script.into(), ready.clone().into(), go.clone().into()];
    let engine = Engine::open(folder.path()).unwrap().with_protocol(protocol);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ready.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::fs::write(&file, "theirs\n").unwrap();
            std::fs::write(&go, "").unwrap();
        });
        engine.run_program(&Program::new(command.to_vec()), Run::default()).map(drop)
    });
    (done, std::fs::read_to_string(&file).unwrap())
}

#[test]
fn a_file_that_others_changed_while_a_program_ran_is_noticed() {
    let (done, left) = raced(&PROTOCOL);
    assert_eq!((done.unwrap_err().kind(), &*left), (ErrorKind::ConcurrentModification, "theirs\n"));
    let (done, left) = raced(broken(Protocol { is_before: |_, _| true, ..PROTOCOL }));
    assert!(done.is_ok() && left == "ours\n", "{left}");
}
