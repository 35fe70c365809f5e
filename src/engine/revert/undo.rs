//! Undo: a transaction of its own reverts a committed one, and can be undone as well.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::digest::Digest;
use crate::engine::history::path_history::PathHistory;
use crate::engine::history::untrusted::{self, Wanting};
use crate::engine::history::{self, HistoryEntry, Loaded, whole_history};
use crate::engine::recovery::{self, InFront};
use crate::engine::report::{Extra, FileReport, Operation, Report, Reverted};
use crate::engine::store::snapshot::{self, ReadMode, Snapshot};
use crate::engine::store::state::StateLookup;
use crate::engine::transaction::prepare::lock_targets::{LockedTargets, Parents, Targets};
use crate::engine::transaction::prepare::prepared::{Prepared, SourceFile, Sources, TransactionOrigin};
use crate::engine::transaction::prepare::request_paths::is_about_the_path;
use crate::engine::transaction::prepare::resolve::ResolvedPath;
use crate::engine::transaction::retry::telling;
use crate::engine::transaction::{Ready, Transaction};
use crate::engine::{Engine, Run, UndoOptions};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{FileKind, Metadata, Name};
use crate::journal::reverse::{PresentTarget, conflict, reverse};
use crate::journal::{Header, Journal, RecordedChange, original_name, slot_name};
use crate::limits;
use crate::path::{AskedPath, RelPath};
use crate::plan::SourceId;
use crate::text::diff;

fn nothing_to_undo() -> Error {
    Error::new(ErrorKind::UnknownTransaction, "there is no transaction to undo").with_next([NextStep::Log])
}

impl Engine {
    /// Restores exactly what was before a transaction, by a transaction of its own. Without an id: the newest that is
    /// neither undone nor an undo itself. On failure the error's outcome tells the state of the files: `Unchanged` and
    /// `RolledBack` both mean that all of them are as they were.
    pub fn undo(&self, id: Option<&str>, dry_run: bool, run: Run<'_>) -> Result<Report> {
        self.undo_with(id, &UndoOptions { dry_run, ..UndoOptions::default() }, run)
    }

    /// Like [`undo`](Self::undo), with options.
    pub fn undo_with(&self, id: Option<&str>, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        match id {
            Some(id) => {
                let mut found = self.found()?;
                let warnings = self.recover_for(&found, Some(id), &[], options, run)?;
                self.revert_with_retries(&mut found, id, options, warnings, run)
            }
            None => self.undo_newest(&[&|_, _| true], nothing_to_undo, options, run),
        }
    }

