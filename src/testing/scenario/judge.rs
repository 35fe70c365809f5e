//! Performs the steps of a scenario, and judges each by the promise alone.
//!
//! The expected result of an act is that of the undisturbed act on a fork of the machine. A disturbed act that is
//! acknowledged must have the same result, before or after each of the foreign acts; a refused one must leave only
//! those; one that a crash stopped must end, after a recovery, in one or the other.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::attack::is_attacked;
use super::claims::leaves_folders;
use super::crash::after_recoveries;
use super::data::{Disturbance, Scenario, ScenarioAct, ScenarioFault, ScenarioPoint, ScenarioStep, ScenarioTerms};
use super::look::{ContentMarks, Look};
use super::run::{Player, ScenarioAnswer, ScenarioPending, ScenarioWorld};
use crate::error::{Outcome, Result};
use crate::fs::sim::Action;
use crate::path::STATE_FOLDER;
use crate::testing::run::lock;
use crate::testing::script::ROOT;
use crate::testing::world::UserFiles;

/// A judgement; the error says what is wrong.
pub(super) type Judged<T = ()> = std::result::Result<T, String>;

/// A violation, and the script with each disturbance at a named call.
#[derive(Debug, Clone)]
pub struct Broken {
    /// What is wrong.
    pub what: String,
    /// The script.
    pub scenario: Scenario,
}

/// The result of the undisturbed act.
#[derive(Debug)]
pub(super) struct ScenarioClean {
    pub(super) files: Arc<UserFiles>,
    pub(super) is_done: bool,
}

/// An act in progress.
#[derive(Debug)]
pub(super) struct Doing<'a> {
    pub(super) act: &'a ScenarioAct,
    /// The world before it, if others may act meanwhile.
    pub(super) start: Option<ScenarioWorld>,
    /// The files before it, as they are, or as a pending recovery will leave them.
    pub(super) base: Arc<UserFiles>,
    /// The workspace before it.
    pub(super) raw: Arc<Look>,
    /// The undisturbed result, if the act is disturbed.
    pub(super) clean: Option<ScenarioClean>,
    /// True if a call failed, or the act was cancelled.
    pub(super) failed: bool,
    /// True if a call failed.
    pub(super) has_fault: bool,
}

impl Doing<'_> {
    /// These files, or the undisturbed result.
    fn or_clean(&self, files: &Arc<UserFiles>) -> Vec<Arc<UserFiles>> {
        std::iter::once(files).chain(self.clean.iter().map(|clean| &clean.files)).cloned().collect()
    }

    /// The result of the act if another request with its key is not known because it is not in history yet.
    pub(super) fn without_key(&self) -> Option<Arc<UserFiles>> {
        let ScenarioAct::Apply(asks, terms @ ScenarioTerms { key: Some(_), .. }) = self.act else { return None };
        let mut fork = self.start.as_ref()?.fork();
        fork.call(&ScenarioAct::Apply(asks.clone(), ScenarioTerms { key: None, ..terms.clone() })).ok()?;
        Some(Arc::clone(&fork.look().files))
    }
}

/// Runs a scenario on the simulated machine.
pub fn run_sim(scenario: &Scenario) -> std::result::Result<(), Box<Broken>> {
    play(scenario, &Player::default())
}

/// The same with an engine in which something may be broken: a judge that does not notice is useless.
pub fn play(scenario: &Scenario, player: &Player) -> std::result::Result<(), Box<Broken>> {
    let mut pinned = scenario.clone();
    run_pinning(scenario, player, &mut pinned).map_err(|what| Box::new(Broken { what, scenario: pinned }))
}

/// The same script with each disturbance at a named call, as far as the simulated machine gets.
#[must_use]
pub fn pin(scenario: &Scenario) -> Scenario {
    let mut pinned = scenario.clone();
    // Errors are reported elsewhere.
    drop(run_pinning(scenario, &Player::default(), &mut pinned));
    pinned
}

