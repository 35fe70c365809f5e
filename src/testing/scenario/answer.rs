//! Judges answers: what they say about each file is compared with the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::look::alike;
use crate::digest::Digest;
use crate::engine::report::{FileReport, Operation, Report};
use crate::error::{Error, NotOld, Outcome};
use crate::fs::FileKind;
use crate::fs::sim::SimEntry;
use crate::request::{Mode, Request};
use crate::testing::script::ROOT;
use crate::testing::world::{UserFiles, same};

/// The files before and after a call, and the changes by others meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioComparison<'a> {
    /// The workspace.
    pub root: &'a Path,
    /// The user's files before, by their path in the workspace.
    pub before: &'a UserFiles,
    /// After.
    pub after: &'a UserFiles,
    /// The paths that others changed meanwhile.
    pub touched: &'a BTreeSet<PathBuf>,
    /// True if a check ran: files that were rolled back have the current time.
    pub checked: bool,
}

impl ScenarioComparison<'_> {
    /// Returns whether others changed this path, or one above it.
    pub(super) fn is_touched(&self, path: &Path) -> bool {
        self.touched.iter().any(|touched| path.starts_with(touched))
    }

    /// Returns whether others made a symlink that leads to this path or above it, or changed a path that did.
    fn is_led_to(&self, path: &Path) -> bool {
        [self.after, self.before].into_iter().any(|files| {
            let is_link = |at: &&PathBuf| files.get(*at).is_some_and(|entry| entry.kind == FileKind::Symlink);
            self.touched.iter().filter(is_link).any(|link| path.starts_with(relative(link, self.root, files)))
        })
    }

    /// Returns whether nothing but a folder is at a path, before or after.
    fn is_only_a_folder(&self, path: &Path) -> bool {
        let mut there = [self.before.get(path), self.after.get(path)].into_iter().flatten();
        there.all(|entry| entry.kind == FileKind::Folder)
    }

    fn is_unchanged(&self, path: &Path) -> bool {
        let (before, after) = (self.before.get(path), self.after.get(path));
        let same_time = after.map(|after| match before {
            Some(before) if self.checked => SimEntry { modified: before.modified, ..after.clone() },
            _ => after.clone(),
        });
        same(same_time.as_ref(), before, true)
    }

    fn all_paths(&self) -> impl Iterator<Item = &PathBuf> {
        let only_after = self.after.keys().filter(|path| !self.before.contains_key(*path));
        self.before.keys().chain(only_after)
    }
}

/// The digest of the file, or of the symlink itself, at a path.
pub(super) fn digest(files: &UserFiles, path: &Path) -> Option<Digest> {
    let is_file = |entry: &&SimEntry| matches!(entry.kind, FileKind::File | FileKind::Symlink);
    files.get(path).filter(is_file).map(|entry| Digest::of(&entry.content))
}

/// Returns whether a report is about the symlink itself that was at its path, and not about what it led to.
fn is_about_link(file: &FileReport, path: &Path, before: &UserFiles) -> bool {
    let was_link = before.get(path).is_some_and(|entry| entry.kind == FileKind::Symlink);
    was_link && file.hash_before == digest(before, path)
}

/// The path in the workspace, with symlinks resolved.
pub(super) fn relative(path: &Path, root: &Path, files: &UserFiles) -> PathBuf {
    let mut path = path.strip_prefix(root).unwrap_or(path).to_owned();
    for _ in 0..8 {
        let is_link = |at: &&Path| files.get(*at).is_some_and(|entry| entry.kind == FileKind::Symlink);
        let Some(link) = path.ancestors().filter(is_link).last() else { break };
        let target = String::from_utf8_lossy(&files[link].content).into_owned();
        let inside = path.strip_prefix(link).unwrap_or(Path::new(""));
        let place = link.parent().unwrap_or(Path::new("")).join(target);
        path = if inside.as_os_str().is_empty() { place } else { place.join(inside) };
    }
    path
}

/// The path in the workspace, with symlinks resolved except one at its end.
fn itself(path: &Path, root: &Path, files: &UserFiles) -> PathBuf {
    let path = path.strip_prefix(root).unwrap_or(path);
    match path.parent().zip(path.file_name()) {
        Some((folder, name)) => relative(folder, root, files).join(name),
        None => path.to_owned(),
    }
}

