//! Refuses paths that lead through symlinks which the same request takes away, or replaces.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::{LastLink, ResolvedFolder, Resolver, leads_nowhere};
use crate::engine::store::snapshot;
use crate::errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::limits;
use crate::path::RelPath;

impl Resolver<'_> {
    /// Returns whether a path is the one of a symlink in whose place the request makes a folder, or one beneath it.
    pub(super) fn is_in_new_folder(&self, path: &Path, last: LastLink) -> bool {
        // What is copied is read before anything is taken away.
        last != LastLink::Follow
            && !self.links_to_folders.is_empty()
            && path.ancestors().any(|above| RelPath::new(above).is_ok_and(|it| self.links_to_folders.contains(&it)))
    }

    /// Refuses `path` if it is followed through a symlink that the request takes away or replaces: what it means would
    /// depend on the order. `followed` is a path whose symlinks are all followed, and a name there.
    pub(super) fn check_links(
        &self,
        path: &Path,
        (followed, name): (&Path, Option<&OsStr>),
        last: LastLink,
    ) -> Result<()> {
        let is_none = self.taken_links.is_empty() && self.links_to_folders.is_empty();
        if is_none || last == LastLink::Follow {
            return Ok(());
        }
        let is_taken = |link: &RelPath| self.taken_links.contains(link) || self.links_to_folders.contains(link);
        let Some(link) = self.links_on_the_way(followed)?.into_iter().find(is_taken) else { return Ok(()) };
        let whole = name.map_or_else(|| followed.to_owned(), |name| followed.join(name));
        let real = self.really(followed, &whole).map_or_else(String::new, |real| format!(" ({})", real.display()));
        let message = format!(
            "{} leads through {link}, a symlink that another entry takes away or replaces: give its path without the \
             symlink{real}, or send two requests",
            path.display()
        );
        Err(Error::new(ErrorKind::NotARegularFile, message).at(path))
    }

    /// A path in the workspace without the symlinks above its name. Folders on the way may be missing.
    pub(super) fn through_links(&self, rel: &RelPath, path: &Path) -> Result<RelPath> {
        let root = self.workspace.root.path();
        let mut there = rel.parent();
        let folder = loop {
            match (self.workspace.fs().canonical(&root.join(there)), there.parent()) {
                (Err(e), Some(above)) if errno::is_missing(&e) => there = above,
                (folder, _) => break folder.map_err(|e| Error::io("resolve", root.join(there), e))?,
            }
        };
        let rest = rel.as_path().strip_prefix(there).unwrap_or_else(|_| unreachable!("it is above the path"));
        let found = self.inside(&folder.join(rest), path)?;
        if there == rel.parent() {
            // It exists, but its folder was missing for another path: one of the two observations is out of date.
            return match self.folders.get(found.parent().as_os_str()) {
                Some(ResolvedFolder::Missing) => Err(snapshot::changed(path, "leads to another folder now")),
                _ => Ok(found),
            };
        }
        // What is there all the same is a symlink.
        if let (Some(name), Ok(beneath)) = (rest.iter().next(), folder.strip_prefix(root))
            && let Ok(handle) = self.workspace.fs().open_beneath(&self.workspace.root, beneath)
            && self.workspace.stat(Name::new(&handle, name))?.is_some()
        {
            return Err(leads_nowhere(&root.join(there).join(name)));
        }
        Ok(found)
    }

    /// A path in the root without symlinks: those above what is there of `followed` are resolved.
    fn really(&self, followed: &Path, whole: &Path) -> Option<PathBuf> {
        let root = self.workspace.root.path();
        let of = |there: &Path| Some((there.to_owned(), self.workspace.fs().canonical(&root.join(there)).ok()?));
        let (there, real) = followed.ancestors().find_map(of)?;
        let (real, rest) = (real.strip_prefix(root).ok()?, whole.strip_prefix(there).ok()?);
        // Joining an empty path would add a slash.
        Some(if rest.as_os_str().is_empty() { real.to_owned() } else { real.join(rest) })
    }

    /// The symlinks in the root that are followed on the way to a path in it, itself included, as far as that leads.
    fn links_on_the_way(&self, path: &Path) -> Result<Vec<RelPath>> {
        let root = self.workspace.root.path();
        let mut links = Vec::new();
        let mut at = root.to_owned();
        let mut names: Vec<OsString> = in_reverse(path);
        while let Some(name) = names.pop() {
            let next = at.join(&name);
            let Ok(folder) = at.strip_prefix(root) else {
                at = if name == ".." { parent(at) } else { self.canonical(&next)? };
                continue;
            };
            if name == ".." || name == "/" {
                at = if name == "/" { next } else { parent(at) };
                continue;
            }
            let Ok(handle) = self.workspace.fs().open_beneath(&self.workspace.root, folder) else { break };
            let there = Name::new(&handle, &name);
            match self.workspace.stat(there)? {
                Some(stat) if stat.kind == FileKind::Symlink => {
                    let Ok(link) = RelPath::new(folder.join(&name)) else { break };
                    links.push(link);
                    let target: PathBuf = OsString::from_vec(self.workspace.read_link(there)?).into();
                    names.extend(in_reverse(&target));
                }
                Some(_) => at = next,
                None => break,
            }
            if links.len() > limits::SYMLINKS {
                break;
            }
        }
        Ok(links)
    }
}

fn in_reverse(path: &Path) -> Vec<OsString> {
    path.iter().rev().filter(|name| *name != ".").map(OsStr::to_owned).collect()
}

fn parent(mut path: PathBuf) -> PathBuf {
    path.pop();
    path
}
