//! One request, from its paths to its report.
//!
//! Architecture invariant: whatever fails before the first swap leaves every file as it was, and whatever fails behind it is
//! rolled back here, or left whole to recovery.

pub(super) mod check_gate;
pub(super) mod execute;
pub(super) mod idempotency;
pub(super) mod prepare;
pub(super) mod retry;
pub(super) mod stage;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::report::{FileReport, Report};
use super::store::lock::check_cancelled;
use super::store::snapshot::{self, Snapshot};
use super::store::state::State;
use super::{Durability, Engine, Phase, Run};
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::fs::{Handle, Name};
use crate::path::RelPath;
use crate::plan::build::{Base, Builder, Target};
use crate::plan::{Access, Change as Planned, Entry, Plan, SourceId};
use crate::request::validate::{self, PathRule};
use crate::request::{Change, FileRequest, Request};
use prepare::lock_targets::{LockedTargets, Parents};
use prepare::prepared::{Marks, Prepared, Source, Sources};
use prepare::request_paths::{RequestPaths, ResolvedRequest, vacates};
use prepare::resolve::Place;

use prepare::file_report::Asked;
use prepare::other_files::elsewhere;
use prepare::reader::Reader;

impl Engine {
    /// Does what `request` asks, all of it or nothing. On failure the error's outcome says what is true of the
    /// files: `Unchanged` and `RolledBack` both mean that all of them are as they were.
    ///
    /// Where another program writes one of the files meanwhile, a request that means the same for any content is tried
    /// again, for as long as it would wait for a lock.
    pub fn apply(&self, request: &Request, run: Run<'_>) -> Result<Report> {
        self.check_allowed(request.check.as_ref())?;
        let mut warnings = Vec::new();
        if request.dry_run {
            // What a key was used for answers the commit, too.
            if let Some(report) = self.answered_before(request, request.fingerprint(self.root()), run)? {
                return Ok(Report { dry_run: true, ..report });
            }
            let (_, files) = self.prepare_unlocked(request, &mut warnings, run)?;
            return Ok(Report { dry_run: true, files, warnings, ..Report::default() });
        }
        let attempt = |attempt| self.attempt(request, attempt, &mut warnings, run);
        let report =
            self.try_again(request.check.as_ref(), attempt, |error| retry::means_the_same(request, error), run);
        retry::telling(report, warnings)
    }

    /// Does what was found in the files, of which each that changes has the hash of what was looked at: looks again, as long
    /// as another program changes one in between. Else the same as [`apply`](Self::apply). Answers what was found last, too.
    pub fn apply_found<T: AsRef<Request>>(
        &self,
        find: impl Fn() -> Result<T>,
        run: Run<'_>,
    ) -> (Option<T>, Result<Report>) {
        let (mut last, mut warnings) = (None, Vec::new());
        let attempt = |attempt| {
            let found: &T = last.insert(find()?);
            let request = found.as_ref();
            if request.files.is_empty() {
                return Ok(Report { dry_run: request.dry_run, ..Report::default() });
            }
            validate::check(request, PathRule::Absolute)?;
            if request.dry_run { self.apply(request, run) } else { self.attempt(request, attempt, &mut warnings, run) }
        };
        let report = self.try_again(None, attempt, |_| true, run);
        (last, retry::telling(report, warnings))
    }

