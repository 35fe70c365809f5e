//! Foreign programs on the simulated machine, and their contents that must not be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::answer::relative;
use super::data::{ScenarioCheck, ScenarioDeed, ScenarioHandles};
use super::deed::{at, perform};
use super::disturb::swaps;
use super::look::{ContentMarks, Look, alike, differences, marks, marks_of};
use crate::check::{CheckCall, Checker, Ended, Verdict};
use crate::fs::FileKind;
use crate::fs::sim::{self, SimEntry, SimFs};
use crate::path::STATE_FOLDER;
use crate::testing::run::lock;
use crate::testing::script::ROOT;
use crate::testing::world::UserFiles;

/// All foreign programs together.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what happened, each independent of the others")]
pub(super) struct Foreigners {
    /// Their open files, and the path at which each was opened.
    held: ScenarioHandles<(PathBuf, sim::SimHeldFile)>,
    /// The marks of contents that must not be lost, whoever wrote them.
    pub(super) alive: ContentMarks,
    /// Those of them that were written since the act began.
    pub(super) fresh: ContentMarks,
    /// Their effective deeds since the act began, and whether a check did each.
    pub(super) done: Vec<(ScenarioDeed, bool)>,
    /// The paths that they changed since the act began.
    pub(super) touched: BTreeSet<PathBuf>,
    /// Paths at which one of them opened a file that did not exist before the act.
    opened_new: BTreeSet<PathBuf>,
    /// The file in the trash that the engine is about to unlink. It was verified: what is written to it from then on is
    /// lost with it, as docs/recovery.md says.
    unlinked_next: Option<PathBuf>,
    /// The states of those paths before and after the last deed of consecutive ones.
    pub(super) left: BTreeMap<PathBuf, [Option<SimEntry>; 2]>,
    /// A folder was moved.
    moved_folder: bool,
    /// A folder was moved before a target was swapped.
    pub(super) moved_before_swap: bool,
    /// The paths that they moved since the last swap.
    pub(super) moved_since: Vec<PathBuf>,
    /// True if the act has a check, which cannot be distinguished from foreign programs.
    pub(super) is_checked: bool,
    /// The files before the act.
    pub(super) base: Arc<UserFiles>,
    /// The files before interrupted acts, and their possible results.
    pub(super) older: Vec<Arc<UserFiles>>,
    /// True if any of them ever did anything.
    pub(super) were_here: bool,
    /// The paths that they ever changed or had open.
    pub(super) ever: BTreeSet<PathBuf>,
    /// The paths that they ever moved something from or to, or deleted.
    pub(super) ever_moved: BTreeSet<PathBuf>,
    /// True if any of them did anything during an act.
    pub(super) meddled: bool,
    /// True if they do not exchange through symlinks: the effects elsewhere would be their own.
    pub(super) stays_inside: bool,
}

impl Foreigners {
    /// The same programs on another machine.
    pub(super) fn on(&self, machine: &SimFs) -> Self {
        let held =
            self.held.iter().filter_map(|(number, held)| Some((*number, (held.0.clone(), held.1.on(machine).ok()?))));
        Self {
            held: held.collect(),
            alive: self.alive.clone(),
            fresh: ContentMarks::new(),
            done: Vec::new(),
            touched: BTreeSet::new(),
            opened_new: BTreeSet::new(),
            unlinked_next: None,
            left: BTreeMap::new(),
            moved_folder: false,
            moved_before_swap: false,
            moved_since: Vec::new(),
            is_checked: self.is_checked,
            base: Arc::clone(&self.base),
            older: self.older.clone(),
            were_here: self.were_here,
            ever: self.ever.clone(),
            ever_moved: self.ever_moved.clone(),
            meddled: self.meddled,
            stays_inside: self.stays_inside,
        }
    }

    /// Starts an act: what was done in the one before is past.
    pub(super) fn begin(&mut self, is_checked: bool) {
        self.is_checked = is_checked;
        self.done.clear();
        self.touched.clear();
        self.opened_new.clear();
        self.left.clear();
        self.moved_folder = false;
        self.moved_before_swap = false;
        self.moved_since.clear();
        self.fresh.clear();
    }