    /// Undoes the newest transaction that is wanted, by its id and the program that committed it. The conditions are
    /// tried in order; the first that finds one decides. If none does, the error is `nothing`.
    pub fn undo_newest(
        &self,
        wanted: &[&Wanting<'_>],
        nothing: impl FnOnce() -> Error,
        options: &UndoOptions,
        run: Run<'_>,
    ) -> Result<Report> {
        let mut found = self.found()?;
        let warnings = self.recover_for(&found, None, wanted, options, run)?;
        for is_wanted in wanted {
            match self.newest_not_undone(&found, is_wanted) {
                Ok(Some(id)) => return self.revert_with_retries(&mut found, &id, options, warnings, run),
                Ok(None) => {}
                Err(error) => return Err(error.warning_of(warnings)),
            }
        }
        Err(nothing().warning_of(warnings))
    }

    /// Reverts an undo: the transaction's changes are there again. Without an id: the newest undo that is not reverted.
    /// `id` may be the transaction or its undo. On failure the error's outcome tells the state of the files, as of
    /// [`undo`](Self::undo).
    pub fn redo(&self, id: Option<&str>, options: &UndoOptions, run: Run<'_>) -> Result<Report> {
        let mut found = self.found()?;
        let warnings = self.recover_for(&found, id, &[&|_, _| true], options, run)?;
        match self.undo_of(&found, id) {
            Ok(undo) => self.revert_with_retries(&mut found, &undo, options, warnings, run),
            Err(error) => Err(error.warning_of(warnings)),
        }
    }

    /// Recovers before an undo. Without an id, a transaction that could not be recovered may be the newest itself,
    /// which is an error if it is wanted.
    fn recover_for(
        &self,
        found: &StateLookup,
        id: Option<&str>,
        wanted: &[&Wanting<'_>],
        options: &UndoOptions,
        run: Run<'_>,
    ) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        if options.dry_run {
            return Ok(warnings);
        }
        if id.is_some() {
            self.recover_own(found, &mut warnings, run)?;
            return Ok(warnings);
        }
        let Some(error) = self.try_to_recover(found, &mut warnings, run)? else { return Ok(warnings) };
        let is_another = |id: &str| !wanted.iter().any(|is_wanted| is_wanted(id, ""));
        if error.transaction().is_some_and(is_another) {
            warnings.push(recovery::not_recovered(&error));
            return Ok(warnings);
        }
        let message = format!(
            "an interrupted transaction could not be recovered, and may be the newest: recover it, or name the transaction \
             that is meant: {}",
            error.message()
        );
        let steps = match error.next_steps() {
            [] => vec![NextStep::Recover { id: error.transaction().map(str::to_owned) }],
            steps => steps.to_vec(),
        };
        let refused = Error::new(ErrorKind::RecoveryRequired, message).with_next(steps).with_next([NextStep::Log]);
        let refused = refused.warning_of(warnings);
        Err(InFront::of(Some(&error)).in_front_of(refused))
    }

    /// Retries if another program wrote meanwhile and other lines may differ (`rebase`). Without that, what it wrote is
    /// a conflict, and would be one again.
    fn revert_with_retries(
        &self,
        found: &mut StateLookup,
        id: &str,
        options: &UndoOptions,
        mut warnings: Vec<String>,
        run: Run<'_>,
    ) -> Result<Report> {
        let attempt = |attempt| self.revert(found, id, options, attempt > 1, &mut warnings, run);
        let report = self.try_again(options.check.as_ref(), attempt, |_| options.rebase, run);
        telling(report, warnings)
    }

    fn revert(
        &self,
        found: &mut StateLookup,
        id: &str,
        options: &UndoOptions,
        again: bool,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<Report> {
        let (state, loaded) = self.committed(found, id)?;
        let id = loaded.id().to_owned();
        if let Some(by) = history::reverted(&state)?.get(&id) {
            let message = format!("{id} is undone already, by {by}; redo it to have its changes again");
            return Err(Error::new(ErrorKind::UndoConflict, message));
        }
        let targets = RevertPaths::of(&loaded.journal);
        let (places, parents, locks) = if options.dry_run {
            let (places, parents) = self.resolve_unlocked(&targets, found, warnings)?;
            (places, parents, None)
        } else {
            let LockedTargets { places, parents, locks } = self.lock_targets(&targets, found, warnings, run)?;
            (places, parents, Some(locks))
        };
        let read_at = Instant::now();
        let past = PathHistory::new(self, &state, &loaded);
        let mut targets = HashMap::new();
        let mut now = Vec::new();
        for ((entry, record), place) in loaded.journal.entries.numbered().zip(&places) {
            let mut snapshot = self.snapshot_of(&record.path, place, &parents, run)?;
            if let Some(snapshot) = snapshot.as_mut().filter(|_| places.len() > limits::SYNC_EACH_UP_TO) {
                snapshot.file = None;
            }
            let there = snapshot.as_ref().map(Snapshot::state);
            let obstructed = place.stat.is_some() && there.is_none();
            let carried = match there {
                Some(there) if options.rebase => self.carry_back(&past, entry, there, run)?,
                _ => None,
            };
            now.push(PresentTarget {
                state: there,
                obstructed,
                missing: place.missing.clone(),
                within: place.folders_within(),
                carried,
            });
            targets.insert(place.path.clone(), snapshot.map(Arc::new));
        }
        refuse_filled(&loaded.journal, &places)?;
        let plan = reverse(&loaded.journal, &now).map_err(|e| self.explain_conflicts(e, &past, run))?;
        for (place, now) in places.iter().zip(&now) {
            self.check_restorable(place, now, &parents)?;
        }
        let sources = self.sources(&loaded, &now, &targets, &parents, run)?;
        let targets = plan.entries.iter().map(|entry| targets.get(&entry.path).cloned().flatten()).collect();
        let files = self.undo_reports(&loaded, &now, options.dry_run, run)?;
        let Header { owner, label, .. } = &loaded.journal.header;
        let reverted = Reverted { id: id.clone(), owner: owner.to_string(), label: label.clone() };
        let reverts = Some(Box::new(reverted));
        let origin = TransactionOrigin { reverts: Some(id), ..TransactionOrigin::default() };
        let gate = self.gate(options.check.as_ref())?;
        let dresses = self.dresses(&loaded)?;
        let prepared =
            Prepared { plan, sources, targets, parents, dresses, read_at, origin, gate, again, contended: None };
        let Some(locks) = locks else {
            self.check_possible(&prepared, found)?;
            return Ok(Report { dry_run: true, files, reverts, ..Report::default() });
        };
        let ready = Ready { prepared, locks, found: found.clone() };
        Transaction::new(self, ready, Report { files, reverts, ..Report::default() }, run).commit()
    }

    /// The newest transaction that is neither undone nor an undo itself, and is wanted by its id and the program that
    /// committed it.
    fn newest_not_undone(&self, found: &StateLookup, is_wanted: &Wanting<'_>) -> Result<Option<String>> {
        let Some(state) = found.trusted(&self.workspace)? else { return Ok(None) };
        let undone = history::reverted(state)?;
        let newest = whole_history(state)?.rev().find_map(|entry| match entry {
            Ok(HistoryEntry::Ours(Loaded { journal: Journal { header, .. }, .. })) => {
                let is_open = header.reverts.is_none() && !undone.contains_key(&header.id);
                (is_open && is_wanted(&header.id, &header.owner.program)).then_some(Ok(header.id))
            }
            Ok(HistoryEntry::Doubtful(doubtful)) => {
                untrusted::is_wanted(&doubtful, is_wanted).then(|| Err(doubtful.may_be_newest()))
            }
            Err(error) => Some(Err(error)),
        });
        let newest = newest.transpose()?;
        untrusted::refuse_newer(state, newest.as_deref(), is_wanted)?;
        Ok(newest)
    }

    /// The undo that a redo reverts.
    fn undo_of(&self, found: &StateLookup, id: Option<&str>) -> Result<String> {
        let nothing = |what: &str| {
            let message = format!("{what}; there is nothing to redo");
            Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::Log])
        };
        let state = found.trusted(&self.workspace)?.ok_or_else(|| nothing("nothing was committed here"))?;
        let reverts = history::reverts(state)?;
        let undone = history::reverted(state)?;
        // An undo reverts a transaction that is not an undo; a redo reverts an undo.
        let target = |id: &str| reverts.iter().find(|(it, _)| it == id).and_then(|(_, reverts)| reverts.clone());
        let is_undo = |id: &str| target(id).is_some_and(|undone| target(&undone).is_none());
        let Some(id) = id else {
            let newest = reverts.iter().rev().find(|(id, _)| is_undo(id) && !undone.contains_key(id));
            let newest = newest.map(|(id, _)| id.as_str());
            let newer = whole_history(state)?.rev().find_map(|entry| match entry {
                Ok(HistoryEntry::Ours(loaded)) => (Some(loaded.id()) == newest).then_some(Ok(())),
                Ok(HistoryEntry::Doubtful(doubtful)) => Some(Err(doubtful.may_be_newest())),
                Err(error) => Some(Err(error)),
            });
            newer.transpose()?;
            untrusted::refuse_newer(state, newest, &|_, _| true)?;
            return newest.map(str::to_owned).ok_or_else(|| nothing("no undo is left to revert"));
        };
        if is_undo(id) {
            return Ok(id.to_owned());
        }
        let (_, loaded) = self.committed(found, id)?;
        undone.get(loaded.id()).cloned().ok_or_else(|| nothing(&format!("{id} is not undone")))
    }