    /// Tries it for the `attempt`th time: all before came to nothing, since another program came in between.
    fn attempt(&self, request: &Request, attempt: usize, warnings: &mut Vec<String>, run: Run<'_>) -> Result<Report> {
        let again = attempt > 1;
        let paths = RequestPaths::of(request);
        self.recover_own(warnings, run)?;
        let fingerprint = request.fingerprint(self.root());
        let mut locked = match self.lock_targets(&paths.paths(), &|found| paths.judge(found), warnings, run) {
            // What made a folder of a file, or a file of a folder, has paths that lead nowhere once it is done.
            Err(error) if leads_nowhere(&error) => {
                return self.answered_before(request, fingerprint, run).ok().flatten().ok_or(error);
            }
            locked => locked?,
        };
        if let Some(report) = self.answered_before(request, fingerprint, run)? {
            return Ok(report);
        }
        self.refuse_key_at_work(request)?;
        if again {
            locked.look_again(&*self.fs)?;
        }
        let LockedTargets { places, parents, locks } = locked;
        let (mut prepared, files) = match self.prepare(request, paths, places, parents, run) {
            // A file that is no longer what the request expects may be what the request makes of it.
            Err(error) if carries_hashes(request) => {
                return self.repeated(request, fingerprint, |_| false, run)?.ok_or(error);
            }
            other => other?,
        };
        prepared.marks.request = Some(fingerprint);
        prepared.marks.key.clone_from(&request.idempotency_key);
        prepared.again = again;
        if attempt > self.contended_after && self.settings.durability == Durability::Power {
            prepared.contended = prepare::reapplicable::edits(self.protocol, request, &prepared);
        }
        self.carry_out(prepared, locks, Report { files, ..Report::default() }, run)
    }

    /// What would be done now, decided without a lock.
    pub(crate) fn prepare_unlocked(
        &self,
        request: &Request,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<(Prepared, Vec<FileReport>)> {
        let paths = RequestPaths::of(request);
        let (places, parents) = self.resolve_unlocked(&paths.paths(), &|found| paths.judge(found), warnings)?;
        let prepared = self.prepare(request, paths, places, parents, run)?;
        self.check_possible(&prepared.0, &State::find(&*self.fs, &self.root, self.protocol)?)?;
        Ok(prepared)
    }

    /// Reads everything, and decides what will be done.
    pub(crate) fn prepare(
        &self,
        request: &Request,
        paths: RequestPaths,
        places: Vec<Place>,
        parents: Parents,
        run: Run<'_>,
    ) -> Result<(Prepared, Vec<FileReport>)> {
        let user = self.fs.host().map_err(|e| Error::io("ask who runs", self.root.path(), e))?.user;
        let closed = self.closed_folders(user, &parents)?;
        let resolved = paths.roles(request, places, &|place| self.check(place, user, &parents, &closed))?;
        if !self.allows_set_id {
            prepare::set_id::check(request, &resolved)?;
        }
        let read_at = Instant::now();
        let leaving = request.files.iter().zip(&resolved.roles).enumerate().filter(|(_, (entry, _))| vacates(entry));
        let vacated: HashMap<usize, usize> = leaving.map(|(file, (_, roles))| (roles.subject, file)).collect();
        let mut builder = Builder::new(self.targets(&resolved.places, &vacated, &parents)?);
        for (&target, &file) in &vacated {
            builder.vacate(target, file);
        }
        let (mut reader, reports) = std::thread::scope(|scope| {
            // In here, so that the thread that reads ahead ends with it whatever happens.
            let mut reader = Reader::new(self, &resolved.places, &parents, run.cancel);
            let edited = request.files.iter().zip(&resolved.roles);
            let edited = edited.filter(|(entry, _)| matches!(entry.change, Change::Edit { .. }));
            reader.read_ahead(scope, edited.map(|(_, roles)| roles.subject));
            let mut planning = Planning { request, resolved: &resolved, vacated: &vacated, reader: &mut reader };
            let reports = planning.all(&mut builder, run)?;
            reader.read_no_further();
            Ok::<_, Error>((reader, reports))
        })?;
        reader.look_at_all(&mut builder)?;
        let sources = reader.into_sources();
        // Of the places only their paths are still of use.
        let mut paths: Vec<RelPath> = resolved.places.into_iter().map(|place| place.path).collect();
        paths.shrink_to_fit();
        drop(resolved.roles);
        let plan = builder.finish()?;
        check_readable(&plan, user)?;
        let targets = snapshots(&plan, &paths, &sources);
        let marks = Marks { label: request.label.clone(), ..Marks::default() };
        let gate = self.gate(request.check.as_ref())?;
        let dresses = HashMap::new();
        let (again, contended) = (false, None);
        Ok((Prepared { plan, sources, targets, parents, dresses, read_at, marks, gate, again, contended }, reports))
    }

    /// Whether what stands at a place can be edited, replaced, moved or deleted, or a file made there.
    fn check(&self, place: &Place, user: u32, parents: &Parents, closed: &HashSet<&Path>) -> Result<()> {
        let path = || self.root.path().join(place.path.as_path());
        let (folder_stat, folder) = &parents[place.folder()];
        let name = Name::new(folder, place.path.name());
        match &place.stat {
            Some(stat) => snapshot::check_target(&*self.fs, user, name, stat, folder_stat)?,
            None => snapshot::check_folder(path, folder_stat)?,
        }
        let leaving: Vec<RelPath> = match place.folders_within() {
            Some(within) => within.into_iter().chain([place.path.clone()]).collect(),
            None => Vec::new(),
        };
        let is_foreign = |folder: &&RelPath| user != 0 && parents[folder.as_path()].0.user != user;
        if let Some(folder) = leaving.iter().find(is_foreign) {
            let message = format!("{folder} belongs to another user, to whom an undo could not give it back");
            return Err(Error::new(ErrorKind::PermissionDenied, message).at(path()));
        }
        // A folder that moves is written, too: its `..` changes.
        let mut touched = leaving.iter().map(RelPath::as_path).chain([place.folder()]);
        if let Some(closed) = touched.find(|folder| closed.contains(folder)) {
            let message = format!("you may not change the names in {}", self.root.path().join(closed).display());
            return Err(Error::new(ErrorKind::PermissionDenied, message).at(path()));
        }
        Ok(())
    }

    /// The folders in which this user may not change names. The root is not looked at: the state folder is in it.
    fn closed_folders<'p>(&self, user: u32, parents: &'p Parents) -> Result<HashSet<&'p Path>> {
        let mut closed = HashSet::new();
        if user == 0 {
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
        let mut given: HashMap<&Path, (u32, Option<Access>)> = HashMap::new();
        let mut targets = Vec::with_capacity(places.len());
        for (target, place) in places.iter().enumerate() {
            // One that stays keeps what it has.
            let stays = place.stat.is_some() && !vacated.contains_key(&target);
            let (new_mode, new_access) = match given.get(place.folder()) {
                _ if stays => (0, None),
                Some(given) => *given,
                None => *given.entry(place.folder()).or_insert(self.given(&parents[place.folder()].1)?),
            };
            let (path, missing, within) = (place.path.clone(), place.missing.clone(), place.folders_within());
            targets.push(Target { path, missing, within, new_mode, new_access });
        }
        Ok(targets)
    }

