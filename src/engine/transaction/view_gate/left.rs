//! What checks have left in a view: new files that they have changed, and what else they wrote.

use std::collections::HashMap;
use std::path::Path;

use crate::check::Dropped;
use crate::digest::Digest;
use crate::engine::Run;
use crate::engine::history::stored_report::Rewritten;
use crate::engine::report::FileReport;
use crate::engine::store::snapshot;
use crate::engine::store::workspace::Workspace;
use crate::engine::view::WorkspaceView;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Name};
use crate::index::EntryIndex;
use crate::limits;
use crate::plan::{Entry, FileState, LINK_MODE, NewContent, Plan, PlannedChange};
use crate::view::PutInView;

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

impl WorkspaceView<'_> {
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
        let Some(layer) = self.layer() else { return Ok(Dropped::default()) };
        let put = |entry: &Entry| match entry.change {
            PlannedChange::Edit(..) | PlannedChange::Create(_) | PlannedChange::FolderToFile(_) => PutInView::File,
            _ => PutInView::NoFile,
        };
        let ours: HashMap<&Path, PutInView> =
            plan.entries.iter().map(|entry| (entry.path.as_path(), put(entry))).collect();
        let lower = lower.fs().path_to(&lower.root);
        let changed = layer.changed(&lower, |path| ours.get(path).copied());
        let (count, paths) =
            changed.map_err(|e| Error::io("list what is written in", self.workspace.root.path(), e))?;
        Ok(Dropped { count, paths })
    }
}
