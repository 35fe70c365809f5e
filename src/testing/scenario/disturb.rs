//! Disturbances that wait for their calls.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use super::data::{Disturbance, ScenarioFault, ScenarioPoint};
use super::foreigner::Foreigners;
use crate::fs::sim::{Action, SimCall, SimFs};
use crate::path::STATE_FOLDER;
use crate::testing::run::lock;
use crate::testing::script::ROOT;

/// A disturbance that waits for its call.
#[derive(Debug)]
pub(super) struct Disturber {
    pub(super) disturbance: Disturbance,
    /// The number of matching calls so far.
    fitted: u64,
    pub(super) fired: bool,
    /// The function of the call at which it fired.
    verb: &'static str,
}

/// The caller's cancellation of the act.
#[derive(Debug, Default)]
pub(super) struct Wish {
    pub(super) to_stop: Arc<AtomicBool>,
    /// It came before the act had changed anything.
    pub(super) in_time: AtomicBool,
    /// It came when the act had swapped something.
    pub(super) too_late: AtomicBool,
    has_changed: AtomicBool,
    has_swapped: AtomicBool,
}

impl Wish {
    /// Called at the start of an act.
    pub(super) fn forget(&self) {
        for flag in [&*self.to_stop, &self.in_time, &self.too_late, &self.has_changed, &self.has_swapped] {
            flag.store(false, Relaxed);
        }
    }

    /// Called before each call of the act, with the disturbances that fired so far.
    pub(super) fn note(&self, call: &SimCall<'_>, disturbers: &[Disturber]) {
        let is_wanted = disturbers.iter().any(|it| it.fired && it.disturbance.what == ScenarioFault::Cancel);
        if is_wanted && !self.to_stop.swap(true, Relaxed) {
            self.in_time.store(!self.has_changed.load(Relaxed), Relaxed);
            self.too_late.store(self.has_swapped.load(Relaxed), Relaxed);
        }
        self.has_changed.fetch_or(call.mutates, Relaxed);
        self.has_swapped.fetch_or(swaps(call), Relaxed);
    }
}

/// Returns whether a call moves something between the state folder and the workspace.
pub(super) fn swaps(call: &SimCall<'_>) -> bool {
    let inside = |path: &Path| path.starts_with(Path::new(ROOT).join(STATE_FOLDER));
    call.verb == "rename" && call.to.is_some_and(|to| inside(to) != inside(call.path))
}

impl Disturber {
    pub(super) fn new(disturbance: Disturbance) -> Self {
        Self { disturbance, fitted: 0, fired: false, verb: "" }
    }

    pub(super) fn step(
        &mut self,
        call: &SimCall<'_>,
        number: u64,
        machine: &SimFs,
        foreigners: &Mutex<Foreigners>,
    ) -> Action {
        if self.fired {
            let goes_on = matches!(self.disturbance.what, ScenarioFault::Fail(_, true)) && call.verb == self.verb;
            return if goes_on { self.action() } else { Action::Continue };
        }
        let is_it = match &self.disturbance.point {
            ScenarioPoint::Call(at) => number == *at,
            ScenarioPoint::Share(_) => false,
            ScenarioPoint::Verb(verb, path, nth) => {
                let ends = |end: &String| call.path.ends_with(end) || call.to.is_some_and(|to| to.ends_with(end));
                let fits = call.verb == verb && path.as_ref().is_none_or(ends);
                self.fitted += u64::from(fits);
                fits && self.fitted == *nth
            }
        };
        if !is_it {
            return Action::Continue;
        }
        self.fired = true;
        self.verb = call.verb;
        if let ScenarioFault::Deed(deed) = &self.disturbance.what {
            lock(foreigners).act(machine, deed, false);
        }
        self.action()
    }

    fn action(&self) -> Action {
        let errno = crate::errno::Errno::from_raw_os_error;
        match self.disturbance.what {
            ScenarioFault::Deed(_) | ScenarioFault::Cancel => Action::Continue,
            ScenarioFault::Fail(raw, _) => Action::Fail(errno(raw)),
            ScenarioFault::FailAfter(raw) => Action::FailAfter(errno(raw)),
            ScenarioFault::Short => Action::Short(1),
            ScenarioFault::Kill => Action::Kill,
            ScenarioFault::Cut(..) => Action::Halt,
        }
    }
}