    /// What a folder gives a new file.
    fn given(&self, folder: &Handle) -> Result<(u32, Option<Access>)> {
        let inherited = self.fs.inherited(folder, false);
        let inherited = inherited.map_err(|e| Error::io("ask what a new file gets in", folder.path(), e))?;
        Ok((inherited.mode, Some(inherited.access())))
    }
}

/// The files of a request, one after the other.
struct Planning<'d, 'a> {
    request: &'d Request,
    resolved: &'d ResolvedRequest,
    /// Targets that a file of the request leaves.
    vacated: &'d HashMap<usize, usize>,
    reader: &'d mut Reader<'a>,
}

impl Planning<'_, '_> {
    fn all(&mut self, builder: &mut Builder, run: Run<'_>) -> Result<Vec<FileReport>> {
        let total = self.request.files.len();
        let mut reports = Vec::with_capacity(total);
        for file in 0..total {
            run.observer.progress(Phase::Read, file, total);
            check_cancelled(run.cancel)?;
            reports.push(self.one(file, builder)?);
        }
        Ok(reports)
    }

    /// Reads one file and edits it.
    fn one(&mut self, file: usize, builder: &mut Builder) -> Result<FileReport> {
        let (request, entry, roles) = (self.request, &self.request.files[file], self.resolved.roles[file]);
        let subject = roles.subject;
        let named = |e: Error| e.in_file(file);
        let shows = request.dry_run || request.include_content;
        // What leaves a path is no business of the new file that takes it.
        let is_new =
            matches!(entry.change, Change::Write { .. } | Change::Copy { .. }) && self.vacated.contains_key(&subject);
        let large = match &entry.change {
            Change::Edit { edits, .. } if !shows => self.reader.read_large(subject, edits).map_err(named)?,
            _ => None,
        };
        let bytes = match &entry.change {
            _ if is_new || large.is_some() => Vec::new(),
            // Another file may have become a copy of it.
            Change::Edit { .. } => self.reader.read_again(subject).map_err(named)?,
            _ if shows => self.reader.read_again(subject).map_err(named)?,
            _ => self.reader.look(subject).map(|()| Vec::new()).map_err(named)?,
        };
        let source = self.reader.source(subject).filter(|_| !is_new);
        if let Some(source) = source {
            builder.saw(subject, source.snapshot.state());
        }
        check_expected_hash(entry, source, &self.resolved.places[subject], file)?;
        let copied;
        let content = match roles.origin {
            Some(origin) => {
                copied = self.reader.read_again(origin).map_err(named)?;
                if let Some(source) = self.reader.source(origin) {
                    builder.saw(origin, source.snapshot.state());
                }
                &copied
            }
            None => &bytes,
        };
        let base: &dyn Base = large.as_ref().map_or(content as &dyn Base, |large| large);
        let edits = builder.add(file, entry, roles, base).map_err(|error| {
            elsewhere(request, &self.resolved.roles, self.reader, error.in_file(file)).at(&entry.path)
        })?;
        let new = match entry.change {
            Change::Delete => None,
            _ => builder.becomes(roles.destination.unwrap_or(subject)),
        };
        let source = self.reader.source(subject).filter(|_| !is_new);
        let report = Asked { request, file, roles }.report(&self.resolved.places, source, content, new, edits);
        self.reader.keep(subject, bytes);
        Ok(report)
    }
}

