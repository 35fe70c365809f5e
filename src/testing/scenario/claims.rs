//! Judges the claims of answers besides the files of a request: kept contents and warnings are compared with the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::answer::ScenarioComparison;
use super::data::ScenarioAct;
use super::judge::{Doing, Judged};
use super::look::Look;
use super::run::{ScenarioAnswer, ScenarioWorld};
use crate::digest::Digest;
use crate::engine::report::{Report, Status};
use crate::error::{Error, ErrorKind, KeptContent, NotOld};
use crate::fs::sim::SimEntry;
use crate::fs::{Attributes, FileKind};
use crate::identity::Identity;
use crate::journal::{self, JournalState, Record, RecordedChange};
use crate::path::STATE_FOLDER;
use crate::plan::Access;
use crate::testing::run::lock;
use crate::testing::script::ROOT;
use crate::testing::world::UserFiles;

/// A workspace after an answer, and the files before the call.
#[derive(Debug, Clone, Copy)]
pub struct Claimed<'a> {
    /// Everything in it, the state folder included, by its path in it.
    pub entries: &'a UserFiles,
    /// The user's files, and the paths that others changed.
    pub compared: ScenarioComparison<'a>,
}

impl Claimed<'_> {
    /// Judges whether each content reported as kept exists, and is one that may need keeping.
    pub fn judge_kept(&self, kept: &[KeptContent]) -> Result<(), String> {
        kept.iter().try_for_each(|kept| {
            self.judge_one(kept)
                .map_err(|what| format!("{} {what}; the answer says {kept:?}", kept.kept_path.display()))
        })
    }

    fn judge_one(&self, kept: &KeptContent) -> Result<(), &'static str> {
        let (path, place) = (self.inside(&kept.path)?, self.inside(&kept.kept_path)?);
        let Ok(inner) = place.strip_prefix(Path::new(STATE_FOLDER).join("kept")) else {
            let stays = place == path && (self.entries.contains_key(place) || self.compared.is_touched(path));
            return if stays { Ok(()) } else { Err("is neither in kept/ nor where it was") };
        };
        let entry = self.entries.get(place).ok_or("is not there")?;
        let mut parts = inner.iter().filter_map(|part| part.to_str());
        let (Some(id), Some(slot), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err("is no name in the folder of a transaction");
        };
        let record = self.record(id, slot).ok_or("is in a folder whose journal does not tell of it")?;
        // Content from the place of one of its folders is reported with that folder's path.
        let above = journal::kept_place(slot).map_or(0, |(_, above)| above);
        if record.path.as_path().ancestors().nth(above) != Some(path) {
            return Err("belongs to another path, by its journal");
        }
        // If another program wrote over the new content, the original is kept because of that.
        let is_theirs = ["another program's content", "or another program, wrote"];
        if is_theirs.iter().any(|theirs| kept.reason.contains(theirs)) && is_original(&record, entry) {
            return Err("holds the original, unchanged, which is nobody else's");
        }
        Ok(())
    }

    /// Each folder of kept contents must be reported.
    pub fn judge_folders(&self, told: &[String]) -> Result<(), String> {
        let section = Path::new(STATE_FOLDER).join("kept");
        let is_one = |path: &Path, entry: &SimEntry| path.parent() == Some(&section) && entry.kind == FileKind::Folder;
        let mut folders = self.entries.iter().filter(|(path, entry)| is_one(path, entry)).map(|(path, _)| path);
        let is_told = |path: &PathBuf| told.iter().any(|id| path.ends_with(id));
        folders.find(|path| !is_told(path)).map_or(Ok(()), |path| Err(format!("nothing tells of {}", path.display())))
    }

    /// Judges whether paths reported as not restored can hold another program's content.
    pub fn judge_not_old(&self, left: &[NotOld]) -> Result<(), String> {
        let is_free = !self.compared.touched.is_empty() || self.compared.checked;
        match left.first() {
            Some(left) if !is_free => Err(format!("nobody was at {}; the answer says {left:?}", left.path.display())),
            _ => Ok(()),
        }
    }

    /// Judges whether a warning is true of the paths that it names.
    pub fn judge_warning(&self, warning: &str) -> Result<(), String> {
        self.is_true(warning).map_err(|what| format!("{what}; the warning says {warning:?}"))
    }

    fn is_true(&self, warning: &str) -> Result<(), String> {
        let is_folder = |path: &Path| self.entries.get(path).is_some_and(|entry| entry.kind == FileKind::Folder);
        if let Some(rest) = warning.strip_prefix("an interrupted transaction, ")
            && let Some((id, rest)) = rest.split_once(", ")
        {
            let is_there = self.entries.contains_key(&Path::new(STATE_FOLDER).join("txn").join(id));
            let is_left = rest.starts_with("is left as it is: ");
            if is_there != is_left {
                return Err(format!("it is there: {is_there}"));
            }
            return rest.split("; ").try_for_each(|part| self.is_true(part));
        }
        if let Some((path, why)) = warning.split_once(" stays, which the undone transaction had made: ") {
            let path = self.inside(Path::new(path))?;
            let is_empty = !self.entries.keys().any(|other| other.parent() == Some(path));
            let is_wrong = !is_folder(path) || why == "it is not empty" && is_empty;
            return if is_wrong && !self.compared.is_touched(path) { Err("it does not".to_owned()) } else { Ok(()) };
        }
        if let Some((path, rest)) = warning.split_once(" had ")
            && let Some((links, _)) = rest.split_once(" hard links; ")
        {
            let before = self.compared.before.get(Path::new(path));
            let is_so = before.is_some_and(|before| before.names.to_string() == links);
            let is_free = self.compared.is_touched(Path::new(path)) || !self.compared.touched.is_empty();
            return if is_so || is_free { Ok(()) } else { Err(format!("it was {before:?}")) };
        }
        if let Some(rest) = warning.strip_prefix("the check changed ")
            && let Some((path, _)) = rest.split_once("; ")
        {
            let is_so = self.compared.is_touched(Path::new(path));
            return if is_so { Ok(()) } else { Err("nobody changed it".to_owned()) };
        }
        if let Some((_, slot)) = warning.split_once(" is gone from ") {
            let is_gone = !self.entries.contains_key(self.inside(Path::new(slot))?);
            return if is_gone { Ok(()) } else { Err("it is there".to_owned()) };
        }
        if let Some((_, rest)) = warning.split_once(" is still at ") {
            let place = rest.split(',').next().unwrap_or_default();
            let is_it = self.is_original_at(self.inside(Path::new(place))?)?;
            return if is_it { Ok(()) } else { Err("something else is there".to_owned()) };
        }
        if let Some((path, rest)) = warning.split_once(" is new: ")
            && rest.contains(" is in history")
        {
            return self.is_in_history(Path::new(path));
        }
        if let Some((_, rest)) = warning.split_once(" is in ") {
            let place = rest.split([' ', ',']).next().unwrap_or_default();
            return self.is_late(self.inside(Path::new(place))?);
        }
        Ok(())
    }

    /// Judges whether history has another content of a path than the original in the journal. It may be pruned already.
    fn is_in_history(&self, path: &Path) -> Result<(), String> {
        let section = Path::new(STATE_FOLDER).join("history");
        let is_of_path = |place: &&PathBuf| {
            let mut parts = place.iter().filter_map(|part| part.to_str()).skip(2);
            let (Some(id), Some(slot), None) = (parts.next(), parts.next(), parts.next()) else { return false };
            self.record_in("history", id, slot).is_some_and(|record| record.path.as_path() == path)
        };
        let slots = self.entries.keys().filter(|place| place.starts_with(&section)).filter(is_of_path);
        let are_original = slots.map(|slot| self.is_original_at(slot)).collect::<Result<Vec<_>, _>>()?;
        let is_only_original = !are_original.is_empty() && are_original.iter().all(|it| *it);
        if is_only_original { Err("history has the original, and nothing else".to_owned()) } else { Ok(()) }
    }

    /// Judges whether a place in the state folder has a content other than the original in its journal.
    fn is_late(&self, place: &Path) -> Result<(), String> {
        let is_old = self.is_original_at(place)?;
        if is_old { Err("the original is there, and nothing else".to_owned()) } else { Ok(()) }
    }

    /// Returns whether a place in the state folder has the original in its journal.
    fn is_original_at(&self, place: &Path) -> Result<bool, String> {
        let entry = self.entries.get(place).ok_or("nothing is there")?;
        let mut parts = place.iter().filter_map(|part| part.to_str()).skip(2);
        let (Some(id), Some(slot)) = (parts.next(), parts.next()) else { return Ok(false) };
        let section = place.iter().nth(1).and_then(|part| part.to_str()).unwrap_or_default();
        Ok(self.record_in(section, id, slot).is_some_and(|record| is_original(&record, entry)))
    }

    /// Judges whether an open transaction reported as discarded has no commit, interrupted or done.
    pub fn judge_dropped(&self, opened: &str) -> Result<(), String> {
        let is_in = |path: &Path, section: &str| path.starts_with(Path::new(STATE_FOLDER).join(section));
        let is_journal =
            |path: &Path| JournalState::ALL.iter().any(|journal_state| path.ends_with(journal_state.file_name()));
        let is_its_commit = |path: &Path, entry: &SimEntry| {
            (is_in(path, "txn") || is_in(path, "history"))
                && is_journal(path)
                && journal::scan(&entry.content).is_ok_and(|journal| journal.header.opened.as_deref() == Some(opened))
        };
        match self.entries.iter().find(|(path, entry)| is_its_commit(path, entry)) {
            Some((path, _)) => Err(format!("said to be dropped, and {} is its commit", path.display())),
            None => Ok(()),
        }
    }

    fn inside<'p>(&self, path: &'p Path) -> Result<&'p Path, &'static str> {
        path.strip_prefix(self.compared.root).map_err(|_| "is outside the workspace")
    }

    /// The record of a slot, from the journal of its kept folder.
    fn record(&self, id: &str, slot: &str) -> Option<Record> {
        self.record_in("kept", id, slot)
    }

    fn record_in(&self, section: &str, id: &str, slot: &str) -> Option<Record> {
        let folder = Path::new(STATE_FOLDER).join(section).join(id);
        let journal = JournalState::ALL
            .iter()
            .find_map(|journal_state| self.entries.get(&folder.join(journal_state.file_name())))?;
        let journal = journal::scan(&journal.content).ok()?;
        let number: usize = slot.split('.').next()?.parse().ok()?;
        journal.entries.into_iter().nth(number)
    }
}

