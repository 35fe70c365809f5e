//! The role of each path of a request, and the two validations that need the disk: existence and kind, then duplicates.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::lock_targets::Targets;
use super::permissions::Permissions;
use super::resolve::{LastLink, ResolvedPath};
use crate::error::{ErrorKind, NextStep, Result};
use crate::fs::FileKind;
use crate::index::{FileIndex, IndexVec, TargetIndex};
use crate::path::{AskedPath, RelPath};
use crate::plan::build::TargetIds;
use crate::request::validate::{Findings, at_file};
use crate::request::{Change, FileRequest, IfExists, Request};

/// All paths that a request names or implies.
#[derive(Debug)]
pub(crate) struct RequestPaths {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    file: FileIndex,
    field: &'static str,
    path: AskedPath,
    /// True if the request leaves it.
    is_left: bool,
    /// True if the request puts a new file there.
    is_new: bool,
    /// True if the request removes the folder there.
    removes_folder: bool,
    /// What is done about a symlink there.
    last_link: LastLink,
}

/// The places of a request, each once, and their roles for each file.
#[derive(Debug)]
pub(crate) struct ResolvedRequest {
    pub places: IndexVec<TargetIndex, ResolvedPath>,
    pub target_ids: IndexVec<FileIndex, TargetIds>,
}

impl ResolvedRequest {
    /// Returns whether a file is left out, since it is not there.
    pub(crate) fn leaves_out(&self, request: &Request, file: FileIndex) -> bool {
        request.files[file.0].skips_missing() && self.places[self.target_ids[file].subject].stat.is_none()
    }
}

const SUBJECT: &str = "file_path";
const DESTINATION: &str = "rename_to";
const BACKUP: &str = "backup";
const ORIGIN: &str = "copy_from";

impl RequestPaths {
    pub(crate) fn of(request: &Request) -> Self {
        Self::of_files(request.files.iter(), request.backup)
    }