fn run_pinning(scenario: &Scenario, player: &Player, pinned: &mut Scenario) -> Judged {
    let mut world = ScenarioWorld::new(scenario);
    world.player = player.clone();
    if is_attacked(scenario) {
        lock(&world.foreigners).stays_inside = true;
        // The other rules do not apply to the state folder.
        let judge = |(index, step)| world.attacked(step).map_err(|what| format!("step {}: {what}", index + 1));
        return pinned.steps.iter_mut().enumerate().try_for_each(judge);
    }
    for (index, step) in scenario.steps.iter().enumerate() {
        let mut judged = match step {
            ScenarioStep::Act(act, disturbances) => {
                let mut disturbances = disturbances.clone();
                let judged = world.act(act, &mut disturbances);
                pinned.steps[index] = ScenarioStep::Act(act.clone(), disturbances);
                judged
            }
            other => world.pass(other),
        };
        let is_last = index + 1 == scenario.steps.len() || world.is_stuck;
        if is_last && judged.is_ok() {
            judged = world.finish();
        }
        if is_last || judged.is_err() {
            pinned.steps.truncate(index + 1);
        }
        judged.map_err(|what| format!("step {}: {what}", index + 1))?;
        if is_last {
            break;
        }
    }
    Ok(())
}

impl ScenarioWorld {
    /// Performs a step that is not an act.
    fn pass(&mut self, step: &ScenarioStep) -> Judged {
        match step {
            ScenarioStep::Foreign(deed) => {
                let mut foreigners = lock(&self.foreigners);
                let seen = self.pending.as_ref().map(|pending| Arc::clone(&pending.seen));
                foreigners.base = seen.unwrap_or_else(|| Arc::clone(&self.look().files));
                foreigners.begin(false);
                foreigners.act(&self.machine, deed, false);
                self.machine.sync_everything();
                let touched = foreigners.touched.clone();
                drop(foreigners);
                if let Some(pending) = &mut self.pending {
                    pending.tainted.extend(touched);
                }
                self.look_ahead()
            }
            ScenarioStep::Clock(seconds) if *seconds < 0 => {
                self.machine.rewind(std::time::Duration::from_secs(seconds.unsigned_abs()));
                Ok(())
            }
            ScenarioStep::Clock(seconds) => {
                self.machine.advance(std::time::Duration::from_secs(seconds.unsigned_abs()));
                Ok(())
            }
            ScenarioStep::Cut(policy, seed) => {
                let base = self.base();
                self.cut(*policy, *seed);
                if let Some(pending) = self.pending.take() {
                    let there = Arc::clone(&self.look().files);
                    self.pending = Some(ScenarioPending { seen: base, there, ..pending });
                    return self.look_ahead();
                }
                self.interrupted(vec![Arc::clone(&base)], base, BTreeSet::new(), false)
            }
            ScenarioStep::Act(..) => unreachable!("acts are judged elsewhere"),
        }
    }

    /// The files as they are, or as a pending recovery will leave them.
    fn base(&self) -> Arc<UserFiles> {
        match &self.pending {
            Some(pending) => Arc::clone(&pending.logical),
            None => Arc::clone(&self.look().files),
        }
    }

    /// Calls the engine and judges the result; names the call of each disturbance.
    pub(super) fn act(&mut self, act: &ScenarioAct, disturbances: &mut [Disturbance]) -> Judged {
        if self.profile.needs_trust() && self.pending.is_some() && *act != ScenarioAct::Recover {
            self.act(&ScenarioAct::Recover, &mut Vec::new())?;
        }
        if self.pending.is_none() {
            self.first_interrupted = None;
        }
        lock(&self.foreigners).begin(act.gate().is_some());
        self.had_check |= act.gate().is_some();
        let (base, raw) = (self.base(), self.look());
        {
            let mut foreigners = lock(&self.foreigners);
            foreigners.base = Arc::clone(&base);
            foreigners.older = match &self.pending {
                Some(pending) => std::iter::once(&pending.seen).chain(&pending.allowed).cloned().collect(),
                None => Vec::new(),
            };
        }
        let start = (act.gate().is_some() || !disturbances.is_empty()).then(|| self.fork_soundly());
        let mut doing = Doing { act, start, base, raw, clean: None, failed: false, has_fault: false };
        if disturbances.is_empty() {
            let answer = self.call(act);
            self.note_meddling();
            return self.judge(&doing, &answer);
        }
        doing.clean = Some(self.clean(act, disturbances, &doing.base));
        let disturbers = self.disturb(disturbances);
        let answer = self.call(act);
        self.machine.clear_hook();
        self.note_meddling();
        let fired: Vec<ScenarioFault> =
            lock(&disturbers).iter().filter(|d| d.fired).map(|d| d.disturbance.what.clone()).collect();
        doing.failed = fired.iter().any(|what| !matches!(what, ScenarioFault::Deed(_)));
        doing.has_fault =
            fired.iter().any(|what| matches!(what, ScenarioFault::Fail(..) | ScenarioFault::FailAfter(_)));
        self.had_failures |= doing.failed;
        match fired.iter().find(|what| matches!(what, ScenarioFault::Kill | ScenarioFault::Cut(..))) {
            Some(crash) => {
                match crash {
                    ScenarioFault::Cut(policy, seed) => self.cut(*policy, *seed),
                    _ => self.sync_deeds(),
                }
                self.crashed(&doing, answer.is_ok_and(|answer| !matches!(answer, ScenarioAnswer::Idle)))
            }
            None => self.judge(&doing, &answer),
        }
    }

