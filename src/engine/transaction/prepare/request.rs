//! Reads the files of a request and decides the changes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::folder_modes;
use super::lock_targets::Parents;
use super::permissions::Permissions;
use super::prepared::{Prepared, Sources, TransactionOrigin};
use super::read_files::FileReading;
use super::reader::TargetReader;
use super::request_paths::RequestPaths;
use super::resolve::ResolvedPath;
use super::set_id;
use crate::engine::report::FileReport;
use crate::engine::store::snapshot::Snapshot;
use crate::engine::store::state::StateLookup;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Handle;
use crate::index::{EntryIndex, FileIndex, IndexVec, TargetIndex};
use crate::path::RelPath;
use crate::plan::build::{Builder, Target};
use crate::plan::{Access, Entry, Plan, PlannedChange as Planned, SourceId};
use crate::request::{Change, Request};

impl Engine {
    /// Plans a request without locks.
    pub(crate) fn prepare_unlocked(
        &self,
        request: &Request,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<(Prepared, Vec<FileReport>)> {
        let paths = RequestPaths::of(request);
        let (places, parents) = self.resolve_unlocked(&paths, found, warnings)?;
        let prepared = self.prepare(request, paths, places, parents, run)?;
        self.check_possible(&prepared.0, found)?;
        self.check_untried(&prepared.0, warnings)?;
        Ok(prepared)
    }

    /// Reads everything and decides the changes.
    pub(crate) fn prepare(
        &self,
        request: &Request,
        paths: RequestPaths,
        places: Vec<ResolvedPath>,
        parents: Parents,
        run: Run<'_>,
    ) -> Result<(Prepared, Vec<FileReport>)> {
        let user = self.workspace.host()?.user;
        let resolved = paths.resolve(request, places, &Permissions::of(self, user, &parents)?)?;
        if !self.allows_set_id {
            set_id::check(request, &resolved)?;
        }
        let folder_modes = folder_modes::of(request, &resolved, user)?;
        let read_at = Instant::now();
        let leaving = resolved.target_ids.numbered().zip(&request.files);
        let leaving = leaving.filter(|((file, _), entry)| entry.vacates() && !resolved.leaves_out(request, *file));
        let vacated: HashMap<TargetIndex, FileIndex> =
            leaving.map(|((file, target_ids), _)| (target_ids.subject, file)).collect();
        let mut builder = Builder::new(self.targets(&resolved.places, &vacated, &parents)?);
        for (&target, &file) in &vacated {
            builder.vacate(target, file);
        }
        let (mut reader, reports) = std::thread::scope(|scope| {
            // In here, so that the thread that reads ahead ends in any case.
            let mut reader = TargetReader::new(self, &resolved.places, &parents, run.cancel);
            let edited = request.files.iter().zip(&resolved.target_ids);
            let edited = edited.filter(|(entry, _)| matches!(entry.change, Change::Edit { .. }));
            reader.read_ahead(scope, edited.map(|(_, target_ids)| target_ids.subject));
            let mut files = FileReading { request, resolved: &resolved, vacated: &vacated, reader: &mut reader };
            let reports = files.all(&mut builder, run)?;
            reader.read_no_further();
            Ok::<_, Error>((reader, reports))
        })?;
        reader.look_at_all(&mut builder)?;
        let sources = reader.into_sources();
        // Only the paths of the places are still needed.
        let mut paths: Vec<RelPath> = resolved.places.into_iter().map(|place| place.path).collect();
        paths.shrink_to_fit();
        drop(resolved.target_ids);
        let plan = builder.finish()?;
        check_readable(&plan, user)?;
        let targets = snapshots(&plan, &paths.into(), &sources);
        let (label, campaign) = (request.label.clone(), request.campaign.clone());
        let origin = TransactionOrigin { label, campaign, ..TransactionOrigin::default() };
        let gate = self.gate(request.check.as_ref())?;
        let folder_metadata = HashMap::new();
        let (again, contended) = (false, None);
        let prepared = Prepared {
            plan,
            sources,
            targets,
            parents,
            folder_metadata,
            folder_modes,
            read_at,
            origin,
            gate,
            passed: None,
            again,
            contended,
            overwrites_all: false,
        };
        Ok((prepared.overwriting()?, reports))
    }

    fn targets(
        &self,
        places: &IndexVec<TargetIndex, ResolvedPath>,
        vacated: &HashMap<TargetIndex, FileIndex>,
        parents: &Parents,
    ) -> Result<IndexVec<TargetIndex, Target>> {
        let mut given: HashMap<&Path, (u32, Option<Access>)> = HashMap::new();
        let mut targets = Vec::with_capacity(places.len());
        for (target, place) in places.numbered() {
            // A file that stays keeps its mode and owner.
            let stays = place.stat.is_some() && !vacated.contains_key(&target);
            let (new_mode, new_access) = match given.get(place.folder()) {
                _ if stays => (0, None),
                Some(given) => *given,
                None => *given.entry(place.folder()).or_insert(self.given(&parents[place.folder()].1)?),
            };
            let (path, missing, within) = (place.path.clone(), place.missing.clone(), place.folders_within());
            targets.push(Target { path, missing, within, new_mode, new_access });
        }
        Ok(targets.into())
    }

    /// The mode and owner that a folder gives a new file.
    fn given(&self, folder: &Handle) -> Result<(u32, Option<Access>)> {
        let inherited = self.workspace.inherited(folder, false)?;
        Ok((inherited.mode, Some(inherited.access())))
    }
}

/// Refuses a file that its owner could not read: it could be neither recovered nor undone.
fn check_readable(plan: &Plan, user: u32) -> Result<()> {
    let closed = |entry: &&Entry| match &entry.change {
        Planned::Edit(_, new) | Planned::Create(new) | Planned::FolderToFile(new) => {
            !new.state.is_link() && new.state.mode & 0o400 == 0
        }
        Planned::Delete(_) | Planned::Folder | Planned::FileToFolder(_) | Planned::RemoveFolder => false,
    };
    let Some(entry) = plan.entries.iter().find(closed).filter(|_| user != 0) else { return Ok(()) };
    let message = format!("{} would get a mode in which you cannot read it; it could not be rolled back", entry.path);
    let error = Error::new(ErrorKind::PermissionDenied, message).at(entry.path.as_path());
    Err(error.asked_by(entry.asked_by))
}

/// The file at the target of each entry of a plan, as it was read.
fn snapshots(
    plan: &Plan,
    paths: &IndexVec<TargetIndex, RelPath>,
    sources: &Sources,
) -> IndexVec<EntryIndex, Option<Arc<Snapshot>>> {
    let index: HashMap<&RelPath, TargetIndex> = paths.numbered().map(|(target, path)| (path, target)).collect();
    let snapshot_of = |path: &RelPath| {
        let source = sources.get(SourceId::from(*index.get(path)?))?;
        Some(Arc::clone(&source.snapshot))
    };
    let targets = plan.entries.iter().map(|entry| match entry.change {
        Planned::Folder | Planned::FolderToFile(_) | Planned::RemoveFolder => None,
        _ => snapshot_of(&entry.path),
    });
    targets.collect()
}
