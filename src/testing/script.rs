//! Scripts to explore: files, and a sequence of calls of the engine.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::check::{Check, CheckCall, Checker, Ended, Verdict};
use crate::commit::protocol::{PROTOCOL, Protocol};
use crate::engine::report::Report;
use crate::engine::{Durability, Engine, Run, Settings, UndoOptions};
use crate::error::{ErrorKind, Outcome, Result};
use crate::fs::Fs;
use crate::fs::sim::{SimFs, Volume};
use crate::journal::Swap;
use crate::request::edit::Edit;
use crate::request::{Change, FileRequest, IfExists, Request};

/// The workspace of every script.
pub const ROOT: &str = "/w";

/// The folder of the user's states on a machine, outside the workspace.
pub(super) const USER_STATE: &str = "/states";

type Setup = Arc<dyn Fn(&SimFs) + Send + Sync>;
/// Puts a layer between the engine and the machine.
type ScriptDisturb = Arc<dyn Fn(&SimFs, Role, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync>;
type ScriptFormat = Arc<dyn Fn(&mut Volume) + Send + Sync>;
type ScriptAct = Arc<dyn Fn(&Engine) -> Result<()> + Send + Sync>;
type Witness = Arc<dyn Fn(&Engine, Acts) -> Result<(), String> + Send + Sync>;
type Passes = Arc<dyn Fn(&SimFs) -> bool + Send + Sync>;

/// The progress of a script before a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acts {
    /// The number of acts reported as done.
    pub done: usize,
    /// The number of acts begun.
    pub begun: usize,
}

/// The purpose of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It performs the acts of the script.
    Act,
    /// It recovers.
    Recover,
}

/// Files, and a sequence of calls of the engine. Each call is one transaction, or none.
#[derive(Clone)]
pub struct Script {
    pub(super) name: String,
    format: Vec<ScriptFormat>,
    setup: Setup,
    pub(super) acts: Vec<ScriptAct>,
    durability: Durability,
    is_warm: bool,
    is_contended: bool,
    /// True if another file system than that of the root cannot exchange names.
    is_partly_stepwise: bool,
    /// The paths in the workspace of files that are mount points, and are overwritten.
    mounted: Vec<PathBuf>,
    /// The paths in the workspace of files that are overwritten, since nothing else is possible.
    overwritten: Vec<PathBuf>,
    protocol: &'static Protocol,
    pub(super) disturb: Option<ScriptDisturb>,
    check: Option<Passes>,
    witness: Option<Witness>,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script({})", self.name)
    }
}