    fn note_meddling(&self) {
        let mut foreigners = lock(&self.foreigners);
        foreigners.meddled |= !foreigners.done.is_empty();
    }

    /// The result of the undisturbed act, and the calls by which disturbances are named.
    pub(super) fn clean(
        &self,
        act: &ScenarioAct,
        disturbances: &mut [Disturbance],
        base: &Arc<UserFiles>,
    ) -> ScenarioClean {
        let mut fork = self.fork_soundly();
        let calls: Arc<Mutex<Vec<&'static str>>> = Arc::default();
        let (kept, start) = (Arc::clone(&calls), fork.machine.calls());
        fork.machine.set_hook(move |call| {
            debug_assert_eq!(call.number - start, lock(&kept).len() as u64, "calls are counted one by one");
            lock(&kept).push(call.verb);
            Action::Continue
        });
        let answer = fork.call(act);
        fork.machine.clear_hook();
        let calls = lock(&calls);
        for disturbance in disturbances {
            let ScenarioPoint::Share(share) = disturbance.point else { continue };
            let at = calls.len() * usize::from(share) / 1000;
            let Some(verb) = calls.get(at) else { continue };
            let nth = calls[..=at].iter().filter(|other| *other == verb).count();
            disturbance.point = ScenarioPoint::Verb((*verb).to_owned(), None, nth as u64);
        }
        if matches!(answer, Ok(ScenarioAnswer::Idle)) {
            return ScenarioClean { files: Arc::clone(base), is_done: false };
        }
        ScenarioClean { files: Arc::clone(&fork.look().files), is_done: answer.is_ok() }
    }

    /// Records an act that was done although something could not be recovered, which does not conflict with the act,
    /// and is reported.
    fn note_done_beside(&mut self, doing: &Doing<'_>, done: &ScenarioAnswer) {
        if let ScenarioAnswer::Report(report) = done {
            self.note_committed(doing.act, &doing.base, report, None);
        }
        let mut others: Vec<_> = [doing.without_key(), self.after_others(doing)].into_iter().flatten().collect();
        // The interrupted transaction may still go the other way.
        others.extend(doing.start.iter().flat_map(|start| after_recoveries(start, doing.act)));
        if let (Some(pending), Some(clean)) = (&mut self.pending, &doing.clean) {
            pending.allowed.push(Arc::clone(&clean.files));
            pending.allowed.extend(others);
        }
        self.sync_deeds();
    }

    /// The result of the act after all foreign acts during it.
    pub(super) fn after_others(&self, doing: &Doing<'_>) -> Option<Arc<UserFiles>> {
        let mut fork = doing.start.as_ref()?.fork();
        for (deed, by_check) in lock(&self.foreigners).done.iter().filter(|(_, by_check)| !by_check) {
            lock(&fork.foreigners).act(&fork.machine, deed, *by_check);
        }
        fork.call(doing.act).ok()?;
        Some(Arc::clone(&fork.look().files))
    }

    /// Records an act while something is interrupted.
    fn note_beside_pending(&mut self, act: &ScenarioAct, answer: &Result<ScenarioAnswer>) {
        let touched = self.touched_by(act);
        if let Some(pending) = &mut self.pending {
            pending.tainted.extend(touched);
            pending.leaves_folders |= matches!(act, ScenarioAct::Prune(_)) || leaves_folders(answer);
        }
    }

