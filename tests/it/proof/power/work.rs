//! Transactions on a disk that remembers, and what is true before and after each.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultFs, FaultOperation, Rule};
use txedit::{Engine, PathRule, Run, Settings};

use super::dice::Dice;
use super::disk::{Blocks, Event, Served, Shelf};
use super::system::{Mounted, System};
use super::tree::{NOISE, Node, Tree, files};

/// How transactions are committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    /// By the program, as it is.
    Safe,
    /// By the program with `--durability process`: no barriers at all.
    Process,
    /// By the engine on a system whose syncs before the first swap do nothing, but for the one of the journal.
    NoFirstBarrier,
}

/// One transaction.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) old: Tree,
    pub(super) new: Tree,
    /// A file that somebody wrote before it, without a sync: until the transaction was reported, it may be anything.
    pub(super) loose: Option<PathBuf>,
}

/// All that a disk was told during some transactions.
pub(super) struct Recording {
    /// The disk before the first event.
    pub(super) base: Blocks,
    pub(super) log: Vec<Event>,
    /// Where the first transaction begins.
    pub(super) start: usize,
    pub(super) steps: Vec<Step>,
}

/// Makes a file system and commits `count` transactions on it, one after the other.
pub(super) fn record(
    shelf: &mut Shelf,
    system: System,
    variant: Variant,
    count: usize,
    dice: &mut Dice,
) -> Result<Recording, String> {
    let base = system.make()?;
    let disk = shelf.serve(base.clone(), system.size());
    let mounted = Mounted::new(&disk)?;
    let root = mounted.root().to_owned();
    for number in 0..8 {
        let folder = root.join(["", "src", "src/deep"][number % 3]);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("file{number}")), content(0, dice)).unwrap();
    }
    // An engine's first start on a file system tries out what it can do; that is no transaction.
    let place = Place { system, root: &root, disk: &disk, variant: Variant::Safe };
    place.run(&json!({"files": [{"file_path": "first", "content": "version 0;"}]}));
    fs::create_dir(root.join(NOISE)).unwrap();
    crate::support::mounts::run("sync", [Path::new("-f"), &root])?;
    let start = disk.position();
    let noise = Noise::start(&root, dice.roll());
    let place = Place { system, root: &root, disk: &disk, variant };
    let steps = (1..=count).map(|number| place.step(number, dice)).collect();
    drop(noise);
    let log = disk.log();
    drop(mounted);
    shelf.forget(&disk);
    Ok(Recording { base, log, start, steps })
}

/// Where transactions are committed, and how.
struct Place<'a> {
    system: System,
    root: &'a Path,
    disk: &'a Served,
    variant: Variant,
}

impl Place<'_> {
    fn step(&self, number: usize, dice: &mut Dice) -> Step {
        let Self { root, disk, variant, .. } = *self;
        let mut old = files(root).unwrap();
        if variant == Variant::Safe && dice.one_of(1, 8) && old.contains_key(Path::new("undoable")) {
            // Of two in a row, the second one may find what somebody wrote before the transaction that the first one reverted.
            let undone = report(root, disk, &["undo"]);
            assert!(undone.is_ok() || undone.as_ref().is_err_and(|told| told.contains("UNDO_CONFLICT")), "{undone:?}");
            return Step { old, new: files(root).unwrap(), loose: None };
        }
        let names: Vec<PathBuf> =
            old.iter().filter(|(_, node)| matches!(node, Node::File { .. })).map(|(path, _)| path.clone()).collect();
        let mut loose = None;
        if dice.one_of(1, 3) {
            let path = dice.pick(&names);
            fs::write(root.join(&path), content(number, dice)).unwrap();
            old = files(root).unwrap();
            loose = Some(path);
        }
        let mut used: BTreeSet<PathBuf> = loose.iter().cloned().collect();
        let mut asked: Vec<Value> = loose.iter().map(|path| edit(root, path, number)).collect();
        for part in 0..=dice.below(6) {
            let path = dice.pick(&names);
            if used.insert(path.clone()) {
                asked.push(change(root, &path, number, part, dice));
            }
        }
        if !old.contains_key(Path::new("undoable")) {
            asked.push(json!({"file_path": "undoable", "content": "x"}));
        }
        self.run(&json!({"files": asked}));
        let new = files(root).unwrap();
        assert_ne!(old, new, "a transaction that changes nothing shows nothing");
        Step { old, new, loose }
    }

    fn run(&self, request: &Value) {
        let Self { root, disk, variant, .. } = *self;
        if variant == Variant::NoFirstBarrier {
            without_first_barrier(self.system, root, request);
            return disk.mark();
        }
        let mut plan = tempfile::NamedTempFile::new().unwrap();
        plan.write_all(request.to_string().as_bytes()).unwrap();
        let durability = if variant == Variant::Process { "process" } else { "power" };
        report(root, disk, &["--durability", durability, "apply", plan.path().to_str().unwrap()]).unwrap();
    }
}

