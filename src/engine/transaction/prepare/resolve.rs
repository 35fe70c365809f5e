//! Resolves paths of a request to places in the workspace: follows symlinks and opens folders.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::store::snapshot;
use crate::engine::store::workspace::Workspace;
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{FileKind, Handle, Name, Stat};
use crate::limits;
use crate::path::bounds::{Barred, Bounds, is_repository, lead_into_state};
use crate::path::{AskedPath, PathProblem, RelPath};

mod beside;
mod links;
mod states;

/// A path of a request, resolved.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedPath {
    /// The path in the workspace, without symlinks on the way.
    pub path: RelPath,
    /// The missing folders on the way, parents first.
    pub missing: Vec<RelPath>,
    /// The first of them in whose place something else stands.
    pub obstacle: Option<RelPath>,
    /// The contents of the folder at this place, if it makes way for a file: parents first, each with its kind.
    pub within: Option<Vec<(RelPath, FileKind)>>,
    /// The metadata of the file or folder at this place, if there is one.
    pub stat: Option<Arc<Stat>>,
    /// True if the last name was a symlink that was followed.
    pub is_link: bool,
}

impl ResolvedPath {
    /// Returns whether the symlink at this place is meant itself.
    pub(crate) fn is_symlink(&self) -> bool {
        self.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Symlink)
    }

    /// The nearest existing folder on the way, as a path in the workspace.
    pub(crate) fn folder(&self) -> &Path {
        self.missing.first().unwrap_or(&self.path).parent()
    }

    /// The folders in the one that makes way for a file.
    pub(crate) fn folders_within(&self) -> Option<Vec<RelPath>> {
        let folders = self.within.as_ref()?.iter().filter(|(_, kind)| *kind == FileKind::Folder);
        Some(folders.map(|(path, _)| path.clone()).collect())
    }

    /// Records that the folder at this place makes way for a file.
    pub(crate) fn make_way(&mut self) {
        self.stat = None;
        self.within = Some(Vec::new());
    }

    /// The error of a path that leads through something that is not a folder.
    pub(crate) fn obstructed(&self) -> Option<Error> {
        let message = format!("{} is not a folder", self.obstacle.as_ref()?);
        Some(Error::new(ErrorKind::NotARegularFile, message).at(self.path.as_path()))
    }
}

/// What is done about a symlink that is the last name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    /// It is followed: what it leads to is meant.
    Follow,
    /// It is followed, unless another path of the request takes the symlink itself away.
    FollowIfItStays,
    /// The symlink itself is meant.
    Keep,
    /// The same, and one on the way is an obstacle: the path was recorded where there was none.
    KeepAll,
    /// A folder is meant, which is made or removed: a symlink is none.
    Folder,
}

impl LastLink {
    /// Returns whether a symlink there is not followed, whatever the rest of the request does.
    const fn is_itself(self) -> bool {
        matches!(self, Self::Keep | Self::KeepAll | Self::Folder)
    }
}

/// Resolves paths, and keeps every folder that it opens on the way.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    workspace: &'a Workspace,
    bounds: &'a Bounds,
    /// The folders by their path in the workspace. The paths are normalised, and texts are faster keys.
    folders: HashMap<OsString, ResolvedFolder>,
    /// True for repositories, by their path.
    repositories: HashMap<OsString, bool>,
    /// The last place in an open folder, and that folder.
    last: Option<(RelPath, Handle)>,
    /// Folders that are already open: finding one again takes no second handle.
    known: Option<&'a Folders>,
    /// The symlinks that the request takes away themselves, or puts something else in the place of.
    taken_links: HashSet<RelPath>,
    /// The symlinks in whose place the request makes folders.
    links_to_folders: HashSet<RelPath>,
}

/// Open folders, by their paths in the workspace.
pub(crate) type Folders = HashMap<PathBuf, (Stat, Handle)>;

