//! Two processes that live at the same time, their calls interleaved.
//!
//! The first makes some of its calls, then the second some of its own, then each runs to its end; one that waits for a
//! lock lets the other one run. One of the two may be killed on the way, or the power may be lost. The result must be
//! that of running both one after the other, in either order: no update is lost.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::baton::{Baton, Kill, Who};
use super::check::{Judge, PreciousContent, Violation, told};
use super::explore::{Explored, Explorer};
use super::run::{CrashPoint, lock};
use super::script::{Acts, Role, Script};
use super::walk::{CrashWalk, Trace};
use super::world::{UserFiles, WorkspaceTree, same};
use crate::error::{Error, Outcome, Result};
use crate::fs::sim::{Action, SimFs};

/// Two scripts at the same time, on the files of the first.
#[derive(Debug, Clone)]
pub struct ScriptPair {
    first: Script,
    second: Script,
}

/// A possible result of both: each done or refused, in one order or the other.
#[derive(Debug)]
struct Row {
    done: [bool; 2],
    files: UserFiles,
}

/// The known state of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    /// It is running, or was killed.
    Open,
    Done,
    Refused,
}

/// The results of running one after the other.
#[derive(Debug)]
struct Serial {
    start: SimFs,
    rows: Vec<Row>,
    /// Whether each may be refused, after the other or alone.
    may_refuse: [bool; 2],
    calls: [u64; 2],
}

/// The expectations about a world of two processes.
#[derive(Debug, Clone)]
struct Either {
    serial: Arc<Serial>,
    /// One bit for each row that is still possible.
    rows: usize,
}

impl Either {
    fn of(serial: &Arc<Serial>, known: [ProcessState; 2]) -> Self {
        let fits = |row: &Row| {
            (0..2).all(|who| match known[who] {
                ProcessState::Open => true,
                ProcessState::Done => row.done[who],
                ProcessState::Refused => !row.done[who],
            })
        };
        let rows = serial.rows.iter().enumerate().filter(|(_, row)| fits(row)).map(|(index, _)| 1 << index).sum();
        Self { serial: Arc::clone(serial), rows }
    }

    fn possible(&self) -> impl Iterator<Item = (usize, &Row)> {
        self.serial.rows.iter().enumerate().filter(|(index, _)| self.rows & (1 << index) != 0)
    }

    fn paths(&self, seen: &WorkspaceTree) -> BTreeSet<std::path::PathBuf> {
        self.possible().flat_map(|(_, row)| row.files.keys()).chain(seen.files.keys()).cloned().collect()
    }

    fn allows(&self, row: &Row, path: &std::path::PathBuf, seen: &WorkspaceTree) -> bool {
        let expected = row.files.get(path);
        // A file that neither changes must be the same inode.
        let strictly = same(expected, self.serial.rows[0].files.get(path), true);
        same(seen.files.get(path), expected, strictly)
    }

    fn wrong(&self, paths: &BTreeSet<std::path::PathBuf>, seen: &WorkspaceTree) -> String {
        let each = paths.iter().filter(|path| !self.possible().all(|(_, row)| self.allows(row, path, seen)));
        let each = each.map(|path| {
            let allowed: Vec<_> = self.possible().map(|(_, row)| told(&row.files, path)).collect();
            format!("{} is {}; allowed: {}", path.display(), told(&seen.files, path), allowed.join(" or "))
        });
        each.collect::<Vec<_>>().join("; ")
    }
}

impl Judge for Either {
    fn allowed(&self) -> (usize, usize) {
        (self.rows, self.rows)
    }

    fn acts(&self) -> Acts {
        Acts { done: 0, begun: 0 }
    }

    fn somebody_else(&self) -> bool {
        false
    }

    fn check_each(&self, seen: &WorkspaceTree) -> Result<(), String> {
        let paths = self.paths(seen);
        let is_wrong = |path: &&std::path::PathBuf| !self.possible().any(|(_, row)| self.allows(row, path, seen));
        if paths.iter().any(|path| is_wrong(&path)) {
            return Err(format!("without recovery, {}", self.wrong(&paths, seen)));
        }
        Ok(())
    }