    /// The file that is now at the path of an entry.
    fn snapshot_of(
        &self,
        path: &RelPath,
        place: &ResolvedPath,
        parents: &Parents,
        run: Run<'_>,
    ) -> Result<Option<Snapshot>> {
        let Some(stat) = &place.stat else { return Ok(None) };
        if stat.kind != FileKind::File || place.path != *path {
            // A folder that the transaction made, or a symlink in the place of the file.
            return Ok(None);
        }
        let (_, folder) = &parents[place.folder()];
        let name = Name::new(folder, path.name());
        let (snapshot, _) = snapshot::read(&self.workspace, name, stat, ReadMode::Nothing, run.cancel)?;
        Ok(Some(snapshot))
    }

    /// Verifies that the file at a place may be replaced. A file that is as the transaction left it may be
    /// read-only: the transaction made it so, or found it so.
    fn check_restorable(&self, place: &ResolvedPath, now: &PresentTarget, parents: &Parents) -> Result<()> {
        let path = || self.workspace.root.path().join(place.path.as_path());
        let (folder_stat, folder) = &parents[place.folder()];
        match &place.stat {
            Some(stat) if stat.kind == FileKind::File => {
                let name = Name::new(folder, place.path.name());
                let user = self.workspace.host()?.user;
                match now.carried {
                    Some(_) => snapshot::check_target(&self.workspace, user, name, stat, folder_stat),
                    None => snapshot::check_replaceable(user, name, stat, folder_stat),
                }
            }
            _ => snapshot::check_folder(path, folder_stat),
        }
    }