/// Judges whether an answer about files is true. `request` is the request, if there was one.
pub fn judge_answer(
    compared: ScenarioComparison<'_>,
    request: Option<&Request>,
    answer: Result<&Report, &Error>,
) -> Result<(), String> {
    match answer {
        Ok(report) if report.dry_run => judge_unchanged(compared, "a dry run"),
        Ok(report) => judge_report(compared, request, report),
        Err(error) if error.path().is_some_and(|path| path.as_os_str().is_empty()) => {
            Err(format!("an error names no path: {error}"))
        }
        Err(error) => match error.outcome() {
            Outcome::Unchanged => judge_unchanged(compared, "a failure that says unchanged"),
            Outcome::RolledBack => judge_unchanged(compared, "a failure that says rolled back"),
            Outcome::PartlyRolledBack => judge_partly(compared, error),
            Outcome::RecoveryRequired => Ok(()),
        },
    }
}

/// Everything must be unchanged except what the answer names, which must not be.
fn judge_partly(compared: ScenarioComparison<'_>, error: &Error) -> Result<(), String> {
    judge_unchanged(compared, "a failure that says partly rolled back")?;
    // It may be in the folder that the error names, which others moved away.
    let was_moved =
        |left: &NotOld| error.path().is_some_and(|folder| left.path.parent().is_some_and(|it| it.starts_with(folder)));
    // Or in one that is itself named.
    let is_inside = |left: &NotOld| {
        error.not_old().iter().any(|other| left.path != other.path && left.path.starts_with(&other.path))
    };
    let mut left = error
        .not_old()
        .iter()
        .filter(|left| left.on_top && !was_moved(left) && !is_inside(left))
        // An entry is about the symlink that was at its path, not about what it led to.
        .map(|left| itself(&left.path, compared.root, compared.before));
    // Others may since have removed what was found there.
    let is_gone = |path: &Path| compared.is_touched(path) && !compared.after.contains_key(path);
    left.find(|path| compared.is_unchanged(path) && !is_gone(path))
        .map_or(Ok(()), |path| Err(format!("{} is as it was, and is named as not put back: {error:?}", path.display())))
}

fn judge_unchanged(compared: ScenarioComparison<'_>, what: &str) -> Result<(), String> {
    let changed = compared
        .all_paths()
        .find(|path| !compared.is_touched(path) && !compared.is_unchanged(path) && !compared.is_led_to(path));
    changed.map_or(Ok(()), |path| {
        let shown = |files: &UserFiles| crate::testing::check::told(files, path);
        let (before, after) = (shown(compared.before), shown(compared.after));
        Err(format!("after {what}, {} was {before} and is {after}", path.display()))
    })
}

/// The places of a file of a report before and after. A revert names what is at the very path, and follows no symlink.
pub(super) fn places(file: &FileReport, report: &Report, before: &UserFiles) -> (PathBuf, PathBuf) {
    let path = file.path.strip_prefix(ROOT).unwrap_or(&file.path);
    if !report.reverts.is_empty() {
        return (path.to_owned(), path.to_owned());
    }
    // A symlink that goes leads nowhere: what is beneath it is in a folder that takes its place.
    let leads_nowhere = |path: &Path| {
        let at = |other: &FileReport| other.path.strip_prefix(ROOT).unwrap_or(&other.path).to_owned();
        let goes = |other: &FileReport| other.hash_after.is_none() || other.extras.renamed_to.is_some();
        let is_above = |other: &FileReport| path.starts_with(at(other));
        report.files.iter().any(|other| is_above(other) && goes(other) && is_about_link(other, &at(other), before))
    };
    let own = itself(path, Path::new(ROOT), before);
    // What was committed before is told by what is at its very path now.
    let is_told_again = report.already_applied
        && file.hash_after == digest(before, &own)
        && before.get(&own).is_some_and(|entry| entry.kind == FileKind::Symlink);
    let source = if leads_nowhere(path) {
        path.to_owned()
    } else if is_about_link(file, &own, before) || is_told_again || file.extras.symlink_to.is_some() {
        own
    } else {
        relative(&file.path, Path::new(ROOT), before)
    };
    let goal = match &file.extras.renamed_to {
        Some(to) if leads_nowhere(to.strip_prefix(ROOT).unwrap_or(to)) => {
            to.strip_prefix(ROOT).unwrap_or(to).to_owned()
        }
        // A symlink there is replaced itself.
        Some(to) => itself(to, Path::new(ROOT), before),
        None => source.clone(),
    };
    (source, goal)
}

