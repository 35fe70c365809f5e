//! One request, from its paths to its report.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use super::account::Account;
use super::execute::{Draft, Marks, Source};
use super::ground::{Ground, Parents};
use super::lock::check_cancelled;
use super::report::{FileReport, Operation, Report};
use super::resolve::Place;
use super::roles::{Cast, vacates};
use super::snapshot::{self, Snapshot};
use super::{Engine, Phase, Run};
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::fs::{Handle, Name};
use crate::limits;
use crate::path::RelPath;
use crate::plan::build::{Builder, Roles, Target};
use crate::plan::{Change as Planned, Content, New, Plan, SourceId};
use crate::request::edit::Anchor;
use crate::request::{Change, FileRequest, Request};
use crate::text::diagnose::{self, Cause};
use crate::text::diff;

/// Bytes of an anchor that is looked for in other files.
const TELLING: usize = 4;

/// Other files in which it is looked for.
const LOOKED_AT: usize = 64;

impl Engine {
    /// Does what `request` asks, all of it or nothing. On failure the error's outcome says what is true of the
    /// files: `Unchanged` and `RolledBack` both mean that all of them are as they were.
    pub fn apply(&self, request: &Request, run: Run<'_>) -> Result<Report> {
        let mut warnings = Vec::new();
        if request.dry_run {
            let (_, files) = self.dry_draft(request, &mut warnings, run)?;
            return Ok(Report { dry_run: true, files, warnings, ..Report::default() });
        }
        let cast = Cast::of(request);
        self.recover_own(&mut warnings, run)?;
        let Ground { places, parents, locks } =
            self.stand(&cast.paths(), &|found| cast.judge(found), &mut warnings, run)?;
        let fingerprint = request.fingerprint(self.root());
        if let Some(report) = self.answered_before(request, fingerprint)? {
            return Ok(Report { warnings, ..report });
        }
        let (mut draft, files) = match self.draft(request, &cast, &places, parents, run) {
            // A file that is no longer what the request expects may be what the request makes of it.
            Err(error) if carries_hashes(request) => {
                return self.repeated(fingerprint)?.ok_or(error);
            }
            other => other?,
        };
        draft.marks.request = Some(fingerprint);
        draft.marks.key.clone_from(&request.idempotency_key);
        self.carry_out(draft, locks, Report { files, warnings, ..Report::default() }, run)
    }