    /// Performs a deed. What the deed itself destroys is its own loss; what it adds must not be lost by others.
    pub(super) fn act(&mut self, machine: &SimFs, deed: &ScenarioDeed, by_check: bool) {
        if self.stays_inside && leads_away(machine, deed) {
            return;
        }
        let before = Look::of(machine);
        if perform(machine, deed, &mut self.held).is_err() {
            let is_its_own = by_check && is_its_own(machine, deed);
            self.touched.extend(deed.paths().into_iter().filter(|_| is_its_own).map(PathBuf::from));
            return;
        }
        let after = Look::of(machine);
        let (had, left) = (before.in_files(), after.in_files());
        self.alive.retain(|mark| left.contains(mark) || !had.contains(mark));
        let have = after.anywhere();
        let mut new: ContentMarks = deed.text().map(marks).unwrap_or_default().intersection(&have).copied().collect();
        if let Some(Ok(content)) = self.unlinked_next.as_ref().map(|path| machine.read(path)) {
            let unlinked = marks(&String::from_utf8_lossy(&content));
            new.retain(|mark| !unlinked.contains(mark));
        }
        self.alive.extend(&new);
        // A power loss may tear the whole file that was written and not synced.
        self.fresh.extend(after.beside(&new));
        self.fresh.extend(new);
        if let ScenarioDeed::Save(path) = deed {
            self.fresh.extend(marks_of(after.files.get(Path::new(path)).into_iter()));
        }
        let changed = differences(&before.files, &after.files);
        self.give_up(&changed, &before.files, &after.files);
        // This includes names: a move or a link is durable only after their sync.
        let moved = changed.iter().filter_map(|path| before.files.get(*path));
        self.fresh.extend(moved.flat_map(|entry| marks(&String::from_utf8_lossy(&entry.content))));
        // Two empty folders look the same but differ, and so do files that differ only in time.
        let is_seen = !changed.is_empty() || leaves_no_trace(deed);
        let mut paths: BTreeSet<PathBuf> = deed.paths().into_iter().map(PathBuf::from).collect();
        // A deed through a symlink changes its target, even if that looks the same afterwards.
        if changes_permissions(deed) {
            paths.extend(
                deed.paths().into_iter().map(|path| relative(Path::new(&path), Path::new(ROOT), &before.files)),
            );
        }
        // What a check moves is its own, with all its content.
        paths.extend(changed.iter().filter(|_| self.is_checked).map(|path| (*path).clone()));
        self.touched.extend(changed.into_iter().cloned());
        self.touched.extend(paths.iter().cloned());
        for path in paths {
            let [mut old, new] = [&before, &after].map(|look| look.files.get(&path).cloned());
            if let Some([first, last]) = self.left.remove(&path)
                && alike(last.as_ref(), old.as_ref())
            {
                old = first;
            }
            self.left.insert(path, [old, new]);
        }
        self.note_handles(deed, &after.files);
        let names = self.touched.iter().flat_map(|path| other_names(&self.base, path));
        let twins: Vec<_> = names.filter(|name| !self.touched.contains(*name)).cloned().collect();
        self.touched.extend(twins);
        self.ever.extend(self.touched.iter().cloned());
        self.note_moves(deed, &before.files);
        self.were_here |= !matches!(deed, ScenarioDeed::Hold(..));
        // A deed without effect, such as setting a mode that is already set, cannot be noticed.
        if is_seen {
            self.done.push((deed.clone(), by_check));
        }
    }

    /// Records what they move away, or delete.
    fn note_moves(&mut self, deed: &ScenarioDeed, before: &UserFiles) {
        match deed {
            ScenarioDeed::Move(from, to) | ScenarioDeed::Exchange(from, to) => {
                self.moved_since.extend([from, to].map(PathBuf::from));
                self.ever_moved.extend([from, to].map(PathBuf::from));
                self.moved_folder |= before.get(Path::new(from)).is_some_and(|entry| entry.kind == FileKind::Folder);
            }
            ScenarioDeed::Delete(path) => drop(self.ever_moved.insert(path.into())),
            _ => {}
        }
    }

    /// Records the files that they open, and write to through the handle.
    fn note_handles(&mut self, deed: &ScenarioDeed, after: &UserFiles) {
        match deed {
            ScenarioDeed::Hold(_, path) => {
                let identity = |files: &UserFiles| files.get(Path::new(path)).map(|entry| entry.identity);
                if identity(after) != identity(&self.base) {
                    self.opened_new.insert(path.into());
                }
            }
            ScenarioDeed::Late(number, _) => self.touched.extend(self.held.get(number).map(|(path, _)| path.clone())),
            _ => {}
        }
    }

    /// Drops what a deed overwrites itself, if it only remains in the new content of a transaction.
    fn give_up(&mut self, changed: &BTreeSet<&PathBuf>, before: &UserFiles, after: &UserFiles) {
        let of = |files: &UserFiles, path: &PathBuf| {
            files.get(path).map(|entry| marks(&String::from_utf8_lossy(&entry.content)))
        };
        let all =
            |files: &UserFiles| changed.iter().filter_map(|path| of(files, path)).flatten().collect::<ContentMarks>();
        let (had, has) = (all(before), all(after));
        let is_new = |mark| {
            let mut there = after.keys().filter(|path| of(after, path).is_some_and(|marks| marks.contains(mark)));
            let lacks = |files: &UserFiles, path| of(files, path).is_none_or(|marks| !marks.contains(mark));
            // Others moved the original away, and its own path has the new content.
            let is_staged = |path: &PathBuf| {
                let is_it = |old: &SimEntry| after.get(path).is_some_and(|new| new.identity == old.identity);
                !self.older.iter().chain([&self.base]).any(|files| files.values().any(is_it))
            };
            there.all(|path| {
                lacks(&self.base, path) || self.older.iter().any(|older| lacks(older, path)) || is_staged(path)
            })
        };
        let lost: Vec<_> = had.difference(&has).filter(|mark| is_new(mark)).copied().collect();
        self.alive.retain(|mark| !lost.contains(mark));
    }

