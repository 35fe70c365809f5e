//! Committed transactions: their folders, with the originals in them, are the undo records.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use super::account::{Account, CheckAccount};
use super::execute::{Draft, Source};
use super::ground::{Ground, Parents};
use super::report::{FileReport, Logged, Operation, Report, Shown, ShownFile};
use super::resolve::Place;
use super::roles::is_about_the_path;
use super::snapshot::{self, Snapshot};
use super::state::{Found, Section, State, list_ids, open_transaction};
use super::{Engine, Run, hot, id, late};
use crate::digest::Digest;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Fs, Handle, Name};
use crate::journal::reverse::{Now, conflict, reverse};
use crate::journal::{Change, Journal, Mark, slot_name};
use crate::limits;
use crate::path::RelPath;
use crate::plan::SourceId;
use crate::text::diff;

/// What a file was and became, where it is known.
pub(super) type Contents = (Option<Vec<u8>>, Option<Vec<u8>>);

/// A committed transaction, open.
#[derive(Debug)]
pub(super) struct Loaded {
    pub folder: Handle,
    pub journal: Journal,
}

/// Opens a committed transaction of this workspace; `None` where there is none of that id. Only a journal that
/// verifies, that is done, and that was born where it is, is history: a repository cannot ship one.
pub(super) fn load(fs: &dyn Fs, state: &State, id: &str) -> Result<Option<Loaded>> {
    if !crate::journal::is_id(id.as_ref()) {
        return Ok(None);
    }
    let Some(section) = state.section(fs, Section::History)? else { return Ok(None) };
    let Some(folder) = open_transaction(fs, &section, id)? else { return Ok(None) };
    let Some(Ok((journal, Mark::Done))) = hot::read_journal(fs, &folder)? else { return Ok(None) };
    let stat = fs.stat_handle(&folder).map_err(|e| Error::io("look at", folder.path(), e))?;
    // The boot says nothing here, history outlives it: without birth times the inode must do.
    let born_here = journal.header.id == id && journal.header.folder == stat.identity;
    Ok(born_here.then_some(Loaded { folder, journal }))
}

impl Engine {
    /// The state folder, where there is one that can be trusted.
    pub(super) fn state(&self) -> Result<Option<State>> {
        match State::find(&*self.fs, &self.root, self.protocol)? {
            Found::State(state) => Ok(Some(state)),
            Found::Nothing => Ok(None),
            Found::Ignored(why) => Err(Error::new(ErrorKind::PermissionDenied, why).at(self.root.path())),
        }
    }

    /// Committed transactions, newest first.
    pub fn log(&self, limit: usize, path: Option<&Path>) -> Result<Vec<Logged>> {
        let Some(state) = self.state()? else { return Ok(Vec::new()) };
        let path = path.map(|path| self.rel_path(path)).transpose()?;
        let reverted = self.reverted(&state)?;
        let mut log = Vec::new();
        for id in self.history_ids(&state)?.into_iter().rev() {
            if log.len() >= limit {
                break;
            }
            let Some(loaded) = load(&*self.fs, &state, &id)? else { continue };
            let wanted = |p: &RelPath| loaded.journal.entries.iter().any(|record| record.path.touches(p));
            if path.as_ref().is_none_or(wanted) {
                log.push(self.logged(&loaded, reverted.get(&id))?);
            }
        }
        Ok(log)
    }

    /// One transaction with its diff. The new content is known as long as the file is as the transaction left it, or
    /// a later transaction holds it as an original.
    pub fn show(&self, id: &str) -> Result<Shown> {
        let (state, loaded) = self.committed(id)?;
        let reverted = self.reverted(&state)?;
        let mut files = Vec::new();
        for (entry, record) in loaded.journal.entries.iter().enumerate() {
            let (old, new) = self.contents(&state, &loaded, entry)?;
            files.push(shown_file(&record.path, &record.change, old.as_deref(), new.as_deref()));
        }
        Ok(Shown { logged: self.logged(&loaded, reverted.get(id))?, files })
    }

