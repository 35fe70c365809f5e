//! Crashes in a scenario: the states to which a recovery may lead.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data::ScenarioAct;
use super::judge::{Doing, Judged};
use super::look::{ContentMarks, Look, marks_of};
use super::run::{EITHER_WAY, ScenarioAnswer, ScenarioPending, ScenarioWorld};
use crate::engine::Decision;
use crate::engine::report::{Recovered, RecoveryAction};
use crate::error::ErrorKind;
use crate::fs::FileKind;
use crate::fs::sim::{Policy, SimEntry, SimFs};
use crate::testing::check::told;
use crate::testing::run::lock;
use crate::testing::world::{UserFiles, same};

impl ScenarioWorld {
    /// Cuts the power. A machine whose commits do not wait for the disk only loses its processes.
    pub(super) fn cut(&mut self, policy: Policy, seed: u64) {
        if self.profile.process {
            return;
        }
        let before = self.look().in_reach();
        self.machine = SimFs::from_image(&self.machine.image(policy, seed));
        let after = self.look();
        let mut foreigners = lock(&self.foreigners);
        foreigners.forget_handles();
        // Foreign programs may lose their own unsynced changes of this act.
        let unsynced = foreigners.fresh.clone();
        // Staged and rolled-back files may contain copies of what was lost, and need not stay; nor need new files of the act.
        let in_files = marks_of(after.files.values().filter(|entry| !foreigners.is_new(entry)));
        let there: ContentMarks = [in_files, after.kept(), after.originals()].into_iter().flatten().collect();
        foreigners.alive.retain(|mark| !unsynced.contains(mark) || there.contains(mark) || !before.contains(mark));
    }

    /// Handles a kill or a power loss during an act.
    pub(super) fn crashed(&mut self, doing: &Doing<'_>, is_acknowledged: bool) -> Judged {
        let Doing { act, base, clean, .. } = doing;
        let mut tainted = self.touched_by(act);
        let mut allowed: Vec<_> = clean.iter().map(|clean| Arc::clone(&clean.files)).collect();
        let is_done = is_acknowledged && clean.as_ref().is_some_and(|clean| clean.is_done);
        if !is_done {
            allowed.push(Arc::clone(base));
        }
        // In the presence of others, the acts of a check may fail.
        let is_beside_others = lock(&self.foreigners).done.iter().any(|(_, by_check)| !by_check);
        allowed.extend(is_beside_others.then(|| self.after_others(doing)).flatten());
        // It would have reported what a fault kept it from reading.
        let mut leaves_folders = matches!(act, ScenarioAct::Prune(_)) || doing.has_fault;
        if let Some(pending) = self.pending.take() {
            leaves_folders |= pending.leaves_folders;
            // In the presence of foreign acts its recovery may have gone the other way first.
            let start = doing.start.iter().filter(|_| !lock(&self.foreigners).done.is_empty());
            allowed.extend(start.flat_map(|start| after_recoveries(start, act)));
            tainted.extend(pending.tainted);
            allowed.extend(pending.allowed.into_iter().filter(|_| !is_done || !act.recovers()));
        }
        self.forgotten(doing, &self.look());
        self.is_blurred = true;
        self.interrupted(allowed, Arc::clone(base), tainted, leaves_folders)
    }

    /// Judges what a recovery would make of the machine now, and records that one is due.
    pub(super) fn interrupted(
        &mut self,
        allowed: Vec<Arc<UserFiles>>,
        seen: Arc<UserFiles>,
        mut tainted: BTreeSet<PathBuf>,
        leaves_folders: bool,
    ) -> Judged {
        tainted.extend(self.loose.iter().cloned());
        let logical = Arc::new(UserFiles::new());
        let look = self.look();
        let (there, journals) = (Arc::clone(&look.files), look.journals());
        self.first_interrupted.get_or_insert_with(|| Arc::clone(&seen));
        let waits = !look.interrupted.is_empty();
        self.pending =
            Some(ScenarioPending { allowed, seen, there, journals, waits, tainted, leaves_folders, logical });
        self.look_ahead()
    }

