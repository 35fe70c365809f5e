//! Runs a scenario on the simulated machine: each act is called, disturbed, and judged by the promise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::data::{
    Ask, Disturbance, Profile, SMALL_HISTORY, Scenario, ScenarioAct, ScenarioCheck, ScenarioFault, request,
};
use super::disturb::{Disturber, Wish};
use super::foreigner::{Foreigners, ScenarioChecker};
use super::ground::{ground, make};
use super::look::{ContentMarks, Look};
use crate::cancel::CancelToken;
use crate::commit::protocol::{PROTOCOL, Protocol};
use crate::engine::report::{Recovered, Report, Status};
use crate::engine::{Decision, Durability, Engine, RecoverOptions, Retention, Run, Settings, UndoOptions};
use crate::error::Result;
use crate::fs::FileKind;
use crate::fs::Fs;
use crate::fs::sim::{Action, SimFs};
use crate::testing::run::lock;
use crate::testing::script::{ROOT, USER_STATE};
use crate::testing::world::UserFiles;

/// A transaction that was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct ScenarioCommit {
    pub(super) id: String,
    pub(super) before: Arc<UserFiles>,
    /// The folders that were there when it was done again, and not before.
    pub(super) again: UserFiles,
    /// The paths that the answer named.
    pub(super) changed: BTreeSet<PathBuf>,
    /// The same without those that others changed meanwhile.
    pub(super) named: BTreeSet<PathBuf>,
    /// The index of the transaction that it reverts.
    pub(super) reverts: Option<usize>,
    /// The ids of all that it reverts.
    pub(super) reverted: Vec<String>,
    /// True if it reverts several.
    pub(super) several: bool,
}

impl ScenarioCommit {
    /// Notes that it was done again, after it had been undone: the folders of `base` are none of those that it made, even if
    /// it had made others in their places before.
    pub(super) fn begins_anew(&mut self, base: &UserFiles) {
        let folders = base.iter().filter(|(path, it)| it.kind == FileKind::Folder && !self.before.contains_key(*path));
        self.again.extend(folders.map(|(path, entry)| (path.clone(), entry.clone())));
    }

    /// What an undo of it alone must leave of these files.
    pub(super) fn before_alone(&self, files: &UserFiles) -> UserFiles {
        // What was there again may have gone with an undo of what had made it.
        let again = self.again.iter().filter(|(path, _)| files.contains_key(*path));
        let again = again.map(|(path, entry)| (path.clone(), entry.clone()));
        self.before.iter().map(|(path, entry)| (path.clone(), entry.clone())).chain(again).collect()
    }
}

/// An interrupted act.
#[derive(Debug, Clone)]
pub(super) struct ScenarioPending {
    /// The possible results of a recovery: all old, all new.
    pub(super) allowed: Vec<Arc<UserFiles>>,
    /// The files as seen on this very machine: what no state changes is the same inode.
    pub(super) seen: Arc<UserFiles>,
    /// The files at that time, before any recovery.
    pub(super) there: Arc<UserFiles>,
    /// The number of committed transactions at that time.
    pub(super) journals: usize,
    /// True if a transaction waited for a recovery then. Otherwise the act had done everything but say so.
    pub(super) waits: bool,
    /// The paths that others changed since, and those that depend on them.
    pub(super) tainted: BTreeSet<PathBuf>,
    /// True if it is unknown which metadata folders had that a transaction removed: history was pruned since, or could not be
    /// read, as reported.
    pub(super) leaves_folders: bool,
    /// The files as a recovery would leave them now.
    pub(super) logical: Arc<UserFiles>,
}

/// The protocol where two files are too many to be synced one by one.
static FEW: Protocol = Protocol { sync_each_up_to: 1, ..PROTOCOL };