/// Returns whether an entry is the original of its record: the same inode, content, permissions and attributes.
fn is_original(record: &Record, entry: &SimEntry) -> bool {
    let (RecordedChange::Edit { original, .. } | RecordedChange::Delete { original, .. }) = &record.change else {
        return false;
    };
    let Some(before) = record.change.before() else { return false };
    // On an overlay it may have been copied up since.
    let born = entry.identity.born.or(original.born);
    let is_file = entry.kind == FileKind::File && Identity { born, ..entry.identity } == *original;
    let attributes = Attributes { extended: entry.extended.clone(), flags: entry.flags, ..Attributes::default() };
    let has = Access { user: entry.user, group: entry.group, attributes: attributes.digest() };
    let access = before.access.is_none_or(|access| access == has);
    is_file && before.digest == Digest::of(&entry.content) && before.mode == entry.mode && access
}

/// All warnings of a report.
pub fn warnings(report: &Report) -> impl Iterator<Item = &String> {
    report.warnings.iter().chain(report.files.iter().flat_map(|file| &file.extras.warnings))
}

/// The folders that an answer says had to stay.
pub(super) fn told_to_stay(files: &UserFiles, warnings: &[String]) -> BTreeSet<PathBuf> {
    let is_told = |path: &Path| {
        let stays = format!("{ROOT}/{} stays, ", path.display());
        warnings.iter().any(|told| told.contains(&stays))
    };
    let folders = files.iter().filter(|(_, entry)| entry.kind == FileKind::Folder).map(|(path, _)| path);
    folders.filter(|path| is_told(path)).cloned().collect()
}

