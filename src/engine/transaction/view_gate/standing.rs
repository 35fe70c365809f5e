//! A view for checks: made, filled, and looked at when they have ended.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::check::{CheckIn, CheckPlace, Dropped};
use crate::digest::Digest;
use crate::engine::history::stored_report::Rewritten;
use crate::engine::report::FileReport;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::snapshot;
use crate::engine::store::state::StateFolder;
use crate::engine::store::view_folder::ViewFolder;
use crate::engine::store::workspace::Workspace;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::index::EntryIndex;
use crate::limits;
use crate::path::RelPath;
use crate::path::bounds::VCS_FOLDERS;
use crate::plan::{Entry, FileState, LINK_MODE, NewContent, Plan, PlannedChange};
use crate::view::{Overlay, OverlayOrder, PutInView, TreeCopy, View, real_in};

/// A new file as the checks left it.
#[derive(Debug)]
pub(super) struct LeftInView {
    entry: EntryIndex,
    content: Vec<u8>,
    mode: u32,
}

impl LeftInView {
    /// Makes it the new content of its entry, and says so in the report of its file.
    pub(super) fn take(self, plan: &mut Plan, files: &mut [FileReport]) {
        let entry = &mut plan.entries[self.entry];
        let (PlannedChange::Edit(_, new) | PlannedChange::Create(new) | PlannedChange::FolderToFile(new)) =
            &mut entry.change
        else {
            unreachable!("only a file is left")
        };
        let (digest, size) = (Digest::of(&self.content), self.content.len() as u64);
        new.state = FileState { digest, size, mode: self.mode, ..new.state };
        new.content = NewContent::Bytes(self.content);
        new.keeps_time = false;
        let (path, asked_by) = (entry.path.clone(), entry.asked_by);
        Rewritten { path, asked_by, now: Some((digest, self.mode)) }.tell(files);
    }
}

impl Engine {
    /// Makes a view; the reason if there can be none.
    pub(super) fn stand<'s>(
        &self,
        state: &'s StateFolder,
        plan: &Plan,
        run: Run<'_>,
    ) -> Result<std::result::Result<Standing<'s>, String>> {
        let workspace = &self.workspace;
        let through = self.through()?;
        let mut read_only = real_in(self.root()).map_err(|e| Error::io("list what is mounted in", self.root(), e))?;
        read_only.retain(|path| !through.iter().any(|through| path.starts_with(through)));
        let is_real = |path: &RelPath| through.iter().chain(&read_only).any(|real| path.as_path().starts_with(real));
        if let Some(entry) = plan.entries.iter().find(|entry| is_real(&entry.path)) {
            return Ok(Err(format!("{} is in a folder that is not copied in it", entry.path)));
        }
        let folder = ViewFolder::make(state)?;
        let lower = workspace.fs().descriptor(&workspace.root).map_err(|e| Error::io("share", self.root(), e))?;
        let (Some(lower), Some((upper, work))) = (lower, folder.descriptors()?) else {
            folder.remove()?;
            return Ok(Err("this file system has no descriptors".to_owned()));
        };
        let (root, layers) = (self.root(), &folder.path());
        let order = OverlayOrder { root, lower, upper, work, layers, through: &through, read_only: &read_only };
        match Overlay::make(&order) {
            Ok(overlay) => {
                let opened = overlay.opened().map_err(|e| Error::io("open the view of", root, e))?;
                let workspace = workspace.at(crate::fs::os::adopt(opened, root));
                Ok(Ok(Standing { view: View::Overlay(overlay), workspace, folder: Some(folder) }))
            }
            // Copying is worth it only to those who want nothing else.
            Err(failed) if self.settings.check_in != CheckIn::View => {
                folder.remove()?;
                Ok(Err(failed.to_string()))
            }
            Err(failed) => {
                let copied = self.copied(folder, &through, run);
                check_cancelled(run.cancel)?;
                Ok(copied.map_err(|why| format!("{failed}; and {why}")))
            }
        }
    }

    /// A copy in the place of a view; the reason if there can be none.
    fn copied<'s>(
        &self,
        folder: ViewFolder<'s>,
        through: &[PathBuf],
        run: Run<'_>,
    ) -> std::result::Result<Standing<'s>, String> {
        let (fs, path) = (self.workspace.fs(), folder.upper().path().to_owned());
        let (from, to) = (&fs.path_to(&self.workspace.root), &fs.path_to(folder.upper()));
        let made = TreeCopy { root: self.root(), from, to, through, cancel: run.cancel }.make();
        let workspace = self.workspace.at(folder.upper().clone());
        let standing = Standing { view: View::Copy(path), workspace, folder: Some(folder) };
        made.map(|()| standing).map_err(|e| e.to_string())
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
            let folder = self.workspace.open_beneath(&self.workspace.root, path.parent())?;
            let name = Name::new(&folder, path.name());
            match self.workspace.stat(name)?.map(|stat| stat.kind) {
                Some(FileKind::Folder) => {}
                None => self.workspace.make_folder(name, self.workspace.inherited(&folder, true)?.mode)?,
                Some(_) => {
                    let message = format!("{path} is not a folder, and only a folder can be real in a view");
                    return Err(Error::new(ErrorKind::ValidationFailed, message).at(name.path()));
                }
            }
            through.push(path.as_path().to_owned());
        }
        Ok(through)
    }
}

