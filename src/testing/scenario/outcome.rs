//! Judges acts that ended: the answer and the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::answer::{ScenarioComparison, digest, judge_answer, named, places, relative};
use super::claims::told_to_stay;
use super::data::{Ask, ScenarioAct, ScenarioDeed, request};
use super::judge::{Doing, Judged};
use super::look::{ContentMarks, Look, alike, differences, mark_text, marks, marks_of};
use super::run::{ScenarioAnswer, ScenarioCommit, ScenarioWorld};
use super::serial::{is_around_left, is_beside_moved, is_serial};
use crate::engine::report::{FileReport, Operation, Report};
use crate::fs::FileKind;
use crate::fs::sim::SimEntry;
use crate::request::{Change, FileRequest, Mode, Request};
use crate::testing::check::told;
use crate::testing::run::lock;
use crate::testing::script::ROOT;
use crate::testing::world::{UserFiles, same};

impl ScenarioWorld {
    /// The paths that others changed during this act, with those that depend on them.
    pub(super) fn touched_by(&self, act: &ScenarioAct) -> BTreeSet<PathBuf> {
        let (mut touched, base) = {
            let foreigners = lock(&self.foreigners);
            (foreigners.touched.clone(), Arc::clone(&foreigners.base))
        };
        let led = |path: &String| [PathBuf::from(path), relative(Path::new(path), Path::new(ROOT), &base)];
        if let ScenarioAct::Apply(asks, _) | ScenarioAct::Stage(_, asks) = act {
            for ask in asks {
                let Ask::Rename(from, to) = ask else { continue };
                let ends = [led(from), led(to)].concat();
                if ends.iter().any(|end| touched.contains(end)) {
                    touched.extend(ends);
                }
            }
        }
        touched
    }

    /// Judges an act that was acknowledged.
    pub(super) fn judge_done(&mut self, doing: &Doing<'_>, look: &Look, answer: &ScenarioAnswer) -> Judged {
        let Doing { act, start, base, clean, .. } = doing;
        let (touched, done) = {
            let foreigners = lock(&self.foreigners);
            (foreigners.touched.clone(), foreigners.done.clone())
        };
        let deeds: Vec<ScenarioDeed> =
            done.into_iter().filter(|(_, by_check)| !by_check).map(|(deed, _)| deed).collect();
        match (clean, start) {
            (Some(clean), _) if deeds.is_empty() => {
                let what = "acknowledged, and not what it does when nothing fails";
                let warnings = if let ScenarioAnswer::Report(report) = answer { &report.warnings[..] } else { &[] };
                let terms = Leeway { any_time: self.had_check, warnings };
                is_as(&clean.files, base, &look.files, terms).map_err(|how| format!("{what}: {how}"))?;
                // Folders that could not be removed are removed when, after a power loss, a recovery completes the act
                // again.
                self.loose.extend(differences(&clean.files, &look.files).into_iter().cloned());
            }
            // A stage is judged again by its commit: if a folder is moved, it may be refused only then.
            (Some(_), Some(_)) if matches!(act, ScenarioAct::Stage(..)) && deeds.iter().any(moves) => {}
            (Some(_), Some(start)) => {
                let is_serial = is_serial(start, act, &deeds, &look.files, self.pending.is_some());
                let is_otherwise = || {
                    self.is_recovered_beside(start, act, look)
                        || is_around_left(start, act, &deeds, (answer, &look.files))
                        || is_beside_moved(start, act, &deeds, (answer, &look.files))
                };
                is_serial.or_else(|how| if is_otherwise() { Ok(()) } else { Err(how) })?;
            }
            _ => {}
        }
        let ScenarioAnswer::Report(report) = answer else { return Ok(()) };
        let base = &self.true_base(act, base, look, report)?;
        self.is_in_place(report, base, look)?;
        let reverts = match act {
            ScenarioAct::Undo(Some(back)) => self.committed.len().checked_sub(back + 1),
            // A pruning, or a full history, decides which one is left.
            ScenarioAct::Undo(None) if self.may_be_forgotten() => {
                let undone = report.reverts.first().map(|reverted| reverted.id.as_str());
                self.committed.iter().position(|committed| Some(committed.id.as_str()) == undone)
            }
            ScenarioAct::Undo(None) if !self.is_blurred => self.newest_not_undone(),
            _ => None,
        };
        if let Some(undone) = reverts {
            let before = self.committed[undone].before_alone(base);
            self.are_of_others(undone, base, report)?;
            self.is_undone((undone, &before), &touched, (report, &look.files))?;
            if report.warnings.is_empty() {
                self.is_tidied(undone, &before, &look.files)?;
            }
        }
        if let ScenarioAct::UndoSince(back) = act {
            self.is_undone_since(*back, report, &touched, &look.files)?;
        }
        self.is_exact(act, report, &look.files)?;
        self.note_committed(act, base, report, reverts);
        Ok(())
    }

