//! The places of a state folder: one that was named, `.txedit` in the workspace's root, or `txedit` in its git folder.
//!
//! A git folder counts only for the root of its own work tree: two workspaces must never share a state folder. So a folder
//! in a work tree that is a workspace by itself has `.txedit`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git_folder::{self, GitFolder, GitLookup};
use super::private;
use super::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Name, Stat};
use crate::path::bounds::Compared;
use crate::path::{STATE_FOLDER, STATE_IN_GIT, shown};

/// A place for a state folder: a name in an open folder.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The folder that it is in.
    pub folder: Handle,
    name: OsString,
    kind: HomeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HomeKind {
    /// `.txedit` in the root.
    Root,
    /// `txedit` in the git folder.
    Git {
        /// True if a `.git` file names the git folder.
        is_linked: bool,
        /// True if a state folder in it belongs to this workspace only if its `id` says so.
        needs_id: bool,
    },
    /// Wherever the caller says.
    Named,
}

impl Home {
    /// The place in the workspace's root.
    pub(crate) fn of_root(workspace: &Workspace) -> Self {
        Self { folder: workspace.root.clone(), name: STATE_FOLDER.into(), kind: HomeKind::Root }
    }

    /// The place in the git folder of the workspace, where it has one.
    pub(crate) fn of_git(workspace: &Workspace) -> Result<Option<Self>> {
        Self::in_git(workspace, git_folder::find(workspace)?)
    }

    /// The place in the git folder that was found.
    pub(crate) fn in_git(workspace: &Workspace, found: GitLookup) -> Result<Option<Self>> {
        let GitLookup::Folder(GitFolder { folder, is_linked, names_root }) = found else { return Ok(None) };
        let needs_id = !names_root || !is_with_root(workspace, &workspace.stat_handle(&folder)?)?;
        let kind = HomeKind::Git { is_linked, needs_id };
        Ok(Some(Self { folder, name: STATE_IN_GIT.into(), kind }))
    }

    /// The place that the caller named for all commands, if there is one.
    pub(crate) fn named(workspace: &Workspace) -> Result<Option<Self>> {
        workspace.named_state().map(|named| Self::at(workspace, named)).transpose()
    }

    /// The place at a path that the caller names. It is an error if nothing can be swapped with what is there, or if it would
    /// be among the files of the workspace.
    pub(crate) fn at(workspace: &Workspace, named: &Path) -> Result<Self> {
        let root = workspace.root.path();
        let path = real_path(workspace, &root.join(named))?;
        let refused = |why: &str| {
            let message = format!("the state folder cannot be {}: {why}", shown(&path));
            Err(Error::new(ErrorKind::ValidationFailed, message).at(&path))
        };
        let known = [Some(Self::of_root(workspace)), Self::of_git(workspace)?];
        let known = known.into_iter().flatten().find(|known| known.path() == path);
        if let Some(known) = known.filter(|known| !known.needs_id()) {
            return Ok(known);
        }
        if path.starts_with(root) {
            return refused("among the files of the workspace it can only be .txedit, or txedit in the git folder");
        }
        let Some((parent, name)) = path.parent().zip(path.file_name()).filter(|_| !root.starts_with(&path)) else {
            return refused("the workspace is in it");
        };
        let folder = workspace.fs().open_folder(parent).map_err(|e| Error::io("open", parent, e))?;
        let compared = Compared::of(name.as_bytes());
        // That one would take what is in it for its own.
        if compared.leads_to(STATE_FOLDER) || compared.is(STATE_IN_GIT) && git_folder::is_whole(workspace, &folder)? {
            return refused("another workspace has its own there by default; choose another name");
        }
        let home = Self { folder, name: name.to_owned(), kind: HomeKind::Named };
        home.check_mount(workspace, &workspace.stat_handle(&home.folder)?)?;
        Ok(home)
    }

