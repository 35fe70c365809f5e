//! A view of the workspace: made for a check or a program, and ended and deleted when it is dropped.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::cancel::CancelToken;
use crate::check::CheckPlace;
use crate::engine::Engine;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::state::StateFolder;
use crate::engine::store::view_folder::ViewFolder;
use crate::engine::store::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::path::RelPath;
use crate::path::bounds::VCS_FOLDERS;
use crate::view::{CopyMarks, NOT_STARTED_MARK, Overlay, OverlayOrder, TreeCopy, View, WrittenLayer, real_in};

/// A view that stands, with the folder of its layers.
pub(super) struct WorkspaceView<'s> {
    pub(super) view: View,
    /// The workspace as it is seen in the view; readable even when that has ended.
    pub(super) workspace: Workspace,
    /// What a copy was made of, if it is one.
    copied: Option<CopyMarks>,
    folder: Option<ViewFolder<'s>>,
}

/// The paths that are not copied on write.
#[derive(Debug)]
pub(super) struct RealPaths {
    /// Folders in which what is written stays.
    pub(super) through: Vec<PathBuf>,
    /// What may only be read: version control, and what is mounted there.
    pub(super) read_only: Vec<PathBuf>,
}

impl RealPaths {
    /// Returns whether a path is one of them, or in one.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.through.iter().chain(&self.read_only).any(|real| path.starts_with(real))
    }
}

/// What to do where there can be no overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrElse {
    /// A copy of the workspace takes its place.
    Copy,
    /// Nothing does.
    Nothing,
}

impl Engine {
    /// The paths that are real in a view of this workspace.
    pub(super) fn real_paths(&self) -> Result<RealPaths> {
        let through = self.through()?;
        let mut read_only = real_in(self.root()).map_err(|e| Error::io("list what is mounted in", self.root(), e))?;
        read_only.retain(|path| !through.iter().any(|through| path.starts_with(through)));
        Ok(RealPaths { through, read_only })
    }

    /// Makes a view; the reason if there can be none.
    pub(super) fn make_view<'s>(
        &self,
        state: &'s StateFolder,
        real: &RealPaths,
        or_else: OrElse,
        cancel: &CancelToken,
    ) -> Result<std::result::Result<WorkspaceView<'s>, String>> {
        let workspace = &self.workspace;
        let folder = ViewFolder::make(state)?;
        let lower = workspace.fs().descriptor(&workspace.root).map_err(|e| Error::io("share", self.root(), e))?;
        let (Some(lower), Some((upper, work))) = (lower, folder.descriptors()?) else {
            folder.remove()?;
            return Ok(Err("this file system has no descriptors".to_owned()));
        };
        let (root, layers, RealPaths { through, read_only }) = (self.root(), &folder.path(), real);
        match Overlay::make(&OverlayOrder { root, lower, upper, work, layers, through, read_only }) {
            Ok(overlay) => {
                let opened = overlay.opened().map_err(|e| Error::io("open the view of", root, e))?;
                let workspace = workspace.at(crate::fs::os::adopt(opened, root));
                let (view, folder) = (View::Overlay(overlay), Some(folder));
                Ok(Ok(WorkspaceView { view, workspace, copied: None, folder }))
            }
            Err(failed) if or_else == OrElse::Nothing => {
                folder.remove()?;
                Ok(Err(failed.to_string()))
            }
            Err(failed) => {
                let copied = self.copied(folder, through, cancel);
                check_cancelled(cancel)?;
                Ok(copied.map_err(|why| format!("{failed}; and {why}")))
            }
        }
    }

    /// A copy in the place of a view; the reason if there can be none.
    fn copied<'s>(
        &self,
        folder: ViewFolder<'s>,
        through: &[PathBuf],
        cancel: &CancelToken,
    ) -> std::result::Result<WorkspaceView<'s>, String> {
        let (fs, path) = (self.workspace.fs(), folder.upper().path().to_owned());
        let (from, to) = (&fs.path_to(&self.workspace.root), &fs.path_to(folder.upper()));
        let made = TreeCopy { root: self.root(), from, to, through, cancel }.make();
        let workspace = self.workspace.at(folder.upper().clone());
        // With it goes what was copied before a failure.
        let mut copy = WorkspaceView { view: View::Copy(path), workspace, copied: None, folder: Some(folder) };
        copy.copied = Some(made.map_err(|e| e.to_string())?);
        Ok(copy)
    }

    /// The paths that are real in a view. One that is missing is made, as a folder: a cache that is not there yet.
    fn through(&self) -> Result<Vec<PathBuf>> {
        let mut through = Vec::new();
        for asked in &self.settings.through {
            let path = self.rel_path(asked)?;
            let first = path.as_path().iter().next();
            if first.is_some_and(|first| VCS_FOLDERS.iter().any(|name| first == *name)) {
                let message = format!("{path} is of version control, which can only be read in a view");
                return Err(Error::new(ErrorKind::ValidationFailed, message).at(path.as_path()));
            }
            self.ensure_folder(&path)?;
            through.push(path.as_path().to_owned());
        }
        Ok(through)
    }

    fn ensure_folder(&self, path: &RelPath) -> Result<()> {
        let folder = self.workspace.open_beneath(&self.workspace.root, path.parent())?;
        let name = Name::new(&folder, path.name());
        match self.workspace.stat(name)?.map(|stat| stat.kind) {
            Some(FileKind::Folder) => Ok(()),
            None => self.workspace.make_folder(name, self.workspace.inherited(&folder, true)?.mode),
            Some(_) => {
                let message = format!("{path} is not a folder, and only a folder can be real in a view");
                Err(Error::new(ErrorKind::ValidationFailed, message).at(name.path()))
            }
        }
    }
}