#[derive(Debug, Clone)]
enum ResolvedFolder {
    Open(Handle, Stat),
    Missing,
    Obstacle,
    ThroughLink,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(workspace: &'a Workspace, bounds: &'a Bounds) -> Self {
        let (folders, repositories) = (HashMap::new(), HashMap::new());
        let (taken_links, links_to_folders) = (HashSet::new(), HashSet::new());
        Self { workspace, bounds, folders, repositories, last: None, known: None, taken_links, links_to_folders }
    }

    /// A resolver for paths that were resolved before.
    pub(crate) fn knowing(self, known: &'a Folders) -> Self {
        Self { known: Some(known), ..self }
    }

    /// The folder of a place, open.
    pub(crate) fn folder(&self, place: &ResolvedPath) -> (&Handle, &Stat) {
        match &self.folders[place.folder().as_os_str()] {
            ResolvedFolder::Open(handle, stat) => (handle, stat),
            _ => unreachable!("the folder of a place is open"),
        }
    }

    /// Every folder that was opened and is the folder of a place in `places`, each once.
    pub(crate) fn folders_of<'p>(&self, places: impl Iterator<Item = &'p ResolvedPath>) -> Folders {
        let mut folders = HashMap::new();
        let mut last = None;
        for place in places {
            let folder = place.folder();
            // Most places are in the same folder as the one before.
            if last.replace(folder) != Some(folder) && !folders.contains_key(folder) {
                let (handle, stat) = self.folder(place);
                folders.insert(folder.to_owned(), (stat.clone(), handle.clone()));
            }
            let Some(within) = place.folders_within() else { continue };
            for folder in [&place.path].into_iter().chain(&within) {
                if let ResolvedFolder::Open(handle, stat) = &self.folders[folder.as_path().as_os_str()] {
                    folders.insert(folder.as_path().to_owned(), (stat.clone(), handle.clone()));
                }
            }
        }
        folders
    }

    /// Lists everything in a folder that makes way for a file.
    pub(crate) fn look_into(&mut self, place: &mut ResolvedPath) -> Result<()> {
        let mut within = Vec::new();
        let mut todo = vec![place.path.clone()];
        while let Some(path) = todo.pop() {
            let ResolvedFolder::Open(folder, _) = self.open(path.as_path())?.clone() else {
                return Err(snapshot::changed(path.as_path(), "was moved or removed"));
            };
            for name in self.workspace.list(&folder)? {
                let inner = path.as_path().join(&name);
                let inner = RelPath::new(&inner).map_err(|problem| refused(problem, &inner))?;
                let name = Name::new(&folder, &name);
                let stat = self.workspace.stat(name)?;
                let Some(stat) = stat else { continue };
                let kind = if stat.mount_root { FileKind::Special } else { stat.kind };
                if kind == FileKind::Folder {
                    self.check_bounds(&inner, inner.as_path())?;
                    if self.is_state(inner.as_path())? {
                        return Err(refused(PathProblem::StateFolder, inner.as_path()));
                    }
                    todo.push(inner.clone());
                }
                within.push((inner, kind));
            }
        }
        place.within = Some(within);
        Ok(())
    }

    /// Resolves one path as the caller wrote it. It is an error if something other than a folder is on the way.
    pub(crate) fn place(&mut self, path: &AskedPath) -> Result<ResolvedPath> {
        let place = self.place_beyond(path, LastLink::Follow)?;
        place.obstructed().map_or(Ok(place), Err)
    }

    /// Resolves paths, those of symlinks themselves first: whether another path leads through one of them or ends there
    /// depends on that.
    pub(crate) fn places<'p>(
        &mut self,
        paths: impl Iterator<Item = (&'p AskedPath, LastLink)>,
    ) -> Vec<Result<ResolvedPath>> {
        let paths: Vec<_> = paths.collect();
        let mut places = self.places_themselves(&paths);
        if !(self.taken_links.is_empty() && self.links_to_folders.is_empty()) {
            // Some of them may lead through others of them.
            places = self.places_themselves(&paths);
        }
        let each = paths.into_iter().zip(places);
        each.map(|((path, last), place)| place.unwrap_or_else(|| self.place_beyond(path, last))).collect()
    }

    /// Resolves the paths at which a symlink itself is meant, and records the symlinks that are there.
    fn places_themselves(&mut self, paths: &[(&AskedPath, LastLink)]) -> Vec<Option<Result<ResolvedPath>>> {
        let (mut taken, mut to_folders) = (HashSet::new(), HashSet::new());
        let mut places: Vec<Option<Result<ResolvedPath>>> = Vec::with_capacity(paths.len());
        for (path, last) in paths {
            let place = last.is_itself().then(|| self.place_beyond(path, *last));
            if let Some(Ok(place)) = &place
                && place.is_symlink()
            {
                let links = if *last == LastLink::Folder { &mut to_folders } else { &mut taken };
                links.insert(place.path.clone());
            }
            places.push(place);
        }
        (self.taken_links, self.links_to_folders) = (taken, to_folders);
        places
    }

    /// Resolves one path; an obstacle on the way is recorded in the place, since it may be removed.
    fn place_beyond(&mut self, path: &AskedPath, last: LastLink) -> Result<ResolvedPath> {
        let mut rel = self.relative(path)?;
        let mut is_link = false;
        for _ in 0..limits::SYMLINKS {
            // Before anything is opened, and again for the target of each symlink.
            self.check_bounds(&rel, path)?;
            if let Some(place) = self.beside_last(&rel)?.filter(|_| !is_link) {
                return Ok(place);
            }
            match self.step(&rel, last)? {
                // Its target has just disappeared.
                PathStep::There(place) if is_link && place.stat.is_none() => return Err(leads_nowhere(path)),
                PathStep::There(mut place) => {
                    self.check_repositories(&place, path)?;
                    self.check_states(&place, path)?;
                    place.is_link = is_link;
                    self.remember(&place);
                    return Ok(place);
                }
                PathStep::LinkedFolder => {
                    self.check_links(path, (rel.parent(), Some(rel.name())), last)?;
                    rel = self.through_links(&rel, path)?;
                }
                PathStep::Link(place) if last.is_itself() || self.is_taken(&rel, last) => {
                    self.check_repositories(&place, path)?;
                    self.check_states(&place, path)?;
                    return Ok(place);
                }
                PathStep::Link(_) => {
                    is_link = true;
                    self.check_links(path, (rel.as_path(), None), last)?;
                    let target = self.canonical(&self.workspace.root.path().join(rel.as_path()))?;
                    rel = self.inside(&target, path)?;
                }
            }
        }
        Err(Error::io("resolve", path, Errno::LOOP.into()))
    }

    /// The path in the workspace, lexically; or, for an absolute path where that fails, by the real path of its folder.
    fn relative(&self, path: &AskedPath) -> Result<RelPath> {
        if let Ok(normal) = RelPath::shared(path) {
            return Ok(normal);
        }
        if !path.is_absolute() {
            return RelPath::normalised(path).map_err(|problem| refused(problem, path));
        }
        if let Ok(beneath) = path.strip_prefix(self.workspace.root.path()) {
            return RelPath::normalised(beneath).map_err(|problem| refused(problem, path));
        }
        let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(|| self.outside(path))?;
        let folder = self.workspace.fs().canonical(folder).map_err(|_| self.outside(path))?;
        self.inside(&folder.join(name), path)
    }

    fn inside(&self, real: &Path, path: &Path) -> Result<RelPath> {
        let beneath = real.strip_prefix(self.workspace.root.path()).map_err(|_| self.outside(path))?;
        // The target of a symlink must obey the same rule as a path of the request.
        if lead_into_state(beneath.iter().map(OsStrExt::as_bytes)) {
            return Err(refused(PathProblem::StateFolder, path));
        }
        RelPath::new(beneath).map_err(|problem| refused(problem, path))
    }

    fn check_bounds(&self, rel: &RelPath, path: &Path) -> Result<()> {
        let Some(why) = self.bounds.bars(rel.as_path()) else { return Ok(()) };
        Err(barred(&why, path))
    }

    /// Refuses what is in a git repository.
    fn check_repositories(&mut self, place: &ResolvedPath, path: &Path) -> Result<()> {
        if self.bounds.allows_vcs() {
            return Ok(());
        }
        for folder in place.folder().ancestors() {
            if self.is_repository(folder)? {
                return Err(barred(&Barred::Vcs, path));
            }
        }
        Ok(())
    }

    fn is_repository(&mut self, folder: &Path) -> Result<bool> {
        if let Some(known) = self.repositories.get(folder.as_os_str()) {
            return Ok(*known);
        }
        let handle = match self.folders.get(folder.as_os_str()) {
            Some(ResolvedFolder::Open(handle, _)) => handle.clone(),
            _ => match self.workspace.fs().open_beneath(&self.workspace.root, folder) {
                Ok(handle) => handle,
                // A folder that may be passed through but not opened: git could not open it either.
                Err(e) if errno::of(&e) == Some(Errno::ACCESS) => return Ok(false),
                Err(e) => return Err(Error::io("open", self.workspace.path_of(folder), e)),
            },
        };
        let is_repository = is_repository(|name| {
            let name = Name::new(&handle, name);
            Ok(self.workspace.stat(name)?.is_some())
        })?;
        self.repositories.insert(folder.into(), is_repository);
        Ok(is_repository)
    }

    fn outside(&self, path: &Path) -> Error {
        let message = format!("{} is outside the root {}", path.display(), self.workspace.root.path().display());
        Error::new(ErrorKind::OutsideRoot, message).at(path)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf> {
        self.workspace
            .fs()
            .canonical(path)
            .map_err(|e| if errno::is_missing(&e) { leads_nowhere(path) } else { Error::io("resolve", path, e) })
    }

    fn step(&mut self, rel: &RelPath, last: LastLink) -> Result<PathStep> {
        let mut missing = Vec::new();
        let mut obstacle = None;
        let mut folder = rel.parent();
        loop {
            let is_obstacle = match self.open(folder)? {
                ResolvedFolder::Open(..) => break,
                ResolvedFolder::Missing => false,
                ResolvedFolder::Obstacle => true,
                ResolvedFolder::ThroughLink => {
                    if last != LastLink::KeepAll && !self.is_in_new_folder(folder, last) {
                        return Ok(PathStep::LinkedFolder);
                    }
                    true
                }
            };
            let path = RelPath::new(folder).map_err(|problem| refused(problem, rel.as_path()))?;
            // Beneath a file, or a symlink, everything is obstructed; the file itself is found last.
            obstacle = if is_obstacle { Some(path.clone()) } else { obstacle };
            missing.push(path);
            folder = folder.parent().unwrap_or(Path::new(""));
        }
        missing.reverse();
        let mut place = ResolvedPath { path: rel.clone(), missing, obstacle, within: None, stat: None, is_link: false };
        if place.missing.is_empty() {
            let (handle, _) = self.folder(&place);
            let name = Name::new(handle, rel.name());
            place.stat = self.workspace.stat(name)?.map(Arc::new);
        }
        Ok(if place.is_symlink() { PathStep::Link(place) } else { PathStep::There(place) })
    }

    fn is_taken(&self, link: &RelPath, last: LastLink) -> bool {
        last == LastLink::FollowIfItStays && self.taken_links.contains(link)
    }

    fn open(&mut self, folder: &Path) -> Result<&ResolvedFolder> {
        if !self.folders.contains_key(folder.as_os_str()) {
            let opened = match self.open_before(folder)? {
                Some(opened) => opened,
                None => self.open_anew(folder)?,
            };
            self.folders.insert(folder.into(), opened);
        }
        Ok(&self.folders[folder.as_os_str()])
    }

    fn open_anew(&self, folder: &Path) -> Result<ResolvedFolder> {
        match self.workspace.fs().open_beneath(&self.workspace.root, folder) {
            Ok(handle) => {
                let stat = self.workspace.stat_handle(&handle)?;
                Ok(ResolvedFolder::Open(handle, stat))
            }
            Err(e) => match errno::of(&e) {
                Some(Errno::NOENT) => Ok(ResolvedFolder::Missing),
                Some(Errno::LOOP) => Ok(ResolvedFolder::ThroughLink),
                Some(Errno::NOTDIR) => self.not_a_folder(folder),
                _ => Err(Error::io("open", self.workspace.path_of(folder), e)),
            },
        }
    }

    /// A folder that is open already, if its path still leads to it.
    fn open_before(&self, folder: &Path) -> Result<Option<ResolvedFolder>> {
        let Some((known, open)) = self.known.and_then(|known| known.get(folder)) else { return Ok(None) };
        let there = self.workspace.stat_folder(&self.workspace.root, folder);
        let there = there.map_err(|e| Error::io("look at", self.workspace.path_of(folder), e))?;
        let is_same = |there: &Stat| (known.device, known.identity) == (there.device, there.identity);
        Ok(there.filter(is_same).map(|there| ResolvedFolder::Open(open.clone(), there)))
    }

    /// Some kernels report a symlink as the last segment as "not a directory": check which it is.
    fn not_a_folder(&self, folder: &Path) -> Result<ResolvedFolder> {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
            return Ok(ResolvedFolder::Obstacle);
        };
        let Ok(parent) = self.workspace.fs().open_beneath(&self.workspace.root, parent) else {
            return Ok(ResolvedFolder::Obstacle);
        };
        let stat = self.workspace.stat(Name::new(&parent, name))?;
        let is_symlink = stat.is_some_and(|stat| stat.kind == FileKind::Symlink);
        Ok(if is_symlink { ResolvedFolder::ThroughLink } else { ResolvedFolder::Obstacle })
    }
}