    /// The name of the state folder.
    pub(crate) fn name(&self) -> Name<'_> {
        Name::new(&self.folder, &self.name)
    }

    /// The path of the state folder.
    pub(crate) fn path(&self) -> PathBuf {
        self.name().path()
    }

    /// The state folder's own name.
    pub(crate) fn own_name(&self) -> &Path {
        self.name.as_ref()
    }

    /// Returns whether a search would come to this place again. Where it depends on more than a few names it is searched for.
    pub(crate) fn is_found_again(&self, workspace: &Workspace) -> Result<bool> {
        match self.kind {
            HomeKind::Root => Ok(workspace.named_state().is_none()),
            HomeKind::Git { is_linked: false, needs_id: false } if workspace.named_state().is_none() => {
                Ok(self.why_not_reached(workspace)?.is_none())
            }
            HomeKind::Git { .. } | HomeKind::Named => Ok(false),
        }
    }

    /// The reason for which a search in the root does not come to this place, if it does not.
    pub(crate) fn why_not_reached(&self, workspace: &Workspace) -> Result<Option<&'static str>> {
        let is_second = matches!(self.kind, HomeKind::Git { .. }) && workspace.named_state().is_none();
        if is_second && workspace.stat(Self::of_root(workspace).name())?.is_some() {
            return Ok(Some("a .txedit in the root comes before it"));
        }
        let is_there = match self.kind {
            HomeKind::Root => return Ok(None),
            HomeKind::Named => workspace.leads_to_it(&self.folder)?,
            HomeKind::Git { is_linked: false, .. } => {
                let there = workspace.stat(Name::new(&workspace.root, git_folder::GIT))?;
                let held = workspace.stat_handle(&self.folder)?;
                there.is_some_and(|there| there.is_of_same(&held))
            }
            HomeKind::Git { is_linked: true, .. } => match git_folder::find(workspace)? {
                GitLookup::Folder(found) => {
                    workspace.stat_handle(&found.folder)?.is_of_same(&workspace.stat_handle(&self.folder)?)
                }
                _ => false,
            },
        };
        Ok((!is_there).then_some("the folder that it is in was moved or replaced"))
    }

    /// Returns whether it is among the files of the workspace, where it is packed with them.
    pub(crate) const fn is_in_root(&self) -> bool {
        matches!(self.kind, HomeKind::Root)
    }

    /// Returns whether it is in the git folder.
    pub(crate) const fn is_in_git(&self) -> bool {
        matches!(self.kind, HomeKind::Git { .. })
    }

    /// Returns whether the caller named a place of his own.
    pub(crate) const fn is_named(&self) -> bool {
        matches!(self.kind, HomeKind::Named)
    }

    /// Returns whether what is there belongs to this workspace only if its `id` says so.
    pub(crate) const fn needs_id(&self) -> bool {
        matches!(self.kind, HomeKind::Git { needs_id: true, .. })
    }

    /// Verifies, for a place that the caller named, that a folder can exchange names with the workspace.
    pub(crate) fn check_mount(&self, workspace: &Workspace, there: &Stat) -> Result<()> {
        if !self.is_named() || is_with_root(workspace, there)? {
            return Ok(());
        }
        let path = self.path();
        let message = format!(
            "the state folder {} is on another file system or mount than {}: files are swapped with what is in it by renames, \
             so name one beside the workspace",
            shown(&path),
            shown(workspace.root.path())
        );
        Err(Error::new(ErrorKind::CrossDevice, message).at(path))
    }

    /// Returns whether a state folder may be made here: of git folders only in one of this user's alone, which is a
    /// repository by its content and is on the mount and in the project of the root.
    pub(crate) fn may_be_made(&self, workspace: &Workspace) -> Result<bool> {
        match self.kind {
            HomeKind::Root | HomeKind::Named => Ok(true),
            HomeKind::Git { needs_id, .. } => Ok(!needs_id
                && self.is_users_own(workspace)?
                && workspace.project(&self.folder)? == workspace.project(&workspace.root)?
                && git_folder::is_whole(workspace, &self.folder)?),
        }
    }

    /// Returns whether the folder that it is in belongs to this user, and nobody else can exchange names in it.
    pub(crate) fn is_users_own(&self, workspace: &Workspace) -> Result<bool> {
        let (stat, user) = (workspace.stat_handle(&self.folder)?, workspace.host()?.user);
        Ok(stat.user == user && !private::is_shared(&stat, user))
    }

    /// Makes the name of the state folder durable, and the way to it as far as it may be new.
    pub(crate) fn sync(&self, workspace: &Workspace) -> Result<()> {
        workspace.sync(&self.folder)?;
        match self.kind {
            HomeKind::Root => Ok(()),
            HomeKind::Git { is_linked: false, .. } => workspace.sync(&workspace.root),
            HomeKind::Git { is_linked: true, .. } | HomeKind::Named => {
                for levels in 1..=NEW_FOLDERS {
                    let Ok(above) = workspace.fs().open_above(&self.folder, levels, Path::new("")) else { break };
                    workspace.sync(&above)?;
                }
                Ok(())
            }
        }
    }
}

/// The number of folders above that git makes with the folder of a work tree.
const NEW_FOLDERS: usize = 2;

/// Returns whether a folder is on the mount of the root.
pub(crate) fn is_with_root(workspace: &Workspace, there: &Stat) -> Result<bool> {
    let root = workspace.stat_handle(&workspace.root)?;
    Ok((there.device, there.mount) == (root.device, root.mount))
}

/// A path without symlinks; what it names need not exist, but its folder must.
fn real_path(workspace: &Workspace, path: &Path) -> Result<PathBuf> {
    if let Ok(real) = workspace.fs().canonical(path) {
        return Ok(real);
    }
    let (parent, name) = path.parent().zip(path.file_name()).ok_or_else(|| {
        let message = format!("{} cannot be the state folder: it ends in no name", shown(path));
        Error::new(ErrorKind::ValidationFailed, message).at(path)
    })?;
    let real = workspace.fs().canonical(parent);
    Ok(real.map_err(|e| Error::io("find the folder of the state folder", parent, e))?.join(name))
}

/// The places where a state folder may be made, the best first.
pub(crate) fn to_make(workspace: &Workspace) -> Result<Vec<Home>> {
    if let Some(named) = Home::named(workspace)? {
        return Ok(vec![named]);
    }
    let git = match Home::of_git(workspace)? {
        Some(git) if git.may_be_made(workspace)? => Some(git),
        _ => None,
    };
    Ok(git.into_iter().chain([Home::of_root(workspace)]).collect())
}
