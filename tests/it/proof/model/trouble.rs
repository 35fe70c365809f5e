//! What goes wrong in the middle of a call: a kill, a power cut, a foreign program, a call that fails.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use txedit::fs::sim::{Action as Act, Policy, SimFs};
use txedit::testing::Errno;
use txedit::{Error, Outcome, Report, Retention};

use super::action::Foreign;
use super::reference::{self, Ask, Files, difference};
use super::world::{Changed, Committed, ROOT, Step, World, request, with_run};

impl World {
    /// The same with something done before the `at`-th call of the engine, which is told whether it mutates.
    fn run_with(
        &mut self,
        asks: &[Ask],
        at: u64,
        act: impl Fn(bool) -> Act + Send + Sync + 'static,
    ) -> Result<Report, Error> {
        let engine = self.engine();
        let counted = AtomicU64::new(0);
        self.sim.set_hook(move |call| {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            if number == at { act(call.mutates) } else { Act::Continue }
        });
        let done = with_run(|run| engine.apply(&request(asks), run));
        self.sim.clear_hook();
        done
    }

    pub(super) fn crash(&mut self, asks: &[Ask], call: u64, power: Option<u64>) -> Step {
        let stop = if power.is_some() { Act::Halt } else { Act::Kill };
        let done = self.run_with(asks, call, move |_| stop);
        if let Some(seed) = power {
            let images = self.sim.images(Policy::Unordered, 16, seed).images;
            let image = &images[usize::try_from(seed % images.len() as u64).unwrap()];
            self.sim = SimFs::from_image(image);
        } else {
            self.sim = self.sim.fork();
        }
        let expected = reference::apply(&self.files, asks);
        if done.is_ok() {
            // Acknowledged means there, before any recovery.
            self.compare(expected.as_ref().ok_or("an impossible request was acknowledged")?)?;
        }
        self.recover()?;
        let seen = self.seen();
        let unchanged = seen == self.files;
        match expected {
            Some(after) if seen == after => {
                self.counts.crashes_new += 1;
                let log = self.log()?;
                let new = log.into_iter().find(|id| self.history.iter().all(|committed| committed.id != *id));
                if let Some(id) = new {
                    let changed = difference(&self.files, &after);
                    self.history.push(Committed { id, changed, undoes: None });
                } else if !unchanged {
                    return Err("the files are new, and the log does not say so".to_owned());
                }
                self.files = after;
                Ok(())
            }
            _ if unchanged && done.is_err() => {
                self.counts.crashes_old += 1;
                Ok(())
            }
            expected => Err(format!("neither old nor new: {seen:?}, new would be {expected:?}")),
        }
    }

    fn log(&mut self) -> Result<Vec<String>, String> {
        let log = self.engine().log(usize::MAX, None).map_err(|e| e.to_string())?;
        Ok(log.into_iter().map(|logged| logged.id).collect())
    }

    /// Whatever the foreign program does, its bytes are somewhere, and the other files are all old or all new.
    pub(super) fn race(&mut self, asks: &[Ask], call: u64, foreign: &Foreign) -> Step {
        let sim = self.sim.clone();
        let (acted, act_now) = (Arc::new(AtomicBool::new(false)), foreign.clone());
        let flag = Arc::clone(&acted);
        let old = self.files.clone();
        let done = self.run_with(asks, call, move |_| {
            flag.store(act(&sim, &act_now), Ordering::Relaxed);
            Act::Continue
        });
        if !acted.load(Ordering::Relaxed) {
            return self.settle(asks, done);
        }
        if let Foreign::WriteInPlace(_, text) | Foreign::Replace(_, text) = foreign {
            self.is_somewhere(text)?;
        }
        let seen = self.seen();
        let mut with_foreign = old.clone();
        match foreign {
            Foreign::WriteInPlace(path, text) | Foreign::Replace(path, text) => {
                // A file that the request has moved on is what it was, unless it was replaced.
                let moved = old.get(path).filter(|_| matches!(foreign, Foreign::WriteInPlace(..)));
                let mode = seen.get(path).or(moved).map_or(reference::NEW, |(_, mode)| *mode);
                with_foreign.insert(path, (text.clone().into_bytes(), mode));
            }
            Foreign::Delete(path) => {
                with_foreign.remove(path);
            }
        }
        // The commit came after the foreign act, before it, or not at all. Before it, what it wrote may be replaced.
        let mut stories = vec![reference::apply(&with_foreign, asks), reference::apply(&old, asks)];
        if done.is_err() {
            stories = vec![Some(old)];
        }
        let path = foreign.path();
        let but =
            |files: &Files| files.iter().filter(|(p, _)| **p != path).map(|(p, f)| (*p, f.clone())).collect::<Files>();
        if !stories.iter().flatten().any(|story| but(story) == but(&seen)) {
            return Err(format!("{done:?} left {seen:?}; it can only be one of {stories:?}"));
        }
        match done {
            Ok(report) => {
                self.counts.races_won += 1;
                let changed = difference(&self.files, &seen);
                let changed = changed.into_iter().filter(|(p, _)| *p != path).collect::<Changed>();
                self.files = seen;
                // What an undo of it does to the foreign path is not for the model to say.
                let _ = (report, changed);
                self.forget_history();
            }
            Err(error) => {
                if error.outcome() == Outcome::RecoveryRequired {
                    return Err(format!("nothing failed, and recovery is required: {error:?}"));
                }
                self.counts.races_lost += 1;
                self.files = seen;
            }
        }
        Ok(())
    }