/// A file that its owner cannot read could be neither recovered nor undone.
fn check_readable(plan: &Plan, user: u32) -> Result<()> {
    let closed = |entry: &&Entry| match &entry.change {
        Planned::Edit(_, new) | Planned::Create(new) | Planned::FolderToFile(new) => new.state.mode & 0o400 == 0,
        Planned::Delete(_) | Planned::Folder | Planned::FileToFolder(_) | Planned::RemoveFolder => false,
    };
    let Some(entry) = plan.entries.iter().find(closed).filter(|_| user != 0) else { return Ok(()) };
    let message = format!("{} would get a mode in which you cannot read it; it could not be taken back", entry.path);
    let error = Error::new(ErrorKind::PermissionDenied, message).at(entry.path.as_path());
    Err(error.asked_by(entry.asked_by))
}

/// Whether a request is refused for paths at which something of another kind stands, or nothing. What is closed stays so,
/// whatever was done before.
fn leads_nowhere(error: &Error) -> bool {
    let is_it = |kind: ErrorKind| {
        matches!(
            kind,
            ErrorKind::ValidationFailed | ErrorKind::FileNotFound | ErrorKind::FileExists | ErrorKind::NotARegularFile
        )
    };
    match error.details() {
        Detail::Findings(findings) => findings.iter().all(|finding| is_it(finding.kind)),
        _ => is_it(error.kind()),
    }
}

/// What stands at the target of each entry of a plan.
fn snapshots(plan: &Plan, paths: &[RelPath], sources: &Sources) -> Vec<Option<Arc<Snapshot>>> {
    let index: HashMap<&RelPath, usize> = paths.iter().enumerate().map(|(target, path)| (path, target)).collect();
    let snapshot_of = |path: &RelPath| {
        let source = sources.get(SourceId(*index.get(path)?))?;
        Some(Arc::clone(&source.snapshot))
    };
    let targets = plan.entries.iter().map(|entry| match entry.change {
        Planned::Folder | Planned::FolderToFile(_) | Planned::RemoveFolder => None,
        _ => snapshot_of(&entry.path),
    });
    targets.collect()
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