    /// Recovers a fork, twice, and judges the result.
    pub(super) fn look_ahead(&mut self) -> Judged {
        let Some(mut pending) = self.pending.take() else { return Ok(()) };
        let mut fork = self.fork();
        let recovered = match fork.call(&ScenarioAct::Recover) {
            Ok(ScenarioAnswer::Recovered(recovered)) => recovered,
            Ok(other) => unreachable!("a recovery answers {other:?}"),
            Err(error) => return Err(format!("recovery fails: {error}")),
        };
        let required = recovered.iter().any(|recovered| recovered.required);
        let look = fork.look();
        let told = |what: String| format!("{what}\n  recovery: {recovered:?}");
        let were_here = lock(&self.foreigners).were_here;
        if required && !were_here {
            return Err(told("a person must decide, though nobody interfered".to_owned()));
        }
        if !required {
            is_one_of(&pending, &pending.tainted, &look.files, self.had_check).map_err(&told)?;
            let left: Vec<_> = look.interrupted.iter().chain(&look.unnamed).chain(&look.trash).collect();
            if !left.is_empty() {
                return Err(told(format!("left behind: {left:?}")));
            }
        }
        self.is_alive(&look.in_reach()).map_err(&told)?;
        let first = self.first_interrupted.as_ref().unwrap_or(&pending.seen);
        let moved = lock(&self.foreigners).ever_moved.clone();
        recovered.iter().try_for_each(|it| is_true_of(it, first, &look.files, &moved)).map_err(&told)?;
        // Of several that were interrupted, one may have gone forward before the next began, or have been whole already.
        if pending.waits && Arc::ptr_eq(first, &pending.seen) && self.look().journals() == pending.journals {
            let known = marks_of(first.values());
            recovered.iter().try_for_each(|it| has_nothing_new(it, &known, &look.files)).map_err(&told)?;
        }
        let were_kept = &self.look().kept;
        let is_known = |kept: &&(PathBuf, SimEntry)| self.had_failures && were_kept.contains(kept);
        if !(were_here || look.kept.iter().all(|kept| is_known(&kept)) && look.late().is_empty()) {
            return Err(told(format!("nobody was here, and something is kept: {:?} {:?}", look.kept, look.late())));
        }
        let digest = fork.machine.digest();
        match fork.call(&ScenarioAct::Recover) {
            Ok(ScenarioAnswer::Recovered(again))
                if again.iter().all(|again| again.required || again.action == RecoveryAction::Left) => {}
            other => return Err(told(format!("a second recovery did something: {other:?}"))),
        }
        if fork.machine.digest() != digest {
            return Err(told("a second recovery changed something".to_owned()));
        }
        fork.are_staged().map_err(&told)?;
        pending.logical = Arc::clone(&look.files);
        self.is_stuck |= required;
        self.pending = Some(pending);
        Ok(())
    }

    /// Returns whether, apart from foreign changes, the act followed a recovery in one of the possible ways.
    pub(super) fn is_recovered_beside(&self, start: &ScenarioWorld, act: &ScenarioAct, look: &Look) -> bool {
        let Some(pending) = &self.pending else { return false };
        let allowed = after_recoveries(start, act).collect();
        let mut tainted = pending.tainted.clone();
        tainted.extend(self.touched_by(act));
        let due = ScenarioPending { allowed, ..pending.clone() };
        is_one_of(&due, &tainted, &look.files, self.had_check).is_ok()
    }