    /// Returns whether all that they wrote to a path went into a file that they opened there and that is newer than the
    /// act.
    pub(super) fn wrote_only_new(&self, path: &Path) -> bool {
        let is_other = |deed: &ScenarioDeed| {
            let is_write = !matches!(deed, ScenarioDeed::Hold(..)) && !deed.changes_metadata();
            is_write && deed.paths().iter().any(|other| path.starts_with(other))
        };
        self.opened_new.contains(path) && !self.done.iter().any(|(deed, _)| is_other(deed))
    }

    /// Returns whether the act made this file: it was neither there before, nor did one of them leave it.
    pub(super) fn is_new(&self, file: &SimEntry) -> bool {
        let left = self.left.values().flatten().flatten();
        !self.base.values().chain(left).any(|other| other.identity == file.identity)
    }

    /// Returns whether they changed metadata of a path.
    pub(super) fn changed_metadata(&self, path: &Path) -> bool {
        self.done
            .iter()
            .any(|(deed, _)| deed.changes_metadata() && deed.paths().iter().any(|other| path.starts_with(other)))
    }

    /// Called before each call of the engine, and before what others do before it.
    pub(super) fn expect(&mut self, call: &sim::SimCall<'_>) {
        let is_trash = call.path.starts_with(Path::new(ROOT).join(STATE_FOLDER).join("trash"));
        self.unlinked_next = (call.verb == "unlink" && is_trash).then(|| call.path.to_owned());
    }

    /// Called before each call of the engine, after what others do before it.
    pub(super) fn note(&mut self, call: &sim::SimCall<'_>) {
        self.unlinked_next = None;
        if swaps(call) {
            self.moved_before_swap |= self.moved_folder;
            self.moved_since.clear();
        }
    }

    /// Drops the handles, after a power loss.
    pub(super) fn forget_handles(&mut self) {
        self.held.clear();
    }
}

/// Returns whether what a check meant to change, and could not, is its own: others were faster. But a name that was to be new is
/// not, unless there was nothing to give it to.
fn is_its_own(machine: &SimFs, deed: &ScenarioDeed) -> bool {
    !matches!(deed, ScenarioDeed::Link(of, _) if machine.exists(at(of)))
}

/// Returns whether the target of an exchange is behind a symlink.
fn leads_away(machine: &SimFs, deed: &ScenarioDeed) -> bool {
    let is_symlink =
        |folder: &Path| machine.stat(at(&folder.to_string_lossy())).is_ok_and(|stat| stat.kind == FileKind::Symlink);
    let mut paths = deed.paths().into_iter().map(PathBuf::from);
    matches!(deed, ScenarioDeed::Exchange(..)) && paths.any(|path| path.ancestors().skip(1).any(is_symlink))
}

/// The other names of a file: metadata set on the new content under one name moves to the original at the rollback, and
/// is visible at all of them.
fn other_names<'f>(files: &'f UserFiles, path: &Path) -> impl Iterator<Item = &'f PathBuf> {
    let file = files.get(path).filter(|entry| entry.names > 1);
    file.into_iter()
        .flat_map(|file| files.iter().filter(|(_, other)| other.identity == file.identity).map(|(path, _)| path))
}

/// Runs the check of an act, which is not a process but a few deeds.
pub(super) struct ScenarioChecker {
    pub(super) machine: SimFs,
    pub(super) foreigners: Arc<Mutex<Foreigners>>,
    pub(super) gate: Option<ScenarioCheck>,
}

impl fmt::Debug for ScenarioChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnMachine")
    }
}

impl Checker for ScenarioChecker {
    fn run(&self, _call: &CheckCall<'_>) -> io::Result<Ended> {
        let mut passes = true;
        if let Some(gate) = &self.gate {
            for deed in &gate.deeds {
                lock(&self.foreigners).act(&self.machine, deed, true);
            }
            passes = gate.passes;
        }
        let verdict = if passes { Verdict::Passed } else { Verdict::Failed("exit status: 1".to_owned()) };
        Ok(Ended { verdict, tail: String::new(), took: Duration::ZERO })
    }
}

/// True if the files may look the same after a deed that did something.
const fn leaves_no_trace(deed: &ScenarioDeed) -> bool {
    matches!(
        deed,
        ScenarioDeed::Hold(..)
            | ScenarioDeed::Late(..)
            | ScenarioDeed::Move(..)
            | ScenarioDeed::Exchange(..)
            | ScenarioDeed::Forge(..)
            | ScenarioDeed::Save(..)
    )
}

const fn changes_permissions(deed: &ScenarioDeed) -> bool {
    matches!(
        deed,
        ScenarioDeed::Chmod(..)
            | ScenarioDeed::Chown(..)
            | ScenarioDeed::SetAttribute(..)
            | ScenarioDeed::RemoveAttribute(..)
    )
}
