//! Judges acts that were refused or rolled back: only the changes of others are visible, or the answer says otherwise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::answer::{ScenarioComparison, judge_answer};
use super::claims::told_to_stay;
use super::data::{Ask, ScenarioAct, ScenarioDeed};
use super::foreigner::Foreigners;
use super::judge::{Doing, Judged};
use super::look::{ContentMarks, Look, alike, marks_of};
use super::run::{EITHER_WAY, ScenarioWorld};
use crate::engine::Decision;
use crate::error::{Error, ErrorKind, KeptContent, Outcome};
use crate::fs::FileKind;
use crate::fs::sim::SimEntry;
use crate::testing::check::told;
use crate::testing::run::lock;
use crate::testing::script::ROOT;
use crate::testing::world::{UserFiles, has_their_metadata, same_metadata};

impl ScenarioWorld {
    /// Judges an act that was refused or rolled back.
    pub(super) fn judge_refused(&self, doing: &Doing<'_>, look: &Look, error: &Error) -> Judged {
        let Doing { act, start, base, .. } = doing;
        // The previous transaction may then be the newest, and conflict.
        let is_gone = matches!(error.kind(), ErrorKind::UnknownTransaction | ErrorKind::UndoConflict);
        let is_forgotten = is_gone && self.may_be_forgotten();
        if !doing.failed && self.must_be_undone(act) && !is_forgotten && !self.is_beside_untrusted(error) {
            return Err("an undo is refused, though nobody interfered".to_owned());
        }
        if self.must_be_undone_since(doing) {
            return Err("an undo of all is refused, though nobody interfered".to_owned());
        }
        if !doing.failed && error.outcome() == Outcome::PartlyRolledBack && self.only_its_check_acted() {
            return Err(format!("nobody but its check acted, and not all is old: {:?}", error.not_old()));
        }
        let touched = self.touched_by(act);
        let compared = ScenarioComparison {
            root: Path::new(ROOT),
            before: base,
            after: &look.files,
            touched: &touched,
            checked: self.had_check,
        };
        let mut around: BTreeSet<PathBuf> =
            touched.iter().flat_map(|path| path.ancestors().map(PathBuf::from)).collect();
        // Files that the earlier recovery restored are not the same inodes as without this act.
        around.extend(self.pending.iter().flat_map(|pending| pending.tainted.iter().cloned()));
        // Nor are folders that it reports as left.
        around.extend(told_to_stay(&look.files, error.warnings()));
        judge_answer(ScenarioComparison { touched: &around, ..compared }, None, Err(error))?;
        let foreigners = lock(&self.foreigners);
        let Some(start) = start.as_ref().filter(|_| !foreigners.done.is_empty()) else { return Ok(()) };
        let done = &foreigners.done[..];
        let by_check = done.iter().position(|(_, by_check)| *by_check);
        let asked = match act {
            ScenarioAct::Apply(asks, _) => asks.iter().flat_map(Ask::paths).map(PathBuf::from).collect(),
            ScenarioAct::Commit(number, _) => self.staged_paths.get(number).cloned().unwrap_or_default(),
            _ => BTreeSet::new(),
        };
        let refused = ScenarioRefusal {
            base,
            files: &look.files,
            error,
            failed: doing.failed,
            foreigners: &foreigners,
            asked,
            expected: replayed(start, done, None),
            at_check: by_check.map(|first| replayed(start, &done[..first], None)),
            in_check: before_checks(act, start, done),
            earlier: if touched.iter().any(|path| has_other_names(base, path)) {
                (0..done.len()).map(|first| replayed(start, &done[..first], None)).collect()
            } else {
                Vec::new()
            },
            may_be: self.pending.iter().flat_map(|pending| pending.allowed.iter().cloned()).collect(),
            // The interrupted transaction was recovered first.
            recovered: match &self.pending {
                Some(_) => (0..=done.len())
                    .flat_map(|first| EITHER_WAY.iter().map(move |way| replayed(start, done, Some((first, *way)))))
                    .collect(),
                None => Vec::new(),
            },
            all: self.machine.entries(ROOT).unwrap_or_default().into_iter().collect(),
            kept_before: error.warnings().iter().flat_map(|told| kept_by(told)).collect(),
        };
        touched.iter().try_for_each(|path| refused.judge(path))
    }