    fn check_all(&self, seen: &WorkspaceTree) -> Result<Self, String> {
        let paths = self.paths(seen);
        let fits = self.possible().filter(|(_, row)| paths.iter().all(|path| self.allows(row, path, seen)));
        let rows = fits.map(|(index, _)| 1 << index).sum();
        if rows == 0 {
            return Err(format!("not what the two do after each other: {}", self.wrong(&paths, seen)));
        }
        Ok(Self { rows, ..self.clone() })
    }

    fn check_reach(&self, before: &WorkspaceTree, after: &WorkspaceTree, required: bool) -> Result<(), String> {
        let contents: BTreeSet<&Vec<u8>> = self.serial.rows[0].files.values().map(|entry| &entry.content).collect();
        for content in contents.into_iter().filter(|content| !content.is_empty()) {
            let precious = PreciousContent { content: content.clone(), inode: None, may_be_late: false };
            if precious.is_in_reach(before, true) && !precious.is_in_reach(after, required) {
                return Err(format!("{precious} is out of reach"));
            }
        }
        Ok(())
    }
}

/// The result of a run.
struct PairRun {
    machine: SimFs,
    points: Vec<CrashPoint<Either>>,
    known: [ProcessState; 2],
    killed: bool,
    /// An error on the way.
    wrong: Option<String>,
}

impl ScriptPair {
    /// Two scripts of one act each.
    #[must_use]
    pub fn new(first: Script, second: Script) -> Self {
        Self { first, second }
    }

    fn script(&self, who: Who) -> &Script {
        if who == 0 { &self.first } else { &self.second }
    }

    /// Runs both one after the other, in both orders.
    fn serial(&self) -> Result<Serial, Violation> {
        let start = self.first.machine();
        let mut serial = Serial { rows: Vec::new(), may_refuse: [false; 2], calls: [0; 2], start: start.fork() };
        serial.rows.push(Row { done: [false; 2], files: WorkspaceTree::of(&start).files });
        for order in [[0, 1], [1, 0]] {
            let machine = start.fork();
            let mut done = [false; 2];
            for who in order {
                let before = machine.calls();
                let act = |engine| self.script(who).acts[0](&engine);
                let result = self.script(who).process(&machine, 2, Role::Act).and_then(act);
                machine.kill(2);
                match result.as_ref().map_err(Error::outcome) {
                    Ok(()) => done[who] = true,
                    Err(Outcome::RecoveryRequired) => {
                        let what = format!("alone, {:?} fails: {result:?}", self.script(who));
                        return Err(Violation { what, trace: Vec::new() });
                    }
                    Err(_) => serial.may_refuse[who] = true,
                }
                serial.calls[who] = serial.calls[who].max(machine.calls() - before);
                serial.rows.push(Row { done, files: WorkspaceTree::of(&machine).files });
            }
        }
        Ok(serial)
    }

    /// Runs one schedule.
    fn run(&self, serial: &Arc<Serial>, [first, second]: [u64; 2], kill: Kill, every: u64) -> PairRun {
        let machine = serial.start.fork();
        let baton = Arc::new(Baton::new(first, second, kill));
        let known = Arc::new(Mutex::new([ProcessState::Open; 2]));
        let points = Arc::new(Mutex::new(Vec::new()));
        {
            let (baton, known, points) = (Arc::clone(&baton), Arc::clone(&known), Arc::clone(&points));
            let (fork, serial) = (machine.clone(), Arc::clone(serial));
            machine.set_hook(move |call| {
                let who = usize::from(call.process != PIDS[0]);
                let action = baton.before(who, call);
                let made = baton.made();
                // From the first hand-over on; before that only one runs.
                if call.mutates
                    && action == Action::Continue
                    && made[1] > 0
                    && (made[0] + made[1]).is_multiple_of(every)
                {
                    let told =
                        format!("call {} of process {who}: {} {}", made[who] - 1, call.verb, call.path.display());
                    let promise = Either::of(&serial, *lock(&known));
                    lock(&points).push(CrashPoint { machine: fork.fork(), call: told, promise });
                }
                action
            });
        }
        let wrong = Mutex::new(None);
        std::thread::scope(|scope| {
            for (who, pid) in PIDS.into_iter().enumerate() {
                let (baton, known, machine, wrong) = (&baton, &known, &machine, &wrong);
                #[expect(clippy::disallowed_methods, reason = "without a thread there is nothing to be explored")]
                scope.spawn(move || {
                    baton.start(who);
                    let script = self.script(who);
                    let result = script.patient_process(machine, pid).and_then(|engine| script.acts[0](&engine));
                    match self.note(who, serial, &result, baton) {
                        Ok(now) => lock(known)[who] = now,
                        Err(what) => *lock(wrong) = Some(what),
                    }
                    machine.kill(pid);
                    baton.end(who);
                });
            }
        });
        machine.clear_hook();
        let known = *lock(&known);
        let points = std::mem::take(&mut *lock(&points));
        let wrong = lock(&wrong).take();
        PairRun { machine, points, known, killed: (0..2).any(|who| baton.was_killed(who)), wrong }
    }