    /// What an entry of a transaction was and became, as far as both are still known; empty where there was no file.
    pub(super) fn contents(&self, state: &State, loaded: &Loaded, entry: usize) -> Result<Contents> {
        let record = &loaded.journal.entries[entry];
        let old = match record.change.before() {
            Some(_) => self.content(Name::new(&loaded.folder, &slot_name(entry)))?,
            None => Some(Vec::new()),
        };
        let new = match record.change.after() {
            Some(after) => match self.current(&record.path)? {
                Some(new) if Digest::of(&new) == after.digest => Some(new),
                _ => self.later_original(state, &loaded.journal.header.id, &record.path, after.digest)?,
            },
            None => Some(Vec::new()),
        };
        Ok((old, new))
    }

    /// A content that a transaction after `id` found at `path` and keeps as an original.
    fn later_original(&self, state: &State, id: &str, path: &RelPath, digest: Digest) -> Result<Option<Vec<u8>>> {
        for later in self.history_ids(state)?.iter().filter(|later| later.as_str() > id) {
            let Some(loaded) = load(&*self.fs, state, later)? else { continue };
            let entry = loaded.journal.entries.iter().position(|record| {
                record.path == *path && record.change.before().is_some_and(|before| before.digest == digest)
            });
            if let Some(entry) = entry {
                return self.content(Name::new(&loaded.folder, &slot_name(entry)));
            }
        }
        Ok(None)
    }

    /// Restores exactly what was before a transaction, as a transaction of its own. Without an id: the newest that is
    /// not undone and itself no undo. On failure nothing is changed, or the error's outcome says so.
    pub fn undo(&self, id: Option<&str>, dry_run: bool, run: Run<'_>) -> Result<Report> {
        let mut warnings = Vec::new();
        if !dry_run {
            self.recover_own(&mut warnings, run)?;
        }
        let id = match id {
            Some(id) => id.to_owned(),
            None => self.newest_not_undone()?,
        };
        let (state, loaded) = self.committed(&id)?;
        if let Some(by) = self.reverted(&state)?.get(&id) {
            let message = format!("{id} is undone already, by {by}; undo that one to have its changes again");
            return Err(Error::new(ErrorKind::UndoConflict, message));
        }
        let paths: Vec<&Path> = loaded.journal.entries.iter().map(|record| record.path.as_path()).collect();
        let judge = |found| unobstructed(found, &paths);
        let (places, parents, locks) = if dry_run {
            let (places, parents) = self.glance(&paths, &judge, &mut warnings)?;
            (places, parents, None)
        } else {
            let Ground { places, parents, locks } = self.stand(&paths, &judge, &mut warnings, run)?;
            (places, parents, Some(locks))
        };
        let read_at = Instant::now();
        let mut targets = Vec::new();
        let mut now = Vec::new();
        for (record, place) in loaded.journal.entries.iter().zip(&places) {
            let snapshot = self.snapshot_of(&record.path, place, &parents)?;
            let state = snapshot.as_ref().map(Snapshot::state);
            let obstructed = place.stat.is_some() && state.is_none();
            now.push(Now { state, obstructed, missing: place.missing.clone() });
            targets.push((place.path.clone(), snapshot));
        }
        let plan = reverse(&loaded.journal, &now)?;
        for place in &places {
            self.check_restorable(place, &parents)?;
        }
        let by_path: HashMap<RelPath, Option<Snapshot>> = targets.into_iter().collect();
        let targets = plan.entries.iter().map(|entry| by_path.get(&entry.path).cloned().flatten()).collect();
        let sources = self.originals(&loaded)?;
        let files = self.undo_reports(&loaded, dry_run)?;
        if plan.is_empty() || dry_run {
            return Ok(Report { dry_run, files, warnings, ..Report::default() });
        }
        let account = Account::of(&self.settings.program, None, &files);
        let reverts = Some(id);
        let draft = Draft { plan, sources, targets, parents, read_at, reverts, label: None, account, gate: None };
        let Some(locks) = locks else { unreachable!("only a dry run takes no locks") };
        drop(state);
        self.carry_out(draft, locks, Report { files, warnings, ..Report::default() }, run)
    }

    fn newest_not_undone(&self) -> Result<String> {
        let nothing = || Error::new(ErrorKind::UnknownTransaction, "there is no transaction to undo; see `txedit log`");
        let state = self.state()?.ok_or_else(nothing)?;
        let reverted = self.reverted(&state)?;
        for id in self.history_ids(&state)?.into_iter().rev() {
            let Some(loaded) = load(&*self.fs, &state, &id)? else { continue };
            if loaded.journal.header.reverts.is_none() && !reverted.contains_key(&id) {
                return Ok(id);
            }
        }
        Err(nothing())
    }