    /// Judges whether every stage that was acknowledged is known.
    fn are_staged(&mut self) -> Judged {
        for number in self.staged.clone() {
            match self.call(&ScenarioAct::Preview(number)) {
                Err(error) if error.kind() == ErrorKind::UnknownTransaction => {
                    return Err(format!("what was staged in {number} is gone: {error}"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Called when a recovery on the machine itself has ended.
    pub(super) fn settled(&mut self, look: &Look) -> Judged {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        if look.interrupted.is_empty() {
            let mut tainted = pending.tainted.clone();
            tainted.extend(lock(&self.foreigners).touched.iter().cloned());
            is_one_of(&pending, &tainted, &look.files, self.had_check)?;
            lock(&self.foreigners).alive.extend(look.in_files());
        } else {
            self.pending = Some(pending);
            self.look_ahead()?;
        }
        self.is_alive(&look.in_reach())?;
        self.sync_deeds();
        Ok(())
    }
}

/// The results of an act after a recovery in each of the possible ways.
pub(super) fn after_recoveries(start: &ScenarioWorld, act: &ScenarioAct) -> impl Iterator<Item = Arc<UserFiles>> {
    EITHER_WAY.iter().filter_map(|way| after_recovery(start, *way, act))
}

fn after_recovery(start: &ScenarioWorld, way: Decision, act: &ScenarioAct) -> Option<Arc<UserFiles>> {
    let mut fork = start.fork();
    fork.recover(way);
    fork.call(act).ok()?;
    Some(Arc::clone(&fork.look().files))
}

/// Judges whether files that a recovery reports as changed differ from those before the interrupted act. What others moved
/// away, or deleted, may have been missing when the act read it, and be back since.
fn is_true_of(recovered: &Recovered, before: &UserFiles, files: &UserFiles, moved: &BTreeSet<PathBuf>) -> Judged {
    let named = recovered.remarks.iter().filter_map(|part| part.split_once(" is not as it was: "));
    for (path, _) in named.filter(|(path, _)| !moved.iter().any(|moved| Path::new(path).starts_with(moved))) {
        let (was, is) = (before.get(Path::new(path)), files.get(Path::new(path)));
        let timed = was.zip(is).map(|(was, is)| SimEntry { modified: was.modified, ..is.clone() });
        if was.is_some() && same(timed.as_ref(), was, true) {
            return Err(format!("{path} is as it was"));
        }
    }
    Ok(())
}

/// Judges whether no file of a transaction that is said to be as before has a content that it made, whoever put it there
/// again: only what was swapped can be seen by others.
fn has_nothing_new(recovered: &Recovered, known: &ContentMarks, files: &UserFiles) -> Judged {
    if !matches!(recovered.action, RecoveryAction::Dropped | RecoveryAction::RolledBack) {
        return Ok(());
    }
    let is_told = |path: &Path| recovered.kept.iter().any(|kept| kept.path.ends_with(path));
    for path in recovered.files.iter().map(|file| &file.path).filter(|path| !is_told(path)) {
        let found = marks_of(files.get(path).into_iter());
        if let Some((_, number)) = found.difference(known).find(|(letter, _)| *letter == b'N') {
            return Err(format!("{} has N{number}, and is said to be as before", path.display()));
        }
    }
    Ok(())
}

/// Judges whether all paths untouched by others are as in one of the allowed states. After a check that failed, file
/// times are free.
fn is_one_of(pending: &ScenarioPending, tainted: &BTreeSet<PathBuf>, files: &UserFiles, any_time: bool) -> Judged {
    let is_free = |path: &PathBuf| tainted.iter().any(|tainted| path.starts_with(tainted) || tainted.starts_with(path));
    let is_forgotten = |path: &PathBuf| {
        let is_folder = |files: &UserFiles| files.get(path).is_some_and(|entry| entry.kind == FileKind::Folder);
        pending.leaves_folders && is_folder(files) && is_folder(&pending.there)
    };
    let fits = |state: &UserFiles| {
        let path = state.keys().chain(files.keys()).filter(|path| !is_free(path)).find(|path| {
            let unchanged = same(pending.seen.get(*path), state.get(*path), true);
            let (is, should) = (files.get(*path), state.get(*path));
            let timed = is
                .zip(should)
                .filter(|_| any_time)
                .map(|(is, should)| SimEntry { modified: should.modified, ..is.clone() });
            let is_fine = same(timed.as_ref().or(is), should, unchanged);
            !(is_fine || should.is_none() && is_forgotten(path))
        });
        path.map_or(Ok(()), |path| {
            let (is, should) = (told(files, path), told(state, path));
            Err(format!("{} is {is}, not {should}", path.display()))
        })
    };
    let ScenarioPending { allowed, .. } = pending;
    let found: Vec<String> = allowed.iter().filter_map(|state| fits(state).err()).collect();
    if found.len() < allowed.len() {
        return Ok(());
    }
    Err(format!("neither all new nor all old: {}", found.join("; ")))
}