/// Returns whether an answer says that folders may have other metadata, because it is no longer known what they had.
pub(super) fn leaves_folders(answer: &Result<ScenarioAnswer, Error>) -> bool {
    let says = |told: &String| told.contains("had removed may have another mode and owner: ");
    match answer {
        Ok(ScenarioAnswer::Report(report)) => warnings(report).any(says),
        Ok(ScenarioAnswer::Recovered(all)) => all.iter().any(|one| says(&one.reason())),
        Err(error) => error.warnings().iter().any(says),
        Ok(_) => false,
    }
}

impl ScenarioWorld {
    /// Judges the claims of an act's answer besides its files. `before` is the state before it.
    pub(super) fn judge_claims(
        &self,
        doing: &Doing<'_>,
        look: &Look,
        answer: &Result<ScenarioAnswer, Error>,
    ) -> Judged {
        let dropped = match doing.act {
            ScenarioAct::RollBack(number) => self.open_id(*number),
            _ => None,
        };
        self.claimed(&doing.base, look, |claimed| match answer {
            Ok(ScenarioAnswer::Report(report)) => {
                let is_done = report.transaction.is_some() && !report.already_applied;
                if is_done && self.wish.in_time.load(Ordering::Relaxed) {
                    return Err("done, though it was to stop before anything was changed".to_owned());
                }
                // An act that was done before repeats its old answer.
                let told = warnings(report).filter(|_| !report.already_applied);
                told.into_iter().try_for_each(|warning| claimed.judge_warning(warning))
            }
            Ok(ScenarioAnswer::Recovered(all)) => all.iter().try_for_each(|one| claimed.judge_kept(&one.kept)),
            Ok(_) => dropped.map_or(Ok(()), |opened| claimed.judge_dropped(opened)),
            Err(error) => {
                let is_late = self.wish.too_late.load(Ordering::Relaxed) && self.pending.is_none();
                if error.kind() == ErrorKind::Cancelled && is_late && !lock(&self.foreigners).is_checked {
                    return Err("a commit whose swaps had begun was stopped".to_owned());
                }
                claimed.judge_kept(error.kept()).and_then(|()| claimed.judge_not_old(error.not_old()))
            }
        })
    }

    /// The same for `status`, which lists everything that is kept.
    pub(super) fn judge_status(&self, look: &Look, status: &Status) -> Judged {
        self.claimed(&look.files, look, |claimed| {
            status.kept.iter().try_for_each(|kept| claimed.judge_kept(&kept.contents))?;
            status.warnings.iter().try_for_each(|warning| claimed.judge_warning(warning))?;
            claimed.judge_folders(&status.kept.iter().map(|kept| kept.id.clone()).collect::<Vec<_>>())
        })
    }

    fn claimed(&self, before: &UserFiles, look: &Look, judge: impl FnOnce(&Claimed<'_>) -> Judged) -> Judged {
        let mut touched = lock(&self.foreigners).touched.clone();
        touched.extend(self.pending.iter().flat_map(|pending| pending.tainted.iter().cloned()));
        let entries: UserFiles = self.machine.entries(ROOT).unwrap_or_default().into_iter().collect();
        let compared = ScenarioComparison {
            root: Path::new(ROOT),
            before,
            after: &look.files,
            touched: &touched,
            checked: self.had_check,
        };
        judge(&Claimed { entries: &entries, compared })
    }
}