/// Puts a layer between an engine and the machine.
type ScenarioDisturb = Arc<dyn Fn(&SimFs, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync>;

/// The engine that plays a scenario: the real one, or one in which something is broken.
#[derive(Clone)]
pub struct Player {
    protocol: &'static Protocol,
    disturb: Option<ScenarioDisturb>,
}

impl Default for Player {
    fn default() -> Self {
        Self { protocol: &PROTOCOL, disturb: None }
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Player")
    }
}

impl Player {
    /// An engine with another protocol.
    #[must_use]
    pub fn with_protocol(protocol: &'static Protocol) -> Self {
        Self { protocol, disturb: None }
    }

    /// An engine with a layer between it and the machine.
    #[must_use]
    pub fn behind(disturb: impl Fn(&SimFs, Arc<dyn Fs>) -> Arc<dyn Fs> + Send + Sync + 'static) -> Self {
        Self { protocol: &PROTOCOL, disturb: Some(Arc::new(disturb)) }
    }
}

/// The machine of a scenario, and the facts known about it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what happened, each independent of the others")]
pub(super) struct ScenarioWorld {
    pub(super) machine: SimFs,
    pub(super) profile: Profile,
    pub(super) foreigners: Arc<Mutex<Foreigners>>,
    /// Open transactions by their number in the script.
    pub(super) open: Vec<Option<String>>,
    /// Those whose stage was acknowledged, and that nobody tried to commit or discard.
    pub(super) staged: BTreeSet<usize>,
    /// The paths that were to be staged in them.
    pub(super) staged_paths: BTreeMap<usize, BTreeSet<PathBuf>>,
    /// The modes that are staged in them, by path.
    pub(super) modes: BTreeMap<usize, BTreeMap<PathBuf, u32>>,
    /// The same, assuming that the newest stage took effect, whatever its answer.
    pub(super) maybe_modes: BTreeMap<usize, BTreeMap<PathBuf, u32>>,
    pub(super) committed: Vec<ScenarioCommit>,
    /// The results of a pending recovery.
    pub(super) pending: Option<ScenarioPending>,
    /// The files before the first interrupted act, as long as there is one.
    pub(super) first_interrupted: Option<Arc<UserFiles>>,
    /// Folders that were to be removed and are reported as left.
    pub(super) loose: BTreeSet<PathBuf>,
    /// True if the newest transaction that is not reverted is no longer known.
    pub(super) is_blurred: bool,
    /// True if one was undone that was not the newest: folders may be there that a newer one wants to give back, or in use.
    pub(super) undid_older: bool,
    /// True if there was a check: files that were rolled back have another time.
    pub(super) had_check: bool,
    /// True if history was pruned.
    pub(super) is_pruned: bool,
    /// True if a call failed once: files that could not be examined then may be kept.
    pub(super) had_failures: bool,
    /// True if a person must decide.
    pub(super) is_stuck: bool,
    /// The cancellation of the current act.
    pub(super) wish: Arc<Wish>,
    pub(super) player: Player,
    pid: u32,
    /// The process that carries out all acts, once there is one.
    server: Option<(u32, Engine)>,
}

/// A recovery follows its table; in the presence of foreign acts it may go either way.
pub(super) const EITHER_WAY: [Decision; 3] = [Decision::Table, Decision::Back, Decision::Forward];

/// The answer of a call.
#[derive(Debug)]
pub(super) enum ScenarioAnswer {
    Report(Report),
    Recovered(Vec<Recovered>),
    /// With its warnings.
    Staged(Vec<String>),
    Done,
    /// There was nothing to act on.
    Idle,
}

impl ScenarioWorld {
    /// A machine with everything of the scenario, made durable.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let machine = ground(scenario.machine);
        for item in &scenario.items {
            // Items that cannot be made are skipped: shrinking removes those that others need.
            drop(make(&machine, item));
        }
        machine.advance(Duration::from_secs(60));
        machine.sync_everything();
        if scenario.machine.lower {
            machine.lower();
        }
        let alive = Look::of(&machine).in_files();
        let world = Self::on(machine, scenario.machine);
        lock(&world.foreigners).alive = alive;
        world
    }

    /// A world before any step.
    pub(super) fn on(machine: SimFs, profile: Profile) -> Self {
        Self {
            machine,
            profile,
            foreigners: Arc::default(),
            open: Vec::new(),
            staged: BTreeSet::new(),
            staged_paths: BTreeMap::new(),
            modes: BTreeMap::new(),
            maybe_modes: BTreeMap::new(),
            committed: Vec::new(),
            pending: None,
            first_interrupted: None,
            loose: BTreeSet::new(),
            is_blurred: false,
            undid_older: false,
            had_check: false,
            is_pruned: false,
            had_failures: false,
            is_stuck: false,
            wish: Arc::default(),
            player: Player::default(),
            pid: 10,
            server: None,
        }
    }

    pub(super) fn look(&self) -> Arc<Look> {
        Look::of(&self.machine)
    }

    /// The same world on another machine, independent of this one.
    pub(super) fn fork(&self) -> Self {
        let machine = self.machine.fork();
        let foreigners = lock(&self.foreigners).on(&machine);
        Self {
            foreigners: Arc::new(Mutex::new(foreigners)),
            open: self.open.clone(),
            staged: self.staged.clone(),
            modes: self.modes.clone(),
            maybe_modes: self.maybe_modes.clone(),
            committed: self.committed.clone(),
            player: self.player.clone(),
            pid: self.pid + 1000,
            ..Self::on(machine, self.profile)
        }
    }

    /// The same with the real engine: the expected result of an act.
    pub(super) fn fork_soundly(&self) -> Self {
        Self { player: Player::default(), ..self.fork() }
    }

    pub(super) fn alive(&self) -> ContentMarks {
        lock(&self.foreigners).alive.clone()
    }

    fn engine(&mut self, gate: Option<&ScenarioCheck>) -> Result<Engine> {
        self.pid += 1;
        let settings = Settings {
            durability: if self.profile.process { Durability::Process } else { Durability::Power },
            lock_timeout: Duration::ZERO,
            retention: self.retention(),
            program: "scenario".to_owned(),
            user_state: Some(USER_STATE.into()),
            ..Settings::default()
        };
        let process: Arc<dyn Fs> = Arc::new(self.machine.process(self.pid));
        let process = match &self.player.disturb {
            Some(disturb) => disturb(&self.machine, process),
            None => process,
        };
        let is_few = self.profile.few && std::ptr::eq(self.player.protocol, &raw const PROTOCOL);
        let protocol = if is_few { &FEW } else { self.player.protocol };
        let engine = Engine::with_fs(process, Path::new(ROOT), settings)?.with_protocol(protocol);
        let engine = if self.profile.contended { engine.contended_after(0) } else { engine };
        Ok(self.checking(engine, gate))
    }

    /// An engine with the check of an act.
    fn checking(&self, engine: Engine, gate: Option<&ScenarioCheck>) -> Engine {
        engine.with_checker(Arc::new(ScenarioChecker {
            machine: self.machine.clone(),
            foreigners: Arc::clone(&self.foreigners),
            gate: gate.cloned(),
        }))
    }

    fn retention(&self) -> Retention {
        let bound = Retention::default();
        if self.profile.small_history { Retention { bytes: SMALL_HISTORY, ..bound } } else { bound }
    }

    /// The status, from the engine.
    pub(super) fn status(&mut self) -> Result<Status> {
        let status = self.engine(None).and_then(|engine| engine.status());
        self.machine.kill(self.pid);
        status
    }

    /// Calls the engine, in a process of its own or in the one of the acts before.
    pub(super) fn call(&mut self, act: &ScenarioAct) -> Result<ScenarioAnswer> {
        if self.profile.warm {
            return self.call_server(act);
        }
        let engine = self.engine(act.gate());
        let answer = engine.and_then(|engine| self.perform(&engine, act));
        self.machine.kill(self.pid);
        answer
    }

    fn call_server(&mut self, act: &ScenarioAct) -> Result<ScenarioAnswer> {
        let (pid, engine) = match self.server.take() {
            Some((pid, engine)) if self.machine.is_running(pid) => (pid, self.checking(engine, act.gate())),
            _ => {
                let engine = self.engine(act.gate()).inspect_err(|_| self.machine.kill(self.pid))?;
                (self.pid, engine)
            }
        };
        let answer = self.perform(&engine, act);
        self.server = Some((pid, engine));
        answer
    }

    fn stage(&mut self, engine: &Engine, (number, asks): (usize, &[Ask]), run: Run<'_>) -> Result<ScenarioAnswer> {
        let request = request(asks, &super::data::ScenarioTerms::default());
        let mut noted = self.modes.get(&number).cloned().unwrap_or_default();
        for ask in asks {
            note_mode(&mut noted, ask);
        }
        let paths = asks.iter().flat_map(Ask::paths).map(PathBuf::from);
        self.staged_paths.entry(number).or_default().extend(paths);
        // If it fails, it may be staged, or not.
        self.maybe_modes.insert(number, noted.clone());
        let staged = engine.stage(&request, self.open_id(number), run)?;
        self.open.resize(self.open.len().max(number + 1), None);
        if staged.id.is_some() {
            self.staged.insert(number);
        }
        self.open[number] = staged.id;
        self.modes.insert(number, noted);
        Ok(ScenarioAnswer::Staged(staged.report.warnings))
    }

    fn perform(&mut self, engine: &Engine, act: &ScenarioAct) -> Result<ScenarioAnswer> {
        if let ScenarioAct::Commit(number, _) | ScenarioAct::RollBack(number) = act {
            self.staged.remove(number);
        }
        self.is_pruned |= matches!(act, ScenarioAct::Prune(_));
        self.wish.forget();
        let wish = Arc::clone(&self.wish);
        let token = CancelToken::from(Arc::clone(&wish.to_stop));
        let run = Run::default().cancelled_by(&token);
        match act {
            ScenarioAct::Apply(asks, terms) => engine.apply(&request(asks, terms), run).map(ScenarioAnswer::Report),
            ScenarioAct::Undo(back) => {
                let Some(id) = self.id_of(*back) else { return Ok(ScenarioAnswer::Idle) };
                engine.undo(id.as_deref(), false, run).map(ScenarioAnswer::Report)
            }
            ScenarioAct::UndoSince(back) => {
                let Some(Some(id)) = self.id_of(Some(*back)) else { return Ok(ScenarioAnswer::Idle) };
                engine.undo_since(&id, &|_, _| true, &UndoOptions::default(), run).map(ScenarioAnswer::Report)
            }
            ScenarioAct::Redo(back) => {
                let Some(id) = self.id_of(*back) else { return Ok(ScenarioAnswer::Idle) };
                engine.redo(id.as_deref(), &UndoOptions::default(), run).map(ScenarioAnswer::Report)
            }
            ScenarioAct::Stage(number, asks) => self.stage(engine, (*number, asks), run),
            ScenarioAct::Preview(number) => {
                let Some(id) = self.open_id(*number) else { return Ok(ScenarioAnswer::Idle) };
                engine.preview(id, run).map(|preview| ScenarioAnswer::Report(preview.report))
            }
            ScenarioAct::Commit(number, gate) => {
                let Some(id) = self.open_id(*number) else { return Ok(ScenarioAnswer::Idle) };
                let check = gate.as_ref().map(|_| crate::check::Check::new(vec!["check".into()]));
                engine.commit_staged(id, None, check, run).map(ScenarioAnswer::Report)
            }
            ScenarioAct::RollBack(number) => {
                let Some(id) = self.open_id(*number) else { return Ok(ScenarioAnswer::Idle) };
                engine.roll_back(id, run).map(|_| ScenarioAnswer::Done)
            }
            ScenarioAct::Prune(keep) => {
                engine.prune(&Retention { count: *keep, ..Retention::default() }).map(|_| ScenarioAnswer::Done)
            }
            ScenarioAct::Status => engine.status().map(|_| ScenarioAnswer::Done),
            ScenarioAct::Restore => match engine.kept()?.first() {
                Some(kept) => {
                    let path = kept.contents.first().map(|content| content.path.clone());
                    engine.kept_restore(&kept.id, path.as_deref(), run).map(ScenarioAnswer::Report)
                }
                None => Ok(ScenarioAnswer::Idle),
            },
            ScenarioAct::Drop => match engine.kept()?.first() {
                Some(kept) => engine.kept_drop(&kept.id).map(|()| ScenarioAnswer::Done),
                None => Ok(ScenarioAnswer::Idle),
            },
            ScenarioAct::Recover => engine.recover(None, self.recovery(Decision::Table)).map(ScenarioAnswer::Recovered),
        }
    }

    /// A person vouches for journals if the file system cannot.
    fn recovery(&self, decision: Decision) -> RecoverOptions {
        RecoverOptions { decision, trust_journal: self.profile.needs_trust(), ..RecoverOptions::default() }
    }

    /// Recovers in the given way. A transaction that can only go the other way stays.
    pub(super) fn recover(&mut self, decision: Decision) {
        let options = self.recovery(decision);
        for folder in &self.look().interrupted {
            let id = folder.file_name().unwrap_or_default().to_string_lossy();
            drop(self.engine(None).and_then(|engine| engine.recover(Some(&id), options)));
            self.machine.kill(self.pid);
        }
    }

    pub(super) fn open_id(&self, number: usize) -> Option<&str> {
        self.open.get(number)?.as_deref()
    }

    /// The id of the transaction that many before the newest; `None` inside if none is named.
    #[expect(clippy::option_option, reason = "one says whether there is any, the other whether it is named")]
    fn id_of(&self, back: Option<usize>) -> Option<Option<String>> {
        let Some(back) = back else { return Some(None) };
        let index = self.committed.len().checked_sub(back + 1)?;
        Some(Some(self.committed[index].id.clone()))
    }

    /// Applies the disturbances to the calls of the next act.
    pub(super) fn disturb(&self, disturbances: &[Disturbance]) -> Arc<Mutex<Vec<Disturber>>> {
        let mut disturbers: Vec<_> = disturbances.iter().cloned().map(Disturber::new).collect();
        for disturber in disturbers.iter_mut().filter(|_| self.profile.process) {
            if matches!(disturber.disturbance.what, ScenarioFault::Cut(..)) {
                disturber.disturbance.what = ScenarioFault::Kill;
            }
        }
        let shared = Arc::new(Mutex::new(disturbers));
        let (start, machine, foreigners) = (self.machine.calls(), self.machine.clone(), Arc::clone(&self.foreigners));
        let (mine, wish) = (Arc::clone(&shared), Arc::clone(&self.wish));
        self.machine.set_hook(move |call| {
            let mut action = Action::Continue;
            lock(&foreigners).expect(call);
            for disturber in lock(&mine).iter_mut() {
                let wanted = disturber.step(call, call.number - start, &machine, &foreigners);
                if action == Action::Continue {
                    action = wanted;
                }
            }
            wish.note(call, &lock(&mine));
            lock(&foreigners).note(call);
            action
        });
        shared
    }
}

/// Moves requested modes along with their files.
fn note_mode(modes: &mut BTreeMap<PathBuf, u32>, ask: &Ask) {
    match ask {
        Ask::Mode(path, mode) => drop(modes.insert(path.into(), *mode)),
        Ask::Delete(path) | Ask::Symlink(path, _) => drop(modes.remove(Path::new(path))),
        Ask::Rename(from, to) => {
            let mode = modes.remove(Path::new(from));
            modes.extend(mode.map(|mode| (PathBuf::from(to), mode)));
        }
        Ask::Edit(..) | Ask::Create(..) | Ask::Write(..) | Ask::MakeFolder(_) | Ask::RemoveFolder(_) => {}
    }
}