/// Something to do with a file, or beside it.
fn change(root: &Path, path: &Path, number: usize, part: usize, dice: &mut Dice) -> Value {
    let fresh = ["", "src", &format!("made{number}"), &format!("made{number}/deep{part}")][dice.below(4)].to_owned();
    let fresh = Path::new(&fresh).join(format!("new{number}-{part}"));
    match dice.below(10) {
        0 => json!({"file_path": path, "content": content(number, dice), "if_exists": "replace"}),
        1 | 2 => json!({"file_path": fresh, "content": content(number, dice)}),
        3 => json!({"file_path": path, "delete": true}),
        4 => json!({"file_path": path, "rename_to": fresh}),
        5 => {
            let mode = if number.is_multiple_of(2) { "755" } else { "640" };
            let mut asked = edit(root, path, number);
            asked["mode"] = mode.into();
            asked
        }
        _ => edit(root, path, number),
    }
}

fn edit(root: &Path, path: &Path, number: usize) -> Value {
    let text = fs::read_to_string(root.join(path)).unwrap();
    match text.find(';') {
        Some(end) if text.starts_with("version ") => {
            let new = format!("version {number}.{};", text.len());
            json!({"file_path": path, "edits": [{"old_string": text[..=end], "new_string": new}]})
        }
        _ => json!({"file_path": path, "content": format!("version {number};"), "if_exists": "replace"}),
    }
}

/// A file: inline, in one block, in many.
fn content(number: usize, dice: &mut Dice) -> String {
    let mut text = format!("version {number}-{};\n", dice.roll() % 1000);
    let length = dice.pick(&[0, 0, 100, 3000, 5000, 60_000, 300_000]);
    while text.len() < length {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:016x} filler", dice.roll());
    }
    text
}

/// Runs the program, and marks the log with the first byte of its answer: what it says must be true from then on. An
/// answer with another exit status than 0 is the error.
pub(super) fn report(root: &Path, disk: &Served, line: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
    command.arg("--root").arg(root).arg("--json").args(line).current_dir("/").stdin(Stdio::null());
    let mut child = command.env_remove("TXEDIT_DURABILITY").stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut answer = vec![0];
    stdout.read_exact(&mut answer).unwrap();
    disk.mark();
    stdout.read_to_end(&mut answer).unwrap();
    let status = child.wait().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    if status.success() { Ok(answer) } else { Err(format!("{line:?}: {status}: {answer}")) }
}

/// Commits with an engine whose file system, up to the first swap, syncs only the journal and says that it did all.
/// After the first swap another program makes the file system commit its names, as it may at any time.
fn without_first_barrier(system: System, root: &Path, request: &Value) {
    let swapping = Arc::new(AtomicBool::new(false));
    let faults = FaultFs::new(Arc::new(OsFs::new()));
    let begun = Arc::clone(&swapping);
    let target = |call: &txedit::fs::fault::FaultCall| {
        let slot = |path: &Path| path.file_name().is_some_and(|name| name == "000000");
        call.operation == FaultOperation::Rename && (slot(&call.path) || call.to.as_deref().is_some_and(slot))
    };
    faults.add(Rule::before(1, move |_| begun.store(true, Ordering::SeqCst)).matching(target));
    let written = |call: &txedit::fs::fault::FaultCall| {
        call.operation == FaultOperation::WriteAt && call.path.ends_with("journal.new")
    };
    let sync = |call: &txedit::fs::fault::FaultCall| fs::File::open(&call.path).unwrap().sync_all().unwrap();
    faults.add(Rule::after(1, sync).matching(written).from_then_on());
    let noise = root.join(NOISE);
    faults.add(Rule::after(1, move |_| system.commit_names(&noise)).matching(target));
    let lies = move |call: &txedit::fs::fault::FaultCall| {
        let sync =
            matches!(call.operation, FaultOperation::Sync | FaultOperation::WriteOut | FaultOperation::SyncFileSystem);
        sync && !swapping.load(Ordering::SeqCst)
    };
    faults.add(Rule::pretend(1).matching(lies).from_then_on());
    let settings = Settings::default().lock_timeout(Duration::from_secs(10)).program("txedit without barrier 1");
    let request = txedit::wire::request::parse(request.to_string().as_bytes()).unwrap();
    let request = request.into_request(PathRule::AbsoluteOrRelative).unwrap();
    let engine = Engine::with_fs(Arc::new(faults), root, settings).unwrap();
    engine.apply(&request, Run::default()).unwrap();
}

/// Another program, which syncs a file of its own all the time: what a file system's journal holds by then goes to
/// the disk at moments that nobody chose.
pub(super) struct Noise {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Noise {
    pub(super) fn start(root: &Path, seed: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, path) = (Arc::clone(&stop), root.join(NOISE).join("file"));
        let mut dice = Dice::new(seed);
        let thread = std::thread::spawn(move || {
            let mut file = fs::File::create(path).unwrap();
            while !stopped.load(Ordering::SeqCst) {
                file.write_all(&dice.roll().to_le_bytes()).unwrap();
                file.sync_all().unwrap();
                std::thread::sleep(Duration::from_micros(dice.roll() % 3000));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || std::thread::panicking(), "the other program failed");
        }
    }
}