    /// The state of a process after its answer.
    fn note(&self, who: Who, serial: &Serial, result: &Result<()>, baton: &Baton) -> Result<ProcessState, String> {
        if baton.was_killed(who) {
            return Ok(ProcessState::Open);
        }
        match result.as_ref().map_err(Error::outcome) {
            Ok(()) => Ok(ProcessState::Done),
            Err(Outcome::Unchanged | Outcome::RolledBack) if serial.may_refuse[who] => Ok(ProcessState::Refused),
            Err(_) => Err(format!("{:?} fails, and does not when it is alone: {result:?}", self.script(who))),
        }
    }
}

/// The process ids.
const PIDS: [u32; 2] = [2, 4];

impl Explorer {
    /// Explores two processes at the same time: for all pairs of places at which they hand over, with neither, the
    /// first, and the second killed, one run in `share`; and in each run crashes at one point in `every`.
    pub fn explore_pair(&self, pair: &ScriptPair, share: usize, every: u64) -> Result<Explored, Violation> {
        let serial = Arc::new(pair.serial()?);
        let mut found = Explored::default();
        let schedules =
            (1..=serial.calls[0]).flat_map(|first| (1..=serial.calls[1]).map(move |second| [first, second]));
        let all = schedules.flat_map(|stretches| KILLS.map(|kill| (stretches, kill)));
        // A step without a common factor with the number of kills meets them all.
        let skipped = usize::try_from(self.seed).unwrap_or(0) % share;
        for (stretches, kill) in all.skip(skipped).step_by(share) {
            let run = pair.run(&serial, stretches, kill, every);
            if kill != Kill::Nobody && !run.killed {
                continue;
            }
            found.points += 1;
            let schedule =
                format!("{} calls of process 0, then {} of process 1; killed: {kill:?}", stretches[0], stretches[1]);
            found += self.judge(pair, &serial, run, &schedule)?;
        }
        Ok(found)
    }

    fn judge(
        &self,
        pair: &ScriptPair,
        serial: &Arc<Serial>,
        run: PairRun,
        schedule: &str,
    ) -> Result<Explored, Violation> {
        let broken = |what: String| Violation { what, trace: vec![schedule.to_owned()] };
        if run.machine.is_halted() {
            return Err(broken("they wait for each other".to_owned()));
        }
        if let Some(what) = run.wrong {
            return Err(broken(what));
        }
        let promise = Either::of(serial, run.known);
        let now = WorkspaceTree::of(&run.machine);
        promise.check_each(&now).map_err(|what| broken(format!("both answered, but {what}")))?;
        if !run.killed {
            promise.check_all(&now).map_err(|what| broken(format!("both answered, but {what}")))?;
        }
        let mut walk = CrashWalk::new(self, &pair.first);
        let trace = Trace::of(std::iter::once(schedule.to_owned()));
        for point in &run.points {
            walk.crash(point, trace.as_ref(), 1);
        }
        walk.crash(&CrashPoint { machine: run.machine, call: "the end".to_owned(), promise }, trace.as_ref(), 1);
        walk.finish()
    }
}

const KILLS: [Kill; 3] = [Kill::Nobody, Kill::First, Kill::Second];
