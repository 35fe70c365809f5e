//! What a program wrote in its view, as the files of a request.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::compare::{Below, WrittenAt, WrittenDifference, look};
use super::conflicts::DIFFED_BYTES;
use super::selection::{Choice, ProgramSelection};
use super::verify::is_unchanged;
use crate::cancel::CancelToken;
use crate::check::{Dropped, LeftOut};
use crate::engine::Engine;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::snapshot;
use crate::engine::view::{RealPaths, WorkspaceView};
use crate::error::{Conflict, Correction, Error, ErrorKind, NextStep, Result};
use crate::fs::{FileKind, Name};
use crate::limits;
use crate::request::{Change, FileRequest, HeldFile, IfExists, Mode};
use crate::text::diff;
use crate::view::{TreeBefore, View, Written, WrittenFile, WrittenKind, WrittenLayer};

/// The permission bits of a folder that a request can give.
const FOLDER_MODE: u32 = 0o3777;
/// The permission bit with which a file can be read by its owner.
const OWNER_READS: u32 = 0o400;

/// Compares a view with the workspace below.
pub(super) struct Collector<'a> {
    pub(super) engine: &'a Engine,
    pub(super) view: &'a WorkspaceView<'a>,
    /// What was written; `None` once the view has no folder any more.
    layer: Option<WrittenLayer<'a>>,
    before: &'a TreeBefore,
    selection: ProgramSelection,
    pub(super) cancel: &'a CancelToken,
    pub(super) files: Vec<FileRequest>,
    pub(super) left_out: LeftOut,
    pub(super) conflicts: Vec<Conflict>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        view: &'a WorkspaceView<'a>,
        before: &'a TreeBefore,
        selection: ProgramSelection,
        cancel: &'a CancelToken,
    ) -> Self {
        let seen = view.workspace.fs().path_to(&view.workspace.root);
        Self {
            engine,
            view,
            layer: view.layer(),
            before,
            selection: selection.in_view(seen),
            cancel,
            files: Vec::new(),
            left_out: LeftOut::default(),
            conflicts: Vec::new(),
        }
    }

    /// Finds everything that the program changed.
    pub(super) fn collect(&mut self) -> Result<()> {
        let Some(layer) = self.layer.clone() else { return Ok(()) };
        let written = layer.written(limits::FILES).map_err(|e| match e.kind() {
            io::ErrorKind::FileTooLarge => {
                let message = format!("the program wrote {e}, which is more than one transaction can have");
                Error::new(ErrorKind::RequestTooLarge, message).with_next([NextStep::Correct(Correction::WriteFewer)])
            }
            io::ErrorKind::PermissionDenied => {
                let message = format!("cannot look into what the program wrote and closed to itself: {e}");
                Error::new(ErrorKind::PermissionDenied, message).at(self.engine.root())
            }
            _ => Error::io("list what was written in", self.engine.root(), e),
        })?;
        // Nothing of a folder that is hidden is seen in the new one, however deep.
        let mut hidden: Option<PathBuf> = None;
        for (path, written) in written {
            check_cancelled(self.cancel)?;
            let is_in_hidden = hidden.as_ref().is_some_and(|hidden| path.starts_with(hidden));
            match written {
                Written::Removed => self.removed(&path)?,
                Written::Other => self.other(&layer, &path)?,
                Written::Folder { hides } => {
                    self.folder(&layer, &path, hides || is_in_hidden)?;
                    if hides && !is_in_hidden {
                        hidden = Some(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns whether a path is committed, and otherwise notes why it is not.
    fn takes(&mut self, path: &Path, is_folder: bool) -> bool {
        let noted = match self.selection.of(path, is_folder) {
            Choice::Taken => return true,
            Choice::Ignored => &mut self.left_out.ignored,
            Choice::Excluded => &mut self.left_out.excluded,
            Choice::VersionControl => &mut self.left_out.version_control,
        };
        // What is in a folder is noted by itself.
        if !is_folder {
            noted.note(path);
        }
        false
    }

    fn below(&self, path: &Path) -> Result<Option<Below>> {
        let (workspace, Some((parent, name))) = (&self.engine.workspace, path.parent().zip(path.file_name())) else {
            return Ok(None);
        };
        let Some(folder) = workspace.find_folder(&workspace.root, parent)? else { return Ok(None) };
        let stat = workspace.stat(Name::new(&folder, name))?;
        Ok(stat.map(|stat| Below { folder, stat }))
    }

    fn removed(&mut self, path: &Path) -> Result<()> {
        let Some(below) = self.below(path)? else { return Ok(()) };
        if below.stat.kind == FileKind::Folder {
            return self.remove_folder(path, &below).map(drop);
        }
        if self.takes(path, false) {
            self.delete(path, &below)?;
        }
        Ok(())
    }

    /// Deletes what is no folder; returns whether it goes.
    fn delete(&mut self, path: &Path, below: &Below) -> Result<bool> {
        if !matches!(below.stat.kind, FileKind::File | FileKind::Symlink) {
            self.left_out.special.note(path);
            return Ok(false);
        }
        if self.is_unchanged(path, below) {
            self.push(path, Change::Delete);
        } else {
            self.conflict(path, Some(below), None)?;
        }
        Ok(true)
    }

    /// Removes a folder with everything in it; returns whether nothing of it stays.
    fn remove_folder(&mut self, path: &Path, below: &Below) -> Result<bool> {
        let is_emptied = self.remove_entries(path, below, &|_| false)?;
        if !is_emptied || !self.takes(path, true) {
            return Ok(false);
        }
        if !self.is_unchanged(path, below) {
            self.conflict(path, Some(below), None)?;
        }
        self.push(path, Change::RemoveFolder);
        Ok(true)
    }

    /// Removes what is in a folder but for names that stay; returns whether none stays.
    fn remove_entries(&mut self, path: &Path, below: &Below, stays: &dyn Fn(&Path) -> bool) -> Result<bool> {
        let workspace = &self.engine.workspace;
        let Some(name) = path.file_name() else { return Ok(false) };
        let folder = workspace.open_beneath(&below.folder, name)?;
        let mut is_emptied = true;
        for name in workspace.list(&folder)? {
            check_cancelled(self.cancel)?;
            let path = path.join(&name);
            if stays(&path) {
                is_emptied = false;
                continue;
            }
            let Some(stat) = workspace.stat(Name::new(&folder, &name))? else { continue };
            let below = Below { folder: folder.clone(), stat };
            if below.stat.kind == FileKind::Folder {
                is_emptied &= self.remove_folder(&path, &below)?;
            } else {
                is_emptied &= self.takes(&path, false) && self.delete(&path, &below)?;
            }
        }
        Ok(is_emptied)
    }

    fn folder(&mut self, layer: &WrittenLayer<'_>, path: &Path, hides: bool) -> Result<()> {
        let Some(now) = look(layer, path)? else { return Ok(()) };
        let mode = now.mode & FOLDER_MODE;
        match self.below(path)? {
            Some(below) if below.stat.kind == FileKind::Folder => {
                // A copy is open to its owner, whatever it was copied from.
                let is_mode = |before: u32| mode == before || self.is_copy() && mode == before | 0o700;
                if !is_mode(below.stat.mode & FOLDER_MODE) && self.takes(path, true) {
                    self.left_out.folder_modes.note(path);
                }
                if hides {
                    let stays = |path: &Path| layer.look(path).is_ok_and(|now| now.is_some());
                    self.remove_entries(path, &below, &stays)?;
                }
            }
            _ if !self.takes(path, true) => {}
            Some(below) => {
                if self.delete(path, &below)? {
                    self.make_folder(path, now)?;
                }
            }
            None if self.before.has(path) => self.conflict(path, None, None)?,
            None => self.make_folder(path, now)?,
        }
        Ok(())
    }

    /// Makes a folder with its mode. Its owner and attributes become those that its parent gives, and others are noted.
    fn make_folder(&mut self, path: &Path, now: WrittenFile) -> Result<()> {
        self.files.push(FileRequest::new(path, Change::MakeFolder).mode(Mode::Bits(now.mode & FOLDER_MODE)));
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return Ok(()) };
        let view = &self.view.workspace;
        let parent = view.open_beneath(&view.root, parent)?;
        let (given, own) = (view.inherited(&parent, true)?, view.attributes(&view.open_beneath(&parent, name)?)?);
        let is_given = (given.user, given.group) == (now.user, now.group);
        if !is_given || given.attributes.extended != own.extended {
            self.left_out.folder_metadata.note(path);
        }
        Ok(())
    }

    /// A file or symlink; anything else is left out.
    fn other(&mut self, layer: &WrittenLayer<'_>, path: &Path) -> Result<()> {
        let Some(now) = look(layer, path)?.filter(|_| self.takes(path, false)) else { return Ok(()) };
        if now.kind == WrittenKind::Other {
            self.left_out.special.note(path);
            return Ok(());
        }
        self.check_readable(path, now)?;
        let made = WrittenAt { layer, path, now };
        let Some(below) = self.below(path)? else {
            if self.before.has(path) {
                return self.conflict(path, None, Some(&made));
            }
            return self.make(&made, IfExists::Fail);
        };
        if below.stat.kind == FileKind::Folder {
            if self.remove_folder(path, &below)? {
                return self.make(&made, IfExists::Fail);
            }
            // The folder stays, since something in it is left out.
            self.left_out.in_the_way.note(path);
            return Ok(());
        }
        let are_files = below.stat.kind == FileKind::File && now.kind == WrittenKind::File;
        if self.is_copy() && are_files && self.has_metadata_of_its_own(&made)? {
            self.left_out.file_metadata.note(path);
        }
        let Some(differs) = self.difference(&made, &below)? else { return Ok(()) };
        if !self.is_unchanged(path, &below) {
            return self.conflict(path, Some(&below), Some(&made));
        }
        match (differs, below.stat.kind, now.kind) {
            (WrittenDifference::Mode(bits), ..) => {
                self.files.push(FileRequest::new(path, Change::Mode).mode(Mode::Bits(bits)));
                Ok(())
            }
            (_, FileKind::File, WrittenKind::File) => {
                if self.is_copy() {
                    self.carry_metadata(path, &below)?;
                }
                self.make(&made, IfExists::Replace)
            }
            // A symlink takes the place of a file, and of another.
            (_, FileKind::File | FileKind::Symlink, WrittenKind::Symlink) => self.make(&made, IfExists::Replace),
            _ if self.delete(path, &below)? => self.make(&made, IfExists::Fail),
            _ => Ok(()),
        }
    }

    /// Refuses a file that the program has closed to this user, who could neither commit nor undo it.
    fn check_readable(&self, path: &Path, now: WrittenFile) -> Result<()> {
        let user = self.engine.workspace.host()?.user;
        if now.kind != WrittenKind::File || user == 0 || now.user != user || now.mode & OWNER_READS != 0 {
            return Ok(());
        }
        let message = format!(
            "the program left {} with the mode {:o}, in which you cannot read it, and it could not be undone: leave the file \
             out, or have the program let its owner read it",
            path.display(),
            now.mode
        );
        Err(Error::new(ErrorKind::PermissionDenied, message).at(path))
    }

    /// Puts the file or symlink of the view in its place.
    fn make(&mut self, made: &WrittenAt<'_>, if_exists: IfExists) -> Result<()> {
        let path = made.path;
        let change = if made.now.kind == WrittenKind::Symlink {
            Change::Symlink { target: made.content()?, if_exists }
        } else {
            let held = HeldFile::new(&made.layer.name, path)
                .map_err(|e| Error::new(ErrorKind::ValidationFailed, format!("{}: {e}", path.display())).at(path))?;
            Change::Take { held: held.used_up(), if_exists }
        };
        self.push(path, change);
        Ok(())
    }

    fn push(&mut self, path: &Path, change: Change) {
        self.files.push(FileRequest::new(path, change));
    }

    /// Notes that others changed what the program changed, with both in a diff: from what is there now to what the program
    /// left.
    fn conflict(&mut self, path: &Path, below: Option<&Below>, made: Option<&WrittenAt<'_>>) -> Result<()> {
        let theirs = match below.zip(path.file_name()) {
            Some((below, name)) if below.stat.kind == FileKind::File && below.stat.size <= DIFFED_BYTES => {
                let workspace = &self.engine.workspace;
                let file = workspace.open_file(Name::new(&below.folder, name))?;
                snapshot::read_whole(workspace, &file, below.stat.size, self.cancel)?
            }
            _ => Vec::new(),
        };
        let ours = match made.filter(|made| made.now.kind == WrittenKind::File && made.now.size <= DIFFED_BYTES) {
            Some(made) => made.content()?,
            None => Vec::new(),
        };
        let is_shown = theirs != ours && self.conflicts.len() < limits::FOREIGN_FILES;
        let name = path.to_string_lossy();
        let diff = is_shown.then(|| diff::unified(&theirs, &ours, &name, &name, limits::DIFF_BYTES));
        self.conflicts.push(Conflict { path: path.to_owned(), diff, ..Conflict::default() });
        Ok(())
    }

    /// The files that others changed or made since the view was made, but for those that the program changed; it may have
    /// read what was there before. Files that are gone are not found.
    pub(super) fn changed_meanwhile(&mut self, real: &RealPaths) -> Result<Dropped> {
        let workspace = &self.engine.workspace;
        let own: HashSet<PathBuf> = self.files.iter().map(|file| file.path.as_path().to_owned()).collect();
        let selection = Mutex::new(&mut self.selection);
        let is_ignored = |path: &Path| {
            let mut selection = selection.lock().unwrap_or_else(PoisonError::into_inner);
            selection.of(path, true) == Choice::Ignored
        };
        let root = workspace.fs().path_to(&workspace.root);
        let is_left_out = |path: &Path| real.has(path) || is_ignored(path);
        let walked = self.before.changed_since(&root, &is_left_out, self.cancel);
        check_cancelled(self.cancel)?;
        let mut changed = walked.map_err(|e| Error::io("list", workspace.root.path(), e))?;
        changed
            .retain(|path| !own.contains(path) && !real.has(path) && self.selection.of(path, false) == Choice::Taken);
        changed.sort_unstable();
        let mut noted = Dropped::default();
        for path in &changed {
            noted.note(path);
        }
        Ok(noted)
    }

    fn is_unchanged(&self, path: &Path, below: &Below) -> bool {
        is_unchanged(self.engine.workspace.protocol, self.before, path, &below.stat)
    }

    pub(super) fn is_copy(&self) -> bool {
        matches!(self.view.view, View::Copy(_))
    }
}