/// Returns whether a root is in a git repository, or is one. A work tree is not git's own folder, wherever it is.
pub(crate) fn is_in_repository(workspace: &Workspace) -> Result<bool> {
    let root = &workspace.root;
    for (levels, folder) in root.path().ancestors().enumerate() {
        // From the root's handle, as everywhere.
        let opened =
            if levels == 0 { Ok(root.clone()) } else { workspace.fs().open_above(root, levels, Path::new("")) };
        let handle = match opened {
            Ok(handle) => handle,
            Err(e) if errno::of(&e) == Some(Errno::ACCESS) => continue,
            Err(e) => return Err(Error::io("open", folder, e)),
        };
        let has = |name: &str| {
            let name = Name::new(&handle, name);
            Ok::<_, Error>(workspace.stat(name)?.is_some())
        };
        if is_repository(has)? {
            return Ok(true);
        }
        if has(".git")? {
            break;
        }
    }
    Ok(false)
}

enum PathStep {
    There(ResolvedPath),
    Link(ResolvedPath),
    LinkedFolder,
}

fn leads_nowhere(path: &Path) -> Error {
    let message = format!("{} is a symlink that leads nowhere", path.display());
    Error::new(ErrorKind::FileNotFound, message).at(path)
}

fn barred(why: &Barred, path: &Path) -> Error {
    let error = Error::new(ErrorKind::PathDenied, format!("{} {why}", path.display())).at(path);
    error.with_next(NextStep::to_allow(why))
}

fn refused(problem: PathProblem, path: &Path) -> Error {
    let kind = match problem {
        PathProblem::Traversal => ErrorKind::PathTraversal,
        PathProblem::Absolute | PathProblem::StateFolder => ErrorKind::OutsideRoot,
        PathProblem::Empty => ErrorKind::NotARegularFile,
        PathProblem::NotNormal | PathProblem::Nul | PathProblem::TooLong => ErrorKind::ValidationFailed,
    };
    Error::new(kind, format!("{}: {problem}", path.display())).at(path)
}