    /// What would be done now, decided without a lock.
    pub(super) fn dry_draft(
        &self,
        request: &Request,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<(Draft, Vec<FileReport>)> {
        let cast = Cast::of(request);
        let (places, parents) = self.glance(&cast.paths(), &|found| cast.judge(found), warnings)?;
        self.draft(request, &cast, &places, parents, run)
    }

    /// Reads everything, and decides what will be done.
    pub(super) fn draft(
        &self,
        request: &Request,
        cast: &Cast,
        places: &[Place],
        parents: Parents,
        run: Run<'_>,
    ) -> Result<(Draft, Vec<FileReport>)> {
        let closed = self.closed_folders(&parents)?;
        let subjects = cast.roles(request, places, &|place| self.check(place, &parents, &closed))?;
        let read_at = Instant::now();
        let mut reader =
            Reader { engine: self, places: &subjects.places, parents: &parents, room: limits::CACHED_BYTES };
        let leaving = request.files.iter().zip(&subjects.roles).enumerate().filter(|(_, (entry, _))| vacates(entry));
        let vacated: HashMap<usize, usize> = leaving.map(|(file, (_, roles))| (roles.subject, file)).collect();
        let mut builder = Builder::new(self.targets(&subjects.places, &vacated, &parents)?);
        for (&target, &file) in &vacated {
            builder.vacate(target, file);
        }
        let mut sources = HashMap::new();
        let mut reports = Vec::with_capacity(request.files.len());
        for (file, (entry, roles)) in request.files.iter().zip(&subjects.roles).enumerate() {
            run.observer.progress(Phase::Read, file, request.files.len());
            check_cancelled(run.cancel)?;
            let wants_bytes = matches!(entry.change, Change::Edit { .. }) || request.dry_run || request.include_content;
            // What leaves a path is no business of the new file that takes it.
            let is_new = matches!(entry.change, Change::Write { .. } | Change::Copy { .. })
                && vacated.contains_key(&roles.subject);
            let bytes = match roles.subject {
                _ if is_new => Ok(Vec::new()),
                // Another file may have become a copy of it.
                subject if wants_bytes => reader.read_again(subject, &mut sources),
                subject => reader.read(subject, false, &mut sources),
            };
            let bytes = bytes.map_err(|e| e.in_file(file))?;
            let source = sources.get(&SourceId(roles.subject)).filter(|_| !is_new);
            if let Some(source) = source {
                builder.saw(roles.subject, source.snapshot.state());
            }
            check_expected_hash(entry, source, &subjects.places[roles.subject], file)?;
            let copied;
            let content = match roles.origin {
                Some(origin) => {
                    copied = reader.read_again(origin, &mut sources).map_err(|e| e.in_file(file))?;
                    sources.get(&SourceId(origin)).inspect(|it| builder.saw(origin, it.snapshot.state()));
                    &copied
                }
                None => &bytes,
            };
            let edits = builder.add(file, entry, *roles, content).map_err(|error| {
                let error = elsewhere(request, &subjects.roles, &mut reader, &mut sources, error.in_file(file));
                error.at(&entry.path)
            })?;
            let asked = Asked { request, file, roles: *roles };
            let new = match entry.change {
                Change::Delete => None,
                _ => builder.becomes(roles.destination.unwrap_or(roles.subject)),
            };
            let source = sources.get(&SourceId(roles.subject)).filter(|_| !is_new);
            reports.push(asked.report(&subjects.places, source, content, new, edits));
            reader.keep(roles.subject, bytes, &mut sources);
        }
        reader.look_at_all(&mut builder, &mut sources)?;
        let plan = builder.finish()?;
        let targets = snapshots(&plan, &subjects.places, &sources);
        let account = Account::of(&self.program(run), request.label.as_deref(), &reports, &plan);
        let marks = Marks { label: request.label.clone(), ..Marks::default() };
        let gate = self.gate(request.check.as_ref());
        Ok((Draft { plan, sources, targets, parents, read_at, marks, account, gate }, reports))
    }

    /// Whether what stands at a place can be edited, replaced, moved or deleted, or a file made there.
    fn check(&self, place: &Place, parents: &Parents, closed: &HashSet<&Path>) -> Result<()> {
        let path = self.root.path().join(place.path.as_path());
        let (folder_stat, folder) = &parents[&place.folder];
        let name = Name::new(folder, place.path.name());
        match &place.stat {
            Some(stat) => snapshot::check_target(&*self.fs, &path, name, stat, folder_stat)?,
            None => snapshot::check_folder(&path, folder_stat)?,
        }
        if closed.contains(place.folder.as_path()) {
            let message = format!("you may not change the names in {}", folder.path().display());
            return Err(Error::new(ErrorKind::PermissionDenied, message).at(path));
        }
        Ok(())
    }

    /// The folders in which this user may not change names. The root is not looked at: the state folder is in it.
    fn closed_folders<'p>(&self, parents: &'p Parents) -> Result<HashSet<&'p Path>> {
        let mut closed = HashSet::new();
        if self.fs.host().map_err(|e| Error::io("ask who runs", self.root.path(), e))?.user == 0 {
            return Ok(closed);
        }
        for folder in parents.keys() {
            let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else { continue };
            let io = |e| Error::io("ask for access to", self.root.path().join(folder), e);
            let parent = self.fs.open_beneath(&self.root, parent).map_err(io)?;
            if !self.fs.may_write(Name::new(&parent, name)).map_err(io)? {
                closed.insert(folder.as_path());
            }
        }
        Ok(closed)
    }

    fn targets(&self, places: &[Place], vacated: &HashMap<usize, usize>, parents: &Parents) -> Result<Vec<Target>> {
        let mut new_modes: HashMap<&Path, u32> = HashMap::new();
        let mut targets = Vec::with_capacity(places.len());
        for (target, place) in places.iter().enumerate() {
            // One that stays keeps the mode that it has.
            let stays = place.stat.is_some() && !vacated.contains_key(&target);
            let new_mode = match new_modes.get(place.folder.as_path()) {
                _ if stays => 0,
                Some(mode) => *mode,
                None => *new_modes.entry(&place.folder).or_insert(self.new_mode(&parents[&place.folder].1)?),
            };
            targets.push(Target { path: place.path.clone(), missing: place.missing.clone(), new_mode, before: None });
        }
        Ok(targets)
    }

    /// The mode that a folder gives a new file.
    fn new_mode(&self, folder: &Handle) -> Result<u32> {
        let inherited = self.fs.inherited(folder, false);
        Ok(inherited.map_err(|e| Error::io("ask what a new file gets in", folder.path(), e))?.mode)
    }
}