    /// The sources of an undo's plan: originals, and current contents into which the undo is merged.
    fn sources(
        &self,
        loaded: &Loaded,
        now: &[PresentTarget],
        targets: &HashMap<RelPath, Option<Arc<Snapshot>>>,
        parents: &Parents,
        run: Run<'_>,
    ) -> Result<Sources> {
        let mut sources = self.originals(loaded, run)?;
        for ((entry, record), now) in loaded.journal.entries.numbered().zip(now) {
            let (Some(_), Some(Some(snapshot))) = (&now.carried, targets.get(&record.path)) else { continue };
            let (_, folder) = &parents[record.path.parent()];
            let path = record.path.clone();
            let source = SourceFile { folder: folder.clone(), path, snapshot: snapshot.clone(), bytes: None };
            sources.insert(SourceId::from(entry), source);
        }
        Ok(sources)
    }

    /// The originals in a transaction's slots, verified: an undo stages copies of them.
    fn originals(&self, loaded: &Loaded, run: Run<'_>) -> Result<Sources> {
        let mut sources = Sources::default();
        let copied = loaded.copied(&self.workspace)?;
        for (entry, record) in loaded.journal.entries.numbered() {
            let Some(before) = record.change.before() else { continue };
            let slot = if copied.contains(&entry) { original_name(entry) } else { slot_name(entry) };
            let name = Name::new(&loaded.folder, &slot);
            let path = name.path();
            let damaged = |why: &str| {
                let message = format!("the original of {} in {} {why}", record.path, path.display());
                Error::new(ErrorKind::UndoConflict, message).at(record.path.as_path())
            };
            let stat = self.workspace.stat(name)?;
            let stat = stat.filter(|stat| stat.kind == FileKind::File).ok_or_else(|| damaged("is gone"))?;
            let stat = Arc::new(stat);
            let (mut snapshot, _) = snapshot::read(&self.workspace, name, &stat, ReadMode::Nothing, run.cancel)?;
            if snapshot.digest != before.digest {
                return Err(damaged("was written after the commit, by a program that still had it open"));
            }
            if loaded.journal.entries.len() > limits::SYNC_EACH_UP_TO {
                snapshot.file = None;
            }
            let source = SourceFile {
                folder: loaded.folder.clone(),
                path: RelPath::new(&slot).unwrap_or_else(|_| unreachable!("a slot has a name")),
                snapshot: Arc::new(snapshot),
                bytes: None,
            };
            sources.insert(SourceId::from(entry), source);
        }
        Ok(sources)
    }

    /// The metadata of the folders that a transaction removed.
    fn dresses(&self, loaded: &Loaded) -> Result<HashMap<RelPath, Metadata>> {
        let mut dresses = HashMap::new();
        for (entry, record) in loaded.journal.entries.numbered() {
            if record.change.folder_before().is_none() {
                continue;
            }
            let slot = slot_name(entry);
            let folder = self.workspace.open_beneath(&loaded.folder, &slot)?;
            let stat = self.workspace.stat_handle(&folder)?;
            let attributes = self.workspace.attributes(&folder)?;
            let (mode, user, group) = (stat.mode, stat.user, stat.group);
            dresses.insert(record.path.clone(), Metadata { mode, user, group, attributes, modified: None });
        }
        Ok(dresses)
    }