    /// Returns whether all that others did in this act was done by its check, in the place of files.
    fn only_its_check_acted(&self) -> bool {
        let in_place = |deed: &ScenarioDeed| {
            matches!(
                deed,
                ScenarioDeed::Write(..) | ScenarioDeed::Append(..) | ScenarioDeed::Replace(..) | ScenarioDeed::Save(..)
            )
        };
        let foreigners = lock(&self.foreigners);
        self.pending.is_none() && foreigners.done.iter().all(|(deed, by_check)| *by_check && in_place(deed))
    }

    /// Returns whether an undo is refused because the state folder has, under the id of a newer transaction (or of any,
    /// if history was pruned), something that is not an acknowledged transaction.
    fn is_beside_untrusted(&self, error: &Error) -> bool {
        let Some(id) = error.transaction().filter(|_| error.kind() == ErrorKind::RecoveryRequired) else {
            return false;
        };
        let is_newer = self.is_pruned || self.committed.iter().all(|committed| committed.id.as_str() < id);
        let is_it = |path: &Path| path.components().any(|name| name.as_os_str() == id);
        is_newer && self.machine.entries(ROOT).is_ok_and(|entries| entries.iter().any(|(path, _)| is_it(path)))
    }
}

/// The files at each moment at which a check may have begun, with all foreign changes, including later writes through
/// open files: those stay, and everything else done later is removed together with the check's changes.
fn before_checks(act: &ScenarioAct, start: &ScenarioWorld, done: &[(ScenarioDeed, bool)]) -> Vec<Arc<UserFiles>> {
    if act.gate().is_none() {
        return Vec::new();
    }
    let late = |deeds: &[(ScenarioDeed, bool)]| -> Vec<_> {
        deeds
            .iter()
            .filter(|(deed, _)| matches!(deed, ScenarioDeed::Late(..) | ScenarioDeed::Append(..)))
            .cloned()
            .collect()
    };
    let begun = |first: usize| {
        let (before, within) = done.split_at(first);
        [before.to_vec(), [before, &late(within)].concat()]
    };
    // Changes of a file that is back stay as well.
    let by_others: Vec<_> = done.iter().filter(|(_, by_check)| !by_check).cloned().collect();
    (0..=done.len()).flat_map(begun).chain([by_others]).map(|deeds| replayed(start, &deeds, None)).collect()
}

/// The files without the act, with a recovery after the first so many deeds, if any.
fn replayed(
    start: &ScenarioWorld,
    done: &[(ScenarioDeed, bool)],
    recovered: Option<(usize, Decision)>,
) -> Arc<UserFiles> {
    let mut others = start.fork();
    for number in 0..=done.len() {
        if let Some((_, way)) = recovered.filter(|(first, _)| *first == number) {
            others.recover(way);
        }
        if let Some((deed, by_check)) = done.get(number) {
            lock(&others.foreigners).act(&others.machine, deed, *by_check);
        }
    }
    Arc::clone(&others.look().files)
}

/// The files after a refusal, and the alternatives.
struct ScenarioRefusal<'a> {
    /// The files before.
    base: &'a UserFiles,
    /// The files now.
    files: &'a UserFiles,
    error: &'a Error,
    /// True if a call failed: changes at the moment in which their file was rolled back may be lost, if that is
    /// reported.
    failed: bool,
    foreigners: &'a Foreigners,
    /// The paths that the act was to change.
    asked: BTreeSet<PathBuf>,
    /// The files without the act.
    expected: Arc<UserFiles>,
    /// The files, with the changes of others, when the check began.
    at_check: Option<Arc<UserFiles>>,
    /// Possible files when the check ended.
    in_check: Vec<Arc<UserFiles>>,
    /// If others wrote to a file with several names: the files after the first of their deeds.
    earlier: Vec<Arc<UserFiles>>,
    /// Possible results of the recovery that came first.
    may_be: Vec<Arc<UserFiles>>,
    /// The results of a recovery alone, as decided, and in each way.
    recovered: Vec<Arc<UserFiles>>,
    /// Everything in the workspace, the state folder included.
    all: UserFiles,
    /// The contents that the recovery that came first reports as kept.
    kept_before: Vec<KeptContent>,
}