    /// The same of files, with or without backups of them.
    pub(crate) fn of_files<'r>(files: impl ExactSizeIterator<Item = &'r FileRequest>, with_backups: bool) -> Self {
        let mut parts = Vec::with_capacity(files.len());
        for (file, entry) in files.enumerate() {
            let file = FileIndex(file);
            let is_new = entry.makes() && !entry.is_of_folder();
            let part = |field, path, is_new| Part {
                file,
                field,
                path,
                is_left: false,
                is_new,
                removes_folder: false,
                // What is copied is read before anything is taken away.
                last_link: if field == ORIGIN { LastLink::Follow } else { LastLink::FollowIfItStays },
            };
            let is_itself = matches!(
                entry.change,
                Change::Delete | Change::Rename(_) | Change::Symlink { .. } | Change::Take { .. }
            );
            let subject = part(SUBJECT, entry.path.clone(), is_new);
            parts.push(Part {
                is_left: entry.vacates(),
                removes_folder: matches!(entry.change, Change::RemoveFolder),
                last_link: if is_itself {
                    LastLink::Keep
                } else if entry.is_of_folder() {
                    LastLink::Folder
                } else {
                    subject.last_link
                },
                ..subject
            });
            if let Some(to) = entry.destination() {
                // Whatever is there is replaced, and a symlink is not followed to another file.
                parts.push(Part { last_link: LastLink::Keep, ..part(DESTINATION, to.path.clone(), true) });
            }
            if let Some(from) = entry.origin() {
                parts.push(part(ORIGIN, from.clone(), false));
            }
            if with_backups && !entry.is_of_folder() {
                let mut name = entry.path.file_name().unwrap_or_default().to_owned();
                name.push(".bak");
                parts.push(part(BACKUP, entry.path.with_file_name(name).into(), false));
            }
        }
        Self { parts }
    }

    /// The targets of each file, if all of them are valid.
    pub(crate) fn resolve(
        self,
        request: &Request,
        places: Vec<ResolvedPath>,
        permissions: &Permissions<'_>,
    ) -> Result<ResolvedRequest> {
        let leaving = request.files.iter().enumerate().filter(|(_, entry)| entry.vacates());
        let leaving: HashSet<FileIndex> = leaving.map(|(file, _)| FileIndex(file)).collect();
        let vacated: HashSet<&RelPath> = self
            .parts
            .iter()
            .zip(&places)
            .filter(|(part, _)| part.field == SUBJECT && leaving.contains(&part.file))
            .map(|(_, place)| &place.path)
            .collect();
        self.check_existence(request, &places, &vacated, permissions)?;
        self.check_folders(request, &places, &vacated)?;
        self.check_duplicates(request, &places, &vacated)?;
        Ok(self.assign(request, places))
    }

    fn check_existence(
        &self,
        request: &Request,
        places: &[ResolvedPath],
        vacated: &HashSet<&RelPath>,
        permissions: &Permissions<'_>,
    ) -> Result<()> {
        let (mut findings, mut step) = (Findings::new(), None);
        let mut left_out = None;
        for (part, place) in self.parts.iter().zip(places) {
            let entry = &request.files[part.file.0];
            // The subject of a file comes first.
            if part.field == SUBJECT && place.stat.is_none() && entry.skips_missing() {
                left_out = Some(part.file);
            }
            if left_out == Some(part.file) {
                continue;
            }
            // A file that is only read need not be one that can be changed.
            // Nor is a folder that is there already.
            let is_there = matches!(entry.change, Change::MakeFolder) && is_folder(place);
            let checked = if part.field == ORIGIN || is_there {
                Ok(())
            } else {
                permissions.check(place, request.takes_read_only)
            };
            if let Err(error) = checked {
                // What else there is to be done to it takes a rename.
                let only_writes = matches!(
                    entry.change,
                    Change::Edit { rename: None, .. } | Change::Write { .. } | Change::Take { .. } | Change::Mode
                );
                if error.kind() == ErrorKind::MountPoint && only_writes {
                    step = Some(NextStep::Overwrite);
                }
                part.find(&mut findings, error.kind(), error.message().to_owned());
            } else if let Some((kind, message)) = part.refusal(entry, place, vacated) {
                part.find(&mut findings, kind, message);
            }
        }
        findings.finish().map_err(|error| error.with_next(step))
    }

    /// Verifies that everything is removed from a folder that goes, and nothing is put into it. Where a file takes its
    /// place, the folders in it go by themselves.
    fn check_folders(&self, request: &Request, places: &[ResolvedPath], vacated: &HashSet<&RelPath>) -> Result<()> {
        let leaving = self.parts.iter().zip(places).filter(|(_, place)| place.within.is_some());
        let leaving: HashMap<&Path, &Part> = leaving.map(|(part, place)| (place.path.as_path(), part)).collect();
        if leaving.is_empty() {
            return Ok(());
        }
        let mut findings = Findings::new();
        for (part, place) in self.parts.iter().zip(places) {
            let goes_anyway = |kind: FileKind| kind == FileKind::Folder && !part.removes_folder;
            let left = place.within.iter().flatten();
            let mut left = left.filter(|(path, kind)| !goes_anyway(*kind) && !vacated.contains(path));
            if let Some((first, _)) = left.next() {
                let more = match left.count() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let (kind, message) = part.refuse_filled(first, &more);
                part.find(&mut findings, kind, message);
            }
            let folder = place.path.as_path().ancestors().skip(1).find_map(|above| leaving.get_key_value(above));
            if let Some((folder, goes)) = folder.filter(|_| part.is_result(&request.files[part.file.0])) {
                let fate = if goes.removes_folder { "is removed" } else { "becomes a file" };
                let message = format!("{} would be in {}, which {fate}", part.path.display(), folder.display());
                part.find(&mut findings, ErrorKind::NotARegularFile, message);
            }
        }
        findings.finish()
    }

    /// Verifies that sources, and destinations, differ from each other, by what they resolve to.
    fn check_duplicates(&self, request: &Request, places: &[ResolvedPath], vacated: &HashSet<&RelPath>) -> Result<()> {
        let mut findings = Findings::new();
        let mut sources: HashMap<&RelPath, FileIndex> = HashMap::new();
        let mut inodes: HashMap<(u64, u64), (FileIndex, &RelPath)> = HashMap::new();
        let mut results: HashMap<&RelPath, FileIndex> = HashMap::new();
        // The file whose parts these are: its own path comes first.
        let mut subject = None;
        for (part, place) in self.parts.iter().zip(places) {
            let entry = &request.files[part.file.0];
            if part.field == ORIGIN {
                continue;
            }
            if part.field == SUBJECT {
                subject = Some(&place.path);
            } else if part.field == DESTINATION && subject == Some(&place.path) {
                let message = format!("{} is the file itself: it cannot be moved onto itself", part.path.display());
                part.find(&mut findings, ErrorKind::DuplicateFilePath, message);
                continue;
            }
            let is_source = part.field == SUBJECT && !entry.makes();
            let is_result = part.field != SUBJECT || !entry.vacates();
            let earlier = [
                is_source.then(|| sources.insert(&place.path, part.file)),
                is_result.then(|| results.insert(&place.path, part.file)),
            ];
            if let Some(first) = earlier.into_iter().flatten().flatten().next() {
                let FileIndex(first) = first;
                let message = format!("{} is the same file as in files[{first}]: {}", part.path.display(), place.path);
                part.find(&mut findings, ErrorKind::DuplicateFilePath, message);
                continue;
            }
            if part.field == DESTINATION && sources.get(&place.path) == Some(&part.file) {
                let message = format!("{} is renamed to itself", part.path.display());
                part.find(&mut findings, ErrorKind::DuplicateFilePath, message);
                continue;
            }
            let Some(stat) = &place.stat else { continue };
            match inodes.insert((stat.device, stat.identity.inode), (part.file, &place.path)) {
                Some((_, path)) if *path == place.path => {}
                Some((first, other)) => {
                    let message = one_inode(&part.path, other, first, stat.links, vacated.contains(other));
                    part.find(&mut findings, ErrorKind::DuplicateFilePath, message);
                }
                None => {}
            }
        }
        findings.finish()
    }

    fn assign(&self, request: &Request, places: Vec<ResolvedPath>) -> ResolvedRequest {
        let mut index: HashMap<RelPath, TargetIndex> = HashMap::new();
        let mut unique = IndexVec::from(Vec::with_capacity(places.len()));
        let none = TargetIds { subject: TargetIndex(0), destination: None, backup: None, origin: None };
        let mut target_ids = IndexVec::from(vec![none; request.files.len()]);
        for (part, place) in self.parts.iter().zip(places) {
            let at = *index.entry(place.path.clone()).or_insert_with(|| {
                let target = unique.next_index();
                unique.push(place);
                target
            });
            let target_ids = &mut target_ids[part.file];
            match part.field {
                SUBJECT => target_ids.subject = at,
                DESTINATION => target_ids.destination = Some(at),
                ORIGIN => target_ids.origin = Some(at),
                _ => target_ids.backup = Some(at),
            }
        }
        ResolvedRequest { places: unique, target_ids }
    }
}