    fn undo_reports(
        &self,
        loaded: &Loaded,
        now: &[PresentTarget],
        with_diff: bool,
        run: Run<'_>,
    ) -> Result<Vec<FileReport>> {
        let mut reports = Vec::new();
        for ((entry, record), now) in loaded.journal.entries.numbered().zip(now) {
            let operation = match record.change {
                RecordedChange::Edit { before, after, .. } if before.digest == after.digest => Operation::Mode,
                RecordedChange::Edit { .. } => Operation::Replace,
                RecordedChange::Create { .. } | RecordedChange::FolderToFile { .. } => Operation::Delete,
                RecordedChange::Delete { .. } | RecordedChange::FileToFolder { .. } => Operation::Create,
                RecordedChange::Folder { .. } | RecordedChange::RemoveFolder { .. } => continue,
            };
            let path = record.path.as_path().to_owned();
            let diff = if with_diff {
                let old = self.current(&record.path, run.cancel)?.unwrap_or_default();
                let new = match (&now.carried, record.change.before()) {
                    // Of another content the splices mean nothing, and may be beyond its end.
                    (Some(_), _) if now.state.is_none_or(|found| found.digest != Digest::of(&old)) => {
                        return Err(snapshot::changed(&path, "changed since it was read"));
                    }
                    (Some(carried), _) => carried.splices.apply(&old),
                    (None, Some(_)) => self.original(loaded, entry, run.cancel)?.unwrap_or_default(),
                    (None, None) => Vec::new(),
                };
                let name = path.display().to_string();
                Some(diff::unified(&old, &new, &name, &name, limits::DIFF_BYTES))
            } else {
                None
            };
            reports.push(FileReport {
                path: path.into(),
                operation,
                edits: Vec::new(),
                hash_before: now.state.map(|state| state.digest),
                hash_after: now
                    .carried
                    .as_ref()
                    .map(|carried| carried.state)
                    .or(record.change.before().copied())
                    .map(|s| s.digest),
                extras: Extra {
                    diff,
                    rebased: now.carried.as_ref().map(|carried| carried.foreign_diff.clone()),
                    ..Extra::NONE
                }
                .into(),
            });
        }
        Ok(reports)
    }
}

/// The paths of an undo: those in the journal of the transaction that it reverts.
struct RevertPaths<'a> {
    journal: &'a Journal,
    paths: Vec<AskedPath>,
}

impl<'a> RevertPaths<'a> {
    fn of(journal: &'a Journal) -> Self {
        Self { journal, paths: journal.entries.iter().map(|record| record.path.asked()).collect() }
    }
}

impl Targets for RevertPaths<'_> {
    fn paths(&self) -> impl Iterator<Item = &AskedPath> {
        self.paths.iter()
    }

    /// A path that cannot be reached, or leads elsewhere, was changed since and is a conflict; but not where the
    /// transaction put a file in the place of a folder, or a folder in the place of a file.
    fn accept(&self, found: Vec<Result<ResolvedPath>>) -> Result<Vec<ResolvedPath>> {
        let entries = &self.journal.entries;
        let became_file = entries.iter().filter(|record| matches!(record.change, RecordedChange::FolderToFile { .. }));
        let became_file: HashSet<&RelPath> = became_file.map(|record| &record.path).collect();
        let mut places = Vec::with_capacity(found.len());
        let mut conflicts = Vec::new();
        for ((found, path), record) in found.into_iter().zip(&self.paths).zip(entries) {
            match found {
                Ok(place) if place.obstacle.as_ref().is_some_and(|file| !became_file.contains(file)) => {
                    conflicts.push(path.to_path_buf());
                }
                Ok(mut place) => {
                    let is_folder = place.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Folder);
                    if is_folder
                        && place.path == record.path
                        && matches!(record.change, RecordedChange::FileToFolder { .. })
                    {
                        place.make_way();
                    }
                    places.push(place);
                }
                Err(error) if error.kind() == ErrorKind::PathDenied => return Err(error),
                Err(error) if is_about_the_path(error.kind()) => conflicts.push(path.to_path_buf()),
                Err(error) => return Err(error),
            }
        }
        if conflicts.is_empty() { Ok(places) } else { Err(conflict(conflicts)) }
    }
}

/// Refuses to remove a folder into which another program has put something.
fn refuse_filled(journal: &Journal, places: &[ResolvedPath]) -> Result<()> {
    if places.iter().all(|place| place.within.is_none()) {
        return Ok(());
    }
    let created = journal.entries.iter().filter(|record| matches!(record.change, RecordedChange::Create { .. }));
    let created: HashSet<&RelPath> = created.map(|record| &record.path).collect();
    let within = places.iter().flat_map(|place| place.within.iter().flatten());
    let left = within.filter(|(path, kind)| *kind != FileKind::Folder && !created.contains(path));
    let left: Vec<_> = left.map(|(path, _)| path.as_path().to_owned()).collect();
    if left.is_empty() { Ok(()) } else { Err(conflict(left)) }
}
