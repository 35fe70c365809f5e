//! One key, two requests about other files, at the same time: never both are committed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, Policy, SimFs};
use txedit::fs::{Fs, OsFs};
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::testing::internals::commit::step::{CommitStep, StepPhase, Terms};
use txedit::testing::internals::commit::{Protocol, forward};
use txedit::{Edit, Engine, ErrorKind, Outcome, Request, Result, Retention, Run, Settings};

use super::{broken, phases_without};
use crate::support::workspace::{Workspace, settings};

/// What became of the one and of the other.
type Both = (Result<bool>, Result<bool>);

fn request(file: &str) -> Value {
    json!({ "idempotency_key": "k", "files": [{ "file_path": file, "content": "new" }] })
}

/// Whether a request changed anything, as it says.
fn done(workspace: &Workspace, file: &str) -> Result<bool> {
    workspace.apply(&request(file)).map(|report| !report.already_applied)
}

/// The one request, and in the middle of it the other one: before its journal has its name, or right after.
fn at_once(protocol: &'static Protocol, attempts: usize, is_named: bool) -> (Workspace, Both) {
    let scratch = Workspace::new();
    scratch.write("a/x", "");
    scratch.write("b/x", "");
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let other = Arc::new(Mutex::new(None));
    let (root, told) = (scratch.root().to_owned(), Arc::clone(&other));
    let interrupt = move |_: &FaultCall| {
        *told.lock().unwrap() = Some(done(&with(Workspace::at(&root), protocol, 1), "b/new"));
    };
    let rule = if is_named { Rule::after(1, interrupt) } else { Rule::before(1, interrupt) };
    faults.add(rule.matching(names_its_journal));
    let one = done(&with(Workspace::on(faults.clone(), scratch.root()), protocol, attempts), "a/new");
    let other = other.lock().unwrap().take().expect("the other one came in between");
    (scratch, (one, other))
}

fn with(mut workspace: Workspace, protocol: &'static Protocol, attempts: usize) -> Workspace {
    workspace.engine = workspace.engine.with_protocol(protocol).with_attempts(attempts);
    workspace
}

/// Which of the two files are there.
fn made(workspace: &Workspace) -> Vec<&'static str> {
    ["a/new", "b/new"].into_iter().filter(|file| workspace.path(file).exists()).collect()
}

fn is_refused(answer: &Result<bool>) {
    let error = answer.as_ref().expect_err("it came second");
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::LockTimeout, Outcome::Unchanged), "{error}");
    assert!(error.to_string().contains("same idempotency key"), "{error}");
}

#[test]
fn of_two_requests_with_one_key_one_is_committed() {
    // The other one finds the journal that has just got its name, and gives way.
    let (workspace, (one, other)) = at_once(&PROTOCOL, 1, true);
    assert!(one.unwrap());
    is_refused(&other);
    assert_eq!(made(&workspace), ["a/new"]);
    // The other one is through before: this one finds it in history.
    let (workspace, (one, other)) = at_once(&PROTOCOL, 1, false);
    assert!(other.unwrap());
    is_refused(&one);
    assert_eq!(made(&workspace), ["b/new"]);
    assert_eq!(workspace.engine.status().unwrap().interrupted.len(), 0);
    // Tried again, it is told what is wrong with it.
    let (workspace, (one, other)) = at_once(&PROTOCOL, 9, false);
    assert!(other.unwrap());
    let error = one.unwrap_err();
    assert!(error.to_string().contains("used for another request"), "{error}");
    assert_eq!((error.kind(), made(&workspace)), (ErrorKind::ValidationFailed, vec!["b/new"]));
    // Both have staged, and both have named their journals: whoever looks first finds the other at work.
    let (workspace, (one, other)) = both_named(&PROTOCOL);
    is_refused(&one);
    assert!(other.unwrap());
    assert_eq!(made(&workspace), ["b/new"]);
}