impl Targets for RequestPaths {
    fn paths(&self) -> impl Iterator<Item = (&AskedPath, LastLink)> {
        self.parts.iter().map(|part| (&part.path, part.last_link))
    }

    /// Collects all paths that lead nowhere, or to a denied place, into one error.
    fn accept(&self, found: Vec<Result<ResolvedPath>>) -> Result<Vec<ResolvedPath>> {
        let mut findings = Findings::new();
        let mut places = Vec::with_capacity(found.len());
        for (part, found) in self.parts.iter().zip(found) {
            match found {
                Ok(place) => places.push((part, place)),
                Err(error) if is_about_the_path(error.kind()) => {
                    part.find(&mut findings, error.kind(), error.message().to_owned());
                }
                Err(error) => return Err(error.in_file(part.file)),
            }
        }
        make_way(&mut places, &mut findings);
        findings.finish()?;
        Ok(places.into_iter().map(|(_, place)| place).collect())
    }
}

/// Lets folders make way for files, and files for folders, if the request removes what is there.
fn make_way(places: &mut [(&Part, ResolvedPath)], findings: &mut Findings) {
    let is_odd = |place: &ResolvedPath| {
        place.obstacle.is_some() || place.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Folder)
    };
    if !places.iter().any(|(_, place)| is_odd(place)) {
        return;
    }
    let left = places.iter().filter(|(part, _)| part.is_left).map(|(_, place)| place.path.clone());
    let left: HashSet<RelPath> = left.collect();
    let folders: HashSet<&Path> = left.iter().flat_map(|path| path.as_path().ancestors().skip(1)).collect();
    // Where a folder is to be made although something else stays there, that is the error.
    let made = places.iter().filter(|(part, _)| part.makes_folder()).map(|(_, place)| place.path.clone());
    let made: HashSet<RelPath> = made.collect();
    // Something in it is removed, or the folder itself.
    let makes_way = |path: &RelPath| folders.contains(path.as_path()) || left.contains(path);
    for (part, place) in places.iter_mut().filter(|(_, place)| is_odd(place)) {
        let is_in_the_way = |file: &RelPath| !left.contains(file) && !made.contains(file);
        match place.obstructed().filter(|_| place.obstacle.as_ref().is_some_and(is_in_the_way)) {
            Some(error) => part.find(findings, error.kind(), error.message().to_owned()),
            None if place.stat.is_some() && part.is_new && makes_way(&place.path) => place.make_way(),
            None if part.removes_folder => place.make_way(),
            None => {}
        }
    }
}