    fn settle(&mut self, asks: &[Ask], done: Result<Report, Error>) -> Step {
        match (reference::apply(&self.files, asks), done) {
            (Some(after), Ok(report)) => self.adopt(&report, after),
            (None, Err(_)) => {}
            (expected, done) => return Err(format!("the model says {expected:?}, the engine {done:?}")),
        }
        Ok(())
    }

    /// The model does not follow what cannot be told from outside: it starts with an empty history.
    fn forget_history(&mut self) {
        let engine = self.engine();
        let nothing = Retention::default().count(0).bytes(0).age(Duration::ZERO);
        engine.prune(&nothing).unwrap();
        self.history.clear();
    }

    /// A failed call: all old with a truthful outcome, or all new.
    pub(super) fn fault(&mut self, asks: &[Ask], call: u64) -> Step {
        let fail = |mutates| if mutates { Act::Fail(Errno::IO) } else { Act::Continue };
        let done = self.run_with(asks, call, fail);
        self.counts.faults += 1;
        let expected = reference::apply(&self.files, asks);
        let seen = self.seen();
        match &done {
            Ok(_) => self.compare(expected.as_ref().ok_or("an impossible request was acknowledged")?)?,
            Err(error) if error.outcome() != Outcome::RecoveryRequired => self.compare(&self.files)?,
            Err(_) => {}
        }
        self.recover()?;
        let after = self.seen();
        if done.is_err() && after == self.files {
            return Ok(());
        }
        let Some(expected) = expected.filter(|expected| *expected == after) else {
            return Err(format!("{done:?} left {seen:?}, and recovery {after:?}"));
        };
        if let Ok(report) = done {
            self.adopt(&report, expected);
        } else {
            self.files = expected;
            self.forget_history();
        }
        Ok(())
    }

    /// Whether these bytes are in a file, perhaps with edits of a commit that saw them, or kept.
    fn is_somewhere(&self, text: &str) -> Step {
        let marker = text.lines().next().unwrap_or_default();
        let holds = |content: &[u8]| String::from_utf8_lossy(content).lines().next() == Some(marker);
        if self.sim.tree().values().any(|entry| holds(&entry.content)) {
            return Ok(());
        }
        Err(format!("what another program wrote is lost: {marker}"))
    }
}

/// Whether it could: a foreign program whose file or folder is not there does nothing.
pub(super) fn act(sim: &SimFs, foreign: &Foreign) -> bool {
    let path = Path::new(ROOT).join(foreign.path());
    let done = match foreign {
        Foreign::WriteInPlace(_, text) => sim.write_in_place(path, text).is_ok(),
        Foreign::Replace(_, text) => sim.replace(path, text).is_ok(),
        Foreign::Delete(_) => sim.delete(path).is_ok(),
    };
    // What a power cut does to the unsynced writes of others is not the engine's doing.
    sim.sync_everything();
    done
}
