//! The check gate in a view: the checks decide in a private picture of the workspace, in which the new files are in their
//! places. Until they have passed, no file is touched and no lock is held.
//!
//! A plan is made, put into a view, and its locks are released; when the checks have passed, the same is planned once
//! more. If that plan has the same hash, it expects the same files and leaves the same files: it is what the checks have
//! seen, and is committed.

mod left;

use std::os::fd::AsFd;

use super::check_gate::{Gate, refused, run_in_view};
use super::stage::in_view::ViewFilling;
use super::{Ready, Transaction};
use crate::check::{CheckIn, CheckRun, Verdict};
use crate::digest::Digest;
use crate::engine::report::Report;
use crate::engine::store::state::StateFolder;
use crate::engine::view::{OrElse, RealPaths, WorkspaceView};
use crate::engine::{Engine, Phase, Run};
use crate::error::{Detail, Error, ErrorKind, NextStep, Outcome, Result};
use crate::limits;
use crate::plan::Plan;
use left::LeftInView;

/// What checks have found in a view.
#[derive(Debug)]
pub(crate) struct SeenInView {
    /// The hash of the plan that they saw.
    plan: Digest,
    check: CheckRun,
    /// The new files that they have changed: a formatter did.
    left: Vec<LeftInView>,
}

/// How far an attempt came.
#[derive(Debug)]
pub(crate) enum Went {
    /// It is over.
    Over(Box<Report>),
    /// The checks have passed in a view; nothing is locked any more, and it is to be planned again.
    Checked,
}

impl Transaction<'_> {
    /// Commits, unless checks must pass in a view first: then they are run, and `seen` holds what they found. They have
    /// been run `times` before, each time for files that changed meanwhile.
    pub(crate) fn go_on(mut self, seen: &mut Option<SeenInView>, times: usize) -> Result<Went> {
        let engine = self.engine;
        let Some(ready) = self.ready.take().filter(|ready| ready.prepared.has_effect()) else {
            return Ok(Went::Over(Box::new(self.plan)));
        };
        match seen.take() {
            Some(seen) if (engine.workspace.protocol.is_same_plan)(&seen.plan, &ready.prepared.plan.hash()) => {
                Ok(Went::Over(Box::new(self.commit_seen(ready, seen)?)))
            }
            // Only a request that means the same for any content may be made again.
            Some(_) => {
                let message = "another program changed the files while the check ran in a view";
                Err(Error::new(ErrorKind::ConcurrentModification, message).outcome_is(Outcome::Unchanged))
            }
            None if !engine.checks_in_view(&ready) => Ok(Went::Over(Box::new(self.commit_ready(ready)?))),
            None if times >= limits::VIEW_CHECKS => {
                let message = format!("another program changed the files during each of {times} checks in a view");
                Err(Error::new(ErrorKind::ConcurrentModification, message).outcome_is(Outcome::Unchanged))
            }
            None => match engine.check_in_view(ready, self.run)? {
                Checked::Passed(found) => {
                    *seen = Some(found);
                    Ok(Went::Checked)
                }
                Checked::NoView(ready) => Ok(Went::Over(Box::new(self.commit_ready(*ready)?))),
            },
        }
    }

    /// Commits what the checks have seen, with what they made of it.
    fn commit_seen(mut self, mut ready: Ready, seen: SeenInView) -> Result<Report> {
        let prepared = &mut ready.prepared;
        prepared.gate = None;
        // A content that is made again is another one than the checks have seen.
        prepared.contended = None;
        for left in seen.left {
            left.take(&mut prepared.plan, &mut self.plan.files);
        }
        prepared.passed = Some(seen.check);
        self.commit_ready(ready)
    }
}

/// How checks in a view went; a failure is an error.
enum Checked {
    Passed(SeenInView),
    /// There is none here, and they may run in the tree.
    NoView(Box<Ready>),
}

impl Engine {
    /// Returns whether the checks of a commit may be run in a view.
    fn checks_in_view(&self, ready: &Ready) -> bool {
        ready.prepared.gate.is_some() && self.may_check_in_views()
    }

