//! The test program itself as a child process, with one thing to do and perhaps a moment at which to die.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::testing::internals::path::STATE_FOLDER;
use txedit::{Decision, Engine, Error, PathRule, RecoverOptions};

use super::{alone, settings};
use crate::support::name_of;

const ROLE: &str = "TXEDIT_TEST_CHILD";
const ROOT: &str = "TXEDIT_TEST_ROOT";
const REQUEST: &str = "TXEDIT_TEST_REQUEST";
const SIGNAL: &str = "TXEDIT_TEST_SIGNAL";
const DISTURBANCE: &str = "TXEDIT_TEST_DISTURBANCE";
const PATIENCE: &str = "TXEDIT_TEST_PATIENCE_MS";

/// What a child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Applies a request.
    Apply,
    /// Recovers everything.
    Recover,
    /// Rolls back one that came with a copy; its id is the request.
    Vouch,
    /// Reverts the newest transaction.
    Undo,
    /// Adds lines to files, one transaction after the other.
    Count,
}

impl Role {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Apply, "apply"),
        (Self::Recover, "recover"),
        (Self::Vouch, "vouch"),
        (Self::Undo, "undo"),
        (Self::Count, "count"),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(role, _)| *role == self).unwrap().1
    }
}

/// Before which call a child gets a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The n-th call that changes the disk, or syncs it, from 1.
    Write(usize),
    /// The n-th rename of a target, from 1.
    Swap(usize),
    /// The n-th rename of a journal: its name is its state.
    State(usize),
    /// The n-th move of a transaction's folder to history.
    Archive(usize),
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// By the signal that it was promised.
    Killed,
    /// It committed, recovered or undid, and said so: each word after the other.
    Done(String),
    /// It failed, with this code and outcome.
    Failed(String),
}

/// A child that is about to run in `root`.
pub(super) fn command(role: Role, root: &Path, request: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &name_of(module_path!(), "child_entry"), "--nocapture", "--test-threads=1"])
        .env(ROLE, role.word())
        .env(ROOT, root)
        .env(REQUEST, request)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// How long the child waits for locks.
pub(super) fn with_patience(mut command: Command, patience: Duration) -> Command {
    command.env(PATIENCE, patience.as_millis().to_string());
    command
}

/// The child gets SIGKILL at `moment`.
pub(super) fn killed_at(mut command: Command, moment: Moment) -> Command {
    command.env(SIGNAL, spell("kill", moment));
    command
}

/// The child gets SIGSTOP at `moment`.
pub(super) fn stopped_at(mut command: Command, moment: Moment) -> Command {
    command.env(SIGNAL, spell("stop", moment));
    command
}

/// Before `moment` another program appends a line to the file at `path`.
pub(super) fn appended_at(mut command: Command, moment: Moment, path: &Path) -> Command {
    command.env(DISTURBANCE, format!("{} {}", spell("append", moment), path.display()));
    command
}

/// Before `moment` the folder at `path` becomes one that nobody can write to.
pub(super) fn barred_at(mut command: Command, moment: Moment, path: &Path) -> Command {
    command.env(DISTURBANCE, format!("{} {}", spell("bar", moment), path.display()));
    command
}

/// What another program appends.
pub(super) const APPENDED: &str = "a line of another program\n";

fn spell(what: &str, moment: Moment) -> String {
    match moment {
        Moment::Write(n) => format!("{what} write {n}"),
        Moment::Swap(n) => format!("{what} swap {n}"),
        Moment::State(n) => format!("{what} state {n}"),
        Moment::Archive(n) => format!("{what} archive {n}"),
    }
}

/// Runs a child to its end.
pub(super) fn run(mut command: Command) -> End {
    ended(&command.output().unwrap())
}

/// Waits for the end of a child.
pub(super) fn wait(child: Child) -> End {
    ended(&child.wait_with_output().unwrap())
}

/// What a child said last, and how it ended.
pub(super) fn ended(output: &Output) -> End {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let find = |word: &str| said.lines().find_map(|line| line.strip_prefix(word)).map(str::to_owned);
    // Whoever was killed after it had said so has committed.
    if let Some(done) = find("child did: ") {
        return End::Done(done);
    }
    if output.status.signal() == Some(Signal::KILL.as_raw()) {
        return End::Killed;
    }
    match find("child failed: ") {
        Some(failed) => End::Failed(failed),
        None => panic!("a child ended without a word: {output:?}"),
    }
}