/// The paths that a report names.
pub(super) fn named(report: &Report, before: &UserFiles) -> BTreeSet<PathBuf> {
    let changed = report.files.iter().filter(|file| file.operation != Operation::None);
    let places = changed.map(|file| places(file, report, before)).flat_map(|(source, goal)| [source, goal]);
    places.chain(report.files.iter().filter_map(|file| file.extras.backup.clone())).collect()
}

fn judge_report(compared: ScenarioComparison<'_>, request: Option<&Request>, report: &Report) -> Result<(), String> {
    let named = named(report, compared.before);
    for index in 0..report.files.len() {
        let mode = request.and_then(|request| request.files.get(index)).and_then(|file| file.mode);
        judge_file(compared, report, index, mode)?;
    }
    if report.already_applied || report.transaction.is_none() {
        // A recovery that came first may have left folders.
        let stays = [
            "had removed may have another mode",
            ", which the undone transaction had made",
            " stays, which a redo may",
        ];
        let is_left = report.warnings.iter().any(|told| stays.iter().any(|stays| told.contains(stays)));
        return if is_left { Ok(()) } else { judge_unchanged(compared, "an answer that nothing had to be done") };
    }
    for path in compared.all_paths().filter(|path| !named.contains(*path) && !compared.is_touched(path)) {
        // A folder that a new file needed, or that an undo removed.
        let is_around = named.iter().any(|named| named.starts_with(path));
        // A folder that goes, or comes back, with the one that became a file: its name stands for all in it.
        let is_along = compared.is_only_a_folder(path) && named.iter().any(|named| path.starts_with(named));
        if !is_around && !is_along && !compared.is_unchanged(path) && !compared.is_led_to(path) {
            return Err(format!("{} is not named in the answer, and is another", path.display()));
        }
    }
    Ok(())
}

/// One file of a report.
fn judge_file(
    compared: ScenarioComparison<'_>,
    report: &Report,
    index: usize,
    mode: Option<Mode>,
) -> Result<(), String> {
    let ScenarioComparison { before, after, .. } = compared;
    let file = &report.files[index];
    let places = |file: &FileReport, files: &UserFiles| places(file, report, files);
    let (source, goal) = places(file, before);
    // One entry may remove a file and another put one in its place.
    let others = || report.files.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
    // Possibly through a symlink that others made meanwhile.
    let leads_there = |other: &FileReport| [before, after].iter().any(|files| places(other, files).1 == goal);
    let is_retaken = file.hash_after.is_none() && others().any(leads_there);
    let was_vacated = file.hash_before.is_none() && others().any(|other| places(other, before).0 == source);
    let told = |what: &str| Err(format!("{}: {what}; the answer says {file:?}", source.display()));
    let is_renamed_there = file.extras.renamed_to.as_ref().is_some_and(|path| compared.is_touched(path));
    let is_touched = [&source, &goal].into_iter().any(|path| compared.is_touched(path));
    if is_touched || is_renamed_there || compared.is_touched(&file.path) {
        return Ok(());
    }
    if !is_retaken && digest(after, &goal) != file.hash_after {
        return told("hash_after is not that of the file");
    }
    if !report.already_applied && !was_vacated && digest(before, &source) != file.hash_before {
        return told("hash_before is not that of the file");
    }
    let (old, new) = (before.get(&source), after.get(&goal));
    match (file.operation, old, new) {
        (Operation::None, ..) if !compared.is_unchanged(&source) => told("it is another, and nothing was to be done"),
        (Operation::Edit | Operation::Replace | Operation::Rename, Some(old), Some(new)) if mode.is_none() => {
            // The mode and everything like it stays.
            let changed_metadata = SimEntry { content: new.content.clone(), ..old.clone() };
            // A file that an undo restores has its old metadata.
            let is_undo = file.edits.is_empty() && file.operation == Operation::Replace;
            if !is_undo && !report.already_applied && !alike(Some(&changed_metadata), Some(new)) {
                return told("its permissions or attributes are others");
            }
            Ok(())
        }
        (_, old, Some(new)) => match mode {
            // It was applied before, and the answer says that it was changed since.
            Some(_) if file.extras.in_place == Some(false) => Ok(()),
            Some(mode) if new.mode != mode.of(old.map_or(new.mode, |old| old.mode)) => told("the mode is another"),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
