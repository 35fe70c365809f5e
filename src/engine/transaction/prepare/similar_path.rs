//! The file that a path which leads nowhere may be meant to be: told beside the refusal, and never used instead.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::engine::Engine;
use crate::error::{Detail, Error, ErrorKind, Finding, Result};
use crate::fs::{FileKind, Handle, Name};
use crate::path::AskedPath;
use crate::request::Request;

/// The most paths of a request for which a file is looked for.
const PATHS: usize = 3;

/// The most names that are looked at for one path: where there are more, nothing says that a file is the only one.
const NAMES: usize = 20_000;

/// Folders full of other projects' files, of which an edit is never about one.
const PASSED_OVER: [&str; 2] = ["node_modules", "target"];

impl Engine {
    /// Adds to each finding about a file that is not there the one that may be meant.
    pub(crate) fn with_similar_paths(&self, error: Error, request: &Request) -> Error {
        let Detail::Findings(found) = error.details() else { return error };
        let mut found = found.clone();
        let missing = found.iter_mut().filter(|finding| finding.kind == ErrorKind::FileNotFound);
        for finding in missing.take(PATHS) {
            let path = asked(request, finding);
            finding.did_you_mean = path.and_then(|path| self.similar_path(path).ok()?);
        }
        error.detail(Detail::Findings(found))
    }

    fn similar_path(&self, path: &AskedPath) -> Result<Option<PathBuf>> {
        let path = self.rel_path(path)?;
        let similar = match self.in_other_case(path.as_path())? {
            None => self.only_of_that_name(path.as_path())?,
            found => found,
        };
        Ok(similar.filter(|similar| self.bounds().bars(similar).is_none()).map(|similar| self.root().join(similar)))
    }

    /// The file at the path with other upper and lower case letters.
    fn in_other_case(&self, path: &Path) -> Result<Option<PathBuf>> {
        let (mut found, mut kind) = (PathBuf::new(), FileKind::Folder);
        for name in path {
            let Some(folder) = self.workspace.find_folder(&self.workspace.root, &found)? else { return Ok(None) };
            let names = self.workspace.list(&folder)?;
            let mut alike = names.iter().filter(|other| other.eq_ignore_ascii_case(name));
            let exact = names.iter().find(|other| *other == name);
            let Some(there) = exact.or_else(|| alike.next().filter(|_| alike.next().is_none())) else {
                return Ok(None);
            };
            found.push(there);
            let Some(stat) = self.workspace.stat(Name::new(&folder, there))? else { return Ok(None) };
            kind = stat.kind;
        }
        Ok((kind == FileKind::File).then_some(found))
    }

    /// The file anywhere in the workspace whose path ends as the one that was asked for, which may have been written for
    /// another folder, if there is only one; or else the one with its name.
    fn only_of_that_name(&self, asked: &Path) -> Result<Option<PathBuf>> {
        let Some(wanted) = asked.file_name() else { return Ok(None) };
        let (mut folders, mut looked_at) = (VecDeque::from([PathBuf::new()]), 0);
        let (mut with_path, mut with_name) = (Candidate::None, Candidate::None);
        while let Some(path) = folders.pop_front() {
            let Some(folder) = self.workspace.find_folder(&self.workspace.root, &path)? else { continue };
            for name in self.workspace.list(&folder)? {
                looked_at += 1;
                if looked_at > NAMES {
                    return Ok(None);
                }
                match self.kind_of(&folder, &name) {
                    Some(FileKind::File) if name == wanted => {
                        let found = path.join(&name);
                        if found.ends_with(asked) {
                            with_path.add(found.clone());
                        }
                        with_name.add(found);
                    }
                    Some(FileKind::Folder) if !is_passed_over(&name) => folders.push_back(path.join(&name)),
                    _ => {}
                }
            }
        }
        Ok(with_path.only().or_else(|| with_name.only()))
    }

    fn kind_of(&self, folder: &Handle, name: &OsStr) -> Option<FileKind> {
        self.workspace.stat(Name::new(folder, name)).ok()?.map(|stat| stat.kind)
    }
}

/// The files that may be meant.
enum Candidate {
    None,
    One(PathBuf),
    Several,
}

impl Candidate {
    fn add(&mut self, path: PathBuf) {
        *self = if matches!(self, Self::None) { Self::One(path) } else { Self::Several };
    }

    fn only(self) -> Option<PathBuf> {
        if let Self::One(path) = self { Some(path) } else { None }
    }
}

fn is_passed_over(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || PASSED_OVER.iter().any(|passed| name == *passed)
}

/// The path of the request that a finding is about.
fn asked<'r>(request: &'r Request, finding: &Finding) -> Option<&'r AskedPath> {
    let [files, index, field, ..] = finding.path.as_slice() else { return None };
    let file = request.files.get(index.parse::<usize>().ok()?)?;
    (files == "files" && field == "file_path").then_some(&file.path)
}