impl WorkspaceView<'_> {
    /// What an answer says of where a program ran.
    pub(super) fn place(&self) -> CheckPlace {
        match self.view {
            View::Overlay(_) => CheckPlace::View,
            View::Copy(_) => CheckPlace::Copy,
        }
    }

    /// What keeps a copy from being swept as long as a program works in it, whatever happens to this process. An overlay
    /// ends with this process.
    pub(super) fn held(&self) -> Result<Option<OwnedFd>> {
        let Some(folder) = self.folder.as_ref().filter(|_| matches!(self.view, View::Copy(_))) else { return Ok(None) };
        let folder = folder.folder();
        self.workspace.fs().descriptor(folder).map_err(|e| Error::io("share", folder.path(), e))
    }

    /// Returns whether a program that was run in it could be started. That of a copy is started by this process.
    pub(super) fn has_started(&self) -> Result<bool> {
        let Some(folder) = &self.folder else { return Ok(true) };
        let mark = self.workspace.stat(Name::new(folder.folder(), NOT_STARTED_MARK))?;
        Ok(mark.is_none())
    }

    /// Ends every process in it: what was written before counts, and nothing that comes later.
    pub(super) fn end(&mut self) -> Result<()> {
        self.view.end().map_err(|e| Error::io("end the view of", self.workspace.root.path(), e))?;
        let Some(folder) = &self.folder else { return Ok(()) };
        if folder.is_there()? {
            return Ok(());
        }
        let message = "another program removed the folder of the view, and with it what was written there";
        Err(Error::new(ErrorKind::ConcurrentModification, message).at(folder.upper().path()))
    }

    /// What was written in it.
    pub(super) fn layer(&self) -> Option<WrittenLayer<'_>> {
        let folder = self.folder.as_ref()?;
        let (path, name) = (self.workspace.fs().path_to(folder.upper()), folder.upper().path().to_owned());
        Some(WrittenLayer { path, name, copied: self.copied.as_ref() })
    }
}

impl Drop for WorkspaceView<'_> {
    fn drop(&mut self) {
        // What cannot be ended ends by itself, and what cannot be deleted is deleted by the next command.
        drop(self.view.end());
        if let Some(folder) = self.folder.take() {
            drop(folder.remove());
        }
    }
}
