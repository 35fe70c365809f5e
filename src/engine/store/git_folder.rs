//! The git folder of a workspace: `.git` in its root, or the folder that a file of this name leads to, as in a linked work
//! tree and in a submodule.
//!
//! A `.git` file is not believed by itself: it comes with every archive and copy. The folder that it leads to must be a
//! repository whose own files name the workspace as its work tree. A symlink is not followed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::files::read_file;
use super::workspace::Workspace;
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::{FileKind, Handle, Name};
use crate::limits;
use crate::path::STATE_IN_GIT;
use crate::path::bounds::{is_repository, leads_to};

/// The name of the git folder, or of the file that leads to it.
pub(super) const GIT: &str = ".git";

/// What a file of this name begins with.
const LINK: &[u8] = b"gitdir: ";

/// The largest configuration of a submodule that is read.
const CONFIG_BYTES: u64 = 65_536;

/// An open git folder.
#[derive(Debug)]
pub(crate) struct GitFolder {
    pub folder: Handle,
    /// True if a `.git` file leads to it.
    pub is_linked: bool,
    /// True if it is in the root, or names the root as its work tree.
    pub names_root: bool,
}

/// What is at the name of a git folder.
#[derive(Debug)]
pub(crate) enum GitLookup {
    Nothing,
    /// Followed by git, and not here.
    Symlink,
    Folder(GitFolder),
}

/// Looks for the git folder of a workspace.
pub(crate) fn find(workspace: &Workspace) -> Result<GitLookup> {
    let name = Name::new(&workspace.root, GIT);
    let is_symlink = || Ok(workspace.stat(name)?.is_some_and(|stat| stat.kind == FileKind::Symlink));
    match workspace.fs().open_beneath(&workspace.root, GIT.as_ref()) {
        Ok(folder) => Ok(GitLookup::Folder(GitFolder { folder, is_linked: false, names_root: true })),
        Err(e) => match errno::of(&e) {
            Some(Errno::NOTDIR) => match linked(workspace)? {
                Some(folder) => Ok(GitLookup::Folder(folder)),
                // Some kernels say the same of a symlink, which is not opened as a file either.
                None if is_symlink()? => Ok(GitLookup::Symlink),
                None => Ok(GitLookup::Nothing),
            },
            Some(Errno::LOOP) => Ok(GitLookup::Symlink),
            Some(Errno::NOENT | Errno::ACCESS | Errno::PERM) => Ok(GitLookup::Nothing),
            _ => Err(Error::io("open", workspace.path_of(GIT), e)),
        },
    }
}

/// The state folder in the git folder that a symlink leads to, if there is one.
pub(crate) fn state_behind_symlink(workspace: &Workspace) -> Option<PathBuf> {
    let real = workspace.fs().canonical(&workspace.root.path().join(GIT)).ok()?;
    let folder = workspace.fs().open_folder(&real).ok()?;
    let stat = workspace.fs().stat(Name::new(&folder, STATE_IN_GIT)).ok()??;
    (stat.kind == FileKind::Folder).then(|| real.join(STATE_IN_GIT))
}

/// Returns whether git takes a folder for a repository.
pub(crate) fn is_whole(workspace: &Workspace, folder: &Handle) -> Result<bool> {
    is_repository(|name| Ok(workspace.stat(Name::new(folder, name))?.is_some()))
}

/// The git folder that the `.git` file of the root leads to.
fn linked(workspace: &Workspace) -> Result<Option<GitFolder>> {
    let root = &workspace.root;
    let most = limits::PATH_BYTES as u64 + LINK.len() as u64 + 1;
    let Some(link) = read_file(workspace, Name::new(root, GIT), LINK, most)? else { return Ok(None) };
    let target = line(link.get(LINK.len()..).unwrap_or_default());
    let Ok(real) = workspace.fs().canonical(&root.path().join(target)) else { return Ok(None) };
    // One in the root would be packed with its files, and a folder `.git` belongs to the work tree that it is in.
    let is_of_another = real.file_name().is_some_and(|name| leads_to(name.as_bytes(), GIT));
    if is_of_another || real.starts_with(root.path()) {
        return Ok(None);
    }
    let Ok(folder) = workspace.fs().open_folder(&real) else { return Ok(None) };
    if !is_whole(workspace, &folder)? {
        return Ok(None);
    }
    let names_root = names_root(workspace, &folder)?;
    Ok(Some(GitFolder { folder, is_linked: true, names_root }))
}

/// Returns whether a git folder names the root as its work tree: that of a linked one in `gitdir`, that of a submodule in
/// its configuration.
fn names_root(workspace: &Workspace, folder: &Handle) -> Result<bool> {
    if let Some(back) = read_file(workspace, Name::new(folder, "gitdir"), b"", limits::PATH_BYTES as u64 + 1)? {
        let back = line(&back);
        let is_git = back.file_name() == Some(GIT.as_ref());
        return Ok(is_git && back.parent().is_some_and(|tree| is_root(workspace, &folder.path().join(tree))));
    }
    let Some(config) = read_file(workspace, Name::new(folder, "config"), b"", CONFIG_BYTES)? else { return Ok(false) };
    let tree = String::from_utf8(config).ok().and_then(|config| work_tree(&config));
    Ok(tree.is_some_and(|tree| is_root(workspace, &folder.path().join(tree))))
}

/// Returns whether a path leads to the root.
fn is_root(workspace: &Workspace, path: &Path) -> bool {
    let fs = workspace.fs();
    let there = fs.canonical(path).and_then(|real| fs.open_folder(&real)).and_then(|there| fs.stat_handle(&there));
    let root = fs.stat_handle(&workspace.root);
    there.is_ok_and(|there| root.is_ok_and(|root| (there.device, there.identity) == (root.device, root.identity)))
}

/// `core.worktree` in a configuration, where it is written as git itself writes it.
fn work_tree(config: &str) -> Option<String> {
    let (mut is_core, mut found) = (false, None);
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_core = line.eq_ignore_ascii_case("[core]");
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_core)
            && key.trim().eq_ignore_ascii_case("worktree")
        {
            let value = value.trim();
            // Quotes, escapes and comments are not read.
            found = (!value.contains(['"', '\\', '#', ';'])).then(|| value.to_owned());
        }
    }
    found
}

/// A line as a path.
fn line(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes.trim_ascii_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_tree_of_a_submodule_is_read_as_git_writes_it() {
        let config = "[core]\n\trepositoryformatversion = 0\n\tworktree = ../../../sub dir\n[remote \"origin\"]\n\tworktree = x\n";
        assert_eq!(work_tree(config).as_deref(), Some("../../../sub dir"));
        assert_eq!(work_tree("[CORE]\nWorkTree=/a\nworktree = /b").as_deref(), Some("/b"));
        for config in [
            "",
            "worktree = /a",
            "[core]\nworktree = \"a\\tb\"",
            "[core]\nworktree = a # b",
            "[core \"x\"]\nworktree = a",
        ] {
            assert_eq!(work_tree(config), None, "{config:?}");
        }
    }
}