    /// Returns whether checks are run in views where there are any.
    pub(super) fn may_check_in_views(&self) -> bool {
        self.settings.check_in != CheckIn::Tree && self.checker.runs_in_views()
    }

    fn check_in_view(&self, ready: Ready, run: Run<'_>) -> Result<Checked> {
        let Ready { prepared, locks, mut found } = ready;
        found.verify(&self.workspace)?;
        self.check_possible(&prepared, &found)?;
        let state = StateFolder::ensure(&self.workspace, found.clone())?;
        let made = match self.real_in(&prepared.plan)? {
            Ok(real) => self.make_view(&state, &real, self.or_else(), run.cancel)?,
            Err(why) => Err(why),
        };
        let made = match made {
            Ok(made) => made,
            Err(why) => return self.without_view(Ready { prepared, locks, found }, &why),
        };
        let view = &made.workspace;
        if let Err(error) = (ViewFilling { view, prepared: &prepared, cancel: run.cancel }).fill() {
            if error.kind() == ErrorKind::Cancelled || error.kind() == ErrorKind::ConcurrentModification {
                return Err(error);
            }
            return self.without_view(
                Ready { prepared, locks, found },
                &format!("the new files cannot be put into it: {}", error.message()),
            );
        }
        let (plan, gate) = (prepared.plan.clone(), prepared.gate.clone());
        // The locks are released with the last handle of their folders.
        drop((prepared, locks, found));
        let gate = gate.unwrap_or_else(|| unreachable!("only what has checks is checked"));
        self.decide(made, &plan, &gate, run).map(Checked::Passed)
    }

    /// The paths that are real in a view; the reason if one of the plan is among them.
    fn real_in(&self, plan: &Plan) -> Result<std::result::Result<RealPaths, String>> {
        let real = self.real_paths()?;
        Ok(match plan.entries.iter().find(|entry| real.has(entry.path.as_path())) {
            Some(entry) => Err(format!("{} is in a folder that is not copied in it", entry.path)),
            None => Ok(real),
        })
    }

    /// Copying is worth it only to those who want nothing else.
    fn or_else(&self) -> OrElse {
        if self.settings.check_in == CheckIn::View { OrElse::Copy } else { OrElse::Nothing }
    }

    /// Goes on in the tree, if the caller has not asked for a view.
    fn without_view(&self, ready: Ready, why: &str) -> Result<Checked> {
        if self.settings.check_in == CheckIn::View {
            let message = format!("the check was to run in a view, and there is none here: {why}");
            let error = Error::new(ErrorKind::NoView, message).at(self.root());
            return Err(error.with_next([NextStep::CheckInTree, NextStep::Doctor]));
        }
        Ok(Checked::NoView(Box::new(ready)))
    }

    /// Runs the checks, and looks at what they have left.
    fn decide(&self, mut view: WorkspaceView<'_>, plan: &Plan, gate: &Gate, run: Run<'_>) -> Result<SeenInView> {
        let mut last = None;
        let held = view.held()?;
        for check in &gate.checks {
            run.observer.progress(Phase::Check, 0, 1);
            let held = held.as_ref().map(AsFd::as_fd);
            let ended = run_in_view(check, &*gate.checker, (&view.view, held), run);
            let passed = ended.verdict == Verdict::Passed;
            let one = CheckRun { place: view.place(), ..CheckRun::new(check.shown(), ended) };
            if !passed {
                return Err(refused(one).outcome_is(Outcome::Unchanged));
            }
            last = Some(one);
        }
        let mut check = last.unwrap_or_else(|| unreachable!("a gate has a check"));
        // Whatever a check has started has ended before its files count.
        view.end()?;
        let left = view.left(plan, run).map_err(|error| match error.details() {
            Detail::None if error.kind() == ErrorKind::CheckFailed => {
                error.detail(Detail::Check(Box::new(check.clone())))
            }
            _ => error,
        })?;
        check.dropped = view.dropped(plan, &self.workspace)?;
        Ok(SeenInView { plan: plan.hash(), check, left })
    }
}