/// What stands at the target of each entry of a plan.
fn snapshots(plan: &Plan, places: &[Place], sources: &HashMap<SourceId, Source>) -> Vec<Option<Snapshot>> {
    let index: HashMap<&RelPath, usize> =
        places.iter().enumerate().map(|(target, place)| (&place.path, target)).collect();
    let snapshot_of = |path: &RelPath| -> Option<Snapshot> {
        let source = sources.get(&SourceId(*index.get(path)?))?;
        Some(source.snapshot.clone())
    };
    let targets = plan.entries.iter().map(|entry| match entry.change {
        Planned::Folder => None,
        _ => snapshot_of(&entry.path),
    });
    targets.collect()
}

/// Reads targets, each once.
struct Reader<'a> {
    engine: &'a Engine,
    places: &'a [Place],
    parents: &'a Parents,
    /// Bytes that may still be kept in memory.
    room: u64,
}

impl Reader<'_> {
    /// The content of a target, where it is wanted and the target is there; its snapshot goes to `sources`.
    fn read(&self, target: usize, wanted: bool, sources: &mut HashMap<SourceId, Source>) -> Result<Vec<u8>> {
        let place = &self.places[target];
        let Some(stat) = &place.stat else { return Ok(Vec::new()) };
        if sources.contains_key(&SourceId(target)) {
            return Ok(Vec::new());
        }
        let (_, folder) = &self.parents[&place.folder];
        let name = OsString::from(place.path.name());
        let path = self.engine.root.path().join(place.path.as_path());
        let (mut snapshot, bytes) = snapshot::read(&*self.engine.fs, &path, Name::new(folder, &name), stat, wanted)?;
        if self.places.len() > limits::SYNC_EACH_UP_TO {
            // Only a sync of each file needs it open; many open files would be too many.
            snapshot.file = None;
        }
        sources.insert(SourceId(target), Source { folder: folder.clone(), name, snapshot, bytes: None });
        Ok(bytes)
    }

    /// Sees to it that every target was looked at, also those that no entry names as its own.
    fn look_at_all(&mut self, builder: &mut Builder, sources: &mut HashMap<SourceId, Source>) -> Result<()> {
        for target in 0..self.places.len() {
            self.read(target, false, sources)?;
            if let Some(source) = sources.get(&SourceId(target)) {
                builder.saw(target, source.snapshot.state());
            }
        }
        Ok(())
    }

    /// The content of a target that may have been read before: the very same content.
    fn read_again(&mut self, target: usize, sources: &mut HashMap<SourceId, Source>) -> Result<Vec<u8>> {
        let Some(before) = sources.remove(&SourceId(target)) else { return self.read(target, true, sources) };
        if let Some(bytes) = before.bytes.clone() {
            sources.insert(SourceId(target), before);
            return Ok(bytes);
        }
        let bytes = self.read(target, true, sources)?;
        let path = &self.places[target].path;
        match sources.insert(SourceId(target), before) {
            Some(now) if now.snapshot.digest != sources[&SourceId(target)].snapshot.digest => {
                let message = format!("{path} changed while it was read");
                Err(Error::new(ErrorKind::ConcurrentModification, message).at(path.as_path()))
            }
            _ => Ok(bytes),
        }
    }

    /// Keeps a content for staging, as long as there is room.
    fn keep(&mut self, target: usize, bytes: Vec<u8>, sources: &mut HashMap<SourceId, Source>) {
        let size = bytes.len() as u64;
        if size == 0 || size > self.room {
            return;
        }
        if let Some(source) = sources.get_mut(&SourceId(target)) {
            self.room -= size;
            source.bytes = Some(bytes);
        }
    }
}

/// Where an anchor was not found and nothing tells why: the file of the request in which it stands, if there is one
/// among the first that are looked at.
fn elsewhere(
    request: &Request,
    roles: &[Roles],
    reader: &mut Reader<'_>,
    sources: &mut HashMap<SourceId, Source>,
    error: Error,
) -> Error {
    let (Detail::NoMatch(diagnosis), Some(file), Some(edit)) = (error.details(), error.file(), error.edit()) else {
        return error;
    };
    let anchor = match &request.files[file].change {
        Change::Edit { edits, .. } | Change::Copy { edits, .. } => match edits.get(edit).map(|edit| &edit.anchor) {
            Some(Anchor::Text { text, .. }) => text.clone(),
            Some(Anchor::Hunk(hunk)) => hunk.old(),
            _ => return error,
        },
        _ => return error,
    };
    // A brace stands in every file, and says nothing.
    if diagnosis.cause.is_some() || anchor.trim_ascii().len() < TELLING {
        return error;
    }
    let mut left = limits::CACHED_BYTES;
    let others = request.files.iter().zip(roles).enumerate();
    let others = others.filter(|(index, (entry, _))| *index != file && matches!(entry.change, Change::Edit { .. }));
    for (index, (_, roles)) in others.take(LOOKED_AT) {
        let size = reader.places[roles.subject].stat.as_ref().map_or(0, |stat| stat.size);
        let Some(rest) = left.checked_sub(size) else { continue };
        left = rest;
        // What cannot be read has an error of its own to come.
        let Ok(bytes) = reader.read_again(roles.subject, sources) else { continue };
        if diagnose::contains(&bytes, &anchor) {
            let mut diagnosis = diagnosis.clone();
            diagnosis.cause = Some(Cause::InOtherFile(index));
            let message = format!("old_string not found in the file{}", diagnosis.advice());
            return error.reworded(|_| message).detail(Detail::NoMatch(diagnosis));
        }
    }
    error
}

