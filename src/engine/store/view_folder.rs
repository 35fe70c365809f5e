//! The folders of views: `view/<id>/` with the layers of an overlay, locked as long as the view stands.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::folder::owner;
use super::private::{self, Opening};
use super::state::{StateFolder, list_ids};
use super::{id, workspace::Workspace};
use crate::errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Metadata, Name};

/// The folder in the state folder, which is there only while there are views.
pub(crate) const VIEWS: &str = "view";
const UPPER: &str = "upper";
const WORK: &str = "work";
/// The number of attempts to make it while others remove the empty folder of all views.
const TRIES: usize = 16;

/// The folder of a view.
#[derive(Debug)]
pub(crate) struct ViewFolder<'a> {
    state: &'a StateFolder,
    section: Handle,
    id: String,
    /// Locked: nobody else deletes it.
    folder: Handle,
    upper: Handle,
    work: Handle,
}

impl<'a> ViewFolder<'a> {
    /// Makes one. Its upper layer has the metadata of the workspace's root: what is new in the view inherits from it.
    pub(crate) fn make(state: &'a StateFolder) -> Result<Self> {
        let workspace = &state.workspace;
        let new_id = || Ok(id::after(workspace.now(), None));
        for _ in 0..TRIES {
            let section = section(state)?;
            let (id, folder, _) = match owner::make_folder(workspace, &section, &new_id) {
                Err(error) if error.kind() == ErrorKind::FileNotFound => continue,
                made => made?,
            };
            let layer = |name: &str| {
                workspace.make_folder(Name::new(&folder, name), 0o700)?;
                workspace.open_beneath(&folder, name)
            };
            let (upper, work) = (layer(UPPER)?, layer(WORK)?);
            inherit_as(workspace, &upper)?;
            return Ok(Self { state, section, id, folder, upper, work });
        }
        let message = "other processes keep removing the folder of views; try again";
        Err(Error::new(ErrorKind::WriteFailed, message).at(state.folder.path().join(VIEWS)))
    }

    /// The descriptors of the upper layer and of the work folder; `None` where files have none.
    pub(crate) fn descriptors(&self) -> Result<Option<(OwnedFd, OwnedFd)>> {
        let fs = self.state.workspace.fs();
        let of = |folder: &Handle| fs.descriptor(folder).map_err(|e| Error::io("share", folder.path(), e));
        Ok(of(&self.upper)?.zip(of(&self.work)?))
    }

    /// Its path, relative to the root where it is in there.
    pub(crate) fn path(&self) -> PathBuf {
        let state = self.state.home.path();
        state.strip_prefix(self.state.workspace.root.path()).unwrap_or(&state).join(VIEWS).join(&self.id)
    }

    /// The folder of what is written: a copy has everything in it.
    pub(crate) const fn upper(&self) -> &Handle {
        &self.upper
    }

    /// Returns whether its layers are still where they were made.
    pub(crate) fn is_there(&self) -> Result<bool> {
        let workspace = &self.state.workspace;
        let Some(section) = workspace.find_folder(&self.state.folder, VIEWS)? else { return Ok(false) };
        let Some(folder) = workspace.find_folder(&section, &self.id)? else { return Ok(false) };
        let Some(upper) = workspace.find_folder(&folder, UPPER)? else { return Ok(false) };
        Ok(workspace.stat_handle(&upper)?.identity == workspace.stat_handle(&self.upper)?.identity)
    }

    /// Its own folder, which is locked as long as anybody has this descriptor.
    pub(crate) const fn folder(&self) -> &Handle {
        &self.folder
    }

    /// Deletes it with everything in it, once nothing runs in the view any more.
    pub(crate) fn remove(self) -> Result<()> {
        let workspace = &self.state.workspace;
        delete(workspace, &self.section, &self.id, &self.folder)?;
        drop_if_empty(self.state);
        Ok(())
    }
}

/// Gives a folder the owner, mode and attributes of the root.
fn inherit_as(workspace: &Workspace, upper: &Handle) -> Result<()> {
    let metadata = |folder: &Handle| {
        let stat = workspace.stat_handle(folder)?;
        let attributes = workspace.attributes(folder)?;
        Ok(Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None })
    };
    let (now, wanted) = (metadata(upper)?, metadata(&workspace.root)?);
    if workspace.set_metadata(upper, &now, &wanted).is_ok() {
        return Ok(());
    }
    // Somebody else's folder: what is new in it will belong to this user, as it would there.
    workspace.set_metadata(upper, &now, &Metadata { user: now.user, group: now.group, ..wanted })
}

fn section(state: &StateFolder) -> Result<Handle> {
    let name = Name::new(&state.folder, VIEWS);
    match state.workspace.fs().make_folder(name, 0o700) {
        Err(e) if !errno::is_taken(&e) => return Err(Error::io("make", name.path(), e)),
        _ => {}
    }
    match private::open(&state.workspace, name)? {
        Opening::Ours(folder, _) => Ok(folder),
        Opening::Missing => Err(Error::new(ErrorKind::FileNotFound, "another process removed it").at(name.path())),
        Opening::Refused(refusal) => Err(private::to_be_mended(&name.path(), refusal)),
    }
}

/// Deletes the folders of views whose processes are gone. What cannot be deleted is left for the next command.
pub(crate) fn sweep(state: &StateFolder) -> Result<()> {
    let workspace = &state.workspace;
    let Opening::Ours(section, _) = private::open(workspace, Name::new(&state.folder, VIEWS))? else { return Ok(()) };
    let hidden = workspace.list(&section)?.into_iter().filter_map(|name| name.into_string().ok());
    let hidden = hidden.filter(|name| name.strip_prefix('.').is_some_and(|id| crate::journal::is_id(id.as_ref())));
    for id in list_ids(workspace, &section)?.into_iter().chain(hidden) {
        if let Some((folder, _)) = owner::lock_folder(workspace, &section, &id)? {
            drop(delete(workspace, &section, &id, &folder));
        }
    }
    drop_if_empty(state);
    Ok(())
}

/// Deletes the folder of a view that is locked.
fn delete(workspace: &Workspace, section: &Handle, id: &str, folder: &Handle) -> Result<()> {
    let path: PathBuf = workspace.fs().path_to(folder);
    for name in workspace.list(folder)? {
        let deleted = crate::view::delete(&path.join(&name));
        deleted.map_err(|e| Error::io("delete", folder.path().join(&name), e))?;
    }
    workspace.remove_folder(Name::new(section, id))
}

/// Removes the folder of all views. It fails while there is another view.
fn drop_if_empty(state: &StateFolder) {
    state.workspace.fs().remove_folder(Name::new(&state.folder, VIEWS)).ok();
}
