//! The fault explorer: every call of a script fails once, or from then on, with every error that makes sense.

use std::fmt;
use std::sync::{Arc, Mutex};

use super::check::{Promise, Violation};
use super::explore::Explorer;
use super::foreign::{Foreign, ForeignProgram};
use super::run::{CleanRun, CrashPoint, lock};
use super::script::{Acts, Role, Script};
use super::walk::{CrashWalk, recover};
use super::world::{UserFiles, WorkspaceTree};
use crate::errno::Errno;
use crate::error::{Error, Outcome};
use crate::fs::sim::{Action, SimCall, SimFs};

/// A fault in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The call, from 0.
    pub call: u64,
    /// The result of the call.
    pub action: Action,
    /// True if it applies to all later calls of its kind as well.
    pub from_then_on: bool,
}

/// The result of injecting faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Injected {
    /// The number of runs in which a fault occurred.
    pub faults: usize,
    /// Of these, the runs that reported a commit.
    pub committed: usize,
    /// Those that reported a rollback, or that nothing was begun.
    pub back: usize,
    /// Those that required a recovery.
    pub required: usize,
    /// The number of crash states that were checked after a fault.
    pub worlds: usize,
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { faults, committed, back, required, worlds } = self;
        write!(f, "{faults} faults: {committed} committed, {back} back, {required} asked for recovery; ")?;
        write!(f, "{worlds} crash states after them")
    }
}

impl std::ops::AddAssign for Injected {
    fn add_assign(&mut self, other: Self) {
        self.faults += other.faults;
        self.committed += other.committed;
        self.back += other.back;
        self.required += other.required;
        self.worlds += other.worlds;
    }
}

/// The faults that make sense for a call.
fn actions(verb: &str) -> Vec<Action> {
    let (io, space, quota) = (Errno::IO, Errno::NOSPC, Errno::DQUOT);
    let (access, perm, read_only) = (Errno::ACCESS, Errno::PERM, Errno::ROFS);
    let (device, interrupted, missing) = (Errno::XDEV, Errno::INTR, Errno::NOENT);
    let (errnos, more): (&[Errno], &[Action]) = match verb {
        "write_at" => (&[io, space, quota, perm, read_only, interrupted], &[Action::Short(1)]),
        "copy_range" => (&[io, space, quota, perm, read_only, interrupted, device], &[Action::Short(1)]),
        "read_at" => (&[io, interrupted], &[Action::Short(1)]),
        "create" | "symlink" => (&[io, space, quota, access, perm, read_only, interrupted, missing], &[]),
        "make_folder" => (&[io, space, quota, access, perm, read_only, missing], &[]),
        "set_flags" | "set_metadata" | "set_link_metadata" => (&[io, space, quota, access, perm, read_only], &[]),
        "rename" => (&[io, space, quota, access, perm, read_only, device, missing], &[Action::FailAfter(Errno::IO)]),
        "unlink" | "remove_folder" => (&[io, access, perm, read_only, missing], &[]),
        "sync" | "sync_file_system" => (&[io, space, quota, read_only, interrupted], &[]),
        "try_lock" => (&[io, interrupted], &[]),
        _ => (&[io, access, perm, interrupted, missing], &[]),
    };
    errnos.iter().copied().map(Action::Fail).chain(more.iter().copied()).collect()
}

/// One run with one fault.
struct Trial<'a> {
    script: &'a Script,
    clean: &'a CleanRun,
    foreign: Option<&'a Foreign>,
}

/// The calls of a machine with a fault.
#[derive(Default)]
struct FaultRecord {
    verbs: Vec<String>,
    failed_syncs: Vec<String>,
    tried_again: Option<String>,
    fired: bool,
}