fn check_expected_hash(entry: &FileRequest, source: Option<&Source>, place: &Place, file: usize) -> Result<()> {
    let Some(expected) = entry.expected_hash else { return Ok(()) };
    let found = source.map(|source| source.snapshot.digest);
    if found == Some(expected) {
        return Ok(());
    }
    let found = found.map_or_else(|| "it is not there".to_owned(), |digest| format!("its hash is {digest}"));
    let message = format!("{} is not the file that the edits were made for: {found}, expected {expected}", place.path);
    Err(Error::new(ErrorKind::HashMismatch, message).in_file(file).at(&entry.path))
}

/// Whether the caller says of every file that is there which content it must have.
fn carries_hashes(request: &Request) -> bool {
    let is_new = |file: &FileRequest| matches!(file.change, Change::Write { .. } | Change::Copy { .. });
    request.files.iter().any(|file| file.expected_hash.is_some())
        && request.files.iter().all(|file| file.expected_hash.is_some() || is_new(file))
}

/// One file of a request, to be reported.
struct Asked<'a> {
    request: &'a Request,
    file: usize,
    roles: Roles,
}

impl Asked<'_> {
    fn report(
        &self,
        places: &[Place],
        source: Option<&Source>,
        old: &[u8],
        new: Option<&New>,
        edits: Vec<crate::text::Applied>,
    ) -> FileReport {
        let entry = &self.request.files[self.file];
        let before = source.map(|source| source.snapshot.state());
        let subject = &places[self.roles.subject];
        let unchanged = before.is_some() && new.is_some_and(|new| Some(new.state) == before);
        let operation = match &entry.change {
            Change::Delete => Operation::Delete,
            Change::Rename(_) | Change::Edit { rename: Some(_), .. } => Operation::Rename,
            _ if unchanged => Operation::None,
            Change::Edit { .. } => Operation::Edit,
            Change::Write { .. } if before.is_some() => Operation::Replace,
            Change::Write { .. } | Change::Copy { .. } => Operation::Create,
            Change::Mode => Operation::Mode,
        };
        let content =
            new.filter(|_| self.request.dry_run || self.request.include_content).map(|new| rendered(new, old));
        let mut warnings = Vec::new();
        let links = source.map_or(1, |source| source.snapshot.stat.links);
        if links > 1 && operation != Operation::None {
            warnings.push(format!("{} had {links} hard links; the other names keep the old content", subject.path));
        }
        let renamed_to = match &entry.change {
            Change::Rename(to) | Change::Edit { rename: Some(to), .. } => Some(to.path.clone()),
            _ => None,
        };
        let destination = renamed_to.as_ref().map_or(&entry.path, |path| path);
        let diff = self.request.dry_run.then(|| {
            let old_name = if before.is_some() { entry.path.display().to_string() } else { "/dev/null".to_owned() };
            let new_name = if new.is_some() { destination.display().to_string() } else { "/dev/null".to_owned() };
            let old = if before.is_some() { old } else { &[] };
            diff::unified(old, content.as_deref().unwrap_or_default(), &old_name, &new_name, limits::DIFF_BYTES)
        });
        FileReport {
            path: entry.path.clone(),
            operation,
            renamed_to,
            edits,
            hash_before: before.map(|state| state.digest),
            hash_after: new.map(|new| new.state.digest),
            backup: self.roles.backup.map(|target| places[target].path.as_path().to_owned()),
            content: content.filter(|_| self.request.include_content),
            diff,
            rebased: None,
            warnings,
        }
    }
}

/// The bytes of a new content, from the old one.
fn rendered(new: &New, old: &[u8]) -> Vec<u8> {
    match &new.content {
        Content::Bytes(bytes) => bytes.clone(),
        Content::Spliced(_, splices) => splices.apply(old),
    }
}