impl ScenarioRefusal<'_> {
    fn judge(&self, path: &PathBuf) -> Judged {
        let is_as_recovered = || self.recovered.iter().any(|files| alike(self.files.get(path), files.get(path)));
        let is_fine = alike(self.files.get(path), self.expected.get(path))
            || self.is_told(path)
            || self.is_other_name_of_told(path)
            || self.is_left(path)
            || is_as_recovered()
            || self.is_back(path)
            || self.is_in_moved_folder(path)
            || self.is_where_it_was(path)
            || self.is_as_new(path)
            || self.was_recovered_before_it_moved(path)
            || self.went_with_the_new_one(path)
            || self.is_beyond_a_symlink(path)
            || self.moved_with_the_new_one(path);
        if is_fine {
            return Ok(());
        }
        let (is, was) = (told(self.files, path), told(&self.expected, path));
        Err(format!(
            "{:?}, and {} is {is}; without the act it would be {was}, and nothing tells of it",
            self.error.outcome(),
            path.display()
        ))
    }

    /// Returns whether the answer names it, or the kept folder that contains it.
    fn is_told(&self, path: &Path) -> bool {
        let before = marks_of(self.base.get(path).into_iter());
        let has_added = |kept: &SimEntry, theirs: &SimEntry| {
            let added: ContentMarks = marks_of(std::iter::once(theirs)).difference(&before).copied().collect();
            !added.is_empty() && added.is_subset(&marks_of(std::iter::once(kept)))
        };
        let is_of = |kept: &SimEntry, theirs: &SimEntry| {
            let [in_kept, in_theirs] = [kept, theirs].map(|entry| marks_of(std::iter::once(entry)));
            kept.content == theirs.content || !in_theirs.is_empty() && in_kept == in_theirs
        };
        let is_in = |kept: &KeptContent, known_as: &Path| {
            let (Ok(was), Ok(is)) = (kept.path.strip_prefix(ROOT), kept.kept_path.strip_prefix(ROOT)) else {
                return false;
            };
            let inside = known_as.strip_prefix(was).ok();
            // They may have set permissions on the new content.
            let only_metadata = content(self.base.get(path)) == content(self.expected.get(path));
            inside.is_some_and(|inside| match (self.all.get(&is.join(inside)), self.expected.get(path)) {
                (Some(kept), Some(theirs))
                    if only_metadata && has_their_metadata(kept, theirs, self.base.get(path)) =>
                {
                    true
                }
                // They may have appended to the new file what they appended to the old one.
                (Some(kept), Some(theirs)) if self.asked.contains(path) && has_added(kept, theirs) => true,
                // They moved its folder with the new file, as the request asked.
                (Some(kept), Some(theirs)) if self.was_asked_before_it_moved(path) && is_of(kept, theirs) => true,
                // They did, and the old file is at its own path again.
                (Some(_), Some(_)) if self.is_back_where_it_was(path) => true,
                (kept, theirs) => alike(kept, theirs),
            })
        };
        // By its path before others moved its folder.
        let was_moved =
            |kept: &KeptContent| self.other_ends(path).any(|at| kept.path.ends_with(&at) || is_in(kept, &at));
        // By the recovery that came first: its content differs, and its metadata is its own.
        let named = format!("{} is not as it was", path.display());
        let is_another = content(self.files.get(path)) != content(self.expected.get(path));
        is_another && self.error.warnings().iter().any(|told| told.contains(&named))
            || self.error.kept().iter().any(|kept| kept.path.ends_with(path) || is_in(kept, path) || was_moved(kept))
            || self.kept_before.iter().any(|kept| is_in(kept, path) || self.other_ends(path).any(|at| is_in(kept, &at)))
            || self.error.not_old().iter().any(|left| {
                let left_at = left.path.strip_prefix(ROOT).unwrap_or(&left.path);
                // The content of another program's folder belongs to it.
                (left_at == path || self.moved(left_at) == path) && (left.on_top || self.failed)
                    || left_at != path && path.starts_with(left_at)
            })
    }

    /// Returns whether others gave another name to the new file, and wrote into that, which the answer names.
    fn is_other_name_of_told(&self, path: &Path) -> bool {
        let is_it = |named: &Path| {
            let [named, it] = [named, path].map(|path| self.files.get(path).map(|entry| entry.identity));
            it.is_some() && named == it
        };
        let mut named = self.error.not_old().iter().filter_map(|left| left.path.strip_prefix(ROOT).ok());
        named.any(|named| named != path && is_it(named))
    }

    /// Returns whether it is as the last of the others left it. Their changes of a requested file are theirs alone if
    /// it was old at that time.
    fn is_left(&self, path: &PathBuf) -> bool {
        // The same file, with later writes of others.
        let is_original = |before: &SimEntry| {
            let is_it = |other: &SimEntry| other.identity == before.identity && other.content == before.content;
            self.expected.values().any(is_it)
        };
        self.foreigners.left.get(path).is_some_and(|[before, after]| {
            let is_old = alike(before.as_ref(), self.base.get(path)) || before.as_ref().is_some_and(is_original);
            (!self.asked.contains(path) || is_old) && alike(after.as_ref(), self.files.get(path))
        })
    }

    /// Returns whether a recovery that came first made it so, in a folder that others moved meanwhile.
    fn was_recovered_before_it_moved(&self, path: &Path) -> bool {
        let is_so = |own: &PathBuf| self.recovered.iter().any(|files| alike(self.files.get(path), files.get(own)));
        self.other_ends(path).any(|own| is_so(&own))
    }

    fn was_asked_before_it_moved(&self, path: &Path) -> bool {
        self.other_ends(path).any(|own| self.asked.contains(&own))
    }

    /// Returns whether it is another place of a path of the request, where the old content is again.
    fn is_back_where_it_was(&self, path: &Path) -> bool {
        let is_back = |own: &PathBuf| self.asked.contains(own) && alike(self.files.get(own), self.base.get(own));
        self.other_ends(path).any(|own| self.base.contains_key(&own) && is_back(&own))
    }

    /// Returns whether it is old again, and others moved the changed new file away with its folder, which the answer
    /// names.
    fn moved_with_the_new_one(&self, path: &Path) -> bool {
        let is_named = |at: &Path| {
            self.error.not_old().iter().any(|left| left.path.strip_prefix(ROOT).is_ok_and(|left| at.starts_with(left)))
        };
        self.asked.contains(path)
            && alike(self.files.get(path), self.base.get(path))
            && self.other_ends(path).any(|at| self.files.contains_key(&at) && is_named(&at))
    }

    /// Other places of a path's content: the other end of each folder or file that others moved.
    fn other_ends(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let mut ends = BTreeSet::from([path.to_owned()]);
        // The last comes first: what it moved may have been moved before.
        for (deed, _) in self.foreigners.done.iter().rev() {
            let (ScenarioDeed::Move(one, other) | ScenarioDeed::Exchange(one, other)) = deed else { continue };
            let before = |at: &PathBuf| {
                let ends = [(one, other), (other, one)].into_iter();
                ends.filter_map(|(from, to)| Some(Path::new(from).join(at.strip_prefix(to).ok()?))).collect::<Vec<_>>()
            };
            let more: Vec<PathBuf> = ends.iter().flat_map(before).collect();
            ends.extend(more);
        }
        ends.remove(path);
        ends.into_iter()
    }

    /// Returns whether it is old again, and others changed the new file and changed it back.
    fn is_as_new(&self, path: &PathBuf) -> bool {
        let at_check = self.at_check.as_ref().and_then(|files| files.get(path));
        let mut old = [self.base.get(path), at_check].into_iter().flatten();
        self.asked.contains(path)
            && old.any(|old| alike(self.files.get(path), Some(old)))
            && self.foreigners.left.get(path).is_some_and(|[before, after]| alike(before.as_ref(), after.as_ref()))
    }

    /// Returns whether the old content is back, where that is as good as what others made of it.
    fn is_back(&self, path: &PathBuf) -> bool {
        let (is, old, theirs) = (self.files.get(path), self.base.get(path), self.expected.get(path));
        let only_gone = theirs.is_none();
        // The old content, with the permissions that others gave to the new one.
        let is_handed_over = matches!((is, old, theirs), (Some(is), Some(old), Some(theirs))
            if is.content == old.content && same_metadata(is, theirs));
        // `status` lists what a recovery kept.
        let is_back = (alike(is, old) || is_handed_over) && (!self.recovered.is_empty() || only_gone);
        // The check's changes are removed, and earlier changes of others stay.
        let is_as_at_check = only_gone && self.at_check.as_ref().is_some_and(|files| alike(is, files.get(path)));
        let is_as_in_check = only_gone && self.in_check.iter().any(|files| alike(is, files.get(path)));
        // The result of an earlier recovery, in either way.
        let is_recovered = self.may_be.iter().any(|files| alike(is, files.get(path)));
        let is_handed_in_recovery = self.may_be.iter().any(|files| content(files.get(path)) == content(is))
            && self
                .recovered
                .iter()
                .any(|files| matches!((is, files.get(path)), (Some(is), Some(theirs)) if same_metadata(is, theirs)));
        // A folder that was moved away is made again like the present one.
        let is_made_again = only_gone && [old, is].iter().all(|at| is_folder(*at));
        // It is where they took it from, as they left it: its folder was moved, and is made again.
        let is_theirs_here = only_gone && self.expected.values().any(|entry| alike(Some(entry), is));
        // The other name has the old content again as well, whatever was done to the new one.
        let mut earlier = self.earlier.iter().map(|files| files.get(path)).chain([old]);
        let is_twin = has_other_names(self.base, path) && !self.asked.contains(path);
        let is_old_twin = is_twin && earlier.any(|old| content(is) == content(old)) || self.is_link_to_old(path);
        // They had only the new file open, which was removed with their writes.
        let is_metadata_too = is_handed_over || alike(is, old) && !self.foreigners.changed_metadata(path);
        let only_new = self.foreigners.wrote_only_new(path) && is_metadata_too;
        let is_recovered = is_recovered || is_handed_in_recovery;
        is_back
            || is_as_at_check
            || is_as_in_check
            || is_recovered
            || is_made_again
            || is_theirs_here
            || is_old_twin
            || only_new
    }

    /// Returns whether others gave this name to a requested file during the act, and it has the old content again.
    fn is_link_to_old(&self, path: &Path) -> bool {
        self.foreigners.done.iter().any(|(deed, _)| {
            let ScenarioDeed::Link(file, name) = deed else { return false };
            let file = Path::new(file);
            let is_old = content(self.files.get(path)) == content(self.base.get(file));
            Path::new(name) == path && self.asked.contains(file) && is_old
        })
    }

    /// Returns whether others changed metadata of something of another kind than the old one: nothing is handed over
    /// between a file and a folder.
    fn went_with_the_new_one(&self, path: &Path) -> bool {
        let (is, theirs) = (self.files.get(path), self.expected.get(path));
        let at_check = self.at_check.as_ref().and_then(|files| files.get(path));
        // Others may have made it after the act began.
        let old = self.base.get(path).or(at_check);
        let becomes_another = match old.map(|old| old.kind) {
            Some(FileKind::Folder) => self.asked.contains(path),
            Some(FileKind::File) => self.asked.iter().any(|asked| asked != path && asked.starts_with(path)),
            _ => false,
        };
        // The content is theirs, too, where they wrote it through a handle.
        let is_old = |old: Option<&SimEntry>| matches!((is, old), (Some(is), Some(old)) if is.kind == old.kind && same_metadata(is, old));
        becomes_another
            && (is_old(old) || is_old(at_check) || self.in_check.iter().any(|files| is_old(files.get(path))))
            && theirs.map(|it| it.kind) == old.map(|it| it.kind)
            && content(theirs) == content(is)
    }

    /// Returns whether it is as it was, and others changed metadata of a file that was in the place of a symlink then: without the
    /// act they would have changed what that leads to.
    fn is_beyond_a_symlink(&self, path: &Path) -> bool {
        let was_symlink = |at: &Path| self.base.get(at).is_some_and(|entry| entry.kind == FileKind::Symlink);
        let is_asked = |at: &str| self.asked.contains(Path::new(at)) && was_symlink(Path::new(at));
        let is_such = |deed: &ScenarioDeed| deed.changes_metadata() && deed.paths().iter().any(|at| is_asked(at));
        alike(self.files.get(path), self.base.get(path)) && self.foreigners.done.iter().any(|(deed, _)| is_such(deed))
    }

    /// Returns whether others moved its folder away with the new content, and the old one is at its own path again.
    /// What they put there is kept.
    fn is_where_it_was(&self, path: &Path) -> bool {
        let is_aside = |at: &Path| self.error.kept().iter().any(|kept| kept.path == Path::new(ROOT).join(at));
        self.foreigners.done.iter().any(|(deed, _)| {
            let ScenarioDeed::Exchange(one, other) = deed else { return false };
            let (one, other) = (Path::new(one), Path::new(other));
            let is_back = |from: &Path, to: &Path| {
                let own = path.strip_prefix(to).map(|inside| from.join(inside));
                own.is_ok_and(|own| {
                    let at_check = self.at_check.as_ref().and_then(|files| files.get(&own));
                    let mut old = [self.base.get(&own), at_check].into_iter().flatten();
                    let is = self.files.get(&self.moved(&own));
                    let is_given =
                        |old: &SimEntry| self.foreigners.changed_metadata(&own) && content(is) == content(Some(old));
                    // With what a program that had it open wrote into it.
                    let is_theirs = alike(is, self.expected.get(path));
                    let is_old = is_theirs || old.any(|old| alike(is, Some(old)) || is_given(old));
                    self.asked.contains(&own) && is_old && is_aside(to)
                })
            };
            !self.files.contains_key(path) && (is_back(one, other) || is_back(other, one))
        })
    }

    /// The place of a path after others moved the folders above it to free names.
    fn moved(&self, path: &Path) -> PathBuf {
        self.foreigners.done.iter().fold(path.to_owned(), |at, (deed, _)| match deed {
            ScenarioDeed::Move(from, to) => {
                at.strip_prefix(from).map(|inside| Path::new(to).join(inside)).unwrap_or(at)
            }
            _ => at,
        })
    }

    /// Returns whether it is the old file, in the folder that others moved, which the answer names.
    fn is_in_moved_folder(&self, path: &Path) -> bool {
        let named: Vec<_> =
            self.error.path().into_iter().chain(self.error.not_old().iter().map(|left| &*left.path)).collect();
        let is_named = |moved: &Path| named.iter().any(|path| path.strip_prefix(ROOT) == Ok(moved));
        self.foreigners.done.iter().any(|(deed, _)| {
            let (ScenarioDeed::Move(one, other) | ScenarioDeed::Exchange(one, other)) = deed else { return false };
            let (one, other) = (Path::new(one), Path::new(other));
            let is_there = |from: &Path, to: &Path| {
                let inside = path.strip_prefix(from).ok().filter(|inside| !inside.as_os_str().is_empty());
                let is = inside.and_then(|inside| self.files.get(&to.join(inside)));
                is.is_some() && [self.base.get(path), self.expected.get(path)].iter().any(|wanted| alike(is, *wanted))
            };
            (is_named(one) || is_named(other)) && (is_there(one, other) || is_there(other, one))
        })
    }
}

/// The contents that a recovery that came first reports as kept.
fn kept_by(warning: &str) -> impl Iterator<Item = KeptContent> {
    warning.split("; ").filter_map(|part| part.split_once(" is kept as ")).map(|(path, kept_path)| KeptContent {
        path: path.into(),
        kept_path: kept_path.into(),
        reason: String::new(),
    })
}

fn has_other_names(files: &UserFiles, path: &Path) -> bool {
    files.get(path).is_some_and(|entry| entry.names > 1)
}

fn content(entry: Option<&SimEntry>) -> Option<&[u8]> {
    entry.map(|entry| &entry.content[..])
}

fn is_folder(entry: Option<&SimEntry>) -> bool {
    entry.is_some_and(|entry| entry.kind == FileKind::Folder)
}