/// Not a test: what the test program does as a child.
#[test]
fn child_entry() {
    let Some(role) = std::env::var_os(ROLE) else { return };
    let role = Role::ALL.iter().find(|(_, word)| role == *word).unwrap().0;
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    let request = std::env::var(REQUEST).unwrap();
    let patience = std::env::var(PATIENCE).map_or(20_000, |text| text.parse().unwrap());
    let faulty = FaultFs::new(Arc::new(OsFs::new()));
    if let Ok(text) = std::env::var(DISTURBANCE) {
        faulty.add(disturbance(&text));
    }
    if let Ok(text) = std::env::var(SIGNAL) {
        faulty.add(rule(&text));
    }
    let engine = Engine::with_fs(Arc::new(faulty), &root, settings(Duration::from_millis(patience)));
    // What a test disturbs it wants to see.
    let engine = engine.map(|engine| engine.with_attempts(1));
    let said = match engine.and_then(|engine| act(role, &engine, &request)) {
        Ok(done) => format!("child did: {done}"),
        Err(error) => format!("child failed: {} {} {error}", error.kind().code(), error.outcome().as_str()),
    };
    say(&said);
}

/// Tells the parent.
pub(super) fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    // The harness has begun a line.
    out.write_all(format!("\n{words}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn act(role: Role, engine: &Engine, request: &str) -> Result<String, Error> {
    match role {
        Role::Apply => Ok(engine.apply(&parse(request), alone())?.transaction.unwrap_or_default()),
        Role::Undo => Ok(engine.undo(None, false, alone())?.transaction.unwrap_or_default()),
        Role::Recover | Role::Vouch => {
            let is_copy = role == Role::Vouch;
            let (id, decision) = if is_copy { (Some(request), Decision::Back) } else { (None, Decision::Table) };
            let how = RecoverOptions::new().decision(decision).trust_journal(is_copy);
            let recovered = engine.recover(id, how)?;
            Ok(recovered.iter().map(|one| one.action.as_str()).collect::<Vec<_>>().join(" "))
        }
        Role::Count => super::races::count(engine, request),
    }
}

/// A request from its JSON.
pub(super) fn parse(json: &str) -> txedit::Request {
    txedit::wire::parse(json.as_bytes()).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap()
}

/// A rule from `WHAT KIND NTH`.
fn rule(text: &str) -> Rule {
    let signal = if text.starts_with("kill") { Signal::KILL } else { Signal::STOP };
    at_moment(text, move |_| {
        kill_process(getpid(), signal).unwrap();
        // Another thread may be the first to be stopped; this one must not get any further meanwhile.
        std::thread::sleep(Duration::from_millis(500));
    })
}

fn disturbance(text: &str) -> Rule {
    let path = PathBuf::from(text.splitn(4, ' ').nth(3).unwrap());
    if text.starts_with("append") {
        at_moment(text, move |_| append(&path, APPENDED))
    } else {
        at_moment(text, move |_| fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap())
    }
}

/// Adds to a file in place.
pub(super) fn append(path: &Path, text: &str) {
    fs::File::options().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn at_moment(text: &str, run: impl Fn(&FaultCall) + Send + Sync + 'static) -> Rule {
    let mut words = text.split(' ').skip(1);
    let (kind, nth) = (words.next().unwrap(), words.next().unwrap());
    let matches: fn(&FaultCall) -> bool = match kind {
        "write" => |call| call.operation.writes(),
        "swap" => is_swap,
        "state" => is_state,
        _ => is_archive,
    };
    Rule::before(nth.parse().unwrap(), run).matching(matches)
}

/// Whether a target is renamed: one of the two names is outside the state folder.
pub(super) fn is_swap(call: &FaultCall) -> bool {
    let inside = |path: &Path| path.components().any(|part| part.as_os_str() == STATE_FOLDER);
    call.operation == FaultOperation::Rename && call.to.as_deref().is_some_and(|to| inside(&call.path) != inside(to))
}

/// Whether the state of a transaction changes after its first swap: the name of its journal is its state.
fn is_state(call: &FaultCall) -> bool {
    let is_journal = |name: &str| name.starts_with("journal") && name != "journal.new";
    let journal = |path: &Path| path.file_name().is_some_and(|name| is_journal(&name.to_string_lossy()));
    call.operation == FaultOperation::Rename && journal(&call.path)
}

fn is_archive(call: &FaultCall) -> bool {
    let history = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with(".txedit/history"));
    call.operation == FaultOperation::Rename && call.to.as_deref().is_some_and(history)
}