    /// Records an acknowledged act, which can be reverted from here on.
    pub(super) fn note_committed(
        &mut self,
        act: &ScenarioAct,
        base: &Arc<UserFiles>,
        report: &Report,
        reverts: Option<usize>,
    ) {
        let Some(id) = report.transaction.clone().filter(|_| !report.already_applied) else { return };
        let changed = named(report, base);
        let mut named = changed.clone();
        named.retain(|path| !lock(&self.foreigners).touched.contains(path));
        // Only the log tells what reverts an undo.
        self.undid_older |= reverts.is_some() && reverts != self.newest_not_undone();
        self.is_blurred |= matches!(act, ScenarioAct::Redo(_) | ScenarioAct::UndoSince(_))
            || (reverts.is_none() && matches!(act, ScenarioAct::Undo(_)));
        let several = report.reverts.len() > 1;
        // Of several, all that came since the undo goes back with it.
        if let [reverted] = &report.reverts[..] {
            let undo = self.committed.iter().find(|committed| committed.id == reverted.id);
            if let Some(done_again) = undo.and_then(|undo| undo.reverts) {
                self.committed[done_again].begins_anew(base);
            }
        }
        let (before, again) = (Arc::clone(base), UserFiles::new());
        let reverted = report.reverts.iter().map(|reverted| reverted.id.clone()).collect();
        self.committed.push(ScenarioCommit { id, before, again, changed, named, reverts, reverted, several });
    }

    /// The files before the act for which its answer is true. A recovery that came first may have gone a different way
    /// than it would have without the foreign acts.
    fn true_base(
        &self,
        act: &ScenarioAct,
        base: &Arc<UserFiles>,
        look: &Look,
        report: &Report,
    ) -> Judged<Arc<UserFiles>> {
        let mut touched = self.touched_by(act);
        if let Some(pending) = &self.pending {
            touched.extend(pending.tainted.iter().cloned());
            // A folder that the recovery would have removed stays if others put something into it.
            touched.extend(touched.clone().iter().flat_map(|path| path.ancestors().map(PathBuf::from)));
            touched.remove(Path::new(""));
            touched.extend(told_to_stay(&look.files, &report.warnings));
        }
        let asked = match act {
            ScenarioAct::Apply(asks, terms) => vec![Some(request(asks, terms))],
            ScenarioAct::Commit(number, _) => [&self.modes, &self.maybe_modes]
                .map(|modes| Some(staged_modes(modes.get(number), base, report)))
                .to_vec(),
            _ => vec![None],
        };
        let is_true_of = |asked: &Option<Request>, before: &UserFiles| {
            let compared = ScenarioComparison {
                root: Path::new(ROOT),
                before,
                after: &look.files,
                touched: &touched,
                checked: self.had_check,
            };
            judge_answer(compared, asked.as_ref(), Ok(report))
        };
        let is_true = |before: &UserFiles| {
            let mut judged = asked.iter().map(|asked| is_true_of(asked, before));
            let first = judged.next().unwrap_or(Ok(()));
            if first.is_err() && judged.any(|other| other.is_ok()) { Ok(()) } else { first }
        };
        let wrong = match is_true(base) {
            Ok(()) => return Ok(Arc::clone(base)),
            Err(wrong) => wrong,
        };
        let others = self.pending.iter().filter(|_| act.recovers()).flat_map(|pending| &pending.allowed);
        others.into_iter().find(|other| is_true(other).is_ok()).cloned().ok_or(wrong)
    }

