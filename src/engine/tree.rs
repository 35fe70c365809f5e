//! Lists a part of the workspace for a caller who moves or deletes all of it.

use std::path::Path;

use super::Engine;
use super::transaction::prepare::resolve::LastLink;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::limits;
use crate::path::RelPath;

/// A file or folder of a listed part of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedEntry {
    /// Its path.
    pub(crate) path: RelPath,
    /// Its kind.
    pub(crate) kind: FileKind,
    /// Its permission bits.
    pub(crate) mode: u32,
}

impl Engine {
    /// What is at a path and, where that is a folder, everything in it, each folder before what is in it; nothing where
    /// nothing is. A symlink there is listed itself. Nothing is changed, whether it fails or not.
    pub(crate) fn tree(&self, path: &Path) -> Result<Vec<ListedEntry>> {
        let asked = path.into();
        let mut places = self.resolver().places([(&asked, LastLink::Keep)].into_iter());
        let place = places.remove(0)?;
        if let Some(error) = place.obstructed() {
            return Err(error);
        }
        let Some(stat) = &place.stat else { return Ok(Vec::new()) };
        let mut entries = vec![ListedEntry { path: place.path.clone(), kind: stat.kind, mode: stat.mode }];
        let mut listed = 0;
        while let Some(ListedEntry { path: folder, kind, .. }) = entries.get(listed).cloned() {
            listed += 1;
            if kind == FileKind::Folder {
                self.list_into(&mut entries, &folder)?;
            }
            if entries.len() > limits::FILES {
                let message = format!("{} has more than {} files and folders in it", place.path, limits::FILES);
                return Err(Error::new(ErrorKind::RequestTooLarge, message).at(path));
            }
        }
        Ok(entries)
    }

    /// Adds what is in a folder. One that has just gone is empty: the request finds out.
    fn list_into(&self, entries: &mut Vec<ListedEntry>, path: &RelPath) -> Result<()> {
        let Some(folder) = self.workspace.find_folder(&self.workspace.root, path)? else { return Ok(()) };
        for name in self.workspace.list(&folder)? {
            let Some(stat) = self.workspace.stat(Name::new(&folder, &name))? else { continue };
            let inner = path.as_path().join(&name);
            let path = RelPath::new(&inner).map_err(|problem| {
                Error::new(ErrorKind::OutsideRoot, format!("{}: {problem}", inner.display())).at(&inner)
            })?;
            let kind = if stat.mount_root { FileKind::Special } else { stat.kind };
            entries.push(ListedEntry { path, kind, mode: stat.mode });
        }
        Ok(())
    }

    /// Returns whether a path leads to a folder, through a symlink, too. What cannot be resolved is none: a request that
    /// names it says why.
    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        let place = self.resolver().place(&path.into());
        path == self.root() || place.is_ok_and(|place| place.stat.is_some_and(|stat| stat.kind == FileKind::Folder))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_listed_before_what_is_in_it_and_a_symlink_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), "").unwrap();
        symlink("b", root.join("a/link")).unwrap();
        let engine = Engine::open(&root).unwrap();
        let listed = |path: &str| {
            let mut entries = engine.tree(&root.join(path)).unwrap().into_iter();
            let first = entries.next().map(|entry| (entry.path.to_string(), entry.kind));
            let mut rest: Vec<_> = entries.map(|entry| (entry.path.to_string(), entry.kind)).collect();
            rest.sort_by(|a, b| a.0.cmp(&b.0));
            first.into_iter().chain(rest).collect::<Vec<_>>()
        };
        let entry = |path: &str, kind| (path.to_owned(), kind);
        let [folder, link] = [FileKind::Folder, FileKind::Symlink];
        let all = [("a", folder), ("a/b", folder), ("a/b/c", FileKind::File), ("a/link", link)];
        assert_eq!(listed("a"), all.map(|(path, kind)| entry(path, kind)));
        assert_eq!(listed("a/link"), [entry("a/link", link)]);
        assert_eq!(listed("a/none"), []);
        assert!(engine.is_folder(&root) && engine.is_folder(&root.join("a/link")));
        assert!(!engine.is_folder(&root.join("a/b/c")) && !engine.is_folder(&root.join("none")));
        assert_eq!(engine.tree(&root.join("../x")).unwrap_err().kind(), ErrorKind::PathTraversal);
    }
}