#[test]
fn a_key_that_is_not_looked_for_once_more_is_noticed() {
    let mutant = broken(Protocol { commit: unlooked, ..PROTOCOL });
    let (workspace, (one, other)) = at_once(mutant, 1, false);
    assert!(one.unwrap() && other.unwrap(), "the mutant was not noticed");
    assert_eq!(made(&workspace), ["a/new", "b/new"]);
    let (workspace, (one, other)) = both_named(mutant);
    assert!(one.unwrap() && other.unwrap(), "the mutant was not noticed");
    assert_eq!(made(&workspace), ["a/new", "b/new"]);
}

/// Neither found the other before it staged; then both journals get their names, and only the look after that is left.
fn both_named(protocol: &'static Protocol) -> (Workspace, Both) {
    let scratch = Workspace::new();
    scratch.write("a/x", "");
    scratch.write("b/x", "");
    let (faults, others) =
        (Arc::new(FaultFs::new(Arc::new(OsFs::new()))), Arc::new(FaultFs::new(Arc::new(OsFs::new()))));
    let (is_named, named) = mpsc::sync_channel(1);
    let (go_on, may_go_on) = mpsc::sync_channel::<()>(1);
    let may_go_on = Mutex::new(may_go_on);
    let wait = move |_: &FaultCall| {
        is_named.send(()).unwrap();
        may_go_on.lock().unwrap().recv().unwrap();
    };
    others.add(Rule::after(1, wait).matching(names_its_journal));
    let other = Arc::new(Mutex::new(None));
    let (thread_of_other, root, named) = (Arc::clone(&other), scratch.root().to_owned(), Mutex::new(named));
    let begin = move |_: &FaultCall| {
        let (others, root) = (others.clone(), root.clone());
        let thread = std::thread::spawn(move || done(&with(Workspace::on(others, &root), protocol, 1), "b/new"));
        *thread_of_other.lock().unwrap() = Some(thread);
        named.lock().unwrap().recv().unwrap();
    };
    faults.add(Rule::before(1, begin).matching(names_its_journal));
    let one = done(&with(Workspace::on(faults, scratch.root()), protocol, 1), "a/new");
    go_on.send(()).unwrap();
    let other = other.lock().unwrap().take().expect("the other one came in between").join().unwrap();
    (scratch, (one, other))
}

/// It is found once it is written: before, it is torn.
fn names_its_journal(call: &FaultCall) -> bool {
    call.operation == FaultOperation::WriteAt && call.path.ends_with("journal.new")
}

/// A copied entry that has the key may be the request: it is not taken for one that is at work.
#[test]
fn what_is_not_ours_may_have_the_key() {
    let workspace = Workspace::new();
    assert!(done(&workspace, "a").unwrap());
    let history = workspace.path(".txedit/history");
    let entry = std::fs::read_dir(&history).unwrap().next().unwrap().unwrap().path();
    let copy = workspace.path(".txedit/txn").join("29991231T235959.000000Z-0123456789abcdef");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(entry.join("journal.done"), copy.join("journal.done")).unwrap();
    std::fs::remove_dir_all(&entry).unwrap();
    let error = done(&workspace, "b").unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::RecoveryRequired, Outcome::Unchanged), "{error}");
    assert!(copy.exists() && !workspace.path("b").exists());
}

/// Whoever waits for another request with its key does nothing meanwhile, and that is no attempt.
#[test]
fn waiting_for_a_key_stages_nothing_and_is_no_attempt() {
    let scratch = Workspace::new();
    scratch.write("a/x", "");
    scratch.write("b/x", "");
    let (faults, waiting) =
        (Arc::new(FaultFs::new(Arc::new(OsFs::new()))), Arc::new(FaultFs::new(Arc::new(OsFs::new()))));
    let other = Arc::new(Mutex::new(None));
    let (root, told, through) = (scratch.root().to_owned(), Arc::clone(&other), Arc::clone(&waiting));
    let interrupt = move |_: &FaultCall| {
        let settings = settings().lock_timeout(Duration::from_millis(200));
        let engine = Engine::with_fs(through.clone(), &root, settings).unwrap();
        let mut second = Workspace::at(&root);
        second.engine = engine.with_attempts(1000);
        *told.lock().unwrap() = Some(done(&second, "b/new"));
    };
    faults.add(Rule::after(1, interrupt).matching(names_its_journal));
    assert!(done(&with(Workspace::on(faults, scratch.root()), &PROTOCOL, 1), "a/new").unwrap());
    let other = other.lock().unwrap().take().expect("the other one came in between");
    is_refused(&other);
    assert_eq!(other.unwrap_err().attempts(), 1);
    let staged = waiting.calls().into_iter().filter(|call| call.operation.writes());
    assert_eq!(staged.map(|call| call.to_string()).collect::<Vec<_>>(), [""; 0]);
}