    /// If a folder was moved before the last swap, the report must still be true of the paths.
    fn is_in_place(&self, report: &Report, base: &UserFiles, look: &Look) -> Judged {
        let foreigners = lock(&self.foreigners);
        let by_moves = foreigners.done.iter().all(|(deed, _)| {
            matches!(deed, ScenarioDeed::Move(..) | ScenarioDeed::Exchange(..) | ScenarioDeed::Mkdir(_))
        });
        if !foreigners.moved_before_swap || !by_moves {
            return Ok(());
        }
        // A file that was moved by itself may have been moved afterwards.
        let is_moved = |path: &Path| {
            let moves = |deed: &ScenarioDeed| deed.paths().iter().any(|moved| Path::new(moved) == path);
            foreigners.done.iter().any(|(deed, _)| moves(deed))
                || foreigners.moved_since.iter().any(|moved| path.starts_with(moved))
        };
        let wrong = report.files.iter().filter(|file| file.operation != Operation::None).find(|file| {
            let (_, goal) = places(file, report, base);
            // One entry may remove a file and another put one in its place.
            let all = report.files.iter().filter(|other| places(other, report, base).1 == goal);
            let is_retaken = file.hash_after.is_none() && all.count() > 1;
            // A symlink itself, wherever it leads, and what took the place of one; a redo does not say which of them it is.
            let itself = goal.parent().zip(goal.file_name()).map(|(folder, name)| {
                let folder = relative(folder, Path::new(ROOT), &look.files);
                folder.join(name)
            });
            let led = relative(&goal, Path::new(ROOT), &look.files);
            let is_symlink = file.extras.symlink_to.is_some() || file.extras.renamed_to.is_some();
            let mut ends = itself.into_iter().chain((!is_symlink).then_some(led));
            !is_moved(&goal) && !is_retaken && !ends.any(|end| digest(&look.files, &end) == file.hash_after)
        });
        wrong.map_or(Ok(()), |file| Err(format!("a folder was moved before the last swap, and {file:?} is not there")))
    }

    fn newest_not_undone(&self) -> Option<usize> {
        let mut undone = BTreeSet::new();
        for (index, committed) in self.committed.iter().enumerate().rev() {
            if !undone.contains(&index) {
                undone.extend(committed.reverts);
            }
        }
        let all = self.committed.iter().enumerate().rev();
        all.filter(|(index, committed)| committed.reverts.is_none() && !undone.contains(index)).map(|(i, _)| i).next()
    }

    /// Returns whether there is something to revert, whose files nobody else changed.
    pub(super) fn must_be_undone(&self, act: &ScenarioAct) -> bool {
        let Some(newest) = self.newest_not_undone().filter(|_| !self.is_blurred && *act == ScenarioAct::Undo(None))
        else {
            return false;
        };
        let foreigners = lock(&self.foreigners);
        let is_theirs = |path: &Path| foreigners.ever.iter().any(|at| at.starts_with(path) || path.starts_with(at));
        let is_undisturbed = !foreigners.were_here
            || !foreigners.meddled && !self.committed[newest].changed.iter().any(|path| is_theirs(path));
        is_undisturbed && !self.undid_older
    }

    /// Returns whether the transaction to revert may have been pruned: by request, or for lack of room. The newest
    /// stays.
    pub(super) fn may_be_forgotten(&self) -> bool {
        let is_newest = self.newest_not_undone().is_some_and(|newest| newest + 1 == self.committed.len());
        self.is_pruned || self.profile.small_history && !is_newest
    }