impl Part {
    /// Returns whether the request makes a folder there.
    fn makes_folder(&self) -> bool {
        self.last_link == LastLink::Folder && !self.removes_folder
    }

    /// Returns whether there will be a file.
    fn is_result(&self, entry: &FileRequest) -> bool {
        match self.field {
            SUBJECT => !entry.vacates(),
            field => field != ORIGIN,
        }
    }

    fn find(&self, findings: &mut Findings, kind: ErrorKind, message: String) {
        findings.push(kind, at_file(self.file.0, Some(self.field)), message);
    }

    /// The reason why this path cannot have its role, if there is one.
    fn refusal(
        &self,
        entry: &FileRequest,
        place: &ResolvedPath,
        vacated: &HashSet<&RelPath>,
    ) -> Option<(ErrorKind, String)> {
        let path = self.path.display();
        let is_free = place.stat.is_none() || vacated.contains(&place.path);
        let if_exists = match (self.field, &entry.change) {
            (
                SUBJECT,
                Change::Write { if_exists, .. } | Change::Symlink { if_exists, .. } | Change::Take { if_exists, .. },
            ) => *if_exists,
            (SUBJECT, Change::MakeFolder) if is_folder(place) => {
                return Some((ErrorKind::FileExists, format!("{path} is a folder already")));
            }
            (SUBJECT, Change::MakeFolder) if place.is_symlink() && !is_free => {
                return Some((ErrorKind::FileExists, format!("{path} is there already, as a symlink")));
            }
            (SUBJECT, Change::Copy { .. } | Change::MakeFolder) => IfExists::Fail,
            (SUBJECT, Change::RemoveFolder) => return self.refuse_removal(place),
            (ORIGIN, _) => return self.refuse_origin(place),
            (SUBJECT, _) if place.stat.is_none() => {
                return Some((ErrorKind::FileNotFound, format!("{path} is not there")));
            }
            (SUBJECT, _) if place.is_link && entry.vacates() => {
                let message = format!("{path} is a symlink: edit what it leads to, or rename it without edits");
                return Some((ErrorKind::NotARegularFile, message));
            }
            (SUBJECT, _) if place.is_symlink() && entry.mode.is_some() => {
                return Some((ErrorKind::NotARegularFile, format!("{path} is a symlink, which has no mode")));
            }
            (DESTINATION, _) => entry.destination().map_or(IfExists::Fail, |to| to.if_exists),
            (BACKUP, _) => return self.refuse_backup(place, is_free),
            _ => IfExists::Replace,
        };
        let taken = if_exists == IfExists::Fail && !is_free;
        taken.then(|| (ErrorKind::FileExists, format!("{path} is there already")))
    }
}