/// Makes later calls fail as `fault` says, and records them.
fn inject(machine: &SimFs, fault: Option<Fault>, programs: Vec<Arc<ForeignProgram>>) -> Arc<Mutex<FaultRecord>> {
    let record = Arc::new(Mutex::new(FaultRecord::default()));
    let (start, kept, acting) = (machine.calls(), Arc::clone(&record), machine.clone());
    let verb = Mutex::new(String::new());
    machine.set_hook(move |call| {
        let number = call.number - start;
        for program in &programs {
            program.step(&acting, number);
        }
        let mut record = lock(&kept);
        record.verbs.push(call.verb.to_owned());
        let action = fault.map_or(Action::Continue, |fault| act(fault, number, call, &mut lock(&verb)));
        record.fired |= action != Action::Continue;
        note_sync(&mut record, call, action);
        action
    });
    record
}

fn act(fault: Fault, number: u64, call: &SimCall<'_>, verb: &mut String) -> Action {
    if number == fault.call {
        call.verb.clone_into(verb);
        return fault.action;
    }
    if fault.from_then_on && number > fault.call && *verb == call.verb { fault.action } else { Action::Continue }
}

/// Records a sync. One that failed must not be tried again: the system may take the data for written.
fn note_sync(record: &mut FaultRecord, call: &SimCall<'_>, action: Action) {
    if !call.verb.starts_with("sync") {
        return;
    }
    let sync = if call.verb == "sync" { call.path.display().to_string() } else { "the file system".to_owned() };
    if record.failed_syncs.contains(&sync) {
        record.tried_again = Some(sync.clone());
    }
    if matches!(action, Action::Fail(_)) {
        record.failed_syncs.push(sync);
    }
}

impl Explorer {
    /// Fails each call of a script of one act in turn, in every way that makes sense; one in `share` of these runs.
    pub fn inject(&self, script: &Script, foreign: Option<&Foreign>, share: usize) -> Result<Injected, Violation> {
        let clean = CleanRun::of(script)?;
        let trial = Trial { script, clean: &clean, foreign };
        let mut injected = Injected::default();
        let verbs = trial.verbs();
        let mut lot = self.seed;
        for (call, verb) in (0..).zip(&verbs) {
            for action in actions(verb) {
                for from_then_on in [false, true] {
                    lot += 1;
                    if lot.is_multiple_of(share as u64) {
                        let fault = Fault { call, action, from_then_on };
                        injected += self.run(&trial, fault).map_err(|violation| told(&violation, fault, verb))?;
                    }
                }
            }
        }
        Ok(injected)
    }

    fn run(&self, trial: &Trial<'_>, fault: Fault) -> Result<Injected, Violation> {
        let machine = trial.clean.start.fork();
        let programs: Vec<_> =
            trial.foreign.iter().map(|foreign| ForeignProgram::start(&machine, foreign, &trial.clean.known)).collect();
        let record = inject(&machine, Some(fault), programs.clone());
        let broken = |what: String| Violation { what, trace: trial.foreign.iter().map(ToString::to_string).collect() };
        let result = trial.script.process(&machine, 2, Role::Act).and_then(|engine| trial.script.acts[0](&engine));
        machine.clear_hook();
        machine.kill(2);
        if !lock(&record).fired {
            return Ok(Injected::default());
        }
        if let Some(sync) = &lock(&record).tried_again {
            return Err(broken(format!("a failed sync was tried again: {sync}")));
        }
        if let Err(error) = &result
            && error.path().is_some_and(|path| path.as_os_str().is_empty())
        {
            return Err(broken(format!("an error names no path: {error}")));
        }
        let mut injected = Injected { faults: 1, ..Injected::default() };
        let outcome = result.as_ref().map_err(Error::outcome);
        let (from, to) = match outcome {
            Ok(()) => (1, 1),
            Err(Outcome::RecoveryRequired) => (0, 1),
            Err(_) => (0, 0),
        };
        match outcome {
            Ok(()) => injected.committed = 1,
            Err(Outcome::RecoveryRequired) => injected.required = 1,
            Err(_) => injected.back = 1,
        }
        let mut promise = trial.promise(from, to);
        let given = programs.iter().filter_map(|program| program.given());
        promise.add(programs.iter().filter_map(|program| program.left()), given);
        let seen = WorkspaceTree::of(&machine);
        promise.check_each(&seen).map_err(|what| broken(format!("reported {result:?}, but {what}")))?;
        let mut walk = CrashWalk::new(self, trial.script);
        walk.crash(&CrashPoint { machine, call: format!("the end, reported {result:?}"), promise }, None, 1);
        injected.worlds += walk.finish()?.worlds;
        Ok(injected)
    }