    /// Judges an act that ended.
    fn judge(&mut self, doing: &Doing<'_>, answer: &Result<ScenarioAnswer>) -> Judged {
        let (Doing { act, base, raw, failed, .. }, look) = (doing, self.look());
        self.note_beside_pending(act, answer);
        let told = |what: String| format!("{what}\n  the answer: {answer:?}");
        self.judge_claims(doing, &look, answer).map_err(told)?;
        if act.only_looks() || matches!(answer, Ok(ScenarioAnswer::Idle)) {
            self.sync_deeds();
            return self.look_ahead().map_err(told);
        }
        match answer {
            Ok(_) if **act == ScenarioAct::Recover && self.pending.is_some() => {
                return self.settled(&look).map_err(told);
            }
            Ok(done) if self.pending.is_some() && act.recovers() && !look.interrupted.is_empty() => {
                self.note_done_beside(doing, done);
                return self.look_ahead().map_err(told);
            }
            Ok(done) => {
                self.judge_done(doing, &look, done).map_err(&told)?;
                if !act.recovers() && self.pending.is_some() {
                    self.forgotten(doing, &look);
                    self.sync_deeds();
                    return self.look_ahead().map_err(told);
                }
                self.pending = None;
            }
            Err(error) if error.outcome() == Outcome::RecoveryRequired => {
                if !failed && !lock(&self.foreigners).were_here {
                    return Err(told("recovery is required, though nothing failed and nobody interfered".to_owned()));
                }
                let mut allowed = doing.or_clean(base);
                // A recovery that goes another way in the presence of others.
                allowed.extend(self.pending.iter().flat_map(|pending| pending.allowed.iter().cloned()));
                let due = self.pending.as_ref();
                let tainted = due.map_or_else(|| self.touched_by(act), |due| due.tainted.clone());
                let leaves_folders = due.is_some_and(|due| due.leaves_folders);
                // It may be the newest, or not.
                self.is_blurred = true;
                self.sync_deeds();
                return self.interrupted(allowed, Arc::clone(base), tainted, leaves_folders).map_err(told);
            }
            Err(error) => {
                let is_due = self.pending.is_some() && !look.interrupted.is_empty();
                let came_first = error.warnings().iter().any(|told| told.contains(" was recovered first: "));
                let is_untouched = look.files == raw.files && !came_first;
                if is_due || self.pending.is_some() && (is_untouched || !act.recovers()) {
                    // Refused before the recovery of what came before it, or the recovery did not finish.
                    self.forgotten(doing, &look);
                    self.sync_deeds();
                    return self.look_ahead().map_err(told);
                }
                self.judge_refused(doing, &look, error).map_err(&told)?;
                self.pending = None;
            }
        }
        if !look.interrupted.is_empty() {
            if !failed {
                return Err(told(format!("left behind: {:?}", look.interrupted)));
            }
            // What could not be moved away is left to the next command.
            let (tainted, now) = (self.touched_by(act), Arc::clone(&look.files));
            let allowed = doing.or_clean(&now);
            self.interrupted(allowed, now, tainted, false).map_err(&told)?;
        }
        self.forgotten(doing, &look);
        self.is_alive(&look.anywhere()).map_err(&told)?;
        lock(&self.foreigners).alive.extend(look.in_files());
        self.sync_deeds();
        Ok(())
    }

    /// Makes foreign changes during an act durable from here on.
    pub(super) fn sync_deeds(&self) {
        let mut foreigners = lock(&self.foreigners);
        if !foreigners.done.is_empty() {
            self.machine.sync_everything();
            // A failed sync of the engine may have lost foreign pages.
            let look = self.look();
            let state = Path::new(ROOT).join(STATE_FOLDER);
            let stored = look.with_marks(&foreigners.fresh).map(|path| state.join(path));
            let touched = foreigners.touched.iter().map(|path| Path::new(ROOT).join(path));
            stored.chain(touched).for_each(|path| drop(self.machine.write_again(path)));
        }
        foreigners.fresh = ContentMarks::new();
    }
}