    pub(super) fn committed(&self, id: &str) -> Result<(State, Loaded)> {
        let unknown = || {
            let message = format!("there is no committed transaction {id} here; `txedit log` lists them");
            Error::new(ErrorKind::UnknownTransaction, message)
        };
        let state = self.state()?.ok_or_else(unknown)?;
        let loaded = load(&*self.fs, &state, id)?.ok_or_else(unknown)?;
        Ok((state, loaded))
    }

    fn history_ids(&self, state: &State) -> Result<Vec<String>> {
        match state.section(&*self.fs, Section::History)? {
            Some(section) => list_ids(&*self.fs, &section),
            None => Ok(Vec::new()),
        }
    }

    /// Which transaction is undone by which. An undo that is undone itself does not count.
    fn reverted(&self, state: &State) -> Result<HashMap<String, String>> {
        let mut reverted = HashMap::new();
        // From the newest on: what undid an undo is newer than that.
        for id in self.history_ids(state)?.into_iter().rev() {
            let Some(loaded) = load(&*self.fs, state, &id)? else { continue };
            let Some(undone) = loaded.journal.header.reverts else { continue };
            if !reverted.contains_key(&id) {
                reverted.insert(undone, id);
            }
        }
        Ok(reverted)
    }

    /// What stands at the path of an entry of a journal now.
    fn snapshot_of(&self, path: &RelPath, place: &Place, parents: &Parents) -> Result<Option<Snapshot>> {
        let Some(stat) = &place.stat else { return Ok(None) };
        if stat.kind != FileKind::File || place.path != *path {
            // A folder that the transaction made, or a symlink where the file was.
            return Ok(None);
        }
        let (_, folder) = &parents[&place.folder];
        let full = self.root.path().join(path.as_path());
        Ok(Some(snapshot::read(&*self.fs, &full, Name::new(folder, path.name()), stat, false)?.0))
    }

    /// Whether what stands at a place, which is as the transaction left it, may be replaced.
    fn check_restorable(&self, place: &Place, parents: &Parents) -> Result<()> {
        let path = self.root.path().join(place.path.as_path());
        let (folder_stat, folder) = &parents[&place.folder];
        match &place.stat {
            Some(stat) if stat.kind == FileKind::File => {
                let name = Name::new(folder, place.path.name());
                snapshot::check_target(&*self.fs, &path, name, stat, folder_stat)
            }
            _ => snapshot::check_folder(&path, folder_stat),
        }
    }

    /// The originals in a transaction's slots, verified: an undo stages copies of them.
    fn originals(&self, loaded: &Loaded) -> Result<HashMap<SourceId, Source>> {
        let mut sources = HashMap::new();
        for (entry, record) in loaded.journal.entries.iter().enumerate() {
            let Some(before) = record.change.before() else { continue };
            let slot = slot_name(entry);
            let name = Name::new(&loaded.folder, &slot);
            let path = name.path();
            let damaged = |why: &str| {
                let message = format!("the original of {} in {} {why}", record.path, path.display());
                Error::new(ErrorKind::UndoConflict, message).at(record.path.as_path())
            };
            let stat = self.fs.stat(name).map_err(|e| Error::io("look at", &path, e))?;
            let stat = stat.filter(|stat| stat.kind == FileKind::File).ok_or_else(|| damaged("is gone"))?;
            let (mut snapshot, _) = snapshot::read(&*self.fs, &path, name, &stat, false)?;
            if snapshot.digest != before.digest {
                return Err(damaged("was written after the commit, by a program that still had it open"));
            }
            if loaded.journal.entries.len() > limits::SYNC_EACH_UP_TO {
                snapshot.file = None;
            }
            let source = Source { folder: loaded.folder.clone(), name: OsString::from(&slot), snapshot, bytes: None };
            sources.insert(SourceId(entry), source);
        }
        Ok(sources)
    }