/// Another one is there that nobody is at: nobody ends that, so nobody waits for it.
#[test]
fn a_key_of_what_nobody_is_at_is_not_waited_for() {
    let scratch = Workspace::new();
    scratch.write("a/x", "");
    scratch.write("b/x", "");
    let (root, faults) = (scratch.root().to_owned(), Arc::new(FaultFs::new(Arc::new(OsFs::new()))));
    // Right before this one names its journal, it is there, as a kill leaves it.
    let leave = move |_: &FaultCall| {
        let unlooked = broken(Protocol { commit: unlooked, ..PROTOCOL });
        let id = with(Workspace::at(&root), unlooked, 1).apply(&request("b/new")).unwrap().transaction.unwrap();
        let interrupted = root.join(".txedit/txn").join(&id);
        std::fs::rename(root.join(".txedit/history").join(&id), &interrupted).unwrap();
        std::fs::rename(interrupted.join("journal.done"), interrupted.join("journal")).unwrap();
    };
    faults.add(Rule::before(1, leave).matching(names_its_journal));
    let error = done(&with(Workspace::on(faults, scratch.root()), &PROTOCOL, 1), "a/new").unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::RecoveryRequired, Outcome::Unchanged), "{error}");
    assert!(error.to_string().contains("idempotency key \"k\""), "{error}");
    assert_eq!(made(&scratch), ["b/new"]);
}

fn unlooked(entries: usize, terms: Terms) -> Vec<StepPhase> {
    phases_without(forward::commit(entries, terms), |step| step == CommitStep::LookForKey)
}

/// Prunes the transaction of a key with power cuts before each call, without these syncs: whether the key is always known.
fn is_known_after_power_cuts(are_left_out: fn(&FaultCall) -> bool) -> bool {
    let mut keyed = Request::new().edit("a", Edit::replace("one", "two"));
    keyed.idempotency_key = Some("k".into());
    let engine = |fs: Arc<dyn Fs>| Engine::with_fs(fs, Path::new("/w"), Settings::default()).unwrap();
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    machine.create("/w/a", "one\n").unwrap();
    machine.advance(Duration::from_secs(60));
    engine(Arc::new(machine.process(1))).apply(&keyed, Run::default()).unwrap();
    machine.sync_everything();
    for call in 1.. {
        let now = machine.fork();
        let calls = Arc::new(AtomicU64::new(0));
        now.set_hook(
            move |_| if calls.fetch_add(1, Ordering::Relaxed) == call { Action::Kill } else { Action::Continue },
        );
        let faults = FaultFs::new(Arc::new(now.process(2)));
        let is_sync =
            |call: &FaultCall| matches!(call.operation, FaultOperation::Sync | FaultOperation::SyncFileSystem);
        faults.add(Rule::pretend(1).matching(move |call| is_sync(call) && are_left_out(call)).from_then_on());
        let pruned = Engine::with_fs(Arc::new(faults), Path::new("/w"), Settings::default())
            .and_then(|engine| engine.prune(&Retention::default().count(0)));
        now.clear_hook();
        for image in now.images(Policy::Unordered, 200, 1) {
            let next = SimFs::from_image(&image);
            let told = engine(Arc::new(next.process(1))).apply(&keyed, Run::default());
            if !told.is_ok_and(|report| report.already_applied) {
                return false;
            }
        }
        if pruned.is_ok() {
            assert!(call > 10, "it was killed at {call} calls");
            return true;
        }
    }
    unreachable!("it comes to its end")
}

#[test]
fn a_key_that_is_not_durable_before_its_transaction_goes_is_noticed() {
    assert!(is_known_after_power_cuts(|_| false));
    assert!(!is_known_after_power_cuts(|call| call.path.starts_with("/w/.txedit/keys")), "it was not noticed");
}