impl Script {
    /// A script without acts. `setup` makes the files in [`ROOT`], which exists; everything is durable before the first
    /// act.
    pub fn new(name: impl Into<String>, setup: impl Fn(&SimFs) + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            format: Vec::new(),
            setup: Arc::new(setup),
            acts: Vec::new(),
            durability: Durability::Power,
            is_warm: true,
            is_contended: false,
            is_partly_stepwise: false,
            mounted: Vec::new(),
            overwritten: Vec::new(),
            protocol: &PROTOCOL,
            disturb: None,
            check: None,
            witness: None,
        }
    }

    /// Adds to its name.
    #[must_use]
    pub fn named(mut self, what: &str) -> Self {
        self.name = format!("{}, {what}", self.name);
        self
    }

    /// Adds an act. It must succeed undisturbed.
    #[must_use]
    pub fn then(mut self, act: impl Fn(&Engine) -> Result<()> + Send + Sync + 'static) -> Self {
        self.acts.push(Arc::new(act));
        self
    }

    /// Adds a request.
    #[must_use]
    pub fn apply(self, request: Request) -> Self {
        self.then(move |engine| run(|run| engine.apply(&request, run).map(drop)))
    }

    /// Adds a request with the script's check, which may act on the machine like any program, and returns whether it
    /// passes. If it does not, that must be reported, with every file as it was.
    #[must_use]
    pub fn apply_checked(mut self, request: Request, passes: impl Fn(&SimFs) -> bool + Send + Sync + 'static) -> Self {
        self.check = Some(Arc::new(passes));
        let check = Some(Check::new(vec!["check".into()]));
        let request = Request { check, ..request };
        self.then(move |engine| match run(|run| engine.apply(&request, run)) {
            Err(error) if error.kind() == ErrorKind::CheckFailed && error.outcome() == Outcome::RolledBack => Ok(()),
            other => other.map(drop),
        })
    }

    /// Adds a revert of the newest transaction that has not been reverted.
    #[must_use]
    pub fn undo(self) -> Self {
        self.then(|engine| run(|run| engine.undo(None, false, run).map(drop)))
    }

    /// Adds a revert of all but the oldest transaction, as one.
    #[must_use]
    pub fn undo_all(self) -> Self {
        self.then(|engine| {
            let oldest = engine.log(usize::MAX, None)?.pop().map(|logged| logged.id).unwrap_or_default();
            let options = UndoOptions::default();
            run(|run| engine.undo_since(&oldest, &|_, _| true, &options, run).map(drop))
        })
    }

    /// The durability of the commits. With [`Durability::Process`] only kills are explored.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// There is no state folder when the first act begins.
    #[must_use]
    pub fn cold(mut self) -> Self {
        self.is_warm = false;
        self
    }

    /// Each edit is swapped before its content is durable, as next to a program that is faster than a sync.
    #[must_use]
    pub fn contended(mut self) -> Self {
        self.is_contended = true;
        self.named("contended")
    }

    /// A file system among its files cannot exchange names: for a moment there may be no file.
    #[must_use]
    pub fn partly_stepwise(mut self) -> Self {
        self.is_partly_stepwise = true;
        self
    }

    /// The file at this path in the workspace is a mount point, and is overwritten in place.
    #[must_use]
    pub fn mounted(mut self, path: impl Into<PathBuf>) -> Self {
        self.mounted.push(path.into());
        self
    }

    /// The file at this path in the workspace is overwritten in place, since [the file system](Self::on) can do nothing else
    /// with any.
    #[must_use]
    pub fn overwritten(mut self, path: impl Into<PathBuf>) -> Self {
        self.overwritten.push(path.into());
        self
    }

    /// Changes the properties of the file system before there are files: such as `volume.sync_each = true`, which makes
    /// barriers sync file by file.
    #[must_use]
    pub fn on(mut self, format: impl Fn(&mut Volume) + Send + Sync + 'static) -> Self {
        self.format.push(Arc::new(format));
        self
    }

    /// Uses another protocol: one that a test has broken.
    #[must_use]
    pub fn protocol(mut self, protocol: &'static Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Puts a layer between the engine and the machine, such as a file system that leaves out a sync.
    #[must_use]
    pub fn disturb(
        mut self,
        disturb: impl Fn(&SimFs, Role, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync + 'static,
    ) -> Self {
        self.disturb = Some(Arc::new(disturb));
        self
    }

    /// Adds a check, besides the files, of an engine after every crash and its recovery; what it does happens on a fork
    /// of the machine.
    #[must_use]
    pub fn witness(mut self, sees: impl Fn(&Engine, Acts) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.witness = Some(Arc::new(sees));
        self
    }

    /// Runs that check on a machine.
    pub(super) fn ask_witness(&self, machine: &SimFs, acts: Acts) -> Result<(), String> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let engine = self.engine(Arc::new(machine.fork().process(4))).map_err(|e| e.to_string())?;
        witness(&engine, acts).map_err(|what| format!("after {acts:?}: {what}"))
    }

    /// Returns whether a journal from before a power loss looks like a copy, so that a person must vouch for it.
    pub(super) fn needs_trust(&self) -> bool {
        // What moves names step by step leaves a proof.
        !self.volume().birth_times && self.volume().exchange
    }

    /// The files that are overwritten: until a recovery they may be torn.
    pub(super) fn all_overwritten(&self) -> impl Iterator<Item = &PathBuf> {
        self.mounted.iter().chain(&self.overwritten)
    }

    /// Returns whether nothing but overwriting is possible.
    fn only_overwrites(&self) -> bool {
        !self.overwritten.is_empty()
    }

    /// Returns whether a file may be missing for a moment, since names change places step by step.
    pub(super) fn has_gap(&self) -> bool {
        self.is_partly_stepwise || !self.volume().exchange && !self.only_overwrites()
    }

    fn volume(&self) -> Volume {
        let mut volume = Volume::default();
        self.format.iter().for_each(|format| format(&mut volume));
        volume
    }

    /// Returns whether it has a check.
    pub(super) fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    pub(super) fn is_durable(&self) -> bool {
        self.durability == Durability::Power
    }

    /// A machine after the setup, with everything durable.
    pub(super) fn machine(&self) -> SimFs {
        let machine = SimFs::new();
        let made = machine.make_folders(ROOT);
        assert!(made.is_ok(), "{made:?}");
        for format in &self.format {
            let formatted = machine.volume(ROOT, |volume| format(volume));
            assert!(formatted.is_ok(), "{formatted:?}");
        }
        if self.is_warm {
            self.warm_up(&machine);
        }
        (self.setup)(&machine);
        machine.sync_everything();
        for path in &self.mounted {
            let mounted = machine.mount_file(Path::new(ROOT).join(path));
            assert!(mounted.is_ok(), "{mounted:?}");
        }
        machine
    }

    /// Makes the state folder, by a transaction that is not part of the script.
    fn warm_up(&self, machine: &SimFs) {
        let done = self.commit_another(machine, 1, "warm").map(drop);
        assert!(done.is_ok(), "{done:?}");
        machine.kill(1);
        machine.advance(Duration::from_secs(60));
    }

    /// Commits something that no script is about, by a process.
    pub(super) fn commit_another(&self, machine: &SimFs, pid: u32, name: &str) -> Result<Report> {
        let engine = self.engine(Arc::new(machine.process(pid)))?;
        if !self.only_overwrites() {
            return run(|run| engine.apply(&a_file(name), run));
        }
        let made = machine.create(Path::new(ROOT).join(name), "one\n");
        assert!(made.is_ok(), "{made:?}");
        run(|run| engine.apply(&Request::new().edit(name, Edit::replace("one", "another")), run))
    }

    /// An engine of the script, in a process of its own.
    pub(super) fn process(&self, machine: &SimFs, pid: u32, role: Role) -> Result<Engine> {
        Ok(self.engine(self.file_system(machine, pid, role))?.with_checker(self.checker(machine)))
    }

    /// The same for one of several at a time: it waits for locks without limit.
    pub(super) fn patient_process(&self, machine: &SimFs, pid: u32) -> Result<Engine> {
        let engine = self.engine_with(self.file_system(machine, pid, Role::Act), Duration::from_secs(60 * 60))?;
        Ok(engine.with_checker(self.checker(machine)))
    }

    fn checker(&self, machine: &SimFs) -> Arc<dyn Checker> {
        Arc::new(ScriptChecker { machine: machine.clone(), passes: self.check.clone() })
    }

    fn file_system(&self, machine: &SimFs, pid: u32, role: Role) -> Arc<dyn Fs> {
        let process: Arc<dyn Fs> = Arc::new(machine.process(pid));
        match &self.disturb {
            Some(disturb) => disturb(machine, role, process),
            None => process,
        }
    }

    /// An engine of the script on any file system that has [`ROOT`].
    pub fn engine(&self, fs: Arc<dyn Fs>) -> Result<Engine> {
        // Waiting is useless: in a simulation the holder of a lock does not run while another one waits.
        self.engine_with(fs, Duration::ZERO)
    }

    fn engine_with(&self, fs: Arc<dyn Fs>, lock_timeout: Duration) -> Result<Engine> {
        let settings = Settings {
            durability: self.durability,
            lock_timeout,
            retention: crate::engine::Retention::default(),
            program: "explorer".to_owned(),
            user_state: Some(USER_STATE.into()),
            swap: if self.all_overwritten().next().is_none() { Swap::Auto } else { Swap::InPlace },
            ..Settings::default()
        };
        let engine = Engine::with_fs(fs, Path::new(ROOT), settings)?.with_protocol(self.protocol);
        Ok(if self.is_contended { engine.contended_after(0) } else { engine })
    }
}

/// Runs the check of a script, which is a function, not a process.
struct ScriptChecker {
    machine: SimFs,
    passes: Option<Passes>,
}

impl fmt::Debug for ScriptChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnMachine")
    }
}

impl Checker for ScriptChecker {
    fn run(&self, _call: &CheckCall<'_>) -> io::Result<Ended> {
        let passes = self.passes.as_ref().is_none_or(|passes| passes(&self.machine));
        let verdict = if passes { Verdict::Passed } else { Verdict::Failed("exit status: 1".to_owned()) };
        Ok(Ended { verdict, tail: String::new(), took: Duration::ZERO })
    }
}

/// A file with a name that no script uses.
fn a_file(name: &str) -> Request {
    let change = Change::Write { content: format!("{name}\n").into_bytes(), if_exists: IfExists::Fail };
    let file = FileRequest::new(name, change);
    Request { files: vec![file], ..Request::default() }
}

/// Calls with a run without cancellation or observer.
pub(super) fn run<T>(call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    call(Run::default())
}