    fn undo_reports(&self, loaded: &Loaded, with_diff: bool) -> Result<Vec<FileReport>> {
        let mut reports = Vec::new();
        for (entry, record) in loaded.journal.entries.iter().enumerate() {
            let operation = match record.change {
                Change::Edit { before, after, .. } if before.digest == after.digest => Operation::Mode,
                Change::Edit { .. } => Operation::Replace,
                Change::Create { .. } => Operation::Delete,
                Change::Delete { .. } => Operation::Create,
                Change::Folder { .. } => continue,
            };
            let path = record.path.as_path().to_owned();
            let diff = if with_diff {
                let old = self.current(&record.path)?.unwrap_or_default();
                let new = match record.change.before() {
                    Some(_) => self.content(Name::new(&loaded.folder, &slot_name(entry)))?.unwrap_or_default(),
                    None => Vec::new(),
                };
                let name = path.display().to_string();
                Some(diff::unified(&old, &new, &name, &name, limits::DIFF_BYTES))
            } else {
                None
            };
            reports.push(FileReport {
                path,
                operation,
                renamed_to: None,
                edits: Vec::new(),
                hash_before: record.change.after().map(|state| state.digest),
                hash_after: record.change.before().map(|state| state.digest),
                backup: None,
                content: None,
                diff,
                warnings: Vec::new(),
            });
        }
        Ok(reports)
    }

    fn logged(&self, loaded: &Loaded, reverted_by: Option<&String>) -> Result<Logged> {
        let Journal { header, entries, .. } = &loaded.journal;
        let owner = format!("{} (process {}, user {})", header.owner.program, header.owner.process, header.owner.user);
        let files = entries.iter().map(|record| (record.change.kind().to_owned(), record.path.as_path().to_owned()));
        let account = Account::read(&*self.fs, &loaded.folder)?;
        Ok(Logged {
            id: header.id.clone(),
            time: id::time_of(&header.id),
            owner,
            label: header.label.clone(),
            reverts: header.reverts.clone(),
            reverted_by: reverted_by.cloned(),
            check: account.and_then(|account| account.check).map(CheckAccount::into_run),
            files: files.collect(),
            warnings: late::warnings(&*self.fs, loaded)?,
        })
    }

    /// The content at a path of the workspace; `None` where there is no regular file.
    fn current(&self, path: &RelPath) -> Result<Option<Vec<u8>>> {
        match self.fs.open_beneath(&self.root, path.parent()) {
            Ok(folder) => self.content(Name::new(&folder, path.name())),
            Err(_) => Ok(None),
        }
    }

    fn content(&self, name: Name<'_>) -> Result<Option<Vec<u8>>> {
        let path = name.path();
        let stat = self.fs.stat(name).map_err(|e| Error::io("look at", &path, e))?;
        let Some(stat) = stat.filter(|stat| stat.kind == FileKind::File) else { return Ok(None) };
        let file = self.fs.open_file(name).map_err(|e| Error::io("open", &path, e))?;
        snapshot::read_whole(&*self.fs, &file, &path, stat.size).map(Some)
    }
}

/// Places of an undo. One that cannot be reached, or leads elsewhere, was changed since.
fn unobstructed(found: Vec<Result<Place>>, paths: &[&Path]) -> Result<Vec<Place>> {
    let mut places = Vec::with_capacity(found.len());
    let mut conflicts = Vec::new();
    for (found, path) in found.into_iter().zip(paths) {
        match found {
            Ok(place) => places.push(place),
            Err(error) if is_about_the_path(error.kind()) => conflicts.push(path.to_path_buf()),
            Err(error) => return Err(error),
        }
    }
    if conflicts.is_empty() { Ok(places) } else { Err(conflict(conflicts)) }
}

fn shown_file(path: &RelPath, change: &Change, old: Option<&[u8]>, new: Option<&[u8]>) -> ShownFile {
    let kind = change.kind().to_owned();
    let path = path.as_path().to_owned();
    let (added, removed, diff) = match (old, new) {
        _ if matches!(change, Change::Folder { .. }) => (0, 0, String::new()),
        (Some(old), Some(new)) => {
            let name = |state: Option<_>, side: char| match state {
                Some(_) => format!("{side}/{}", path.display()),
                None => "/dev/null".to_owned(),
            };
            let (old_name, new_name) = (name(change.before(), 'a'), name(change.after(), 'b'));
            let (added, removed) = diff::count(old, new);
            (added, removed, diff::unified(old, new, &old_name, &new_name, limits::DIFF_BYTES))
        }
        (None, _) => (0, 0, "(its original is gone)\n".to_owned()),
        (_, None) => (0, 0, "(the file changed since; its new content is no longer known)\n".to_owned()),
    };
    ShownFile { kind, path, added, removed, diff }
}