/// Returns whether a folder is at a place, and stays one.
fn is_folder(place: &ResolvedPath) -> bool {
    place.stat.as_ref().is_some_and(|stat| stat.kind == FileKind::Folder)
}

impl Part {
    /// The reason why a folder cannot be removed, if there is one; what is in it is looked at later.
    fn refuse_removal(&self, place: &ResolvedPath) -> Option<(ErrorKind, String)> {
        let path = self.path.display();
        match &place.stat {
            None if place.within.is_some() => None,
            None => Some((ErrorKind::FileNotFound, format!("{path} is not there"))),
            Some(_) if place.is_symlink() => {
                Some((ErrorKind::NotARegularFile, format!("{path} is a symlink, not a folder: use `delete`")))
            }
            Some(_) => Some((ErrorKind::NotARegularFile, format!("{path} is not a folder: use `delete`"))),
        }
    }

    /// The error for a folder that goes although `first`, and `more`, would stay in it.
    fn refuse_filled(&self, first: &RelPath, more: &str) -> (ErrorKind, String) {
        let path = self.path.display();
        if self.removes_folder {
            let message = format!("{path} is not empty: {first} in it stays{more}; delete or move all that is in it");
            return (ErrorKind::FolderNotEmpty, message);
        }
        let message = format!(
            "{path} is a folder, and {first} in it stays{more}: delete or move all that is in it, or name another file"
        );
        (ErrorKind::NotARegularFile, message)
    }

    /// The reason why a backup cannot have this name: another file is there, or a symlink leads to one.
    fn refuse_backup(&self, place: &ResolvedPath, is_free: bool) -> Option<(ErrorKind, String)> {
        let path = self.path.display();
        let message = || {
            format!(
                "{path}, the name of a backup, is taken: move what is there, or leave `backup` out, since undo brings \
                 the file back as well"
            )
        };
        (place.is_link || !is_free).then(|| (ErrorKind::FileExists, message()))
    }

    /// The reason why a file cannot be copied.
    fn refuse_origin(&self, place: &ResolvedPath) -> Option<(ErrorKind, String)> {
        let path = self.path.display();
        match &place.stat {
            None => Some((ErrorKind::FileNotFound, format!("{path} is not there"))),
            Some(stat) if stat.kind != FileKind::File => {
                Some((ErrorKind::NotARegularFile, format!("{path} is not a regular file")))
            }
            Some(_) => None,
        }
    }
}

pub(crate) fn is_about_the_path(kind: ErrorKind) -> bool {
    use ErrorKind::{
        FileNotFound, NotARegularFile, OutsideRoot, PathDenied, PathTraversal, PermissionDenied, SymlinkLoop,
        ValidationFailed,
    };
    matches!(
        kind,
        FileNotFound
            | NotARegularFile
            | OutsideRoot
            | PathDenied
            | PathTraversal
            | PermissionDenied
            | SymlinkLoop
            | ValidationFailed
    )
}

fn one_inode(path: &Path, other: &RelPath, FileIndex(first): FileIndex, links: u64, vacated: bool) -> String {
    let path = path.display();
    if links == 1 && vacated {
        return format!(
            "{path} and {other} (files[{first}]) are one name to this folder, which folds case; rename in two steps"
        );
    }
    format!("{path} and {other} (files[{first}]) are two names of one file")
}