    /// Judges what an undo must have restored.
    fn is_undone(
        &self,
        (index, before): (usize, &UserFiles),
        touched: &BTreeSet<PathBuf>,
        (report, files): (&Report, &UserFiles),
    ) -> Judged {
        let ScenarioCommit { named, .. } = &self.committed[index];
        // Another act has put something into them, or made them again.
        let stays = told_to_stay(files, &report.warnings);
        let is_folder = |entry: &SimEntry| entry.kind == FileKind::Folder;
        // An undo of several may have given them other metadata, of which a redo knows nothing.
        let is_of_several = report.reverts.iter().any(|it| self.is_of_several(&it.id));
        for path in named {
            let may_stay = before.get(path).is_none_or(is_folder) && stays.iter().any(|stays| stays.starts_with(path));
            let are_folders = [files, before].iter().all(|files| files.get(path).is_some_and(is_folder));
            // A later transaction removed it, which an undo that leaves it where it is does not touch.
            let went =
                !files.contains_key(path) && self.committed[index + 1..].iter().any(|it| it.changed.contains(path));
            let is_free = may_stay || is_of_several && (are_folders || went) || touched.contains(path);
            if !is_free && !alike(files.get(path), before.get(path)) {
                let (is, was) = (told(files, path), told(before, path));
                return Err(format!("undone, and {} is {is}; before the transaction it was {was}", path.display()));
            }
        }
        Ok(())
    }

    pub(super) fn is_of_several(&self, id: &str) -> bool {
        self.committed.iter().any(|committed| committed.id == id && committed.several)
    }

    /// Judges what an undo of everything after a transaction must have restored: each path is as it was before the first
    /// of them that changed it.
    fn is_undone_since(&self, back: usize, report: &Report, touched: &BTreeSet<PathBuf>, files: &UserFiles) -> Judged {
        let undone = self.committed.len() - back..self.committed.len();
        let ids = self.committed[undone.clone()].iter().rev().map(|committed| &committed.id);
        // Besides, it undoes what was committed and not acknowledged, and not what was pruned.
        if !ids.eq(report.reverts.iter().map(|reverted| &reverted.id)) {
            return Ok(());
        }
        let mut judged = touched.clone();
        // What is beneath a path that an earlier one changed came or went with it.
        let mut changed_before = BTreeSet::new();
        for index in undone {
            let named = &self.committed[index].named;
            let is_beneath = |path: &&PathBuf| path.ancestors().any(|above| changed_before.contains(above));
            judged.extend(named.iter().filter(is_beneath).cloned());
            changed_before.extend(self.committed[index].changed.iter().cloned());
            self.is_undone((index, &self.committed[index].before), &judged, (report, files))?;
            // A file that others touched meanwhile, too: it was not judged, and a later transaction has another before.
            // So has a folder that it was put into, and that may have been made for it.
            let changed = self.committed[index].changed.iter();
            judged.extend(changed.flat_map(|path| path.ancestors().map(PathBuf::from)));
        }
        Ok(())
    }

    /// Judges that no folder that the transaction had needed is left empty, unless others used it.
    fn is_tidied(&self, index: usize, before: &UserFiles, files: &UserFiles) -> Judged {
        let ScenarioCommit { named, .. } = &self.committed[index];
        let theirs = &lock(&self.foreigners).ever;
        let is_left = |folder: &&Path| {
            let is_folder = files.get(*folder).is_some_and(|entry| entry.kind == FileKind::Folder);
            let is_empty = !files.keys().any(|path| path.parent() == Some(*folder));
            let is_free = theirs.iter().any(|at| at.starts_with(folder) || folder.starts_with(at));
            is_folder && is_empty && !before.contains_key(*folder) && !is_free
        };
        let left = named.iter().flat_map(|path| path.ancestors().skip(1)).find(is_left);
        left.map_or(Ok(()), |left| Err(format!("undone, and {} is left, empty, without a word", left.display())))
    }