/// A view that stands, with the folder of its layers.
pub(super) struct Standing<'s> {
    pub(super) view: View,
    /// The workspace as it is seen in the view.
    pub(super) workspace: Workspace,
    folder: Option<ViewFolder<'s>>,
}

impl Standing<'_> {
    /// What an answer says of where a check ran.
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

    /// The new files that the checks have changed. It is an error if one of them, or of the new folders, is gone.
    pub(super) fn left(&self, plan: &Plan, run: Run<'_>) -> Result<Vec<LeftInView>> {
        let (mut left, mut room) = (Vec::new(), limits::REQUEST_BYTES);
        for (index, entry) in plan.entries.numbered() {
            let gone = || {
                let message = format!("the check removed {}, which it was to check, or its folder", entry.path);
                Error::new(ErrorKind::CheckFailed, message).at(entry.path.as_path())
            };
            if let PlannedChange::Folder | PlannedChange::FileToFolder(_) = entry.change {
                let parent = self.workspace.find_folder(&self.workspace.root, entry.path.parent())?.ok_or_else(gone)?;
                let stat = self.workspace.stat(Name::new(&parent, entry.path.name()))?;
                stat.filter(|stat| stat.kind == FileKind::Folder).ok_or_else(gone)?;
                continue;
            }
            let (PlannedChange::Edit(_, new) | PlannedChange::Create(new) | PlannedChange::FolderToFile(new)) =
                &entry.change
            else {
                continue;
            };
            let folder = self.workspace.find_folder(&self.workspace.root, entry.path.parent())?.ok_or_else(gone)?;
            let name = Name::new(&folder, entry.path.name());
            let kind = if new.state.is_link() { FileKind::Symlink } else { FileKind::File };
            let stat = self.workspace.stat(name)?.filter(|stat| stat.kind == kind).ok_or_else(gone)?;
            if new.state.is_link() {
                let content = self.workspace.read_link(name)?;
                if Digest::of(&content) != new.state.digest {
                    left.push(LeftInView { entry: index, content, mode: LINK_MODE });
                }
                continue;
            }
            let file = self.workspace.open_file(name)?;
            if stat.size == new.state.size && stat.mode == new.state.mode {
                let digest = snapshot::digest(&self.workspace, &file, stat.size, run.cancel)?;
                if digest == new.state.digest {
                    continue;
                }
            }
            room = room.checked_sub(stat.size).ok_or_else(|| {
                let message = format!("the check made the new files larger than {} MiB", limits::REQUEST_BYTES >> 20);
                Error::new(ErrorKind::RequestTooLarge, message).at(entry.path.as_path())
            })?;
            let content = snapshot::read_whole(&self.workspace, &file, stat.size, run.cancel)?;
            left.push(LeftInView { entry: index, content, mode: stat.mode });
        }
        Ok(left)
    }

    /// What else they have changed, which nobody will see.
    pub(super) fn dropped(&self, plan: &Plan, lower: &Workspace) -> Result<Dropped> {
        let Some(folder) = &self.folder else { return Ok(Dropped::default()) };
        let put = |entry: &Entry| match entry.change {
            PlannedChange::Edit(..) | PlannedChange::Create(_) | PlannedChange::FolderToFile(_) => PutInView::File,
            _ => PutInView::NoFile,
        };
        let ours: HashMap<&Path, PutInView> =
            plan.entries.iter().map(|entry| (entry.path.as_path(), put(entry))).collect();
        let lower = lower.fs().path_to(&lower.root);
        let changed = folder.layer(matches!(self.view, View::Copy(_))).changed(&lower, |path| ours.get(path).copied());
        let (count, paths) =
            changed.map_err(|e| Error::io("list what is written in", self.workspace.root.path(), e))?;
        Ok(Dropped { count, paths })
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        // What cannot be ended ends by itself, and what cannot be deleted is deleted by the next command.
        drop(self.view.end());
        if let Some(folder) = self.folder.take() {
            drop(folder.remove());
        }
    }
}
