//! What is explored: files, and calls of the engine that follow each other.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::check::{Check, CheckCall, Checker, Ended, Verdict};
use crate::commit::protocol::{PROTOCOL, Protocol};
use crate::engine::{Durability, Engine, Run, Settings};
use crate::error::{ErrorKind, Outcome, Result};
use crate::fs::Fs;
use crate::fs::sim::{SimFs, Volume};
use crate::request::{Change, FileRequest, IfExists, Request};

/// The workspace of every script.
pub const ROOT: &str = "/w";

type Setup = Arc<dyn Fn(&SimFs) + Send + Sync>;
/// Puts something between the engine and the machine.
type ScriptDisturb = Arc<dyn Fn(&SimFs, Role, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync>;
type ScriptFormat = Arc<dyn Fn(&mut Volume) + Send + Sync>;
type ScriptAct = Arc<dyn Fn(&Engine) -> Result<()> + Send + Sync>;
type Witness = Arc<dyn Fn(&Engine, Acts) -> Result<(), String> + Send + Sync>;
type Passes = Arc<dyn Fn(&SimFs) -> bool + Send + Sync>;

/// How far a script came before a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acts {
    /// So many of its acts were reported as done.
    pub done: usize,
    /// So many were begun.
    pub begun: usize,
}

/// What an engine is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It does the acts of the script.
    Act,
    /// It recovers.
    Recover,
}

/// Files, and calls of the engine that follow each other. Each call is a transaction, or none.
#[derive(Clone)]
pub struct Script {
    pub(super) name: String,
    format: Vec<ScriptFormat>,
    setup: Setup,
    pub(super) acts: Vec<ScriptAct>,
    durability: Durability,
    is_warm: bool,
    is_contended: bool,
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
    /// A script without acts. `setup` makes the files in [`ROOT`], which is there; all of it is durable before the
    /// first act.
    pub fn new(name: impl Into<String>, setup: impl Fn(&SimFs) + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            format: Vec::new(),
            setup: Arc::new(setup),
            acts: Vec::new(),
            durability: Durability::Power,
            is_warm: true,
            is_contended: false,
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

    /// Then does this. It must succeed where nobody interferes.
    #[must_use]
    pub fn then(mut self, act: impl Fn(&Engine) -> Result<()> + Send + Sync + 'static) -> Self {
        self.acts.push(Arc::new(act));
        self
    }

    /// Then applies this.
    #[must_use]
    pub fn apply(self, request: Request) -> Self {
        self.then(move |engine| run(|run| engine.apply(&request, run).map(drop)))
    }

    /// Then applies this with a check, that of the script: it may act on the machine as any program may, and says whether
    /// it passes. Where it does not, that must be reported, with every file as it was.
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

    /// Then undoes the newest transaction that is not undone.
    #[must_use]
    pub fn undo(self) -> Self {
        self.then(|engine| run(|run| engine.undo(None, false, run).map(drop)))
    }

    /// What the commits wait for. With [`Durability::Process`] only kills are explored.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The state folder is not there yet when the first act begins.
    #[must_use]
    pub fn cold(mut self) -> Self {
        self.is_warm = false;
        self
    }

    /// Each edit is swapped before its content is durable, as beside a program that is quicker than a sync.
    #[must_use]
    pub fn contended(mut self) -> Self {
        self.is_contended = true;
        self.named("contended")
    }

    /// Changes what the file system can do, before anything is on it: such as `volume.sync_each = true`, with which
    /// barriers sync file by file.
    #[must_use]
    pub fn on(mut self, format: impl Fn(&mut Volume) + Send + Sync + 'static) -> Self {
        self.format.push(Arc::new(format));
        self
    }

    /// Follows another protocol: one that a test has broken.
    #[must_use]
    pub fn protocol(mut self, protocol: &'static Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Puts something between the engine and the machine, such as a file system that leaves out a sync.
    #[must_use]
    pub fn disturb(
        mut self,
        disturb: impl Fn(&SimFs, Role, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync + 'static,
    ) -> Self {
        self.disturb = Some(Arc::new(disturb));
        self
    }

    /// What an engine must see after every crash and its recovery, besides the files; what it does with what it sees is
    /// done in a copy.
    #[must_use]
    pub fn witness(mut self, sees: impl Fn(&Engine, Acts) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.witness = Some(Arc::new(sees));
        self
    }

    /// What is wrong with what an engine sees on a machine.
    pub(super) fn ask_witness(&self, machine: &SimFs, acts: Acts) -> Result<(), String> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let engine = self.engine(Arc::new(machine.fork().process(4))).map_err(|e| e.to_string())?;
        witness(&engine, acts).map_err(|what| format!("after {acts:?}: {what}"))
    }

    /// Whether a journal from before a power loss cannot be told from a copy, so that a person must vouch for it.
    pub(super) fn needs_trust(&self) -> bool {
        let mut volume = Volume::default();
        self.format.iter().for_each(|format| format(&mut volume));
        !volume.birth_times
    }

    /// Whether a check decides in it.
    pub(super) fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    pub(super) fn is_durable(&self) -> bool {
        self.durability == Durability::Power
    }

    /// A machine on which the setup is done, and everything durable.
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
        machine
    }

    /// Makes the state folder, by a transaction that is not part of the script.
    fn warm_up(&self, machine: &SimFs) {
        let engine = self.engine(Arc::new(machine.process(1)));
        let done = engine.and_then(|engine| run(|run| engine.apply(&a_file("warm"), run)));
        assert!(done.is_ok(), "{done:?}");
        machine.kill(1);
        machine.advance(Duration::from_secs(60));
    }

    /// An engine of the script, in a process of its own.
    pub(super) fn process(&self, machine: &SimFs, pid: u32, role: Role) -> Result<Engine> {
        Ok(self.engine(self.file_system(machine, pid, role))?.with_checker(self.checker(machine)))
    }

    /// The same for one of several that live at a time: it waits for locks as long as it takes.
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
        // Nobody waits for anybody: who has a lock in a simulation keeps it as long as another one waits.
        self.engine_with(fs, Duration::ZERO)
    }

    fn engine_with(&self, fs: Arc<dyn Fs>, lock_timeout: Duration) -> Result<Engine> {
        let settings = Settings {
            durability: self.durability,
            lock_timeout,
            retention: crate::engine::Retention::default(),
            program: "explorer".to_owned(),
        };
        let engine = Engine::with_fs(fs, Path::new(ROOT), settings)?.with_protocol(self.protocol);
        Ok(if self.is_contended { engine.contended_after(0) } else { engine })
    }
}

/// Runs the check of a script, which is no process but a function.
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

/// A file of that name that no script knows.
pub(super) fn a_file(name: &str) -> Request {
    let change = Change::Write { content: format!("{name}\n").into_bytes(), if_exists: IfExists::Fail };
    let file = FileRequest { path: name.into(), expected_hash: None, change, mode: None };
    Request { files: vec![file], ..Request::default() }
}

/// Calls with a run that nobody cancels or watches.
pub(super) fn run<T>(call: impl FnOnce(Run<'_>) -> Result<T>) -> Result<T> {
    call(Run::default())
}