    /// Kills a script of one act before each of its changes, and fails each call of the recovery; one in `share` of
    /// these runs.
    pub fn inject_into_recovery(&self, script: &Script, share: usize) -> Result<Injected, Violation> {
        let clean = CleanRun::of(script)?;
        let trial = Trial { script, clean: &clean, foreign: None };
        let mut injected = Injected::default();
        let mut lot = self.seed;
        for point in Self::points(script, &clean, &[])? {
            let machine = point.machine.fork();
            let record = inject(&machine, None, Vec::new());
            drop(recover(script, &machine));
            let verbs = std::mem::take(&mut lock(&record).verbs);
            for (call, verb) in (0..).zip(&verbs) {
                for action in actions(verb) {
                    for from_then_on in [false, true] {
                        lot += 1;
                        if lot.is_multiple_of(share as u64) {
                            let fault = Fault { call, action, from_then_on };
                            let found = self.run_recovery(&trial, &point, fault);
                            injected += found.map_err(|violation| told(&violation, fault, verb))?;
                        }
                    }
                }
            }
        }
        Ok(injected)
    }

    fn run_recovery(&self, trial: &Trial<'_>, point: &CrashPoint, fault: Fault) -> Result<Injected, Violation> {
        let machine = point.machine.fork();
        let record = inject(&machine, Some(fault), Vec::new());
        let broken = |what: String| Violation { what, trace: vec![format!("killed before {}", point.call)] };
        let result = recover(trial.script, &machine);
        machine.clear_hook();
        if let Some(sync) = &lock(&record).tried_again {
            return Err(broken(format!("a failed sync was tried again: {sync}; {result:?}")));
        }
        let seen = WorkspaceTree::of(&machine);
        point.promise.check_each(&seen).map_err(|what| broken(format!("after {result:?}, {what}")))?;
        let mut walk = CrashWalk::new(self, trial.script);
        let call = format!("the end of a recovery that answered {result:?}");
        walk.crash(&CrashPoint { machine, call, promise: point.promise.clone() }, None, 1);
        let worlds = walk.finish().map_err(|violation| broken(violation.to_string()))?.worlds;
        Ok(Injected { faults: usize::from(lock(&record).fired), worlds, ..Injected::default() })
    }
}

fn told(violation: &Violation, fault: Fault, verb: &str) -> Violation {
    let mut told = violation.clone();
    told.trace.insert(0, format!("{verb}: {fault:?}"));
    told
}

impl Trial<'_> {
    /// The calls of the run without faults.
    fn verbs(&self) -> Vec<String> {
        let machine = self.clean.start.fork();
        let programs: Vec<_> =
            self.foreign.iter().map(|foreign| ForeignProgram::start(&machine, foreign, &self.clean.known)).collect();
        let record = inject(&machine, None, programs);
        drop(self.script.process(&machine, 2, Role::Act).and_then(|engine| self.script.acts[0](&engine)));
        machine.clear_hook();
        std::mem::take(&mut lock(&record).verbs)
    }

    fn promise(&self, from: usize, to: usize) -> Promise {
        let states: Vec<UserFiles> = self.clean.states.clone();
        let acts = Acts { done: from, begun: to };
        Promise { states: Arc::new(states), from, to, acts, ..Promise::beside(&self.foreign, self.script) }
    }
}