    /// Drops the contents that the act deletes by itself, by request or for lack of room in history.
    pub(super) fn forgotten(&self, doing: &Doing<'_>, after: &Look) {
        let Doing { act, raw: before, base, .. } = doing;
        let mut foreigners = lock(&self.foreigners);
        match act {
            _ if matches!(act, ScenarioAct::Prune(_)) || self.profile.small_history && **act != ScenarioAct::Drop => {
                let (mut pruned, mut there) = (before.originals(), after.for_good());
                // A recovery that came first moved them to history.
                let stays = marks_of(base.values());
                if self.pending.is_some() && !act.recovers() {
                    // History may not rely on a file that a recovery will roll back.
                    let gone: Vec<_> = after.in_files().difference(&stays).copied().collect();
                    let stored = after.stored();
                    there.retain(|mark| !gone.contains(mark) || stored.contains(mark));
                }
                pruned.extend(before.interrupted_slots());
                pruned.extend(before.in_files().difference(&stays));
                foreigners.alive.retain(|mark| there.contains(mark) || !pruned.contains(mark));
            }
            ScenarioAct::Drop => {
                let (mut dropped, there) = (before.kept(), after.for_good());
                // What is written through an old handle goes with the file that is being dropped.
                let late = foreigners.done.iter().filter(|(deed, _)| matches!(deed, ScenarioDeed::Late(..)));
                dropped.extend(late.filter_map(|(deed, _)| deed.text()).flat_map(marks));
                foreigners.alive.retain(|mark| there.contains(mark) || !dropped.contains(mark));
            }
            _ => {}
        }
    }

    /// Judges whether everything that must not be lost is among `there`.
    pub(super) fn is_alive(&self, there: &ContentMarks) -> Judged {
        let alive = self.alive();
        let lost: Vec<_> = alive.difference(there).map(|mark| mark_text(*mark)).collect();
        if lost.is_empty() { Ok(()) } else { Err(format!("out of reach: {}", lost.join(", "))) }
    }
}

/// The modes that were staged for the files of a report.
fn staged_modes(modes: Option<&BTreeMap<PathBuf, u32>>, base: &UserFiles, report: &Report) -> Request {
    let mode = |file: &FileReport| {
        let goal = places(file, report, base).1;
        modes.and_then(|modes| modes.get(&goal)).map(|mode| Mode::Bits(*mode))
    };
    let file =
        |file: &FileReport| FileRequest { mode: mode(file), ..FileRequest::new(file.path.clone(), Change::Mode) };
    Request { files: report.files.iter().map(file).collect(), ..Request::default() }
}

pub(super) const fn moves(deed: &ScenarioDeed) -> bool {
    matches!(deed, ScenarioDeed::Move(..) | ScenarioDeed::Exchange(..))
}

/// The permitted differences between two runs of the same act.
#[derive(Debug, Clone, Copy)]
struct Leeway<'a> {
    /// True if there was a check: files that were rolled back have the time of their run.
    any_time: bool,
    /// A folder that could not be removed may stay, if one of these names it.
    warnings: &'a [String],
}

/// Judges whether the files look as `expected`, and unchanged ones are the same inodes as in `base`.
fn is_as(expected: &UserFiles, base: &UserFiles, files: &UserFiles, leeway: Leeway<'_>) -> Judged {
    let Leeway { any_time, warnings } = leeway;
    let stays = told_to_stay(files, warnings);
    for path in expected.keys().chain(files.keys()) {
        let wanted = expected.get(path);
        let is = match (wanted, base.get(path)) {
            (Some(_), Some(old)) if same(wanted, Some(old), true) => {
                let is = files.get(path);
                let timed = is.filter(|_| any_time).map(|is| {
                    // A folder that the check removed was made again, at another time.
                    let is_folder = is.kind == FileKind::Folder && is.identity.inode == old.identity.inode;
                    let identity = if is_folder { old.identity } else { is.identity };
                    SimEntry { modified: old.modified, identity, ..is.clone() }
                });
                same(timed.as_ref().or(is), wanted, true)
            }
            (None, _) if stays.contains(path) => true,
            _ => alike(files.get(path), wanted),
        };
        if !is {
            let (is, should) = (told(files, path), told(expected, path));
            return Err(format!("{} is {is}; it should be {should}", path.display()));
        }
    }
    Ok(())
}
